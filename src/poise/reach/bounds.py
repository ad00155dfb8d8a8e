"""Bounds on the distance of a frame from a fixed point: the proof behind UNREACHABLE.

The path from the world to a frame is a chain of rotations and translations; `distances.fold` bounds the distance
between a fixed point on its first axis and the goal's point. For a goal relative to another frame, the chain runs
between the two frames through their common ancestor, and the centre is a point of the other frame. The same chain
between the frames of two goals bounds the distance of their targets. Mimic joints count as independent; joints that may
not move count as if they could be anywhere, unless the configuration is given. So a bound may be loose but is never
wrong. A chain through a free base has no bound.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.goals.goal import POSE, POSITION, GoalRows
from poise.model import Model
from poise.model.chain import find_readings
from poise.model.curves.path import carry_alone
from poise.model.curves.table import find_box
from poise.model.joints.kinds import Primitive
from poise.model.joints.primitives import make_kernel_table
from poise.model.memo import MemoSlot, keep_with_model
from poise.reach.distances import BALL, SLIDE, TURN, Interval, JointMotion, find_last_pivot, fold
from poise.spatial import Rotation

__all__ = [
    "Freedom",
    "find_other_ranges",
    "find_pair_range",
    "find_pivot_range",
    "find_reachable_range",
    "find_reachable_ranges",
    "find_still",
    "fixes_the_frame",
    "narrow_freedom",
]


class Freedom(NamedTuple):
    """The joints that may move, and their limits; hashable.

    Attributes:
        moves: The degrees of freedom that may change, as bytes of a bool array.
        limited: Whether joint ranges apply.
        q: The configuration of the joints that may not move, as bytes; None if unknown.
    """

    moves: bytes
    limited: bool
    q: bytes | None = None


TABLE = MemoSlot[dict[str, Any]]("kernel table")


def find_reachable_ranges(
    model: Model, goals: Sequence[GoalRows], moves: NDArray[np.bool_], limited: bool
) -> list[list[float]]:
    """Return [goal, centre x, y, z, nearest, farthest] [m] for each goal whose position can be bounded.

    The centre is in the goal's base frame, like its target. With the movable joints inside their ranges (`limited`) and
    the others anywhere, the distance of the goal's point from the centre is between nearest and farthest.
    """
    freedom = Freedom(np.asarray(moves, dtype=bool).tobytes(), limited)
    found = [(g, find_reachable_range(model, goal, freedom)) for g, goal in enumerate(goals)]
    return [[g, *bound[0].tolist(), bound[1].near, bound[1].far] for g, bound in found if bound]


def find_other_ranges(
    model: Model, goals: Sequence[GoalRows], moves: NDArray[np.bool_], limited: bool
) -> list[list[float]]:
    """Return the other bounds: of the last pivots of goals, and of pairs of goals.

    Each is [goal, other goal or -1, centre x, y, z, local x, y, z, nearest, farthest] [m]: the distance of the point
    with offset `local` from the goal's point, in its frame's axes, to the centre or to the other goal's point.
    """
    freedom = Freedom(np.asarray(moves, dtype=bool).tobytes(), limited)
    out: list[list[float]] = []
    for g, goal in enumerate(goals):
        pivot = find_pivot_range(model, goal, freedom) if fixes_the_frame(goal) else None
        if pivot:
            local, center, interval = pivot
            out.append([g, -1, *center.tolist(), *(local - goal.point).tolist(), interval.near, interval.far])
    for (g, one), (h, other) in combinations(enumerate(goals), 2):
        apart = find_pair_range(model, one, other, freedom)
        if apart:
            out.append([g, h, *[0.0] * 6, apart.near, apart.far])
    return out


def fixes_the_frame(row: GoalRows) -> bool:
    """Return whether a goal fixes a full transform."""
    return row.op == POSE and not row.ranged and bool((row.weight > 0).all())


def find_reachable_range(model: Model, goal: GoalRows, freedom: Freedom) -> tuple[Floats, Interval] | None:
    """Return a goal's centre and distances [m], or None without a bound."""
    if not asks_for_a_place(goal):
        return None
    base = None if goal.base is None else model.frame(goal.base).name
    frame = model.frame(str(goal.frame)).name
    own = narrow_freedom(model, freedom, frame, base)
    found = find_bound(model, frame, tuple(goal.point.tolist()), base, None, own)
    return found if math.isfinite(found[1].far) else None


