"""The BVH writer for models, motions and poses.

Every frame of the model becomes a BVH joint with its name (a leaf called ``<joint>_end`` becomes an End Site). The
file is y-up, the convention of BVH: a body with another up axis is rotated, including the axes of its frames; a body
read from BVH is written unchanged. Joints that rotate about or slide along the coordinate axes keep their numbers, and
bodies read from BVH keep their channels. In other bodies, revolute and universal joints are padded to three rotations,
because some programs require three or none. All other joints (ball, free, screw, planar, oblique axes, rotated
offsets) are written as three rotations in the order ZXY, with three positions if they slide. Ranges, masses,
drives, closed loops and shapes cannot be stored in BVH, and a warning names them if a body is written; so are mimic
relations, but mimic joints move as in the motion. A body without a single root gets a root called ``world``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from poise.arrays import Floats
from poise.errors import FormatError, FormatWarning
from poise.files.source import Source, quote
from poise.formats.bvh.tree import MAX_DEPTH, MAX_JOINTS, BvhChannel, Tokens
from poise.formats.losses import list_losses
from poise.formats.units import with_up
from poise.kinematics import Motion, Pose
from poise.model import Frame, Joint, Model
from poise.model.joints.kinds import Primitive
from poise.spatial import Rotation, Transform

__all__ = ["write_model", "write_motion", "write_pose"]


ORDER = "ZXY"  # for rotations without an order of their own
PLACE = tuple(BvhChannel(axis, turns=False) for axis in range(3))
BLOCK = 1024  # rows written at once
_PART = re.compile(r"(?:[XYZ]?position|[XYZ]rotation[0-9]+)[0-9]*")


@dataclass(slots=True)
class BvhJoint:
    """A BVH joint to be written, made from consecutive `frames` of the model; it has the name of the last one."""

    frames: list[Frame]
    offset: Floats
    channels: tuple[BvhChannel, ...]
    values: Floats
    children: list[BvhJoint] = field(default_factory=list)
    end: Floats | None = None

    @property
    def name(self) -> str:
        """The name of the joint, and of the frame when the file is read."""
        return self.frames[-1].name


def write_model(model: Model, target: Path) -> None:
    """Write the body in its rest pose, as one frame, and issue a warning for values that BVH cannot store."""
    if lost := list_losses(model):
        text = f"BVH holds the skeleton and not {', '.join(lost)} of {model.name!r}."
        warnings.warn(text, FormatWarning, stacklevel=4)
    write_motion(Motion(model, model.rest[None]), target)


def write_pose(pose: Pose, target: Path) -> None:
    """Write the body in this pose, as one frame."""
    write_motion(Motion(pose.model, pose.q[None]), target)


def write_motion(motion: Motion, target: Path) -> None:
    """Write the body and all frames of its motion.

    Raises:
        FormatError: The motion has no frames, the body is too deep, or a name is not valid in BVH.
    """
    if not len(motion):
        raise FormatError("a motion without frames cannot be written as BVH.", str(target))
    growing = next((joint.name for joint in motion.model.joints if joint.kind == "uniform_scale"), None)
    if growing is not None:
        text = f"joint {growing!r} is a uniform_scale joint, and the bones of BVH keep their length"
        raise FormatError(f"{text}; write the motion as glTF or as a table (.npz).", str(target))
    motion = turn_back(motion)
    roots = make_tree(motion)
    root = roots[0] if len(roots) == 1 else make_world(motion, roots)
    nodes = list(check(root, target))
    with target.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("HIERARCHY\n")
        stream.writelines(write_hierarchy(root))
        stream.write(f"MOTION\nFrames: {len(motion)}\nFrame Time: {find_frame_time(motion.fps)!r}\n")
        stream.writelines(write_rows(nodes, len(motion)))


def find_frame_time(fps: float) -> float:
    """Return the frame time [s] from which a reader computes `fps` exactly, if such a double exists."""
    time = 1.0 / fps
    if float(f"{fps:.12g}") == fps:
        return time
    near = (time, float(np.nextafter(time, 0.0)), float(np.nextafter(time, np.inf)))
    return next((t for t in near if t > 0.0 and 1.0 / t == fps), time)


# ------------------------------------------------------------------------------------------------ the tree


def make_tree(motion: Motion) -> list[BvhJoint]:
    """Return the root BVH joints of a motion, with all channel values."""
    model = motion.model
    below: dict[str | None, list[Frame]] = {}
    for name in model.frames:
        frame = model.frame(name)
        below.setdefault(frame.parent, []).append(frame)
    grown: dict[str | None, list[BvhJoint]] = {None: []}
    waiting: list[tuple[str | None, Frame]] = [(None, frame) for frame in reversed(below.get(None, []))]
    made: dict[str, BvhJoint] = {}
    while waiting:
        parent, frame = waiting.pop()
        above = made[parent] if parent is not None else None
        if above is not None and is_end(frame, above, below):
            above.end = find_turn(model) @ frame.offset.translation
            continue
        frames = gather_parts(frame, below)
        node = describe(motion, frames)
        made[node.name] = node
        (above.children if above is not None else grown[None]).append(node)
        waiting += [(node.name, child) for child in reversed(below.get(node.name, []))]
    return grown[None]


def is_end(frame: Frame, above: BvhJoint, below: dict[str | None, list[Frame]]) -> bool:
    """Return whether a frame can be written as the End Site of the joint above it."""
    plain = frame.joint is None and frame.name not in below and is_straight(frame.offset)
    return plain and frame.name == f"{above.name}_end" and above.end is None


def is_straight(offset: Transform) -> bool:
    """Return whether the rotation of an offset is exactly the identity."""
    return bool(np.array_equal(offset.matrix[:3, :3], np.eye(3)))


def gather_parts(frame: Frame, below: dict[str | None, list[Frame]]) -> list[Frame]:
    """Return the frames that one BVH joint was read into, recognised by their names; otherwise the frame alone."""
    frames = [frame]
    while frames[-1].joint is not None:
        children = below.get(frames[-1].name, [])
        if len(children) != 1 or children[0].joint is None or children[0].offset != Transform.identity():
            break
        frames.append(children[0])
        if len(frames) > 32:
            break
    for last in range(len(frames) - 1, 0, -1):
        base = f"{frames[last].name}_"
        ahead = frames[:last]
        if all(f.name.startswith(base) and _PART.fullmatch(f.name[len(base) :]) for f in ahead):
            return frames[: last + 1]
    return [frame]


def make_world(motion: Motion, roots: list[BvhJoint]) -> BvhJoint:
    """Return a root joint for a body that has several roots, or none."""
    name, taken = "world", set(motion.model.frames)
    while name in taken:
        name += "_"
    place = Frame(name, None, None, Transform.identity(), 0.0, np.zeros(3), np.zeros((3, 3)))
    return BvhJoint([place], np.zeros(3), (), np.zeros((len(motion), 0)), roots)


# ------------------------------------------------------------------------------------------------ the numbers


def describe(motion: Motion, frames: list[Frame]) -> BvhJoint:
    """Return the BVH joint of these frames: its offset, channels and values."""
    model = motion.model
    joints = [model.joint(frame.joint) for frame in frames if frame.joint is not None]
    plain = write_directly(motion, frames[0].offset, joints) if is_straight(frames[0].offset) else None
    offset, channels, values = turn_up(model, *(decompose(motion, frames, joints) if plain is None else plain))
    if plain is not None and not was_read_from_bvh(model):
        channels, values = fill_rotations(channels, values)
    return BvhJoint(frames, offset, channels, values)


def was_read_from_bvh(model: Model) -> bool:
    """Return whether a body was read from BVH."""
    return model.source.lower().endswith(".bvh")


def find_turn(model: Model) -> Floats:
    """Return the rotation from a body's up axis to y; the identity for bodies read from BVH."""
    if was_read_from_bvh(model):
        return np.eye(3)
    return np.round(Rotation.between(model.up_direction, np.eye(3)[1]).matrix)  # exact, because it permutes axes


