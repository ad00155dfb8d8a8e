"""Conversion of BVH joints to a model, and of its columns to q.

A BVH joint means T(position) R R R. Its position channels replace the components of its OFFSET along their axes, in
the parent's frame, regardless of their order among the channels. Its rotation channels are applied in the listed
order, each about the axes rotated by the previous ones (intrinsic). Every channel becomes one number of q, so that
nothing in the file is lost:

- three rotations: an `euler` joint of that order; two: `universal`; one: `revolute`; none: `fixed`;
- a repeated axis, or more than three rotations: several `revolute` joints, the last with the BVH joint's name;
- three positions: a preceding `translation3` joint called ``<name>_position``; one or two: `prismatic` joints called
    ``<name>_Xposition`` and so on. If a joint has no rotation, the last of these has its own name.

End sites are frames called ``<name>_end``. Sliding joints below the root are locked: many programs write position
channels for every bone. A clip may change them, but inverse kinematics must not stretch bones. The root is the first
joint with channels.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.anatomy.bone_names.matcher import LEAST_REPORT_CONFIDENCE
from poise.errors import InvalidModel, InvalidValue, NameNotFound, ShapeMismatch
from poise.files.source import Source
from poise.formats.bvh.tree import BvhNode
from poise.formats.names import reserve_name
from poise.formats.options import ReadOptions
from poise.formats.roles import read_names
from poise.formats.units import LARGEST_BODY, UNIT_NAMES, guess_person_unit
from poise.model import EULER_ORDERS, Model, ModelBuilder
from poise.model.attachments import UNITS

__all__ = ["Columns", "build"]

AXES = np.eye(3)
LARGEST = 1e100  # m, limit for an offset
LYING = 1.25  # a body is not upright in its offsets if its length along the bones exceeds its height by this factor
TURNS = {"y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]), "z": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])}
"""The rotations that bring z up to y up, and y up to z up."""


@dataclass(frozen=True, slots=True)
class Columns:
    """For each number of q: its column in the file and its factor."""

    order: NDArray[np.int64]
    factor: NDArray[np.float64]

    def make_configurations(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q of every frame, (frames, nq); overwrites `rows`."""
        plain = np.array_equal(self.order, np.arange(rows.shape[1]))
        q = rows if plain else rows[:, self.order]
        with np.errstate(over="ignore"):  # `Motion` rejects infinite numbers
            q *= self.factor
        return q


@dataclass(slots=True)
class JointChannels:
    """A model joint made from a BVH joint: the arguments of `add_joint`, and the indices of its channels."""

    suffix: str
    kind: str
    options: dict[str, Any]
    channels: list[int]


def build(source: Source, nodes: list[BvhNode], options: ReadOptions) -> tuple[Model, Columns]:
    """Return the model, and the file columns of its q.

    Raises:
        FormatError: The joints do not form a valid body.
    """
    try:
        return build_tree(source, nodes, options)
    except (InvalidModel, InvalidValue, NameNotFound, ShapeMismatch) as error:
        raise source.make_error(f"is not a valid body: {error}") from error


def build_tree(source: Source, nodes: list[BvhNode], options: ReadOptions) -> tuple[Model, Columns]:
    """Build the model, and return it with the columns of its q."""
    check_size(source, nodes, 1.0)
    builder = ModelBuilder(Path(source.path).stem or "bvh")
    builder.source = source.path
    up = find_up(source, nodes)
    turn = TURNS[options.up] if options.up and options.up != up else np.eye(3)
    builder.up = options.up or up
    scale = float(guess_metres(source, nodes, up)) if options.scale == "auto" else float(options.scale)
    check_size(source, nodes, scale)
    taken = {node.name for node in nodes}
    carried = "free" if options.base == "free" and not moves_freely(nodes[0]) else ""
    if carried:
        carried = reserve_name("base", taken)
        builder.add_joint(carried, None, "free")
        source.note(f"base='free': the joint {carried!r} carries the body")
    order: list[int] = []
    factor: list[float] = []
    first = 0
    below = find_below_root(nodes)
    for node, bone in zip(nodes, below, strict=True):
        parent = nodes[node.parent].name if node.parent >= 0 else carried or None
        channels = node.channels or ()
        turned = turn if node.parent < 0 else np.eye(3)
        for part in add_node(builder, node, parent, scale, turned, taken, bone=bone):
            order += [first + i for i in part.channels]
            factor += [np.pi / 180.0 if channels[i].turns else scale for i in part.channels]
        first += len(channels)
    add_ends(source, builder, nodes, scale, taken)
    if options.scale == 1.0:
        builder.units = state_unit(source, nodes, up, read_names(builder).confidence >= LEAST_REPORT_CONFIDENCE)
    builder.notes += source.notes
    return builder.build(), Columns(np.array(order, np.int64), np.array(factor))


