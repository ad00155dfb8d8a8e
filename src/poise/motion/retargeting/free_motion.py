"""The free motion of a retargeted clip, before anything is held: what is read from the source, and the start.

1. Parts are mapped, the path is scaled, contacts and the floor are found in the source (`begin`).
2. All frames are solved at once for the directions of bones and parts, limbs in the branch that suits the whole clip.
3. If a part other than a foot is below the floor, the hips are lifted and the motion is solved again above it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.arrays import Floats
from poise.goals import Reach
from poise.kinematics import Motion
from poise.kinematics.rest_frames import begins_at_rest
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.clip_limits import read_floor, read_limits, read_number
from poise.motion.clips.lock import read_contacts
from poise.motion.clips.whole_clip import ClipAnswer, ClipGoal, Kernel, Progress, RepeatedProgress, solve_whole
from poise.motion.contact.body_floor import find_lift, make_floor_limits
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.region_shapes import Obstacle
from poise.motion.contact.scene import Scene, read_scene
from poise.motion.contact.soles import measure_size
from poise.motion.retargeting.arms.branch_joiner import BranchJoiner
from poise.motion.retargeting.arms.branches import (
    FREE_REST,
    RobotLimb,
    find_wrong_limbs,
    leave_out,
    make_reachable,
    solve_limbs,
)
from poise.motion.retargeting.arms.hinges import FASTEST_LEG_RAD_S, limit_speed
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.goal_targets import Ground
from poise.motion.retargeting.mapping import Mapping
from poise.motion.retargeting.result import HOLD_WEIGHT, prepare
from poise.motion.retargeting.transfer import carry_contacts, find_air, find_holds, measure_standing_ankle
from poise.motion.scenes.scene_contacts import SceneSource, find_scene_contacts

__all__ = ["FreeMotion", "begin", "cuts_rest"]

FREE_SMOOTHNESS = 1.7  # factor on `smooth` before contacts are held
FREE_STEPS = 8


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """A motion without contacts, and what is to be kept.

    Attributes:
        clip: The clip, without a first frame that shows the rest pose.
        cut: Whether there was such a frame.
        source: The clip of one person in it.
        carrying: The retargeting.
        limits: The limits.
        scene: The scene, or None.
        smooth: The spread of changes in time.
        progress: The progress of the passes, or None.
        free: The motion without contacts.
        wanted: The goals of bones and parts.
        held: The contacts of the target.
    """

    clip: Motion
    cut: bool
    source: Motion
    carrying: CarryOver
    limits: tuple[Limit, ...]
    scene: Scene | None
    smooth: float
    progress: Progress | None
    free: Motion
    wanted: list[ClipGoal]
    held: Contacts


def cuts_rest(clip: Motion, contacts: Contacts | str, keep_rest: bool) -> bool:
    """Return whether the first frame of a clip only shows the rest pose and is left out."""
    return not keep_rest and not isinstance(contacts, Contacts) and begins_at_rest(clip)


def begin(
    clip: Motion,
    model: Model,
    mapping: Mapping | None = None,
    contacts: Contacts | str = "auto",
    scale: float | str | dict[str, float | str] = "auto",
    joints: Sequence[str] | None = None,
    limits: Iterable[Limit] = (),
    smooth: float = 1.0,
    progress: Progress | None = None,
    floor: float | None = None,
    scene: Iterable[Obstacle] | Obstacle = (),
    keep_rest: bool = False,
    visible: bool = True,
) -> FreeMotion:
    """Return the free motion of a clip on another body; the arguments are those of `poise.retarget`."""
    cut = cuts_rest(clip, contacts, keep_rest)
    clip = clip[1:] if cut else clip
    rules, smooth = read_limits(limits), read_number(smooth, "smooth", 0.0)
    carrying = prepare(clip.model, model, mapping, scale, joints, visible=visible)
    one = clip if carrying.source is clip.model else Motion(carrying.source, clip.q, clip.fps)  # one of several people
    ground, world = read_floor(floor), read_scene(scene, carrying.model)
    known = find_feet(one, carrying, world, ground) if contacts == "auto" else None
    rises = None if known is None else known.rises
    ledger = (
        read_contacts(one, contacts)
        if isinstance(contacts, Contacts)
        else find_holds(one, carrying, ground, None if known is None else known.ledger)
    )
    if isinstance(contacts, Contacts) and ground is not None:
        ledger = replace(ledger, floor=ground)
    air = 0.0 if ground is None else find_air(one, ledger)
    passes = None if progress is None else RepeatedProgress(progress)
    free, wanted = solve_without_contacts(one, carrying, ledger, smooth, passes, air, rises)
    held = carry_contacts(carrying, ledger, free, measure_size(one), rises)
    return FreeMotion(clip, cut, one, carrying, tuple(rules), world, smooth, passes, free, wanted, held)


def find_feet(clip: Motion, carrying: CarryOver, scene: Scene | None, floor: float | None) -> SceneSource | None:
    """Find the foot contacts of a source that follows a scene; None without a scene, or on a level floor."""
    if scene is None:
        return None
    return find_scene_contacts(clip, scene, carrying.scales.path, carrying.turn, floor)


def solve_without_contacts(
    clip: Motion,
    carrying: CarryOver,
    ledger: Contacts,
    smooth: float,
    progress: Progress | None,
    air: float = 0.0,
    rises: dict[Contact, float] | None = None,
) -> tuple[Motion, list[ClipGoal]]:
    """Solve the motion from bones and parts; return it, and the goals.

    `air` is the height of its lowest sole above the floor [m], and `rises` the known heights of contacts above it.
    """
    carrying.forget()
    T = carrying.watch(clip.q)
    floor = 0.0 if ledger.floor is None else ledger.floor
    targets = carrying.targets.make(T, Ground(floor, measure_standing_ankle(carrying, T, ledger, rises) - floor - air))
    guide = Motion(carrying.model, carrying.initial.make(T, targets), clip.fps)
    wanted = [
        ClipGoal(goal, targets[:, i], np.full(len(clip), weight))
        for i, (goal, weight) in enumerate(zip(carrying.goals, carrying.targets.weights, strict=True))
    ]

    def solve_all(motion: Motion, goals: list[ClipGoal]) -> ClipAnswer:
        return solve_bones(motion, carrying, goals, smooth, progress=progress if motion is guide else None)

    answer, arms, legs = find_wrong_limbs(carrying, guide, wanted, solve_all)
    limbs = [*arms, *legs]
    trunk = leave_out(wanted, limbs)
    if limbs:  # they are solved after the trunk, which they must not move
        answer = solve_bones(guide, carrying, trunk, smooth, progress=progress)
    kernel = Kernel(guide, trunk, HOLD_WEIGHT, 1.0, FREE_SMOOTHNESS * smooth, carrying.joints, (), FREE_STEPS)
    free = Motion(carrying.model, BranchJoiner(kernel, carrying.model, carrying.root).join(answer.q), clip.fps)
    if limbs:
        free = limit_limbs(solve_limbs(free, limbs, wanted, FREE_SMOOTHNESS * smooth), arms, legs)
        wanted = make_reachable(carrying.model, limbs, wanted, free.q)
        answer = solve_bones(guide, carrying, wanted, smooth, start=free.q)
        free = limit_limbs(Motion(carrying.model, answer.q, clip.fps), arms, legs)
    if ledger.floor is not None and carrying.root is not None and carrying.moves:
        free = keep_above_floor(free, carrying, wanted, smooth)
    return free, wanted


def keep_above_floor(free: Motion, carrying: CarryOver, wanted: list[ClipGoal], smooth: float) -> Motion:
    """Return a motion solved again with its whole body above the floor, if parts of it are below."""
    size = measure_size(free)
    lift = find_lift(free, size)
    if lift is None:
        return free
    rise, q = np.outer(lift, carrying.model.up_direction), np.array(free.q)
    assert carrying.root is not None, "only a root that moves is lifted"
    at = carrying.root.slide.q.start
    q[:, at : at + 3] += rise @ carrying.root.base[:3, :3]
    lifted = Motion(free.model, q, free.fps)
    for each in wanted:
        if each.targets is not None and isinstance(each.goal, Reach):
            each.targets[:, 9:] += rise
    answer = solve_bones(lifted, carrying, wanted, smooth, limits=make_floor_limits(lifted, size))
    return Motion(free.model, answer.q, free.fps)


def limit_limbs(motion: Motion, arms: Sequence[RobotLimb], legs: Sequence[RobotLimb]) -> Motion:
    """Return the motion with the speed of the hinges of limbs limited."""
    motion = limit_speed(motion, [joint for arm in arms for joint in arm.joints])
    return limit_speed(motion, [joint for leg in legs for joint in leg.joints], FASTEST_LEG_RAD_S)


def solve_bones(
    guide: Motion,
    carrying: CarryOver,
    wanted: list[ClipGoal],
    smooth: float,
    *,
    start: Floats | None = None,
    limits: tuple[Limit, ...] = (),
    progress: Progress | None = None,
) -> ClipAnswer:
    """Solve all frames for the targets of bones and parts, before contacts are held."""
    return solve_whole(
        guide,
        wanted,
        start=start,
        hold=HOLD_WEIGHT,
        smooth=FREE_SMOOTHNESS * smooth,
        joints=carrying.joints,
        limits=limits,
        steps=FREE_STEPS,
        rest=FREE_REST,
        progress=progress,
    )
