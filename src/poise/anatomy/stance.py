"""Legs and arms by shape: legs reach the ground, arms are at the other end of the trunk.

The arms of a body without legs may hang down like legs; then only their names can distinguish them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from poise.anatomy.bone_names.words import split_name
from poise.anatomy.limbs import LimbChain, read_limb
from poise.anatomy.parts import Body
from poise.anatomy.symmetry import BodySymmetry, Branches, LimbPair

__all__ = ["BodyStance", "Limbs", "find_path", "find_stance", "is_star"]

GROUND_LAYER = 0.12  # relative to the body's height: the largest height of a foot above the lowest point
LEAST_ARM_ANGLES = 4  # rotational degrees of freedom, of a body without legs
LEAST_LEG_ANGLES = 2  # rotational degrees of freedom; the jaws of a gripper have fewer
ARM_WORDS = frozenset(("shoulder", "elbow", "wrist"))
LEG_WORDS = frozenset(("hip", "thigh", "knee", "shin", "calf", "ankle", "foot", "leg"))
LEAST_LIMB_LENGTH = 0.15  # relative to the body's height
LEAST_LEG_LIKENESS = 0.8  # likeness of an unpaired leg to one of a pair
LEG_LENGTH_BONUS = (
    0.1  # of the length of a pair, in height: of two pairs that reach the ground, the longer one are legs
)
LEAST_DROP = 0.4  # of the length of a pair, from its start to its end: a leg hangs down
CORE_SHARE = 0.4  # of a leg's height: the lowest part of the trunk is above it
MOST_LEG_RISE = 0.35  # of the body's height, between the starts of the legs of a quadruped
LEAST_LEG_RATIO = 0.6  # of the longest pair of legs
LOW_ARM_SCORE, STIFF_ARM_SCORE = 0.2, 0.3  # factors of a pair that begins below the legs, and of one that does not bend
FINGER_RATIO, MOST_FINGERS = 0.6, 3  # of a pair's reach, and number of siblings that reach as far: more are fingers
FLOATING_SLIDES = 2  # translations between the world and the trunk of a floating body; a lift has one


@dataclass(frozen=True, slots=True)
class Limbs:
    """A pair of limbs with the chain of each."""

    pair: LimbPair
    first: LimbChain
    second: LimbChain


@dataclass(frozen=True, slots=True)
class BodyStance:
    """The legs, arms and wheels of a body.

    Attributes:
        legs: Pairs of legs: one for a biped, two for a quadruped, hind legs first.
        arms: The pair of arms, or None.
        wheels: Wheels that are attached to the trunk, by part index.
        height: The height of the body [m].
        floor: The height of its lowest point [m].
        lone: The first parts of legs without a partner, such as the third leg of a tripod.
    """

    legs: tuple[Limbs, ...]
    arms: Limbs | None
    wheels: tuple[int, ...]
    height: float
    floor: float
    lone: tuple[int, ...] = ()


def find_stance(body: Body, symmetry: BodySymmetry) -> BodyStance:
    """Find the legs and arms among the pairs of a body."""
    world = list_detached_roots(body, symmetry)
    joints = [body.height(part.place) for part in body.parts if part.index not in world]
    across = symmetry.normal
    limbs = [
        Limbs(pair, read_limb(body, pair.first, across), read_limb(body, pair.second, across))
        for pair in symmetry.pairs
    ]
    lows = [find_lowest_height(body, limb) for limb in limbs]
    floor, top = min([*joints, *lows]), max([*joints, *(body.height(limb.first.end) for limb in limbs)])
    height = max(top - floor, 1e-9)
    small = [limb for limb in limbs if limb.first.wheel and limb.pair.length < LEAST_LIMB_LENGTH * height]
    wheels = tuple(k for limb in small for k in (limb.pair.first, limb.pair.second))
    long = [
        limb for limb in limbs if limb.pair.length > LEAST_LIMB_LENGTH * max(height, body.size) and limb not in small
    ]
    legs = [limb for limb in long if is_pair_of_legs(body, long, limb, floor, height)]
    if len(legs) > 1 and not begin_at_one_height(body, legs, height):
        legs = [min(legs, key=lambda limb: find_lowest_height(body, limb) - LEG_LENGTH_BONUS * limb.pair.length)]
    if len(legs) == 1 and are_called_arms(body, legs[0]):
        legs = []
    arms = [limb for limb in long if limb not in legs]
    reach = max(arms, key=lambda limb: score_arms(body, limb, legs), default=None)
    if reach is not None and not legs and are_fingers(body, reach):
        reach = None
    return BodyStance(tuple(legs), reach, wheels, height, floor, find_lone_legs(body, legs, floor, height))


def list_detached_roots(body: Body, symmetry: BodySymmetry) -> set[int]:
    """List the roots that are detached from a floating body."""
    above = {k for pair in symmetry.pairs for k in body.list_above(pair.trunk)}
    if sum(body.parts[k].slides for k in above) < FLOATING_SLIDES:
        return set()
    return {part.index for part in body.parts if part.parent < 0 and part.joint is None}


def find_lone_legs(body: Body, legs: list[Limbs], floor: float, height: float) -> tuple[int, ...]:
    """Find the legs without a partner: branches similar to the legs of a pair that also reach the ground."""
    if not legs:
        return ()
    taken = {k for limb in legs for k in (limb.pair.first, limb.pair.second)}
    lows = {
        k: min(body.height(end) for j in body.list_below(k) for end in body.parts[j].ends)
        for k in list_leg_twins(body, legs, taken)
    }
    return tuple(k for k, low in lows.items() if low - floor <= GROUND_LAYER * height)


def list_leg_twins(body: Body, legs: Iterable[Limbs], paired: set[int]) -> list[int]:
    """List the branches next to the legs that are as long and have as many joints, excluding the paired ones."""
    branches = Branches(body)
    others = {k: limb.pair.first for limb in legs for k in body.children[limb.pair.trunk] if k not in paired}
    return [k for k, leg in others.items() if branches.compare(k, leg) > LEAST_LEG_LIKENESS]


def is_star(body: Body, symmetry: BodySymmetry, stance: BodyStance) -> bool:
    """Return whether the legs are arms of a star: an unpaired limb off the ground equals them."""
    paired = {k for pair in symmetry.pairs for k in (pair.first, pair.second)}
    return len(stance.legs) == 1 and not set(list_leg_twins(body, stance.legs, paired)) <= set(stance.lone)


def find_lowest_height(body: Body, limbs: Limbs) -> float:
    """Return the height of the lowest joint or end of a pair [m]."""
    places = [body.parts[k].place for limb in (limbs.first, limbs.second) for k in limb.chain]
    return min(body.height(place) for place in [*places, limbs.first.end, limbs.second.end])


def is_pair_of_legs(body: Body, limbs: list[Limbs], limb: Limbs, floor: float, height: float) -> bool:
    """Return whether a pair of limbs carries the body: it ends at the ground, well below its start and the trunk."""
    if sum(body.parts[k].turns for k in limb.first.chain) < LEAST_LEG_ANGLES:
        return False
    low, begin = find_lowest_height(body, limb), body.height(body.parts[limb.pair.first].place)
    if low - floor > GROUND_LAYER * height or begin - low < max(
        LEAST_DROP * limb.pair.length, LEAST_LIMB_LENGTH * height
    ):
        return False
    places = [body.parts[k].place for k in list_core(body, limbs)]
    heights = [body.height(place) for place in places]
    return min(heights, default=np.inf) > low + CORE_SHARE * (begin - low)


def are_called_arms(body: Body, limbs: Limbs) -> bool:
    """Return whether a pair is named as arms, which may hang down as far as legs.

    Forelegs of animals have shoulders and elbows too, so this only applies to bodies with one pair of legs.
    """
    parts = [body.parts[k] for limb in (limbs.first, limbs.second) for k in limb.chain]
    words = {
        word
        for part in parts
        for name in (part.frame, part.joint.name if part.joint else "")
        for word in split_name(name)
    }
    return bool(words & ARM_WORDS) and not words & LEG_WORDS


def list_core(body: Body, limbs: list[Limbs]) -> set[int]:
    """List the parts of the trunk between the pairs; with one pair all its ancestors, down to a fixed base."""
    hubs = [limb.pair.trunk for limb in limbs]
    if len(set(hubs)) > 1:
        return {k for hub in hubs for k in find_path(body, hubs[0], hub)[1:]}
    fixed = body.parts[body.list_above(hubs[0])[-1]].joint is None
    return {k for k in body.list_above(hubs[0]) if fixed and body.parts[k].joint and not body.parts[k].free}


def begin_at_one_height(body: Body, legs: list[Limbs], height: float) -> bool:
    """Return whether several pairs of legs begin at about the same height, as in a quadruped."""
    begins = [body.height(body.parts[limb.pair.first].place) for limb in legs]
    lengths = [limb.pair.length for limb in legs]
    return max(begins) - min(begins) < MOST_LEG_RISE * height and min(lengths) > LEAST_LEG_RATIO * max(lengths)


def score_arms(body: Body, limb: Limbs, legs: list[Limbs]) -> float:
    """Score a pair as arms: long, with a middle joint, and above the legs."""
    score = limb.pair.length * (1.0 if limb.first.middle is not None else STIFF_ARM_SCORE)
    if legs:
        rise = body.height(body.parts[limb.pair.first].place) - body.height(body.parts[legs[0].pair.first].place)
        score *= 1.0 if rise > 0.0 else LOW_ARM_SCORE
    return score


def are_fingers(body: Body, limbs: Limbs) -> bool:
    """Return whether a pair is two fingers of a hand or gripper: few joints, or many siblings."""
    if sum(body.parts[k].turns for k in limbs.first.chain) < LEAST_ARM_ANGLES:
        return True
    begin = body.parts[limbs.pair.trunk].place
    far = {
        k: max(float(np.linalg.norm(body.parts[b].place - begin)) for b in body.list_below(k))
        for k in body.children[limbs.pair.trunk]
    }
    return sum(reach > FINGER_RATIO * far[limbs.pair.first] for reach in far.values()) > MOST_FINGERS


def find_path(body: Body, a: int, b: int) -> list[int]:
    """List the parts on the path from one part to another, including both."""
    up, down = body.list_above(a), body.list_above(b)
    meet = next(k for k in up if k in down) if set(up) & set(down) else None
    if meet is None:
        return [a, b]
    return [*up[: up.index(meet) + 1], *reversed(down[: down.index(meet)])]