def turn_back(motion: Motion) -> Motion:
    """Return the motion before `up=` rotated its root, so that the root's offset is not rotated."""
    model = motion.model
    for up in "" if has_straight_roots(model) else "yz":
        before = with_up(model, up)
        if has_straight_roots(before):
            return Motion(before, motion.q, motion.fps)
    return motion


def has_straight_roots(model: Model) -> bool:
    """Return whether the offsets of all roots have no rotation, within rounding."""
    roots = [frame for frame in map(model.frame, model.frames) if frame.parent is None]
    return all(np.allclose(frame.offset.matrix[:3, :3], np.eye(3), atol=1e-12) for frame in roots)


def turn_up(
    model: Model, offset: Floats, channels: tuple[BvhChannel, ...], values: Floats
) -> tuple[Floats, tuple[BvhChannel, ...], Floats]:
    """Return a joint converted to y-up: axes are permuted, with a change of sign if they point the opposite way."""
    turn = find_turn(model)
    onto = np.argmax(np.abs(turn), axis=0)
    made = [BvhChannel(int(onto[channel.axis]), turns=channel.turns) for channel in channels]
    signs = np.array([turn[new.axis, old.axis] for old, new in zip(channels, made, strict=True)])
    order = sorted(range(len(made)), key=lambda k: (made[k].turns, 0 if made[k].turns else made[k].axis))
    return turn @ offset, tuple(made[k] for k in order), (values * signs)[:, order]


