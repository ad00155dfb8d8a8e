"""The poses of chains of any number of joints, for a transform, a position and a direction, or a position.

What a goal leaves free is a joint too: next to a direction a turn about it, at a position three turns about its point.
These joints come last, and have no place in q. Of all rotations as many as are independent are unknown, six at most;
the others are held at values over their ranges. If fewer are independent, further rotations are added that must not
turn: of the poses of six joints (general_six.h), those count in which they are at zero.

A slide is always held. If the goal determines it, poses near values of it are guesses, and a search must follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats, Indices
from poise.errors import InvalidValue
from poise.goals.goal import ALIGN, POSITION, ROTATION, GoalRows
from poise.model.chain import Axis, Chain, find_chain, find_readings, placement
from poise.model.family import APART, Family, draw_screws, measure_freedom
from poise.model.memo import MemoTable
from poise.native import core
from poise.reach.bounds import Freedom, asks_for_a_place, fixes_the_frame, narrow_freedom, recall_kernel_table
from poise.reach.chain_poses import ChainPoses
from poise.reach.closed_forms import make_axis_table, read_values
from poise.spatial import Rotation

if TYPE_CHECKING:
    from poise.model import Model

__all__ = ["FreeTurns", "GoalChain", "find_goal_chain", "is_in_loop", "read_free_turns"]

MOST = 16  # axes of a chain, with those that a goal leaves free
AT_ZERO = 1e-4  # rad: an added rotation that has turned less may be at zero
TURNED = Rotation.from_vector((0.9, -1.3, 0.4)).matrix  # any rotation in which no axes of a usual chain are parallel


@dataclass(frozen=True, slots=True)
class FreeTurns:
    """The turns about its point that goals leave to a frame.

    Attributes:
        frame: The frame.
        point: The point [m, in the frame].
        axes: The axes of the free turns, in the frame: none, one or three.
        place: The index of the target that is a position or a transform. turn: That of the rotation or direction.
    """

    frame: str
    point: tuple[float, ...]
    axes: tuple[tuple[float, ...], ...]
    place: int = 0
    turn: int = 0


def read_free_turns(rows: Sequence[GoalRows]) -> FreeTurns | None:
    """Return the turns that goals leave free; None unless they are a transform, or a position with or without turns."""
    if len(rows) not in (1, 2) or any(row.base is not None or row.ranged for row in rows):
        return None
    at = next((k for k, row in enumerate(rows) if asks_for_a_place(row)), None)
    if at is None or any(row.frame != rows[0].frame for row in rows):
        return None
    own, other = rows[at], rows[1 - at] if len(rows) == 2 else None
    frame, point = str(own.frame), tuple(own.point.tolist())
    if other is None:
        if own.op == POSITION:
            return FreeTurns(frame, point, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        return FreeTurns(frame, point, ()) if fixes_the_frame(own) else None
    if own.op == POSITION and (other.weight[3:] > 0.0).all() and other.op in (ALIGN, ROTATION):
        axes = (tuple(other.axis.tolist()),) if other.op == ALIGN else ()
        return FreeTurns(frame, point, axes, at, 1 - at)
    return None


class GoalChain(ChainPoses):
    """The poses of a chain for goals that leave some turns free.

    Args:
        model: The body.
        family: Describes the chain.
        free: The turns that the goals leave free.

    Attributes:
        held: The axes that are held at values, each coordinate once.
    """

    is_general, is_exact = True, True

    def __init__(self, model: Model, family: Family, free: FreeTurns) -> None:
        assert family.chain is not None
        super().__init__(model, family, np.array(free.point))
        self._free_turns = free
        turns = [make_turn(self._zero[:3, :3] @ np.array(axis), self.tip) for axis in free.axes]
        chain = replace(family.chain, axes=(*self.axes, *turns))
        screws, count = draw_screws(chain), len(self.axes)
        places = [axis.q for axis in self.axes]
        unknown = [
            k for k, axis in enumerate(chain.axes) if k >= count or not (axis.slides or places.count(axis.q) > 1)
        ]
        rank = measure_rank(screws[:, unknown])
        while len(unknown) > rank:  # ends: one joint less each time
            unknown.remove(max(filter(count.__gt__, unknown), key=lambda k: drop(screws, unknown, k, rank)))
        self.is_exact = measure_rank(screws) == rank
        held = {axis.q: axis for k, axis in enumerate(self.axes) if k not in unknown}
        self.held = tuple(held.values())
        self.free = self.held[0] if len(held) == 1 and self.is_exact else None
        self._unknown, self._chain_axes = unknown, add_axes(chain, unknown, 6 - rank, self.unit)

    @cached_property
    def _chain(self) -> core.GeneralChain | None:
        axes = self._chain_axes
        held = [k < len(self.axes) and k not in self._unknown for k in range(len(axes))]
        R = self._zero[:3, :3].ravel().tolist()
        return core.GeneralChain([make_axis_table(axis) for axis in axes], R, self.tip.tolist(), self.unit, held)

    def place(self, targets: Floats) -> Floats:
        """Return the transform of targets, (1, 4, 4), with the free turns at zero."""
        free = self._free_turns
        one, other = (targets[12 * k : 12 * k + 12] for k in (free.place, free.turn))
        R = other[:9].reshape(3, 3)
        if len(free.axes) == 3:
            R = TURNED
        elif free.axes:
            R = Rotation.between(free.axes[0], other[9:]).matrix
        return placement(R, one[9:])[None]

    def find(self, T: Floats, values: Floats | None = None, branch: int | None = None) -> tuple[Indices, Floats]:
        """Return poses or guesses of transforms; see `ChainPoses.find`."""
        return self.find_poses(T, self.spread_values(8) if values is None else values, False)[:2]

    def find_poses(self, T: Floats, values: Floats, exclude: bool = True) -> tuple[Indices, Floats, list[bool]]:
        """Return the poses of transforms at rows of values of held joints (m, held); see `ChainPoses.find_poses`."""
        assert self._chain is not None
        number = {axis.q: k for k, axis in enumerate(self.held)}
        held = [axis for k, axis in enumerate(self.axes) if k not in self._unknown]
        q = np.reshape(values, (-1, len(number))) if number else np.zeros((1, 0))
        at = np.stack([axis.gain * q[:, number[axis.q]] + axis.bias for axis in held], axis=1) if held else q
        R, p = T[:, :3, :3].reshape(-1, 9).copy(), T[:, :3, 3].copy()
        rows, complete = self._chain.find(R, p, np.ascontiguousarray(at), exclude)
        added = rows["joints"][:, len(self.axes) + len(self._free_turns.axes) : len(self._chain_axes)]
        near = (np.abs(np.sin(0.5 * added)) <= 0.5 * AT_ZERO).all(axis=1) | (not self.is_exact)
        return rows["target"][near].astype(np.intp), rows["joints"][near, : len(self.axes)], complete

    def find_along(self, T: Floats, start: Floats, count: int) -> Floats:
        """Return poses or guesses of a transform (k, joints), with the held joints as in the start and at other values.

        These are a number of values, or so many that as many of them have a pose, at most eight times the number. Of
        guesses there are four times as many.
        """
        own, count = np.array([axis.q for axis in self.held]), count if self.is_exact else 4 * count
        near = self.read(read_values(self.axes, start)[None], start)[:, own]  # whole turns away, if that is inside
        values = [axis.gain * near[0, k] + axis.bias for k, axis in enumerate(self.held)]
        inside = all(axis.lower <= v <= axis.upper for axis, v in zip(self.held, values, strict=True))
        found = [self.find(T, near)[1]] if inside else []
        some = 0
        for block in range(8 if len(self.held) > 1 and self.is_exact else 1):
            for one in self.spread_values(count, block):
                found.append(self.find(T, one[None])[1])
                some += len(found[-1]) > 0
            if some >= count:
                break
        return np.concatenate(found)

    def spread_values(self, count: int, block: int = 0) -> Floats:
        """Return rows of values of the held joints' q spread over the ranges, (count, held); each block has others."""
        if not self.held:
            return np.zeros((1, 0))
        at = np.arange(block * count, (block + 1) * count)
        ratio = max(np.roots([1.0, *[0.0] * (len(self.held) - 1), -1.0, -1.0]).real)  # of a low-discrepancy sequence
        out = []
        for k, axis in enumerate(self.held):
            half = axis.half if axis.slides else min(axis.half, np.pi)
            share = at / count if len(self.held) == 1 else at * ratio ** -(k + 1.0)
            out.append((axis.middle + half * (2.0 * ((share + 0.5 / count) % 1.0) - 1.0) - axis.bias) / axis.gain)
        return np.stack(out, axis=1)


