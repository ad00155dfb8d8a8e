"""LiveSolution: the result of one step of a `Follower`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poise.arrays import Floats
from poise.solvers import Solution

__all__ = ["LiveSolution"]


@dataclass(frozen=True, eq=False)
class LiveSolution:
    """The result of one step of a `Follower`.

    Attributes:
        q: The configuration to send to the robot, (nq,).
        velocity: The difference from the configuration before, divided by dt, (nv,).
        state: "following"; "limited" if a goal is missed; "bridged" if a target was missing, late, not finite or
            jumped; "held" if nothing is followed: paused, or without an engaged goal.
        solution: The solution of the step; its errors are relative to `targets`.
        targets: The targets that the step followed, by goal name.
        gaps: Why targets were bridged, by goal name.
    """

    q: Floats
    velocity: Floats
    state: str
    solution: Solution
    targets: Mapping[str, Any]
    gaps: Mapping[str, str]

    @property
    def reached(self) -> bool:
        """Whether every goal is within its tolerance of the target that was followed."""
        return self.solution.reached

    @property
    def errors(self) -> dict[str, tuple[float, float]]:
        """The error of each goal relative to the target that was followed: (metres, radians)."""
        return self.solution.errors

    def why(self) -> str:
        """Return the state, the targets that were bridged, and the reasons for missed goals."""
        lines = [f"{self.state}."]
        lines += [f"The target of {name!r} {gap}; the last good one is approached." for name, gap in self.gaps.items()]
        return "\n".join(lines if self.reached else [*lines, self.solution.why()])

    def __repr__(self) -> str:
        return f"<LiveSolution: {self.state}>"
