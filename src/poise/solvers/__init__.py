"""From goals to a pose: the solver and its answer."""

from poise.solvers.answers import Answers
from poise.solvers.every import solve_all
from poise.solvers.one_call import solve
from poise.solvers.pixels import pixel_tolerance
from poise.solvers.race import Race, race
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver
from poise.solvers.status import Status

__all__ = ["Answers", "Race", "Solution", "Solver", "Status", "pixel_tolerance", "race", "solve", "solve_all"]
