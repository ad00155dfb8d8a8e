"""Coordinates of poses relative to an origin, and their derivatives with respect to the velocities of a body.

A chart has a number for each scalar coordinate and a rotation vector log(a^-1 b) for each ball, free and Euler joint
(see `samples`); the kernels compute both, see `kernels/body/chart.h`. Only some coordinates count when poses are
compared; the others, such as the position of a body in the world, are loose.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.arrays import Floats, Ints
from poise.kinematics.samples import SampleLayout
from poise.native import core

__all__ = ["Chart"]

LOOSE = 1.0  # rad^2, or L^2: the variance of loose coordinates about their values


@dataclass(frozen=True, slots=True)
class Chart:
    """Coordinates relative to a pose.

    Attributes:
        layout: The layout of the model's q.
        velocities: Velocity index of each coordinate, (n + 3 r,): numbers first, then three for each rotation.
        counts: Indices of the coordinates that count, (d,).
        native: The chart of the kernels.
        origin: The pose at the origin of the chart, (nq,).
        loose: The variance of each coordinate if it does not count, (n + 3 r,).
    """

    layout: SampleLayout
    velocities: Ints
    counts: Ints
    native: Any
    origin: Floats
    loose: Floats

    def __reduce__(self) -> tuple[Any, ...]:
        held = np.delete(self.velocities, self.counts)
        return Chart.about, (self.layout, self.origin, held.tolist())

    @classmethod
    def about(cls, layout: SampleLayout, origin: Floats, held: Iterable[int] = ()) -> Chart:
        """Return the chart about a pose, (nq,), in which the coordinates of all velocities but `held` count."""
        model = layout.model
        owner = {joint.q.start + k: joint.v.start + k for joint in model.joints if joint.nv for k in range(joint.nv)}
        ends = {joint.q.stop - 4: joint.v.stop - 3 for joint in model.joints if joint.nv and joint.quaternion}
        turns = [(start, ends[start], -1, -1, -1) for start in layout.quaternions]
        turns += [(start, owner[start], *("XYZ".index(letter) for letter in order)) for start, order in layout.eulers]
        at = layout.read(origin[None])
        numbers = [(int(i), owner[int(i)]) for i in layout.numbers]
        velocities = [v for _, v in numbers] + [turn[1] + k for turn in turns for k in range(3)]
        held = set(held)
        counts = [k for k, v in enumerate(velocities) if v not in held]
        place = np.full(len(velocities), -1.0)
        place[counts] = np.arange(len(counts))
        loose = LOOSE * np.where(model.slides, model.length, 1.0)[velocities] ** 2
        endless = layout.find_endless_turns().astype(np.float64)
        back = at.quaternions[0] * np.array([1.0, -1.0, -1.0, -1.0])
        native = core.Chart(
            model.nq,
            model.nv,
            np.column_stack([np.array(numbers, dtype=np.float64).reshape(-1, 2), endless, at.numbers[0]]),
            np.column_stack([np.array(turns, dtype=np.float64).reshape(-1, 5), back]),
            place,
            loose,
        )
        own = np.array(velocities, dtype=np.int64), np.array(counts, dtype=np.int64)
        return cls(layout, *own, native, np.array(origin), loose)

    def measure(self, q: Floats) -> Floats:
        """Return the coordinates of poses (..., nq) relative to the origin, (..., n + 3 r)."""
        found: Floats = self.native.measure(q)
        return found

    def differentiate(self, q: Floats) -> Floats:
        """Return the Jacobian of the coordinates with respect to the velocities, dx/dv, (n + 3 r, nv)."""
        blocks = self.native.blocks(q)
        n = len(self.velocities) - 3 * len(blocks)
        out = np.zeros((len(self.velocities), self.layout.model.nv))
        out[np.arange(n), self.velocities[:n]] = 1.0
        for k, block in enumerate(blocks):
            at, first = n + 3 * k, self.velocities[n + 3 * k]
            out[at : at + 3, first : first + 3] = block
        return out
