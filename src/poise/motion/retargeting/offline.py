"""Retarget a motion to another body, without configuration.

1. Parts are mapped by the roles of both bodies (`Mapping`), bones by directions, trunks and heads by their own axes,
   hands and feet by the bend axes of limbs: so no rest pose and no offset needs tuning.
2. The path of the hips, and their height above the soles, is scaled by the ratio of the leg lengths.
3. All frames are solved at once: every bone of the target has the direction of the source's bone (`free_motion`).
4. All that is to be kept is one problem over all frames (`ClipProblem`): points that stand still in the source stand
   exactly still in the result, the body stays above the floor or outside the scene, its parts stay out of each other,
   and hands that touch other parts of the body in the source touch them in the result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from poise.errors import InvalidValue
from poise.keywords import refuse_unknown
from poise.kinematics import Motion
from poise.limits import Limit
from poise.limits.convex_parts import find_convex_parts
from poise.limits.near_pairs import keeps_parts_apart
from poise.model import Model
from poise.motion.clips.whole_clip import Progress
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.region_shapes import Obstacle
from poise.motion.contact.scene import read_scene
from poise.motion.contact.soles import measure_size
from poise.motion.contact.standing_heights import STAIR_DEPTH_M, list_swinging
from poise.motion.problem.clip_problem import ClipProblem
from poise.motion.problem.members import ContactPlaces, FloorBelow, Member, PartsApart, TouchKept
from poise.motion.problem.scene_around import SceneAround
from poise.motion.retargeting.free_motion import FreeMotion, begin, cuts_rest
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.hands.clip import refuse_body_options, retarget_hand
from poise.motion.retargeting.hands.goals import has_hand
from poise.motion.retargeting.mapping import Mapping
from poise.motion.retargeting.online import Retargeter, carry_online
from poise.motion.retargeting.options import check_bodies, check_clip, check_contacts, check_progress, check_switch
from poise.motion.retargeting.result import Retargeted, make_result, prepare
from poise.motion.retargeting.separation.limbs import list_arms, list_legs, list_movable
from poise.motion.retargeting.touch.keeper import TouchKeeper
from poise.motion.scenes.scene_lock import enter_scene

__all__ = ["Retargeted", "prepare", "retarget"]

TURN_WEIGHT = 10.0  # of bones and parts, relative to a displacement
SMOOTHNESS = 2.0  # factor on `smooth` while members are kept


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
    carrying, free, held = begun.carrying, begun.free, begun.held
    if begun.scene is not None:
        free, held = enter_scene(begun.scene, free, held, carrying.root if carrying.moves else None)
    clear = clearance and not any(map(keeps_parts_apart, begun.limits))
    # quadrupeds have no hands
    keeper = TouchKeeper(carrying, begun.source, free) if touch and not carrying.tips else None
    members = list_members(replace(begun, free=free, held=held), keeper, clear=clear)
    bones, places = tuple(keep_directions(free, begun.wanted, TURN_WEIGHT)), ContactPlaces(free, held)
    # four legs have places instead of directions, and a longer spread would lead away from them
    spread = begun.smooth * (1.0 if carrying.tips else SMOOTHNESS)
    limbs = list_arms(carrying)
    problem = ClipProblem(free, places, members, bones, begun.limits, spread, carrying.joints, limbs)
    track = problem.solve(begun.progress)
    if progress is not None:
        progress(len(begun.clip), len(begun.clip))
    touches = () if keeper is None else keeper.list_kept(track.motion)
    return replace(make_result(carrying, model, track, begun.clip, begun.scene, touches, clear), cut=begun.cut)


def list_members(begun: FreeMotion, keeper: TouchKeeper | None, *, clear: bool) -> list[Member]:
    """List what a motion keeps besides its contacts: the ground, parts of the body out of each other, and touch."""
    free, held, carrying, members = begun.free, begun.held, begun.carrying, list[Member]()
    size = measure_size(free)
    if begun.scene is not None:
        members.append(SceneAround(begun.scene, free, held))
    elif held.floor is not None and list_swinging(free.model, held)[1] >= -STAIR_DEPTH_M * size:
        members.append(FloorBelow(free))  # if feet stand on stairs below it, nothing is known of the ground elsewhere
    parts, arms = find_convex_parts(free.model) if clear else None, list_arms(carrying)
    if parts is not None and arms:
        cuts, legs = find_cuts(free), [name for leg in list_legs(carrying) for name in leg]
        members.append(PartsApart(list_movable(parts, arms), free.fps, cuts))
        members.append(PartsApart(list_movable(parts, legs, arms), free.fps, cuts, "leg "))
    if keeper is not None and keeper.touches:
        members.append(TouchKept(keeper, size))
    return members
