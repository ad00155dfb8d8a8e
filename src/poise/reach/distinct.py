"""Answers that differ, each once: what `solutions=k` keeps.

Two answers are distinct where some joint differs by more than 0.1 rad (0.1 L for slides). Those of a chain whose poses
are guessed are branches, as those of a closed form are: whole turns of its joints apart they are one, and the one
nearest to the start is kept. Batches in lanes keep answers inside (native/run/batch/rows.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.model.chain import Axis

__all__ = ["DISTINCT", "Distinct", "Measure"]

What = TypeVar("What")
DISTINCT = 0.1  # radians, and times L metres
TURN = 2.0 * np.pi


class Measure:
    """Tells how far poses are apart, and whether they are one answer.

    Args:
        model: The body.
        axes: Of the chain that has guesses; whole turns about them are left aside.
    """

    def __init__(self, model: Model, axes: Sequence[Axis] = ()) -> None:
        self.model = model
        self._unit = np.where(~model.slides, 1.0, model.length)
        self._turn = np.zeros(model.nv)  # of a velocity: what of it is a whole turn; 0 where that is not left aside
        for axis in axes:
            joint = model.joint(axis.joint)
            if not axis.slides and axis.upper - axis.lower > TURN - DISTINCT:
                self._turn[joint.v.start + axis.q - joint.q.start] = TURN / abs(axis.gain)

    @property
    def turns(self) -> bool:
        """Whether poses may be whole turns apart and still be one answer."""
        return bool(self._turn.any())

    def measure_way(self, a: Floats, b: Floats) -> Floats:
        """Return the longest way of a joint between poses (..., nq): radians, or metres over L."""
        return np.asarray(np.abs(self._subtract(a, b) / self._unit).max(axis=-1, initial=0.0))

    def find_alike(self, a: Floats, b: Floats) -> NDArray[np.bool_]:
        """Whether poses (..., nq) are one answer."""
        d = self._subtract(a, b)
        turn = np.where(self._turn > 0.0, self._turn, 1.0)
        d = np.where(self._turn > 0.0, d - turn * np.round(d / turn), d)
        return np.asarray(np.abs(d / self._unit).max(axis=-1, initial=0.0) <= DISTINCT)

    def _subtract(self, a: Floats, b: Floats) -> Floats:
        one, other = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        return np.asarray(self.model.difference(one, other))


class Distinct(Generic[What]):
    """Answers of one problem, each once, and what belongs to each.

    Args:
        measure: What tells them apart.
        start: Where the solve begins.
    """

    def __init__(self, measure: Measure, start: Floats) -> None:
        self._measure, self._start = measure, start
        self._q: list[Floats] = []
        self._what: list[What] = []

    def __len__(self) -> int:
        return len(self._q)

    def add(self, q: Floats, what: What) -> None:
        """Keep an answer unless it is there; of those that are whole turns apart the nearest to the start."""
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
        """Return what was kept, nearest to the start first."""
        ways = [float(self._measure.measure_way(self._start, q)) for q in self._q]
        return [self._what[k] for k in sorted(range(len(ways)), key=ways.__getitem__)]
