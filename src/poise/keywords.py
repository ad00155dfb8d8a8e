"""Keywords of other libraries, and their equivalents in Poise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from typing import Any, NoReturn, TypeVar

from poise.errors import UnknownArgument, show_value

__all__ = ["NotHere", "make_unknown_argument", "refuse_unknown"]

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
    "q=np.deg2rad(q), with the angles in q": "degrees deg",
    "motion.resampled(fps), after loading": "fps frame_rate",
    "Orient(frame, rotation), or Reach(frame, Transform(rotation, xyz))": "rotation orientation quaternion",
}
TOO_MANY = {  # what to type instead of a call with too many values; {values} is the tuple of them
    "Rotation": "Rotation.from_euler('XYZ', np.deg2rad({values})) for degrees, or Rotation((w, x, y, z))",
    "Transform": "Transform(None, {values}) for a translation",
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
    return UnknownArgument(f"{begin}; " + (f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(known)}."))


def refuse_unknown(function: _Function, *, caller: str = "") -> _Function:
    """Make a function raise an error for unknown keywords that suggests the right one, and for too many values.

    `caller` is the name in the message, if users call it by another one.
    """
    parameters = inspect.signature(function).parameters
    caller = caller or function.__qualname__.removesuffix(".__init__").rpartition(".")[2]  # for `__init__` the class
    known = dict.fromkeys(name for name in parameters if name != "self")
    placed = [name for name in known if parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY]
    needed = [name for name in placed if parameters[name].default is inspect.Parameter.empty]
    options = ", ".join(f"{name}=..." for name in known if name not in placed)
    tuples = f"{caller}({', '.join(placed)}), with the numbers of a point in one tuple"
    many = TOO_MANY.get(caller, tuples + f", and options by name: {options}" * bool(options))

    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        try:
            return function(*args, **given)
        except TypeError:  # only now, so that correct calls stay fast
            values = args[len(parameters) - len(known) :]  # without self
            if len(values) > len(placed):
                advice = many.replace("{values}", show_value(values))
                raise UnknownArgument(f"{caller}() was given too many values; type {advice}.") from None
            for name in (name for name in given if name not in known):
                raise make_unknown_argument(caller, name, given[name], known) from None
            if not given.keys() >= {*needed[len(values) :]}:
                raise UnknownArgument(f"{caller}({', '.join(needed)}) needs all of these values.") from None
            raise

    return call  # type: ignore[return-value]  # same parameters as the function


class NotHere:
    """An attribute or operator of other libraries: reading it raises an error with what to type."""

    def __init__(self, typed: str) -> None:
        self.typed = typed

    def __get__(self, thing: object, kind: type) -> NoReturn:
        raise AttributeError(f"a {kind.__name__} has no such attribute or operator; type {self.typed}.")
