"""The options of `lock`, and the solve of a clip with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Limit
from poise.motion.clips.whole_clip import ClipAnswer, ClipGoal, Progress, solve_whole

__all__ = ["LockOptions"]


@dataclass(frozen=True, eq=False)
class LockOptions:
    """The options of `lock`.

    `size`, that of a giant relative to a person, scales all tolerances, and no correction spreads over `cuts`.
    """

    smooth: float
    joints: Sequence[str] | None
    limits: tuple[Limit, ...]
    progress: Progress | None
    max_steps: int | None = None
    size: float = 1.0
    cuts: tuple[int, ...] = ()

    def solve(self, clip: Motion, goals: list[ClipGoal], start: Floats | None = None) -> ClipAnswer:
        """Return the clip nearest to `clip` that satisfies the goals."""
        return solve_whole(
            clip,
            goals,
            start=start,
            smooth=self.smooth,
            joints=self.joints,
            limits=self.limits,
            steps=self.max_steps,
            progress=self.progress,
            cuts=self.cuts,
        )
