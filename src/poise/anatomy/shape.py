"""Roles by shape: the frame of each role, its certainty, and the reason."""

from dataclasses import dataclass, field, replace

import numpy as np

from poise.anatomy.contacts import ContactPoint, list_points, map_into
from poise.anatomy.limbs import LimbChain
from poise.anatomy.look_direction import Facing, find_facing
from poise.anatomy.outlines import find_half_extent
from poise.anatomy.parts import Body
from poise.anatomy.stance import BodyStance, Limbs, find_stance, is_star
from poise.anatomy.symmetry import IMAGE_DISTANCE, BodySymmetry
from poise.anatomy.trunk import read_trunk
from poise.arrays import Floats
from poise.model import Capsule, Shape, Sphere

__all__ = ["NO_LEGS", "BodyShape", "Guess", "read_shape"]

NO_LEGS = "it has no legs"
TIP_SHARE = 0.05  # of the length of a part: depth of its tip
LEAST_END = 0.4  # of the distance between the last joint and the upper bone: least distance of a foot from that joint


@dataclass(frozen=True, slots=True)
class Guess:
    """A candidate frame for a role, with its certainty (0 to 1) and the reason."""

    frame: str
    certainty: float
    why: str


@dataclass(frozen=True)
class BodyShape:
    """The anatomy of a body by its shape.

    Attributes:
        kind: "biped", "quadruped", "many legs", "two arms", or "" if it has no pairs of limbs.
        roles: The guess for each role.
        notes: Remarks: legs that are wheels, hands without a frame.
        facing: The direction it faces; None without a symmetry plane.
        body: Its parts.
        symmetry: Its symmetry plane, or None.
        stance: Its legs and arms.
        limbs: Its limbs by name.
        ends: The ends of limbs without a frame there, by role: hand_l, foot_fr.
    """

    kind: str
    roles: dict[str, Guess]
    notes: tuple[str, ...]
    body: Body
    facing: Facing | None = None
    symmetry: BodySymmetry | None = None
    stance: BodyStance | None = None
    limbs: dict[str, LimbChain] = field(default_factory=dict)
    ends: tuple[ContactPoint, ...] = ()


def read_shape(body: Body, symmetry: BodySymmetry | None) -> BodyShape:
    """Read the roles of a body from its shape in a pose."""
    if symmetry is None or abs(float(symmetry.normal @ body.up)) > 0.5:
        return BodyShape("", {}, ("it has no two limbs that are mirror images, left and right",), body)
    stance = find_stance(body, symmetry)
    if is_star(body, symmetry, stance):
        return BodyShape(
            "", {}, ("its limbs are equal in all directions, like those of a star: none is a leg or an arm",), body
        )
    facing = find_facing(body, symmetry, stance)
    legs = sorted(stance.legs, key=lambda limbs: float(body.parts[limbs.pair.first].place @ facing.forward))
    kind = {0: "two arms" if stance.arms else "", 1: "biped", 2: "quadruped"}.get(len(legs), "many legs")
    if stance.lone:
        kind, lone = "many legs", {k for leg in stance.lone for k in body.list_below(leg)}
        symmetry = replace(symmetry, trunk=tuple(k for k in symmetry.trunk if k not in lone))
    limbs: dict[str, LimbChain] = {}
    for suffix, pair in zip(list_suffixes(len(legs)), legs, strict=False):
        limbs.update(name_sides(body, facing, pair, "leg", suffix))
    if stance.arms is not None:
        limbs.update(name_sides(body, facing, stance.arms, "arm", ""))
    limbs = {name: complete_limb(body, symmetry, limb, limbs[turn_side(name)]) for name, limb in limbs.items()}
    roles: dict[str, tuple[str, float, str]] = {}
    ends: list[ContactPoint] = []
    notes = [f"the leg at {body.parts[k].frame!r} has no partner" for k in stance.lone]
    for name, limb in limbs.items():
        pair = next(p for p in (*legs, stance.arms) if p is not None and limb.chain[0] in (p.pair.first, p.pair.second))
        sure = pair.pair.alike * (0.6 + 0.4 * facing.certainty)
        roles.update(name_joints(body, name, limb, sure, notes, ends))
    roles.update(read_trunk(body, symmetry, stance, facing, legs, kind, notes))
    if stance.wheels:
        wheels = ", ".join(body.parts[k].frame for k in stance.wheels[:4])
        notes.append(f"it rolls on wheels ({wheels})" + ("" if legs else "; it has no legs"))
    elif not legs:
        notes.append(f"{NO_LEGS}: no pair of limbs reaches the ground below its trunk")
    guesses = {role: Guess(frame, round(min(sure, 1.0), 3), why) for role, (frame, sure, why) in roles.items()}
    return BodyShape(kind, guesses, tuple(notes), body, facing, symmetry, stance, limbs, tuple(ends))


def list_suffixes(count: int) -> tuple[str, ...]:
    """List the side prefixes of pairs of legs, hind legs first: h and f for four legs."""
    return {1: ("",), 2: ("h", "f"), 3: ("h", "m", "f")}.get(count, tuple(f"{k}" for k in range(1, count + 1)))


def name_sides(body: Body, facing: Facing, limbs: Limbs, part: str, before: str) -> dict[str, LimbChain]:
    """Name the two limbs of a pair by their sides: leg_l and leg_r, leg_fl and leg_fr."""
    across = body.parts[limbs.pair.first].place - body.parts[limbs.pair.second].place
    if np.linalg.norm(across) < 1e-3 * body.size:
        across = limbs.first.end - limbs.second.end
    left, right = (limbs.first, limbs.second) if across @ facing.left > 0.0 else (limbs.second, limbs.first)
    return {f"{part}_{before}l": left, f"{part}_{before}r": right}


