"""Selectively damped least squares: each singular direction is damped according to its joint motion.

For every singular vector, J W^-1/2 = sum sigma_i u_i v_i^T, with blocks of three rows per effector:

    N_i = sum_l |u_i,l|,     M_i = sum_l sum_j |v_i,j| |J_l,j| / sigma_i,     gamma_i = min(1, N_i / M_i) gamma_max
    dq  = ClampMaxAbs( sum_i ClampMaxAbs( v_i (u_i . r) / sigma_i, gamma_i ), gamma_max )

N_i is the motion of the effectors along the direction, M_i the motion of its joints: a direction near singular needs
large joint motions and is limited most. Buss and Kim 2005, Selectively damped least squares for inverse kinematics, J.
Graphics Tools 10(3). The authors' program scales by gamma_i / (gamma_i + size) instead of the paper's clamp: soft=True.
A slide is measured in units of L.

No damping to tune, almost quadratic close to the goal. It costs an SVD per step; goals far out of reach still cause
oscillations: set target_clamp then.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from poise.arguments import check_flag, check_positive
from poise.methods.method import JacobianMethod
from poise.native import core

__all__ = ["SDLS"]


@dataclass(frozen=True, kw_only=True)
class SDLS(JacobianMethod):
    """Selectively damped least squares.

    Attributes:
        gamma_max: Largest change of a joint in one step [rad].
        target_clamp: Largest error of one effector in a step, in units of the body's L (radians for rotations); None
            for no clamp.
        soft: Whether to scale as the authors' program does, instead of clamping as the paper does.
        gain: Share of the error that a step is to remove: in (0, 2).
    """

    gamma_max: float = math.pi / 4
    target_clamp: float | None = None
    soft: bool = False
    stall_steps: int = 20

    name: ClassVar[str] = "sdls"
    code: ClassVar[core.MethodCode] = core.MethodCode.SDLS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.gamma_max, "SDLS: gamma_max")
        if self.target_clamp is not None:
            check_positive(self.target_clamp, "SDLS: target_clamp")
        check_flag(self.soft, "SDLS: soft")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        clamp = 1e30 if self.target_clamp is None else self.target_clamp
        return {**super().settings(), "options": np.array([self.gamma_max, clamp, float(self.soft), 0.0])}
