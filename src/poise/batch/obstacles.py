"""Obstacles and the base of a batch, placed row by row.

A region at `place` is its own geometry moved by that transform. A body whose base is at `base` sees the world from
there: targets and regions are moved by the inverse of `base`, and the body stays at its origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.batch.arrays import TAILS, BatchRows, read_placements, read_reals
from poise.errors import InvalidValue, ShapeMismatch, name_not_found
from poise.goals.goal import POSE, ROTATION, GoalRows
from poise.limits import Clearance, Limit
from poise.limits.surfaces import KINDS, order_regions

__all__ = ["PlacedRegion", "move_targets", "place_regions", "read_base", "read_matrices"]

RIGID = 1e-6  # deviation of R^T R from the identity, and of the last row from (0, 0, 0, 1)


@dataclass(frozen=True, slots=True)
class PlacedRegion:
    """The places of one region.

    Attributes:
        clearance: The index of its clearance.
        region: Its index among the regions of that clearance, in the kernels' order.
        rows: The transforms, (..., 4, 4).
    """

    clearance: int
    region: int
    rows: BatchRows


def read_base(base: Any) -> Floats | None:
    """Return the transforms from the world to the body, (..., 4, 4); NaN where `base` is not a rigid transform."""
    return None if base is None else invert(read_matrices("base", base))


def read_matrices(what: str, value: Any) -> Floats:
    """Return transforms (..., 4, 4); those that are not rigid become NaN, and their rows INVALID."""
    array = np.array(read_reals(getattr(value, "matrix", value), what), dtype=np.float64)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be (..., 4, 4), transforms.")
    R = array[..., :3, :3]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-1, -2))
        last = np.abs(array[..., 3, :] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1)
        good = (off <= RIGID) & (last <= RIGID) & (np.linalg.det(R) > 0.0) & np.isfinite(array).all(axis=(-1, -2))
    array[~good] = np.nan
    return array


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
        from_world: The result of `read_base`.

    Raises:
        NameNotFound: No region has a name in `places`.
    """
    named = name_regions(limits)
    given = {} if places is None else dict(places)
    for name in given:
        if name not in named:
            raise name_not_found("region", str(name), named)
    moved = {name: read_matrices(f"places[{name!r}]", value) for name, value in given.items()}
    if from_world is not None:
        moved = {name: from_world @ moved[name] if name in moved else from_world for name in named}
    return [PlacedRegion(*named[name], make_rows(f"places[{name!r}]", T)) for name, T in moved.items()]


def name_regions(limits: Iterable[Limit]) -> dict[str, tuple[int, int]]:
    """Return the clearance and the index of every region by name."""
    named: dict[str, tuple[int, int]] = {}
    for clearance, limit in enumerate(limit for limit in limits if isinstance(limit, Clearance)):
        for index, region in enumerate(order_regions(limit.world)):
            own = getattr(region, "name", "") or KINDS[type(region)].removeprefix("a ")
            name, number = own, 2
            while name in named:
                name, number = f"{own}#{number}", number + 1
            named[name] = (clearance, index)
    return named


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
        if row.op not in TAILS or row.ranged or row.local:
            raise InvalidValue(f"base= moves the targets of Reach and Orient; goal {name!r} is of another kind.")
        out.append(move_rows(name, row, read_own_target(row) if part is None else part.array, from_world))
    return out


def read_own_target(row: GoalRows) -> Floats:
    """Return the target of a goal as a point, a rotation matrix or a transform."""
    if row.op == POSE:
        return np.asarray(read_placements(row.target[None])[0])
    return row.target.reshape(TAILS[row.op])


def move_rows(name: str, row: GoalRows, target: Any, from_world: Floats) -> BatchRows:
    """Return the targets of one goal seen from the body."""
    target, tail = np.asarray(target, dtype=np.float64), TAILS[row.op]
    R = from_world[..., :3, :3]
    if row.op == POSE:
        moved = from_world @ target
    elif row.op == ROTATION:
        moved = R @ target
    else:
        moved = (R @ target[..., None])[..., 0] + from_world[..., :3, 3]
    return BatchRows(name, np.ascontiguousarray(moved), moved.shape[: moved.ndim - len(tail)], int(np.prod(tail)))
