"""What a body looks like and bumps into: simple solids and references to meshes, each fixed to a frame.

Sizes in metres. A mesh is a path and a scale; it is never opened here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue, ShapeMismatch
from poise.model.spec import check_not_negative, check_offset, floats, vector
from poise.spatial import Transform

__all__ = ["Box", "Capsule", "Cylinder", "Geometry", "Mesh", "Shape", "Sphere"]

USES = ("both", "visual", "collision")
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Sphere:
    """A ball around the shape's origin."""

    radius: float

    def __post_init__(self) -> None:
        settle(self, radius=check_not_negative(self.radius, "the radius of a sphere"))


@dataclass(frozen=True, slots=True)
class Capsule:
    """A segment along z, centred, with `radius` around it; `length` is between the centres of the two round ends."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        settle(self, radius=check_not_negative(self.radius, "the radius of a capsule"))
        settle(self, length=check_not_negative(self.length, "the length of a capsule"))


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder along z, centred, `length` from cap to cap."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        settle(self, radius=check_not_negative(self.radius, "the radius of a cylinder"))
        settle(self, length=check_not_negative(self.length, "the length of a cylinder"))


@dataclass(frozen=True, slots=True)
class Box:
    """A box, centred; `size` is its full extent along x, y and z."""

    size: Triple

    def __post_init__(self) -> None:
        size = triple(self.size, "the size of a box")
        if min(size) < 0.0:
            raise InvalidValue(f"the size of a box is {size}; every number must be zero or more.")
        settle(self, size=size)


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh in a file: `path` as the model's file wrote it, or resolved; vertices are multiplied by `scale`."""

    path: str
    scale: Triple = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise InvalidValue(f"a mesh's path must be a non-empty string, not {self.path!r}.")
        settle(self, scale=triple(self.scale, "the scale of a mesh"))


Geometry = Sphere | Capsule | Cylinder | Box | Mesh


@dataclass(frozen=True, slots=True)
class Shape:
    """A solid that moves with a frame.

    Attributes:
        frame: The frame it is fixed to.
        shape: Its geometry: Sphere, Capsule, Cylinder, Box or Mesh.
        offset: From the frame to the geometry's own axes.
        use: "visual", "collision" or "both".
        color: Red, green, blue, opacity, each 0 to 1; None where the file says nothing.
    """

    frame: str
    shape: Geometry
    offset: Transform
    use: str = "both"
    color: tuple[float, float, float, float] | None = None

    @classmethod
    def checked(cls, frame: Any, shape: Any, offset: Any, use: str, color: Sequence[float] | None) -> Shape:
        """The shape, or an error that names what is wrong with it."""
        name = getattr(frame, "name", frame)
        if not isinstance(name, str) or not name:
            raise InvalidValue(f"a shape's frame must be the name of a frame or joint, not {frame!r}.")
        where = f"a shape of frame {name!r}"
        if not isinstance(shape, Geometry):
            raise InvalidValue(f"{where}: it must be a Sphere, Capsule, Cylinder, Box or Mesh, not {shape!r}.")
        if use not in USES:
            raise InvalidValue(f"{where}: use is {use!r}; it must be one of {', '.join(map(repr, USES))}.")
        return cls(name, shape, check_offset(offset, where), use, check_color(color, where))


def check_color(color: ArrayLike | None, where: str) -> tuple[float, float, float, float] | None:
    """Three or four numbers, brought into 0 to 1; opaque unless said otherwise."""
    if color is None:
        return None
    values = floats(color, 4, f"{where}: color")
    if values.shape not in ((3,), (4,)):
        raise ShapeMismatch(f"{where}: color must be 3 or 4 numbers, not {color!r}.")
    if not np.isfinite(values).all():
        raise InvalidValue(f"{where}: color is {values.tolist()}; every number must be finite.")
    red, green, blue, *alpha = (float(x) for x in np.clip(values, 0.0, 1.0))
    return red, green, blue, alpha[0] if alpha else 1.0


def triple(values: ArrayLike, what: str) -> Triple:
    """Three finite numbers."""
    x, y, z = (float(value) for value in vector(values, 3, what))
    return x, y, z


def settle(shape: Any, **values: Any) -> None:
    """Writes the checked values into a frozen object that is being made."""
    for name, value in values.items():
        object.__setattr__(shape, name, value)
