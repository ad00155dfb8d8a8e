"""Clearance: avoid self-collisions and collisions with the world.

    rule   gap(a, b) >= distance        metres, for every pair of capsules, and every capsule and region
           gap = distance of the two segments - radius_a - radius_b

The body is made of capsules (`poise.limits.capsules`); regions of the world are solid. A pair that is closer at the
start never comes closer. Source: Faverjon and Tournassoud, A local based approach for path planning of manipulators
with a high number of degrees of freedom, 1987 (distance rows in each step).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.kinematics import Pose
from poise.kinematics.height_map import HeightMap
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.regions import Region, read_length
from poise.limits.capsules import BodyCapsule, body_capsules
from poise.limits.held_objects import cover_held, describe_held, pair_held, read_held
from poise.limits.limit import Limit, LimitRows
from poise.limits.pairs import choose_pairs, describe_pairs, find_pairs
from poise.limits.surfaces import KINDS, BodySurfaces, SurfaceRows, make_region_rows, order_regions
from poise.model import Model
from poise.model.memo import MemoTable
from poise.native import core
from poise.spatial.arrays import check_finite, read_reals

__all__ = ["Clearance", "make_body_surfaces"]

BLOCK = 4096  # configurations per native call

BODIES = MemoTable[Hashable, BodySurfaces]("surfaces of clearances")


@dataclass(frozen=True)
class Clearance(Limit):
    """Avoid self-collisions and collisions with the world.

    Attributes:
        pairs: "auto" for all pairs of parts that can collide; a list of pairs of frames, each meaning its whole rigid
            part; an empty list for the world alone.
        distance: The smallest allowed gap [m].
        world: HalfSpaces, Spheres (Balls), Boxes, Capsules, Cylinders, ConvexMeshes and PointClouds to avoid.
        held: {frame: region, or list of regions}: objects that the body holds, in the coordinates of the frame. They
            are kept clear of the world and of all parts but the holding one and those joined to it by one joint.
    """

    pairs: Any = "auto"
    distance: float = 0.0
    world: Any = ()
    held: Any = ()

    def __post_init__(self) -> None:
        self.settle(
            "clearance",
            pairs=read_pairs(self.pairs),
            distance=read_length(self.distance, "Clearance: distance"),
            world=read_world(self.world),
            held=read_held(self.held),
        )
        if not self.pairs and not self.world:
            raise InvalidValue("Clearance: it limits nothing; give pairs=, or world=[...].")

    def with_world(self, world: Any) -> Clearance:
        """Return the same clearance from other regions; the other values are not checked again."""
        other = copy(self)
        object.__setattr__(other, "world", read_world(world))
        return other if self.pairs or other.world else replace(self, world=())  # which raises

    def capsules(self, model: Model) -> tuple[BodyCapsule, ...]:
        """Return the capsules of the body, then those of the objects that it holds."""
        return (*body_capsules(model), *cover_held(self.held)) if self.held else body_capsules(model)

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return a row for each pair of capsules, and for each capsule and region of the world."""
        return LimitRows(self.list_surfaces(model))

    def list_surfaces(self, model: Model) -> SurfaceRows:
        """Return the capsules and regions to keep apart."""
        regions = order_regions(self.world)
        body = self.find_body(model)
        return SurfaceRows(body, regions, make_region_rows(regions), self.distance, model.length)

    def find_body(self, model: Model) -> BodySurfaces:
        """Return the capsules of the body and their pairs; kept with the model, unless a subclass chooses them."""
        if type(self) is not Clearance:
            return make_body_surfaces(model, self)
        return model.memo.look_up(
            BODIES, (self.pairs, self.distance, self.held), lambda: make_body_surfaces(model, self)
        )

    def measure_gap(self, model: Model, q: ArrayLike | Pose) -> Floats:
        """Return the smallest gap of a configuration (nq,), or of each of (..., nq) [m].

        It is negative in a collision, and infinite if nothing can collide. `distance` is not subtracted.
        """
        if isinstance(q, Pose):
            given = q.q
        else:  # a large array is not copied
            whole = isinstance(q, np.ndarray) and q.dtype == np.float64
            given = check_finite(np.asarray(q) if whole else read_reals(q, "q"), "q")
        if given.ndim == 0 or given.shape[-1] != model.nq:
            raise ShapeMismatch(f"q has shape {given.shape}; its last axis must be {model.nq}.")
        table = self.list_surfaces(model).make_native() | {"distance": 0.0}
        rows = given.reshape(-1, model.nq)
        gaps = np.empty(len(rows))
        for first in range(0, len(rows), BLOCK):  # Ctrl-C is noticed between blocks
            part = slice(first, first + BLOCK)
            gaps[part] = core.least_gaps(model.native_body, table, rows[part])
        return gaps.reshape(given.shape[:-1])

    def describe(self, model: Model) -> list[str]:
        """Return the pairs that are left out, and those that overlap at rest."""
        own = find_pairs(model, body_capsules(model), self.distance) if self.pairs == "auto" else None
        return [*(() if own is None else describe_pairs(own)), *describe_held(self.held)]

    def index_pairs(self, model: Model) -> NDArray[np.int64]:
        """Return the indices of the capsules to keep apart, (m, 2)."""
        if self.pairs == "auto":
            own = body_capsules(model)
            pairs = choose_pairs(model, own, self.distance)
            return np.concatenate([pairs, pair_held(model, own, cover_held(self.held), self.distance)])
        capsules = self.capsules(model)
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
    given = (
        (world,) if isinstance(world, (Region, HeightMap)) else tuple(world) if isinstance(world, Iterable) else None
    )
    if given is not None and any(isinstance(region, HeightMap) for region in given):
        raise InvalidValue(
            "Clearance: world has a HeightMap, which only poise.retarget(..., scene=[...]) supports; "
            "give Boxes here, such as one for each stair."
        )
    if given is None or not all(type(region) in KINDS for region in given):
        kinds = "HalfSpace, Sphere, Box, Capsule, Cylinder, ConvexMesh or PointCloud"
        raise InvalidValue(f"Clearance: world is {world!r}; give a list of {kinds}.")
    return given


def make_body_surfaces(model: Model, clearance: Clearance) -> BodySurfaces:
    """Return the capsules of a body and the pairs to keep apart.

    Raises:
        InvalidValue: The body has no capsules.
    """
    capsules, parts = clearance.capsules(model), find_rigid_parts(model)
    if not capsules:
        raise InvalidValue(f"Clearance: model {model.name!r} has no size: no solids, no bones, no mass.")
    body = BodySurfaces(
        capsules,
        np.array([model.layout.frames.index(model.frame(c.frame).name) for c in capsules], dtype=np.float64),
        np.array([(*c.a, *c.b) for c in capsules]),
        np.array([c.radius for c in capsules]),
        np.array([parts[model.frame(c.frame).name] is not None for c in capsules], dtype=np.float64),
        clearance.index_pairs(model).astype(np.float64),
    )
    for array in (body.frames, body.ends, body.radius, body.moves, body.pairs):
        array.setflags(write=False)
    return body
