"""The trunk by shape: the pelvis carries the legs, the chest the arms; the spine is between, the head beyond."""

import numpy as np

from poise.anatomy.limbs import measure_distance
from poise.anatomy.look_direction import Facing
from poise.anatomy.parts import Body
from poise.anatomy.stance import BodyStance, Limbs, find_path
from poise.anatomy.symmetry import BodySymmetry
from poise.arrays import Floats

__all__ = ["read_trunk"]

CROWN_LENGTH = 0.085  # relative to the body's height: a longer bone above the neck ends at the top of the head

AHEAD_WEIGHT = 2.0  # of the direction ahead, relative to up: the head of an animal is ahead of its trunk
LEAST_HEAD_RISE = -0.02  # relative to the body's height: a branch in the middle that ends lower is a tail
LEAST_NECK_HEIGHT = 0.4  # relative to the body's height, above the floor
MOST_NECK_PARTS = 4  # of a body on four or more legs: a longer branch is an arm on its back
LEAST_HEAD_MASS = 0.05  # of the heaviest part of neck and head: lighter parts at its end are left out

Found = dict[str, tuple[str, float, str]]


def read_trunk(
    body: Body,
    symmetry: BodySymmetry,
    stance: BodyStance,
    facing: Facing,
    legs: list[Limbs],
    kind: str,
    notes: list[str],
) -> Found:
    """Find pelvis, spine, chest, neck and head."""
    hind = legs[0].pair.trunk if legs else None
    fore = stance.arms.pair.trunk if stance.arms else legs[-1].pair.trunk if len(legs) > 1 else None
    found: Found = {}
    sure = min([pair.pair.alike for pair in (*legs, stance.arms) if pair is not None], default=0.0)
    carried = "hind legs" if len(legs) > 1 else "legs"
    if hind is not None:
        found["pelvis"] = (body.parts[hind].frame, sure, f"it carries the {carried}")
    if fore is not None:
        carries = "arms" if stance.arms else "fore legs"
        found["chest"] = (body.parts[fore].frame, sure * (0.9 if fore != hind else 0.6), f"it carries the {carries}")
    path = [] if hind is None or fore is None else find_path(body, hind, fore)
    spine = [k for k in path[1:] if body.parts[k].turns or k == fore]
    if spine:
        found["spine_1"] = (body.parts[spine[0]].frame, 0.9 * sure, "the first part above the pelvis")
    if len(spine) > 2:
        middle = spine[(len(spine) - 1) // 2]
        found["spine_2"] = (body.parts[middle].frame, 0.8 * sure, "between the pelvis and the chest")
    top = fore if fore is not None else hind
    if top is not None:
        found.update(read_head(body, symmetry, stance, facing, top, hind, kind, sure))
    if fore is None and "head" in found:  # a body with legs only: the part above them is its chest
        found["chest"] = found.pop("neck", found["head"])
        found.pop("head")
    if fore is not None and "head" not in found and kind in ("biped", "two arms"):
        notes.append("head has no frame of its own: nothing in the middle moves beyond the chest")
    return found


def read_head(
    body: Body,
    symmetry: BodySymmetry,
    stance: BodyStance,
    facing: Facing,
    top: int,
    hind: int | None,
    kind: str,
    sure: float,
) -> Found:
    """Find neck and head: the middle branch beyond the arms that reaches highest, or farthest ahead."""
    core = set(find_path(body, hind, top)) if hind is not None else {top}
    core |= set(body.list_above(top))
    starts = [k for k in symmetry.trunk if body.parts[k].parent in core and k not in core and body.parts[k].turns]
    if hind is not None and hind != top:
        starts = [k for k in starts if body.parts[k].parent != hind]
    ahead = facing.forward if kind in ("quadruped", "many legs") else 0.0 * facing.forward
    rises = {k: [float(p @ (body.up + AHEAD_WEIGHT * ahead)) for p in list_places_below(body, k)] for k in starts}
    begin = {k: float(body.parts[k].place @ (body.up + AHEAD_WEIGHT * ahead)) for k in starts}
    best = max(starts, key=lambda k: max(rises[k]), default=None)
    if best is None or max(rises[best]) - begin[best] < LEAST_HEAD_RISE * stance.height:
        return {}
    if body.height(body.parts[best].place) < stance.floor + LEAST_NECK_HEIGHT * stance.height:
        return {}
    chain = follow_middle(body, symmetry, best)
    if len(chain) > MOST_NECK_PARTS and kind in ("quadruped", "many legs"):
        return {}  # an arm on a back
    chain = end_at_head(body, chain, stance.height if kind in ("biped", "two arms") else np.inf)
    found: Found = {"head": (body.parts[chain[-1]].frame, 0.9 * sure, "the last part in the middle, above the rest")}
    if len(chain) > 1:
        found["neck"] = (body.parts[chain[0]].frame, 0.9 * sure, "the first part between chest and head")
    return found


def end_at_head(body: Body, chain: list[int], height: float) -> list[int]:
    """Drop the parts beyond a head: those without mass, and the bone that ends at its crown."""
    heavy = max(body.parts[k].mass for k in chain)
    while len(chain) > 1 and body.parts[chain[-1]].mass < LEAST_HEAD_MASS * heavy:
        chain = chain[:-1]
    last = body.parts[chain[-1]]
    crown = measure_distance(last.place, body.parts[chain[-2]].place) if len(chain) > 2 else 0.0
    return (
        chain[:-1]
        if crown > CROWN_LENGTH * height and len(last.frames) == 1 and not body.children[last.index]
        else chain
    )


def list_places_below(body: Body, part: int) -> list[Floats]:
    """List the positions of all points of a part and its descendants [m]."""
    return [end for k in body.list_below(part) for end in body.parts[k].ends]


def follow_middle(body: Body, symmetry: BodySymmetry, first: int) -> list[int]:
    """Follow the middle of the body from a part outwards until it forks; short side branches are ignored."""
    chain = [first]
    while True:
        below = [k for k in body.children[chain[-1]] if k in symmetry.trunk and body.parts[k].turns]
        long = [k for k in below if len(below) == 1 or len(body.children[k]) > 0]
        if len(long) != 1 or len(body.children[chain[-1]]) > 3:
            return chain
        chain.append(long[0])
