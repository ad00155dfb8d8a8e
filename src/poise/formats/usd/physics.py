"""Robots of UsdPhysics: rigid bodies and the joints between them.

A joint places a frame in each of its two bodies, and moves the second frame relative to the first, along or about an
axis; it is zero where both coincide. Several joints between two bodies follow each other, as in MuJoCo. Bodies become
frames without their scale; each tree of joints begins at the world, or at the body that is not the second one of any
joint. A joint that closes a loop, or is excluded from the articulation, becomes a closure. Drives are ignored.
Source: UsdPhysics, "Rigid Body Physics in USD" (openusd.org).
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.files.source import Source
from poise.formats.gltf.nodes import find_nearest_turn
from poise.formats.names import reserve_name
from poise.formats.node_scene import NodeScene
from poise.formats.options import ReadOptions
from poise.formats.roles import give_roles
from poise.formats.units import add_free_root, adjust_model, turn_inertia
from poise.model import BallRange, Model, ModelBuilder
from poise.spatial import Rotation, Transform

__all__ = ["build"]

KINDS = {
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "ball",
    "PhysicsFixedJoint": "fixed",
}
UNBOUNDED = 1e20  # a larger limit is none
SAME = 1e-9  # a frame of a joint this near to its body's is that frame
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UsdJoint:
    """A joint between two bodies, by their paths ("" is the world), with its frame in each; `sign` is -1 if swapped."""

    row: Row
    kind: str
    bodies: tuple[str, str]
    places: tuple[Transform, Transform]
    sign: float = 1.0

    def swap(self) -> "UsdJoint":
        """Return the joint with its second body as the first, so that it moves the other way."""
        return replace(self, bodies=self.bodies[::-1], places=self.places[::-1], sign=-1.0)


def build(scene: NodeScene, source: Source, options: ReadOptions) -> Model:
    """Return the body of all joints; bodies without a joint are left out."""
    robot = Robot(scene, source)
    builder = robot.build()
    if options.scale == "auto" and scene.units == "m":
        options = replace(options, scale=1.0)  # the file says so
    model = builder.build()
    return give_roles(adjust_model(add_free_root(model) if options.base == "free" else model, options, source), source)


class Robot:
    """The bodies and joints of a stage, and the builder of their model."""

    def __init__(self, scene: NodeScene, source: Source) -> None:
        self.source, self.kilograms = source, float(scene.values["kilograms"])
        if not 0.0 < self.kilograms < np.inf:
            raise source.make_error(f"has kilogramsPerUnit {self.kilograms:g}; it must be positive and finite.")
        self.bodies = {body["path"]: body for body in scene.values["bodies"]}
        self.places = {path: make_rigid(np.array(body["matrix"])) for path, body in self.bodies.items()}
        self.joints = [self.read_joint(row) for each in scene.values["joints"] for row in self.split_freedoms(each)]
        self.builder = ModelBuilder(Path(source.path).stem or "robot")
        self.builder.source, self.builder.up, self.builder.units = source.path, scene.up, scene.units
        self.frames: dict[str, str | None] = {"": None}
        self.taken: set[str] = set()
        self.names: set[str] = set()
        source.note(f"UsdPhysics, in {scene.units}; {scene.up} is up, as the file says; drives and shapes are not read")

    def read_joint(self, row: Row) -> UsdJoint:
        """Return a joint with its frames in the bodies that its targets are part of."""
        names, places = [], []
        for target, matrix, at, wxyz in row["sides"]:
            world, body = np.array(matrix), target
            while body and body not in self.bodies:
                body = body.rpartition("/")[0]
            turn = Rotation(np.array(wxyz) / np.linalg.norm(wxyz)) if any(wxyz) else Rotation.identity()
            place = Transform(make_rigid(world).rotation @ turn, world[:3, :3] @ np.array(at) + world[:3, 3])
            names.append(body)
            places.append(self.places[body].inverse() @ place if body else place)
        return UsdJoint(row, KINDS[row["kind"]], (names[0], names[1]), (places[0], places[1]))

    def split_freedoms(self, row: Row) -> list[Row]:
        """Return a joint with six freedoms as one joint for each that is not locked: slides first, then x, y and z."""
        if row["kind"] in KINDS:
            return [row]
        if row["kind"] != "PhysicsJoint":
            self.source.note_oddity(f"joint {row['name']!r} was left out; a {row['kind']} cannot be read")
            return []
        free = [name for name, (low, high) in row["limits"].items() if low < high]
        if free == ["rotX", "rotY", "rotZ"] and not np.isfinite([row["limits"][name] for name in free]).any():
            return [row | {"kind": "PhysicsSphericalJoint"}]
        out = []
        for name in free:
            kind = "PhysicsRevoluteJoint" if name.startswith("rot") else "PhysicsPrismaticJoint"
            low, high = row["limits"][name]
            label = f"{row['name']}_{name}" if len(free) > 1 else row["name"]
            out.append(row | {"name": label, "kind": kind, "axis": name[-1], "lowerLimit": low, "upperLimit": high})
        return out or [row | {"kind": "PhysicsFixedJoint"}]

    def build(self) -> ModelBuilder:
        """Add every body that a joint reaches, parents first, and then the closures."""
        chains: dict[frozenset[str], list[UsdJoint]] = {}
        for joint in (joint for joint in self.joints if not joint.row["loop"]):
            chain = chains.setdefault(frozenset(joint.bodies), [])
            chain.append(joint if not chain or joint.bodies == chain[0].bodies else joint.swap())
        around: dict[str, list[list[UsdJoint]]] = {}
        for chain in chains.values():
            for way in (chain, [joint.swap() for joint in reversed(chain)]):
                around.setdefault(way[0].bodies[0], []).append(way)
        seconds = {chain[0].bodies[1] for chain in chains.values()}
        starts = ["", *(path for path in self.bodies if path not in seconds), *self.bodies]
        for start in (path for path in starts if path in around):
            if start not in self.frames:
                self.frames[start] = reserve_name(self.bodies[start]["name"], self.taken, "_{}", 1)
                self.builder.add_frame(str(self.frames[start]), None, self.places[start], **self.read_mass(start))
            queue = around[start][::-1]
            while queue:
                way = queue.pop()
                if way[0].bodies[1] not in self.frames:
                    chains.pop(frozenset(way[0].bodies))
                    self.add_chain(way)
                    queue += around.get(way[0].bodies[1], [])[::-1]
        for joint in [joint for chain in chains.values() for joint in chain] + [
            j for j in self.joints if j.row["loop"]
        ]:
            self.add_closure(joint)
        if lost := sum(path not in self.frames for path in self.bodies):
            self.source.note(f"bodies without a joint are left out: {lost}")
        return self.builder

    def add_chain(self, chain: list[UsdJoint]) -> None:
        """Add the joints between two bodies, each of which moves the second in its own axes, and the second body.

        A joint has a frame of its own if it is elsewhere than the body's, or another joint follows.
        """
        path = chain[0].bodies[1]
        name = reserve_name(self.bodies[path]["name"], self.taken, "_{}", 1)
        parent, self.frames[path] = self.frames[chain[0].bodies[0]], name
        mass, moving = self.read_mass(path), [joint for joint in chain if joint.kind != "fixed"]
        before, after = chain[0].places
        at = moving[0].places[0] if moving else before @ after.inverse()
        for joint, following in zip(moving, [*moving[1:], None], strict=False):
            place = joint.places[1]
            own = following is not None or bool(np.abs(place.matrix - np.eye(4)).max() > SAME)
            frame = reserve_name(joint.row["name"], self.taken, "_{}", 1) if own else name
            unique = reserve_name(joint.row["name"], self.names, "_{}", 1)
            about = self.read_range(joint) | ({} if own else mass)
            self.builder.add_joint(unique, parent, frame=frame, offset=at, **about)
            parent, at = frame, place.inverse() @ following.places[1] if following else place.inverse()
        if parent != name:
            self.builder.add_frame(name, parent, at, **mass)

    def read_range(self, joint: UsdJoint) -> Row:
        """Return the kind, axis and range of a joint."""
        row, name = joint.row, joint.row["axis"] or "X"
        if name not in ("X", "Y", "Z"):
            raise self.source.make_error(f"joint {row['name']!r}: physics:axis is {name!r}; it must be X, Y or Z.")
        axis = joint.sign * np.eye(3)["XYZ".index(name)]
        if joint.kind == "ball":
            cones = [np.radians(row[f"coneAngle{k}Limit"] or -1.0) for k in (0, 1)]
            if cones[0] != cones[1]:
                self.source.note_oddity(f"the cone of joint {row['name']!r} is not round; its narrower angle was used")
            swing = min((cone for cone in cones if cone >= 0.0), default=None)
            return {"kind": "ball", "cone": None if swing is None else BallRange(swing, axis=tuple(axis.tolist()))}
        size = np.pi / 180.0 if joint.kind == "revolute" else 1.0
        low, high = (
            np.inf * side if row[key] is None or abs(row[key]) > UNBOUNDED else size * row[key]
            for key, side in (("lowerLimit", -1.0), ("upperLimit", 1.0))
        )
        speed = row["velocity"] if row["velocity"] and row["velocity"] < UNBOUNDED else None
        out: Row = {"kind": joint.kind, "axis": axis, "velocity": None if speed is None else size * speed}
        if np.isfinite([low, high]).any():
            return out | {"lower": low, "upper": high}
        return out | ({"kind": "continuous"} if joint.kind == "revolute" else {})

    def add_closure(self, joint: UsdJoint) -> None:
        """Add a joint that closes a loop: whole if it is fixed, otherwise as a point of both bodies."""
        first, second = (self.frames.get(body) for body in joint.bodies)
        if first is None or second is None or first == second or joint.kind == "prismatic":
            self.source.note_oddity(f"joint {joint.row['name']!r} was left out; it closes no loop that can be held")
            return
        place, other = joint.places
        if joint.kind == "fixed":
            self.builder.add_closure(second, first, place @ other.inverse())
        else:
            self.builder.add_closure(second, first, place.translation, point=other.translation)

    def read_mass(self, path: str) -> Row:
        """Return the mass of a body, its centre and its inertia, as far as the file states them."""
        body = self.bodies[path]
        if not body.get("mass", 0.0) > 0.0:
            return {}
        out: Row = {"mass": self.kilograms * body["mass"]}
        if np.isfinite(body["center"]).all():
            stretch = self.places[path].rotation.matrix.T @ np.array(body["matrix"])[:3, :3]
            out["center"] = stretch @ np.array(body["center"])
        if any(body["inertia"]):
            axes = Rotation(np.array(body["axes"]) / np.linalg.norm(body["axes"])) if any(body["axes"]) else None
            inertia = self.kilograms * np.array(body["inertia"])
            out["inertia"] = inertia if axes is None else turn_inertia(inertia, axes)
        return out


def make_rigid(matrix: Floats) -> Transform:
    """Return a matrix without its scale and shear."""
    return Transform(Rotation.from_matrix(find_nearest_turn(matrix[:3, :3])), matrix[:3, 3])
