"""The URDF writer.

URDF has one root link, and joints with one, two (planar) or six (floating) degrees of freedom. Other joints are written
as chains of these, with the same kinematics and a warning: a universal, Euler or translation3 joint as single joints,
a screw as a revolute joint and a prismatic joint that mimics it, a ball as three revolute joints about z, y and x. Rest
pose, stiffness, armature, roles, named poses and closures are written as ``<poise>`` elements, which other programs
ignore. Numbers are written so that they read back exactly.
"""

import math
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, FormatWarning
from poise.files.source import quote_names
from poise.formats.plain_values import encode_field
from poise.formats.units import warn_of_units
from poise.formats.urdf.links import INERTIA
from poise.model import Box, Capsule, Cylinder, Frame, Joint, Mesh, Model, Shape, Sphere
from poise.model.joints.joint import Mimic
from poise.model.joints.kinds import Primitive
from poise.model.spec import DRIVE
from poise.spatial import Transform

__all__ = ["write_model"]

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Vector = Sequence[float] | NDArray[np.float64]
_AXES = {"X": _X, "Y": _Y, "Z": _Z}
_IDENTITY = Transform.identity()
NO_BOUND = 1e9
SAME = {"revolute", "continuous", "prismatic", "fixed"}


def write_model(model: Model, target: Path) -> None:
    """Write the model to a file.

    Raises:
        FormatError: A name is invalid in XML or ambiguous in URDF, or a ball joint has a range.
    """
    root = _Writer(model).write_robot()
    ET.indent(root)
    target.write_bytes(b'<?xml version="1.0"?>\n' + ET.tostring(root, encoding="utf-8") + b"\n")


