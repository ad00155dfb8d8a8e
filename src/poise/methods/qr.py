"""QR: the pseudo-inverse step without singular values.

    (J W^-1/2)^T P = Q R,     dq = W^-1/2 Q (R^-T P^T r, 0)

Householder reflections with pivots (Businger and Golub 1965); the rank is the number of pivots above rounding level.
With full row rank this is the step of least norm; with less, or more rows than joints, a second QR of R^T gives least
squares and least norm together (complete orthogonal decomposition; Golub and Van Loan, Matrix Computations, 5.4.7).

The same step as pseudoinverse at a fraction of its cost, and the same limitation: near a singular pose it jumps.
"""

from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["QR"]


@dataclass(frozen=True, kw_only=True)
class QR(JacobianMethod):
    """Rank-revealing QR.

    Attributes:
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    stall_steps: int = 20

    name: ClassVar[str] = "qr"
    code: ClassVar[core.MethodCode] = core.MethodCode.QR
