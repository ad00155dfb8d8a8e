"""Shapes: solids and references to meshes for display and collision, each fixed to a frame.

A mesh is a path and a scale; it is never opened here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue, ShapeMismatch
from poise.model.geometry.solids import Box, Capsule, Cylinder, Mesh, Sphere
from poise.model.spec import check_offset, read_floats
from poise.spatial import Transform

__all__ = ["Box", "Capsule", "Cylinder", "Geometry", "Mesh", "Shape", "Sphere"]

USES = ("both", "visual", "collision")
SPHERE_COLOR = (0.25, 0.55, 0.95, 0.25)  # of fitted spheres: clear, so that pages show the mesh inside


Geometry = Sphere | Capsule | Cylinder | Box | Mesh


@dataclass(frozen=True, slots=True)
class Shape:
    """A solid that moves with a frame.

    Attributes:
        frame: The frame it is fixed to.
        shape: Its geometry: Sphere, Capsule, Cylinder, Box or Mesh, at the origin.
        offset: From the frame to that origin.
        use: "visual", "collision" or "both".
        color: Red, green, blue, opacity, each 0 to 1; None if the file has no colour.
    """

    frame: str
    shape: Geometry
    offset: Transform
    use: str = "both"
    color: tuple[float, float, float, float] | None = None

    @classmethod
    def make(cls, frame: Any, shape: Any, offset: Any, use: str, color: Sequence[float] | None) -> Shape:
        """Return the shape; the solid's own placement is merged into the offset.

        Raises:
            InvalidValue: An argument is invalid; the message names it.
            ShapeMismatch: The offset or the colour has the wrong number of values.
        """
        name = getattr(frame, "name", frame)
        if not isinstance(name, str) or not name:
            raise InvalidValue(f"a shape's frame must be the name of a frame or joint, not {frame!r}.")
        where = f"a shape of frame {name!r}"
        if not isinstance(shape, Geometry):
            raise InvalidValue(f"{where}: it must be a Sphere, Capsule, Cylinder, Box or Mesh, not {shape!r}.")
        if use not in USES:
            raise InvalidValue(f"{where}: use is {use!r}; it must be one of {', '.join(map(repr, USES))}.")
        placed, own = check_offset(offset, where), getattr(shape, "placement", None)
        if own is not None:
            placed, shape = placed @ own, type(shape)(**shape.sizes)
        return cls(name, shape, placed, use, check_color(color, where))


def check_color(color: ArrayLike | None, where: str) -> tuple[float, float, float, float] | None:
    """Return three or four numbers as a colour, clipped to 0 to 1; opaque by default."""
    if color is None:
        return None
    values = read_floats(color, 4, f"{where}: color")
    if values.shape not in ((3,), (4,)):
        raise ShapeMismatch(f"{where}: color must be 3 or 4 numbers, not {color!r}.")
    if not np.isfinite(values).all():
        raise InvalidValue(f"{where}: color is {values.tolist()}; every number must be finite.")
    red, green, blue, *alpha = (float(x) for x in np.clip(values, 0.0, 1.0))
    return red, green, blue, alpha[0] if alpha else 1.0