def find_pair_range(model: Model, one: GoalRows, other: GoalRows, freedom: Freedom) -> Interval | None:
    """Return the interval of distances between the points of two goals [m], or None without a bound."""
    if not (asks_for_a_place(one) and asks_for_a_place(other)) or one.base != other.base:
        return None
    frames = model.frame(str(one.frame)).name, model.frame(str(other.frame)).name
    points = tuple(one.point.tolist()), tuple(other.point.tolist())
    own = narrow_freedom(model, freedom, *frames[::-1])
    _, found = find_bound(model, frames[1], points[1], frames[0], points[0], own)
    return found if math.isfinite(found.far) else None


def asks_for_a_place(goal: GoalRows) -> bool:
    """Return whether a goal fixes all three coordinates of a point."""
    return goal.op in (POSITION, POSE) and not goal.ranged and min(goal.weight.tolist()[:3]) > 0.0


def narrow_freedom(model: Model, freedom: Freedom, *frames: str | None) -> Freedom:
    """Return a freedom restricted to the paths to some frames; the other joints are at rest.

    Its q is None if every joint of these paths may move.
    """
    if freedom.q is None:
        return freedom
    still = find_still(model, np.frombuffer(freedom.moves, dtype=bool), *frames)
    q = np.array(model.rest)
    q[still] = np.frombuffer(freedom.q)[still]
    return freedom._replace(q=q.tobytes() if still else None)


def find_still(model: Model, moves: NDArray[np.bool_], *frames: str | None) -> list[int]:
    """Return the indices of q that some frames depend on and that may not change."""
    return [number for number, velocity in read_ways(model, frames).items() if not moves[velocity]]


@keep_with_model
def read_ways(model: Model, frames: tuple[str | None, ...]) -> dict[int, int]:
    """Return the indices of q that frames depend on, each with its velocity index."""
    return {number: v for frame in frames if frame is not None for number, v in find_readings(model, frame).items()}


@keep_with_model
def find_bound(
    model: Model,
    frame: str,
    point: tuple[float, ...],
    base: str | None,
    start: tuple[float, ...] | None,
    freedom: Freedom,
) -> tuple[Floats, Interval]:
    """Return a point of `base` (the best one if `start` is None), and the distances of a frame's point from it."""
    body = draw(model, freedom)
    first = None if start is None else map_outward(body.find_transform(base), np.array(start))
    center, interval = fold(
        body.list_motions(base, frame), map_outward(body.find_transform(frame), np.array(point)), first
    )
    return map_inward(body.find_transform(base), center), interval


def find_pivot_range(model: Model, goal: GoalRows, freedom: Freedom) -> tuple[Floats, Floats, Interval] | None:
    """Return the pivot of the last joint before a goal's frame, the centre in the goal's base, and their distances [m].

    None if the last joint is a slide, or without a bound.
    """
    base = None if goal.base is None else model.frame(goal.base).name
    frame = model.frame(str(goal.frame)).name
    return find_pivot_bound(model, frame, tuple(goal.point.tolist()), base, narrow_freedom(model, freedom, frame, base))


@keep_with_model
def find_pivot_bound(
    model: Model, frame: str, point: tuple[float, ...], base: str | None, freedom: Freedom
) -> tuple[Floats, Floats, Interval] | None:
    """Return the value of `find_pivot_range` for a point of a frame."""
    body = draw(model, freedom)
    motions = body.list_motions(base, frame)
    if not motions or motions[-1].kind == SLIDE:
        return None
    pivot = find_last_pivot(motions, map_outward(body.find_transform(frame), np.array(point)))
    center, interval = fold(motions[:-1], pivot)
    if not math.isfinite(interval.far):
        return None
    return map_inward(body.find_transform(frame), pivot), map_inward(body.find_transform(base), center), interval


