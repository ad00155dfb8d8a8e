"""Joints and frames: the parts of a model.

A joint's q has `nq` numbers, its velocity `nv`; they differ for quaternions (ball, free).
"""

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.model.curves.path import Path
from poise.model.joints.kinds import KINDS, Coordinate, Primitive
from poise.model.joints.text import print_joint
from poise.spatial import Transform

__all__ = ["BallRange", "Frame", "Joint", "JointFields", "Mimic", "get_name"]


def are_alike(a: Any, b: Any) -> bool:
    """Return whether two objects of the same class agree in every field, to the last bit."""
    pairs = ((getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    return all(np.array_equal(x, y) if isinstance(x, np.ndarray) else bool(x == y) for x, y in pairs)


class Named:
    """A part with a name; equal to its name, and to another part that agrees in every field."""

    __slots__ = ()
    name: str

    def __eq__(self, other: object) -> bool:
        return self.name == other if isinstance(other, str) else type(other) is type(self) and are_alike(self, other)

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Mimic:
    """Follows another joint: value = ratio * leader + offset."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0

    def __iter__(self) -> Any:
        return iter((self.joint, self.ratio, self.offset))


@dataclass(frozen=True, slots=True)
class BallRange:
    """The range of a ball joint about q = (1, 0, 0, 0); None if unbounded. Angles in radians.

    The rotation is split into a twist about `axis` and a swing that tilts the axis:
    ``R = R_swing R_twist``.

    Attributes:
        swing: Half the opening of a round cone; or two angles, about the two directions across the axis (x and y for
            axis z), which span an elliptic cone.
        twist: Lowest and highest rotation about the axis.
        axis: The unit axis of twist, in the joint's own frame.
        angle: Largest total rotation, about any axis.
    """

    swing: float | tuple[float, float] | None = None
    twist: tuple[float, float] | None = None
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    angle: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class JointFields:
    """The fields that a joint of a model shares with its declaration; see `Joint`."""

    name: str
    kind: str
    parent: str | None
    frame: str
    offset: Transform
    axis: Floats
    axis2: Floats
    order: str
    pitch: float
    lower: Any
    upper: Any
    mimic: Mimic | None
    mass: float
    center: Floats
    inertia: Floats
    stiffness: float
    rest: Floats = field(repr=False)
    cone: BallRange | None = None
    locked: bool = False
    length: float = 0.0
    path: Path | None = None
    effort: float = math.inf
    velocity: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Joint(JointFields, Named):
    """One joint of a model. Equal to its name, so that `"elbow" in model.joints` works.

    Attributes:
        name: The joint's own name.
        kind: One of `KINDS`.
        parent: Its parent frame; None for the world.
        frame: The frame that moves with it.
        offset: From the parent frame to the joint at q = 0.
        axis: Unit axis in the joint's own frame (zeros for kinds without one).
        axis2: The second axis of a universal joint.
        order: Letters of an Euler joint, such as "ZXY"; empty otherwise.
        pitch: Metres per radian of a screw.
        lower: Lower bound: a number for one-DOF kinds, an array of nv otherwise [rad, m].
        upper: Upper bound, likewise.
        q: Its slice of q. A mimic follower has its leader's.
        v: Its slice of v.
        mimic: The joint that it follows, with ratio and offset, or None.
        mass: Mass that moves with it [kg].
        center: Centre of that mass in the child frame [m].
        inertia: Inertia of that mass about its centre, in the axes of the child frame, (3, 3) [kg m^2].
        stiffness: Weight of its motion in the norm that a step minimises; 0 is neutral.
        rest: Its coordinates in `model.rest`.
        cone: The range of a ball joint, or None.
        length: Length of a scale joint's bone at coordinate 1 [m]; 0 otherwise.
        path: The curve of a path joint, or None.
        locked: Whether it is a bone length and not a degree of freedom: motions and poses may change it, solvers keep
            its start value, to the bit, unless `joints=` names it.
        effort: Largest torque or force of its drive [N m, N]; infinite if unknown.
        velocity: Largest speed [rad/s, m/s], which `poise.limits.Speed()` holds; infinite if unknown.
        damping: Resistance per speed [N m s/rad, N s/m].
        friction: Resistance at any speed [N m, N].
        armature: Inertia of the drive, as felt at the joint [kg m^2, kg].
    """

    q: slice
    v: slice

    @property
    def nq(self) -> int:
        """Number of coordinates of its own in q (0 for a mimic follower)."""
        return 0 if self.mimic else KINDS[self.kind].nq

    @property
    def nv(self) -> int:
        """Number of velocities of its own (0 for a mimic follower)."""
        return 0 if self.mimic else KINDS[self.kind].nv

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates of q other than quaternions, with names and units; their derivatives are velocities.

        An Euler joint's are named by its order, "rz rx ry" or "rz rx rz2".
        """
        plain = KINDS[self.kind].coordinates
        if not self.order:
            return plain
        names = [f"r{letter.lower()}" + "2" * (letter in self.order[:k]) for k, letter in enumerate(self.order)]
        return tuple(Coordinate(name, c.slides, c.factor) for name, c in zip(names, plain, strict=True))

    @property
    def slides(self) -> tuple[bool, ...]:
        """Whether each velocity of its kind is a length per second; otherwise an angle or a factor per second."""
        return KINDS[self.kind].slides

    @property
    def turns(self) -> tuple[bool, ...]:
        """Whether each velocity of its kind is an angle per second."""
        return KINDS[self.kind].turns

    @property
    def quaternion(self) -> bool:
        """Whether its coordinates end in a quaternion wxyz."""
        return KINDS[self.kind].quaternion

    @property
    def motions(self) -> list[tuple[Primitive, Floats]]:
        """Its primitive motions with their axes, parent first."""
        return KINDS[self.kind].motions(self)

    def name_coordinate(self, k: int) -> str:
        """Return the full name of a coordinate: "elbow", "hip.rz", "base.angle"."""
        own = self.coordinates[k].name
        return f"{self.name}.{own}" if own else self.name

    def __str__(self) -> str:
        return print_joint(self)

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


@dataclass(frozen=True, eq=False, slots=True)
class Frame(Named):
    """A named coordinate frame on the body.

    Attributes:
        name: Its name; links, bodies, sites and nodes share one namespace.
        parent: The frame it is attached to; None for the world.
        joint: The joint that carries it, if it is a joint's child frame.
        offset: From the parent frame; for a joint's child frame, at q = 0.
        mass: Mass attached here [kg].
        center: Centre of that mass in this frame [m].
        inertia: Inertia of that mass about its centre, in this frame's axes, (3, 3) [kg m^2].
        listed: Whether `model.frames` lists it; the geoms of an MJCF file have a name only.
    """

    name: str
    parent: str | None
    joint: str | None
    offset: Transform
    mass: float
    center: Floats
    inertia: Floats
    listed: bool = True

    def __str__(self) -> str:
        return self.name


def get_name(thing: object) -> str:
    """Return the name of a joint or a frame; text is returned unchanged."""
    return thing.name if isinstance(thing, (Joint, Frame)) else str(thing)
