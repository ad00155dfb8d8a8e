"""The facing of a body, which determines left and right, by votes of feet, knees, elbows and convention.

Up, forward and left are a right-handed triple: left = up x forward.
"""

from dataclasses import dataclass

import numpy as np

from poise.anatomy.limbs import LimbChain, find_center, measure_distance
from poise.anatomy.parts import Body
from poise.anatomy.stance import BodyStance
from poise.anatomy.symmetry import BodySymmetry
from poise.arrays import Floats
from poise.names import split_words

__all__ = ["Facing", "find_facing"]

FORE = ("front", "fore", "vorder", "vorn")  # first letters of words for fore legs
HIND = ("hind", "rear", "back", "hinter", "hinten")
FORE_SIDES, HIND_SIDES = {"fl", "fr", "lf", "rf"}, {"hl", "hr", "rl", "rr", "bl", "br", "lh", "rh"}
TAIL = {"tail", "schwanz"}
WEIGHTS = {"names": 4.0, "feet": 3.0, "knees": 2.0, "head": 2.0, "elbows": 1.5}  # of votes, relative to the convention
LEAST_VOTE = 0.1  # a weaker vote is not named as evidence
LEAST_TOTAL = 2.0  # total weight of votes below which certainty is lower
ANKLE_SHARE = 0.8  # of the lower bone's length: joints beyond it belong to the ankle or wrist
FOOT_SHARE = 0.15  # of the length of a shin: the reach of a foot ahead of its ankle that gives a full vote
NO_REACH_SHARE = 0.02  # of the length of a shin: a foot that reaches less far ahead is judged by its centre of mass
ONE_SIDED_SHARE = 0.25  # of a hinge's range: difference of its two sides that shows to which one it bends


@dataclass(frozen=True, slots=True)
class Facing:
    """The forward and left directions, their certainty (0.5 to 1), and the evidence."""

    forward: Floats
    left: Floats
    certainty: float
    why: str


def find_facing(body: Body, symmetry: BodySymmetry, stance: BodyStance) -> Facing:
    """Find the forward direction: normal x up of the symmetry plane, with the sign decided by votes."""
    ahead = np.cross(symmetry.normal, body.up)
    ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-12)
    votes: list[tuple[float, str]] = []
    legs = [limb for pair in stance.legs for limb in (pair.first, pair.second)]
    two = len(stance.legs) == 1
    if two:
        votes.append((WEIGHTS["feet"] * vote_by_feet(body, legs, ahead), "feet"))
        votes.append((WEIGHTS["knees"] * vote_by_bends(body, legs, ahead, 1), "knees"))
    elif legs:
        votes.append((WEIGHTS["names"] * vote_by_names(body, stance, ahead), "names of legs"))
        votes.append((WEIGHTS["head"] * vote_by_head(body, symmetry, stance, ahead), "head"))
    if stance.arms is not None:
        arms = [stance.arms.first, stance.arms.second]
        votes.append((WEIGHTS["elbows"] * vote_by_bends(body, arms, ahead, -1), "elbows"))
    custom = np.eye(3)[0] if body.model.up == "z" else np.eye(3)[2]
    votes.append((float(np.round(custom @ ahead)), "the convention of such files"))
    total = sum(vote for vote, _ in votes)
    sign = 1.0 if total >= 0.0 else -1.0
    for_it = [why for vote, why in votes if vote * sign > LEAST_VOTE]
    weight = sum(abs(vote) for vote, _ in votes)
    certainty = 0.5 if weight == 0.0 else 0.5 + 0.5 * min(1.0, abs(total) / max(weight, LEAST_TOTAL))
    forward = sign * ahead
    return Facing(forward, np.cross(body.up, forward), certainty, " and ".join(for_it) or "a guess")


def find_ankle(body: Body, limb: LimbChain) -> Floats:
    """Return the end of a limb's lower bone [m]: the first joint of its ankle or wrist, otherwise the limb's end."""
    if limb.last is None or limb.middle is None:
        return limb.end
    at, last = body.parts[limb.middle].place, body.parts[limb.last].place
    lower = limb.chain[limb.chain.index(limb.middle) + 1 : limb.chain.index(limb.last) + 1]
    far = [
        body.parts[k].place
        for k in lower
        if measure_distance(body.parts[k].place, at) > ANKLE_SHARE * measure_distance(last, at)
    ]
    return far[0] if far else last


