"""Clearance: avoid self-collisions and collisions with the world.

    rule   gap(a, b) >= distance        metres, for every pair of capsules, and every capsule and region
           gap = distance of the two segments - radius_a - radius_b

The body is made of capsules (`poise.limits.capsules`); regions of the world are solid. A pair that is closer at the
start never comes closer. Source: Faverjon and Tournassoud, A local based approach for path planning of manipulators
with a high number of degrees of freedom, 1987 (distance rows in each step).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.kinematics import Pose
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.regions import Ball, Box, Capsule, Cylinder, HalfSpace, Region, read_length
from poise.limits.capsules import BodyCapsule, body_capsules
from poise.limits.limit import Limit, LimitRow, LimitRows
from poise.limits.pairs import choose_pairs, describe_pairs, find_pairs
from poise.model import Model
from poise.native import core
from poise.spatial import Transform
from poise.spatial.arrays import check_finite, read_reals

__all__ = ["Clearance", "make_clearance_table"]

Op = core.LimitOp


@dataclass(frozen=True)
class Clearance(Limit):
    """Avoid self-collisions and collisions with the world.

    Attributes:
        pairs: "auto" for all pairs of parts that can collide; a list of pairs of frames, each meaning its whole rigid
            part; an empty list for the world alone.
        distance: The smallest allowed gap [m].
        world: HalfSpaces, Spheres (Balls), Boxes, Capsules and Cylinders to avoid.
    """

    pairs: Any = "auto"
    distance: float = 0.0
    world: Any = ()

    def __post_init__(self) -> None:
        self.settle(
            "clearance",
            pairs=read_pairs(self.pairs),
            distance=read_length(self.distance, "Clearance: distance"),
            world=read_world(self.world),
        )
        if not self.pairs and not self.world:
            raise InvalidValue("Clearance: it limits nothing; give pairs=, or world=[...].")

    def capsules(self, model: Model) -> tuple[BodyCapsule, ...]:
        """Return the capsules of the body."""
        return body_capsules(model)

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return a row for each pair of capsules, and for each capsule and region of the world."""
        capsules, table = self.capsules(model), make_clearance_table(model, self)
        found, distance, unit = [], self.distance, model.length

        def add(op: core.LimitOp, parts: tuple[BodyCapsule, ...], what: str, numbers: Any = (), which: int = 0) -> None:
            between = (parts[0].frame, what)
            found.append(
                LimitRow(op, numbers, distance, parts, which, end=distance, unit=unit, side="lower", between=between)
            )

        for i, j in table["pairs"].tolist():
            add(Op.PAIR, (capsules[i], capsules[j]), capsules[j].frame)
        around = list(list_world_rules(table))
        for i in np.flatnonzero(table["moves"]).tolist():
            for op, end, numbers, what in around:
                add(op, (capsules[i],), what, numbers, end)
        return LimitRows(tuple(found))

    def measure_gap(self, model: Model, q: ArrayLike | Pose) -> Floats:
        """Return the smallest gap of a configuration (nq,), or of each of (..., nq) [m].

        It is negative in a collision, and infinite if nothing can collide. `distance` is not subtracted.
        """
        given = q.q if isinstance(q, Pose) else check_finite(read_reals(q, "q"), "q")
        if given.ndim == 0 or given.shape[-1] != model.nq:
            raise ShapeMismatch(f"q has shape {given.shape}; its last axis must be {model.nq}.")
        table = make_clearance_table(model, self)
        table["segments"] = np.concatenate([table["spheres"][:, [0, 1, 2, 0, 1, 2, 3]], table["capsules"]])
        gaps = core.least_gaps(model.native_body, table, given.reshape(-1, model.nq))
        return np.asarray(gaps.reshape(given.shape[:-1]))

    def describe(self, model: Model) -> list[str]:
        """Return the pairs that are left out, and those that overlap at rest."""
        automatic = self.pairs == "auto"
        return describe_pairs(find_pairs(model, self.capsules(model), self.distance)) if automatic else []

    def index_pairs(self, model: Model) -> NDArray[np.int64]:
        """Return the indices of the capsules to keep apart, (m, 2)."""
        capsules = self.capsules(model)
        if self.pairs == "auto":
            return choose_pairs(model, capsules, self.distance)
        parts = find_rigid_parts(model)
        of = [parts[model.frame(capsule.frame).name] for capsule in capsules]
        found: dict[tuple[int, int], None] = {}
        for names in self.pairs:
            one, other = (parts[model.frame(name).name] for name in names)
            if one == other:
                raise InvalidValue(f"Clearance: frames {names[0]!r} and {names[1]!r} are on the same rigid part.")
            for name, part in zip(names, (one, other), strict=True):
                if part not in of:
                    raise InvalidValue(f"Clearance: the part of frame {name!r} has no size, so nothing to keep clear.")
            found.update(
                ((min(i, j), max(i, j)), None)
                for i, a in enumerate(of)
                for j, b in enumerate(of)
                if a == one and b == other
            )
        return np.array(list(found), dtype=np.int64).reshape(-1, 2)


