"""The look of a body: one smooth surface per part around its skeleton, or the solids of its file.

Capsules of `poise.limits` become round cones, with equal radii where two parts meet at a joint, so that limbs taper;
an arm has links and housings (`arm_flesh`).
A body with the roles of a person (pelvis, chest, shoulders) gets a rib cage, palms and a skull in its own
proportions. Visual solids of the file are drawn unchanged.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.seen_shapes import list_seen, shows_body
from poise.limits.capsules import body_capsules
from poise.limits.skeleton import BodyCapsule, make_skeleton_capsules
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.model.plane import is_planar
from poise.pictures.body.arm_flesh import is_chain, shape_arm
from poise.pictures.body.joint_balls import join_balls
from poise.pictures.body.surface import (
    Solid,
    Surface,
    join_solids,
    make_capsule,
    make_solid,
    mesh_solid,
    round_surface,
)

__all__ = [
    "PERSON",
    "Flesh",
    "cover_skeleton",
    "find_flesh",
    "find_standing",
    "is_person",
    "place_balls",
    "taper_capsules",
]

Color = tuple[int, int, int]
Capsules = Iterator[Solid]

PLANAR_RADIUS = 0.02  # relative to model length: the drawn radius of a planar arm's bones
SKIN: Color = (222, 214, 203)
JOINTED: Color = (196, 203, 209)
HAND = ("wrist", "hand", "fingertip", "thumb")
FOOT = ("ankle", "heel", "ball", "toe")
MEETING = 2e-3  # relative to model length: ends closer than this meet
BALL = 0.12  # relative to the extent of the body: the radius of balls at frames without bones
UPRIGHT = 0.5  # relative to the distance from pelvis to head: the least height of the head above the pelvis
PERSON = ("pelvis", "chest", "shoulder_l", "shoulder_r", "head")


@dataclass(frozen=True, slots=True, eq=False)
class Flesh:
    """A surface that moves with a frame.

    Attributes:
        frame: The frame.
        surface: The surface in the frame's axes [m].
        color: Red, green and blue, 0 to 255.
        parts: Names of the frames the surface covers: those of its rigid part.
    """

    frame: str
    surface: Surface
    color: Color
    parts: frozenset[str]


@keep_with_model
def find_flesh(model: Model) -> tuple[Flesh, ...]:
    """Return all surfaces of a body without meshes: the solids of its file, and flesh for the other parts."""
    seen = list_seen(model)
    parts = find_rigid_parts(model)
    solids = [(solid, mesh_solid(solid)) for solid in map(make_solid, seen) if solid is not None]
    drawn = [
        Flesh(str(solid.frame), surface, find_color(solid), frozenset({str(solid.frame)}))
        for solid, surface in solids
        if len(surface.faces)
    ]
    served = {parts[f.frame] for f in drawn}
    if drawn and shows_body(model, seen):  # other parts stay hidden, as the author intended
        wanted = {parts[s.frame] for s in seen}
        served |= {part for part in parts.values() if part not in wanted}
    grown = (*drawn, *grow_flesh(model, served))
    balls = [] if grown else place_balls(model)
    return grown or tuple(Flesh(str(s.frame), mesh_solid(s), JOINTED, frozenset({str(s.frame)})) for s in balls)


def place_balls(model: Model) -> list[Solid]:
    """Return balls that make a body without bones visible."""
    places = model.fk(np.array(model.rest))[:, :3, 3]
    spread = float(np.linalg.norm(np.ptp(places, axis=0))) if len(places) else 0.0
    radius = BALL * spread if spread > 0.0 else BALL * (model.length or 1.0)
    far: list[str] = []
    for k, frame in enumerate(model.frames):
        if all(np.linalg.norm(places[k] - places[model.frames.index(other)]) > radius for other in far):
            far.append(frame)
    return [make_capsule(frame, np.zeros(3), np.zeros(3), radius) for frame in far]


def grow_flesh(model: Model, served: Collection[str | None]) -> list[Flesh]:
    """Return flesh around the skeleton, except for the parts in `served`."""
    parts = find_rigid_parts(model)
    color = SKIN if is_person(model) else JOINTED
    solids: dict[tuple[str, Color], list[Solid]] = {}
    mesh = join_solids if shape_arm(model) else round_surface
    for solid in shape_arm(model) or cover_skeleton(model):
        own = color if solid.color is None else find_color(solid)
        solids.setdefault((str(solid.frame), own), []).append(solid)
    return [
        Flesh(frame, mesh(of), own, frozenset(name for name in model.frames if parts[name] == parts[frame]))
        for (frame, own), of in solids.items()
        if parts[frame] not in served
    ]


def find_color(solid: Solid) -> Color:
    """Return the colour of a solid, or the default."""
    if solid.color is None:
        return JOINTED
    r, g, b = (round(255 * float(c)) for c in solid.color)
    return r, g, b


def taper_capsules(model: Model, capsules: Sequence[BodyCapsule]) -> Capsules:
    """Convert capsules to cones with equal radii where they meet.

    Stubs next to a longer bone are left out.
    """
    if not capsules:
        return
    T = model.fk(np.array(model.rest))[[model.frames.index(capsule.frame) for capsule in capsules]]
    ends = np.array([(capsule.a, capsule.b) for capsule in capsules])
    world = (np.einsum("nij,nkj->nki", T[:, :3, :3], ends) + T[:, None, :3, 3]).reshape(-1, 3)
    thick = np.array([capsule.radius for capsule in capsules])
    if is_chain(model):  # masses of an arm are mostly motors, and say little about its shape
        thick = np.clip(thick, 0.8 * np.median(thick), 1.25 * np.median(thick))
    if is_planar(model):  # a planar arm is a thick line
        thick = np.maximum(thick, PLANAR_RADIUS * model.length)
    long = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    meets = np.linalg.norm(world[:, None] - world[None], axis=-1) < MEETING * model.length
    radii, limb = np.repeat(thick, 2), np.repeat(long > 2.2 * thick, 2)
    least, most = np.where(meets, radii, np.inf).min(axis=1), np.where(meets, radii, 0.0).max(axis=1)
    shared = np.where(limb, np.clip(np.sqrt(least * most), 0.7 * radii, 1.35 * radii), radii)
    # a massless part between a thin and a thick one, such as a collar bone, starts with the larger radius
    light = np.repeat([sum_mass(model, capsule.frame) == 0.0 for capsule in capsules], 2)
    shared = np.where(light & (least < 0.65 * most), 0.95 * most, shared).reshape(-1, 2)
    longest = {c.frame: max(long[k] for k, other in enumerate(capsules) if other.frame == c.frame) for c in capsules}
    for k, (capsule, radius) in enumerate(zip(capsules, shared.tolist(), strict=True)):
        if long[k] == longest[capsule.frame] or long[k] > 0.8 * thick[k]:
            yield make_capsule(capsule.frame, np.array(capsule.a), np.array(capsule.b), (radius[0], radius[1]))


def sum_mass(model: Model, frame: str) -> float:
    """Return the total mass of a frame's rigid part [kg]."""
    parts = find_rigid_parts(model)
    mine = parts[model.frame(frame).name]
    return sum(model.frame(name).mass for name in model.frames if parts[name] == mine)


