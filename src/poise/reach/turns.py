"""Poses that differ by whole turns of their joints, for lists that count them separately."""

from heapq import heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.model import Model
from poise.reach.distinct import Measure, find_periods

__all__ = ["list_turned"]


def list_turned(
    model: Model, poses: Floats, start: Floats, moves: NDArray[np.bool_], most: int | None = None, limited: bool = True
) -> Floats:
    """Return poses (k, nq) with all whole turns inside the ranges, (n, nq), nearest to the start first.

    Args:
        model: The body.
        poses: The poses.
        start: The start of the solve.
        moves: Whether each degree of freedom may change, (nv,).
        most: The largest number of poses to return; all by default.
        limited: Whether joint limits apply.

    Raises:
        InvalidValue: All are requested, and a joint turns without end.
    """
    turning = moves & (find_periods(model) > 0.0)
    every = ((joint.name, joint.q.start + k, joint.v.start + k) for joint in model.joints for k in range(joint.nv))
    own = [one for one in every if turning[one[2]]]
    columns, measure, number = [q for _, q, _ in own], Measure(model), count()
    values = [[list_values(model, pose[q], start[q], v, name, most, limited) for name, q, v in own] for pose in poses]
    heap: list[tuple[float, int, int, tuple[int, ...], int, Floats]] = []
    out: list[Floats] = []

    def push(k: int, choice: tuple[int, ...], first: int) -> None:
        q = np.array(poses[k])
        q[columns] = [ways[i] for ways, i in zip(values[k], choice, strict=True)]
        heappush(heap, (float(measure.measure_way(start, q)), next(number), k, choice, first, q))

    for k in range(len(poses)):
        push(k, (0,) * len(own), 0)
    while heap and (most is None or len(out) < most):
        _, _, k, choice, first, q = heappop(heap)
        out.append(q)
        for j in range(first, len(own)):  # each combination once: no joint before `first` changes any more
            if choice[j] + 1 < len(values[k][j]):
                push(k, (*choice[:j], choice[j] + 1, *choice[j + 1 :]), j)
    return np.array(out).reshape(-1, model.nq)


def list_values(
    model: Model, value: float, near: float, v: int, joint: str, most: int | None, limited: bool
) -> list[float]:
    """Return a joint's value plus whole turns inside its range, nearest to `near` first; `most` of them if endless."""
    period = float(find_periods(model)[v])
    lower, upper = (float(model.lower[v]), float(model.upper[v])) if limited else (-np.inf, np.inf)
    if most is None and not np.isfinite(upper - lower):
        raise InvalidValue(
            f"turns=True lists every whole turn, and {joint!r} turns without end; type: "
            "solve(model, goal, solutions=8, turns=True)."
        )
    middle, reach = np.round((near - value) / period), most or 0
    least = middle - reach if not np.isfinite(lower) else np.ceil((lower - value) / period - 1e-9)
    largest = middle + reach if not np.isfinite(upper) else np.floor((upper - value) / period + 1e-9)
    turned = np.clip(value + period * np.arange(least, largest + 1), lower, upper)
    return sorted(turned.tolist(), key=lambda x: abs(x - near)) or [value]
