"""Goal: a target for the pose of a body, with a weight and a priority; it may be missed.

A goal stores its target; `rows` translates it for the kernels. Targets are stored separately, so that a prepared solver
accepts new ones without being rebuilt.
"""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import is_whole
from poise.errors import InvalidValue, ShapeMismatch
from poise.model import Model
from poise.model.spec import read_floats
from poise.native import core

# help text of the common keywords; a goal can override it
COMMON = {
    "weight": "Importance among goals of the same priority: one number. The cost is sum |w r|^2, with r in units of "
    "the body's length L and in radians.",
    "priority": "0 is solved first, strictly; higher numbers use the remaining freedom.",
    "name": "Its name in the solution; by default that of the frame.",
    "tolerance": "Largest error of a reached goal [m]: a number, or (metres, radians); by default 1e-4 m (1e-4 L for a "
    "body below 1 m) and 1e-3 rad.",
}
TURNED = {
    "tolerance": "Largest error of a reached goal [rad]: a number, or (metres, radians); by default 1e-3 rad.",
}  # for goals whose only error is an angle

MOST_WEIGHT = 1e100  # avoids overflow of sums of squares

__all__ = ["Goal", "GoalRows", "Tolerance", "pack_target"]

GoalOp = core.GoalOp
POSITION, ROTATION, POSE, ALIGN, LOOK = GoalOp.POSITION, GoalOp.ROTATION, GoalOp.POSE, GoalOp.ALIGN, GoalOp.LOOK
DISTANCE, ANGLE, PLANES, COM = GoalOp.DISTANCE, GoalOp.ANGLE, GoalOp.PLANES, GoalOp.COM
BALANCE, CUSTOM = GoalOp.BALANCE, GoalOp.CUSTOM
ANGULAR = frozenset(op for op in GoalOp if core.is_angular(op))  # operations whose only error is an angle

Tolerance = float | tuple[float, float] | None
METRES, RADIANS = 1e-4, 1e-3  # default tolerances; metres are scaled by the length of bodies shorter than 1 m
_ORIGIN = np.zeros(3)
_ORIGIN.setflags(write=False)


@dataclass(frozen=True, slots=True)
class GoalRows:
    """A goal in the form that the kernels use.

    Attributes:
        op: The residual: POSITION, ROTATION, ... CUSTOM.
        frame: Name of the frame it moves; None for the whole body.
        base: Name of the frame in which the target is given, or None for the world.
        point: A point of the frame [m, in the frame].
        weight: Six weights, [linear; angular]; zero for a free component.
        target: Rotation (9) and position (3); then the numbers that the operation or `ranged` adds.
        exact: Whether the rotation rows need the exact derivative of the log (some axes free).
        convert: A function that packs any target that the goal accepts.
        point2: A point of the base [m, in the base].
        axis: A unit axis of the frame, in the frame.
        axis2: A unit axis of the base, in the base.
        local: Whether position rows are along the target's own axes instead of the world's.
        ranged: Whether 12 more numbers follow the target: lowest and highest deviation of the six components.
        size: The number of rows.
        points: Frames and points on them: the contacts of a balance.
        residual: For CUSTOM: a function from q to `size` numbers.
        jacobian: For CUSTOM: a function from q to (size, nv).
        third: For positions: a function that returns the index and value [m] of a planar body's third coordinate.
    """

    op: core.GoalOp
    frame: str | None
    weight: NDArray[np.float64]
    target: NDArray[np.float64]
    convert: Callable[[Any], NDArray[np.float64]]
    base: str | None = None
    point: NDArray[np.float64] = field(default_factory=lambda: _ORIGIN)
    exact: bool = False
    point2: NDArray[np.float64] = field(default_factory=lambda: _ORIGIN)
    axis: NDArray[np.float64] = field(default_factory=lambda: _ORIGIN)
    axis2: NDArray[np.float64] = field(default_factory=lambda: _ORIGIN)
    local: bool = False
    ranged: bool = False
    size: int = 0
    points: tuple[tuple[str, NDArray[np.float64]], ...] = ()
    residual: Callable[[Any], NDArray[np.float64]] | None = None
    jacobian: Callable[[Any], NDArray[np.float64]] | None = None
    third: Callable[[], tuple[int, float]] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Goal:
    """The base class of goals.

    Attributes:
        weight: Importance among goals of the same priority: one number, or 3 or 6 (one for each component). The cost is
            sum |w r|^2 with r in units of the body's length L and in radians.
        priority: Lower numbers are solved first; a higher number never degrades a lower one.
        name: Its name in the solution; by default the frame's name.
        tolerance: Largest error that counts as reached: a number [m; rad for rotations], or (metres, radians).
    """

    weight: float | ArrayLike = 1.0
    priority: int = 0
    name: str | None = None
    tolerance: Tolerance = None

    def __init_subclass__(cls, words: Mapping[str, str] | None = None, **rest: Any) -> None:
        """Add the common keywords to the help of every goal, overridden by `words`."""
        super().__init_subclass__(**rest)
        cls.__doc__ = add_common_words(cls.__doc__, {**COMMON, **(words or {})})

    default_name = "goal"
    counts = True  # whether a solution is reached only if this goal is within its tolerance

    def rows(self, model: Model) -> GoalRows:
        """Return the goal in the form that the kernels use."""
        raise TypeError(f"{type(self).__name__} has no rows of its own.")

    def _key(self) -> tuple[Any, ...]:
        parts = (getattr(self, f.name) for f in fields(self))
        return tuple(np.asarray(p).tobytes() if isinstance(p, (np.ndarray, list)) else p for p in parts)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Goal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self.name, getattr(self, "frame", None)))

    def check_common(self) -> None:
        """Raise an error for invalid weights, priorities and tolerances."""
        what = type(self).__name__
        if type(frame := getattr(self, "frame", None)) in (tuple, list, np.ndarray):
            raise InvalidValue(f"{what}: frame is {frame!r}; the name of a frame comes first: {what}('hand_l', ...).")
        if not (type(self.weight) is float and 0.0 <= self.weight <= MOST_WEIGHT):  # fast path for one float
            self._check_weights(what)
        if not is_whole(self.priority) or self.priority < 0:
            raise InvalidValue(f"{what}: priority is {self.priority!r}; it must be 0, 1, 2, ...")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise InvalidValue(f"{what}: name must be a non-empty string, not {self.name!r}.")
        if self.tolerance is not None and not is_plain(self.tolerance):
            wanted = "give a number [m; rad for rotations], or (metres, radians)"
            values = np.atleast_1d(read_numbers(self.tolerance, f"{what}: tolerance", wanted))
            if values.shape not in ((1,), (2,)) or not np.isfinite(values).all() or (values < 0).any():
                raise InvalidValue(f"{what}: tolerance is {self.tolerance!r}; {wanted}, none negative.")

    def _check_weights(self, what: str) -> None:
        weights = read_numbers(self.weight, f"{what}: weight", "give one number, 3 or 6")
        weights.setflags(write=False)
        if weights.ndim:
            object.__setattr__(self, "weight", weights)
        if weights.shape not in ((), (3,), (6,)):
            raise ShapeMismatch(f"{what}: weight has shape {weights.shape}; give one number, 3 or 6.")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InvalidValue(f"{what}: weight is {self.weight}; weights must be finite and not negative.")
        if (weights > MOST_WEIGHT).any():
            raise InvalidValue(f"{what}: weight is {self.weight}; it must be at most {MOST_WEIGHT:g}: squares count.")

    def tolerances(self, model: Model, angular: bool) -> tuple[float, float]:
        """Return the tolerances [m, rad]; a single number is in metres, or in radians for a rotation-only goal."""
        defaults = (METRES * min(1.0, model.length), RADIANS)
        if self.tolerance is None:
            return defaults
        given: Any = self.tolerance
        values = np.atleast_1d(np.asarray(given, dtype=np.float64)).tolist() if not is_plain(given) else given
        if isinstance(values, float):
            values = [values]
        if len(values) == 2:
            return values[0], values[1]
        return (defaults[0], values[0]) if angular else (values[0], defaults[1])

    def is_loose(self, model: Model, angular: bool) -> bool:
        """Return whether the target is a region: its tolerance is above 1e-4 body lengths or 1e-3 rad."""
        metres, radians = self.tolerances(model, angular)
        return self.tolerance is not None and (metres > METRES * model.length or radians > RADIANS)


