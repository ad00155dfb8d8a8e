"""Damped least squares: a trade-off between the error and the length of the step.

    dq = W^-1/2 A^T (A A^T + lambda^2 I)^-1 r     minimises     |r - J dq|^2 + lambda^2 dq^T W dq

with A = J W^-1/2 and W = 1 + stiffness (Wampler 1986; Nakamura and Hanafusa 1986). Along singular vector i the
pseudo-inverse's 1 / sigma_i becomes sigma_i / (sigma_i^2 + lambda^2), never above 1 / (2 lambda): stable at and near
singular poses.

The price is speed: the error along singular vector i shrinks by lambda^2 / (sigma_i^2 + lambda^2) per step, so
convergence is linear, and slow for a large lambda. In lm the damping vanishes with the error instead.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from poise.arguments import check_positive
from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["DLS"]


@dataclass(frozen=True, kw_only=True)
class DLS(JacobianMethod):
    """Damped least squares.

    Attributes:
        damping: lambda, in the units of a residual: radians, and lengths in units of the body's L. For a lambda in
            metres write damping=lambda / model.length.
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    damping: float = 0.1
    stall_steps: int = 30
    stall_ratio: float = 0.999

    name: ClassVar[str] = "dls"
    code: ClassVar[core.MethodCode] = core.MethodCode.DLS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.damping, "DLS: damping")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "damping": self.damping}
