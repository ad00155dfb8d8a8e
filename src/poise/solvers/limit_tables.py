"""The limits of a problem, gathered into one table for the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, name_not_found
from poise.goals.goal import POSE, POSITION, GoalRows
from poise.limits.cone import make_cone_rows
from poise.limits.limit import Limit, LimitRow, LimitRows, LoopRow, RowTable, name_limits
from poise.model import Model

if TYPE_CHECKING:
    from poise.limits.skeleton import BodyCapsule
    from poise.solvers.options import Options

__all__ = ["LimitTables", "find_timed", "gather_limits", "make_loop_goal", "refuse_timed", "replace_world"]


class Rule(NamedTuple):
    """A row, with the kind and the name of its limit. The name is empty for the model's own cones."""

    kind: str
    limit: str
    row: LimitRow


class RuleList(Sequence[Rule]):
    """The rows of several limits as one sequence; a row is made on access.

    Args:
        parts: Kind, name and rows of each limit.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[tuple[str, str, Sequence[LimitRow]]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(rows) for _, _, rows in self._parts)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Rule]: ...
    def __getitem__(self, index: int | slice) -> Rule | Sequence[Rule]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        for kind, name, rows in self._parts:
            if index < len(rows):
                return Rule(kind, name, rows[index])
            index -= len(rows)
        raise IndexError(index)


@dataclass(slots=True)
class LimitTables:
    """The limits of a problem.

    Attributes:
        parts: Kind, name and rows of each limit, in the kernels' order. A row is a number that must not be negative.
        loops: Closed loops by name: goals with a higher priority than all others.
    """

    parts: list[tuple[str, str, Sequence[LimitRow]]] = field(default_factory=list)
    loops: dict[str, LoopRow] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether there are any limits other than joint ranges."""
        return bool(self.rows or self.loops)

    @property
    def rows(self) -> RuleList:
        """The rows of all limits, in the kernels' order."""
        return RuleList(self.parts)

    def list_entries(self) -> Iterator[LimitRow | RowTable]:
        """Yield the rows of all limits; those of a clearance together."""
        for _, _, rows in self.parts:
            if isinstance(rows, RowTable):
                yield rows
            else:
                yield from rows

    def make_native(self, model: Model) -> dict[str, Any]:
        """Return the tables of `native.core.Solver`: rows, and their capsules, cones and terms.

        Returns:
            limits: (operation, first, second, numbers, distance) of each row; both index shapes or joints. A clearance
                is one entry, with arrays and capsules of its own.
            capsules: (frame, both ends and radius).
            cones: (first of q, first velocity, 14 numbers).
            terms: (index in q, velocity, factor).
        """
        capsules: list[BodyCapsule] = []
        known: dict[int, int] = {}  # capsules added so far, by identity: each is made once per body
        cones: dict[Any, int] = {}
        terms: list[tuple[int, int, float]] = []
        limits: list[Any] = []
        for row in self.list_entries():
            if isinstance(row, RowTable):
                limits.append(row.make_native())
                continue
            first, second = 0, row.which
            if row.capsules:
                for capsule in row.capsules:
                    if id(capsule) not in known:
                        known[id(capsule)] = len(capsules)
                        capsules.append(capsule)
                first = known[id(row.capsules[0])]
                second = known[id(row.capsules[1])] if len(row.capsules) > 1 else row.which
            elif row.cone is not None:
                first = cones.setdefault(row.cone, len(cones))
            elif row.terms:
                first, second = len(terms), len(terms) + len(row.terms)
                terms += row.terms
            limits.append((row.op, first, second, row.numbers, row.distance))
        index = {name: k for k, name in enumerate(model.layout.frames)}
        placed = [(index[model.frame(c.frame).name], (*c.a, *c.b, c.radius)) for c in capsules]
        return {"limits": limits, "capsules": placed, "cones": list(cones), "terms": terms}


def find_timed(limits: Iterable[Limit]) -> tuple[str, ...]:
    """Return the kinds of the limits on speed and acceleration."""
    return tuple(type(limit).__name__ for limit in limits if limit.timed)


def refuse_timed(kinds: tuple[str, ...]) -> None:
    """Raise InvalidValue for limits on speed and acceleration, which apply only to `Solver.step`."""
    if kinds:
        raise InvalidValue(
            f"{kinds[0]} is about time: it holds in solver.step(q, dt, ...), and has no meaning in solve."
        )


def replace_world(options: Options, world: Any, name: str | None) -> Options:
    """Return options whose `Clearance` avoids other regions.

    Raises:
        InvalidValue: There is no clearance, or several and no name.
        NameNotFound: The name does not belong to a clearance.
    """
    from poise.limits import Clearance

    limits = name_limits(options.limits)
    clearances = {key: limit for key, limit in limits.items() if isinstance(limit, Clearance)}
    if name is None and len(clearances) != 1:
        found = f"{len(clearances)} of them; choose one with limit=" if clearances else "none"
        raise InvalidValue(f"a world needs a Clearance, and the limits have {found}.")
    if name is not None and name not in clearances:
        raise name_not_found("clearance", name, clearances)
    key = next(iter(clearances)) if name is None else name
    limits[key] = clearances[key].with_world(world)
    return replace(options, limits=tuple(limits.values()))


def gather_limits(model: Model, limits: Mapping[str, Limit], moves: NDArray[np.bool_]) -> LimitTables:
    """Gather the rows of all limits except those on speed and acceleration.

    `moves` marks the velocities that may change.
    Cones come first, then limits between surfaces, then the others, each in the given order.
    """
    out = LimitTables()
    given = [(limit.kind, name, limit.rows(model, moves)) for name, limit in limits.items()]
    given.sort(key=lambda rule: not has_surfaces(rule[2].rows))
    own = (("cone", name, rows) for name, rows in make_cone_rows(model, limits, moves))
    for kind, name, found in (*own, *given):
        out.parts.append((kind, name, found.rows))
        out.loops |= name_loops(name, found)
    return out


def has_surfaces(rows: Sequence[LimitRow]) -> bool:
    """Return whether rows are about the surfaces of the body."""
    return isinstance(rows, RowTable) or any(row.capsules for row in rows)


def name_loops(name: str, found: LimitRows) -> Iterator[tuple[str, LoopRow]]:
    """Yield the loops of a limit with their names; further ones are numbered."""
    for k, loop in enumerate(found.loops):
        yield name if k == 0 else f"{name}#{k + 1}", loop


def make_loop_goal(name: str, loop: LoopRow) -> GoalRows:
    """Return a closed loop as a goal between two frames."""

    def refuse(_: Any) -> Any:
        raise InvalidValue(f"limit {name!r} has no target of its own; make another solver.")

    return GoalRows(
        op=POSE if loop.turns else POSITION,
        frame=loop.frame,
        base=loop.other,
        point=loop.point,
        weight=np.array([1.0, 1.0, 1.0, *([1.0] * 3 if loop.turns else [0.0] * 3)]),
        target=loop.target,
        convert=refuse,
        size=6 if loop.turns else 3,
    )