class _Writer:
    """The writer of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.links: list[ET.Element] = []
        self.joints: list[ET.Element] = []
        self.taken = {*model.frames, *(joint.name for joint in model.joints)}
        check_blanks(model.frames)
        check_blanks([joint.name for joint in model.joints])
        self.notes: list[str] = []
        self.rows: dict[str, list[str]] = {}

    def write_robot(self) -> ET.Element:
        """Return the whole tree."""
        model, root = self.model, ET.Element("robot", name=check_text(self.model.name))
        tops = [name for name in model.frames if model.frame(name).parent is None]
        top = model.frame(tops[0])
        alone = len(tops) == 1 and top.joint is None and top.offset == _IDENTITY
        world = None if alone else self.make_new("world")
        if world is not None:
            self.write_link(world)
        for name in model.frames:
            self.write_frame(name, world)
        self.write_shapes()
        root.extend([*self.links, *self.joints])
        self.write_extension(root)
        for kind, names in self.rows.items():
            self.notes.append(f"URDF has no {kind} joints; these became rows of single ones: {quote_names(names)}")
        drives = [joint.name for joint in model.joints if joint.armature]
        painted = [shape.frame for shape in model.shapes if getattr(shape.shape, "texture", "")]
        loops = [loop.frame for loop in model.closures]
        for what, names in (("armature", drives), ("closed loops", loops), ("textures as MJCF has", painted)):
            if names:
                self.notes.append(f"URDF has no {what}; other programs will not see those of {quote_names(names)}")
        for note in self.notes:
            warnings.warn(f"{model.name}: {note}", FormatWarning, stacklevel=7)
        return root

    def make_new(self, name: str) -> str:
        """Return the name, with underscores appended if it is taken, and reserve it."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # -------------------------------------------------------------------------------------------- frames and joints

    def write_frame(self, name: str, world: str | None) -> None:
        """Write the link of a frame, and the joint above it."""
        frame = self.model.frame(name)
        parent = world if frame.parent is None else frame.parent
        if frame.joint is None:
            self.write_link(name, frame)
            if parent is not None:
                self.write_joint(self.make_new(f"{name}_fixed"), "fixed", parent, name, frame.offset)
            return
        joint = self.model.joint(frame.joint)
        assert parent is not None
        self.write_model_joint(joint, parent)
        self.write_link(name, frame)

    def write_model_joint(self, joint: Joint, parent: str) -> None:
        """Write a joint directly, or as a chain of single joints."""
        rest = list_extras(self.model, joint)
        if joint.kind in SAME:
            own = next(spec for spec in self.model.layout.joints if spec.name == joint.name)  # without followers
            bounds = (-np.inf, np.inf) if joint.kind == "fixed" else (float(own.lower[0]), float(own.upper[0]))
            kind = "continuous" if joint.kind == "revolute" and np.isinf(bounds).all() else joint.kind
            axis = None if kind == "fixed" else joint.axis
            self.write_joint(
                joint.name, kind, parent, joint.frame, joint.offset, axis, bounds, joint.mimic, rest, joint
            )
        elif joint.kind in ("free", "planar"):
            kind = "floating" if joint.kind == "free" else "planar"
            if joint.kind == "planar" and np.isfinite(np.stack([joint.lower, joint.upper])).any():
                raise FormatError(f"joint {joint.name!r} is planar and has a range, which URDF cannot hold.")
            axis = joint.axis if joint.kind == "planar" else None
            self.write_joint(joint.name, kind, parent, joint.frame, joint.offset, axis, rest=rest, drive=joint)
        else:
            self.write_joint_row(joint, parent, rest)

    def write_joint_row(self, joint: Joint, parent: str, rest: dict[str, str]) -> None:
        """Write a joint that URDF lacks as a chain of single joints with the same kinematics."""
        steps = list(list_single_steps(joint))
        self.rows.setdefault(joint.kind, []).append(joint.name)
        numbers = rest.get("rest", "").split()
        at, offset = parent, joint.offset
        for i, step in enumerate(steps):
            last = i == len(steps) - 1
            link = joint.frame if last else self.make_new(f"{joint.frame}_{step.suffix or 'turn'}")
            own = {key: value for key, value in rest.items() if key != "rest"}
            if len(numbers) == len(steps):
                own["rest"] = numbers[i]
            elif i == 0 and joint.kind == "screw":
                own = rest
            name = self.make_new(f"{joint.name}_{step.suffix}") if step.suffix else joint.name
            kind = "continuous" if step.kind == "revolute" and np.isinf(step.bounds).all() else step.kind
            drive = None if last and joint.kind == "screw" else joint  # the slide of a screw follows its turn
            self.write_joint(name, kind, at, link, offset, step.axis, step.bounds, step.mimic, own, drive)
            if not last:
                self.write_link(link)
            at, offset = link, _IDENTITY

    def write_joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        offset: Transform,
        axis: Vector | None = None,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        mimic: Mimic | None = None,
        rest: dict[str, str] | None = None,
        drive: Joint | None = None,
    ) -> None:
        """Write one <joint>."""
        element = ET.Element("joint", name=check_text(name), type=kind)
        add_origin(element, offset)
        ET.SubElement(element, "parent", link=check_text(parent))
        ET.SubElement(element, "child", link=check_text(child))
        if axis is not None:
            ET.SubElement(element, "axis", xyz=write_numbers(axis))
        rest = dict(rest or {}) | write_drive(element, bounds if kind in ("revolute", "prismatic") else None, drive)
        if mimic is not None:
            ratio, shift = write_number(mimic.ratio), write_number(mimic.offset)
            ET.SubElement(element, "mimic", joint=check_text(mimic.joint), multiplier=ratio, offset=shift)
        if rest:
            ET.SubElement(element, "poise", rest)
        self.joints.append(element)

    def write_link(self, name: str, frame: Frame | None = None) -> None:
        """Write one <link>."""
        element = ET.Element("link", name=check_text(name))
        if frame is not None and (frame.mass > 0.0 or frame.inertia.any()):
            inertial = ET.SubElement(element, "inertial")
            ET.SubElement(inertial, "origin", xyz=write_numbers(frame.center))
            ET.SubElement(inertial, "mass", value=write_number(frame.mass))
            moments = frame.inertia[np.triu_indices(3)]
            ET.SubElement(inertial, "inertia", dict(zip(INERTIA, map(write_number, moments), strict=True)))
        self.links.append(element)

    # -------------------------------------------------------------------------------------------- shapes and extensions

    def write_shapes(self) -> None:
        """Write all shapes, each in its link."""
        links = {element.get("name"): element for element in self.links}
        for shape in self.model.shapes:
            for use in ("visual", "collision"):
                if shape.use in (use, "both"):
                    for solid, offset in list_solids(shape):
                        write_solid(links[shape.frame], use, solid, offset, shape.color)

    def write_extension(self, root: ET.Element) -> None:
        """Write roles, poses, disabled pairs and closures, and the up axis and units if they are not z and m."""
        model = self.model
        about = {} if model.up == "z" else {"up": model.up}
        if model.units != "m":
            about["units"] = model.units
            self.notes.append(warn_of_units(model, "URDF"))
        disabled = model.attachments.disabled_pairs
        if disabled is None and not (model.roles or model.poses or model.closures or about):
            return
        poise = ET.SubElement(root, "poise", about)
        for role, name in model.roles.items():
            frame = model.frame(name)
            if frame.listed:
                ET.SubElement(poise, "role", name=check_text(role), frame=check_text(name))
            else:  # the end of a limb, at which the file has no frame
                point = write_numbers(frame.offset.translation)
                ET.SubElement(poise, "role", name=check_text(role), frame=check_text(str(frame.parent)), point=point)
        if disabled is not None:
            listed = ET.SubElement(poise, "disabled_pairs")
            for one, other in disabled:
                ET.SubElement(listed, "pair", link1=check_text(one), link2=check_text(other))
        leaders = sorted((joint for joint in model.joints if joint.nq), key=lambda joint: joint.q.start)
        for name, q in model.poses.items():
            numbers = np.concatenate([convert_numbers(joint, q) for joint in leaders]) if leaders else q
            ET.SubElement(poise, "pose", name=check_text(name), q=write_numbers(numbers))
        for loop in model.closures:
            names = {"frame": check_text(loop.frame), "other": check_text(loop.other)}
            transform, point = write_numbers(encode_field(loop.transform)), write_numbers(loop.point)
            ET.SubElement(poise, "closure", names, transform=transform, point=point)