def fill_rotations(channels: tuple[BvhChannel, ...], values: Floats) -> tuple[tuple[BvhChannel, ...], Floats]:
    """Pad one or two rotations to three with zeros: Blender (3.4) reads three or none."""
    axes = [channel.axis for channel in channels if channel.turns]
    if len(axes) not in (1, 2) or len(set(axes)) < len(axes):
        return channels, values
    more = [axis for axis in range(3) if axis not in axes]
    zeros = np.zeros((len(values), len(more)))
    return channels + tuple(BvhChannel(axis, turns=True) for axis in more), np.concatenate([values, zeros], axis=1)


def write_directly(
    motion: Motion, offset: Transform, joints: list[Joint]
) -> tuple[Floats, tuple[BvhChannel, ...], Floats] | None:
    """Return one channel per coordinate, positions before rotations; None if the joints do not allow it."""
    channels: list[BvhChannel] = []
    values: list[Floats] = []
    place = np.array(offset.translation)
    for joint in joints:
        moves = list_channels(joint)
        if moves is None:
            return None
        numbers, rest = (
            read_coordinates(joint, motion.model, motion.q),
            read_coordinates(joint, motion.model, motion.model.rest),
        )
        for k, (channel, sign) in enumerate(moves):
            if not channel.turns and (any(c.turns for c in channels) or channel in channels):
                return None
            start = 0.0 if channel.turns else offset.translation[channel.axis]
            column = start + sign * numbers[..., k]
            if not channel.turns:
                place[channel.axis] = start + sign * rest[..., k]
            channels.append(channel)
            values.append(np.degrees(column) if channel.turns else column)
    columns = np.stack(values, axis=1) if values else np.zeros((len(motion), 0))
    return place, tuple(channels), columns


def list_channels(joint: Joint) -> list[tuple[BvhChannel, float]] | None:
    """Return a joint as channels and signs; None if its axes are oblique or it has quaternions."""
    moves: list[tuple[BvhChannel, float]] = []
    if joint.length or joint.path:  # BVH has no channel for a bone length or a curve parameter
        return None
    if len(set(joint.slides)) > 1:  # BVH would apply the position before the joint's rotations
        return None
    for primitive, axis in joint.motions:
        k = int(np.argmax(np.abs(axis)))
        if primitive is Primitive.SLIDE3 and not joint.quaternion:
            moves += [(channel, 1.0) for channel in PLACE]
            continue
        if primitive not in (Primitive.TURN, Primitive.SLIDE) or abs(axis[k]) != 1.0 or np.count_nonzero(axis) != 1:
            return None
        moves.append((BvhChannel(k, turns=primitive is Primitive.TURN), float(axis[k])))
    return moves


def read_coordinates(joint: Joint, model: Model, q: Floats) -> Floats:
    """Return the joint's coordinates (..., n); for a mimic joint, computed from its leader."""
    if joint.mimic is None:
        return q[..., joint.q]
    return joint.mimic.ratio * q[..., model.joint(joint.mimic.joint).q] + joint.mimic.offset