def check_size(source: Source, nodes: list[BvhNode], scale: float) -> None:
    """Raise `FormatError` if an offset is too large to compute with."""
    for node in nodes:
        for offset, line in ((node.offset or [0.0], node.line), *node.ends):
            if max(map(abs, offset)) > LARGEST / max(scale, 1.0):
                raise source.make_error(
                    f"OFFSET of {node.name!r} is {offset}; it must be below {LARGEST:g} metres.", line
                )


def find_below_root(nodes: list[BvhNode]) -> list[bool]:
    """Return, for each joint, whether an ancestor has channels: its positions are then bone lengths."""
    below: list[bool] = []
    for node in nodes:
        below.append(node.parent >= 0 and (below[node.parent] or bool(nodes[node.parent].channels)))
    return below


def moves_freely(root: BvhNode) -> bool:
    """Return whether a root has three position channels and at least three rotation channels."""
    channels = root.channels or ()
    return sum(not channel.turns for channel in channels) == 3 and sum(channel.turns for channel in channels) >= 3


def add_node(
    builder: ModelBuilder,
    node: BvhNode,
    parent: str | None,
    scale: float,
    turn: NDArray[np.float64],
    taken: set[str],
    *,
    bone: bool,
) -> list[JointChannels]:
    """Add the joints of one BVH joint and return them; if `bone`, sliding joints are locked."""
    parts = split_joint(node, scale)
    offset = np.eye(4)
    offset[:3, :3] = turn
    offset[:3, 3] = turn @ [0.0 if a in list_placed_axes(node) else scale * x for a, x in enumerate(node.offset or ())]
    for part in parts:
        locked = bone and part.kind in ("translation3", "prismatic")
        name = node.name if part is parts[-1] else reserve_name(f"{node.name}_{part.suffix}", taken)
        builder.add_joint(name, parent, part.kind, offset=offset, locked=locked, **part.options)
        parent, offset = name, np.eye(4)
    return parts


def list_placed_axes(node: BvhNode) -> list[int]:
    """Return the axes whose offset is replaced by position channels."""
    return [channel.axis for channel in node.channels or () if not channel.turns]


def split_joint(node: BvhNode, scale: float) -> list[JointChannels]:
    """Return the model joints for a BVH joint, in order from the parent."""
    channels, offset = node.channels or (), node.offset or [0.0] * 3
    slides = sorted((c.axis, i) for i, c in enumerate(channels) if not c.turns)
    turns = [(c.axis, i) for i, c in enumerate(channels) if c.turns]
    parts = []
    if len(slides) == 3:
        rest = [scale * x for x in offset]
        parts.append(JointChannels("position", "translation3", {"rest": rest}, [i for _, i in slides]))
    else:
        for axis, i in slides:
            options = {"axis": AXES[axis], "rest": scale * offset[axis]}
            parts.append(JointChannels(f"{'XYZ'[axis]}position", "prismatic", options, [i]))
    parts += make_turning_parts(turns)
    return parts or [JointChannels("", "fixed", {}, [])]


def make_turning_parts(turns: list[tuple[int, int]]) -> list[JointChannels]:
    """Return the joints for rotations given as (axis, channel), in order."""
    axes, places = [axis for axis, _ in turns], [i for _, i in turns]
    letters = "".join("XYZ"[axis] for axis in axes)
    if letters in EULER_ORDERS:
        return [JointChannels("rotation", "euler", {"order": letters}, places)]
    if len(axes) == 2 and axes[0] != axes[1]:
        return [JointChannels("rotation", "universal", {"axis": AXES[axes[0]], "axis2": AXES[axes[1]]}, places)]
    return [
        JointChannels(f"{letter}rotation{k}", "revolute", {"axis": AXES[axis]}, [i])
        for k, (letter, axis, i) in enumerate(zip(letters, axes, places, strict=True), 1)
    ]


