"""Retarget a clip as one problem. It is compared with `poise.retarget`, which it is to replace.

    python benchmarks/retarget.py problem --cmu DIR --g1 unitree_g1/g1.xml

It knows level floors; scenes, quadrupeds and streams are not members yet. RESULTS.md says where it is better and worse.
"""

from dataclasses import replace

import numpy as np

from poise.kinematics import Motion
from poise.kinematics.rest_frames import begins_at_rest
from poise.limits.convex_parts import ConvexParts, find_convex_parts
from poise.model import Model
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.soles import measure_size
from poise.motion.contact.standing_heights import STAIR_DEPTH_M, list_swinging
from poise.motion.problem.clip_problem import ClipProblem
from poise.motion.problem.members import ContactPlaces, FloorBelow, Member, PartsApart, TouchKept
from poise.motion.retargeting.correspondence import CarryOver
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.offline import solve_without_contacts
from poise.motion.retargeting.result import Retargeted, make_result, prepare
from poise.motion.retargeting.separation.limbs import list_arms, list_legs, list_movable
from poise.motion.retargeting.touch.keeper import TouchKeeper
from poise.motion.retargeting.transfer import carry_contacts, find_holds

__all__ = ["retarget_as_problem"]

TURN_WEIGHT = 4.0  # of bones and parts, relative to a displacement


def retarget_as_problem(clip: Motion, model: Model) -> Retargeted:
    """Return the motion of `poise.retarget(clip, model)`, solved as one problem.

    Contacts, floor, clearance and touch hold together, planted hands of lying bodies included.
    """
    cut = begins_at_rest(clip)
    clip = clip[1:] if cut else clip
    carrying = prepare(clip.model, model, None, "auto", None)
    one = clip if carrying.source is clip.model else Motion(carrying.source, clip.q, clip.fps)
    ledger = find_holds(one, carrying, None, None)
    free, _, wanted = solve_without_contacts(one, carrying, ledger, 1.0, None)
    held, size = carry_contacts(carrying, ledger, free, measure_size(one), None), measure_size(free)
    keeper, parts = None if carrying.tips else TouchKeeper(carrying, one, free), find_convex_parts(free.model)
    contacts, members = ContactPlaces(free, held), list[Member]()
    if held.floor is not None and list_swinging(free.model, held)[1] >= -STAIR_DEPTH_M * size:
        members.append(FloorBelow(free))  # if feet stand on stairs below it, nothing is known of the ground elsewhere
    if parts is not None:
        members.append(PartsApart(group_by_arms(parts, carrying), free.fps, find_cuts(free)))
    if keeper is not None and keeper.touches:
        members.append(TouchKept(keeper, size))
    bones = tuple(keep_directions(free, wanted, TURN_WEIGHT))
    track = ClipProblem(free, contacts, members, bones, (), 1.0, carrying.joints).solve()
    touches = () if keeper is None else keeper.list_kept(track.motion)
    return replace(make_result(carrying, model, track, clip, None, touches, parts is not None), cut=cut)


def group_by_arms(parts: ConvexParts, carrying: CarryOver) -> ConvexParts:
    """Return the pairs that limbs move; an arm moves out of neighbouring parts in one direction."""
    arms, legs = list_arms(carrying), [name for leg in list_legs(carrying) for name in leg]
    own, every = list_movable(parts, arms), list_movable(parts, [*arms, *legs])
    known = {(int(i), int(j)): int(group) for (i, j), group in zip(own.pairs, own.groups, strict=True)}
    first = len(known)
    groups = [known.get((int(i), int(j)), first + k) for k, (i, j) in enumerate(every.pairs)]
    return ConvexParts(parts.model, parts.solids, every.pairs, np.array(groups, dtype=np.intp))
