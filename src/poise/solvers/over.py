"""Use any method as a black box on the user's own residual and Jacobian.

    x  with  f(x) = 0,  or the least |f(x)|^2 near x0

The unknowns are prismatic joints of a body without anything else, so that one unit of x is one unit of length, and f is
a custom goal of that body. Steps, damping, bounds, stopping and recording are those of every solve.
Source: UCSD CSE169, "Jacobian Method as a Black Box".
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Custom
from poise.goals.goal import read_numbers
from poise.keywords import refuse_unknown
from poise.methods import Method, Minimum, find_method, names
from poise.model import Model, ModelBuilder
from poise.solvers.one_call import solve
from poise.solvers.solution import Solution

__all__ = ["solve_over"]

MOST_UNKNOWNS = 1000
FAR = 1e12  # the limit of a step, in units of x, unless one is given: none in effect


@partial(refuse_unknown, caller="methods.over")
def solve_over(
    f: Callable[[Floats], Any],
    J: Callable[[Floats], Any] | None,
    x0: ArrayLike,
    *,
    method: str | Method = "auto",
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    tolerance: float = 1e-8,
    max_steps: int = 200,
    step_limit: float | None = None,
    record: bool = False,
) -> Minimum | dict[str, Minimum]:
    """Minimise a residual with one method, or with every method; see `poise.methods.over`."""
    if not callable(f) or not (J is None or callable(J)):
        raise InvalidValue("methods.over takes functions: f(x) -> (m,), and J(x) -> (m, n) or None for differences.")
    start = read_numbers(x0, "x0", "give the numbers to start from")
    if start.ndim != 1 or not 1 <= start.size <= MOST_UNKNOWNS or not np.isfinite(start).all():
        raise ShapeMismatch(f"x0 has shape {start.shape}; it must be 1 to {MOST_UNKNOWNS} finite numbers, (n,).")
    model = make_line(start.size, read_bound(lower, start.size, "lower"), read_bound(upper, start.size, "upper"))
    size = np.asarray(f(start.copy()), dtype=np.float64).size
    goal = Custom(f, J, size=size, name="f", tolerance=tolerance)

    def run(chosen: Method, name: str) -> Minimum:
        limit = FAR if step_limit is None and chosen.name != "scipy" else step_limit  # SciPy's steps are its own
        solution = solve(
            model, goal, start, method=chosen, max_steps=max_steps, step_limit=limit, restarts=0, record=record
        )
        return read_minimum(solution, f, name)

    if method != "all":
        chosen = find_method(method)
        return run(chosen, method if isinstance(method, str) else chosen.name)
    return {name: run(find_method(name), name) for name in list_able(size, start.size)}


def list_able(rows: int, unknowns: int) -> list[str]:
    """Return the methods that accept any residual of this size, excluding those that need bones."""
    shelf = {name: find_method(name) for name in names() if name != "auto"}
    return [
        name
        for name, method in shelf.items()
        if "custom" in method.goal_kinds and method.refuse(lambda: (rows, unknowns)) is None and name != "sequential"
    ]


def make_line(n: int, lower: Floats, upper: Floats) -> Model:
    """Return a body of n prismatic joints with bounds: its configuration is the n unknowns."""
    builder = ModelBuilder(name="unknowns")
    parent: str | None = None
    for k in range(n):
        builder.add_joint(f"x{k}", parent, "prismatic", lower=float(lower[k]), upper=float(upper[k]))
        parent = f"x{k}"
    return builder.build()


def read_bound(bound: ArrayLike | None, n: int, what: str) -> Floats:
    """Return n bounds: those given, one for all, or infinite ones."""
    if bound is None:
        return np.full(n, -np.inf if what == "lower" else np.inf)
    given: Sequence[Any] | Floats = np.asarray(bound, dtype=np.float64)
    try:
        return np.array(np.broadcast_to(given, (n,)))
    except ValueError:
        raise ShapeMismatch(f"{what} has shape {np.shape(bound)}; it must be one number, or {n}.") from None


def read_minimum(solution: Solution, f: Callable[[Floats], Any], name: str) -> Minimum:
    """Return the solution in terms of the user's variables."""
    return Minimum(
        x=np.array(solution.q),
        residual=np.atleast_1d(np.asarray(f(np.array(solution.q)), dtype=np.float64)).ravel(),
        reached=solution.reached,
        status=solution.status,
        steps=solution.steps,
        method=name,
        path=None if solution.history is None else np.array(solution.history.q),
    )
