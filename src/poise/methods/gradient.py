"""Gradient descent: the simplest method.

    dq = gain / |A|^2  W^-1 J^T r,     A = J W^-1/2,  |A| its Frobenius norm

goes downhill on |r|^2 / 2 in the norm given by the stiffness W (steepest descent; Cauchy 1847). Since |A| is at least
the largest singular value, no direction overshoots its own minimum for gain <= 1, and the error falls at every small
enough step.

Slow: the error along singular vector i shrinks by 1 - gain sigma_i^2 / |A|^2 per step, so stretched arms take thousands
of steps. Set max_steps accordingly. It stops at J^T r = 0: at a minimum, or if the error lies in a direction without
motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from poise.errors import InvalidValue
from poise.methods.method import Method, check_positive
from poise.native import core

__all__ = ["Gradient"]


@dataclass(frozen=True, kw_only=True)
class Gradient(Method):
    """Gradient descent.

    Attributes:
        gain: Length of the step, relative to the longest that is safe in every direction: in (0, 2).
    """

    gain: float = 1.0
    stall_steps: int = 50
    stall_ratio: float = 0.9999

    name: ClassVar[str] = "gradient"
    code: ClassVar[core.MethodCode] = core.MethodCode.GRADIENT

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_positive(self.gain, "Gradient: gain") >= 2:
            raise InvalidValue(f"Gradient: gain is {self.gain!r}; it must be below 2, above that steps lead uphill.")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "options": np.array([self.gain, 0.0, 0.0, 0.0])}
