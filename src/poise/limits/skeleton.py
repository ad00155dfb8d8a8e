"""Capsules from a skeleton, for bodies without collision solids.

Each part of the body gets a capsule for each of its bones: from its joint to the next joint, and to each leaf frame (a
fingertip, a heel). A bone of variable length is two capsules, like the tubes of a telescope: one on its parent, one on
its end, both as long as its shortest length. A part has one radius, that of its mass as water,

    pi r^2 (sum of bone lengths) + 4/3 pi r^3 = mass / 1000 kg/m^3,

which gives natural proportions for human masses; 0.12 of its longest bone if no masses are known. A part without mass
is as thick as its child. No radius is above 0.08 L or half the distance to a neighbour's joint. Capsules end at their
frames, and do not reach below the lowest frame of the rest pose. Massless ancestors of a pelvis ("Root", "Armature",
"Reference") only place the body in the scene and are not bones.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats, Triple
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.model.geometry.shapes import Shape
from poise.model.geometry.solids import make_triple
from poise.model.joints.joint import Joint

__all__ = ["BodyCapsule", "cover_missing", "find_water_radius", "list_solids", "make_skeleton_capsules"]


WATER = 1000.0  # [kg/m^3]
THICKEST = 0.08  # of L
SLENDER = 0.12  # radius of a bone without mass, relative to its length
SHORT = 0.003  # of L: shorter bones are skipped


@dataclass(frozen=True, slots=True)
class BodyCapsule:
    """A capsule that moves with a frame.

    Attributes:
        frame: The frame.
        a: One end of its segment, in the frame [m].
        b: The other end [m].
        radius: Its radius [m].
        name: The name of the object that it belongs to; empty for a part of the body.
        guessed: Whether it is guessed from the bones of a rigid part, and stands for all links of that part.
    """

    frame: str
    a: Triple
    b: Triple
    radius: float
    name: str = ""
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class BoneSegment:
    """A segment from a part's joint to the next joint, or to a tip; in the frame that carries the part."""

    start: Floats
    end: Floats
    tip: bool

    @property
    def length(self) -> float:
        """The length [m]."""
        return float(np.linalg.norm(self.end - self.start))


class Skeleton:
    """A model's rigid parts, each named by the frame that carries it, with their bones and connections."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.roots = find_rigid_parts(model)
        self.places = dict(zip(model.frames, model.fk(model.rest), strict=True))
        self.frames: dict[str | None, list[str]] = {}
        for name in model.frames:
            self.frames.setdefault(self.roots[name], []).append(name)
        self.joints: dict[str | None, list[Joint]] = {}
        for joint in model.joints:
            if joint.kind != "fixed":
                self.joints.setdefault(self.roots[joint.parent], []).append(joint)
        self.parents = {joint.frame: part for part, joints in self.joints.items() for joint in joints}
        self.bones = {part: self.find_bones(part) for part in self.frames}

    def carrier(self, part: str | None) -> str:
        """Return the frame that carries a part, in which its points are given."""
        return self.frames[part][0] if part is None else part

    def move_inside(self, part: str | None, point: Floats) -> Floats:
        """Return a point of the rest pose in the part's own frame."""
        T = self.places[self.carrier(part)]
        out: Floats = T[:3, :3].T @ (point - T[:3, 3])
        return out

    def origin(self, joint: Joint) -> Floats:
        """Return the position of a joint at zero in the rest pose [m]; of a bone length, the position of its end."""
        if joint.locked:
            return np.array(self.places[joint.frame][:3, 3])
        if joint.parent is None:
            return np.array(joint.offset.translation)
        T = self.places[joint.parent]
        out: Floats = T[:3, :3] @ joint.offset.translation + T[:3, 3]
        return out

    def find_bones(self, part: str | None) -> list[BoneSegment]:
        """Return the bones of one part."""
        parents = {self.model.frame(name).parent for name in self.model.frames}
        ends = [(self.origin(joint), False) for joint in self.joints.get(part, ()) if joint.parent is not None]
        tips = [name for name in self.frames[part] if name not in parents]
        ends += [(self.places[name][:3, 3], True) for name in tips]
        bones: list[BoneSegment] = []
        for point, tip in ends:
            bone = BoneSegment(np.zeros(3), self.move_inside(part, point), tip)
            others = (float(np.linalg.norm(bone.end - other.end)) for other in bones)
            if min([bone.length, *others]) > SHORT * self.model.length:
                bones.append(bone)
        return bones + [bone for bone in self.find_tubes(part) if bone.length > SHORT * self.model.length]

    def find_tubes(self, part: str | None) -> list[BoneSegment]:
        """Return the halves of bones of variable length: those that start at a part, and the one that ends there."""
        own = [joint for joint in self.model.joints if joint.length and joint.frame == part]
        bones: list[BoneSegment] = []
        for joint in (*self.joints.get(part, ()), *own):
            start, end = self.origin(joint), self.places[joint.frame][:3, 3]
            far = float(np.linalg.norm(end - start))
            if joint.length and far > 0.0:
                tube = min(float(joint.lower) * joint.length / far, 1.0) * (end - start)
                ends = (end, end - tube) if joint.frame == part else (start, start + tube)
                bones.append(BoneSegment(self.move_inside(part, ends[0]), self.move_inside(part, ends[1]), False))
        return bones

    def list_scenery(self) -> set[str | None]:
        """Return the massless parts that only place a body with a pelvis in its scene."""
        pelvis = self.model.roles.get("pelvis")
        above = self.model.ancestors(pelvis)[1:] if pelvis else []
        carriers = {self.roots[name] for name in above} - {self.roots[pelvis]} if pelvis else set()
        return {part for part in carriers if self.mass(part) == 0.0}

    def mass(self, part: str | None) -> float:
        """Return the total mass of a part [kg]."""
        return sum(self.model.frame(name).mass for name in self.frames[part])

    def center(self, part: str | None) -> Floats:
        """Return a part's centre of mass, in its own frame [m]."""
        total = np.zeros(3)
        for name in self.frames[part]:
            frame, T = self.model.frame(name), self.places[name]
            total += frame.mass * (T[:3, :3] @ frame.center + T[:3, 3])
        return self.move_inside(part, total / self.mass(part))

    def room(self, part: str | None) -> float:
        """Return half the distance to the nearest sibling joint [m]."""
        if part is None:
            return np.inf
        beside = self.joints.get(self.parents[part], [])
        own = next(self.origin(joint) for joint in beside if joint.frame == part)
        gaps = [float(np.linalg.norm(self.origin(joint) - own)) for joint in beside if joint.frame != part]
        return min((gap / 2 for gap in gaps if gap > SHORT * self.model.length), default=np.inf)

    def radius(self, part: str | None) -> float:
        """Return the radius of a part [m]."""
        longest = max((bone.length for bone in self.bones[part]), default=0.0)
        most = min(THICKEST * self.model.length, self.room(part))
        if self.mass(part) > 0.0:
            return min(find_water_radius(self.mass(part), sum(bone.length for bone in self.bones[part])), most)
        near: list[str | None] = [joint.frame for joint in self.joints.get(part, ())]
        near = near or [self.parents.get(part or "")]
        thick = [self.radius(other) for other in near if other is not None and self.mass(other) > 0.0]
        return min(max(thick), longest / 2, most) if thick else min(SLENDER * longest, most)


