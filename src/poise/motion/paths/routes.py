"""Shortest routes through layers of answers, one layer per waypoint.

Best is the way with the fewest reconfigurations (steps that no continuous motion makes), of those the one whose largest
step is least, of those the shortest, and of those the one that reconfigures last. They are found by dynamic
programming: first (reconfigurations, largest step), which never falls along a way; then (reconfigurations, length)
among ways without a larger step. So no way through the layers is better.

A step's size is the largest change of a joint [rad; slides: of L], its length the Euclidean change. What a
reconfiguration takes counts as length, but not as a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats

__all__ = ["RECONFIGURATION_STEP", "Steps", "choose_way"]

SAME_ANSWER, SAME_ANSWER_DIGITS = (
    1e-6,
    9,
)  # steps and lengths nearer than that are the same: no way is chosen by the last bits of its answers
MOST_KEPT = 4_000_000  # numbers of each kind, 64 MB in all; longer paths are recomputed
RECONFIGURATION_STEP = 0.6  # rad: a larger step is a reconfiguration unless its midpoint lies between its ends


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """How steps between answers are measured.

    Attributes:
        units: What one is of each joint, (n,): 1, or L for slides.
        period: After how much a joint is the same again, (n,); infinite where that is not so.
        jump: Steps above this are reconfigurations ...
        known: Exceptions, found by their midpoints: {(layer, from, to): whether it is one}.
        kept: Sizes and lengths of the steps to a layer, with the two layers: a way is chosen many times.
    """

    units: Floats
    period: Floats
    jump: float = RECONFIGURATION_STEP
    known: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    kept: dict[int, tuple[Floats, Floats, Floats, Floats]] = field(default_factory=dict)

    def subtract(self, a: Floats, b: Floats) -> Floats:
        """Return b - a by joint, (n, ...), the short way around for continuous joints."""
        d = b - a
        for k in np.flatnonzero(np.isfinite(self.period)):
            d[k] -= self.period[k] * np.round(d[k] / self.period[k])
        d /= self.units.reshape(-1, *[1] * (d.ndim - 1))
        return d

    def measure(self, t: int, a: Floats, b: Floats, *, length: bool) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return of all steps from layer t - 1 to t: their size, their length if asked, whether they reconfigure."""
        own = self.kept.get(t)
        if own is not None and own[2] is a and own[3] is b:
            size, far = own[:2]
        elif (len(self.kept) + 1) * len(a) * len(b) <= MOST_KEPT:
            size, far = self.compare(a, b, length=True)
            self.kept[t] = size, far, a, b
        else:
            size, far = self.compare(a, b, length=length)
        flips = size > self.jump
        for (layer, i, j), flip in self.known.items():
            if layer == t:
                flips[i, j] = flip
        return size, far, flips

    def compare(self, a: Floats, b: Floats, *, length: bool) -> tuple[Floats, Floats]:
        """Return the size of all steps between two layers, and their length if asked.

        One joint after the other, in memory that stays in the cache.
        """
        size = np.zeros((len(a), len(b)))
        far = np.zeros_like(size) if length else size
        d, turns = np.empty_like(size), np.empty_like(size)
        for k, (unit, period) in enumerate(zip(self.units, self.period, strict=True)):
            np.subtract(b[None, :, k], a[:, k, None], out=d)
            if np.isfinite(period):
                np.round(np.divide(d, period, out=turns), out=turns)
                d -= np.multiply(turns, period, out=turns)
            if unit != 1.0:
                d /= unit
            np.maximum(size, np.abs(d, out=d), out=size)
            if length:
                far += np.multiply(d, d, out=d)
        return size, np.sqrt(far, out=far) if length else far


def choose_way(layers: Sequence[Floats], steps: Steps, first: Floats | None = None) -> tuple[list[int], list[int]]:
    """Return the best route through layers of answers: an index per layer, and the reconfigurations.

    Args:
        layers: The answers of each waypoint, (k, n); none is empty.
        steps: How steps are measured.
        first: What it takes to come to each answer of the first layer; it counts as length.
    """
    count, worst = np.zeros(len(layers[0]), dtype=np.int64), np.zeros(len(layers[0]))
    for t in range(1, len(layers)):
        size, _, flips = steps.measure(t, layers[t - 1], layers[t], length=False)
        _, count, worst = take_best(count[:, None] + flips, np.maximum(worst[:, None], np.where(flips, 0.0, size)))
    most = float(worst[count == count.min()].min()) * (1.0 + SAME_ANSWER)
    count, length = np.zeros(len(layers[0]), dtype=np.int64), np.zeros(len(layers[0])) if first is None else first
    back: list[NDArray[np.intp]] = []
    flipped: list[NDArray[np.bool_]] = []
    for t in range(1, len(layers)):
        size, far, flips = steps.measure(t, layers[t - 1], layers[t], length=True)
        barred = ~flips & (size > most)
        tried = np.where(barred, np.iinfo(np.int32).max, 0) + count[:, None] + flips
        came, count, length = take_best(tried, np.round(length[:, None] + far, SAME_ANSWER_DIGITS), flips)
        back.append(came)
        flipped.append(flips[came, np.arange(len(came))])
    fewest = count == count.min()
    at = int(np.argmin(np.where(fewest, length, np.inf)))
    way, jumps = [at], []
    for t in range(len(layers) - 1, 0, -1):
        if flipped[t - 1][at]:
            jumps.append(t)
        at = int(back[t - 1][at])
        way.append(at)
    return way[::-1], jumps[::-1]


def take_best(
    count: NDArray[np.int64], cost: Floats, late: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.int64], Floats]:
    """Return of each column the row with the least count, of those the one with the least cost, and both.

    Of rows that cost the same one of `late` is taken: a reconfiguration that may wait waits.
    """
    fewest = count.min(axis=0)
    asked = cost if late is None else cost - 0.1**SAME_ANSWER_DIGITS * 0.25 * late
    came = np.argmin(np.where(count == fewest, asked, np.inf), axis=0)
    return came, fewest, cost[came, np.arange(len(came))]
