"""Pseudo-inverse: the shortest of the steps that are best for the goals.

    dq = J# r + (I - J# J) z,     J# = W^-1/2 (J W^-1/2)^+

J# r is, of all steps that make |r - J dq| least, the one of least dq^T W dq (W = 1 + stiffness). z is the gradient
of the posture cost: it moves only in what the goals leave free (Liegeois 1977). (J W^-1/2)^+ comes from its
singular values, one-sided Jacobi; those at rounding count as zero (Penrose 1955; Golub and Kahan 1965), so it also
exists where J has too few rows, too few columns, or not enough rank.

Quadratic near the goal. Near a singular pose the smallest singular value is small but not zero and the step is
huge: the arm jumps, held by the step limit alone. Use svd, dls or sdls there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import Method
from poise.native import core

__all__ = ["Pseudoinverse"]


@dataclass(frozen=True, kw_only=True)
class Pseudoinverse(Method):
    """Pseudo-inverse; it has no settings of its own."""

    stall_steps: int = 20

    name: ClassVar[str] = "pseudoinverse"
    code: ClassVar[core.MethodCode] = core.MethodCode.PSEUDOINVERSE
