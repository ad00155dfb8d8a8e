"""Solids: shapes of bodies and obstacles in the world, the same classes for both. Metres.

A solid is given by its sizes alone, as a part of a body, or by its sizes and placement, as a region of the world:

    Sphere(radius)             Sphere(center, radius)
    Box(size)                  Box(center, size, rotation=None)
    Capsule(radius, length)    Capsule(start, end, radius)
    Cylinder(radius, length)   Cylinder(start, end, radius)

Without a placement it is at the origin, capsules and cylinders along z. On a body, `Shape` places that origin. In the
world it may have a `name=`, and a `transform=` that is applied last.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Triple
from poise.errors import InvalidValue, ShapeMismatch, show_value
from poise.model.spec import check_not_negative, read_vector
from poise.spatial import Rotation, Transform, as_rotation, as_transform

__all__ = ["Box", "Capsule", "Cylinder", "Mesh", "Sphere"]

ORIGIN: Triple = (0.0, 0.0, 0.0)
LARGEST = 1e100  # m; larger squares may overflow


@dataclass(frozen=True, slots=True, init=False)
class Sphere:
    """All points within `radius` of `center`: ``Sphere(radius)`` or ``Sphere(center, radius)``. `Ball` is an alias.

    Attributes:
        center: Its centre; by default the origin.
        radius: Its radius.
        name: Its name in `why()` and in batches.
    """

    center: Triple
    radius: float
    name: str = field(repr=False)

    @overload
    def __init__(self, radius: float, *, name: str = "", transform: Any = None) -> None: ...
    @overload
    def __init__(self, center: ArrayLike, radius: float, *, name: str = "", transform: Any = None) -> None: ...

    def __init__(self, *given: Any, name: str = "", transform: Any = None, **named: Any) -> None:
        found = bind(type(self).__name__, (("radius",), ("center", "radius")), given, named)
        place = read_transform(transform, "Sphere")
        settle(self, center=place(read_position(found.get("center", ORIGIN), "Sphere: center")))
        settle(self, radius=read_length(found["radius"], "Sphere: radius"), name=read_name(name, "Sphere"))

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments that create it at the origin."""
        return {"radius": self.radius}

    @property
    def placement(self) -> Transform | None:
        """Its pose, or None at the origin."""
        return None if self.center == ORIGIN else Transform(None, self.center)


@dataclass(frozen=True, slots=True, init=False)
class Box:
    """A box around `center`: ``Box(size)`` or ``Box(center, size, rotation)``, `size` along its own x, y and z axes.

    Attributes:
        center: Its centre; by default the origin.
        size: Its full extent along its own axes.
        rotation: Rotation of its axes; None if they are those of the world, or of the frame that carries it.
        name: Its name in `why()` and in batches.
    """

    center: Triple
    size: Triple
    rotation: Rotation | None
    name: str = field(repr=False)

    @overload
    def __init__(self, size: ArrayLike, *, name: str = "", transform: Any = None) -> None: ...
    @overload
    def __init__(
        self, center: ArrayLike, size: ArrayLike, rotation: Any = None, *, name: str = "", transform: Any = None
    ) -> None: ...

    def __init__(self, *given: Any, name: str = "", transform: Any = None, **named: Any) -> None:
        if len(given) == 3 and not any(map(np.ndim, given)):
            raise InvalidValue(f"Box: the three lengths are one argument: Box({given!r}).")
        found = bind("Box", (("size",), ("center", "size", "rotation")), given, named, optional=("rotation",))
        place = read_transform(transform, "Box")
        settle(self, center=place(read_position(found.get("center", ORIGIN), "Box: center")))
        size = read_position(found["size"], "Box: size")
        if min(size) < 0.0:
            raise InvalidValue(f"Box: size is {size}; every number must be zero or more.")
        turn = found.get("rotation")
        if turn is not None:
            turn = as_rotation(turn, "Box: rotation")
            if turn.wxyz.shape != (4,):
                raise ShapeMismatch(f"Box: rotation must be one rotation, not {turn.wxyz.shape[:-1]} of them.")
        settle(self, size=size, rotation=place.turn(turn), name=read_name(name, "Box"))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Its axes, as the columns of a 3x3 matrix."""
        return np.eye(3) if self.rotation is None else np.array(self.rotation.matrix)

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments that create it at the origin."""
        return {"size": self.size}

    @property
    def placement(self) -> Transform | None:
        """Its pose, or None at the origin."""
        return None if self.center == ORIGIN and self.rotation is None else Transform(self.rotation, self.center)


