"""Keywords of other libraries, and their equivalents in Poise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

from poise.errors import UnknownArgument

__all__ = ["make_unknown_argument", "refuse_unknown"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

# the Poise argument -> its names in other libraries; {value} stands for the given value
SAYINGS = {
    "max_steps={value}": "max_iterations max_iteration max_iters max_iter maxiter iterations n_iter num_iterations",
    "method=poise.methods.DLS(damping={value})": "damping lambda_ lm_damping solver_damping",
    "Reach(frame, target, tolerance={value}), in the goal": "tolerance tolerances tol eps epsilon atol xtol ftol",
    "Reach(frame, target, weight={value}), in the goal": "weight weights cost costs",
    "Reach(frame, target, priority={value}), in the goal": "priority priorities",
    "Reach(frame, target), in the goal": "target targets goal",
    "start=...": "q0 x0 q_init initial initial_guess init guess seed_state q",
    "time_limit={value}": "timeout max_time time",
    "seed=..., a whole number": "rng random_state random_seed",
    "restarts={value}": "num_seeds max_restarts tries n_restarts attempts",
    "method=..., one of poise.methods.names()": "solver algorithm backend",
    "step_limit={value}": "max_step step_size max_delta",
    "limits=[poise.limits.Clearance()]": "collision collisions self_collision avoid",
    "Solver(model, goals).step(q, dt)": "dt timestep",
    "joints={value}": "active_joints free_joints joint_names",
    "solve_batch(..., threads={value})": "num_threads n_jobs workers parallel",
    "solutions={value}": "num_solutions n_solutions return_all",
    "scale=..., metres per unit, or 'auto'": "units unit",
    "lower=..., upper=..., in radians or metres": "range bounds joint_limits",
    "kind={value}": "type joint_type",
    "target={value}": "position pos xyz place pose",
    "Orient(frame, rotation), or Reach(frame, Transform(rotation, xyz))": "rotation orientation quaternion",
}
ADVICE = {word: typed for typed, words in SAYINGS.items() for word in words.split()}


def make_unknown_argument(caller: str, name: str, value: Any, known: Collection[str]) -> UnknownArgument:
    """Return the error for an unknown keyword: it suggests the equivalent, the closest name, or all names."""
    begin = f"{caller}() has no argument {name!r}"
    begun = re.match(r"(\w+)=", ADVICE.get(name, ""))
    if name in ADVICE and (begun is None or begun[1] in known):
        own = re.search(r"(\w+)=\{value\}", ADVICE[name])
        typed = f"{own[1]}={{value}}" if own and own[1] in known else ADVICE[name]  # its own argument if it has one
        return UnknownArgument(f"{begin}; type {typed.format(value=repr(value))}.")
    close = get_close_matches(name, known, n=1)
    if close:
        return UnknownArgument(f"{begin}; did you mean {close[0]!r}?")
    return UnknownArgument(f"{begin}; it has: {', '.join(known)}.")


def refuse_unknown(function: _Function, *, caller: str = "") -> _Function:
    """Make a function raise an error for unknown keywords that suggests the right one, and for too many values.

    Args:
        function: The function.
        caller: The name in the message, if users call it by another one.
    """
    parameters = inspect.signature(function).parameters
    known = dict.fromkeys(name for name in parameters if name != "self")
    placed = [each.name for each in parameters.values() if each.kind is not each.KEYWORD_ONLY]
    needed = [name for name in placed if parameters[name].default is inspect.Parameter.empty]

    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        if len(args) > len(placed):
            first = ", ".join(name for name in placed if name != "self")
            advice = f"type {caller or function.__name__}({first}), with the numbers of a point in one tuple"
            raise UnknownArgument(f"{caller or function.__name__}() was given too many values; {advice}.")
        for name, value in given.items():
            if name not in known:
                raise make_unknown_argument(caller or function.__name__, name, value, known)
        if not given.keys() >= {*needed[len(args) :]}:
            typed = f"{caller or function.__name__}({', '.join(name for name in needed if name != 'self')})"
            raise UnknownArgument(f"{typed} needs all of these values; {len(args) + len(given)} were given.")
        return function(*args, **given)

    return call  # type: ignore[return-value]  # same parameters as the function
