"""Jacobian transpose, with the optimal scalar.

    dq = alpha W^-1 J^T r,     alpha = <r, J W^-1 J^T r> / |J W^-1 J^T r|^2

Steepest descent with the step length that minimises |r - J dq| (Wolovich and Elliott 1984, A computational technique
for inverse kinematics; the scalar: Buss 2004, Introduction to inverse kinematics). No matrix is factored: it is the
cheapest step.

Slow near singular poses and for goals of different scales: it zigzags, and takes hundreds to thousands of steps; set
max_steps accordingly. It stops at J^T r = 0 even if r is not zero, such as for a stretched arm whose goal lies on its
own line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import Method
from poise.native import core

__all__ = ["Transpose"]


@dataclass(frozen=True, kw_only=True)
class Transpose(Method):
    """Jacobian transpose with the optimal scalar; it has no settings of its own."""

    stall_steps: int = 50
    stall_ratio: float = 0.9999

    name: ClassVar[str] = "transpose"
    code: ClassVar[core.MethodCode] = core.MethodCode.TRANSPOSE
