"""What a diagnosis finds, as data: `poise.diagnosis` fills it in, and a `Solution` can name it without knowing how."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["ActiveLimit", "Conditioning"]

Floats = NDArray[np.float64]

SINGULAR = 1e-3  # of the largest singular value: less is no way to move


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
        """The joint's name, with the part of a joint that has several; else the limit's, with what it keeps apart."""
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
    """

    singular_values: Floats
    condition: float
    goal: str
    kind: str
    direction: Floats

    @property
    def singular(self) -> bool:
        """Whether a direction is lost, or nearly."""
        return bool(self.condition > 1 / SINGULAR)

    @property
    def text(self) -> str:
        """The weakest direction in words."""
        if not self.goal:
            return "no joint can move"
        how = "cannot" if self.singular else "can least"
        if self.kind == "change":
            return f"{self.goal!r} {how} change"
        x, y, z = np.round(self.direction, 2) + 0.0
        verb = "move along" if self.kind == "move" else "turn about"
        return f"{self.goal!r} {how} {verb} ({x:g}, {y:g}, {z:g})"
