"""Gradient descent: the simplest method.

    dq = gain / |A|^2  W^-1 J^T r,     A = J W^-1/2,  |A| its Frobenius norm

goes downhill on |r|^2 / 2 in the norm given by the stiffness W (steepest descent; Cauchy 1847). Since |A| is at least
the largest singular value, no direction overshoots its own minimum for gain <= 1, and the error falls at every small
enough step.

Slow: the error along singular vector i shrinks by 1 - gain sigma_i^2 / |A|^2 per step, so stretched arms take thousands
of steps. Set max_steps accordingly. It stops at J^T r = 0: at a minimum, or if the error lies in a direction without
motion.
"""

from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["Gradient"]


@dataclass(frozen=True, kw_only=True)
class Gradient(JacobianMethod):
    """Gradient descent.

    Attributes:
        gain: Length of the step, relative to the longest that is safe in every direction: in (0, 2).
    """

    stall_steps: int = 50
    stall_ratio: float = 0.9999

    name: ClassVar[str] = "gradient"
    code: ClassVar[core.MethodCode] = core.MethodCode.GRADIENT
