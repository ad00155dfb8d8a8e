"""An oracle for strict levels: bodies that only slide, whose lexicographic optimum can be found and proved in NumPy.

With prismatic and translating joints alone every position is affine in q, so goals on positions make a hierarchy of
least-squares problems with linear inequalities, convex at every level:

    level k:  w_k = argmin |w|^2   over x, w with   low_k <= A_k x + w <= high_k,
                                                    low_i <= A_i x + w_i <= high_i  for the levels i above,  C x <= d

w_k is unique (a projection onto a convex set), whatever x is. The oracle goes down by an active-set method and stops at
points that it proves optimal: the gradient of the level is a combination of the active rows with multipliers of the
right sign (Karush, Kuhn and Tucker), found by non-negative least squares. It shares no code with the kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

import poise
from poise.goals import CenterOfMass, Goal, Inside, OnLine, OnPlane, Range, Reach, Relative
from poise.kinematics.regions import Box
from poise.limits import Coupled, Limit

Array = NDArray[np.float64]
ACTIVE = 1e-10  # a row is at its bound within this


@dataclass
class Rows:
    """Rows of one level or of the limits: low <= A x <= high."""

    A: Array
    low: Array
    high: Array

    def misses(self, x: Array) -> Array:
        """Return the correction that brings A x into the range."""
        value = self.A @ x
        return np.asarray(np.clip(value, self.low, self.high) - value)


@dataclass
class Sliding:
    """A body of sliding joints with goals by level and limits, also as rows."""

    model: poise.Model
    goals: list[Goal]
    limits: list[Limit]
    start: Array
    levels: list[Rows]
    rules: Rows
    notes: list[str] = field(default_factory=list)


# ------------------------------------------------------------------------------------------------ the optimum


def one_sided(rows: Rows) -> tuple[Array, Array]:
    """Return the same inequalities as G x <= h."""
    up, down = np.isfinite(rows.high), np.isfinite(rows.low)
    return np.vstack([rows.A[up], -rows.A[down]]), np.concatenate([rows.high[up], -rows.low[down]])


def free_directions(rows: Array) -> Array:
    """Return an orthonormal basis of the null space of all rows, as columns."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, values, right = np.linalg.svd(rows)
    rank = int((values > 1e-10 * max(values[0], 1e-300)).sum())
    return np.asarray(right[rank:].T)


def shortest(A: Array, b: Array) -> Array:
    """Return the shortest x with A x nearest to b; singular values below 1e-10 count as zero."""
    left, values, right = np.linalg.svd(A, full_matrices=False)
    large = values > 1e-10
    return np.asarray(right[large].T @ ((left[:, large].T @ b) / values[large]))


def blocked_at(G: Array, h: Array, y: Array, d: Array) -> tuple[float, int]:
    """Return the largest feasible step of y along d, at most 1, and the blocking row (-1: none)."""
    rate, room = G @ d, np.maximum(h - G @ y, 0.0)
    large = 1e-12 * np.linalg.norm(G, axis=1) * np.linalg.norm(d)
    far = np.where(rate > large, room / np.maximum(rate, 1e-300), np.inf)
    i = int(np.argmin(far))
    return (float(far[i]), i) if far[i] < 1.0 else (1.0, -1)


