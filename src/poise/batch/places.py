"""The positions of a map: a grid around the body, excluding those beyond distance bounds or outside a plane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.model import Frame, Model
from poise.model.chain import find_chain
from poise.reach.bounds import Freedom, find_reachable_range
from poise.spatial.arrays import read_finite

__all__ = ["MapQuery", "find_bound", "find_plane", "hold_root", "lay_grid"]

MOST_VOXELS = 1 << 27
PARALLEL = 1e-9  # sine of the largest angle between axes that count as parallel


def hold_root(model: Model) -> Model:
    """Return the body with an unbounded root locked at its rest pose."""
    held = {}
    for joint in model.joints:
        bounded = np.isfinite(model.lower[joint.v]).all() and np.isfinite(model.upper[joint.v]).all()
        if joint.parent is None and joint.nv > 1 and not bounded and not joint.mimic:
            held[joint.name] = model.rest[joint.q]
    return model.locked(held) if held else model


def lay_grid(model: Model, goal: Reach, spacing: float, box: ArrayLike | None) -> tuple[Floats, tuple[int, int, int]]:
    """Return the centre of the first voxel [m], and the number of voxels along x, y and z."""
    check_positive(spacing, "spacing", "a positive number of metres")
    if box is not None:
        corners = read_finite(box, (2, 3), "box")
        low, high = corners.min(axis=0), corners.max(axis=0)
        count = np.maximum(np.ceil((high - low) / spacing - 1e-9), 1.0)
        origin = 0.5 * (low + high) - 0.5 * spacing * (count - 1.0)
    else:
        bound = find_bound(model, goal)
        if bound is None:
            raise InvalidValue(
                f"the positions of {goal.frame!r} are unbounded; give the region to map: box=((x, y, z), (x, y, z))."
            )
        side = ceil(max(bound[2] / spacing - 0.5, 0.0))
        count = np.full(3, 2.0 * side + 1.0)
        origin = bound[0] - side * spacing
        plane = find_plane(model, goal.frame)
        if plane is not None and np.abs(plane[0]).max() > 1.0 - PARALLEL:  # a single layer, in the plane itself
            k = int(np.argmax(np.abs(plane[0])))
            count[k], origin[k] = 1.0, plane[1] * plane[0][k]
    if count.prod() > MOST_VOXELS:
        raise InvalidValue(
            f"spacing is {spacing:g} m, which makes {count.prod():.2g} voxels; at most {MOST_VOXELS:.2g}."
        )
    nx, ny, nz = count.astype(int).tolist()
    return origin, (nx, ny, nz)


def find_bound(model: Model, goal: Reach) -> tuple[Floats, float, float] | None:
    """Return a centre, and the smallest and largest distance of the frame from it [m]; None if unbounded."""
    freedom = Freedom(np.ones(model.nv, dtype=bool).tobytes(), True)
    found = find_reachable_range(model, goal.rows(model), freedom)
    return None if found is None else (found[0], found[1].near, found[1].far)


@dataclass(frozen=True, slots=True, eq=False)
class MapQuery:
    """The positions and orientations of a map that are not excluded beforehand.

    Attributes:
        places: Centres of voxels [m], (n, 3).
        numbers: The indices of these voxels, (n,).
        voxels: The total number of voxels.
        R: Rotations, (m, 3, 3); empty for a map of positions only.
        alone: Whether the map is of positions only.
    """

    places: Floats
    numbers: NDArray[np.intp]
    voxels: int
    R: Floats
    alone: bool

    @classmethod
    def sift(
        cls, model: Model, goal: Reach, origin: Floats, shape: tuple[int, int, int], spacing: float, R: Floats
    ) -> MapQuery:
        """Make a query without the positions that distance bounds or a planar chain exclude."""
        places = origin + spacing * np.moveaxis(np.indices(shape), 0, -1).reshape(-1, 3).astype(np.float64)
        metres, radians = goal.tolerances(model, False)
        open_ = np.ones(len(places), dtype=bool)
        bound = find_bound(model, goal)
        if bound is not None:
            away = np.linalg.norm(places - bound[0], axis=1)
            slack = metres + 1e-9 * (model.length + away)
            open_ = (away <= bound[2] + slack) & (away >= bound[1] - slack)
        kept, plane = R, find_plane(model, goal.frame)
        if plane is not None:
            h, height, own = plane
            open_ &= np.abs(places @ h - height) <= metres + 1e-9 * model.length
            kept = R[np.linalg.norm(R @ own - h, axis=1) <= radians + 1e-9]
        numbers = np.flatnonzero(open_ if len(kept) or not len(R) else np.zeros(len(places), dtype=bool))
        return cls(places[numbers], numbers, len(places), kept, not len(R))

    @property
    def rows(self) -> int:
        """The number of poses of the query."""
        return len(self.places) * max(1, len(self.R))

    def cut(self, rows: int) -> Iterator[slice]:
        """Yield slices of the positions with at most `rows` rows, and at least one position."""
        step = max(1, rows // max(1, len(self.R)))
        for first in range(0, len(self.places), step):
            yield slice(first, min(first + step, len(self.places)))

    def make_targets(self, piece: slice, R: Any, xp: Any) -> Any:
        """Return the targets of some positions, with all orientations of a position together."""
        places = xp.asarray(self.places[piece])
        if self.alone:
            return places
        T = xp.zeros((len(places), len(R), 4, 4), dtype=R.dtype)
        T[:, :, :3, :3], T[:, :, :3, 3], T[:, :, 3, 3] = R, places[:, None], 1.0
        return T.reshape(-1, 4, 4)


def find_plane(model: Model, frame: str | Frame) -> tuple[Floats, float, Floats] | None:
    """Return the plane of a planar chain: its normal, its offset along the normal [m], and the normal in the frame.

    The chain is planar if all rotation axes are parallel and all slides are perpendicular to them; otherwise None.
    """
    chain = find_chain(model, model.frame(frame).name, np.ones(model.nv, dtype=bool), np.array(model.rest))
    turns = [axis.h for axis in chain.axes if not axis.slides]
    if chain.odd or chain.twice or not turns:
        return None
    h = turns[0]
    along = all(np.linalg.norm(np.cross(h, other)) < PARALLEL for other in turns)
    across = all(abs(h @ axis.h) < PARALLEL for axis in chain.axes if axis.slides)
    return (h, float(h @ chain.T[:3, 3]), chain.T[:3, :3].T @ h) if along and across else None
