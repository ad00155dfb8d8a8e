"""Divide the steps of a whole body among the threads of a team (`kernels/loop/gpu_team.h`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from poise.native import _core as core

__all__ = ["Division", "divide"]

STRIP = 3  # strip_width in gpu_team.h
WIDE = (core.Primitive.BALL, core.Primitive.SLIDE3)  # primitives of three velocities

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Division:
    """The tables of a team, in the words of `gpu_team.h`.

    Attributes:
        by_depth: The primitives, those nearest to the root first.
        levels: The first primitive of each depth in `by_depth`, and the end.
        sources: The primitive and part of each column of the Jacobian; several if a velocity moves several primitives.
        first_sources: The first source of each velocity, and the end.
        strips: The parts of the normal matrix.
        runs: The velocities of the strips, as intervals.
        priorities: 0 or 1 for each row of residuals.
    """

    by_depth: list[int]
    levels: list[int]
    sources: list[dict[str, int]]
    first_sources: list[int]
    strips: list[dict[str, int]]
    runs: list[dict[str, int]]
    priorities: list[int]


def divide(table: Table) -> Division:
    """Return the division of a problem's work."""
    primitives, n_v = table["primitives"], int(table["n_v"])
    depths: list[int] = []
    for p in primitives:
        depths.append(0 if p["parent"] < 0 else depths[p["parent"]] + 1)
    by_depth = sorted(range(len(primitives)), key=depths.__getitem__)
    levels = [sum(depth < level for depth in depths) for level in range(max(depths) + 2)]
    by_velocity: list[list[dict[str, int]]] = [[] for _ in range(n_v)]
    for i, p in enumerate(primitives):
        for part in range(3 if p["kind"] in WIDE else 1) if p["v_index"] >= 0 else ():
            by_velocity[p["v_index"] + part].append({"primitive": i, "part": part})
    first_sources = [sum(map(len, by_velocity[:c])) for c in range(n_v + 1)]
    strips, runs = divide_normal(table, by_velocity)
    first = min(goal["level"] for goal in table["goals"])
    second = {row for goal in table["goals"] if goal["level"] > first for row in list_rows(goal)}
    return Division(
        by_depth,
        levels,
        [x for sources in by_velocity for x in sources],
        first_sources,
        strips,
        runs,
        [int(row in second) for row in range(int(table["n_rows"]))],
    )


def divide_normal(
    table: Table, by_velocity: Sequence[Sequence[Mapping[str, int]]]
) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Return the strips of the lower triangle of J D^-1 J^T, and the runs of velocities that they sum over."""
    strips: list[dict[str, int]] = []
    runs: list[dict[str, int]] = []
    moved = [find_moving(table, goal, by_velocity) for goal in table["goals"]]
    for upper, goal in enumerate(table["goals"]):
        for lower in range(upper + 1):
            first = len(runs)
            runs += list_runs(sorted(moved[upper] & moved[lower]))
            for row in list_rows(goal):
                columns = [c for c in list_rows(table["goals"][lower]) if c <= row]
                strips += [
                    {
                        "row": row,
                        "column": columns[k],
                        "width": len(columns[k : k + STRIP]),
                        "first_run": first,
                        "last_run": len(runs),
                    }
                    for k in range(0, len(columns), STRIP)
                ]
    return strips, runs


def list_rows(goal: Table) -> range:
    """Return the rows of a goal."""
    sizes = {core.GoalOp.POSE: 6, core.GoalOp.BALANCE: goal["n_rows"]}
    return range(goal["first_row"], goal["first_row"] + sizes.get(goal["op"], 3))


def find_moving(table: Table, goal: Table, by_velocity: Sequence[Sequence[Mapping[str, int]]]) -> set[int]:
    """Return the velocities that move a goal's frame relative to its base; all of them move the mass."""
    if goal["op"] == core.GoalOp.BALANCE:
        return set(range(len(by_velocity)))

    def carries(i: int, frame: int) -> bool:
        on = -1 if frame < 0 else table["frames"][frame]["primitive"]
        return bool(i <= on < table["primitives"][i]["subtree_end"])

    return {
        c
        for c, sources in enumerate(by_velocity)
        for x in sources
        if carries(x["primitive"], goal["frame"]) != carries(x["primitive"], goal["base"])
    }


def list_runs(velocities: Sequence[int]) -> Iterator[dict[str, int]]:
    """Yield the intervals of consecutive numbers, the end excluded."""
    for _, group in groupby(enumerate(velocities), key=lambda pair: pair[1] - pair[0]):
        members = [c for _, c in group]
        yield {"first": members[0], "last": members[-1] + 1}