def turn_side(name: str) -> str:
    """Return the name of the limb on the other side."""
    return name[:-1] + {"l": "r", "r": "l"}[name[-1]]


def complete_limb(body: Body, symmetry: BodySymmetry, limb: LimbChain, other: LimbChain) -> LimbChain:
    """Return a limb that ends before its middle joint can be seen, with the joints and end of the other side's."""
    if limb.middle is not None or other.middle is None or limb.wheel:
        return limb

    def reflect(place: Floats) -> Floats:
        return np.array(place - 2.0 * (symmetry.normal @ place - symmetry.offset) * symmetry.normal)

    def find(part: int) -> int | None:
        off = {k: np.linalg.norm(body.parts[k].place - reflect(body.parts[part].place)) for k in limb.chain}
        near = min(limb.chain, key=lambda k: off[k])
        return near if off[near] < IMAGE_DISTANCE * body.size else None

    upper, middle = find(other.upper), find(other.middle)
    if upper is None or middle is None or upper == middle:
        return limb
    end = reflect(other.end if other.last is None else body.parts[other.last].place)
    return replace(limb, upper=upper, middle=middle, end=end)


LEG = {"upper": ("hip",), "middle": ("knee",), "last": ("ankle", "foot"), "beyond": ("ball", "toe")}
ARM = {"girdle": ("clavicle",), "upper": ("shoulder",), "middle": ("elbow",), "last": ("wrist", "hand")}
REASONS = {
    "girdle": "the bone between trunk and arm",
    "upper": "it carries the {middle}",
    "middle": "it bends the {limb} most",
    "last": "the end of the {limb}",
    "beyond": "the part beyond the foot",
}


def name_joints(
    body: Body, name: str, limb: LimbChain, sure: float, notes: list[str], ends: list[ContactPoint]
) -> dict[str, tuple[str, float, str]]:
    """Name the joints of a limb, leg_l or arm_r; missing parts are added to the notes, its end to the ends."""
    kind, side = name.split("_")
    table = LEG if kind == "leg" else ARM
    found: dict[str, tuple[str, float, str]] = {}
    words = {"limb": kind, "middle": table["middle"][0]}
    if limb.middle is None:
        first = table["upper"][0]
        found[f"{first}_{side}"] = (body.parts[limb.upper].frame, 0.5 * sure, f"it carries a {kind} that does not bend")
        notes.append(f"{name} has no {table['middle'][0]}" + ("; it ends in a wheel" if limb.wheel else ""))
        return found
    for place, parts in table.items():
        k = getattr(limb, place)
        if k is not None:
            certainty = sure * (0.8 if place in ("girdle", "beyond") else 1.0)
            for part in parts:
                found[f"{part}_{side}"] = (body.parts[k].frame, certainty, REASONS[place].format(**words))
    end = table["last"][1]
    if limb.wheel:
        notes.append(f"{name} ends in a wheel ({body.parts[limb.chain[-1]].frame})")
        for part in (*table["last"], "ball", "toe"):
            found.pop(f"{part}_{side}", None)
    elif limb.last is None:
        frame = find_end_frame(body, limb)
        if frame is not None:
            found[f"{end}_{side}"] = (frame, 0.7 * sure, f"the frame at the end of the {kind}")
        else:
            last = body.parts[limb.chain[-1]].frame
            notes.append(f"{end}_{side} has no frame of its own: nothing moves or is named beyond {last!r}")
            ends += find_end(body, limb, f"{end}_{side}")
    return found


def find_end_frame(body: Body, limb: LimbChain) -> str | None:
    """Find a frame fixed to the last part of a limb far from its joint, such as the foot of a robot dog."""
    last = body.parts[limb.chain[-1]]
    names = (*last.frames[1:], *last.marks)
    off = {name: float(np.linalg.norm(body.places[name][:3, 3] - last.place)) for name in names}
    far = max(off, key=lambda name: off[name], default=None)
    return far if far is not None and off[far] > find_least_end(body, limb) else None


def find_least_end(body: Body, limb: LimbChain) -> float:
    """Return the least distance of a foot or hand from the last joint of its limb [m]."""
    return LEAST_END * float(np.linalg.norm(body.parts[limb.chain[-1]].place - body.parts[limb.upper].place))


def find_end(body: Body, limb: LimbChain, role: str) -> list[ContactPoint]:
    """Return the end of a limb without a frame there, if it is far from the last joint: of solids, a mesh, or bones."""
    last = body.parts[limb.chain[-1]]
    points, evidence = list_points(body, list(last.frames))
    if evidence == "shapes":
        solids = [shape for shape in body.model.shapes if shape.frame in last.frames]
        points = list_solid_ends(body, [shape for shape in solids if shape.use != "visual"] or solids)
    off = np.linalg.norm(points - last.place, axis=1)
    tip = points[off >= (1.0 - TIP_SHARE) * off.max()].mean(axis=0)
    for place, why in ((tip, evidence), (limb.end, "bones")):
        if float(np.linalg.norm(place - last.place)) > find_least_end(body, limb):
            return [ContactPoint(role, last.frame, map_into(body, last.frame, place), why)]
    return []


def list_solid_ends(body: Body, shapes: list[Shape]) -> Floats:
    """List the middles of the sides of some solids; of round ones, the centres of their ends."""
    out: list[Floats] = []
    for shape in shapes:
        half, T = find_half_extent(shape.shape), body.places[shape.frame] @ shape.offset.matrix
        if half is not None:
            round_by = shape.shape.radius if isinstance(shape.shape, (Sphere, Capsule)) else 0.0
            out += [T[:3, 3] + sign * (half[k] - round_by) * T[:3, k] for k in range(3) for sign in (-1.0, 1.0)]
    return np.array(out)