def is_plain(tolerance: Any) -> bool:
    """Return whether a tolerance is one or two valid floats: the fast path, without an array."""
    parts = tolerance if type(tolerance) is tuple and len(tolerance) == 2 else (tolerance,)
    return all(type(part) is float and 0.0 <= part < np.inf for part in parts)


def add_common_words(doc: str | None, words: Mapping[str, str]) -> str | None:
    """Return a docstring with the common keywords added to its attributes; existing entries are kept."""
    if doc is None:
        return None
    head = doc.rstrip() if "Attributes:" in doc else f"{doc.rstrip()}\n\n    Attributes:"
    new = (f"{key}: {text}" for key, text in words.items() if f"\n        {key}:" not in doc)
    lines = (textwrap.fill(text, 112, initial_indent=" " * 8, subsequent_indent=" " * 12) for text in new)
    return "\n".join([head, *lines, "    "])


def read_numbers(value: Any, what: str, wanted: str) -> NDArray[np.float64]:
    """Return a copy as an array of any shape. Raises `InvalidValue` unless it is numeric."""
    try:
        return read_floats(value, 1, what)
    except InvalidValue:
        raise InvalidValue(f"{what} is {value!r}; {wanted}.") from None


def read_one_weight(weight: float | ArrayLike, components: slice | int, what: str) -> NDArray[np.float64]:
    """Return six weights: the same number for the given components, zero for the others."""
    if np.ndim(weight) != 0:
        raise ShapeMismatch(f"{what}: weight has {np.size(weight)} numbers; give one.")
    out = np.zeros(6)
    out[components] = weight
    return out


def read_weights(weight: float | ArrayLike, first: int, count: int, what: str) -> NDArray[np.float64]:
    """Return the weights of `count` components from `first`, given as one number, one each, or six."""
    out = np.zeros(6)
    if type(weight) is float:
        out[first : first + count] = weight
        return out
    given = np.asarray(weight, dtype=np.float64)
    if given.ndim and len(given) not in (count, 6):
        several = "6" if count == 6 else f"{count} or 6"
        raise ShapeMismatch(
            f"{what}: weight has {len(given)} numbers; give one{' or' if count == 6 else ','} {several}."
        )
    out[first : first + count] = given if given.ndim == 0 or len(given) == count else given[first : first + count]
    return out


_UNTURNED = np.eye(3).ravel()


def pack_target(rotation: ArrayLike | None, position: ArrayLike | None) -> NDArray[np.float64]:
    """Return rotation (9) and position (3) in one array; by default identity and zero."""
    out = np.zeros(12)
    out[:9] = _UNTURNED if rotation is None else np.asarray(rotation, dtype=np.float64).ravel()
    if position is not None:
        out[9:] = position
    return out