def is_in_loop(model: Model, frame: str) -> bool:
    """Return whether joints that move a frame depend on each other through a closed loop."""
    own = find_readings(model, frame).keys()
    return any(
        own & (find_readings(model, c.frame).keys() ^ find_readings(model, c.other).keys()) for c in model.closures
    )


def make_turn(h: Floats, p: Floats, end: float = np.inf) -> Axis:
    """Return a rotation axis without a place in q."""
    return Axis("", h, p, False, -end, end, -1, 1.0, 0.0)


def measure_rank(screws: Floats) -> int:
    """Return the rank of Jacobians in the best of a few poses."""
    return int((np.linalg.svd(screws, compute_uv=False) > APART).sum(axis=-1).max(initial=0))


def drop(screws: Floats, unknown: Sequence[int], k: int, rank: int) -> float:
    """Return how well the others move the frame if a joint is held."""
    return measure_freedom(screws, [i for i in unknown if i != k], rank)


def add_axes(chain: Chain, unknown: Sequence[int], count: int, unit: float) -> tuple[Axis, ...]:
    """Return the axes of a chain and some rotations that must not turn; with the unknown ones they move every way."""
    rng, end = np.random.default_rng(0), chain.axes[-1].p
    choices = []
    for _ in range(4 if count else 1):
        h, p = rng.normal(size=(count, 3)), end + 0.3 * unit * rng.normal(size=(count, 3))
        added = [make_turn(a / np.linalg.norm(a), b, 0.0) for a, b in zip(h, p, strict=True)]
        choices.append((*chain.axes, *added))
    last = [*unknown, *range(len(chain.axes), len(chain.axes) + count)]
    return max(choices, key=lambda axes: measure_freedom(draw_screws(replace(chain, axes=axes)), last))


