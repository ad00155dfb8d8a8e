"""Obstacles and the base of a batch, placed row by row.

A region at `place` is its own geometry moved by that transform. A body whose base is at `base` sees the world from
there: targets and regions are moved by the inverse of `base`, and the body stays at its origin.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.batch.arrays import TAILS, BatchRows, read_placements, read_reals
from poise.errors import InvalidValue, ShapeMismatch, name_not_found
from poise.goals.goal import POSE, ROTATION, GoalRows
from poise.kinematics.regions import Region
from poise.limits import Clearance, Limit
from poise.limits.limit import name_limits
from poise.limits.surfaces import KINDS, order_regions
from poise.solvers import Solver

__all__ = [
    "PlacedRegion",
    "check_matrices",
    "check_moved",
    "check_places",
    "invert",
    "move_targets",
    "move_world",
    "name_regions",
    "place_regions",
    "read_base",
    "read_matrices",
]

RIGID = 1e-6  # deviation of R^T R from the identity, and of the last row from (0, 0, 0, 1)


@dataclass(frozen=True, slots=True)
class PlacedRegion:
    """The places of one region.

    Attributes:
        name: Its name in `places`.
        solid: The region as given.
        clearance: The index of its clearance.
        region: Its index among the regions of that clearance, in the kernels' order.
        rows: The transforms, (..., 4, 4).
    """

    name: str
    solid: Region
    clearance: int
    region: int
    rows: BatchRows


def read_base(base: Any) -> Floats | None:
    """Return the transforms from the world to the body, (..., 4, 4); NaN where `base` is not a rigid transform."""
    return None if base is None else invert(read_matrices("base", base))


def read_matrices(what: str, value: Any) -> Floats:
    """Return transforms (..., 4, 4); those that are not rigid become NaN, and their rows INVALID.

    Raises:
        ShapeMismatch: They are not matrices of 4 x 4.
        InvalidValue: A single one, for all rows, is not rigid.
    """
    array = np.array(read_reals(getattr(value, "matrix", value), what), dtype=np.float64)
    check_matrices(what, array)
    R = array[..., :3, :3]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-1, -2))
        last = np.abs(array[..., 3, :] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1)
        good = (off <= RIGID) & (last <= RIGID) & (np.linalg.det(R) > 0.0) & np.isfinite(array).all(axis=(-1, -2))
    if array.ndim == 2 and not good:
        raise InvalidValue(f"{what} is not a rigid transform; give a rotation, a position and the last row 0, 0, 0, 1.")
    array[~good] = np.nan
    return array


def check_matrices(what: str, array: Any) -> None:
    """Raise ShapeMismatch for an array that is not (..., 4, 4)."""
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be (..., 4, 4), transforms.")


def invert(T: Floats) -> Floats:
    """Return the inverses of rigid transforms, (..., 4, 4)."""
    out = np.zeros_like(T)
    out[..., :3, :3] = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, 3] = -(out[..., :3, :3] @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def place_regions(
    limits: Iterable[Limit], places: Mapping[str, Any] | None, from_world: Floats | None
) -> list[PlacedRegion]:
    """Return the regions that move from row to row: the named ones, or all of them if the base moves.

    Args:
        limits: The limits of the problem.
        places: {region name: transforms (..., 4, 4)}; a region without a name is called by its kind, "box", "box#2".
            Regions of the same name move together.
        from_world: The result of `read_base`.

    Raises:
        InvalidValue: `places` is not a mapping, or no limit has regions.
        NameNotFound: No region has a name in `places`.
    """
    named = name_regions(limits)
    moved = read_places(places, {name for name, *_ in named})
    if from_world is not None:
        unmoved = make_rows("base", from_world)
        moved = {
            name: make_rows(rows.name, see_from(rows.name, from_world, rows.array)) for name, rows in moved.items()
        }
        moved = {name: moved.get(name, unmoved) for name, *_ in named}
    return [PlacedRegion(*region, moved[region[0]]) for region in named if region[0] in moved]


def read_places(places: Mapping[str, Any] | None, names: set[str]) -> dict[str, BatchRows]:
    """Return the transforms of regions by name."""
    given = check_places(places, names)
    return {name: make_rows(what, read_matrices(what, value)) for name, (what, value) in given.items()}


def check_places(places: Mapping[str, Any] | None, names: set[str]) -> dict[str, tuple[str, Any]]:
    """Return what messages call the places of regions, and these places as given, by region name."""
    if places is not None and not isinstance(places, Mapping):
        raise InvalidValue(f"places is {type(places).__name__}; it must be {{region name: transforms (B, 4, 4)}}.")
    if places and not names:
        raise InvalidValue(
            "places= moves regions of a Clearance, and there are none; give limits=[Clearance(world=[...])]."
        )
    for name in places or {}:
        if name not in names:
            raise name_not_found("region", str(name), names)
    return {name: (f"places[{name!r}]", value) for name, value in (places or {}).items()}


def name_regions(limits: Iterable[Limit]) -> list[tuple[str, Region, int, int]]:
    """Return the name of every region, the region, its clearance and its index there, in the kernels' order."""
    clearances = [limit for limit in limits if isinstance(limit, Clearance)]
    regions = [
        (region, k, i) for k, limit in enumerate(clearances) for i, region in enumerate(order_regions(limit.world))
    ]
    taken = {region.name for region, _, _ in regions if region.name}
    named = []
    for region, clearance, index in regions:
        kind = KINDS[type(region)].removeprefix("a ")
        name, number = region.name or kind, 2
        while not region.name and name in taken:
            name, number = f"{kind}#{number}", number + 1
        taken.add(name)
        named.append((name, region, clearance, index))
    return named


