"""The kinds of joints, in one table.

A row lists the coordinates of a joint of the kind, their names, whether each slides or rotates, and its primitive
motions in the kernels. Other modules read the row instead of testing for a kind by name, so a new kind is a row here,
its matrix in `textbook/joints.py`, and its line in `tests/support/bodies.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot
from typing import Protocol

import numpy as np

from poise.arrays import Floats
from poise.native import core

__all__ = ["EULER_ORDERS", "KINDS", "Axes", "Coordinate", "KindFacts", "Primitive", "make_basis"]

EULER_ORDERS = tuple(a + b + c for a in "XYZ" for b in "XYZ" for c in "XYZ" if b not in (a, c))


Primitive = core.Primitive


class Axes(Protocol):
    """The parameters of a joint's motions."""

    @property
    def axis(self) -> Floats:
        """The unit axis."""

    @property
    def axis2(self) -> Floats:
        """The second unit axis."""

    @property
    def order(self) -> str:
        """The letters of an Euler joint."""


Motions = Callable[[Axes], list[tuple[Primitive, Floats]]]


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of q whose derivative is its velocity.

    Attributes:
        name: Its name after the joint's name, as in "base.angle"; empty if the joint has no other coordinate.
        slides: Whether it is a length [m]; otherwise it is an angle [rad], or a factor.
        factor: Whether it is a ratio of lengths, without a unit. Like an angle, it is not scaled by L.
    """

    name: str = ""
    slides: bool = False
    factor: bool = False

    @property
    def unit(self) -> str:
        """Its unit: "m", "rad" or ""."""
        return "m" if self.slides else "" if self.factor else "rad"


@dataclass(frozen=True, slots=True)
class KindFacts:
    """The properties of a kind of joint.

    Attributes:
        motions: The primitive motions of a joint, with their axes, parent first.
        coordinates: The coordinates other than quaternions, in the order of q. Those of an Euler joint are numbered
            here and named by its order.
        quaternion: Whether a quaternion wxyz follows them, with three velocities about the body's axes.
        axis: The default axis, for kinds that have one.
        limited: Whether a joint of this kind may have a range.
        neutral: The value of each coordinate in the joint's initial position.
        meaning: A short description.
    """

    motions: Motions
    coordinates: tuple[Coordinate, ...] = ()
    quaternion: bool = False
    axis: tuple[float, float, float] | None = None
    limited: bool = True
    neutral: float = 0.0
    meaning: str = ""

    @property
    def nq(self) -> int:
        """The number of coordinates in q."""
        return len(self.coordinates) + 4 * self.quaternion

    @property
    def nv(self) -> int:
        """The number of velocities."""
        return len(self.coordinates) + 3 * self.quaternion

    @property
    def slides(self) -> tuple[bool, ...]:
        """Whether each velocity is a length per second."""
        return (*(c.slides for c in self.coordinates), *[False] * (3 * self.quaternion))

    @property
    def turns(self) -> tuple[bool, ...]:
        """Whether each velocity is an angle per second."""
        return (*(c.unit == "rad" for c in self.coordinates), *[True] * (3 * self.quaternion))


def make_basis(axis: Floats) -> Floats:
    """Return a rotation whose third column is the unit `axis`; exact for x, y and z."""
    numbers = axis.tolist()
    k = max(range(3), key=lambda i: abs(numbers[i]))
    along, after, before = numbers[k], numbers[k - 2], numbers[k - 1]
    length = hypot(along, after)
    x, y = 0.0 - after / length, along / length  # numpy's cross product of single vectors takes twenty times as long
    basis = np.empty((3, 3))
    basis[k], basis[k - 2], basis[k - 1] = (x, 0.0 - before * y, along), (y, before * x, after), (0.0, length, before)
    return basis


def move_along_axis(primitive: Primitive) -> Motions:
    """Return the motions of a joint with one primitive motion about or along its axis."""
    return lambda joint: [(primitive, joint.axis)]


def move_in_plane(joint: Axes) -> list[tuple[Primitive, Floats]]:
    """Return slides along two axes across the normal, x and y for normal z, then a rotation about the normal."""
    basis = make_basis(joint.axis)
    return [(Primitive.SLIDE, basis[:, 0]), (Primitive.SLIDE, basis[:, 1]), (Primitive.TURN, joint.axis)]


def turn_by_letters(joint: Axes) -> list[tuple[Primitive, Floats]]:
    """Return a rotation about the axis of each letter."""
    return [(Primitive.TURN, np.eye(3)["XYZ".index(letter)]) for letter in joint.order]


_X, _Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
_UP = np.array(_Z)
_ANGLE, _LENGTH = (Coordinate(),), (Coordinate(slides=True),)
_PLACE = tuple(Coordinate(letter, slides=True) for letter in "xyz")
_BALL: tuple[Primitive, Floats] = (Primitive.BALL, _UP)
_SLIDE3: tuple[Primitive, Floats] = (Primitive.SLIDE3, _UP)

KINDS: dict[str, KindFacts] = {
    "fixed": KindFacts(lambda _: [], limited=False, meaning="does not move"),
    "revolute": KindFacts(
        move_along_axis(Primitive.TURN), _ANGLE, axis=_Z, meaning="rotates about an axis, with a range"
    ),
    "continuous": KindFacts(
        move_along_axis(Primitive.TURN), _ANGLE, axis=_Z, limited=False, meaning="rotates about an axis without a range"
    ),
    "prismatic": KindFacts(move_along_axis(Primitive.SLIDE), _LENGTH, axis=_Z, meaning="slides along an axis"),
    "screw": KindFacts(
        move_along_axis(Primitive.SCREW), _ANGLE, axis=_Z, meaning="rotates, and slides `pitch` metres per radian"
    ),
    "cylindrical": KindFacts(
        lambda joint: [(Primitive.SLIDE, joint.axis), (Primitive.TURN, joint.axis)],
        (Coordinate("slide", slides=True), Coordinate("angle")),
        axis=_Z,
        meaning="slides along an axis and rotates about it: slide, angle",
    ),
    "universal": KindFacts(
        lambda joint: [(Primitive.TURN, joint.axis), (Primitive.TURN, joint.axis2)],
        (Coordinate("angle1"), Coordinate("angle2")),
        axis=_X,
        meaning="two rotations, about axis then axis2",
    ),
    "euler": KindFacts(
        turn_by_letters,
        (Coordinate("1"), Coordinate("2"), Coordinate("3")),
        meaning="three intrinsic rotations in the order of its letters",
    ),
    "planar": KindFacts(
        move_in_plane,
        (*_PLACE[:2], Coordinate("angle")),
        axis=_Z,
        meaning="slides in a plane and rotates about its normal: x, y, angle",
    ),
    "path": KindFacts(
        lambda _: [(Primitive.PATH, np.zeros(3))], _LENGTH, meaning="moves along a curve: metres from its start"
    ),
    "scale": KindFacts(
        move_along_axis(Primitive.SLIDE),
        (Coordinate(factor=True),),
        axis=_Z,
        neutral=1.0,
        meaning="a bone that stretches along an axis: a factor of its `length`",
    ),
    "uniform_scale": KindFacts(
        lambda _: [(Primitive.SCALE, np.zeros(3))],
        (Coordinate(factor=True),),
        neutral=1.0,
        meaning="a part that grows: a factor of all lengths below it",
    ),
    "translation3": KindFacts(lambda _: [_SLIDE3], _PLACE, meaning="slides along x, y and z"),
    "ball": KindFacts(lambda _: [_BALL], quaternion=True, limited=False, meaning="rotates freely: a quaternion wxyz"),
    "free": KindFacts(
        lambda _: [_SLIDE3, _BALL],
        _PLACE,
        quaternion=True,
        limited=False,
        meaning="moves freely: x y z, then a quaternion wxyz",
    ),
}
