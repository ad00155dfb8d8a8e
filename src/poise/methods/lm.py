"""Levenberg-Marquardt with bounds and error-dependent damping: the default.

    minimise |J dq - r|^2 + lambda^2 dq^T W dq   within the joint ranges,   lambda^2 = damping * |r|^2 + floor

Far from the goal the step is cautious, near it the damping vanishes and convergence is quadratic (Chan and Lawrence
1988, General inverse kinematics with the error damped pseudoinverse). Joints that would leave their range are fixed at
their bound and the step is solved again, `rounds` times, so that the others compensate; every step starts without fixed
joints.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from poise.arguments import check_number, check_positive, check_whole
from poise.methods.method import Method
from poise.native import core

__all__ = ["LM"]


@dataclass(frozen=True, kw_only=True)
class LM(Method):
    """Levenberg-Marquardt, bounded.

    Attributes:
        damping: Damping per squared error; 0.05 |r|^2 is Chan's 0.1 times half the squared error.
        floor: Damping that remains at the goal.
        rounds: Number of times that joints are fixed at a bound and the step is solved again.
    """

    damping: float = 0.05
    floor: float = 1e-6
    rounds: int = 3
    stall_steps: int = 4

    name: ClassVar[str] = "lm"
    code: ClassVar[core.MethodCode] = core.MethodCode.LM
    restarts: ClassVar[int] = 60
    polish: ClassVar[bool] = True
    scale_free: ClassVar[bool] = True
    levels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.damping, "LM: damping", "a number of 0 or more", 0)
        check_positive(self.floor, "LM: floor")
        check_whole(self.rounds, "LM: rounds")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "damping": self.damping, "damping_floor": self.floor, "rounds": self.rounds}
