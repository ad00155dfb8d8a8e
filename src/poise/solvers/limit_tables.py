"""The limits of a problem, gathered into one table for the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.goals.goal import POSE, POSITION, GoalRows
from poise.limits.cone import make_cone_rows
from poise.limits.limit import Limit, LimitRow, LimitRows, LoopRow
from poise.model import Model

if TYPE_CHECKING:
    from poise.limits.skeleton import BodyCapsule

__all__ = ["LimitTables", "find_timed", "gather_limits", "make_loop_goal", "refuse_timed"]


class Rule(NamedTuple):
    """A row, with the kind and the name of its limit. The name is empty for the model's own cones."""

    kind: str
    limit: str
    row: LimitRow


@dataclass(slots=True)
class LimitTables:
    """The limits of a problem.

    Attributes:
        rows: Quantities that must not be negative, in the kernels' order.
        loops: Closed loops by name: goals with a higher priority than all others.
    """

    rows: list[Rule] = field(default_factory=list)
    loops: dict[str, LoopRow] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether there are any limits other than joint ranges."""
        return bool(self.rows or self.loops)

    def make_native(self, model: Model) -> dict[str, Any]:
        """Return the tables of `native.core.Solver`: rows, and their capsules, cones and terms.

        Returns:
            limits: (operation, first, second, numbers, distance) of each row; both index shapes or joints.
            capsules: (frame, both ends and radius).
            cones: (first of q, first velocity, 14 numbers).
            terms: (index in q, velocity, factor).
        """
        capsules: list[BodyCapsule] = []
        known: dict[int, int] = {}  # capsules added so far, by identity: each is made once per body
        cones: dict[Any, int] = {}
        terms: list[tuple[int, int, float]] = []
        limits = []
        for _, _, row in self.rows:
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


def gather_limits(model: Model, limits: Mapping[str, Limit], moves: NDArray[np.bool_]) -> LimitTables:
    """Gather the rows of all limits except those on speed and acceleration.

    `moves` marks the velocities that may change.
    Cones come first, then limits between surfaces, then the others, each in the given order.
    """
    out = LimitTables()
    given = [(limit.kind, name, limit.rows(model, moves)) for name, limit in limits.items()]
    given.sort(key=lambda rule: not any(row.capsules for row in rule[2].rows))
    own = (("cone", name, rows) for name, rows in make_cone_rows(model, limits, moves))
    for kind, name, found in (*own, *given):
        out.rows += [Rule(kind, name, row) for row in found.rows]
        out.loops |= name_loops(name, found)
    return out


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
        exact=False,
        convert=refuse,
        size=6 if loop.turns else 3,
    )