def move_world(solver: Solver, regions: Sequence[PlacedRegion], row: int) -> Solver:
    """Return a solver of the same problem among the regions of one row.

    Raises:
        InvalidValue: A place is not a rigid transform.
    """
    clearances = {
        name: limit for name, limit in name_limits(solver.options.limits).items() if isinstance(limit, Clearance)
    }
    for clearance, (name, limit) in enumerate(clearances.items()):
        world = list(order_regions(limit.world))
        for region in (region for region in regions if region.clearance == clearance):
            world[region.region] = replace(region.solid, transform=region.rows.read_row(row))
        solver = solver.with_world(world, name) if world else solver
    return solver


def make_rows(what: str, T: Floats) -> BatchRows:
    """Return transforms as rows of a batch."""
    return BatchRows(what, np.ascontiguousarray(T), T.shape[:-2], 16)


def move_targets(parts: list[BatchRows], rows: Mapping[str, GoalRows], from_world: Floats) -> list[BatchRows]:
    """Return the targets of all goals seen from the body; targets relative to a frame of the body stay.

    Raises:
        InvalidValue: A goal in the world is not a point, a rotation or a transform.
    """
    given = {part.name: part for part in parts}
    out = []
    for name, row in rows.items():
        part = given.get(name)
        if row.base is not None:
            out += [] if part is None else [part]
            continue
        check_moved(name, row)
        out.append(move_rows(name, row, read_own_target(row) if part is None else part.array, from_world))
    return out


def check_moved(name: str, row: GoalRows) -> None:
    """Raise InvalidValue for a goal in the world that is not a point, a rotation or a transform."""
    if row.base is None and (row.op not in TAILS or row.ranged or row.local):
        raise InvalidValue(f"base= moves the targets of Reach and Orient; goal {name!r} is of another kind.")


def read_own_target(row: GoalRows) -> Floats:
    """Return the target of a goal as a point, a rotation matrix or a transform."""
    if row.op == POSE:
        return np.asarray(read_placements(row.target[None])[0])
    return row.target.reshape(TAILS[row.op])


def see_from(what: str, from_world: Floats, T: Floats) -> Floats:
    """Return transforms, or columns of numbers, seen from the base.

    Raises:
        ShapeMismatch: The leading axes of the base and the transforms do not broadcast.
    """
    try:
        return np.asarray(from_world @ T)
    except ValueError:
        shapes = f"base: {from_world.shape[:-2]}, {what}: {T.shape[:-2]}"
        raise ShapeMismatch(f"leading axes do not broadcast together: {shapes}.") from None


def move_rows(name: str, row: GoalRows, target: Any, from_world: Floats) -> BatchRows:
    """Return the targets of one goal seen from the body."""
    target, tail, what = np.asarray(target, dtype=np.float64), TAILS[row.op], f"targets[{name!r}]"
    R = from_world[..., :3, :3]
    if row.op == POSE:
        moved = see_from(what, from_world, target)
    elif row.op == ROTATION:
        moved = see_from(what, R, target)
    else:
        moved = see_from(what, R, target[..., None])[..., 0] + from_world[..., :3, 3]
    return BatchRows(name, np.ascontiguousarray(moved), moved.shape[: moved.ndim - len(tail)], int(np.prod(tail)))
