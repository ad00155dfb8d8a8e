"""HeldTrack: a solved clip of a body with objects in its hands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.goals import Goal
from poise.motion.clips.clip_limits import part_limits
from poise.motion.clips.frame_by_frame import FrameByFrame, weigh_joints
from poise.motion.clips.result import Track
from poise.motion.objects.grips import GraspScene
from poise.solvers import Solution

__all__ = ["HeldTrack"]


@dataclass(frozen=True, eq=False, repr=False)
class HeldTrack(Track):
    """A clip of a body that holds objects.

    Attributes:
        scene: The body with its objects.
        goals: The other goals.
        paths: The targets of those goals over time.
    """

    scene: Any = None
    goals: tuple[Goal, ...] = ()
    paths: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def impossible(self) -> int | None:
        """The first frame that cannot be solved separately either, or None."""
        found = self._find_impossible()
        return None if found is None else found[0]

    def why(self) -> str:
        """Return one paragraph on the first impossible frame, its cause, and all missed goals."""
        told = super().why()
        if self.reached.all() and (self.broken is None or not self.broken.any()):
            return told
        found = self._find_impossible()
        if found is None:
            return f"Every frame is possible by itself; one after the other they are not.\n{told}"
        t, solution = found
        return f"Frame {t} ({t / self.motion.fps:.2f} s) is the first that is impossible: {solution.why()}\n{told}"

    def _find_impossible(self) -> tuple[int, Solution] | None:
        """Return the first frame that fails by itself too, with its solution."""
        bad = ~self.reached if self.broken is None else ~self.reached | self.broken
        solver = self._make_solver()
        for t in np.flatnonzero(bad).tolist():
            solution = self._solve_alone(solver, t)
            if not solution.reached:
                return t, solution
        return None

    def _make_solver(self) -> FrameByFrame:
        scene: GraspScene = self.scene
        held = [grip.make_goal(name, grip.target, grip.thing) for name, grip in scene.grips.items()]
        lasting = part_limits(self.limits)[0]
        return FrameByFrame(scene.whole, [*held, *self.goals], self.paths, self.contacts, lasting, asked=self.asked)

    def _solve_alone(self, solver: FrameByFrame, t: int) -> Solution:
        scene: GraspScene = self.scene
        q = np.concatenate([self.motion.q[t], scene.place_all(self.motion.q)[t, scene.body.nq :]])
        return solver.solve(t, q, (), None, weigh_joints(scene.whole, 1.0))
