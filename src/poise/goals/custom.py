"""Custom: a residual defined by a Python function.

    residual  r(q) -> 0                 your units, one row for each number
    Jacobian  dr / dq, (size, nv): as given, or central differences on the manifold
              column i = (r(q + h e_i) - r(q - h e_i)) / 2h,   h = 6e-6 rad (times L: metres)
              q + d being model.integrate(q, d)

A given Jacobian is compared with differences, at the rest pose and at another one, when the goal is first used with a
model; if they disagree, an error names the worst entry. Source: Nocedal and Wright, Numerical Optimization, 2006,
section 8.1 (central differences, and their step).
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from poise.arguments import check_whole
from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.goal import CUSTOM, Goal, GoalRows, pack_target, read_one_weight
from poise.model import Model

__all__ = ["Custom"]

Function = Callable[[Floats], Any]

STEP = 6e-6  # rad, or in units of L: cube root of the rounding error
AGREE = 1e-4  # of the largest entry of the row: tolerance of the comparison with differences
SHORTER = 10.0  # factor between successive difference steps, used if a Jacobian disagrees
MOST_SHORTER = 3
MOST_ROWS = 1000
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Custom(Goal):
    """A user-defined goal: bring a residual to zero.

    Attributes:
        residual: A function from q (nq,) to `size` numbers.
        jacobian: A function from q to (size, nv), the derivative of the residual per velocity; by default differences.
        size: The number of residuals.
        tolerance: Reached when the norm of the residual is below this [its own units]; by default 1e-4.
    """

    residual: Function
    jacobian: Function | None = None
    _: KW_ONLY
    size: int

    default_name = "custom"

    def __post_init__(self) -> None:
        self.check_common()
        if not callable(self.residual):
            raise InvalidValue(f"Custom: residual must be a function of q, not {self.residual!r}.")
        if self.jacobian is not None and not callable(self.jacobian):
            raise InvalidValue(f"Custom: jacobian must be a function of q, or None, not {self.jacobian!r}.")
        check_whole(self.size, "Custom: size", 1, MOST_ROWS)
        read_one_weight(self.weight, 0, "Custom")

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        self._check(model)
        return GoalRows(
            op=CUSTOM,
            frame=None,
            weight=read_one_weight(self.weight, 0, "Custom"),
            target=pack_target(None, None),
            convert=self._convert,
            size=int(self.size),
            residual=self._residual,
            jacobian=lambda q: self._jacobian(model, q),
        )

    def tolerances(self, model: Model, angular: bool) -> tuple[float, float]:
        """Return the tolerance of the residual's norm, in its own units."""
        values = np.atleast_1d(np.asarray(TOLERANCE if self.tolerance is None else self.tolerance, dtype=np.float64))
        return float(values[0]), 1e-3

    def _convert(self, target: Any) -> Floats:
        raise InvalidValue(f"Custom: it has no target to set to {target!r}; let the residual read values that change.")

    def _residual(self, q: Any) -> Floats:
        return check_returned(self.residual(copy_array(q)), (int(self.size),), "residual")

    def _jacobian(self, model: Model, q: Any) -> Floats:
        if self.jacobian is None:
            return self._differences(model, copy_array(q))
        return check_returned(self.jacobian(copy_array(q)), (int(self.size), model.nv), "jacobian")

    def _differences(self, model: Model, q: Floats) -> Floats:
        ahead, behind = self._step_both_ways(model, q, choose_steps(model))
        return (ahead - behind) / (2.0 * choose_steps(model))

    def _step_both_ways(self, model: Model, q: Floats, steps: Floats) -> tuple[Floats, Floats]:
        """Return the residual one step ahead and one step behind along each velocity, (size, nv) each."""
        moves = np.diag(steps)
        sides = [[self._residual(pose) for pose in model.integrate(q, sign * moves)] for sign in (1.0, -1.0)]
        shape = (model.nv, int(self.size))
        return np.reshape(sides[0], shape).T, np.reshape(sides[1], shape).T

    def _check(self, model: Model) -> None:
        """Check the residual and its Jacobian against each other, once per model."""
        if self.__dict__.get("_checked") is model:
            return
        for q in make_trial_poses(model):
            here = self._residual(q)
            if self.jacobian is not None:
                self._compare(model, q, here)
        object.__setattr__(self, "_checked", model)

    def _compare(self, model: Model, q: Floats, here: Floats) -> None:
        """Compare the Jacobian with differences, with shorter steps if they disagree.

        If a residual curves strongly within a step, the differences are wrong and not the Jacobian; two step sizes are
        then extrapolated to zero (Richardson), (s^2 d(h / s) - d(h)) / (s^2 - 1).
        """
        given, steps = self._jacobian(model, q), choose_steps(model)
        doubts, before = None, None
        for _ in range(MOST_SHORTER + 1):
            ahead, behind = self._step_both_ways(model, q, steps)
            both = (ahead - behind) / (2.0 * steps)
            sides = [(ahead - here[:, None]) / steps, (here[:, None] - behind) / steps]
            if before is not None:
                sides.append((SHORTER**2 * both - before) / (SHORTER**2 - 1.0))
            found = find_doubts(given, here, both, sides, steps)
            doubts = found if doubts is None else np.minimum(doubts, found)
            if not doubts.any():
                return
            before, steps = both, steps / SHORTER
        assert doubts is not None
        refuse_jacobian(given, self._differences(model, q), doubts, model)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_checked"}


