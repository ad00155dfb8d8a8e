"""CenterOfMass: move the body's centre of mass to a position.

    residual  r = c_target - c,  c = sum_i m_i c_i / sum_i m_i         metres (in units of L), world axes
    Jacobian  J = sum_i m_i J_i / sum_i m_i

A Range as a coordinate accepts anything between two values; ``Range()`` leaves the coordinate free.
Source: Boulic, Mas and Thalmann, Inverse kinetics for center of mass position control and posture optimization, 1994.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.goal import COM, Goal, GoalRows, read_weights
from poise.goals.range import pack_place, read_place
from poise.model import Model

__all__ = ["CenterOfMass", "require_mass"]


WEIGHT = (
    "Importance among goals of the same priority: one number; or 3, along the x, y and z axes of the world. 0 leaves a "
    "component free. The cost is sum |w r|^2, with r in units of the body's length L."
)


@dataclass(frozen=True, eq=False)
class CenterOfMass(Goal, words={"weight": WEIGHT}):
    """Move the centre of mass to a position.

    Attributes:
        target: Three numbers [m], each of which may be a Range.
    """

    target: Any

    default_name = "center_of_mass"

    def __post_init__(self) -> None:
        self.check_common()
        object.__setattr__(self, "target", read_place(self.target, "CenterOfMass: target"))
        read_weights(self.weight, 0, 3, "CenterOfMass")

    @property
    def ranged(self) -> bool:
        """Whether a coordinate is a Range."""
        return isinstance(self.target, tuple)

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        require_mass(model, "CenterOfMass")
        return GoalRows(
            op=COM,
            frame=None,
            weight=read_weights(self.weight, 0, 3, "CenterOfMass"),
            target=self._convert(self.target),
            convert=self._convert,
            ranged=self.ranged,
            size=3,
        )

    def _convert(self, target: Any) -> NDArray[np.float64]:
        place = read_place(target, "CenterOfMass: target")
        if isinstance(place, tuple) and not self.ranged:
            raise ShapeMismatch("CenterOfMass: it was made for a point without ranges; the new target must be one too.")
        return pack_place(place, self.ranged)


def require_mass(model: Model, what: str) -> None:
    """Raise `InvalidValue` for a body without mass."""
    if model.mass <= 0.0:
        raise InvalidValue(f"{what}: model {model.name!r} has no mass; give its joints mass=.")