def read_pairs(pairs: Any) -> Any:
    """Return "auto", or pairs of names."""
    if isinstance(pairs, str):
        if pairs != "auto":
            raise InvalidValue(f"Clearance: pairs is {pairs!r}; give 'auto' or a list of pairs of frames.")
        return pairs
    if not isinstance(pairs, Iterable):
        raise InvalidValue(f"Clearance: pairs is {pairs!r}; give 'auto' or a list of pairs of frames.")
    given = tuple(pairs)
    for pair in given:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidValue(f"Clearance: {pair!r} is not a pair of frames; write pairs=[('hand_l', 'head'), ...].")
    return tuple((str(one), str(other)) for one, other in given)


def read_world(world: Any) -> tuple[Region, ...]:
    """Return one or several regions as a tuple."""
    given = (world,) if isinstance(world, Region) else tuple(world) if isinstance(world, Iterable) else None
    if given is None or not all(isinstance(region, Region) for region in given):
        raise InvalidValue(
            f"Clearance: world is {world!r}; give a list of HalfSpace, Sphere, Box, Capsule or Cylinder."
        )
    return given


def make_clearance_table(model: Model, clearance: Clearance) -> dict[str, Any]:
    """Return the limit as arrays.

    Returns:
        frames: Index of each capsule's frame, (n,).
        a, b, radius: Its segment in that frame and its radius, (n, 3), (n, 3), (n,).
        moves: Whether it can move relative to the world, (n,).
        pairs: Indices of the capsules to keep apart, (m, 2).
        distance: The smallest allowed gap [m].
        halfspaces: Normal and offset d in n . x <= d, (k, 4).
        spheres: Centre and radius, (k, 4).
        boxes: Rotation (9, rows), centre (3), half sizes (3): (k, 15).
        capsules: Both ends and radius, (k, 7).
        cylinders: Rotation (9, rows), centre (3), radius, half length: (k, 14).
        names: Name of each capsule's frame.
        world: The regions, in the order half-spaces, spheres, boxes, capsules, cylinders.
    """
    capsules, parts = clearance.capsules(model), find_rigid_parts(model)
    if not capsules:
        raise InvalidValue(f"Clearance: model {model.name!r} has no size: no solids, no bones, no mass.")
    kinds: dict[type, list[Any]] = {HalfSpace: [], Ball: [], Box: [], Capsule: [], Cylinder: []}
    for region in clearance.world:
        kinds[type(region)].append(region)
    return {
        "frames": np.array([model.frames.index(model.frame(c.frame).name) for c in capsules], dtype=np.int64),
        "a": np.array([c.a for c in capsules]),
        "b": np.array([c.b for c in capsules]),
        "radius": np.array([c.radius for c in capsules]),
        "moves": np.array([parts[model.frame(c.frame).name] is not None for c in capsules]),
        "pairs": clearance.index_pairs(model),
        "distance": clearance.distance,
        "halfspaces": make_rows(((*r.normal, r.offset) for r in kinds[HalfSpace]), 4),
        "spheres": make_rows(((*r.center, r.radius) for r in kinds[Ball]), 4),
        "boxes": make_rows(((*r.matrix.ravel(), *r.center, *(np.array(r.size) / 2)) for r in kinds[Box]), 15),
        "capsules": make_rows(((*r.start, *r.end, r.radius) for r in kinds[Capsule]), 7),
        "cylinders": make_rows(((*place_cylinder(r), r.radius, r.length / 2) for r in kinds[Cylinder]), 14),
        "names": [c.frame for c in capsules],
        "world": [region for regions in kinds.values() for region in regions],
    }


def list_world_rules(table: Mapping[str, Any]) -> Iterator[tuple[core.LimitOp, int, tuple[float, ...], str]]:
    """Yield the rules of one capsule in the world: operation, end of the capsule, numbers, name."""
    for plane in table["halfspaces"].tolist():  # solid if n . x <= d
        for end in (0, 1):
            yield Op.PLANE, end, tuple(plane), "a half-space"
    for ball in table["spheres"].tolist():
        yield Op.SEGMENT, 0, (*ball[:3], *ball[:3], ball[3]), "a sphere"
    for box in table["boxes"].tolist():
        yield Op.BOX, 0, tuple(box), "a box"
    for capsule in table["capsules"].tolist():
        yield Op.SEGMENT, 0, tuple(capsule), "a capsule"
    for cylinder in table["cylinders"].tolist():
        yield Op.CYLINDER, 0, tuple(cylinder), "a cylinder"


def place_cylinder(cylinder: Cylinder) -> tuple[float, ...]:
    """Return the rotation (9, rows) and the centre (3) of a cylinder along its own z axis."""
    at = Transform() if cylinder.placement is None else cylinder.placement
    return (*at.rotation.matrix.ravel().tolist(), *at.translation.tolist())


def make_rows(values: Iterable[Sequence[float]], width: int) -> NDArray[np.float64]:
    """Return an array of rows, which may be empty."""
    return np.array(list(values), dtype=np.float64).reshape(-1, width)
