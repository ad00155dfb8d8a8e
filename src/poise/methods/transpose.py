"""Jacobian transpose, with the optimal scalar.

    dq = alpha W^-1 J^T r,     alpha = <r, J W^-1 J^T r> / |J W^-1 J^T r|^2

Steepest descent whose length makes |r - J dq| least (Wolovich and Elliott 1984, A computational technique for
inverse kinematics; the scalar: Buss 2004, Introduction to inverse kinematics). No matrix is factored: the
cheapest step there is.

Slow near singular poses and where goals differ in scale: it zigzags, and takes hundreds to thousands of steps; ask
for them (max_steps). Stops where J^T r = 0 although r is not, such as a stretched arm whose goal lies on its own
line.
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
