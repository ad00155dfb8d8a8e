"""Build figures from a table of parts and their mirror images.

A figure is y-up, faces +z and has its left side at +x. In the zero pose a part's axes are the world's (except for yawed
joints), and it rotates about the axes in its letters: one letter is a hinge, two a universal joint, three an Euler
joint of that order. A part that hangs down (a limb) swings back with +X, to the left with +Z; a part that stands up
(spine, neck) leans forward with +X, to the right with +Z; +Y turns the front of both to the left.

Left and right. The mirror image in the plane x = 0 keeps rotations about X and reverses those about Y and Z. A right
part is made from its left one: x negated, X ranges kept, Y and Z ranges negated and swapped. So the mirror image of a
pose is: swap the sides, keep X angles, negate Y and Z angles; for the root, negate x and the quaternion's y and z.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.model import ModelBuilder
from poise.names import swap_side

Vector = tuple[float, float, float]
Range = tuple[float, float]
Angles = tuple[float, ...]

KINDS = {1: "revolute", 2: "universal", 3: "euler"}
UNIT = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


class FigurePart(NamedTuple):
    """One joint and the part that it carries; angles in degrees."""

    name: str
    parent: str
    offset: Vector
    """Joint's place in the parent's frame [m]."""
    axes: str
    """One, two or three of the letters X, Y, Z: a hinge, a universal joint, an Euler joint of that order."""
    ranges: tuple[Range, ...]
    """Lowest and highest angle for each letter [degrees]."""
    mass: float = 0.0
    """[kg]"""
    center: Vector = (0.0, 0.0, 0.0)
    """Centre of mass in the part's frame [m]."""
    stiffness: float = 0.0
    yaw: float = 0.0
    """Turn of the joint's frame about the parent's y axis [degrees]."""


class Landmark(NamedTuple):
    """A named point on a part, without joint or mass."""

    name: str
    parent: str
    offset: Vector


def mirror_angles(axes: str, angles: Iterable[float]) -> Angles:
    """Return the angles of the mirror image: X stays, Y and Z change sign."""
    return tuple(angle if axis == "X" else -angle for axis, angle in zip(axes, angles, strict=True))


def mirror_part(part: FigurePart) -> FigurePart:
    """Return the right part for a left one."""
    ends = [mirror_angles(part.axes, end) for end in zip(*part.ranges, strict=True)]
    return part._replace(
        name=swap_side(part.name),
        parent=swap_side(part.parent),
        offset=_mirror_point(part.offset),
        ranges=tuple((min(pair), max(pair)) for pair in zip(*ends, strict=True)),
        center=_mirror_point(part.center),
        yaw=-part.yaw,
    )


def mirror_mark(mark: Landmark) -> Landmark:
    """Return the right landmark for a left one."""
    return Landmark(swap_side(mark.name), swap_side(mark.parent), _mirror_point(mark.offset))


def add_part(builder: ModelBuilder, part: FigurePart, rest: Angles | None = None) -> None:
    """Add the joint of one part; it rests at the given angles [degrees], by default zero."""
    lower, upper = np.radians(part.ranges).T
    builder.add_joint(
        part.name,
        part.parent,
        KINDS[len(part.axes)],
        offset=_yaw(part.offset, part.yaw),
        axis=UNIT[part.axes[0]] if len(part.axes) < 3 else None,
        axis2=UNIT[part.axes[1]] if len(part.axes) == 2 else None,
        order=part.axes if len(part.axes) == 3 else None,
        lower=lower,
        upper=upper,
        rest=None if rest is None else np.radians(rest),
        mass=part.mass,
        center=part.center,
        stiffness=part.stiffness,
    )


def add_figure(
    builder: ModelBuilder,
    parts: Iterable[FigurePart],
    marks: Iterable[Landmark],
    stance: Mapping[str, Angles],
) -> None:
    """Add the parts and landmarks, and the right side of those named left.

    Args:
        builder: The builder, which already has the root.
        parts: middle and left parts.
        marks: middle and left marks.
        stance: rest angles of middle and left parts [degrees]; other parts rest at zero.
    """
    for part in parts:
        rest = stance.get(part.name)
        add_part(builder, part, rest)
        if swap_side(part.name) != part.name:
            add_part(builder, mirror_part(part), None if rest is None else mirror_angles(part.axes, rest))
    for mark in marks:
        builder.add_frame(*mark)
        if swap_side(mark.name) != mark.name:
            builder.add_frame(*mirror_mark(mark))


def _mirror_point(point: Vector) -> Vector:
    return (-point[0], point[1], point[2])


def _yaw(offset: Vector, degrees: float) -> NDArray[np.float64]:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y, z = offset
    return np.array([[c, 0.0, s, x], [0.0, 1.0, 0.0, y], [-s, 0.0, c, z], [0.0, 0.0, 0.0, 1.0]])