def cover_skeleton(model: Model) -> Capsules:
    """Yield the flesh of a body: tapered bones, and the trunk, skull, palms and soles of a person."""
    shown = shows_body(model, list_seen(model))
    bones = join_balls(model, body_capsules(model) if shown else make_skeleton_capsules(model))
    shaped = find_person_parts(model) if is_person(model) else set()
    yield from (solid for solid in taper_capsules(model, list(bones)) if solid.frame not in shaped)
    yield from shape_person(model)


def find_person_parts(model: Model) -> set[str]:
    """Return the frames of a person whose flesh is not made of capsules."""
    middle = ("pelvis", "spine_1", "spine_2", "chest", "head", "neck")
    pairs = ["clavicle"]
    pairs += ["wrist"] if all(f"{role}_l" in model.roles for role in HAND) else []
    pairs += ["ankle", "ball"] if all(f"{role}_l" in model.roles for role in FOOT) else []
    roles = [*middle, *(f"{role}_{side}" for role in pairs for side in "lr")]
    return {model.roles[role] for role in roles if role in model.roles}


def is_person(model: Model) -> bool:
    """Return whether a body has the parts of a person and its head above them (a dog's head is in front)."""
    if not all(role in model.roles for role in PERSON):
        return False
    q = find_standing(model)
    long = float(np.linalg.norm(np.subtract(*(model.fk(q, model.roles[role])[:3, 3] for role in ("head", "pelvis")))))
    return measure_standing(model, q) > UPRIGHT * long


