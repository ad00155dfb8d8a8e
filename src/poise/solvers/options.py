"""Options of a solve: their names, defaults and meanings.

`poise.solve` and `poise.solve_batch` repeat them for their help text; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from inspect import Parameter, Signature
from typing import Any, TypedDict, TypeVar, cast

from poise.arguments import check_flag, check_positive, check_whole
from poise.errors import name_not_found
from poise.keywords import make_unknown_argument
from poise.limits.limit import Limit, name_limits
from poise.methods import Method, find_method
from poise.model import Model
from poise.native import core

__all__ = [
    "CONTINUOUS_SPAN",
    "LIMIT_HANDLING",
    "MODES",
    "MOST",
    "Options",
    "SolveOptions",
    "hold_closures",
    "keep_joints",
    "show_options",
]

LIMIT_HANDLING = {how.name.lower(): how for how in core.LimitHandling}
MODES = {mode.name.lower(): mode for mode in core.Mode}
MOST = 10**8  # the largest value of any count
CONTINUOUS_SPAN = 0.2  # rad, or times L in m: the largest motion per call in continuous mode without step_limit
_AUTO = cast(Method, "auto")  # a name is replaced by its method in __post_init__
_Function = TypeVar("_Function", bound=Callable[..., Any])


class SolveOptions(TypedDict, total=False):
    """The types of the options as keyword arguments."""

    method: str | Method
    limits: Sequence[Limit] | Limit
    limit_handling: str
    joints: Sequence[str] | None
    stiffness: Any
    max_steps: int
    time_limit: float | None
    step_limit: float | None
    restarts: int | str
    seed: int
    mode: str
    record: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a solve.

    Attributes:
        method: A method; a name from `poise.methods.names()` is looked up.
        limits: Further limits, such as `Clearance`; they are never violated.
        limit_handling: "active" (inside the solve), "freeze", "penalty", "clamp" or "off".
        joints: The only joints that may move; all but locked ones if None.
        stiffness: {joint: value}, an array of nv, one number, "auto", or None for the model's own; a stiffer joint
            moves less in a step.
        max_steps: The largest number of steps in one search.
        time_limit: Time limit in seconds; the best pose so far is returned.
        step_limit: Largest motion of a joint per step, in radians (slides: times the body's length L, in metres). In
            continuous mode it is the limit per call.
        restarts: The number of further searches after a failed one; "auto" lets the method decide.
        seed: Seed of the restarts; the same seed gives the same answer.
        mode: "nearest", "repeatable" or "continuous".
        record: Whether every step is kept in `solution.history`.
    """

    method: Method = _AUTO
    limits: Sequence[Limit] = ()
    limit_handling: str = "active"
    joints: Sequence[str] | None = None
    stiffness: Any = None
    max_steps: int = 200
    time_limit: float | None = None
    step_limit: float | None = None
    restarts: int | str = "auto"
    seed: int = 0
    mode: str = "nearest"
    record: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", find_method(self.method))
        object.__setattr__(self, "limits", tuple(name_limits(self.limits).values()))
        if self.joints is not None and not isinstance(self.joints, str):
            object.__setattr__(self, "joints", tuple(self.joints))

    @classmethod
    def read(cls, given: SolveOptions, caller: str) -> Options:
        """Make options from keyword arguments; an unknown one raises an error that suggests the right one."""
        for name, value in given.items():
            if name not in cls.__slots__:
                raise make_unknown_argument(caller, name, value, cls.__slots__)
        return cls(**given)  # type: ignore[arg-type]  # __post_init__ converts the values

    @classmethod
    def make(cls, **given: Any) -> Options:
        """Make checked options."""
        options = cls(**given)
        options.check()
        return options

    def as_dict(self) -> SolveOptions:
        """Return the options as keyword arguments."""
        return cast(SolveOptions, {name: getattr(self, name) for name in self.__slots__})

    def check(self) -> None:
        """Raise an error that names the first invalid option."""
        if self.limit_handling not in LIMIT_HANDLING:
            raise name_not_found("limit_handling", str(self.limit_handling), LIMIT_HANDLING)
        if self.mode not in MODES:
            raise name_not_found("mode", str(self.mode), MODES)
        check_whole(self.max_steps, "max_steps", 1, MOST)
        check_whole(self.seed, "seed", 0, MOST)
        if self.restarts != "auto":
            check_whole(self.restarts, "restarts", 0, MOST)
        for what in ("time_limit", "step_limit"):
            if (value := getattr(self, what)) is not None:
                check_positive(value, what, "a positive number, or None")
        check_flag(self.record, "record")


def hold_closures(model: Model, options: Options) -> Options:
    """Return the options with the model's own closures as limits."""
    if not model.closures or options.limit_handling == "off":
        return options
    from poise.limits.closed import add_closures

    return replace(options, limits=add_closures(model, options.limits))


def keep_joints(joints: Any) -> Any:
    """Return `joints` as a tuple if it is a list or an iterator, which may change or be exhausted."""
    return tuple(joints) if isinstance(joints, (list, Iterator)) else joints


def show_options(function: _Function) -> _Function:
    """Add every option, with its default, to the signature of a function that takes `**options`."""
    shown = Signature.from_callable(function)
    own = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    for option in fields(Options):
        given = SolveOptions.__annotations__[option.name].__forward_arg__
        own.append(Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=given))
    function.__signature__ = shown.replace(parameters=own)  # type: ignore[attr-defined]
    return function
