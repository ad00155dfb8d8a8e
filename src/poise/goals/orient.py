"""Orient: rotate a frame to a target rotation, about all axes or some.

    residual  r = log(R_target R^T)                radians, world axes
    residual  r = R_target^T log(R_target R^T)     radians, the target's own axes: if axes are free or weights uneven

With `within`, component k is zero if the deviation -r_k is inside its range, otherwise the distance to the closer end.

The Jacobian of the second form contains the inverse right Jacobian of SO(3), because with a free axis the angle may
stay large. Source: Rabbani, section 3.3; Sola, Deray and Atchuthan, A micro Lie theory, 2018, eq. 144 (inverse right
Jacobian).
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.goal import ROTATION, TURNED, Goal, GoalRows, pack_target, read_numbers, read_weights
from poise.goals.range import Range
from poise.keywords import refuse_unknown
from poise.model import Model
from poise.spatial import Rotation, as_rotation

__all__ = ["Orient"]


WEIGHT = (
    "Importance among goals of the same priority: one number; or 3, about the x, y and z axes of the target (6: the "
    "last 3 of them). 0 leaves a component free. The cost is sum |w r|^2, with r in radians."
)


@dataclass(frozen=True, eq=False)
class Orient(Goal, words={**TURNED, "weight": WEIGHT}):
    """Rotate a frame to a target rotation.

    Attributes:
        frame: The frame to rotate.
        rotation: A Rotation, 3x3 matrix, wxyz quaternion, or SciPy Rotation.
        axes: The target's axes about which the rotation is fixed, such as "xyz" or "xy" (free to spin about z).
        relative_to: The frame in which the rotation is given; by default the world.
        within: Allowed deviation about each of the target's axes [rad]: one angle for all, or three, each an angle (to
            both sides) or a Range; by default zero.
    """

    frame: str
    rotation: Any
    _: KW_ONLY
    axes: str = "xyz"
    relative_to: str | None = None
    within: Any = None

    default_name = "orient"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "rotation", read_rotation(self.rotation))
        letters = set(self.axes.lower()) if isinstance(self.axes, str) else set()
        if not letters or not letters <= set("xyz") or len(letters) != len(str(self.axes)):
            raise InvalidValue(f"Orient: axes is {self.axes!r}; give some of the letters x, y and z, each once.")
        if self.within is not None:
            object.__setattr__(self, "within", read_play(self.within))

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        weight = read_weights(self.weight, 3, 3, "Orient")
        weight[3:] *= [axis in self.axes.lower() for axis in "xyz"]
        return GoalRows(
            op=ROTATION,
            frame=self.frame,
            base=self.relative_to,
            weight=weight,
            target=self._convert(self.rotation),
            exact=self.within is not None or len(set(weight[3:].tolist())) > 1,
            convert=self._convert,
            ranged=self.within is not None,
            size=3,
        )

    def _convert(self, rotation: Any) -> NDArray[np.float64]:
        target = pack_target(read_rotation(rotation).matrix, None)
        if self.within is None:
            return target
        low, high = np.array([play.ends for play in self.within]).T
        return np.concatenate([target, np.zeros(3), low, np.zeros(3), high])


Orient.__init__ = refuse_unknown(Orient.__init__)  # type: ignore[method-assign]


def read_play(within: Any) -> tuple[Range, Range, Range]:
    """Return three ranges of angles that contain zero [rad]."""
    given = within if isinstance(within, (tuple, list, np.ndarray)) else (within,) * 3
    if len(given) != 3:
        raise ShapeMismatch(f"Orient: within has {len(given)} angles; give one, or three.")
    x, y, z = (play if isinstance(play, Range) else make_play(play) for play in given)
    for play in (x, y, z):
        if not play.ends[0] <= 0.0 <= play.ends[1]:
            raise InvalidValue(f"Orient: within has {play}; the target itself must be inside: low <= 0 <= high.")
    return x, y, z


def make_play(angle: Any) -> Range:
    """Return the range from -angle to angle."""
    size = math.inf if angle is None else float(read_angle(angle))
    if not size >= 0.0:
        raise InvalidValue(f"Orient: within is {angle!r}; an angle must be zero or more [rad].")
    return Range(-size, size)


def read_angle(angle: Any) -> float:
    """Return one angle [rad], which may be infinite."""
    found = read_numbers(angle, "Orient: within", "give an angle [rad], three of them, or Ranges")
    if found.ndim:
        raise ShapeMismatch(f"Orient: within is {angle!r}; give one angle, or three.")
    return float(found)


def read_rotation(rotation: Any) -> Rotation:
    """Return one rotation."""
    turn = as_rotation(rotation, "rotation")
    if turn.wxyz.shape != (4,):
        raise ShapeMismatch(f"rotation must be one rotation, not {turn.wxyz.shape[:-1]} of them.")
    return turn
