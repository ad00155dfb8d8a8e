"""The options of `lock`, and the solve of a clip with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Limit
from poise.motion.clips.clip_limits import part_limits
from poise.motion.clips.whole_clip import ClipAnswer, ClipGoal, Progress, solve_whole

__all__ = ["LockOptions"]

SOFT_WEIGHT, SOFT_STEPS = 5.0, 12  # of contacts that are not held exactly yet, and the steps of their solve


@dataclass(frozen=True, eq=False)
class LockOptions:
    """The options of `lock`, and the cost of a root translation relative to a rotation (`slide`).

    `tips` means that places are on the floor itself, so feet that cannot be laid flat are raised above it. `size`, that
    of a giant relative to a person, scales all tolerances, and no correction spreads over `cuts`. `extra` are goals in
    addition to those of the contacts, and `start` the initial configurations. With `approach`, a body far from its
    places is moved nearer to them first: held exactly at once, it may end in a turned pose.
    """

    smooth: float
    joints: Sequence[str] | None
    limits: tuple[Limit, ...]
    progress: Progress | None
    max_steps: int | None = None
    slide: float = 1.0
    tips: bool = False
    size: float = 1.0
    cuts: tuple[int, ...] = ()
    extra: tuple[ClipGoal, ...] = ()
    start: Floats | None = None
    approach: bool = False

    def solve(self, clip: Motion, goals: list[ClipGoal], start: Floats | None = None) -> ClipAnswer:
        """Return the clip nearest to `clip` that satisfies the goals."""
        return solve_whole(
            clip,
            [*goals, *self.extra],
            start=start,
            slide=self.slide,
            smooth=self.smooth,
            joints=self.joints,
            limits=self.limits,
            steps=self.max_steps,
            progress=self.progress,
            cuts=self.cuts,
        )

    def solve_softly(self, clip: Motion, goals: list[ClipGoal]) -> Floats:
        """Return configurations nearer to the goals than those of `clip`; none is held exactly, and no rate is kept."""
        near = [
            replace(goal, weights=SOFT_WEIGHT * goal.weights if goal.hard else goal.weights, hard=False)
            for goal in goals
        ]
        lasting = tuple(part_limits(self.limits)[0])
        return replace(self, limits=lasting, max_steps=SOFT_STEPS).solve(clip, near).q
