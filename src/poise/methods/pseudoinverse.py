"""Pseudo-inverse: the shortest of the least-squares steps.

    dq = J# r + (I - J# J) z,     J# = W^-1/2 (J W^-1/2)^+

J# r has the least dq^T W dq (W = 1 + stiffness) of all steps that minimise |r - J dq|. z is the gradient of the posture
cost: it moves only in the null space of the goals (Liegeois 1977). (J W^-1/2)^+ is computed from the singular values,
by one-sided Jacobi; those at rounding level count as zero (Penrose 1955; Golub and Kahan 1965), so it also exists if J
has too few rows, too few columns, or not enough rank.

Quadratic near the goal. Near a singular pose the smallest singular value is small but not zero and the step is huge:
the arm jumps, bounded only by the step limit. Use svd, dls or sdls there.
"""

from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["Pseudoinverse"]


@dataclass(frozen=True, kw_only=True)
class Pseudoinverse(JacobianMethod):
    """Pseudo-inverse.

    Attributes:
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    stall_steps: int = 20

    name: ClassVar[str] = "pseudoinverse"
    code: ClassVar[core.MethodCode] = core.MethodCode.PSEUDOINVERSE
