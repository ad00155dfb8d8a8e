"""Limits over a whole clip: their bounds for the kernel, and the repair of frames that still break them.

The kernel keeps every limit with a margin. A frame that still breaks one is solved again from the previous frame, as
`Solver.step` does, with its hard goals first and its own pose below them, until it meets the clip again. Joint ranges,
speeds and accelerations hold exactly in the result; frames that cannot keep a limit are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue, show_value
from poise.goals import Ball, Goal, Inside, Reach, Rest
from poise.limits import Limit
from poise.limits.limit import name_limits
from poise.model import Model
from poise.solvers import Solver
from poise.solvers.table import combine_postures
from poise.solvers.time_step import bound_rates, find_stopping_rates

if TYPE_CHECKING:
    from poise.motion.clips.whole_clip import ClipGoal

__all__ = [
    "Rates",
    "Repair",
    "ask_nothing",
    "find_broken",
    "part_limits",
    "read_floor",
    "read_limits",
    "read_number",
    "repair",
]

Flags = NDArray[np.bool_]
NO_BOUND = 1e30  # the kernels' value for "unbounded"
MARGIN, LEAST_MARGIN = 1e-3, 1e-5  # relative to a bound, and rad per frame: the kernel's distance from it
ROUNDING = 1e-9  # relative to a bound: the distance of a repaired frame from it
NEAR = 1e-12  # relative to a bound, and rad: rounding of the positions that a rate is computed from
FARTHEST = 1e6  # largest distance of a floor from height 0
LEAP = 100.0  # rad: a step limit that is never active, for repaired frames


@dataclass(frozen=True, eq=False)
class Rates:
    """Bounds on the step of each velocity from frame to frame, and on the change of that step.

    Attributes:
        speed: Largest step in one frame, (nv,) [rad, m]; infinite if unbounded.
        acceleration: Largest change of the step from one frame to the next, (nv,) [rad, m].
    """

    speed: Floats
    acceleration: Floats

    @classmethod
    def read(cls, model: Model, limits: Sequence[Limit], fps: float) -> Rates | None:
        """Return the rate bounds of a clip, or None without rate limits."""
        speed, acceleration = bound_rates(model, limits)
        if not (np.isfinite(speed).any() or np.isfinite(acceleration).any()):
            return None
        return cls(speed / fps, acceleration / fps**2)

    def narrowed(self) -> tuple[Floats, Floats]:
        """Return the bounds for the kernel: finite, and tighter by a margin."""
        return narrow(self.speed), narrow(self.acceleration)

    def find_broken(self, steps: Floats) -> tuple[Flags, Flags]:
        """Flag the steps that are too fast, and those that differ too much from the previous step, (frames - 1, nv)."""
        fast = np.abs(steps) > self.speed * (1.0 + NEAR) + NEAR
        sudden = np.zeros_like(fast)
        sudden[1:] = np.abs(np.diff(steps, axis=0)) > self.acceleration * (1.0 + NEAR) + 4.0 * NEAR
        return fast, sudden


def narrow(bound: Floats) -> Floats:
    """Return the bounds minus the kernel's margin."""
    off = np.minimum(np.maximum(MARGIN * bound, LEAST_MARGIN), 0.05 * bound)
    return np.asarray(np.where(np.isfinite(bound), bound - np.where(np.isfinite(off), off, 0.0), NO_BOUND))


def read_limits(limits: Iterable[Limit] | Limit) -> tuple[Limit, ...]:
    """Return the limits as a tuple.

    Raises:
        InvalidValue: An item is not a limit.
    """
    return tuple(name_limits(limits).values())


def read_number(value: Any, what: str, least: float = -np.inf, most: float = np.inf, words: str = "") -> float:
    """Return a finite number within bounds. Raises `InvalidValue` with the argument's name and the valid values."""
    wanted = "a number" if least == -np.inf else f"a number, {least:g} or more"
    if words:
        wanted = f"{words} or a positive number, from {least:g} to {most:g}"
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    except OverflowError:
        number = inf
    if not isfinite(number) or not least <= number <= most:
        raise InvalidValue(f"{what} is {show_value(value)}; it must be {wanted}.")
    return number


def read_floor(value: Any) -> float | None:
    """Return the floor height, or None. Raises `InvalidValue` beyond 1e6."""
    if value is None:
        return None
    number = read_number(value, "floor")
    if abs(number) > FARTHEST:
        raise InvalidValue(f"floor is {number:g}; it must be a height in the source's own unit, at most {FARTHEST:g}.")
    return number


def part_limits(limits: Sequence[Limit]) -> tuple[list[Limit], list[Limit]]:
    """Split limits into those on a pose and those on its rates."""
    return [limit for limit in limits if not limit.timed], [limit for limit in limits if limit.timed]


