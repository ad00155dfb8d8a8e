"""The driver of methods.Scipy: SciPy's optimiser over the kernels' residual and Jacobian."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import INDEX_NAME, InvalidValue, MissingExtra
from poise.goals import Goal
from poise.methods.scipy import LEAST_SQUARES, WITHOUT_BOUNDS, Scipy
from poise.model import Model
from poise.native import core
from poise.native.answer import Answer, make_answer
from poise.solvers.drivers.inside import bring_inside, list_plain
from poise.solvers.options import MOST, Options
from poise.solvers.report.history import record_states
from poise.solvers.table import make_native_table

__all__ = ["BlackBox"]

Outcome = core.Outcome


class Spent(Exception):
    """Raised when the optimiser has used all steps."""


class Tried:
    """The poses that an optimiser evaluates. Each after the first counts as a step."""

    def __init__(self, max_steps: int) -> None:
        self.steps = -1
        self.residual = self.best = self._last = np.zeros(0)
        self._slope: tuple[Floats, Floats] | None = None
        self._least, self._most = np.inf, max_steps

    def is_last(self, x: Floats) -> bool:
        """Return whether x is the last evaluated point, as for a gradient at the same point."""
        return self.steps >= 0 and np.array_equal(x, self._last)

    def count(self) -> None:
        """Count one more evaluation; raise Spent beyond the limit."""
        if self.steps >= self._most:
            raise Spent
        self.steps += 1

    def keep(self, x: Floats, residual: Floats) -> None:
        """Store the residual at x, and x if it is the best so far."""
        self._last, self.residual = x.copy(), residual
        cost = float(residual @ residual)
        if cost < self._least or not self.best.size:
            self.best, self._least = x.copy(), cost

    def find_slope(self, x: Floats, find: Callable[[Floats], Floats]) -> Floats:
        """Return the Jacobian at x, computed once for the gradient and the Hessian."""
        if self._slope is None or not np.array_equal(x, self._slope[0]):
            self._slope = x.copy(), find(x)
        return self._slope[1].copy()


class BlackBox:
    """A driver of SciPy's optimisers with the interface of `native.core.Solver`."""

    def __init__(self, model: Model, goals: Mapping[str, Goal], options: Options, method: Scipy) -> None:
        try:
            import scipy.optimize
        except ImportError:
            raise MissingExtra(f"methods.Scipy needs SciPy. Type: pip install '{INDEX_NAME}[scipy]'") from None
        self._scipy = scipy.optimize
        self._model, self._options, self._method = model, options, method
        refuse_options(options)
        table = make_native_table(model, goals, options)
        self._table = table
        self._native = core.Solver(model.native_body, table)
        self._seen: list[Mapping[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)  # restart, advance, state, rows_jacobian, sizes of the kernels

    def solve(self, start: ArrayLike, targets: Mapping[str, Any] | None) -> Answer:
        """See native.core.Solver.solve."""
        begun = time.perf_counter()
        q0 = bring_inside(self._model, start, self._options)
        self._native.restart(q0, targets)
        self._seen = []
        moving = self._native.rows_jacobian(q0)[2]
        tried = Tried(self._options.max_steps)
        moves = np.isin(np.arange(len(q0)), self._find_moving(moving))

        def free(x: Floats) -> Floats:
            step = np.zeros(self._model.nv)
            step[moving] = x
            return np.where(moves, self._model.integrate(q0, step), q0)

        def at(x: Floats) -> Floats:
            return self._clamp_to_cones(free(x))

        def residual(x: Floats) -> Floats:
            if not tried.is_last(x):
                tried.count()
                tried.keep(x, np.asarray(-self._native.rows_jacobian(at(x))[1]))
                if self._options.record:
                    self._note(at(x))
            return tried.residual.copy()

        def slope(x: Floats) -> Floats:
            J = self._native.rows_jacobian(at(x))[0]
            return np.asarray(J @ self._differentiate_clamp(free(x), moving) @ self._differentiate_velocity(x, moving))

        def jacobian(x: Floats) -> Floats:
            return tried.find_slope(x, slope)

        try:
            x, done = self._optimize(residual, jacobian, q0, moving)
        except Spent:
            x, done = tried.best, False
        q = at(x)
        if self._options.limit_handling != "off":
            inside = self._clamp_to_cones(self._model.clamp(q))
            q = np.where(moves, inside, q0)
        errors = self._find_errors(q)
        reached = self._is_within(errors)
        outcome = Outcome.REACHED if reached else Outcome.STALLED if done else Outcome.OUT_OF_STEPS
        return make_answer(q, errors, outcome, tried.steps, time.perf_counter() - begun)

    def history(self) -> dict[str, Floats]:
        """See native.core.Solver.history."""
        return record_states(self._seen, len(self._table["goals"]), self._model.nq)

    # -------------------------------------------------------------------------------------------- inside

    def _optimize(self, residual: Any, jacobian: Any, q0: Floats, moving: list[int]) -> tuple[Floats, bool]:
        """Return the step that SciPy finds, and whether it converged."""
        name = self._method.optimizer
        low, high = self._find_bounds(q0, moving)
        zero = np.clip(np.zeros(len(moving)), low, high)
        if name in LEAST_SQUARES:
            free = {} if name in WITHOUT_BOUNDS else {"bounds": (low, high)}
            rows, columns = jacobian(zero).shape
            if name == "lm" and rows < columns:  # MINPACK needs at least as many residuals as unknowns: add zeros
                pad = np.zeros(columns - rows)
                found = self._scipy.least_squares(
                    lambda x: np.concatenate([residual(x), pad]),
                    zero,
                    lambda x: np.vstack([jacobian(x), np.zeros((columns - rows, columns))]),
                    method=name,
                    max_nfev=MOST,
                    xtol=1e-12,
                )
                return found.x, found.status > 0
            found = self._scipy.least_squares(
                residual, zero, jacobian, method=name, max_nfev=MOST, xtol=1e-12, ftol=1e-12, gtol=1e-12, **free
            )
            return found.x, found.status > 0
        options: dict[str, Any] = {"maxfun" if name == "TNC" else "maxiter": MOST}
        extra: dict[str, Any] = {} if name in WITHOUT_BOUNDS else {"bounds": self._scipy.Bounds(low, high)}
        if name in ("trust-ncg", "trust-constr"):
            extra["hess"] = lambda x: 2 * jacobian(x).T @ jacobian(x)
        if name == "trust-constr":
            options["sparse_jacobian"] = False  # for a few bounds, sparse algebra would take most of the time
        found = self._scipy.minimize(
            lambda x: float(residual(x) @ residual(x)),
            zero,
            jac=lambda x: 2 * jacobian(x).T @ residual(x),
            method=name,
            tol=1e-14,
            options=options,
            **extra,
        )
        return np.asarray(found.x), bool(found.success)

    def _find_bounds(self, q0: Floats, moving: list[int]) -> tuple[Floats, Floats]:
        """Return the bounds of the step: infinite if limits are off, and never empty for a start outside its range."""
        low, high = np.full(len(moving), -np.inf), np.full(len(moving), np.inf)
        if self._options.limit_handling == "off":
            return low, high
        coordinate = {v: q for q, v in list_plain(self._model)}
        for k, v in enumerate(moving):
            if v in coordinate:
                x = q0[coordinate[v]]
                low[k] = min(self._model.lower[v] - x, 0.0)
                high[k] = max(self._model.upper[v] - x, 0.0)
                if low[k] >= high[k]:
                    high[k] = low[k] + 1e-12
        return low, high

    def _find_moving(self, moving: list[int]) -> list[int]:
        """Return the indices in q of the velocities that move."""
        chosen = set(moving)
        out: list[int] = []
        for joint in self._model.joints:
            if joint.nv and chosen & set(range(joint.v.start, joint.v.stop)):
                out.extend(range(joint.q.start, joint.q.stop))
        return out

    def _differentiate_velocity(self, x: Floats, moving: list[int]) -> Floats:
        """Return d(velocity) / dx: the identity, with the right Jacobian of SO(3) in the blocks of quaternions."""
        out = np.eye(len(moving))
        place = {v: k for k, v in enumerate(moving)}
        for joint in self._model.joints:
            if joint.nv and joint.quaternion and joint.v.stop - 1 in place:
                at = [place[v] for v in range(joint.v.stop - 3, joint.v.stop)]
                out[np.ix_(at, at)] = find_right_jacobian(x[at])
        return out

    def _clamp_to_cones(self, q: Floats) -> Floats:
        """Return the nearest pose with every ball joint inside its cone, which SciPy evaluates."""
        return np.asarray(self._native.into_cones(q)) if self._table["cones"] else q

    def _differentiate_clamp(self, q: Floats, moving: list[int]) -> Floats:
        """Return the derivative of the clamp to the cones with respect to the velocities, by finite differences."""
        out, inside, h = np.eye(len(moving)), self._clamp_to_cones(q), 1e-6
        if np.array_equal(inside, q):
            return out
        place = {v: k for k, v in enumerate(moving)}
        balls = [[place[v + k] for k in range(3)] for _, v, _ in self._table["cones"] if v in place]
        for k in range(3):
            turn = np.zeros(self._model.nv)
            turn[[moving[ball[k]] for ball in balls]] = h
            ends = [self._clamp_to_cones(self._model.integrate(q, sign * turn)) for sign in (-1.0, 1.0)]
            change = (self._model.difference(inside, ends[1]) - self._model.difference(inside, ends[0])) / (2 * h)
            for ball in balls:
                out[ball, ball[k]] = change[[moving[i] for i in ball]]
        return out

    def _find_errors(self, q: Floats) -> Floats:
        self._native.restart(q, None)
        self._native.advance()
        return np.asarray(self._native.state()["errors"])

    def _is_within(self, errors: Floats) -> bool:
        tolerances = np.array([goal["tolerance"] for goal in self._table["goals"]])
        return bool((errors <= tolerances).all())

    def _note(self, q: Floats) -> None:
        self._seen.append({"errors": self._find_errors(q), "cost": self._native.state()["cost"], "q": q})


def refuse_options(options: Options) -> None:
    """Raise InvalidValue for options that SciPy's optimisers do not support."""
    ignored = {
        "mode": options.mode == "continuous",
        "time_limit": options.time_limit is not None,
        "step_limit": options.step_limit is not None,
        "stiffness": options.stiffness is not None,
        "restarts": options.restarts not in ("auto", 0),
    }
    for name, given in ignored.items():
        if given:
            value = getattr(options, name)
            raise InvalidValue(f"methods.Scipy does not know {name}={value!r}; leave it out, or use method='lm'.")


def find_right_jacobian(w: Floats) -> Floats:
    """Return the right Jacobian of SO(3): I - (1 - cos a) / a^2 [w] + (a - sin a) / a^3 [w]^2, with a = |w|."""
    a = float(np.linalg.norm(w))
    wedge = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    if a < 1e-4:
        return np.asarray(np.eye(3) - wedge / 2 + wedge @ wedge / 6)
    return np.asarray(np.eye(3) - (1 - np.cos(a)) / a**2 * wedge + (a - np.sin(a)) / a**3 * wedge @ wedge)
