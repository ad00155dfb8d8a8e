"""Retarget the fingers of a hand: one problem over all frames, without configuration.

minimise    distances of joints and tips from their places, gaps of pinches
subject to  the joint ranges and limits; parts of the hand out of each other
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.anatomy.hands import Hand
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.limits import Limit
from poise.limits.convex_parts import find_convex_parts
from poise.limits.near_pairs import keeps_parts_apart
from poise.model import Model
from poise.model.derive import hide_visual
from poise.motion.clips.clip_limits import read_limits, read_number
from poise.motion.clips.whole_clip import Progress, RepeatedProgress, solve_whole
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.ledger import Contacts
from poise.motion.contact.soles import measure_size
from poise.motion.problem.clip_problem import ClipProblem
from poise.motion.problem.members import ContactPlaces, Member, PartsApart, TouchKept
from poise.motion.retargeting.correspondence import Scales
from poise.motion.retargeting.hands.goals import HandGoals, list_digit_joints
from poise.motion.retargeting.hands.pinches import Pinches
from poise.motion.retargeting.mapping import Mapping, Pair
from poise.motion.retargeting.options import read_joints
from poise.motion.retargeting.result import Retargeted
from poise.motion.retargeting.separation.limbs import list_movable

__all__ = ["HOLD_WEIGHT", "SMOOTHNESS", "choose_joints", "refuse_body_options", "retarget_hand"]

HOLD_WEIGHT = 3e-3  # of a displacement from the rest pose: fingers that are stretched may lean and roll as they like
SMOOTHNESS = 1.4  # factor on `smooth` before pinches close and parts move apart
PINCH_ROUNDS = 4  # in which gaps are measured and closed before parts move apart, the first without them
POINT_FACTOR = 4.0  # of all places relative to a displacement, while pinches close and parts move apart


ADVICE = {
    "mapping": "; model.with_roles corrects the names of fingers",
    "mode": "; poise.motion.HandRetargeter follows a stream",
}
BODY_OPTIONS = {"mapping": None, "contacts": "auto", "scale": "auto", "mode": "clip", "floor": None, "scene": ()}


@dataclass(frozen=True)
class HandScales(Scales):
    """The ratio of the lengths of the fingers of two hands."""

    def __str__(self) -> str:
        return f"fingers are {self.path:.3f} times as long as those of the source"


def retarget_hand(
    clip: Motion,
    model: Model,
    joints: Sequence[str] | None,
    limits: Iterable[Limit],
    smooth: float,
    progress: Progress | None,
    touch: bool,
    clearance: bool,
    visible: bool,
) -> Retargeted:
    """Return a motion of a hand that follows that of another one; the options are those of `poise.retarget`.

    The palm stays where it is: only joints of digits that both hands have move.
    """
    body, rules = model if visible else hide_visual(model), read_limits(limits)
    goals, smooth = HandGoals(clip.model, body), read_number(smooth, "smooth", 0.0)
    moving = choose_joints(body, goals.target.hand, joints)
    rest, fps = np.tile(body.rest, (len(clip), 1)), clip.fps
    wanted, passes = goals.list_goals(clip), None if progress is None else RepeatedProgress(progress)
    guide, cuts, pinches = Motion(body, rest, fps), find_cuts(clip), Pinches(goals, body, clip)
    closing, free, members = touch and bool(pinches.weights.any()), guide, list[Member]()
    for round_ in range(PINCH_ROUNDS if closing else 1):
        every, spread = [*wanted, *(pinches.make_goals(free)[0] if round_ else [])], SMOOTHNESS * smooth
        found = solve_whole(
            guide, every, start=free.q, hold=HOLD_WEIGHT, smooth=spread, joints=moving, cuts=cuts, progress=passes
        )
        free = Motion(body, found.q, fps)
    parts = find_convex_parts(body) if clearance and not any(map(keeps_parts_apart, rules)) else None
    if parts is not None:
        members.append(PartsApart(list_movable(parts, moving), fps, cuts))
    if closing:
        members.append(TouchKept(pinches, measure_size(free)))
    contacts = ContactPlaces(free, Contacts((), len(clip), fps, None))
    bones = [replace(each, weights=POINT_FACTOR * each.weights) for each in wanted]
    track = ClipProblem(free, contacts, members, bones, rules, smooth, moving).solve(passes)
    motion, errors = Motion(model, track.motion.q, fps), goals.compare_bones(clip, track.motion)
    return Retargeted(
        motion,
        map_digits(goals, clip.model, model),
        track.contacts,
        HandScales(goals.target.length / goals.source.length),
        track,
        clip,
        np.array(list(errors.values())),
        tuple(errors),
        touches=pinches.list_kept(track.motion) if touch else (),
        separated=parts is not None,
    )


def choose_joints(model: Model, hand: Hand, joints: Sequence[str] | None) -> list[str]:
    """Return the joints of the digits of a hand, of those that may move."""
    given, own = read_joints(joints), list_digit_joints(model, hand)
    moving = own if given is None else [name for name in own if name in given]
    if not moving:
        raise InvalidValue(f"joints has none of the joints of the fingers, {', '.join(own)}.")
    return moving


def refuse_body_options(**given: object) -> None:
    """Raise if an option that is about whole bodies only is not at its default.

    Raises:
        InvalidValue: It names the option.
    """
    for name, value in given.items():
        default = BODY_OPTIONS[name]
        if not isinstance(value, type(default)) or value != default:
            advice = ADVICE.get(name, "")
            raise InvalidValue(f"{name}= is for whole bodies, and the source is a hand: leave it out{advice}.")


def map_digits(goals: HandGoals, source: Model, model: Model) -> Mapping:
    """Return the frames of both hands that are the same part."""
    theirs, ours = goals.source.hand.roles, goals.target.hand.roles
    side, other = goals.source.hand.side, goals.target.hand.side
    pairs = {role: (role.removesuffix(side) + other, frame) for role, frame in theirs.items()}
    found = tuple(Pair(to, frame, ours[to]) for to, frame in pairs.values() if to in ours)
    named = {pair.role for pair in found}
    missing = tuple(sorted({*ours, *(to for to, _ in pairs.values())} - named))
    return Mapping(source.name, model.name, found, missing, (source, model))
