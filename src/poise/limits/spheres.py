"""Fit spheres to a body: `poise.fit_spheres`.

Each collision shape, or visual shape of a part without collision shapes, is replaced by spheres that contain it and
stand out of it by at most a given error (`poise.model.geometry.sphere_cover`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import SPHERE_COLOR, Box, Capsule, Cylinder, Mesh, Shape, Sphere
from poise.model.geometry.solid_grid import estimate_pieces
from poise.model.geometry.sphere_cover import CELL, cover_with_spheres
from poise.model.geometry.surfaces import SurfaceReader, open_surfaces
from poise.model.geometry.triangles import AROUND, RINGS, is_closed, triangulate
from poise.model.spec import check_not_negative
from poise.progress_line import Progress, watch_progress
from poise.spatial import Transform

__all__ = ["fit_spheres"]

ROUND_SHARE = 1.0 / (math.cos(math.pi / AROUND) * math.cos(math.pi / (4 * RINGS - 2)))
"""The factor of a radius for which the triangles of a round solid contain it."""


THIN = 1e-3  # least radius of a solid, relative to the error
MOST_PIECES = 4_000_000
"""Triangles that a body is split into at most: about half a minute and a gigabyte on a core of 2.5 GHz."""


def fit_spheres(model: Model, error: float = 0.01, *, progress: Progress | bool | None = None) -> Model:
    """Return the same body with spheres as its collision shapes.

    The spheres contain the collision shapes, meshes included, or the visual shapes of a part without collision shapes.
    They stand out by at most `error`. `model.notes` states the bound that was reached, and names the meshes that are
    missing, unreadable or not closed. Fits are kept by content, so a second call is fast; `poise.show` draws them.

    Args:
        model: The body.
        error: The largest distance of a point of a sphere from the shape that it covers [m].
        progress: A function called with (triangles done, triangles) after each shape; or whether to show them on
            stderr. None shows them on a terminal and in a notebook.

    Raises:
        InvalidValue: The body has no shapes, or the error is not positive, or too small for the size of the body.
    """
    fit = SphereFit(open_surfaces(model), read_error(error) / model.metres_per_unit)
    surfaces = [(shape, fit.read(shape)) for shape in list_covered(model)]
    total, done = fit.count_pieces([surface for _, surface in surfaces]), 0
    with watch_progress(progress, "triangles") as report:
        for shape, surface in surfaces:
            fit.add(shape, surface)
            done += fit.count_pieces([surface])
            if report is not None:
                report(done, total)
    if not fit.spheres:
        missing = " ".join(fit.reader.notes)
        raise InvalidValue(f"fit_spheres: model {model.name!r} has no solids or readable meshes. {missing}".rstrip())
    seen = [replace(shape, use="visual") for shape in model.shapes if shape.use != "collision"]
    return with_shapes(model, (*seen, *fit.lost, *fit.spheres), fit.describe(model))


def read_error(error: float) -> float:
    """Return a positive length [m]."""
    found = check_not_negative(error, "fit_spheres: error")
    if found == 0.0:
        raise InvalidValue("fit_spheres: error is 0; it must be positive, such as 0.01 for a centimetre.")
    return found


def list_covered(model: Model) -> list[Shape]:
    """Return the collision shapes, and the visual ones of the parts that have none."""
    parts = find_rigid_parts(model)
    solid = [shape for shape in model.shapes if shape.use != "visual"]
    served = {parts[shape.frame] for shape in solid}
    return solid + [shape for shape in model.shapes if shape.use == "visual" and parts[shape.frame] not in served]


@dataclass
class SphereFit:
    """The spheres of a body so far.

    Attributes:
        reader: Reads the meshes.
        error: The largest allowed excess, in the body's units.
        spheres: The spheres.
        worst: Their largest excess, in the body's units.
        lost: Meshes that are missing or unreadable.
        leaky: Files whose surface is not closed.
    """

    reader: SurfaceReader
    error: float
    spheres: list[Shape] = field(default_factory=list)
    worst: float = 0.0
    lost: list[Shape] = field(default_factory=list)
    leaky: dict[str, None] = field(default_factory=dict)

    def count_pieces(self, surfaces: Sequence[tuple[Floats, float] | None]) -> int:
        """Return about how many triangles surfaces are split into.

        Raises:
            InvalidValue: They are too many.
        """
        count = sum(estimate_pieces(each[0], CELL * (self.error - each[1])) for each in surfaces if each is not None)
        if count > MOST_PIECES:
            text = f"needs about {count:.1e} triangles; at most {MOST_PIECES:.0e} are fitted"
            enough = self.error * math.sqrt(count / MOST_PIECES) * 1.2
            raise InvalidValue(f"fit_spheres: error is {self.error:.3g}: {text}. Type error={enough:.2g}.")
        return int(count)

    def add(self, shape: Shape, surface: tuple[Floats, float] | None) -> None:
        """Cover a shape by its surface, or note that it has none."""
        if isinstance(shape.shape, Sphere):
            self.spheres.append(replace(shape, use="collision", color=SPHERE_COLOR))
            return
        if surface is None:
            self.lost.append(replace(shape, use="collision"))
            return
        corners, wider = surface
        try:
            centers, radii, excess = cover_with_spheres(corners, self.error - wider)
        except InvalidValue as problem:
            wide = float((corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))).max())
            text = f"error is {self.error:.3g}, too small for {shape.frame!r}, {wide:.3g} wide"
            raise InvalidValue(f"fit_spheres: {text}: {problem}") from None
        self.worst = max(self.worst, excess + wider)
        places = (Transform(None, center) for center in centers)
        balls = zip(places, radii.tolist(), strict=True)
        self.spheres += [Shape(shape.frame, Sphere(r), at, "collision", SPHERE_COLOR) for at, r in balls]

    def read(self, shape: Shape) -> tuple[Floats, float] | None:
        """Return triangles that contain a shape, in its frame, and how far they stand out of it; None for a sphere."""
        if isinstance(shape.shape, Sphere):
            return None
        if isinstance(shape.shape, Mesh):
            surface = self.reader.read(shape)
            if surface is not None and not is_closed(*surface):
                self.leaky[PurePosixPath(shape.shape.path.replace("\\", "/")).name] = None
            return None if surface is None else (surface[0][surface[1]], 0.0)
        outer, wider = widen(shape.shape, THIN * self.error)
        vertices, faces = triangulate(outer) or (np.zeros((0, 3)), np.zeros((0, 3), np.int64))
        return np.asarray(shape.offset.apply(vertices))[faces], wider

    def describe(self, model: Model) -> list[str]:
        """Return the bound, and the meshes that could not be used as they are."""
        unit = model.metres_per_unit
        out = [f"{len(self.spheres)} spheres contain its shapes and stand out by at most {self.worst * unit:.4g} m."]
        cell = CELL * self.error * unit
        out += [f"{name} is not closed: openings wider than {cell:.2g} m count as outside." for name in self.leaky]
        lost = ", ".join(dict.fromkeys(shape.frame for shape in self.lost))
        return out + [f"{note} Without spheres: {lost}." for note in self.reader.notes]


def widen(solid: Box | Capsule | Cylinder | Sphere, least: float) -> tuple[Box | Capsule | Cylinder | Sphere, float]:
    """Return a solid whose triangles contain the given one, with a least radius, and how far they stand out of it."""
    if not isinstance(solid, (Capsule, Cylinder)):
        return solid, 0.0
    radius = max(solid.radius * ROUND_SHARE, least)
    return type(solid)(radius, solid.length), radius - solid.radius
