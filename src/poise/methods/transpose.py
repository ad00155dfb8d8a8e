"""Jacobian transpose, with the optimal scalar.

    dq = alpha W^-1 J^T r,     alpha = <r, J W^-1 J^T r> / |J W^-1 J^T r|^2

Steepest descent with the step length that minimises |r - J dq| (Wolovich and Elliott 1984, A computational technique
for inverse kinematics; the scalar: Buss 2004, Introduction to inverse kinematics). No matrix is factored: it is the
cheapest step.

Slow near singular poses and for goals of different scales: it zigzags, and takes hundreds to thousands of steps; set
max_steps accordingly. It stops at J^T r = 0 even if r is not zero, such as for a stretched arm whose goal lies on its
own line.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from poise.arguments import check_positive
from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["Transpose"]


@dataclass(frozen=True, kw_only=True)
class Transpose(JacobianMethod):
    """Jacobian transpose.

    Attributes:
        gain: Share of the error that a step is to remove: in (0, 2).
        alpha: The scalar, for errors in radians, and lengths in units of the body's L; None for the optimal one. For an
            alpha per square metre write alpha=alpha * model.length**2. The error grows above 2 / sigma_1^2.
    """

    alpha: float | None = None
    stall_steps: int = 50
    stall_ratio: float = 0.9999

    name: ClassVar[str] = "transpose"
    code: ClassVar[core.MethodCode] = core.MethodCode.TRANSPOSE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None:
            check_positive(self.alpha, "Transpose: alpha")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "options": np.array([self.alpha or 0.0, 0.0, 0.0, 0.0])}
