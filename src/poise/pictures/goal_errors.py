"""Plot of the goal errors relative to their tolerances, one line per goal."""

from typing import Any

import numpy as np

from poise.pictures.marks import MISSED, REACHED
from poise.solvers.proofs import find_tolerances
from poise.solvers.report.show import say_length, say_radians
from poise.solvers.solution import Solution

__all__ = ["draw_goal_errors"]

LEAST = 1e-3  # relative to the tolerance: smaller errors are drawn as this


def draw_goal_errors(axes: Any, solution: Solution) -> None:
    """Draw the errors of all goals in tolerances, on a logarithmic scale; goals right of the line are missed."""
    goals = list(solution.errors.items())
    for k, (name, errors) in enumerate(goals):
        allowed = find_tolerances(solution.model, solution.solver.goals[name])
        part = max(errors[unit] / max(allowed[unit], 1e-300) for unit in (0, 1))
        color = REACHED if part <= 1.0 else MISSED
        place = max(part, LEAST)
        axes.plot([LEAST, place], [k, k], color=color, linewidth=2.2, solid_capstyle="round")
        axes.plot(place, k, "o", color=color, markersize=7)
        words = [say_length(errors[0], units=solution.model.units)] * (errors[0] > 0) + [say_radians(errors[1])] * (
            errors[1] > 0
        )
        axes.annotate(", ".join(words), (place, k), (9, 0), textcoords="offset points", va="center", fontsize=8.5)
    axes.axvline(1.0, color="#888888", linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_yticks(np.arange(len(goals)), [name for name, _ in goals])
    axes.set(ylim=(len(goals) - 0.4, -0.6), xlabel="error, in tolerances")
    axes.set_xlim(LEAST / 1.6, max(axes.get_xlim()[1], 10.0) * 30)
    axes.grid(axis="y", visible=False)