class SingleJoint(NamedTuple):
    """A single joint of a chain; without a suffix it keeps the name of the original joint."""

    suffix: str
    kind: str
    axis: Vector
    bounds: tuple[float, float] = (-np.inf, np.inf)
    mimic: Mimic | None = None


def list_single_steps(joint: Joint) -> Iterator[SingleJoint]:
    """Yield the single joints that a joint is written as, in order from the parent."""
    both = zip(np.atleast_1d(joint.lower), np.atleast_1d(joint.upper), strict=True)
    ranges = [(float(low), float(high)) for low, high in both]
    if joint.kind == "screw":
        yield SingleJoint("", "revolute", joint.axis, ranges[0], joint.mimic)
        yield SingleJoint("slide", "prismatic", joint.axis, mimic=Mimic(joint.name, joint.pitch))
    elif joint.kind == "euler":
        for i, (letter, bounds) in enumerate(zip(joint.order, ranges, strict=True)):
            yield SingleJoint(f"{letter.lower()}{i + 1}", "revolute", _AXES[letter], bounds)
    elif not joint.quaternion:
        for one, axis, bounds in zip(joint.coordinates, list_axes(joint), ranges, strict=True):
            yield SingleJoint(one.name.removeprefix("angle"), "prismatic" if one.slides else "revolute", axis, bounds)
    elif joint.cone is not None:
        raise FormatError(f"joint {joint.name!r} is a ball with a range, which URDF cannot hold.")
    else:
        for letter in "ZYX":
            yield SingleJoint(letter.lower(), "revolute", _AXES[letter])


def list_axes(joint: Joint) -> list[Vector]:
    """Return the axis of each coordinate of a joint, in the order of q."""
    return [a for one, axis in joint.motions for a in (np.eye(3) if one is Primitive.SLIDE3 else [axis])]


