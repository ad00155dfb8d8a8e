"""Clearance between a body and objects that move along given paths.

    rule   gap(capsule, object) >= distance       metres, for every capsule of the body that does not hold the object

The object is a frame of the solved model, on a joint that solvers do not move; its q places it. Boxes, balls and
capsules are exact; a cylinder is replaced by the smallest enclosing capsule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.kinematics.parts import find_rigid_parts
from poise.limits.capsules import BodyCapsule, cover_solid
from poise.limits.clearance import Clearance
from poise.limits.limit import LimitRow, LimitRows
from poise.model import Model, Object
from poise.model.geometry.shapes import Box, Shape
from poise.model.geometry.solids import make_triple
from poise.native import core
from poise.spatial import Transform

__all__ = ["CarriedObject", "ClearOfObjects"]

Op = core.LimitOp


@dataclass(frozen=True, eq=False)
class CarriedObject:
    """An object as part of the solved model.

    Attributes:
        object: The object.
        frame: The frame that it moves with.
        spared: Rigid parts of the body that may touch it: the hands that hold it, and their descendants.
        next: The parents of those hands, with their reduced radius next to the object [m]: a forearm is thicker than
            the hand that lies flat on it.
    """

    object: Object
    frame: str
    spared: frozenset[str | None]
    next: Mapping[str | None, float] = field(default_factory=dict)

    def thin(self, capsule: BodyCapsule, part: str | None) -> BodyCapsule:
        """Return a capsule of a part with its reduced radius next to the object."""
        most = self.next.get(part)
        return capsule if most is None or capsule.radius <= most else replace(capsule, radius=most)

    def cover(self) -> tuple[BodyCapsule, ...]:
        """Return its capsules for the kernels: one, or the two that encode the axes of a box."""
        T, shape = self.object.offset, self.object.shape
        if isinstance(shape, Box):
            ends = [make_triple(np.asarray(T[:3, 3] + axis)) for axis in (np.zeros(3), *T[:3, :3].T)]
            return BodyCapsule(self.frame, ends[0], ends[1], 0.0), BodyCapsule(self.frame, ends[2], ends[3], 0.0)
        return (cover_solid(Shape(self.frame, type(shape)(**shape.sizes), Transform.from_matrix(T))),)


@dataclass(frozen=True)
class ClearOfObjects(Clearance):
    """A `Clearance` of a body from itself, the world and objects.

    Attributes:
        body: The body without the objects, whose capsules are kept clear.
        carried: The objects.
        given: Pairs that contain the name of an object, as given.
    """

    body: Any = None
    carried: tuple[CarriedObject, ...] = ()
    given: tuple[tuple[str, str], ...] = ()

    @classmethod
    def extend(cls, limit: Clearance, body: Model, carried: tuple[CarriedObject, ...]) -> ClearOfObjects:
        """Return a limit with objects; it applies to pairs that name one, or to all objects if pairs is "auto"."""
        names = {each.object.name for each in carried}
        pairs = limit.pairs
        given: tuple[tuple[str, str], ...] = ()
        if pairs != "auto":
            given = tuple(pair for pair in pairs if names & set(pair))
            pairs = tuple(pair for pair in pairs if not names & set(pair))
        made = object.__new__(cls)
        for name, value in {
            "pairs": pairs,
            "distance": limit.distance,
            "world": limit.world,
            "held": limit.held,
            "name": limit.name,
            "body": body,
            "carried": carried,
            "given": given,
        }.items():
            object.__setattr__(made, name, value)
        return made

    @property
    def kind(self) -> str:
        """The value of `ActiveLimit.kind`."""
        return "clearance"

    def capsules(self, model: Model) -> tuple[BodyCapsule, ...]:
        """Return the capsules of the body, and of the objects that `held` gives it."""
        return super().capsules(self.body)

    def index_pairs(self, model: Model) -> NDArray[np.int64]:
        """Return the indices of the capsules of the body to keep apart, (m, 2)."""
        return super().index_pairs(self.body)

    def describe(self, model: Model) -> list[str]:
        """Return the pairs of the body that are left out."""
        return super().describe(self.body)

    def rows(self, model: Model, moves: NDArray[np.bool_]) -> LimitRows:
        """Return the rows of the body and the world, and one for each capsule and object."""
        own = super().rows(model, moves).rows if self.pairs or self.world else ()
        parts = find_rigid_parts(self.body)
        found = []
        for each in self.carried:
            cover, half = each.cover(), tuple(each.object.half.tolist())
            boxed = isinstance(each.object.shape, Box)
            wanted = self.find_parts(each, parts)
            for capsule in self.capsules(model):
                part = parts[self.body.frame(capsule.frame).name]
                if part is None or part in each.spared or (wanted is not None and part not in wanted):
                    continue
                found.append(
                    LimitRow(
                        Op.CARRIED if boxed else Op.PAIR,
                        half if boxed else (),
                        self.distance,
                        (each.thin(capsule, part), *cover),
                        end=self.distance,
                        unit=model.length,
                        side="lower",
                        between=(capsule.name or capsule.frame, each.object.name),
                    )
                )
        return LimitRows((*own, *found))

    def find_parts(self, each: CarriedObject, parts: dict[str | None, str | None]) -> set[str | None] | None:
        """Return the parts to keep clear of an object, or None for all of them."""
        if self.pairs == "auto":
            return None
        others = [{*pair} - {each.object.name} for pair in self.given if each.object.name in pair]
        names = [name for other in others for name in other]
        for name in names:
            if parts[self.body.frame(name).name] in each.spared:
                raise InvalidValue(f"Clearance: {name!r} holds {each.object.name!r}, and cannot be kept clear of it.")
        return {parts[self.body.frame(name).name] for name in names}