def decompose(
    motion: Motion, frames: list[Frame], joints: list[Joint]
) -> tuple[Floats, tuple[BvhChannel, ...], Floats]:
    """Return the joint's transform relative to its parent as rotations, and positions if it slides."""
    model, parent, name = motion.model, frames[0].parent, frames[-1].name
    local = find_relative(model, motion.q, parent, name)
    rest = find_relative(model, model.rest, parent, name)
    slides = any(any(joint.slides) or joint.pitch or joint.length for joint in joints)
    turns = any(any(joint.turns) or joint.path for joint in joints) or not np.array_equal(rest[:3, :3], np.eye(3))
    order = next((joint.order for joint in joints if joint.order), ORDER)
    channels = (PLACE if slides else ()) + tuple(BvhChannel("XYZ".index(x), turns=True) for x in order if turns)
    parts = [local[:, :3, 3]] if slides else []
    if turns:
        angles = Rotation.from_matrix(local[:, :3, :3]).to_euler(order)
        parts.append(np.degrees(np.unwrap(angles, axis=0)))
    return rest[:3, 3], channels, np.concatenate([np.zeros((len(motion), 0)), *parts], axis=1)


def find_relative(model: Model, q: Floats, parent: str | None, name: str) -> Floats:
    """Return T_parent_frame, (..., 4, 4)."""
    T_world_frame = np.asarray(model.fk(q, name))
    if parent is None:
        return T_world_frame
    T_world_parent = np.asarray(model.fk(q, parent))
    out = np.broadcast_to(np.eye(4), T_world_frame.shape).copy()
    R_parent_world = np.swapaxes(T_world_parent[..., :3, :3], -1, -2)
    out[..., :3, :3] = R_parent_world @ T_world_frame[..., :3, :3]
    out[..., :3, 3:] = R_parent_world @ (T_world_frame[..., :3, 3:] - T_world_parent[..., :3, 3:])
    return out


# ------------------------------------------------------------------------------------------------ the text


def check(root: BvhJoint, target: Path) -> Iterator[BvhJoint]:
    """Check all joints and yield them in the order of their columns."""
    waiting, count = [(root, 1)], 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH or count > MAX_JOINTS:
            most = f"{MAX_JOINTS} joints, {MAX_DEPTH} inside each other"
            raise FormatError(f"this body is too large for BVH as it is read here: at most {most}.", str(target))
        check_name(node.name, target)
        yield node
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def check_name(name: str, target: Path) -> None:
    """Raise `FormatError` for a name that a reader could not recover."""
    words = Tokens(Source(str(target), b""), f"JOINT {name}\n{{")
    words.take()
    if words.take_line() != name or any(letter < " " for letter in name):
        raise FormatError(
            f"frame {quote(name)} cannot be named so in BVH; names are one line without ' {{'.", str(target)
        )


def write_hierarchy(root: BvhJoint) -> Iterator[str]:
    """Yield the lines of all joints."""
    waiting: list[tuple[BvhJoint | None, int]] = [(root, 0)]  # None closes a joint
    while waiting:
        node, depth = waiting.pop()
        tabs = "\t" * depth
        if node is None:
            yield f"{tabs}}}\n"
            continue
        channels = " ".join(["CHANNELS", str(len(node.channels)), *map(str, node.channels)])
        yield f"{tabs}{'JOINT' if depth else 'ROOT'} {node.name}\n{tabs}{{\n"
        yield f"{tabs}\t{write_offset(node.offset)}\n{tabs}\t{channels}\n"
        if node.end is not None:
            yield f"{tabs}\tEnd Site\n{tabs}\t{{\n{tabs}\t\t{write_offset(node.end)}\n{tabs}\t}}\n"
        waiting.append((None, depth))
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def write_offset(offset: Floats) -> str:
    return "OFFSET " + " ".join(repr(float(x) + 0.0) for x in offset)


def write_rows(nodes: list[BvhJoint], count: int) -> Iterator[str]:
    """Yield one line per frame: positions to the last bit, angles to 1e-9 degrees."""
    line = " ".join("%.9f" if channel.turns else "%r" for node in nodes for channel in node.channels) + "\n"
    turns = np.array([channel.turns for node in nodes for channel in node.channels], np.bool_)
    for first in range(0, count, BLOCK):
        block = np.concatenate([node.values[first : first + BLOCK] for node in nodes], axis=1)
        block[:, turns] = np.round(block[:, turns], 9)
        yield from (line % tuple(row) for row in (block + 0.0).tolist())