@dataclass(eq=False)
class Repair:
    """The solvers that bring frames back inside the limits, one after the other."""

    model: Model
    wanted: Sequence[ClipGoal]
    limits: Sequence[Limit]
    fps: float
    joints: Sequence[str] | None

    def __post_init__(self) -> None:
        self.solvers: dict[frozenset[int], Solver] = {}
        gains = combine_postures(self.model, [Rest()])[0]
        self.gains: Floats = np.ones(self.model.nv) if gains is None else np.asarray(gains)
        self.locked = find_locked(self.model)

    def find_solver(self, t: int) -> tuple[Solver, dict[str, Any]]:
        """Return a solver for the hard goals of a frame, and their targets."""
        held = {i: each for i, each in enumerate(self.wanted) if each.hard and each.weights[t] > 0.0 and can_aim(each)}
        key = frozenset(held)
        if key not in self.solvers:
            goals: list[Goal] = [replace(each.goal, name=f"held {i}", priority=0) for i, each in held.items()]
            goals += [ask_nothing(self.model), Rest(name="clip")]
            self.solvers[key] = Solver(
                self.model, goals, limits=tighten(self.limits), joints=self.joints, step_limit=LEAP
            )
        targets = {f"held {i}": each.targets[t, 9:] for i, each in held.items() if each.targets is not None}
        return self.solvers[key], targets

    def bring_back(self, t: int, q: Floats, before: Floats | None, velocity: Floats | None) -> Floats:
        """Return frame `t` inside the limits and nearest to `q`, one time step after the previous frame."""
        solver, targets = self.find_solver(t)
        if before is not None and len(self.locked):
            before = np.array(before)
            before[self.locked] = q[self.locked]  # locked coordinates stay as in the clip
        if before is None:
            first = solver.with_options(replace(solver.options, limits=tuple(part_limits(self.limits)[0])))
            first.rest_at(q, self.gains)
            return np.asarray(first.solve(q, targets).q)
        solver.rest_at(q, self.gains)
        return np.asarray(solver.step(before, 1.0 / self.fps, targets, velocity=velocity).q)


def repair(q: Floats, gaps: Floats, repairer: Repair, rates: Rates | None, frozen: Flags) -> tuple[Floats, Flags]:
    """Bring frames that break a limit back inside; return all frames, and a flag for each that changed.

    A frame also changes if a joint arrives there too fast to stop before its limit and a later frame breaks a limit:
    from a frame in which every joint can stop, the next frame can keep its limits.
    """
    model, out, broken = repairer.model, np.array(q), find_broken(repairer.model, q, gaps, rates)
    unsafe = broken | (find_unstoppable(model, q, rates) & (np.arange(len(q)) < np.flatnonzero(broken).max(initial=-1)))
    changed = np.zeros(len(q), dtype=bool)
    for t in range(len(q)):
        near = slice(max(t - 2, 0), t + 1)
        if not unsafe[t] and changed[near].any():
            unsafe[t] = (find_broken(model, out[near], gaps[near], rates) | find_unstoppable(model, out[near], rates))[
                -1
            ]
        if frozen[t] or not unsafe[t]:
            continue
        velocity = model.difference(out[t - 2], out[t - 1]) * repairer.fps if t > 1 else None
        out[t] = repairer.bring_back(t, q[t], out[t - 1] if t else None, velocity)
        changed[t] = True
    return out, changed


def find_unstoppable(model: Model, q: Floats, rates: Rates | None) -> Flags:
    """Flag the frames that a joint reaches too fast to stop before its limit."""
    out = np.zeros(len(q), dtype=bool)
    if rates is not None and len(q) > 1:
        backward, forward = find_stopping_rates(model, q[:-1], rates.acceleration, 1.0)
        steps = np.asarray(model.difference(q[:-1], q[1:]))
        out[1:] = ((steps < backward) | (steps > forward)).any(axis=1)
    return out


def find_broken(model: Model, q: Floats, gaps: Floats, rates: Rates | None) -> Flags:
    """Flag the frames that break a limit, given the frames before them."""
    bad = gaps < 0.0
    if rates is not None and len(q) > 1:
        fast, sudden = rates.find_broken(np.asarray(model.difference(q[:-1], q[1:])))
        bad[1:] |= (fast | sudden).any(axis=1)
    return bad


def ask_nothing(model: Model) -> Goal:
    """Return a goal that every pose satisfies, because a problem needs at least one goal."""
    return Inside(model.frames[0], Ball((0.0, 0.0, 0.0), 1e6 * model.length), name="anywhere")


def find_locked(model: Model) -> NDArray[np.intp]:
    """Return the indices in q of the locked coordinates."""
    return np.array([k for j in model.joints if j.locked for k in range(j.q.start, j.q.stop)], dtype=np.intp)


def can_aim(each: ClipGoal) -> bool:
    """Return whether a goal can be solved for a single frame."""
    return each.targets is None or isinstance(each.goal, Reach)


def tighten(limits: Iterable[Limit]) -> list[Limit]:
    """Return the limits, with the rate limits tightened by a rounding error."""
    return [tighten_one(limit) if limit.timed else limit for limit in limits]


def tighten_one(limit: Limit) -> Limit:
    """Return a rate limit with every bound tightened by a rounding error."""
    most = getattr(limit, "max", None)
    if isinstance(most, tuple):
        return replace(limit, max={name: [x * (1.0 - ROUNDING) for x in values] for name, values in most})  # type: ignore[call-arg]
    return limit if most is None else replace(limit, max=most * (1.0 - ROUNDING))  # type: ignore[call-arg]
