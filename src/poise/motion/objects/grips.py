"""Grips: the goals of grasps with a known place on the object.

A palm that lies flat on a face may turn there. So the hand gets a frame on the palm whose z axis is the palm's normal,
and the goal leaves the turn about that axis free.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Grasp, Reach
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.together import write_coordinates
from poise.limits.carried_objects import CarriedObject
from poise.model import Model, ModelBuilder, Object
from poise.model.derive import add_objects
from poise.model.spec import FrameSpec
from poise.motion.objects.palms import Palm, find_flesh, find_hand, find_palm
from poise.spatial import Transform
from poise.spatial.rotation import turn_z_to

__all__ = ["GraspScene", "Grip", "make_scene"]

TOUCH_DISTANCE = 0.02  # relative to a person's size: a closer palm touches
PERSON_HEIGHT = 1.6  # m: the extent of the frames of a person
FOREARM_THICKNESS = 0.5  # relative to the hand's thickness: the forearm above a flat hand on an object
FLAT_PALM_WEIGHTS = (1.0, 1.0, 1.0, 1.0, 1.0, 0.0)  # all axes except the turn about the palm's normal


@dataclass(frozen=True, eq=False)
class Grip:
    """A grasp with its place on the object.

    Attributes:
        goal: The grasp.
        hand: The frame of the hand.
        frame: The frame that holds the object: the hand, or a frame on its palm.
        offset: The pose of the palm frame in the hand; None if the hand frame itself holds.
        target: The target of the frame in the object's axes: a transform or a point [m].
        weight: Weights of the components.
        thing: The frame of the object.
    """

    goal: Grasp
    hand: str
    frame: str
    offset: Transform | None
    target: Transform | Floats
    weight: Any
    thing: str

    def follow(self, path: Floats) -> Floats:
        """Return the targets of the frame in the world along the path of the object, (frames, 4, 4) or (frames, 3)."""
        if isinstance(self.target, Transform):
            return np.asarray(path @ self.target.matrix)
        return np.asarray(path[:, :3, :3] @ self.target + path[:, :3, 3])

    def make_goal(self, name: str, target: Any, relative_to: str | None = None) -> Reach:
        """Return the goal for one frame of the clip."""
        return Reach(
            self.frame,
            target,
            relative_to=relative_to,
            weight=self.weight,
            priority=self.goal.priority,
            name=name,
            tolerance=self.goal.tolerance,
        )


@dataclass(frozen=True, eq=False)
class GraspScene:
    """A body, the objects in its hands, and its grips.

    Attributes:
        body: The body as it was given.
        gripping: The body with a frame on each palm that lies flat.
        whole: The gripping body with a frame for each object, on a locked joint.
        grips: The grips by the names of their goals.
        objects: The objects by name.
        paths: The poses of each object, (frames, 4, 4).
    """

    body: Model
    gripping: Model
    whole: Model
    grips: Mapping[str, Grip]
    objects: Mapping[str, Object]
    paths: Mapping[str, Floats]

    def list_carried(self) -> tuple[CarriedObject, ...]:
        """List the objects as parts of `whole`, each with the parts that may touch it."""
        return tuple(
            CarriedObject(each, name_thing(self.body, each), self.find_spared(each), self.find_next(each))
            for each in self.objects.values()
        )

    def find_spared(self, thing: Object) -> frozenset[str | None]:
        """Return the rigid parts that hold an object, and their descendants."""
        hands = {grip.hand for grip in self.grips.values() if grip.goal.object is thing}
        parts = find_rigid_parts(self.body)
        held = {parts[hand] for hand in hands}
        return frozenset(
            part for part in parts.values() if part and held & {parts[f] for f in self.body.ancestors(part)}
        )

    def find_next(self, thing: Object) -> dict[str | None, float]:
        """Return the parent parts of the hands on an object, with their thickness at the object [m]."""
        parts, out = find_rigid_parts(self.body), dict[str | None, float]()
        for grip in self.grips.values():
            part = parts[grip.hand]
            if grip.goal.object is thing and part is not None:
                thick = find_flesh(self.body, grip.hand)[1]
                out[parts[self.body.frame(part).parent]] = FOREARM_THICKNESS * thick
        return out

    def place_all(self, q: Floats) -> Floats:
        """Return configurations of `whole`, (frames, nq), from configurations of the body."""
        things = [np.stack([write_coordinates(T) for T in self.paths[name]]) for name in self.objects]
        return np.concatenate([q, *things], axis=1)


def make_scene(
    model: Model, grasps: Mapping[str, Grasp], frames: int, start: Floats, firsts: Mapping[str, int]
) -> GraspScene:
    """Return the body with the objects that it holds.

    Args:
        model: The body.
        grasps: The grasps, by name.
        frames: The number of frames.
        start: The pose of the body at the first frame, (nq,).
        firsts: The first frame of each grasp.
    """
    objects: dict[str, Object] = {}
    for goal in grasps.values():
        if objects.setdefault(goal.object.name, goal.object) is not goal.object:
            raise InvalidValue(f"two objects are called {goal.object.name!r}; give one of them another name=.")
    paths = {name: each.follow(frames) for name, each in objects.items()}
    grips = {
        name: find_grip(model, goal, paths[goal.object.name][firsts[name]], start) for name, goal in grasps.items()
    }
    offsets = {grip.frame: (grip.hand, grip.offset) for grip in grips.values() if grip.offset is not None}
    marks = [FrameSpec.make(name, hand, offset) for name, (hand, offset) in offsets.items()]
    things = ModelBuilder("things")
    for name, each in objects.items():
        things.add_joint(name_thing(model, each), None, "free", rest=write_coordinates(paths[name][0]), locked=True)
    gripping = add_objects(model, marks) if marks else model
    return GraspScene(model, gripping, add_objects(gripping, things.build().layout.specs), grips, objects, paths)


def name_thing(model: Model, thing: Object) -> str:
    """Return the name of an object's frame: the object's name, unless the body already uses it."""
    taken = {*model.frames, *(joint.name for joint in model.joints), *model.roles}
    return thing.name if thing.name not in taken else f"{thing.name} (object)"


# ------------------------------------------------------------------------------------------------ the place of a hand


def find_grip(model: Model, goal: Grasp, T_world_thing: Floats, start: Floats) -> Grip:
    """Return the grip of a hand on an object."""
    hand, thing = find_hand(model, goal.hand), name_thing(model, goal.object)
    where = goal.where
    if where is None:
        where = find_where(model, goal, hand, T_world_thing, start)
    if not isinstance(where, str):
        return Grip(goal, hand, hand, None, where, goal.weight, thing)
    palm = find_palm(model, hand)
    offset = Transform(turn_z_to(palm.normal), palm.point)
    middle, out = goal.object.find_face(where)
    target = Transform(turn_z_to(-out), middle)
    weight = float(np.asarray(goal.weight)) * np.array(FLAT_PALM_WEIGHTS)
    return Grip(goal, hand, f"palm of {hand}", offset, target, weight, thing)


def find_where(model: Model, goal: Grasp, hand: str, T_world_thing: Floats, start: Floats) -> Transform | str:
    """Return the hand's pose on the object if it touches it at the start, otherwise the face to grip."""
    palm = find_palm(model, hand)
    T = np.linalg.inv(T_world_thing) @ model.fk(start, hand)
    at = T[:3, :3] @ palm.point + T[:3, 3]
    if goal.object.measure_distance(at) < TOUCH_DISTANCE * model.length / PERSON_HEIGHT:
        return Transform.from_matrix(T)
    return choose_face(model, goal.object, palm, T_world_thing, start, at)


def choose_face(model: Model, thing: Object, palm: Palm, T_world_thing: Floats, start: Floats, at: Floats) -> str:
    """Return the face on the hand's own side of the body, or the nearest face if the hand has no side."""
    root = model.ancestors(palm.hand)[-1]
    turn = model.fk(start, root)[:3, :3] @ model.fk(model.rest, root)[:3, :3].T
    aside = T_world_thing[:3, :3].T @ turn @ palm.aside
    best, most = "", -np.inf
    for face in ("+x", "-x", "+y", "-y", "+z", "-z"):
        middle, out = thing.find_face(face)
        score = float(out @ aside) if palm.side else -float(np.linalg.norm(middle - at))
        if score > most + 1e-9:
            best, most = face, score
    return best
