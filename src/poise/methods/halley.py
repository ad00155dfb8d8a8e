"""Halley's method: third order, from the kinematic Hessian.

    dq0 = damped step of J,     K = J + 1/2 dJ(dq0),     dq = damped step of K

J + 1/2 dJ(dq0) times dq0 is the expansion of the forward kinematics to second order, so the error after a step is
of third order in the error before it (Halley 1694; for systems Cuyt and Rall 1985). dJ(dq0), the derivative of the
Jacobian along the first step, is the kinematic Hessian contracted with dq0; it costs as much as J itself
(kernels/problem/curvature.h). Damping as in lm: lambda^2 = damping |r|^2 + floor.

Fewer steps than Newton near the goal, each about twice the cost. Far from the goal the expansion is not valid: steps
are bounded, but lm is the safer choice. If a rotation goal leaves axes free, only the curvature of the joints is
included, and the order is two. A custom goal's Jacobian is differenced along the first step: two more evaluations.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from poise.arguments import check_number, check_positive
from poise.methods.method import JacobianMethod, Method
from poise.native import core

__all__ = ["Halley"]


@dataclass(frozen=True, kw_only=True)
class Halley(JacobianMethod):
    """Halley's third-order method.

    Attributes:
        damping: Damping per squared error.
        floor: Damping that remains at the goal.
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    damping: float = 0.1
    floor: float = 1e-9
    stall_steps: int = 20

    name: ClassVar[str] = "halley"
    code: ClassVar[core.MethodCode] = core.MethodCode.HALLEY
    joint_kinds: ClassVar[frozenset[str]] = Method.joint_kinds - {"uniform_scale"}
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "rotation", "pose", "custom", "posture"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.damping, "Halley: damping", "a number of 0 or more", 0)
        check_positive(self.floor, "Halley: floor")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "damping": self.damping, "damping_floor": self.floor}