def map_outward(T: Floats, point: Floats) -> Floats:
    """Return T times a point."""
    moved: Floats = T[:3, :3] @ point + T[:3, 3]
    return moved


def map_inward(T: Floats, point: Floats) -> Floats:
    """Return the inverse of T times a point."""
    moved: Floats = T[:3, :3].T @ (point - T[:3, 3])
    return moved


def drop_shared(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    """Return two paths from the root without their common part."""
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return one[shared:], other[shared:]


# ------------------------------------------------------------------------------------------------ the body, drawn once


class Drawing(NamedTuple):
    """A body in one configuration: its frames, and the motion that each primitive allows.

    Movable joints are at zero (slides at the middle of their range), the others at their value in `q`.
    """

    motions: list[list[JointMotion]]  # for each primitive
    parents: list[int]
    frames: dict[str, tuple[int, Floats]]  # primitive and T_world_frame
    scaled: list[bool]  # for each primitive: whether a scale is above it, or it is one; no length there is known

    def list_path(self, frame: str | None) -> list[int]:
        """Return the primitives from the root to a frame."""
        out: list[int] = []
        at = -1 if frame is None else self.frames[frame][0]
        while at >= 0:
            out.append(at)
            at = self.parents[at]
        return out[::-1]

    def find_transform(self, frame: str | None) -> Floats:
        """Return T_world_frame."""
        return np.eye(4) if frame is None else self.frames[frame][1]

    def list_motions(self, base: str | None, frame: str) -> list[JointMotion]:
        """Return the path between two frames: up from `base` to their common ancestor, and down to `frame`."""
        paths = self.list_path(base), self.list_path(frame)
        if any(self.scaled[i] for path in paths for i in path):
            return [JointMotion(SLIDE, np.zeros(3), axis, -math.inf, math.inf) for axis in np.eye(3)]
        up, down = drop_shared(*paths)
        back = [motion.reverse() for i in reversed(up) for motion in reversed(self.motions[i])]
        return back + [motion for i in down for motion in self.motions[i]]


def recall_kernel_table(model: Model) -> dict[str, Any]:
    """Return the kernel table of a body; cached with the model."""
    return model.memo.get(TABLE, lambda: make_kernel_table(model.layout))


@keep_with_model
def draw(model: Model, freedom: Freedom) -> Drawing:
    """Return the frames and motions of a body; cached with the model."""
    table = recall_kernel_table(model)
    places: list[Floats] = []
    motions: list[list[JointMotion]] = []
    scaled: list[bool] = []
    for i, ints in enumerate(table["ints"]):
        scaled.append(ints[0] == Primitive.SCALE or (ints[1] >= 0 and scaled[ints[1]]))
        T = place_on(places, ints[1], table["R"][i], table["p"][i])
        allowed = find_ranges(model, ints, table["numbers"][i], freedom)
        if ints[0] == Primitive.SCALE:
            turn, found = np.eye(4), list[JointMotion]()
        elif ints[0] == Primitive.PATH:
            turn, found = run_along(table["curves"][table["curve_index"][i]], T, allowed)
        else:
            turn, found = move(ints[0], T, allowed, table["numbers"][i][2])
        places.append(T @ turn)
        motions.append(found)
    rows = zip(table["frame_names"], table["frame_primitive"], table["frame_R"], table["frame_p"], strict=True)
    frames = {name: (at, place_on(places, at, R, p)) for name, at, R, p in rows}
    return Drawing(motions, [ints[1] for ints in table["ints"]], frames, scaled)


def place_on(places: list[Floats], parent: int, R: Floats, p: Floats) -> Floats:
    """Return T_world of a frame at R, p relative to a primitive."""
    local = np.eye(4)
    local[:3, :3], local[:3, 3] = R, p
    return local if parent < 0 else places[parent] @ local


def find_ranges(model: Model, ints: list[int], numbers: Floats, freedom: Freedom) -> list[tuple[float, float]] | Floats:
    """Return the range of each of a primitive's values, or the values if it may not move and `q` is known."""
    kind, _, _, q, v = ints
    wide = 3 if kind in (Primitive.BALL, Primitive.SLIDE3) else 1
    gain, bias = float(numbers[0]), float(numbers[1])
    moves = bool(np.frombuffer(freedom.moves, dtype=bool)[v])
    if not moves and freedom.q is not None:
        values = np.frombuffer(freedom.q)[q : q + (4 if kind == Primitive.BALL else wide)]
        return gain * values + bias
    if not (moves and freedom.limited) or kind == Primitive.BALL:
        return [(bias, bias) if gain == 0.0 else (-math.inf, math.inf)] * wide
    ends = [(gain * float(model.lower[v + k]) + bias, gain * float(model.upper[v + k]) + bias) for k in range(wide)]
    return [(bias, bias) if gain == 0.0 else (min(pair), max(pair)) for pair in ends]


def run_along(
    curve: tuple[Floats, float, bool], T: Floats, allowed: list[tuple[float, float]] | Floats
) -> tuple[Floats, list[JointMotion]]:
    """Return the position of a path joint relative to T, and its motion: inside a box, with any rotation."""
    pieces, length, closed = curve
    if not isinstance(allowed, list):
        return np.array(carry_alone(pieces, length, closed).fk(np.asarray(allowed[:1]), "frame")), []
    (low, high), turn = find_box(pieces, length), np.eye(4)
    turn[:3, 3] = 0.5 * (low + high)
    at, half = (T @ turn)[:3, 3], 0.5 * (high - low)
    if not closed and not (allowed[0][0] >= 0.0 and allowed[0][1] <= length):
        half = np.full(3, math.inf)  # beyond its ends the path continues without limit
    slides = [JointMotion(SLIDE, T[:3, 3], T[:3, k], -float(x), float(x)) for k, x in enumerate(half)]
    keeps_axes = not pieces[:, 17:].any()  # x, y and z of its quaternion
    return turn, slides if keeps_axes else [*slides, JointMotion(BALL, at, T[:3, 2])]


def move(
    kind: int, T: Floats, allowed: list[tuple[float, float]] | Floats, pitch: float
) -> tuple[Floats, list[JointMotion]]:
    """Return the position of a primitive at T, relative to T, and its motion from there."""
    turn = np.eye(4)
    if not isinstance(allowed, list):
        if kind == Primitive.BALL:
            turn[:3, :3] = Rotation(allowed).matrix
        elif kind == Primitive.SLIDE3:
            turn[:3, 3] = allowed
        else:
            angle = 0.0 if kind == Primitive.SLIDE else float(allowed[0])
            c, s = math.cos(angle), math.sin(angle)
            turn[:2, :2] = [[c, -s], [s, c]]
            turn[2, 3] = {Primitive.TURN: 0.0, Primitive.SLIDE: 1.0}.get(Primitive(kind), pitch) * float(allowed[0])
        return turn, []
    at, axis = T[:3, 3], T[:3, 2]
    if kind == Primitive.BALL:
        return turn, [JointMotion(BALL, at, axis)]
    if kind == Primitive.TURN:
        return turn, [JointMotion(TURN, at, axis, *allowed[0])]
    axes = [2] if kind != Primitive.SLIDE3 else [0, 1, 2]
    slides = []
    for k, (low, high) in zip(axes, allowed, strict=True):
        rate = 1.0 if kind in (Primitive.SLIDE, Primitive.SLIDE3) else pitch
        ends = sorted((rate * low, rate * high)) if rate else [0.0, 0.0]
        middle = 0.5 * (ends[0] + ends[1]) if math.isfinite(ends[0]) and math.isfinite(ends[1]) else 0.0
        turn[k, 3] = middle
        slides.append(JointMotion(SLIDE, at, T[:3, k], ends[0] - middle, ends[1] - middle))
    return turn, slides if kind in (Primitive.SLIDE, Primitive.SLIDE3) else [
        *slides,
        JointMotion(TURN, at, axis, *allowed[0]),
    ]
