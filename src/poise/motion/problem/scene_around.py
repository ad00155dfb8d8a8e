"""The whole body outside a scene, as a member of a clip's problem."""

from collections.abc import Sequence

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Limit
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.scene import Scene
from poise.motion.contact.soles import measure_size
from poise.motion.problem.near_parts import Flags, cut_goals
from poise.motion.scenes.scene_goals import list_scene_goals, measure_depths

__all__ = ["SceneAround"]

SINK_M = 1e-3  # depth in a scene that is corrected, of a body of 1.75 m
DEPTH_COST = 3000.0  # of a depth, relative to a place that is missed: as for a floor


class SceneAround:
    """The whole body outside a scene, by planes below its points that are near a surface."""

    waits = wish = of_limbs = False

    def __init__(self, scene: Scene, free: Motion, ledger: Contacts) -> None:
        self.scene, self.ledger, self.size, self.goals = scene, ledger, measure_size(free), list[ClipGoal]()

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Find the planes near a motion; return the depth of the deepest point, (frames,) [m]."""
        self.goals = list_scene_goals(self.scene, moved, self.ledger)
        return DEPTH_COST * np.maximum(measure_depths(self.scene, moved).depths - SINK_M * self.size, 0.0)

    def accept(self, frames: Flags) -> None:
        """Do nothing: all frames have the last linearisation."""

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """List the goals of some frames."""
        return cut_goals(self.goals, at)

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return none."""
        return ()
