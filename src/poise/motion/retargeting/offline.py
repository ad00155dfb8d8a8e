"""Retarget a motion to another body, without configuration.

1. Parts are mapped by the roles of both bodies (`Mapping`), bones by directions, trunks and heads by their own axes,
   hands and feet by the bend axes of limbs: so no rest pose and no offset needs tuning.
2. The path of the hips, and their height above the soles, is scaled by the ratio of the leg lengths.
3. All frames are solved at once: every bone of the target has the direction of the source's bone.
4. If a part other than a foot is below the floor, the hips are lifted and the motion is solved again with the whole
   body above it (`body_floor`).
5. Points that stand still in the source stand exactly still in the result (`lock`), with the whole body above the floor
   if it lies on it or would sink into it, or on the surfaces of a scene if one is given (`lock_in_scene`).
6. Arms, and legs that lie or swing, move out of parts that they collide with (`separation`), and hands that touch other
   parts of the body in the source touch them in the result (`touch`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from poise.errors import InvalidValue
from poise.keywords import refuse_unknown
from poise.kinematics import Motion
from poise.kinematics.carriers import Root
from poise.limits import Limit
from poise.limits.near_pairs import is_of_itself, keeps_parts_apart
from poise.model import Model
from poise.motion.clips.clear_lock import lock_clear
from poise.motion.clips.lock import lock_places
from poise.motion.clips.lock_options import LockOptions
from poise.motion.clips.result import Released, Track
from poise.motion.clips.whole_clip import Progress
from poise.motion.contact.body_floor import find_lift, make_floor_limits, measure_depth
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.region_shapes import Obstacle
from poise.motion.contact.scene import Scene, read_scene
from poise.motion.contact.soles import measure_size
from poise.motion.contact.standing_heights import STAIR_DEPTH_M, list_swinging
from poise.motion.retargeting.arms.branch_joiner import bridge_jumps
from poise.motion.retargeting.free_motion import begin, cuts_rest
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.hands.clip import refuse_body_options, retarget_hand
from poise.motion.retargeting.hands.goals import has_hand
from poise.motion.retargeting.mapping import Mapping
from poise.motion.retargeting.online import Retargeter, carry_online
from poise.motion.retargeting.options import check_bodies, check_clip, check_contacts, check_progress, check_switch
from poise.motion.retargeting.result import Retargeted, make_result, prepare
from poise.motion.retargeting.separation.leg_goals import list_leg_goals
from poise.motion.retargeting.separation.limb_correction import correct_limbs
from poise.motion.retargeting.touch.keeper import TouchKeeper
from poise.motion.scenes.scene_goals import measure_depths
from poise.motion.scenes.scene_lock import lock_in_scene

__all__ = ["Retargeted", "prepare", "retarget"]

LOCK_STEPS = 8  # with contacts
BRIDGE_ROUNDS = 3  # of frames that jump while contacts are held above the floor
TURN_WEIGHT = 2.0  # of bones and parts while contacts are held
FLOOR_ROUNDS = 4  # of the parts that are kept above the floor
HELD_SINK_M = 2e-3  # of a body of 1.75 m, into the floor: a deeper one is held above it once more
MOST_SINK_M = 1e-3  # of a body of 1.75 m, into the floor or a scene, while its limbs are kept apart
SLIDE_COST = 5.0  # of a translation relative to a rotation while contacts are held: the hips move all other parts


@refuse_unknown
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
    scene: Iterable[Obstacle] | Obstacle = (),
    touch: bool = True,
    clearance: bool = True,
    keep_rest: bool = False,
    visible: bool = True,
) -> Retargeted:
    """Retarget a motion to another body with as many legs, two or four, or of its upper body to one with two arms only.

    Or from one hand to another: the palm stays in place, the fingers that both have follow, and pinches are kept.

    Args:
        clip: The motion.
        model: The target body; its root must be free, as for characters and robots loaded with `base="free"`.
            The trunk of a body without two legs stays in place: its arms and head follow, relative to the direction
            that the source's chest faces.
        mapping: The frames that are the same part; by default found from the roles of both bodies.
        contacts: The contacts of the source; "auto" detects them.
        scale: The scale of the path; "auto" is the ratio of the leg lengths. `{"legs": 0.8, "arms": 0.7}` sets both:
            arms keep their directions ("direction"), unless a number scales the distance of the hands from the hips
            ("reach" uses the scale of the path).
        joints: The only joints that may move, such as those of the upper body: the others stay in the rest pose, and
            the motion is relative to the direction that the pelvis faces.
        limits: Limits in addition to the joint ranges, such as `Speed(8.0)` and `Clearance(distance=0.01)`; rate limits
            for whole clips only.
        smooth: The spread of changes in time; 1 is 0.1 s.
        mode: "clip" solves all frames at once; "online" one after the other, without look-ahead.
        progress: Called with the number of frames done and the total.
        floor: The height of the source's floor, in its own unit; estimated by default.
        scene: Boxes, HeightMaps and other regions that the body stands on and stays out of, in metres of the target;
            places of the source are multiplied by `scale` about the origin. A floor at height 0 is always included. For
            whole clips only.
        touch: Whether hands that touch the other hand, the head, the trunk, a leg or the other arm keep doing so, and
            fingers that touch the thumb. For whole clips only.
        clearance: Whether parts of a body with collision shapes are kept out of each other, where they would collide.
            A `Clearance` of parts of the body among the limits replaces this.
        keep_rest: Whether to keep a first frame that only shows the rest pose, as `load_motion` leaves it out. It is
            always kept if contacts are given, whose frames are numbered.
        visible: Whether visual shapes of the target that stand out of the collision shapes of their frame by more than
            1 cm, or that have none, are parts of the body as well, for its soles, floor, touch and clearance.

    Raises:
        InvalidValue: A body has neither two or four known legs as the other one nor, as a target, two arms; its root is
            not free; an option is unknown.
        NameNotFound: The mapping belongs to other bodies.
    """
    check_clip(clip, mode)
    check_contacts(contacts, mode)
    check_progress(progress)
    for what, given in {"touch": touch, "clearance": clearance, "visible": visible, "keep_rest": keep_rest}.items():
        check_switch(given, what)
    check_bodies(clip.model, model)
    if has_hand(clip.model):
        refuse_body_options(mapping=mapping, contacts=contacts, scale=scale, mode=mode, floor=floor, scene=scene)
        return retarget_hand(clip, model, joints, limits, smooth, progress, touch, clearance, visible)
    if mode == "online":
        cut = cuts_rest(clip, contacts, keep_rest)
        clip = clip[1:] if cut else clip
        if read_scene(scene, model) is not None:
            raise InvalidValue("scene= is for whole clips, mode='clip'; a stream stays above a level floor.")
        live = Retargeter(
            clip.model, model, mapping, scale, joints, limits, smooth, clip.fps, floor, clearance, visible
        )
        return replace(carry_online(live, clip, progress), cut=cut)
    begun = begin(
        clip, model, mapping, contacts, scale, joints, limits, smooth, progress, floor, scene, keep_rest, visible
    )
    carrying, rules, world = begun.carrying, begun.limits, begun.scene
    free, held, lies, wanted, passes = begun.free, begun.held, begun.lies, begun.wanted, begun.progress
    held, dropped = drop_palms(held) if lies else (held, ())
    settings = LockOptions(begun.smooth, carrying.joints, rules, passes, count_steps(rules), SLIDE_COST, tips=True)
    clear = clearance and not any(map(keeps_parts_apart, rules))
    turns = tuple(keep_directions(free, wanted, TURN_WEIGHT)) if held.intervals or rules or lies else ()
    legs = list_leg_goals(free, carrying, lies) if clear else ()

    def lock_all(kept: tuple[Limit, ...]) -> Track:
        chosen = replace(settings, limits=kept, extra=(*turns, *legs))
        if world is None:
            return hold_above_floor(free, held, chosen, lies, carrying.root)
        return lock_in_scene(world, free, held, chosen, carrying.root if carrying.moves else None)

    track = lock_clear(free, rules, lock_all)
    if lies and legs and sinks_more(free, track.motion):
        apart, legs = track, ()  # a body that lies stays above the floor first
        track = lock_clear(free, rules, lock_all)
        track = track if sinks_more(track.motion, apart.motion) else apart
    track = replace(track, released=(*track.released, *dropped)) if dropped else track
    # quadrupeds have no hands
    keeper = TouchKeeper(carrying, begun.source, track.motion) if touch and not carrying.tips else None
    for kept in (keeper, None) if keeper is not None and keeper.touches else (None,):
        corrected = correct_limbs(
            track.motion, carrying, track.contacts, rules, begun.smooth, wanted, clear=clear, legs=lies, keeper=kept
        )
        if world is None or not sinks_more(track.motion, corrected, world):
            track = replace(track, motion=corrected)
            break
    if progress is not None:
        progress(len(begun.clip), len(begun.clip))
    touches = () if keeper is None else keeper.list_kept(track.motion)
    return replace(make_result(carrying, model, track, begun.clip, world, touches, clear), cut=begun.cut)


def sinks_more(before: Motion, after: Motion, scene: Scene | None = None) -> bool:
    """Return whether the deepest frame of a motion is noticeably deeper in the floor, or in a scene, than before."""
    found = [measure_depth(m) if scene is None else measure_depths(scene, m).depths.max() for m in (before, after)]
    was, now = map(float, found)
    return now - was > MOST_SINK_M * measure_size(after)


def count_steps(limits: Sequence[Limit]) -> int | None:
    """Return the most steps of a lock, or None for the default of clips with limits."""
    return LOCK_STEPS if all(map(is_of_itself, limits)) else None


def lock_smoothly(free: Motion, held: Contacts, options: LockOptions, root: Root | None) -> Track:
    """Hold the contacts of a motion; frames that jump are bridged and solved again, if that makes them smoother."""
    track = lock_places(free, held, options)
    for _ in range(BRIDGE_ROUNDS):
        bridged = bridge_jumps(track.motion, free, root)
        if bridged is None:
            break
        other = lock_places(free, held, replace(options, start=bridged[0]))
        again = bridge_jumps(other.motion, free, root)
        if len(other.released) > len(track.released) or (again is not None and again[1] >= bridged[1]):
            break
        track = other
    return track


def hold_above_floor(free: Motion, held: Contacts, options: LockOptions, lies: bool, root: Root | None) -> Track:
    """Hold the contacts of a motion; the whole body stays above the floor if it lies on it, or would sink into it.

    If feet stand on stairs below the floor, nothing is known of the ground under the body.
    """
    size, (_, lowest) = measure_size(free), list_swinging(free.model, held)
    if not lies or lowest < -STAIR_DEPTH_M * size:
        track = lock_places(free, held, options)
        if held.floor is None or lowest < -STAIR_DEPTH_M * size or find_lift(track.motion, size) is None:
            return track
    near, start = free, options.start
    options = replace(options, approach=True)
    for _ in range(FLOOR_ROUNDS):  # contacts may move other parts to the floor
        kept = (*options.limits, *make_floor_limits(near, size))
        # a few steps do not find poses with contacts and the floor
        track = lock_smoothly(free, held, replace(options, limits=kept, max_steps=None, start=start), root)
        if measure_depth(track.motion) < HELD_SINK_M * size:
            break
        start = track.motion.q
        near = Motion(near.model, np.concatenate([near.q, start]), near.fps)
    return replace(track, limits=options.limits)


def drop_palms(held: Contacts) -> tuple[Contacts, tuple[Released, ...]]:
    """Return the contacts without those of hands on the floor, and those as released.

    Hands that are held exactly would pull a lying or crawling body through the floor.
    """
    reason = "the whole body is kept above the floor instead"
    palms = [contact for contact in held if contact.name.startswith("palm")]
    kept = tuple(contact for contact in held if contact not in palms)
    return replace(held, intervals=kept), tuple(Released(contact, reason) for contact in palms)
