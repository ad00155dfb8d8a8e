"""Minimum: the result of `poise.methods.over`."""

from dataclasses import dataclass
from enum import Enum

from poise.arrays import Floats

__all__ = ["Minimum"]


@dataclass(frozen=True, eq=False)
class Minimum:
    """The result of minimising a residual.

    Attributes:
        x: The best point, always inside the bounds.
        residual: f(x).
        reached: Whether |f(x)| is within the tolerance.
        status: The `poise.Status`; a nonzero minimum is `STALLED`.
        steps: The number of steps taken.
        method: The name of the method.
        path: Every evaluated point, (points, n), with record=True; otherwise None.
    """

    x: Floats
    residual: Floats
    reached: bool
    status: Enum
    steps: int
    method: str
    path: Floats | None

    @property
    def cost(self) -> float:
        """The cost |f(x)|^2."""
        return float(self.residual @ self.residual)

    def __str__(self) -> str:
        numbers = ", ".join(f"{value:.6g}" for value in self.x[:8]) + (", ..." if len(self.x) > 8 else "")
        steps = f"{self.steps} step{'s' * (self.steps != 1)}"
        return f"{self.method}: {self.status} after {steps}, |f| = {self.cost**0.5:.3g} at x = ({numbers})"