@dataclass(frozen=True, slots=True, init=False)
class Rod:
    """A solid around the segment from `start` to `end`: a `Capsule` or a `Cylinder`."""

    start: Triple
    end: Triple
    radius: float
    name: str = field(repr=False)

    @overload
    def __init__(self, radius: float, length: float, *, name: str = "", transform: Any = None) -> None: ...
    @overload
    def __init__(
        self, start: ArrayLike, end: ArrayLike, radius: float, *, name: str = "", transform: Any = None
    ) -> None: ...

    def __init__(self, *given: Any, name: str = "", transform: Any = None, **named: Any) -> None:
        what = type(self).__name__
        found = bind(what, (("radius", "length"), ("start", "end", "radius")), given, named)
        place = read_transform(transform, what)
        if "length" in found:
            half = 0.5 * read_length(found["length"], f"{what}: length")
            settle(self, start=place((0.0, 0.0, -half + 0.0)), end=place((0.0, 0.0, half)))
        else:
            settle(self, start=place(read_position(found["start"], f"{what}: start")))
            settle(self, end=place(read_position(found["end"], f"{what}: end")))
        settle(self, radius=read_length(found["radius"], f"{what}: radius"), name=read_name(name, what))

    @property
    def length(self) -> float:
        """The length of the segment."""
        return math.dist(self.start, self.end)

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments that create it at the origin."""
        return {"radius": self.radius, "length": self.length}

    @property
    def placement(self) -> Transform | None:
        """The pose of its middle, with z from start to end; None at the origin along z."""
        if self.start[:2] == self.end[:2] == (0.0, 0.0) and self.end[2] == -self.start[2] >= 0.0:
            return None
        start, end = np.array(self.start), np.array(self.end)
        return Transform(turn_from_z(end - start), 0.5 * (start + end))


@dataclass(frozen=True, slots=True, init=False)
class Capsule(Rod):
    """All points within `radius` of a segment: ``Capsule(radius, length)`` or ``Capsule(start, end, radius)``.

    Attributes:
        start: One end of the segment.
        end: The other end.
        radius: Its radius.
        name: Its name in `why()` and in batches.
    """


@dataclass(frozen=True, slots=True, init=False)
class Cylinder(Rod):
    """A cylinder around a segment: ``Cylinder(radius, length)`` or ``Cylinder(start, end, radius)``, cap to cap.

    Attributes:
        start: The centre of one cap.
        end: The centre of the other cap.
        radius: Its radius.
        name: Its name in `why()` and in batches.
    """


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh in a file: `path` as the model's file wrote it, or resolved; vertices are multiplied by `scale`.

    `texture` is the image that the model's file assigns to it, used if the mesh has texture coordinates; "" if none.
    """

    path: str
    scale: Triple = (1.0, 1.0, 1.0)
    texture: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise InvalidValue(f"a mesh's path must be a non-empty string, not {self.path!r}.")
        if not isinstance(self.texture, str):
            raise InvalidValue(f"a mesh's texture must be the path of an image, not {self.texture!r}.")
        settle(self, scale=make_triple(read_vector(self.scale, 3, "the scale of a mesh")))

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments that create it."""
        painted = {"texture": self.texture} if self.texture else {}
        return {"path": self.path, "scale": self.scale, **painted}


# ------------------------------------------------------------------------------------------------ arguments


def set_signature(kind: type, **annotations: str) -> None:
    """Set the signature that `help` shows: the keywords of all forms, those ending in ``= None`` optional."""
    shared = {"name": "str = ''", "transform": "Transform | None = None"}
    parameters = []
    for name, text in {**annotations, **shared}.items():
        annotation, _, default = text.partition(" = ")
        value: Any = Parameter.empty if not default else None if default == "None" else ""
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=value, annotation=annotation))
    kind.__signature__ = Signature(parameters)  # type: ignore[attr-defined]


set_signature(Sphere, radius="float", center="ArrayLike | None = None")
set_signature(Box, size="ArrayLike", center="ArrayLike | None = None", rotation="Rotation | None = None")
for rod in (Capsule, Cylinder):
    optional = dict.fromkeys(("start", "end"), "ArrayLike | None = None")
    set_signature(rod, radius="float", length="float | None = None", **optional)


def bind(
    what: str,
    forms: Sequence[tuple[str, ...]],
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    optional: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the arguments of a call by name, using the first form that matches.

    Raises:
        InvalidValue: No form matches.
    """
    for names in forms:
        found = dict(zip(names, given, strict=False))
        clash = found.keys() & named.keys() or len(given) > len(names)
        found.update(named)
        if not clash and found.keys() <= set(names) and set(names) - set(optional) <= found.keys():
            return found
    texts = " or ".join(f"{what}({', '.join(names)})" for names in forms)
    values = ", ".join([*map(show_value, given), *(f"{name}=" for name in named)])
    raise InvalidValue(f"{what}({values}) is neither form of it; type {texts}.")