def find_standing(model: Model) -> Floats:
    """Return the pose that gives a person's proportions: the rest pose, or a clip's first frame if more upright.

    In many files all bones point along x in the rest pose, which does not determine the directions up and left.
    """
    frames = model.example_poses
    poses: list[Floats] = [np.array(model.rest)] + ([] if frames is None else [np.array(frames[0])])
    heights = [measure_standing(model, q) for q in poses]
    return poses[0] if heights[0] >= 0.7 * max(heights) else poses[-1]


def measure_standing(model: Model, q: Floats) -> float:
    """Return the smaller of the heights of the head above the pelvis and of the pelvis above the feet [m]."""
    T, up = dict(zip(model.frames, model.fk(q), strict=True)), model.up_direction
    head, pelvis, *feet = (
        float(T[model.roles[role]][:3, 3] @ up)
        for role in ("head", "pelvis", "ankle_l", "ankle_r")
        if role in model.roles
    )
    return min(head - pelvis, pelvis - sum(feet) / len(feet)) if feet else head - pelvis


class Placer:
    """Positions of a person's roles in the standing pose, and cones given in world coordinates.

    Attributes:
        wide: The distance between the shoulders [m]: the unit of all flesh.
        left: The body's left, a unit vector; `up` and `front` are orthogonal to it.
    """

    def __init__(self, model: Model) -> None:
        self.roles = model.roles
        self.places = dict(zip(model.frames, model.fk(find_standing(model)), strict=True))
        across = self.locate("shoulder_l") - self.locate("shoulder_r")
        self.wide = float(np.linalg.norm(across))
        self.left: Floats = across / self.wide
        up = self.locate("head") - self.locate("pelvis")
        up -= self.left * (self.left @ up)
        self.up: Floats = up / np.linalg.norm(up)
        self.front: Floats = np.cross(self.left, self.up)

    def locate(self, role: str) -> Floats:
        """Return the position of a role [m]."""
        return np.array(self.places[self.roles[role]][:3, 3])

    def grow(self, role: str, a: Floats, b: Floats, start: float, end: float) -> Solid:
        """Return a capsule that moves with a role."""
        T = self.places[self.roles[role]]
        one, other = (T[:3, :3].T @ (p - T[:3, 3]) for p in (a, b))
        return make_capsule(self.roles[role], one, other, (start, end))


def shape_person(model: Model) -> Capsules:
    """Yield pelvis, waist, rib cage, skull and palms, in proportion to the skeleton."""
    if not is_person(model):
        return
    place = Placer(model)
    at, wide, up, front = place.locate, place.wide, place.up, place.front
    for side in (1.0, -1.0):
        hip = at("hip_l" if side > 0 else "hip_r") if "hip_l" in model.roles else at("pelvis")
        waist = at("pelvis") + 0.1 * wide * up + 0.12 * side * wide * place.left
        yield place.grow("pelvis", waist, hip + 0.08 * wide * up, 0.2 * wide, 0.215 * wide)
        yield from shape_trunk(place, side)
        yield from shape_palm(place, side)
        yield from shape_sole(place, side)
    head, top = at("head"), at("head_top") if "head_top" in model.roles else at("head") + 0.42 * wide * up
    jaw = head + 0.09 * wide * front
    yield place.grow(
        "head", top - 0.265 * wide * up + 0.01 * wide * front, top - 0.24 * wide * up, 0.225 * wide, 0.24 * wide
    )
    yield place.grow("head", jaw + 0.05 * wide * up, jaw + 0.13 * wide * up, 0.125 * wide, 0.17 * wide)
    collar = (at("shoulder_l") + at("shoulder_r")) / 2
    if "neck" in model.roles:
        yield place.grow("neck", at("neck") - 0.06 * wide * up, head, 0.15 * wide, 0.135 * wide)
        if float(np.linalg.norm(at("neck") - collar)) > 0.35 * wide:
            yield place.grow("chest", collar, at("neck"), 0.17 * wide, 0.15 * wide)
    else:
        yield place.grow("chest", collar, head, 0.15 * wide, 0.135 * wide)
    above = at("spine_1" if "spine_1" in model.roles else "chest")
    if "spine_1" not in model.roles or float(np.linalg.norm(above - at("pelvis"))) > 0.4 * wide:
        yield place.grow("pelvis", at("pelvis") + 0.1 * wide * up, above, 0.2 * wide, 0.2 * wide)


