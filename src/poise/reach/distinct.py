"""Distinct poses: the rule that decides whether two poses are the same answer.

Poses are the same if no joint differs by more than a tolerance. Several answers of a solve differ in some joint by more
than 0.1 rad (0.1 L for slides). Guessed poses of a chain are branches, like those of a closed form: poses that differ
by whole turns are the same, and the one nearest to the start is kept. native/run/alike.h defines the tolerances, and
applies the same rule to lists and batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.model.chain import Axis
from poise.native import core

__all__ = ["DISTINCT", "TURN", "DistinctAnswers", "Measure", "measure_apart", "remove_turns"]

What = TypeVar("What")
DISTINCT = core.DISTINCT  # rad, or times L in m
TURN = 2.0 * np.pi


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
        axes: The axes of a chain with guessed poses; whole turns about them are ignored.
    """

    def __init__(self, model: Model, axes: Sequence[Axis] = ()) -> None:
        self.model = model
        self._unit = np.where(~model.slides, 1.0, model.length)
        self._turn = np.zeros(model.nv)
        for axis in axes:
            joint = model.joint(axis.joint)
            if not axis.slides and axis.upper - axis.lower > TURN - DISTINCT:
                self._turn[joint.v.start + axis.q - joint.q.start] = TURN / abs(axis.gain)

    @property
    def turns(self) -> bool:
        """Whether poses that differ by whole turns are the same answer."""
        return bool(self._turn.any())

    def measure_way(self, a: Floats, b: Floats) -> Floats:
        """Return the largest motion of a joint between poses (..., nq) [rad, or m over L]."""
        return measure_apart(self._subtract(a, b), self._unit)

    def find_alike(self, a: Floats, b: Floats) -> NDArray[np.bool_]:
        """Return whether poses (..., nq) are the same answer."""
        apart = measure_apart(remove_turns(self._subtract(a, b), self._turn), self._unit)
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
            if not self._measure.turns or own >= self._measure.measure_way(self._start, self._q[k]) - DISTINCT:
                return
        for k in reversed(alike.tolist()):
            del self._q[k], self._what[k]
        self._q.append(q)
        self._what.append(what)

    def sort(self) -> list[What]:
        """Return the objects of the answers, nearest to the start first."""
        ways = [float(self._measure.measure_way(self._start, q)) for q in self._q]
        return [self._what[k] for k in sorted(range(len(ways)), key=ways.__getitem__)]
