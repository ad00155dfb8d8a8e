"""What a diagnosis finds, as data: `poise.diagnosis` fills it in, and a `Solution` can name it without knowing how."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from poise.arrays import Floats

__all__ = ["ActiveLimit", "Conditioning", "Redundancy"]


SINGULAR = 1e-3  # of the largest singular value: the body can hardly move in that direction


@dataclass(frozen=True, slots=True)
class ActiveLimit:
    """A limit that the pose touches, or a joint beyond the end of its range.

    Attributes:
        joint: The joint's name; empty for a clearance, a coupled range and a closed loop, which are about several.
        side: "lower" or "upper".
        value: Where the joint is, the turn of a cone, or the sum of a coupled range [rad, m]; of a clearance the gap
            between the two surfaces [m]; of a closed loop how far it is open [m].
        multiplier: What the cost would fall by per radian (metre) of additional range; 0 where the limit only touches.
        part: Which coordinate of a joint with several, as `joint.coordinates` names it: "rx", "x", "angle" ...;
            "swing", "twist" or "angle" of a cone; empty otherwise.
        exempt: Whether it lies outside its range because the solver could not move it, or ranges were off.
        velocity: Its index among the model's velocities; -1 where it is about several.
        kind: "range", "cone", "clearance", "coupled" or "closed".
        limit: The name of the limit; empty for ranges and the model's own cones.
        between: Of a clearance: the two things that it keeps apart.
        rule: Its index among the limits of its kind in the kernels, -1 for a joint range.
        level: Of the goals that it holds back, the priority that comes first; -1 where it holds nothing back.
        end: The value that it must not pass [rad, m]; of a closed loop 0.
        unit: How many radians or metres the kernels call 1.
        about: What has the value, as a sentence would name it; empty where the limit's own name says it.
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
        """The joint's name, with the part of a joint that has several; else the limit's, with the two shapes."""
        if self.joint:
            return f"{self.joint}.{self.part}" if self.part else self.joint
        return f"{self.limit}: {' and '.join(self.between)}" if self.between else self.limit


@dataclass(frozen=True, slots=True, eq=False)
class Conditioning:
    """How well the body can move towards the goals from the answer, with the joints that are not at a limit.

    Attributes:
        singular_values: Of the goals' weighted Jacobian (lengths in units of L), descending.
        condition: Largest over smallest; infinite where a direction is lost.
        goal: The goal that the weakest direction is mostly about.
        kind: "move", "turn", or "change" for a goal that is not about a vector (a distance, an angle, a balance).
        direction: That direction, a unit vector; zero for "change".
        never: Whether no pose can move that way, as a planar arm cannot leave its plane.
    """

    singular_values: Floats
    condition: float
    goal: str
    kind: str
    direction: Floats
    never: bool = False

    @property
    def singular(self) -> bool:
        """Whether a direction is lost here, or nearly, that other poses have."""
        return bool(self.condition > 1 / SINGULAR) and not self.never

    @property
    def text(self) -> str:
        """The weakest direction in words."""
        if not self.goal:
            return "no joint can move"
        how = "can in no pose" if self.never else "cannot" if self.singular else "can least"
        if self.kind == "change":
            return f"{self.goal!r} {how} change"
        x, y, z = np.round(self.direction, 2) + 0.0
        verb = "move along" if self.kind == "move" else "turn about"
        return f"{self.goal!r} {how} {verb} ({x:g}, {y:g}, {z:g})"


@dataclass(frozen=True, slots=True)
class Redundancy:
    """How many freedoms a body has for the demands of its goals.

    Attributes:
        freedoms: Velocities that move any of the goals.
        demands: Equations of the goals that the body can change at all.
        served: How many demands can be served at once, away from singular poses.
    """

    freedoms: int
    demands: int
    served: int

    @property
    def left_over(self) -> int:
        """How many freedoms the goals leave."""
        return self.freedoms - self.served

    @property
    def too_many(self) -> int:
        """How many demands no freedom is left for."""
        return self.demands - self.served

    @property
    def kind(self) -> str:
        """Return "under-determined", "well-determined" or "over-determined"."""
        if self.too_many:
            return "over-determined"
        return "under-determined" if self.left_over else "well-determined"

    def __str__(self) -> str:
        left = f"{self.left_over or 'none'} left over"
        if self.too_many:
            left = f"{self.too_many} too many" + (f", and {left}" if self.left_over else "")
        return f"{count_noun(self.freedoms, 'freedom')} for {count_noun(self.demands, 'demand')}: {left} ({self.kind})"


def count_noun(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number} {what}{'s' * (number != 1)}"