def convert_numbers(joint: Joint, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coordinates of a joint as written: for a ball, the angles about z, y and x."""
    own = q[joint.q]
    return np.array(find_roll_pitch_yaw(own)[::-1]) if joint.kind == "ball" else own


def list_extras(model: Model, joint: Joint) -> dict[str, str]:
    """Return the values for ``<poise>``: a rest value other than the default, stiffness, armature, and lock."""
    out = {}
    if joint.nq:
        rest = convert_numbers(joint, model.rest)
        usual = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] if joint.kind == "free" else np.clip(0.0, joint.lower, joint.upper)
        usual = np.zeros(3) if joint.kind == "ball" else usual
        if not np.array_equal(rest, np.broadcast_to(usual, rest.shape)):
            out["rest"] = write_numbers(rest)
    if joint.stiffness:
        out["stiffness"] = write_number(joint.stiffness)
    if joint.armature:
        out["armature"] = write_number(joint.armature)
    if joint.locked:
        out["locked"] = "true"
    return out


# ------------------------------------------------------------------------------------------------ elements


def check_text(value: str) -> str:
    """Return a name; raise `FormatError` if XML cannot represent it."""
    bad = [c for c in value if (c < " ") or c in "\ufffe\uffff" or "\ud800" <= c <= "\udfff"]
    if bad or not value.strip():
        raise FormatError(f"the name {value!r} cannot be written in XML; rename it.")
    return value


def check_blanks(names: Sequence[str]) -> None:
    """Raise `FormatError` for names that differ only in surrounding blanks, which readers remove."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.strip(), name)
        if other != name:
            raise FormatError(
                f"the names {other!r} and {name!r} differ by blanks alone, which no URDF keeps; rename one."
            )


def write_number(value: float) -> str:
    """Return the shortest decimal that reads back to the same bits."""
    short = repr(float(value) + 0.0)
    return short.removesuffix(".0")


def write_numbers(values: Any) -> str:
    return " ".join(write_number(float(x)) for x in values)


def add_origin(parent: ET.Element, offset: Transform) -> None:
    """Add ``<origin xyz rpy>``, unless the offset is the identity."""
    if offset == _IDENTITY:
        return
    rpy = find_roll_pitch_yaw(offset.rotation.wxyz)
    ET.SubElement(parent, "origin", xyz=write_numbers(offset.translation), rpy=write_numbers(rpy))


def find_roll_pitch_yaw(wxyz: Any) -> tuple[float, float, float]:
    """Return roll, pitch and yaw, Rz(yaw) Ry(pitch) Rx(roll), of a unit quaternion, accurate at every pitch.

    With c, s the cosine and sine of half the pitch, ``(c - s) exp(i (roll + yaw) / 2) = (w - y) + i (x + z)`` and
    ``(c + s) exp(i (roll - yaw) / 2) = (w + y) + i (x - z)``: at a pitch of 90 degrees the free angle has no effect.
    """
    w, x, y, z = (float(number) for number in wxyz)
    difference, total = math.hypot(w - y, x + z), math.hypot(w + y, x - z)
    half_sum, half_difference = math.atan2(x + z, w - y), math.atan2(x - z, w + y)
    pitch = 2.0 * math.atan2(total - difference, total + difference)
    return wrap_angle(half_sum + half_difference), pitch, wrap_angle(half_sum - half_difference)


def wrap_angle(angle: float) -> float:
    """Wrap an angle to [-pi, pi]."""
    return angle if abs(angle) <= math.pi else math.remainder(angle, math.tau)


def write_drive(parent: ET.Element, bounds: tuple[float, float] | None, drive: Joint | None) -> dict[str, str]:
    """Add ``<limit>`` with both bounds, and effort and velocity, which the specification requires; and ``<dynamics>``.

    A missing bound is written as +-1e9 and returned for ``<poise>``; an unknown effort or velocity is written as 0.
    """
    given = {} if drive is None else {key: getattr(drive, key) for key in DRIVE if math.isfinite(getattr(drive, key))}
    sides = {} if bounds is None else dict(zip(("lower", "upper"), bounds, strict=True))
    limit = {side: math.copysign(NO_BOUND, x) if math.isinf(x) else x for side, x in sides.items()}
    if sides or "effort" in given or "velocity" in given:
        limit |= {key: given.get(key, 0.0) for key in ("effort", "velocity")}
        ET.SubElement(parent, "limit", {key: write_number(value) for key, value in limit.items()})
    if losses := {key: write_number(given[key]) for key in ("damping", "friction") if given.get(key)}:
        ET.SubElement(parent, "dynamics", losses)
    return {side: "none" for side, bound in sides.items() if math.isinf(bound)}


def list_solids(shape: Shape) -> Iterator[tuple[Any, Transform]]:
    """Yield the solid, or its parts if URDF lacks it: a capsule becomes a cylinder and two spheres."""
    solid = shape.shape
    if not isinstance(solid, Capsule):
        yield solid, shape.offset
        return
    yield Cylinder(solid.radius, solid.length), shape.offset
    for end in (-0.5, 0.5):
        yield Sphere(solid.radius), shape.offset @ Transform(None, [0.0, 0.0, end * solid.length])


def write_solid(link: ET.Element, use: str, solid: Any, offset: Transform, color: Any) -> None:
    """Write one <visual> or <collision>."""
    element = ET.SubElement(link, use)
    add_origin(element, offset)
    geometry = ET.SubElement(element, "geometry")
    if isinstance(solid, Box):
        ET.SubElement(geometry, "box", size=write_numbers(solid.size))
    elif isinstance(solid, Sphere):
        ET.SubElement(geometry, "sphere", radius=write_number(solid.radius))
    elif isinstance(solid, Cylinder):
        ET.SubElement(geometry, "cylinder", radius=write_number(solid.radius), length=write_number(solid.length))
    elif isinstance(solid, Mesh):
        scale = {} if solid.scale == (1.0, 1.0, 1.0) else {"scale": write_numbers(solid.scale)}
        ET.SubElement(geometry, "mesh", {"filename": check_text(solid.path), **scale})
    if color is not None:
        material = ET.SubElement(element, "material", name="")
        ET.SubElement(material, "color", rgba=write_numbers(color))
