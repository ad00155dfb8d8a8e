"""Data types of a diagnosis, filled in by `poise.diagnosis`."""

from dataclasses import dataclass, field

import numpy as np

from poise.arrays import Floats

__all__ = ["ActiveLimit", "Conditioning", "Redundancy"]


SINGULAR = 1e-3  # singular value relative to the largest one: below it, a direction counts as lost


@dataclass(frozen=True, slots=True)
class ActiveLimit:
    """A limit that the pose touches, or a joint beyond the end of its range.

    Attributes:
        joint: The joint's name; empty for a clearance, a coupled range and a closed loop, which involve several joints.
        side: "lower" or "upper".
        value: The joint value, the angle of a cone, or the sum of a coupled range [rad, m]; for a clearance, the gap
            between the two surfaces [m]; for a closed loop, its opening [m].
        multiplier: The decrease of the cost per radian (metre) of more range; 0 if the limit restricts no goal.
        part: The coordinate of a joint with several, as in `joint.coordinates`: "rx", "x", "angle" ...; "swing",
            "twist" or "angle" of a cone; empty otherwise.
        exempt: Whether the joint is outside its range because the solver could not move it, or ranges were off.
        velocity: The index among the model's velocities; -1 if the limit involves several.
        kind: "range", "cone", "clearance", "coupled" or "closed".
        limit: The name of the limit; empty for ranges and the model's own cones.
        between: For a clearance, the two objects that it keeps apart.
        rule: The index among the limits of its kind in the kernels; -1 for a joint range.
        level: The highest priority among the goals that the limit restricts; -1 if it restricts none.
        end: The bound of the value [rad, m]; 0 for a closed loop.
        unit: The size of the kernels' unit [rad, m].
        about: The name of the value in a sentence; empty if the limit's name is used.
    """

    joint: str
    side: str
    value: float
    multiplier: float
    part: str = ""
    exempt: bool = False
    velocity: int = -1
    kind: str = "range"
    limit: str = ""
    between: tuple[str, ...] = ()
    rule: int = -1
    level: int = -1
    end: float = field(default=0.0, repr=False)
    unit: float = field(default=1.0, repr=False)
    about: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The joint's name, with its coordinate if it has several; otherwise the limit's name, with the two shapes."""
        if self.joint:
            return f"{self.joint}.{self.part}" if self.part else self.joint
        return f"{self.limit}: {' and '.join(self.between)}" if self.between else self.limit


@dataclass(frozen=True, slots=True, eq=False)
class Conditioning:
    """The mobility towards the goals at the answer, of the joints that are not at a limit.

    Attributes:
        singular_values: Singular values of the goals' weighted Jacobian (lengths in units of L), descending.
        condition: The largest over the smallest singular value; infinite if a direction is lost.
        goal: The goal with the largest share in the weakest direction.
        kind: "move", "turn", or "change" for a goal without a vector (a distance, an angle, a balance).
        direction: The weakest direction, a unit vector; zero for "change".
        never: Whether no pose can move in that direction, such as out of a planar arm's plane.
    """

    singular_values: Floats
    condition: float
    goal: str
    kind: str
    direction: Floats
    never: bool = False

    @property
    def singular(self) -> bool:
        """Whether a direction that other poses have is lost, or nearly."""
        return bool(self.condition > 1 / SINGULAR) and not self.never

    @property
    def text(self) -> str:
        """The weakest direction in words."""
        if not self.goal:
            return "no joint can move"
        x, y, z = np.round(self.direction, 2) + 0.0
        about = {"move": f" along ({x:g}, {y:g}, {z:g})", "turn": f" about ({x:g}, {y:g}, {z:g})"}.get(self.kind, "")
        verb = {"turn": "rotate"}.get(self.kind, self.kind)
        if self.never or self.singular:
            return f"{self.goal!r} cannot {verb}{about}{' in any pose' if self.never else ''}"
        return f"{self.goal!r} {verb}s least{about}"


@dataclass(frozen=True, slots=True)
class Redundancy:
    """The degrees of freedom of a body compared with the equations of its goals.

    Attributes:
        freedoms: Velocities that move any of the goals.
        demands: Equations of the goals that the body can change.
        served: Equations that can be satisfied at once, away from singular poses.
        available: Velocities of the joints that may move, whether or not they move a goal; None if unknown.
    """

    freedoms: int
    demands: int
    served: int
    available: int | None = None

    @property
    def left_over(self) -> int:
        """Degrees of freedom that the goals leave."""
        return self.freedoms - self.served

    @property
    def too_many(self) -> int:
        """Equations that cannot be satisfied for lack of freedom."""
        return self.demands - self.served

    @property
    def kind(self) -> str:
        """One of "under-determined", "well-determined" or "over-determined"."""
        if self.too_many:
            return "over-determined"
        return "under-determined" if self.left_over else "well-determined"

    def __str__(self) -> str:
        left = f"{self.left_over or 'none'} left over"
        if self.too_many:
            left = f"{self.too_many} too many" + (f", and {left}" if self.left_over else "")
        degrees = count_noun(self.freedoms, "degree")
        if self.available is not None and self.available != self.freedoms:
            degrees = f"{self.freedoms} of {count_noun(self.available, 'degree')}"
        degrees += " of freedom"
        return f"{degrees} for {count_noun(self.demands, 'equation')}: {left} ({self.kind})"


def count_noun(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {what}{'s' * (number != 1)}"
