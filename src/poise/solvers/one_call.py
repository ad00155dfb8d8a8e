"""solve: find a pose of a model for its goals, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_whole
from poise.errors import InvalidValue, UnitWarning
from poise.goals import Goal
from poise.keywords import refuse_unknown
from poise.kinematics import Pose
from poise.limits import Limit
from poise.methods import Method
from poise.model import Model
from poise.model.degrees import FEWEST, doubt_start
from poise.solvers.options import MOST, SolveOptions, keep_joints
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["check_start", "solve"]


@overload
def solve(
    model: Model,
    goals: Iterable[Goal] | Goal,
    start: ArrayLike | Pose | None = None,
    *,
    solutions: None = None,
    **options: Unpack[SolveOptions],
) -> Solution: ...


@overload
def solve(
    model: Model,
    goals: Iterable[Goal] | Goal,
    start: ArrayLike | Pose | None = None,
    *,
    solutions: int,
    turns: bool = False,
    **options: Unpack[SolveOptions],
) -> list[Solution]: ...


@refuse_unknown
def solve(
    model: Model,
    goals: Iterable[Goal] | Goal,
    start: ArrayLike | Pose | None = None,
    *,
    method: str | Method = "auto",
    limits: Sequence[Limit] | Limit = (),
    limit_handling: str = "active",
    joints: Sequence[str] | None = None,
    stiffness: Any = None,
    max_steps: int = 200,
    time_limit: float | None = None,
    step_limit: float | None = None,
    restarts: int | str = "auto",
    seed: int = 0,
    mode: str = "nearest",
    record: bool = False,
    solutions: int | None = None,
    turns: bool = False,
) -> Solution | list[Solution]:
    """Find a pose that reaches the goals and keeps the limits. If none is found, `solution.why()` gives the reason.

    Args:
        model: The body.
        goals: One goal or several.
        start: The start, a Pose or q (default: the rest pose). It may lie outside the limits.
        method: A name from `poise.methods.names()`, or a method with settings.
        limits: Further limits, such as `Clearance`; they are never violated.
        limit_handling: "active" (inside the solve), "freeze", "penalty", "clamp" or "off".
        joints: The only joints that may move (default: all but locked ones).
        stiffness: {joint: value}, an array of nv numbers, one number, or "auto" (from bone lengths); a stiffer joint
            moves less in a step.
        max_steps: The largest number of steps in one search.
        time_limit: Time limit in seconds; the best pose so far is returned.
        step_limit: Largest motion of a joint per step, in radians (slides: times the body's length L, in metres). In
            continuous mode it is the limit per call.
        restarts: The number of further searches after a failed one, from spread seeds; "auto" lets the method decide.
        seed: Seed of the restarts; the same seed gives the same answer.
        mode: "nearest" (from start), "repeatable" (independent of start, from the rest pose) or "continuous" (no jumps:
            at most 0.2 rad per call, or `step_limit`).
        record: Keep every step in `solution.history`.
        solutions: Return up to this many distinct answers: poses that differ by more than 0.1 rad (0.1 L) in a joint.
        turns: With `solutions`: count poses that differ by whole turns as different answers; otherwise only the one
            nearest to the start is returned.

    Returns:
        The Solution; print it, or call its `why()`. With `solutions`, a list of them, nearest to the start first;
        if none is reached, the best miss.
    """
    check_start(model, start, stacklevel=4)
    given: dict[str, Any] = {
        "method": method,
        "limits": limits,
        "limit_handling": limit_handling,
        "joints": keep_joints(joints),
        "stiffness": stiffness,
        "max_steps": max_steps,
        "time_limit": time_limit,
        "step_limit": step_limit,
        "restarts": restarts,
        "seed": seed,
        "mode": mode,
        "record": record,
    }
    if solutions is not None:
        check_whole(solutions, "solutions", 1, MOST)
    elif turns:
        raise InvalidValue("turns=True needs a number of answers; type: solve(model, goals, solutions=8, turns=True).")
    if solutions is not None and solutions > 1:
        from poise.solvers.multiple_solutions import Explorer

        return Explorer(Solver(model, goals, **given), turns).find(start, None, solutions).solutions
    only = Solver.solve_once(model, goals, start, given)
    return only if solutions is None else [only]


def check_start(model: Model, start: Any, *, stacklevel: int = 3) -> None:
    """Raise InvalidValue if the start is a goal; warn if it looks like degrees."""
    if isinstance(start, Goal) or (isinstance(start, (list, tuple)) and any(isinstance(x, Goal) for x in start)):
        raise InvalidValue(
            f"start is a goal, {type(start).__name__}; put all goals in one list: solve(model, [goal, goal, ...])."
        )
    if isinstance(start, (list, tuple, np.ndarray)) and isinstance(model, Model):
        rows = read_rows(start, model.nq)
        far = [] if rows is None else rows[(np.abs(rows) > FEWEST).any(axis=1)][:1]
        for doubt in (doubt for row in far for doubt in doubt_start(model.joints, row)):
            warnings.warn(doubt, UnitWarning, stacklevel=stacklevel)


def read_rows(start: Any, width: int) -> NDArray[Any] | None:
    """Return the start as rows of numbers, or None if it is anything else."""
    try:
        found = np.asarray(start)
    except ValueError:
        return None
    plain = found.dtype.kind in "iuf" and found.ndim and found.shape[-1] == width and width
    return found.reshape(-1, width) if plain else None
