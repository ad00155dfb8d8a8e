"""Retarget: carry a motion over onto another body, with no configuration.

1. Parts are mapped by the roles of both bodies (`Mapping`), bones by directions, trunks and heads by axes of their
   own, hands and feet by how limbs bend: so no rest pose and no offset is tuned.
2. Legs set the pace: the path of the hips is scaled by the lengths of the legs, heights above the soles with it.
3. All frames are solved at once: every bone of the target looks where the source's does, its parts turn with it.
4. Points that stand still in the source stand still in the result, exactly (`lock`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from poise.deprecation import accept_former
from poise.kinematics import Motion
from poise.limits import Limit
from poise.model import Model
from poise.motion.clips.clip_limits import read_floor, read_limits, read_number
from poise.motion.clips.lock import LockOptions, lock_places, read_contacts
from poise.motion.clips.whole_clip import ClipGoal, Kernel, Progress, solve_whole
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.soles import measure_size
from poise.motion.contact.transfer import carry_contacts, find_air, find_holds, measure_standing_ankle
from poise.motion.retargeting.branch_joiner import BranchJoiner
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.goal_targets import Ground
from poise.motion.retargeting.mapping import Mapping
from poise.motion.retargeting.online import carry_online
from poise.motion.retargeting.options import check_clip, check_contacts, check_progress
from poise.motion.retargeting.result import HOLD_WEIGHT, Retargeted, make_result, prepare

__all__ = ["Retargeted", "prepare", "retarget"]

FREE_SMOOTHNESS = 1.7  # of `smooth`, before contacts are held
FREE_STEPS, LOCK_STEPS = 8, 8
SLIDE_COST = 5.0  # of a slide relative to a turn while contacts are held: the hips carry all other parts


@accept_former(
    *("clip", "model", "mapping", "contacts", "scale", "joints", "limits", "smooth", "mode", "progress", "floor")
)
def retarget(
    clip: Motion,
    model: Model,
    mapping: Mapping | None = None,
    *,
    contacts: Contacts | str = "auto",
    scale: float | str | dict[str, float | str] = "auto",
    joints: Sequence[str] | None = None,
    limits: Iterable[Limit] = (),
    smooth: float = 1.0,
    mode: str = "clip",
    progress: Progress | None = None,
    floor: float | None = None,
) -> Retargeted:
    """Carry a motion over onto another body on two legs.

    Args:
        clip: The motion.
        model: The body to carry it to; it must move freely, as characters do and robots loaded with `base="free"`.
        mapping: Which frames are the same part; found by the roles of both bodies unless given.
        contacts: The contacts of the source; "auto" finds them.
        scale: Metres of the path for one of the source's; "auto" is the ratio of the legs. `{"legs": 0.8, "arms": 0.7}`
            says both: arms keep their directions ("direction") unless a number or "reach" puts hands that many
            times as far from the hips as the source's ("reach": as the path is scaled).
        joints: The only joints that may move, such as those of the upper body: the others stay in the rest pose, and
            the motion is relative to where the pelvis looks.
        limits: More limits than the joints' own ranges, such as `Speed(8.0)` and `Clearance()`; those about time in
            whole clips only.
        smooth: Over how long changes spread; 1 is a tenth of a second.
        mode: "clip": all frames at once; "online": one after the other, none sees what follows it.
        progress: Called with the frames that are done, and all of them.
        floor: The height of the source's ground, in its own unit; found unless given.

    Raises:
        InvalidValue: A body has no two known legs, or does not move freely; an option is unknown.
        NameNotFound: The mapping is one of other bodies.
    """
    check_clip(clip, mode)
    check_contacts(contacts, mode)
    check_progress(progress)
    if mode == "online":
        return carry_online(clip, model, mapping, scale, joints, read_limits(limits), smooth, progress, floor)
    rules, smooth = read_limits(limits), read_number(smooth, "smooth", 0.0)
    carrying = prepare(clip.model, model, mapping, scale, joints)
    one = clip if carrying.source is clip.model else Motion(carrying.source, clip.q, clip.fps)  # of several people
    ground = read_floor(floor)
    ledger = read_contacts(one, contacts) if isinstance(contacts, Contacts) else find_holds(one, carrying, ground)
    if isinstance(contacts, Contacts) and ground is not None:
        ledger = replace(ledger, floor=ground)
    free = solve_without_contacts(
        one, carrying, ledger, smooth, progress, 0.0 if ground is None else find_air(one, ledger)
    )
    held = carry_contacts(carrying, ledger, free, measure_size(one))
    options = LockOptions(
        smooth, carrying.joints, rules, progress, None if rules else LOCK_STEPS, SLIDE_COST, tips=True
    )
    track = lock_places(free, held, options)
    return make_result(carrying, model, track, clip)


def solve_without_contacts(
    clip: Motion,
    carrying: CarryOver,
    ledger: Contacts,
    smooth: float,
    progress: Progress | None,
    air: float = 0.0,
) -> Motion:
    """Return the motion by bones and parts alone; `air` is the height of its lowest sole above the floor [m]."""
    carrying.forget()
    T = carrying.watch(clip.q)
    floor = 0.0 if ledger.floor is None else ledger.floor
    targets = carrying.targets.make(T, Ground(floor, measure_standing_ankle(carrying, T, ledger) - floor - air))
    guide = Motion(carrying.model, carrying.initial.make(T, targets), clip.fps)
    wanted = [
        ClipGoal(goal, targets[:, i], np.full(len(clip), weight))
        for i, (goal, weight) in enumerate(zip(carrying.goals, carrying.targets.weights, strict=True))
    ]
    answer = solve_whole(
        guide,
        wanted,
        hold=HOLD_WEIGHT,
        smooth=FREE_SMOOTHNESS * smooth,
        joints=carrying.joints,
        steps=FREE_STEPS,
        progress=progress,
    )
    kernel = Kernel(guide, wanted, HOLD_WEIGHT, 1.0, FREE_SMOOTHNESS * smooth, carrying.joints, (), FREE_STEPS)
    return Motion(carrying.model, BranchJoiner(kernel, carrying.model, carrying.root).join(answer.q), clip.fps)
