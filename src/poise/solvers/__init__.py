"""The solver of goals for a pose, and its solution."""

from poise.solvers.one_call import solve
from poise.solvers.pixels import pixel_tolerance
from poise.solvers.race import Race, race
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver
from poise.solvers.status import Status

__all__ = ["Race", "Solution", "Solver", "Status", "pixel_tolerance", "race", "solve"]