def add_ends(source: Source, builder: ModelBuilder, nodes: list[BvhNode], scale: float, taken: set[str]) -> None:
    """Add the end sites as frames."""
    for node in nodes:
        name, number = f"{node.name}_end", 1
        for offset, line in node.ends:
            while name in taken:  # the number only grows: a joint may have thousands of end sites
                number += 1
                name = f"{node.name}_end{number}"
            taken.add(name)
            if number > 1:
                source.note_oddity(
                    f"the End Site of {node.name!r} is called {name!r}, since its own name is taken", line
                )
            builder.add_frame(name, node.name, [scale * x for x in offset])


# ------------------------------------------------------------------------------------------------ size and up


def find_places(nodes: list[BvhNode]) -> NDArray[np.float64]:
    """Return the positions of every joint and of its first end site with all angles zero, (joints, 2, 3)."""
    out = np.zeros((len(nodes), 2, 3))
    for i, node in enumerate(nodes):
        base = out[node.parent, 0] if node.parent >= 0 else np.zeros(3)
        out[i] = base + (np.array(node.offset) if node.parent >= 0 else 0.0)
        if node.ends:
            out[i, 1] += node.ends[0][0]
    return out


def find_up(source: Source, nodes: list[BvhNode]) -> str:
    """Return the up axis of the file: y, the convention of BVH, unless the head is above the feet along z."""
    at = find_places(nodes)
    head = [p[1] for p, node in zip(at, nodes, strict=True) if "head" in node.name.lower()]
    feet = [p[1] for p, node in zip(at, nodes, strict=True) if is_named(node.name, ("foot", "toe", "ankle"))]
    if head and feet:
        rise = np.mean(head, axis=0) - np.mean(feet, axis=0)
        if np.argmax(np.abs(rise)) == 2 and abs(rise[2]) > 2.0 * abs(rise[1]):
            source.note("z is up: the head is above the feet along z")
            return "z"
    source.note("y is up")
    return "y"


def is_named(name: str, words: Iterable[str]) -> bool:
    """Return whether a joint's name contains one of these words."""
    return any(word in name.lower() for word in words)


def guess_metres(source: Source, nodes: list[BvhNode], up: str) -> float:
    """Return the metres per unit, guessed from the height of the person."""
    height = measure_stature(nodes, up)
    if height <= 0.0:
        source.note_oddity("has no height to guess its unit from; its numbers were taken as metres")
        return 1.0
    unit = guess_person_unit(height)
    source.note(
        f"scale='auto': the body is {height:g} units tall, taken as {UNIT_NAMES[unit]}: 1 unit = {UNITS[unit]:g} m"
    )
    return UNITS[unit]


def state_unit(source: Source, nodes: list[BvhNode], up: str, is_person: bool) -> str:
    """Return the unit suggested by the height of a person, or of a body too tall for metres; numbers are kept."""
    height = measure_stature(nodes, up)
    if height <= 0.0 or not (is_person or height > LARGEST_BODY):
        source.note("BVH has no unit; its numbers were taken as metres")
        return "m"
    unit = guess_person_unit(height)
    keep = "" if unit == "m" else "; its numbers were kept, scale='auto' makes them metres"
    source.note(f"the body is {height:g} units tall, as in {UNIT_NAMES[unit]}{keep}")
    return unit


def measure_stature(nodes: list[BvhNode], up: str) -> float:
    """Return the height of the body in the file's unit.

    Some tools (LAFAN1) lay every bone along one axis of its joint, so that the body is not upright in its offsets. In
    that case the height is measured along the bones from head to foot.
    """
    height, along = float(np.ptp(find_places(nodes)[..., "xyz".index(up)])), measure_height(nodes)
    return along if along > LYING * height else height


def measure_height(nodes: list[BvhNode]) -> float:
    """Return the length along the bones from the first head to the first foot; 0 if either is missing."""
    head = next((i for i, node in enumerate(nodes) if "head" in node.name.lower()), -1)
    foot = next((i for i, node in enumerate(nodes) if is_named(node.name, ("foot", "ankle"))), -1)
    if head < 0 or foot < 0:
        return 0.0
    ways = []
    for start in (head, foot):
        i, way = start, dict[int, float]()
        while nodes[i].parent >= 0:
            way[i] = float(np.linalg.norm(np.array(nodes[i].offset)))
            i = nodes[i].parent
        ways.append(way)
    apart = ways[0].keys() ^ ways[1].keys()
    return sum(length for way in ways for i, length in way.items() if i in apart)
