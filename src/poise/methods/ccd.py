"""Cyclic coordinate descent: each joint in turn moves to the best value for the goals, with the others fixed.

    hinge   x = atan2(b, a),  a = tr M - n^T M n,  b = n . vex M,   M = sum (w/L)^2 u t^T + sum (w^2/2) F T^T
    ball    the rotation with the largest tr(R M): for one effector the shortest one that points it at its target
    slide   the mean error along the axis

u and t are effector and target relative to the joint, F and T their rotations, so that several effectors, positions and
rotations share one closed form. Each joint is kept in its range.

Source: Wang and Chen, A combined optimization method for solving the inverse kinematics problem of mechanical
manipulators, IEEE Trans. Robotics and Automation 7(4), 1991; Welman, Inverse kinematics and geometric
constraints, 1993, section 4.2.

Limitations: it rotates the outer joints most, curls chains up, converges slowly for targets at full stretch or out of
reach, and stops if no single joint makes progress (limits, or conflicting rotation and position targets); sweeps are
cheap, so allow many, or restarts.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from poise.arguments import check_positive, is_number
from poise.errors import InvalidValue
from poise.methods.method import Method
from poise.native import core

__all__ = ["CCD"]

ORDERS = ("outside_in", "inside_out")


@dataclass(frozen=True, kw_only=True)
class CCD(Method):
    """Cyclic coordinate descent.

    Attributes:
        order: "outside_in" starts at the effectors, "inside_out" at the root.
        turn_limit: Largest rotation of a joint in one sweep [rad], or math.inf. Smaller values spread the motion over
            the joints; without it a long chain curls up and unwinds slowly (ten joints: 13 sweeps at 1 rad, 80 at inf).
    """

    order: str = "outside_in"
    turn_limit: float = 1.0
    stall_steps: int = 20
    stall_ratio: float = 0.999

    name: ClassVar[str] = "ccd"
    code: ClassVar[core.MethodCode] = core.MethodCode.CCD
    joint_kinds: ClassVar[frozenset[str]] = Method.joint_kinds - {"uniform_scale"}
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "rotation", "pose"})
    limit_kinds: ClassVar[frozenset[str]] = frozenset({"Cone"})
    levels: ClassVar[bool] = False
    longest_step: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.order, str) or self.order not in ORDERS:
            raise InvalidValue(f"CCD: order is {self.order!r}; it must be 'outside_in' or 'inside_out'.")
        if not (is_number(self.turn_limit) and self.turn_limit == math.inf):
            check_positive(self.turn_limit, "CCD: turn_limit")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        options = np.array([float(self.order == "inside_out"), self.turn_limit, 0.0, 0.0])
        return {**super().settings(), "rounds": 0, "options": options}
