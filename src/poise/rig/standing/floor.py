"""Floor: a limit that keeps points of the body above a height.

    limit   u . p >= height        metres, u being the world's up, for every point p

As for every limit, points below the floor at the start never go deeper.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.parts import Place
from poise.limits.limit import Limit, LimitRow, LimitRows
from poise.limits.skeleton import BodyCapsule
from poise.model import Model
from poise.native import core

__all__ = ["Floor"]


@dataclass(frozen=True)
class Floor(Limit):
    """A limit that keeps points of the body above a floor.

    Attributes:
        points: Frames and points on them, each with the height of its floor [m].
    """

    points: tuple[tuple[Place, float], ...]

    def __post_init__(self) -> None:
        self.settle("floor", points=tuple(self.points))

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return a row for each point: a sphere of radius 0 above a half-space."""
        up = tuple(model.up_direction.tolist())
        rows = [
            LimitRow(
                core.LimitOp.PLANE,
                (*up, height),
                capsules=(BodyCapsule(frame, point, point, 0.0),),
                unit=model.length,
                side="lower",
                end=height,
                between=(frame, "the floor"),
                about=f"the height of {frame!r}",
            )
            for (frame, point), height in self.points
        ]
        return LimitRows(tuple(rows))