CHAINS = MemoTable[tuple[FreeTurns, Freedom], GoalChain]("chains of goals")


def find_goal_chain(model: Model, free: FreeTurns, freedom: Freedom) -> GoalChain:
    """Return the poses of a chain for goals that leave some turns free.

    Raises:
        InvalidValue: The poses of the chain cannot be listed.
    """
    freedom = narrow_freedom(model, freedom, free.frame)
    return model.memo.look_up(CHAINS, (free, freedom), lambda: make_goal_chain(model, free, freedom))


def make_goal_chain(model: Model, free: FreeTurns, freedom: Freedom) -> GoalChain:
    """Compute the value of `find_goal_chain`."""
    q = np.asarray(model.rest) if freedom.q is None else np.frombuffer(freedom.q)
    moves, frame = np.frombuffer(freedom.moves, dtype=bool), model.frame(free.frame).name
    chain = find_chain(model, frame, moves, q, limited=freedom.limited, table=recall_kernel_table(model))
    names = tuple(dict.fromkeys(axis.joint for axis in chain.axes))
    reason = chain.odd
    if not chain.axes and not reason:
        reason = f"no joint that may move carries {frame!r}"
    if len(chain.axes) + len(free.axes) > MOST:
        reason = f"{len(chain.axes)} joints move {frame!r}; name at most {MOST - len(free.axes)} of them: joints=[...]"
    if reason:
        raise InvalidValue(f"solve_all cannot list the poses of {frame!r}: {reason}. Type: solve(model, goals).")
    found = GoalChain(model, Family("general chain", frame, names, chain=chain), free)
    endless = [axis.joint for axis in found.held if axis.slides and not np.isfinite(axis.half)]
    if endless:
        raise InvalidValue(f"solve_all holds {endless[0]!r} at values over its range, and it slides without end.")
    held = ", ".join(dict.fromkeys(axis.joint for axis in found.held))
    found.family = replace(found.family, free=held or None)
    return found
