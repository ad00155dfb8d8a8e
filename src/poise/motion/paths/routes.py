"""Shortest routes through layers of answers, one layer per waypoint.

The best route has the fewest reconfigurations (steps that no continuous motion makes), then the smallest largest step,
then the shortest length, then the latest reconfigurations. It is found by dynamic programming: first over
(reconfigurations, largest step), which never decreases along a route; then over (reconfigurations, length) among routes
without a larger step. So no route through the layers is better.

The size of a step is the largest change of a joint [rad; slides: relative to L], its length the Euclidean change. A
reconfiguration counts towards the length, but not towards the largest step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats

__all__ = ["RECONFIGURATION_STEP", "Steps", "choose_way"]

SAME_ANSWER, SAME_ANSWER_DIGITS = (
    1e-6,
    9,
)  # closer steps and lengths are equal, so that rounding does not decide between routes
MOST_KEPT = 4_000_000  # numbers of each kind, 64 MB in total; steps of longer paths are recomputed
RECONFIGURATION_STEP = 0.6  # rad: a larger step is a reconfiguration unless its midpoint lies between its ends


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The measure of steps between answers.

    Attributes:
        units: The unit of each joint, (n,): 1, or L for slides.
        period: The period of each joint, (n,); infinite if it is not periodic.
        jump: Steps above this size are reconfigurations ...
        known: ... except for these, decided by their midpoints: {(layer, from, to): whether it is a reconfiguration}.
        kept: A cache of sizes and lengths of the steps to a layer, with the two layers.
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
        """Return the sizes of all steps from layer t - 1 to t, lengths if `length`, and flags of reconfigurations."""
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
        """Return the size of all steps between two layers, and their length if `length` is set.

        Joints are processed one at a time, so that the memory stays in the cache.
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
        steps: The measure of steps.
        first: The distance from the start to each answer of the first layer; it counts as length.
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
    """Return for each column the row with the lowest count and then the lowest cost, with both values.

    Of rows with equal cost, one in `late` is taken: a reconfiguration is made as late as possible.
    """
    fewest = count.min(axis=0)
    asked = cost if late is None else cost - 0.1**SAME_ANSWER_DIGITS * 0.25 * late
    came = np.argmin(np.where(count == fewest, asked, np.inf), axis=0)
    return came, fewest, cost[came, np.arange(len(came))]
