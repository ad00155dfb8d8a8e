"""A solution as people read it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poise.solvers.solution import Solution

__all__ = ["html", "table"]


def rows(solution: Solution) -> list[tuple[str, str, str, str]]:
    """goal, position error, rotation error, reached?"""
    out = []
    for name, (metres, radians) in solution.errors.items():
        goal = solution._solver.goals[name]
        kind = goal.rows(solution.model)
        tolerance = goal.tolerances(solution.model, kind.op == 1)
        good = metres <= tolerance[0] and radians <= tolerance[1]
        out.append(
            (
                name,
                "" if kind.op == 1 else length_text(metres),
                "" if kind.op == 0 else f"{radians:.2g} rad",
                "yes" if good else "no",
            )
        )
    return out


def length_text(metres: float) -> str:
    """A length in the unit that reads best."""
    for unit, size in (("m", 1.0), ("mm", 1e-3), ("um", 1e-6)):
        if metres >= size or unit == "um":
            return f"{metres / size:.3g} {unit}"
    return f"{metres:.3g} m"


def table(solution: Solution) -> str:
    """The small table that `print(solution)` shows."""
    head = ("goal", "position", "rotation", "reached")
    lines = [head, *rows(solution)]
    widths = [max(len(line[k]) for line in lines) for k in range(4)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([headline(solution), *(f"  {line}" for line in text)])


def headline(solution: Solution) -> str:
    """Status and effort in one line."""
    searches = f", {solution.searches} searches" if solution.searches > 1 else ""
    return f"{solution.status}: {solution.steps} steps{searches}, {solution.seconds * 1e6:.0f} us"


def html(solution: Solution) -> str:
    """The table for notebooks."""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows(solution))
    head = "<tr><th>goal</th><th>position</th><th>rotation</th><th>reached</th></tr>"
    return f"<p><b>{escape(headline(solution))}</b></p><table>{head}{body}</table>"