def shape_trunk(place: Placer, side: float) -> Capsules:
    """Yield one half of the trunk: waist, ribs, collar bone."""
    at, wide, up, front = place.locate, place.wide, place.up, place.front
    out = side * place.left
    column = [role for role in ("spine_1", "spine_2", "chest") if role in place.roles]
    for role, above, half, thick in zip(column, column[1:], (0.12, 0.14), (0.205, 0.215), strict=False):
        low, high = at(role) + 0.05 * wide * front, at(above) + 0.06 * wide * front
        yield place.grow(role, low + half * wide * out, high + (half + 0.01) * wide * out, thick * wide, thick * wide)
    chest = at("chest") + 0.07 * wide * front
    shoulder = at("shoulder_l" if side > 0 else "shoulder_r")
    rise = float(up @ (shoulder - at("chest")))
    ribs, top = chest + 0.03 * wide * up, chest + 0.78 * rise * up
    yield place.grow("chest", ribs + 0.15 * wide * out, top + 0.2 * wide * out, 0.22 * wide, 0.2 * wide)
    yield place.grow("chest", chest + 0.3 * rise * up, top, 0.22 * wide, 0.2 * wide)
    collar = "clavicle_l" if side > 0 else "clavicle_r"
    if collar in place.roles:
        yield place.grow(collar, shoulder - 0.27 * wide * out + 0.02 * wide * up, shoulder, 0.12 * wide, 0.14 * wide)


def shape_palm(place: Placer, side: float) -> Capsules:
    """Yield a flat hand with its thumb."""
    names = [f"{n}_{'l' if side > 0 else 'r'}" for n in HAND]
    if not all(name in place.roles for name in names):
        return
    wide = place.wide
    wrist, hand, tip, thumb = (place.locate(name) for name in names)
    along = (tip - wrist) / np.linalg.norm(tip - wrist)
    beside = thumb - wrist - along * (along @ (thumb - wrist))
    beside /= np.linalg.norm(beside)
    yield place.grow(names[0], wrist, wrist + 0.4 * (hand - wrist), 0.08 * wide, 0.075 * wide)
    for k in (-1.0, 0.0, 1.0):
        reach = tip - (0.05 + 0.05 * abs(k - 0.2)) * wide * along
        knuckle = hand + 0.085 * k * wide * beside
        yield place.grow(names[0], wrist + 0.04 * k * wide * beside, knuckle, 0.07 * wide, 0.058 * wide)
        yield place.grow(names[0], knuckle, reach + 0.075 * k * wide * beside, 0.058 * wide, 0.042 * wide)
    yield place.grow(names[0], wrist + 0.3 * (thumb - wrist), thumb - 0.03 * wide * along, 0.06 * wide, 0.042 * wide)


def shape_sole(place: Placer, side: float) -> Capsules:
    """Yield a foot on its sole: heel, instep, and toes that bend at the ball."""
    names = [f"{n}_{'l' if side > 0 else 'r'}" for n in FOOT]
    if not all(name in place.roles for name in names):
        return
    wide, up = place.wide, place.up
    ankle, heel, ball, toe = (place.locate(name) for name in names)
    along = (toe - heel) / np.linalg.norm(toe - heel)
    out = np.cross(up, along)
    back, front, tip = 0.115 * wide, 0.085 * wide, 0.062 * wide
    middle = heel + back * (up + along)
    yield place.grow(names[0], ankle, middle, 0.115 * wide, back)
    for k in (-1.0, 0.0, 1.0):
        spread = 0.06 * k * wide * out
        yield place.grow(names[0], middle + 0.25 * spread, ball + front * up + spread, back, front)
        yield place.grow(names[0], ankle + 0.05 * wide * along, ball + front * up + 0.5 * spread, 0.09 * wide, front)
        yield place.grow(
            names[2], ball + front * up + spread, toe + tip * (up - along) + 0.8 * spread, 0.98 * front, tip
        )