def vote_by_feet(body: Body, legs: list[LimbChain], ahead: Floats) -> float:
    """Return a vote by the reach of feet ahead of their ankles, -1 to 1."""
    votes = []
    for leg in legs:
        if leg.last is None or leg.middle is None:
            continue
        ankle, foot = find_ankle(body, leg), body.parts[leg.last]
        long = measure_distance(ankle, body.parts[leg.middle].place)
        ends = np.concatenate([body.parts[k].ends for k in body.list_below(leg.last)])
        along = (ends - ankle) @ ahead
        reach = float(along.max() + along.min())
        if foot.mass and abs(reach) < NO_REACH_SHARE * long:
            reach = float((find_center(body, foot) - ankle) @ ahead)
        votes.append(np.clip(reach / max(FOOT_SHARE * long, 1e-9), -1.0, 1.0))
    return float(np.mean(votes)) if votes else 0.0


def vote_by_bends(body: Body, limbs: list[LimbChain], ahead: Floats, sign: int) -> float:
    """Return a vote by the bend direction of knees (sign 1) or elbows (sign -1), -1 to 1.

    A hinge votes by its range: the lower bone moves back when a knee bends. Other joints vote by the bend of the pose:
    the knee is ahead.
    """
    votes = []
    for limb in limbs:
        if limb.middle is None:
            continue
        middle, upper = body.parts[limb.middle], body.parts[limb.upper]
        end = find_ankle(body, limb)
        if middle.axis is not None and middle.joint is not None:
            low, high = float(middle.joint.lower), float(middle.joint.upper)
            at = float(body.model.rest[middle.joint.q][0]) if middle.joint.nq else 0.0
            if np.isfinite([low, high]).all() and abs((high - at) - (at - low)) > ONE_SIDED_SHARE * (high - low):
                turn = np.sign((high - at) - (at - low))
                moved = np.cross(middle.axis, end - middle.place) * turn
                votes.append(-sign * float(moved @ ahead) / max(float(np.linalg.norm(end - middle.place)), 1e-9))
                continue
        line = end - upper.place
        off = middle.place - upper.place
        off = off - line * float(off @ line) / max(float(line @ line), 1e-12)
        votes.append(sign * float(np.clip(10.0 * (off @ ahead) / max(float(np.linalg.norm(line)), 1e-9), -1.0, 1.0)))
    return float(np.clip(np.mean(votes), -1.0, 1.0)) if votes else 0.0


def vote_by_names(body: Body, stance: BodyStance, ahead: Floats) -> float:
    """Return a vote by names of fore and hind legs, such as FL_thigh and hind_left_knee: -1, 0 or 1."""
    places, ends = [], []
    for limbs in stance.legs:
        parts = [body.parts[k] for limb in (limbs.first, limbs.second) for k in limb.chain]
        words = [word for part in parts for word in split_words(part.frame)]
        fore = sum(word.startswith(FORE) or word in FORE_SIDES for word in words)
        hind = sum(word.startswith(HIND) or word in HIND_SIDES for word in words)
        places.append(float(body.parts[limbs.pair.first].place @ ahead))
        ends.append(fore - hind)
    return float(np.sign(np.dot(np.array(places) - np.mean(places), np.sign(ends))))


def vote_by_head(body: Body, symmetry: BodySymmetry, stance: BodyStance, ahead: Floats) -> float:
    """Return a vote by the position of a quadruped's head (its highest middle part) relative to its legs, -1 to 1."""
    legs = np.array([body.parts[limb.pair.first].place for limb in stance.legs])
    center = legs.mean(axis=0)
    carriers = {k for limb in stance.legs for k in body.list_above(limb.pair.trunk)}
    parts = [body.parts[k] for k in symmetry.trunk if k not in carriers]
    places = [part.ends.mean(axis=0) for part in parts if not TAIL & set(split_words(part.frame))]
    if not places:
        return 0.0
    high = max(places, key=body.height)
    span = max(float(np.ptp(legs @ ahead)), 1e-9)
    return float(np.clip(2.0 * ((high - center) @ ahead) / span, -1.0, 1.0))