def make_triple(values: NDArray[np.float64]) -> Triple:
    """Return three numbers as a hashable tuple, without negative zeros."""
    x, y, z = (values + 0.0).tolist()
    return x, y, z


def read_position(values: ArrayLike, what: str) -> Triple:
    """Return three finite lengths [m].

    Raises:
        InvalidValue: One is too large, or not a number.
    """
    found = read_vector(values, 3, what)
    if not (np.abs(found) < LARGEST).all():
        raise InvalidValue(f"{what} is {found.tolist()}; every number must be below {LARGEST:g}.")
    return make_triple(found)


def read_length(value: Any, what: str) -> float:
    """Return a finite length, zero or more [m].

    Raises:
        InvalidValue: The length is negative, too large, or not a number.
    """
    found = check_not_negative(value, what)
    if found >= LARGEST:
        raise InvalidValue(f"{what} is {found}; it must be below {LARGEST:g}.")
    return found


class RegionPlace:
    """A transform that is applied to the points and axes of a region, or None to leave them.

    Attributes:
        transform: The transform.
    """

    __slots__ = ("transform",)

    def __init__(self, transform: Transform | None) -> None:
        self.transform = transform

    def __call__(self, point: Triple) -> Triple:
        """Return a point where the transform puts it."""
        return point if self.transform is None else make_triple(np.asarray(self.transform.apply(point)))

    def turn(self, rotation: Rotation | None) -> Rotation | None:
        """Return a rotation followed by that of the transform."""
        if self.transform is None:
            return rotation
        return self.transform.rotation if rotation is None else self.transform.rotation @ rotation


def read_transform(transform: Any, what: str) -> RegionPlace:
    """Return the transform of a region.

    Raises:
        InvalidValue: The value is not a transform.
        ShapeMismatch: There are several transforms.
    """
    if transform is None:
        return RegionPlace(None)
    found = as_transform(transform, f"{what}: transform")
    if found.matrix.shape != (4, 4):
        raise ShapeMismatch(f"{what}: transform must be one transform, not {found.matrix.shape[:-2]} of them.")
    return RegionPlace(found)


def read_name(name: Any, what: str) -> str:
    """Return the name of a region, "" if it has none."""
    if not isinstance(name, str):
        raise InvalidValue(f"{what}: name must be a string, not {name!r}.")
    return name


def settle(solid: Any, **values: Any) -> None:
    """Set checked values on a frozen object during construction."""
    for name, value in values.items():
        object.__setattr__(solid, name, value)


def turn_from_z(direction: NDArray[np.float64]) -> Rotation | None:
    """Return the shortest rotation that takes z to a direction; None if it is the identity or the direction is zero."""
    size = float(np.linalg.norm(direction))
    if size == 0.0:
        return None
    x, y, z = (direction / size).tolist()
    across = math.hypot(x, y)
    if across == 0.0:
        return None if z > 0.0 else Rotation.from_vector((math.pi, 0.0, 0.0))
    angle = math.atan2(across, z)
    return Rotation.from_vector((-y / across * angle, x / across * angle, 0.0))
