"""Clutch: the mapping from a controller's pose to a goal's target while the controller is engaged.

    p = p_home + scale A (c - c_home),   R = A C C_home^T A^T R_home

c and C are the controller's position and rotation, p and R those of the target, A turns the controller's axes into the
goal's. The home of the goal is the pose that the body has reached, so that engaging moves nothing.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats

__all__ = ["Clutch"]


@dataclass(frozen=True, eq=False)
class Clutch:
    """An engaged controller; places are packed, rotation (9) and position (3).

    Attributes:
        begin: The place of the controller when it was engaged; None for its next one.
        home: The place of the goal's frame at that time.
        scale: Metres of the target per metre of the controller.
        axes: The rotation from the controller's axes to the goal's, (3, 3).
    """

    begin: Floats | None
    home: Floats
    scale: float
    axes: Floats

    def map(self, place: Floats) -> Floats:
        """Return the target for a place of the controller."""
        assert self.begin is not None
        out = np.array(self.home)
        out[9:] += self.scale * (self.axes @ (place[9:] - self.begin[9:]))
        if not np.array_equal(place[:9], self.begin[:9]):
            turn = place[:9].reshape(3, 3) @ self.begin[:9].reshape(3, 3).T
            out[:9] = (self.axes @ turn @ self.axes.T @ self.home[:9].reshape(3, 3)).ravel()
        return out
