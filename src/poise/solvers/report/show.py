"""Text and tables of a solution."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.goals.goal import ANGULAR

if TYPE_CHECKING:
    from poise.solvers.solution import Solution

__all__ = ["choose_unit", "plain_values", "say_length", "write_html", "write_table"]

HEAD = ("goal", "position", "rotation", "reached")
UNITS = (("m", 1.0), ("mm", 1e-3), ("um", 1e-6), ("nm", 1e-9))


def list_rows(solution: Solution) -> list[tuple[str, str, str, str]]:
    """Return the name, position error, rotation error and result of every goal, postures last and without errors."""
    out = [make_goal_row(solution, name, *errors) for name, errors in solution.errors.items()]
    return out + [(name, "", "", "posture") for name in solution.solver.goals if name not in solution.errors]


def make_goal_row(solution: Solution, name: str, metres: float, radians: float) -> tuple[str, str, str, str]:
    """Return the row of one goal; errors that the goal does not weigh are left blank."""
    goal = solution.solver.goals[name]
    kind = goal.rows(solution.model)
    allowed = goal.tolerances(solution.model, kind.op in ANGULAR)
    position = say_length(metres, units=solution.model.units) if (kind.weight[:3] > 0).any() else ""
    rotation = say_radians(radians) if (kind.weight[3:] > 0).any() else ""
    return name, position, rotation, "yes" if metres <= allowed[0] and radians <= allowed[1] else "no"


def say_length(length: float, digits: int = 3, units: str = "m") -> str:
    """Return a length with its unit; lengths below 1e-12 are shown as 0.

    Args:
        length: A length in `units`.
        digits: The number of digits.
        units: The length unit of the body, `model.units`.
    """
    unit, size = choose_unit(length, units)
    return f"{length / size:.{digits}g} {unit}"


def choose_unit(length: float, units: str = "m") -> tuple[str, float]:
    """Return the most readable unit for a length, and its size: m to nm for metres, otherwise the unit itself."""
    if units != "m" or length < 1e-12:
        return ("units" if units in ("unknown", "cmu") else units), 1.0 if length >= 1e-12 else np.inf
    return next(((unit, size) for unit, size in UNITS if 1.0005 * length >= size), UNITS[-1])


def say_radians(radians: float) -> str:
    """Return an angle in radians; angles below 1e-12 are shown as 0."""
    return f"{radians:.2g} rad" if radians >= 1e-12 else "0 rad"


def write_table(solution: Solution) -> str:
    """Return the table that `print(solution)` shows, with names left and numbers right aligned."""
    lines = [HEAD, *list_rows(solution)]
    widths = [max(len(line[k]) for line in lines) for k in range(4)]
    text = [
        "  ".join([line[0].ljust(widths[0]), line[1].rjust(widths[1]), line[2].rjust(widths[2]), line[3]])
        for line in lines
    ]
    return "\n".join([write_headline(solution), *(f"  {line}" for line in text), f"  {solution.redundancy}"])


def write_headline(solution: Solution) -> str:
    """Return the status and the effort in one line."""
    steps = f"{solution.steps} step{'s' * (solution.steps != 1)}"
    searches = f", {solution.searches} searches" if solution.searches > 1 else ""
    return f"{solution.status}: {steps}{searches}, {solution.seconds * 1e6:.0f} us"


def write_html(solution: Solution) -> str:
    """Return the table as HTML for notebooks."""
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in list_rows(solution)
    )
    head = "<tr>" + "".join(f"<th>{cell}</th>" for cell in HEAD) + "</tr>"
    freedom = escape(str(solution.redundancy))
    return f"<p><b>{escape(write_headline(solution))}</b></p><table>{head}{body}</table><p>{freedom}</p>"


def plain_values(solution: Solution) -> dict[str, Any]:
    """Return the solution as numbers, text and lists: pose, errors, status and effort."""
    pose = solution.pose.plain_values()
    goals = {
        name: {
            "metres": metres,
            "radians": radians,
            "reached": make_goal_row(solution, name, metres, radians)[3] == "yes",
        }
        for name, (metres, radians) in solution.errors.items()
    }
    explanation = solution.explanation
    return {
        "poise": pose.pop("poise"),
        "model": pose.pop("model"),
        "status": str(solution.status),
        "reached": solution.reached,
        "steps": solution.steps,
        "searches": solution.searches,
        "microseconds": round(1e6 * solution.seconds, 1),
        "goals": goals,
        "why": "" if solution.reached else str(explanation),
        "explanation": explanation.plain_values(),
        **pose,
    }
