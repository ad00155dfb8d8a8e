"""Retarget a clip as one problem. It is compared with `poise.retarget`, which it is to replace.

    python benchmarks/retarget.py problem --cmu DIR --g1 unitree_g1/g1.xml

It knows level floors, scenes, limits and quadrupeds; streams are not solved by it. RESULTS.md says where it is better
and worse.
"""

from dataclasses import replace
from typing import Any

from poise.kinematics import Motion
from poise.limits.convex_parts import find_convex_parts
from poise.limits.near_pairs import keeps_parts_apart
from poise.model import Model
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.soles import measure_size
from poise.motion.contact.standing_heights import STAIR_DEPTH_M, list_swinging
from poise.motion.problem.clip_problem import ClipProblem
from poise.motion.problem.members import ContactPlaces, FloorBelow, Member, PartsApart, TouchKept
from poise.motion.problem.scene_around import SceneAround
from poise.motion.retargeting.free_motion import FreeMotion, begin
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.result import Retargeted, make_result
from poise.motion.retargeting.separation.limbs import list_arms, list_legs, list_movable
from poise.motion.retargeting.touch.keeper import TouchKeeper
from poise.motion.scenes.scene_lock import enter_scene

__all__ = ["retarget_as_problem"]

TURN_WEIGHT = 4.0  # of bones and parts, relative to a displacement
SMOOTHNESS = 1.5  # factor on `smooth` while members are kept


def retarget_as_problem(clip: Motion, model: Model, **options: Any) -> Retargeted:
    """Return the motion of `poise.retarget(clip, model, **options)`, solved as one problem.

    Contacts, floor or scene, limits, clearance and touch hold together, planted hands of lying bodies included.
    """
    begun = begin(clip, model, **options)
    carrying, free, held = begun.carrying, begun.free, begun.held
    if begun.scene is not None:
        free, held = enter_scene(begun.scene, free, held, carrying.root if carrying.moves else None)
    clear = not any(map(keeps_parts_apart, begun.limits))
    keeper = None if carrying.tips else TouchKeeper(carrying, begun.source, free)  # quadrupeds have no hands
    members = list_members(replace(begun, free=free, held=held), keeper, clear=clear)
    bones, places = tuple(keep_directions(free, begun.wanted, TURN_WEIGHT)), ContactPlaces(free, held)
    spread = SMOOTHNESS * begun.smooth
    problem = ClipProblem(free, places, members, bones, begun.limits, spread, carrying.joints)
    track = problem.solve(begun.progress)
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