def proved(G: Array, h: Array, y: Array, gradient: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the part of -gradient that the active rows do not balance (zero at the optimum), and the active rows."""
    at = np.flatnonzero(h - G @ y <= ACTIVE * (1.0 + np.abs(h)))
    u = nnls(G[at].T, -gradient, maxiter=100 * (len(at) + 10))[0] if len(at) else np.zeros(0)
    return np.asarray(-gradient - G[at].T @ u), at


def least(M: Array, G: Array, h: Array, y: Array) -> Array:
    """Return argmin |M y|^2 over G y <= h from a feasible y, proved optimal."""
    size = 1.0 + float(np.linalg.norm(M @ y))
    some = np.linalg.norm(G, axis=1) > 1e-12  # a row that is only rounding can neither be satisfied nor violated
    G, h = G[some], h[some]
    held: list[int] = []
    for _ in range(2000):
        Z = free_directions(G[held])
        step = Z @ shortest(M @ Z, -(M @ y))
        if np.linalg.norm(M @ step) > 1e-12 * size:
            share, row = blocked_at(G, h, y, step)
            y = y + share * step
            if row < 0:
                continue
            held.append(row)
            continue
        d, at = proved(G, h, y, M.T @ (M @ y))
        if np.linalg.norm(d) <= 1e-10 * size:
            return y
        share = -float((M @ d) @ (M @ y)) / float((M @ d) @ (M @ d))
        d = share * d
        share, row = blocked_at(G, h, y, d)
        y = y + share * d
        held = [int(i) for i in at if abs(G[i] @ d) <= 1e-11 * np.linalg.norm(d)]
    raise AssertionError("the oracle did not come to an end")


def strict_optimum(rules: Rows, levels: list[Rows], x: Array) -> tuple[Array, list[Array]]:
    """Return a strictly optimal x and the misses of every level, from a feasible x."""
    above, misses = [rules], []
    n = len(x)
    for level in levels:
        m = len(level.A)
        fixed = [one_sided(rows) for rows in above]
        G_above, h = np.vstack([part[0] for part in fixed]), np.concatenate([part[1] for part in fixed])
        G_own, h_own = one_sided(Rows(np.hstack([level.A, np.eye(m)]), level.low, level.high))
        G = np.vstack([np.hstack([G_above, np.zeros((len(G_above), m))]), G_own])
        M = np.hstack([np.zeros((m, n)), np.eye(m)])
        y = least(M, G, np.concatenate([h, h_own]), np.concatenate([x, level.misses(x)]))
        x, w = y[:n], y[n:]
        broken = max(np.abs(rules.misses(x)).max(), np.abs(level.misses(x) - w).max())
        assert broken < 1e-9, f"the oracle broke a rule by {broken}"
        misses.append(w)
        above.append(Rows(level.A, level.low - w, level.high - w))
    return x, misses


# ------------------------------------------------------------------------------------------------ problems


def unit(rng: np.random.Generator) -> Array:
    """Return a random direction."""
    v = rng.standard_normal(3)
    return np.asarray(v / np.linalg.norm(v))


def sliding_body(rng: np.random.Generator) -> poise.Model:
    """Return a tree of joints that slide along random axes, some along three axes at once."""
    builder = poise.ModelBuilder("sliding")
    count = int(rng.integers(3, 10))
    few = [unit(rng) for _ in range(2)]
    for i in range(count):
        parent = None if i == 0 else f"j{rng.integers(max(0, i - 3), i)}"
        turn = poise.Rotation.from_vector(rng.uniform(-2, 2, 3)) if rng.random() < 0.5 else poise.Rotation.identity()
        offset = poise.Transform(turn, rng.uniform(-0.3, 0.3, 3))
        if rng.random() < 0.1:
            builder.add_joint(f"j{i}", parent, "translation3", offset=offset, mass=rng.uniform(0, 2))
            continue
        axis = few[rng.integers(2)] if rng.random() < 0.3 else unit(rng)
        low, high = -rng.uniform(0, 0.5), rng.uniform(0, 0.5)
        ends: dict[str, Any] = {} if rng.random() < 0.2 else {"lower": low, "upper": high}
        builder.add_joint(f"j{i}", parent, "prismatic", offset=offset, axis=axis, mass=rng.uniform(0, 2), **ends)
    for i in range(3):
        builder.add_frame(f"end{i}", f"j{rng.integers(max(0, count - 4), count)}", rng.uniform(-0.2, 0.2, 3))
    return builder.build()


def affine(of: Callable[[Array], Array], n: int) -> tuple[Array, Array]:
    """Return J and c of an affine function c + J q."""
    c = of(np.zeros(n))
    return np.stack([of(e) - c for e in np.eye(n)], axis=1), c


def random_goal(rng: np.random.Generator, model: poise.Model, options: dict[str, Any]) -> tuple[Goal, Rows]:
    """Return a goal on positions, and its rows."""
    n, frame, other = model.nq, *(f"end{i}" for i in rng.choice(3, 2, replace=False))
    point = rng.uniform(-0.1, 0.1, 3)

    def place(q: Array) -> Array:
        T = model.fk(q, frame)
        return np.asarray(T[:3, :3] @ point + T[:3, 3])

    J, c = affine(place, n)
    q = rng.uniform(-0.5, 0.5, n)
    target = c + J @ q * rng.choice([0.5, 1.0, 3.0])
    weight = rng.uniform(0.3, 3.0)
    kind = rng.choice(["reach", "uneven", "ranged", "plane", "line", "box", "relative", "com"])
    if kind == "reach":
        return Reach(frame, target, point=point, weight=weight, **options), fixed(weight * J, weight * (target - c))
    if kind == "uneven":
        w = rng.uniform(0.3, 3.0, 3) * (rng.random(3) < 0.7)
        w[rng.integers(3)] = 1.0
        uneven = Reach(frame, target, point=point, weight=w, **options)
        return uneven, fixed((w[:, None] * J)[w > 0], (w * (target - c))[w > 0])
    goal: Goal
    if kind in ("ranged", "box"):
        half = rng.uniform(0.0, 0.3, 3)
        if kind == "box":
            turn = poise.Rotation.from_vector(rng.uniform(-2, 2, 3))
            box = Box(target, 2 * half + 0.01, turn)
            R, half = turn.matrix.T, half + 0.005
            goal = Inside(frame, box, point=point, weight=weight, **options)
            rows = Rows(weight * R @ J, weight * (R @ (target - c) - half), weight * (R @ (target - c) + half))
            return goal, rows
        low, high = target - c - half, target - c + half
        open_side = rng.random(3)
        low[open_side < 0.2], high[open_side > 0.8] = -np.inf, np.inf
        both = np.stack([low, high], axis=1)
        ranges = tuple(Range(*np.where(np.isfinite(ends), ends + c[k], ends)) for k, ends in enumerate(both))
        goal = Reach(frame, ranges, point=point, weight=weight, **options)
        return goal, Rows(weight * J, weight * low, weight * high)
    if kind == "plane":
        normal = unit(rng)
        goal = OnPlane(frame, target, normal, at=point, weight=weight, **options)
        return goal, fixed(weight * normal[None] @ J, weight * normal[None] @ (target - c))
    if kind == "line":
        along = unit(rng)
        P = np.eye(3) - np.outer(along, along)
        goal = OnLine(frame, target, along, at=point, weight=weight, **options)
        return goal, fixed(weight * P @ J, weight * P @ (target - c))
    if kind == "com":
        J, c = affine(lambda at: np.asarray(model.center_of_mass(at)), n)
        return CenterOfMass(c + J @ q, weight=weight, **options), fixed(weight * J, weight * J @ q)
    J2, c2 = affine(lambda at: np.asarray(model.fk(at, other)[:3, 3]), n)
    R_world_other = model.fk(model.rest, other)[:3, :3]
    seen = R_world_other.T @ ((c + J @ q) - (c2 + J2 @ q))
    goal = Relative(frame, other, seen, point=point, weight=weight, **options)
    return goal, fixed(weight * (J - J2), weight * (R_world_other @ seen - (c - c2)))


def fixed(A: Array, b: Array) -> Rows:
    """Return equality rows."""
    return Rows(A, b, b)


def stacked(parts: list[Rows]) -> Rows:
    """Return stacked rows."""
    return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("A", "low", "high")))


def sliding_problem(seed: int) -> Sliding:
    """Return a random body with goals in one to four levels and often coupled ranges, which the start satisfies."""
    rng = np.random.default_rng(seed)
    model = sliding_body(rng)
    n = model.nq
    low, high = np.maximum(model.lower, -0.6), np.minimum(model.upper, 0.6)
    start = rng.uniform(low, high)
    if rng.random() < 0.3:
        start = np.where(rng.random(n) < 0.5, np.where(rng.random(n) < 0.5, low, high), start)
    limits: list[Limit] = []
    rules = [Rows(np.eye(n), np.array(model.lower), np.array(model.upper))]
    single = [joint for joint in model.joints if joint.kind == "prismatic"]
    for k in range(int(rng.integers(0, 3)) if len(single) > 2 else 0):
        chosen = [single[i] for i in rng.choice(len(single), int(rng.integers(2, 4)), replace=False)]
        a = np.zeros(n)
        for joint in chosen:
            a[joint.q] = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 2.0)
        now = float(a @ start)
        ends = (now - rng.choice([0.0, rng.uniform(0, 0.3)]), now + rng.uniform(0.0, 0.3))
        given = {joint.name: float(a[joint.q][0]) for joint in chosen}
        limits.append(Coupled(given, *ends, name=f"coupled{k}"))
        rules.append(Rows(a[None], np.array([ends[0]]), np.array([ends[1]])))
    goals: list[Goal] = []
    levels = []
    for level in range(int(rng.integers(1, 5))):
        options = {"priority": level, "tolerance": 1e-12}
        drawn = [random_goal(rng, model, {**options, "name": f"g{level}{i}"}) for i in range(int(rng.integers(1, 3)))]
        goals += [goal for goal, _ in drawn]
        levels.append(stacked([rows for _, rows in drawn]))
    return Sliding(model, goals, limits, start, levels, stacked(rules))