def copy_array(q: Any) -> Floats:
    """Return a copy that the user's function may modify."""
    return np.array(q, dtype=np.float64)


def choose_steps(model: Model) -> Floats:
    """Return the difference step of each velocity [rad, or m in proportion to the body]."""
    return np.where(model.slides, STEP * model.length, STEP)


def make_trial_poses(model: Model) -> list[Floats]:
    """Return the rest pose, and a pose near it that breaks its symmetries, within the ranges."""
    rest = np.array(model.rest)
    turn = 0.3 * np.sin(1.0 + 2.7 * np.arange(model.nv)) * choose_steps(model) / STEP
    return [rest, np.array(model.clamp(model.integrate(rest, turn)))]


def check_returned(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Return the value of a user's function as float64 of the given shape."""
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(f"Custom: {what} returned {values!r}; it must return an array of numbers.") from None
    if out.shape != shape:
        if out.size == int(np.prod(shape)) and out.ndim <= 1 and what == "residual":
            return out.reshape(shape)  # one number for one row
        raise ShapeMismatch(f"Custom: {what} returned shape {out.shape}; it must be {shape}.")
    if not np.isfinite(out).all():
        raise InvalidValue(f"Custom: {what} returned a number that is not finite.")
    return out


def find_doubts(given: Floats, here: Floats, both: Floats, others: list[Floats], step: Floats) -> Floats:
    """Return the smallest deviation of each entry from all differences; 0 if one of them confirms it.

    One-sided differences confirm a Jacobian at a kink.
    """
    misses = np.minimum.reduce([np.abs(given - difference) for difference in (both, *others)])
    scale = np.maximum(np.abs(both), np.abs(given)).max(axis=1, keepdims=True, initial=0.0)
    noise = 1e-15 * np.abs(here)[:, None] / step
    return np.where(misses > AGREE * scale + 10.0 * noise, misses, 0.0)


def refuse_jacobian(given: Floats, both: Floats, doubts: Floats, model: Model) -> None:
    """Raise `InvalidValue` for a Jacobian that disagrees with all differences, with its worst entry."""
    row, column = (int(i) for i in np.unravel_index(np.argmax(doubts), doubts.shape))
    raise InvalidValue(
        f"Custom: jacobian[{row}, {column}] is {given[row, column]:.6g} but differences of the residual give "
        f"{both[row, column]:.6g} (velocity {column} is of joint {find_joint(model, column)!r}). Columns are "
        "derivatives per velocity (nv), not per number of q; leave jacobian out to use differences."
    )


def find_joint(model: Model, column: int) -> str:
    """Return the joint of a velocity."""
    return next(j.name for j in model.joints if not j.mimic and j.v.start <= column < j.v.stop)
