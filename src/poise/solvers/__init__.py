"""From goals to a pose: the solver, its answer, and the explanation."""

from poise.solvers.pixels import pixel_tolerance
from poise.solvers.race import Race, race
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver, solve
from poise.solvers.status import Status

__all__ = ["Race", "Solution", "Solver", "Status", "pixel_tolerance", "race", "solve"]