def cover_missing(model: Model, solids: Collection[Shape], covered: Iterable[str]) -> list[BodyCapsule]:
    """Return capsules around the bones of the parts that have solids, but none on a part that is covered.

    Without solids, every part that is not covered has capsules around its bones.
    """
    parts = find_rigid_parts(model)
    wanted = {parts[shape.frame] for shape in solids} if solids else {*parts.values()}
    lost = wanted - {parts[frame] for frame in covered}
    return make_skeleton_capsules(model, lost) if lost else []


def list_solids(model: Model) -> list[Shape]:
    """Return the collision shapes of a body."""
    return [shape for shape in model.shapes if shape.use != "visual"]


def find_water_radius(mass: float, length: float) -> float:
    """Return the radius of a capsule of water with the given mass [kg] and length [m]."""
    roots = np.roots([4.0 / 3.0 * np.pi, np.pi * length, 0.0, -mass / WATER])
    return float(max(root.real for root in roots if abs(root.imag) < 1e-9 * abs(root)))


def make_skeleton_capsules(model: Model, parts: set[str | None] | None = None) -> list[BodyCapsule]:
    """Return capsules around the bones of some parts, by default all; a part with mass but no bones is a ball."""
    skeleton = Skeleton(model)
    up = model.up_direction
    ground = min((float(T[:3, 3] @ up) for T in skeleton.places.values()), default=0.0)
    found: list[BodyCapsule] = []
    scenery = skeleton.list_scenery()
    for part, bones in skeleton.bones.items():
        if part in scenery or (parts is not None and part not in parts):
            continue
        frame, radius = skeleton.carrier(part), skeleton.radius(part)
        T = skeleton.places[frame]
        segments = [shorten_segment(bone, radius) for bone in bones]
        if not bones and skeleton.mass(part) > 0.0:
            segments = [(skeleton.center(part),) * 2]
        for ends in segments:
            a, b = (make_triple(lift_point(end, radius, T, up, ground)) for end in ends)
            found.append(BodyCapsule(frame, a, b, radius, guessed=True))
    return found


def shorten_segment(bone: BoneSegment, radius: float) -> tuple[Floats, Floats]:
    """Return the segment of a bone, shortened by the radius at a tip, so that the round end touches it."""
    back = min(radius, bone.length) if bone.tip else 0.0
    return bone.start, bone.end - back / bone.length * (bone.end - bone.start)


def lift_point(point: Floats, radius: float, T: Floats, up: Floats, ground: float) -> Floats:
    """Return the point, raised if a ball around it would reach below the ground."""
    height = float((T[:3, :3] @ point + T[:3, 3]) @ up)
    lifted: Floats = point + max(0.0, ground + radius - height) * (T[:3, :3].T @ up)
    return lifted
