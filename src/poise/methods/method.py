"""Method: the rule that computes a step.

The arithmetic is in native/kernels; a method holds its settings, documentation and capabilities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from poise.arguments import check_positive, check_whole
from poise.errors import InvalidValue
from poise.model import Model
from poise.model.joints.kinds import KINDS
from poise.native import core

__all__ = ["JacobianMethod", "Method"]

UNSTABLE_GAIN = 2.0  # the error of a step that removes `gain` of it is multiplied by |1 - gain|


@dataclass(frozen=True, kw_only=True)
class Method:
    """The base class of methods.

    Attributes:
        stall_steps: Number of steps without real progress after which a search stops.
        stall_ratio: Progress is real when the cost falls below this fraction of the best so far.
    """

    stall_steps: int = 6
    stall_ratio: float = 0.98

    name: ClassVar[str] = ""
    code: ClassVar[core.MethodCode] = core.MethodCode.LM  # its code in the kernels
    restarts: ClassVar[int] = 0  # searches after the first, for restarts="auto"
    polish: ClassVar[bool] = False  # whether a missed goal is refined to its true minimum
    scale_free: ClassVar[bool] = False  # whether only the ratios of weights and stiffness matter
    longest_step: ClassVar[float] = 1.0  # rad, or in units of L: largest step if step_limit is not given

    # capabilities; other problems are rejected
    joint_kinds: ClassVar[frozenset[str]] = frozenset({*KINDS, "mimic"})  # of the joints that move a goal
    goal_kinds: ClassVar[frozenset[str]] = frozenset({*(op.name.lower() for op in core.GoalOp), "posture"})
    levels: ClassVar[bool] = False  # goals of several priorities, and limits beyond joint ranges
    limit_kinds: ClassVar[frozenset[str]] = frozenset()  # of `poise.limits`, supported although `levels` is False
    devices: ClassVar[frozenset[str]] = frozenset({"cpu"})

    def __post_init__(self) -> None:
        what = type(self).__name__
        check_whole(self.stall_steps, f"{what}: stall_steps", 1)
        if check_positive(self.stall_ratio, f"{what}: stall_ratio") > 1:
            raise InvalidValue(f"{what}: stall_ratio is {self.stall_ratio!r}; it must be above 0 and at most 1.")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings: damping, damping_floor, rounds, gain and up to four options."""
        return {"damping": 0.0, "damping_floor": 0.0, "rounds": 3, "gain": 1.0, "options": np.zeros(4)}

    def refuse_body(self, model: Model, frames: Sequence[str], moves: NDArray[np.bool_]) -> str | None:
        """Return the reason that it cannot solve goals on these frames with these velocities, or None if it can."""
        return None

    def refuse(self, count: Callable[[], tuple[int, int]]) -> str | None:
        """Return the reason that it cannot solve a problem with these rows and velocities, or None if it can."""
        return None


@dataclass(frozen=True, kw_only=True)
class JacobianMethod(Method):
    """The base class of methods whose step follows from the Jacobian and a share of the error, gain * r.

    Attributes:
        gain: Share of the error that a step is to remove: in (0, 2). Below 1 the steps are shorter, which helps where
            the linearisation is only valid nearby; above 1 they overshoot, and from 2 on the error grows.
    """

    gain: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f"{type(self).__name__}: gain"
        if check_positive(self.gain, what) >= UNSTABLE_GAIN:
            raise InvalidValue(f"{what} is {self.gain!r}; it must be below {UNSTABLE_GAIN:g}, else the error grows.")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        return {**super().settings(), "gain": float(self.gain)}
