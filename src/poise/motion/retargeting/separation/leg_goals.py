"""Goals that keep legs out of each other and of the trunk while contacts are held."""

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from poise.kinematics import Motion
from poise.limits.convex_parts import find_convex_parts
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.body_floor import NEAR_FLOOR_M, measure_heights
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.soles import measure_size
from poise.motion.problem.near_parts import DEEP_M, NEAR_M, flag_around, measure_near
from poise.motion.problem.planes import list_plane_goals
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.separation.limb_correction import SPREAD_S
from poise.motion.retargeting.separation.limbs import list_arm_joints, list_movable

__all__ = ["list_leg_goals"]

PLANE_WEIGHT = 50.0  # of a plane [1 / L], relative to a displacement


def list_leg_goals(free: Motion, carrying: CarryOver, lies: bool) -> tuple[ClipGoal, ...]:
    """List the goals that keep legs out of each other and of the trunk while contacts are held; empty if they are out.

    If the body `lies` in some frames, these are left out: its legs move later (`correct_limbs`).
    """
    parts, arms = find_convex_parts(free.model), set(list_arm_joints(carrying))
    if parts is None or not arms:
        return ()
    size, reach = measure_size(free), round(SPREAD_S * free.fps)
    cuts = find_cuts(free)
    joints = [joint.name for joint in free.model.joints if joint.nv and joint.name not in arms]
    parts, stands = list_movable(parts, joints, arms), np.ones(len(free), dtype=bool)
    if lies:
        shins = {carrying.ours.get(f"knee_{side}") for side in "lr"}
        stands = ~flag_around(len(free), find_low(free, NEAR_FLOOR_M * size, shins), reach, cuts)
    found = measure_near(parts, free.q, stands, -DEEP_M * size, cuts=cuts)
    if not len(found.pose):
        return ()
    moves = stands & flag_around(len(free), found.pose, reach, cuts)
    rows = measure_near(parts, free.q, moves, NEAR_M * size, cuts=cuts)
    return tuple(list_plane_goals(parts, rows, range(len(free)), PLANE_WEIGHT))


def find_low(motion: Motion, height: float, without: Set[str | None]) -> NDArray[np.intp]:
    """Return the frames in which a part is lower than `height` [m], without those that hang on some frames."""
    found = measure_heights(motion)
    if found is None:
        return np.zeros(0, dtype=np.intp)
    own = [k for k, part in enumerate(found.parts) if without.isdisjoint(motion.model.ancestors(part.frame))]
    return np.flatnonzero((found.lowest[:, own] < height).any(axis=1))
