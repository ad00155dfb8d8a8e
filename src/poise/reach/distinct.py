"""Distinct poses: the rule that decides whether two poses are the same answer.

Poses are the same if no joint differs by more than a tolerance. Several answers of a solve differ in some joint by more
than 0.1 rad (0.1 L for slides). Poses that differ by whole turns are the same, and the one nearest to the start is
kept, unless turns are requested (turns.py). native/run/alike.h defines the tolerances, and applies the same rule to
lists and batches.
"""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.model.joints.kinds import Primitive
from poise.model.joints.primitives import make_kernel_table
from poise.model.memo import MemoSlot
from poise.native import core

__all__ = ["DISTINCT", "TURN", "DistinctAnswers", "Measure", "find_periods", "measure_apart", "remove_turns"]

What = TypeVar("What")
DISTINCT = core.DISTINCT  # rad, or times L in m
TURN = 2.0 * np.pi
PERIODS = MemoSlot[Floats]("periods of the joints")


def find_periods(model: Model) -> Floats:
    """Return the motion of each degree of freedom (nv,) after which the pose is the same: a turn, or 0 if never."""
    return model.memo.get(PERIODS, lambda: read_periods(model))


def read_periods(model: Model) -> Floats:
    """Compute the value of `find_periods`. Followers of a joint turn with it, some of them several times."""
    rows = make_kernel_table(model.layout)
    gains: dict[int, list[float]] = {}
    for (kind, *_, v), (gain, *_) in zip(rows["ints"], rows["numbers"].tolist(), strict=True):
        if gain != 0.0:
            gains.setdefault(v, []).append(abs(gain) if kind == Primitive.TURN else np.nan)
    out = np.zeros(model.nv)
    for v, own in gains.items():
        ratios = np.array(own) / min(own)
        out[v] = TURN / min(own) if (np.abs(ratios - np.round(ratios)) < 1e-9).all() else 0.0
    out.setflags(write=False)
    return out


def measure_apart(d: Floats, unit: Floats) -> Floats:
    """Return the distance between poses: the largest difference of a joint (..., n), in its unit (n,)."""
    return np.asarray(np.abs(d / unit).max(axis=-1, initial=0.0))


def remove_turns(d: Floats, turn: Floats) -> Floats:
    """Return joint differences (..., n) modulo the turn of each joint (n,); 0 keeps whole turns."""
    whole = np.where(turn > 0.0, turn, 1.0)
    return np.asarray(np.where(turn > 0.0, d - whole * np.round(d / whole), d))


class Measure:
    """The distance between poses of a body, and the test for the same answer.

    Args:
        model: The body.
        turns: Whether poses that differ by whole turns are different answers.
    """

    def __init__(self, model: Model, *, turns: bool = False) -> None:
        self.model = model
        self._unit = np.where(~model.slides, 1.0, model.length)
        self._period = np.zeros(model.nv) if turns else find_periods(model)

    def measure_way(self, a: Floats, b: Floats) -> Floats:
        """Return the largest motion of a joint between poses (..., nq) [rad, or m over L]."""
        return measure_apart(self._subtract(a, b), self._unit)

    def find_alike(self, a: Floats, b: Floats) -> NDArray[np.bool_]:
        """Return whether poses (..., nq) are the same answer."""
        apart = measure_apart(remove_turns(self._subtract(a, b), self._period), self._unit)
        return np.asarray(apart <= DISTINCT)

    def _subtract(self, a: Floats, b: Floats) -> Floats:
        one, other = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        return np.asarray(self.model.difference(one, other))


class DistinctAnswers(Generic[What]):
    """The distinct answers of one problem, each with an object.

    Args:
        measure: The distance between poses.
        start: The start of the solve.
    """

    def __init__(self, measure: Measure, start: Floats) -> None:
        self._measure, self._start = measure, start
        self._q: list[Floats] = []
        self._what: list[What] = []

    def __len__(self) -> int:
        return len(self._q)

    def add(self, q: Floats, what: What) -> None:
        """Add an answer unless a similar one exists; of answers whole turns apart, keep the nearest to the start."""
        others = np.array(self._q).reshape(-1, self._measure.model.nq)
        alike = np.flatnonzero(self._measure.find_alike(q, others))
        own = float(self._measure.measure_way(self._start, q))
        for k in alike.tolist():
            if own >= self._measure.measure_way(self._start, self._q[k]) - DISTINCT:
                return
        for k in reversed(alike.tolist()):
            del self._q[k], self._what[k]
        self._q.append(q)
        self._what.append(what)

    def sort(self) -> list[What]:
        """Return the objects of the answers, nearest to the start first."""
        ways = [float(self._measure.measure_way(self._start, q)) for q in self._q]
        return [self._what[k] for k in sorted(range(len(ways)), key=ways.__getitem__)]
