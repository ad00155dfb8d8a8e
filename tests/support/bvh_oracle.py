"""BVH for tests: a writer of arbitrary files, and their forward kinematics, computed joint by joint.

The oracle shares no code with the reader: it gets the joints, not the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from poise.arrays import Floats


@dataclass
class Bone:
    """A joint to write, with its channels and children."""

    name: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    channels: tuple[str, ...] = ()
    children: list[Bone] = field(default_factory=list)
    end: tuple[float, float, float] | None = None


def bones(root: Bone) -> list[Bone]:
    """Return all joints in the order of their columns."""
    return [root, *(bone for child in root.children for bone in bones(child))]


def text_of(root: Bone, rows: Floats, frame_time: float = 1 / 30) -> str:
    """Return the file in the usual layout."""
    lines = ["HIERARCHY", *lines_of(root, "ROOT", ""), "MOTION", f"Frames: {len(rows)}", f"Frame Time: {frame_time!r}"]
    return "\n".join(lines + [" ".join(repr(float(x)) for x in row) for row in rows]) + "\n"


def lines_of(bone: Bone, keyword: str, indent: str) -> list[str]:
    inner = indent + "  "
    out = [f"{indent}{keyword} {bone.name}", indent + "{", f"{inner}OFFSET {' '.join(map(repr, bone.offset))}"]
    out.append(f"{inner}CHANNELS {len(bone.channels)} {' '.join(bone.channels)}".rstrip())
    for child in bone.children:
        out += lines_of(child, "JOINT", inner)
    if bone.end is not None:
        out += [inner + "End Site", inner + "{", f"{inner}  OFFSET {' '.join(map(repr, bone.end))}", inner + "}"]
    return [*out, indent + "}"]


def fk(root: Bone, row: Floats) -> dict[str, Floats]:
    """Return T_world_joint of every joint and end site in one frame."""
    numbers = iter(row.tolist())
    out: dict[str, Floats] = {}
    place(root, np.eye(4), numbers, out)
    return out


def place(bone: Bone, parent: Floats, numbers: object, out: dict[str, Floats]) -> None:
    local = np.eye(4)
    local[:3, 3] = bone.offset
    turn = np.eye(3)
    for channel in bone.channels:
        value = next(numbers)  # type: ignore[call-overload]
        axis = "XYZ".index(channel[0].upper())
        if channel[1:].lower() == "position":
            local[axis, 3] = value
        else:
            turn = turn @ turned(axis, np.deg2rad(value))
    local[:3, :3] = turn
    out[bone.name] = parent @ local
    if bone.end is not None:
        out[f"{bone.name}_end"] = out[bone.name].copy()
        out[f"{bone.name}_end"][:3, 3] += out[bone.name][:3, :3] @ bone.end
    for child in bone.children:
        place(child, out[bone.name], numbers, out)


def turned(axis: int, angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    if axis == 0:
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    if axis == 1:
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
