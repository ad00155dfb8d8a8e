"""Truncated SVD: the pseudo-inverse without nearly singular directions.

    dq = W^-1/2 sum over sigma_i > threshold * sigma_1 of  v_i (u_i . r) / sigma_i,     J W^-1/2 = sum sigma_i u_i v_i^T

(Maciejewski and Klein 1989, numerical filtering without the damping.) Near a singular pose the step stays shorter than
|r| / (threshold sigma_1).

At the threshold a direction appears and disappears between steps, so the motion is not smooth; dls and sdls fade it out
instead. A goal that needs a truncated direction is not reached: lower the threshold.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from poise.arguments import check_positive
from poise.errors import InvalidValue
from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["SVD"]


@dataclass(frozen=True, kw_only=True)
class SVD(JacobianMethod):
    """Truncated SVD.

    Attributes:
        threshold: Singular values below this fraction of the largest are truncated: in (0, 1).
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    threshold: float = 1e-3
    stall_steps: int = 20

    name: ClassVar[str] = "svd"
    code: ClassVar[core.MethodCode] = core.MethodCode.SVD

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_positive(self.threshold, "SVD: threshold") >= 1:
            raise InvalidValue(
                f"SVD: threshold is {self.threshold!r}; it must be below 1, else every direction is cut."
            )

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "options": np.array([self.threshold, 0.0, 0.0, 0.0])}
