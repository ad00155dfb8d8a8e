"""Guesses of the poses of a transform, for chains without a closed form.

Chains of six revolute joints use the roots of a polynomial (general.py). A chain that nearly belongs to a family uses
the poses of the nearest chain of that family, with a margin for their difference. A guess may or may not be close to a
pose: a search on the model must follow. Every pose is probably near a guess, but this is not proved.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats, Indices
from poise.model.chain import Axis
from poise.model.family import GENERAL, Family, span
from poise.model.memo import MemoTable
from poise.native import core
from poise.reach.bounds import Freedom, narrow_freedom
from poise.reach.closed_forms import family_table, place_values, read_values
from poise.reach.general import GeneralSix

if TYPE_CHECKING:
    from poise.model import Model

__all__ = ["Guesses", "find_guesses", "is_off"]

OFF = 1e-5  # rad, or relative to the chain's length: farther from its family, a chain has only guesses
FINEST = 1e-4  # rad or m: accuracy of the ends of a guess's arc
MOST_CELLS = 4000


class Guesses:
    """Guesses of the poses of a chain.

    Args:
        family: The family of the chain: general, or nearly another one.
        point: The goal's point in the frame.
    """

    def __init__(self, family: Family, point: Floats) -> None:
        assert family.chain is not None
        zero = family.chain.T.copy()
        zero[:3, 3] += zero[:3, :3] @ point
        self.axes, self._zero, self.tip = family.chain.axes, zero, zero[:3, 3]
        self.unit = span(self.axes, zero[:3, 3]) or 1.0
        self._form = self._exact = None
        self._free = {0: None, 1: 0, 2: 6}[family.place]
        if family.six is not None:
            table = family_table(family, point)
            self._form = core.ClosedForm(table)
            self._exact = core.ClosedForm({**table, "point_error": 0.0, "turn_error": 0.0})

    @cached_property
    def _roots(self) -> GeneralSix | None:
        """The root finder for six revolute joints; made at the first query, since that is slower than many queries."""
        turns = len(self.axes) == 6 and not any(axis.slides for axis in self.axes)
        return GeneralSix(self.axes, self._zero) if turns else None

    def prepare(self) -> None:
        """Prepare for the first query."""
        _ = self._roots

    @property
    def free(self) -> Axis | None:
        """The free joint of a seven-joint chain; None for six joints."""
        return None if self._free is None else self.axes[self._free]

    def find(self, T: Floats, values: Floats | None = None, branch: int | None = None) -> tuple[Indices, Floats]:
        """Return guesses for transforms (n, 4, 4): the index of the transform (k,), and joint values (k, joints).

        Args:
            T: The transforms.
            values: Values of the free joint (default: some spread over its range).
            branch: The only branch of the nearest chain to return.
        """
        found = [] if self._roots is None else [self._roots.find(T)]
        if self._form is not None:
            at = self.spread(8) if values is None else values
            R, p = T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]
            rows = self._form.near(R.copy(), p.copy(), at, False)
            rows = rows if branch is None else rows[rows["branch"] == branch]
            found.append((rows["target"].astype(np.intp), rows["joints"][:, : len(self.axes)]))
        return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])

    def lists_all(self, T: Floats) -> bool:
        """Return whether `find` certainly lists every pose of a transform (4, 4)."""
        return False

    def spread(self, count: int) -> Floats:
        """Return values of the free joint spread over its range; a single zero without a free joint."""
        free = self.free
        if free is None:
            return np.zeros(1)
        half = free.half if free.slides else min(free.half, np.pi)
        middle = (np.arange(count) + 0.5) / count
        return np.asarray(free.middle - half + 2.0 * half * middle)

    def find_arcs(self, T: Floats) -> list[core.Arc]:
        """Return the arcs of the nearest chain of the family."""
        if self._exact is None:
            return []
        return self._exact.whole_arcs(T[:3, :3].copy(), T[:3, 3].copy(), FINEST, MOST_CELLS)[0].arcs

    def read(self, values: Floats, start: Floats) -> Floats:
        """Return q (k, nq) of joint values, shifted by whole turns into the range and nearest to the start."""
        return place_values(self.axes, values, start)

    def bring_inside(self, model: Model, q: Floats) -> Floats:
        """Return configurations (..., nq) with the chain's joints inside their ranges, and the others unchanged."""
        own = [axis.q for axis in self.axes if np.isfinite(axis.lower) or np.isfinite(axis.upper)]
        out = np.array(q)
        out[..., own] = model.clamp(q)[..., own]
        return out

    def write(self, q: Floats) -> Floats:
        """Return the joint values of configurations (..., nq)."""
        return read_values(self.axes, q)


def is_off(family: Family) -> bool:
    """Return whether a chain is so far from its family that the closed form gives only guesses."""
    if family.chain is None or family.six is None:
        return False
    length = span(family.chain.axes, family.chain.T[:3, 3])
    return family.turn_error > OFF or family.point_error > OFF * length


GUESSES = MemoTable[tuple[str, tuple[float, ...], Freedom], Guesses]("guesses")


def find_guesses(model: Model, family: Family, point: tuple[float, ...], freedom: Freedom) -> Guesses | None:
    """Return the guesses of a chain; None if a closed form lists its poses, or if it has neither."""
    if family.name != GENERAL and not family.near and not is_off(family):
        return None
    key = (family.frame, point, narrow_freedom(model, freedom, family.frame))
    return model.memo.look_up(GUESSES, key, lambda: Guesses(family, np.array(point)))
