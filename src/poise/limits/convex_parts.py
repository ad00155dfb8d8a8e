"""Convex parts of a body: how deep its solids are inside each other, and in which direction they part soonest.

    overlap(n) = h_B(n) + h_A(-n)        metres; h is the support function, n a unit vector from B to A
    depth      = min over n of overlap(n)        negative if the solids are apart: the distance between them

Every solid is the convex hull of its support points (`poise.limits.support_points`), which lie on it: so the depth is
that of the shapes themselves to a millimetre or two, whereas capsules that contain a mesh stand out by centimetres. The
least overlap is searched over directions of a sphere, then near the best one. Source: Cameron and Culley, Determining
the minimum translational distance between two convex polyhedra, 1986.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.limits.pairs import NEAR_STEPS, count_steps, find_next_above
from poise.limits.support_points import SupportPoints, find_support_points, spread_directions
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.native import core

__all__ = ["ConvexParts", "Overlaps", "find_convex_parts"]

Indices = NDArray[np.intp]
BLOCK_POSES = 1024  # poses measured at once
BLOCK_WAYS = 512  # directions measured at once: their numbers stay in the cache
APPROACHES = 3  # directions tried to show that two solids are apart, each towards their nearest points so far
NARROWER = (0.3, 0.12, 0.05, 0.02)  # rad: distances from the best direction in which better ones are searched
AROUND = 6  # directions at such a distance
CIRCLE = np.stack([f(2.0 * np.pi / AROUND * np.arange(AROUND)) for f in (np.cos, np.sin)], axis=1)
AROUND_ALL = spread_directions()
HULL_ERROR = 1e-3  # of L: of a solid's convex hull
REST_DEPTH = 1e-3  # of L: deeper overlaps at rest are due to the shapes
DEEP = 3e-3  # of L: for deeper overlaps, all directions are searched
TURN = 0.05  # of L: overlap that is accepted to turn a direction by one radian less from pose to pose
EDGE = 3e-3  # of L: points this near to the deepest one share the contact


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of solids that are near each other, one row for each pair and pose.

    Attributes:
        pair: The index of the pair, (n,), in ascending order.
        pose: The index of the pose, (n,), in ascending order for each pair.
        depth: The depth of the overlap, (n,) [m]; negative if the solids are apart.
        normal: The direction in which the first solid leaves the second one, in the frame of the second, (n, 3).
        point: The middle of the first solid's points in contact, in its own frame, (n, 3) [m].
        place: The same point in the frame of the second solid, (n, 3) [m].
        turn: The rotation of the first solid's frame in that of the second, (n, 3, 3).
    """

    pair: Indices
    pose: Indices
    depth: Floats
    normal: Floats
    point: Floats
    place: Floats
    turn: Floats

    def select(self, rows: NDArray[np.bool_] | Indices) -> Overlaps:
        """Return some of the rows."""
        return Overlaps(*(getattr(self, each.name)[rows] for each in fields(self)))


class ConvexParts:
    """The solids of a body and the pairs of them that can collide.

    Attributes:
        model: The body.
        solids: The solids.
        pairs: The indices of the solids of each pair, (m, 2).
        groups: A number for each pair, (m,): pairs with the same number part in similar directions, because the same
            limb moves out of neighbouring solids.
    """

    def __init__(
        self, model: Model, solids: tuple[SupportPoints, ...], pairs: Indices, groups: Indices | None = None
    ) -> None:
        self.model, self.solids, self.pairs = model, solids, pairs
        self.groups = np.arange(len(pairs)) if groups is None else groups
        self.names = list(dict.fromkeys(solid.frame for solid in solids))
        self.at = np.array([self.names.index(solid.frame) for solid in solids], dtype=np.intp)
        self.middle = np.array([0.5 * (s.points.min(axis=0) + s.points.max(axis=0)) for s in solids]).reshape(-1, 3)
        found = [cover_roughly(solid) for solid in solids]
        self.ends, self.radius = np.array([ends for ends, _ in found]), np.array([radius for _, radius in found])
        self.reach = self.radius + 0.5 * np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=1)

    def measure(self, q: Floats, margin: float) -> Overlaps:
        """Return the pairs with a gap below `margin` [m] in poses (n, nq); negative for depths above it."""
        blocks = [self._measure_block(q[t : t + BLOCK_POSES], t, margin) for t in range(0, len(q), BLOCK_POSES)]
        found = [each for block in blocks for each in block]
        if not found:
            none = np.zeros(0, dtype=np.intp)
            return Overlaps(none, none, np.zeros(0), *(np.zeros((0, 3)) for _ in range(3)), np.zeros((0, 3, 3)))
        joined = Overlaps(*(np.concatenate([getattr(each, f.name) for each in found]) for f in fields(Overlaps)))
        return joined.select(np.lexsort((joined.pose, joined.pair)))

    def _measure_block(self, q: Floats, first: int, margin: float) -> list[Overlaps]:
        """Return the near pairs of some poses, the first of which has a given index."""
        T = self.model.fk(q, self.names)
        near = list[tuple[int, SolidPair]]()
        for pair, poses in self._find_candidates(T, margin):
            one, other = self.pairs[pair]
            a, b = T[poses, self.at[one]], T[poses, self.at[other]]
            both = SolidPair.place(self.solids[one], self.solids[other], a, b, poses)
            both = both.find_near(self.middle[one], self.middle[other], margin)
            if len(both.poses):
                near.append((pair, both))
        least = dict[int, Floats]()  # the overlaps of each group along the directions of the world, (poses, directions)
        for k, (pair, both) in enumerate(near):
            both = both.find_least()
            near[k] = pair, both
            if (deep := both.least > DEEP * self.model.length).any():
                overlaps = least.setdefault(int(self.groups[pair]), np.full((len(q), len(AROUND_ALL)), -np.inf))
                inside = both.select(np.flatnonzero(deep))
                overlaps[inside.poses] = np.maximum(overlaps[inside.poses], inside.measure_all())
        best = {group: choose_ways(overlaps, TURN * self.model.length) for group, overlaps in least.items()}
        found = []
        for pair, both in near:
            both = both.turn_deep(best.get(int(self.groups[pair])), DEEP * self.model.length)
            both = both.select(np.flatnonzero(both.least > -margin))
            if len(both.poses):
                found.append(both.make_rows(pair, first, EDGE * self.model.length))
        return found

    def _find_candidates(self, T: Floats, margin: float) -> Iterator[tuple[int, Indices]]:
        """Return the pairs whose capsules are near each other in some poses, with these poses."""
        own, (one, other) = T[:, self.at], self.pairs.T
        ends = np.einsum("tnij,nkj->tnki", own[..., :3, :3], self.ends) + own[..., None, :3, 3]
        x = 0.5 * (ends[:, :, 0] + ends[:, :, 1])
        apart = x[:, one] - x[:, other]
        most = self.reach[one] + self.reach[other] + margin
        pair, pose = np.nonzero((np.einsum("tpi,tpi->tp", apart, apart) < most * most).T)
        if not len(pair):
            return
        sides = (ends[pose, solids[pair], k] for solids in (one, other) for k in (0, 1))
        near = core.segment_distances(*sides) < (self.radius[one] + self.radius[other])[pair] + margin
        pair, pose = pair[near], pose[near]
        starts = np.flatnonzero(np.diff(pair, prepend=-1))
        for k, poses in zip(pair[starts], np.split(pose, starts[1:]), strict=True):
            yield int(k), poses


def cover_roughly(solid: SupportPoints) -> tuple[Floats, float]:
    """Return the ends (2, 3) and radius of a capsule around a solid, along its longest axis [m]."""
    middle = 0.5 * (solid.points.min(axis=0) + solid.points.max(axis=0))
    off = solid.points - middle
    axis = np.linalg.eigh(off.T @ off)[1][:, -1]
    along = off @ axis
    across = float(np.linalg.norm(off - along[:, None] * axis, axis=1).max())
    half = max(float(np.abs(along).max()) - across, 0.0)
    nearest = np.clip(along, -half, half)[:, None] * axis
    radius = float((np.linalg.norm(off - nearest, axis=1) + solid.radius).max())
    return middle + np.array([[-half], [half]]) * axis, radius


@dataclass(frozen=True, eq=False)
class SolidPair:
    """Two solids in some poses.

    Attributes:
        one: The first solid.
        other: The second solid.
        poses: The indices of the poses, (n,).
        turn: The rotation of the first solid's frame in that of the second, (n, 3, 3).
        shift: The position of the first solid's frame in that of the second, (n, 3) [m].
        axes: The rotation of the second solid's frame in the world, (n, 3, 3).
        least: The least overlap found so far, (n,) [m].
        normal: Its direction, in the frame of the second solid, (n, 3).
    """

    one: SupportPoints
    other: SupportPoints
    poses: Indices
    turn: Floats
    shift: Floats
    axes: Floats
    least: Floats
    normal: Floats

    @classmethod
    def place(cls, one: SupportPoints, other: SupportPoints, a: Floats, b: Floats, poses: Indices) -> SolidPair:
        """Return two solids whose frames are at `a` and `b`, (n, 4, 4)."""
        back = np.swapaxes(b[:, :3, :3], 1, 2)
        shift = (back @ (a[:, :3, 3:] - b[:, :3, 3:]))[..., 0]
        none = np.full(len(poses), np.inf)
        return cls(one, other, poses, back @ a[:, :3, :3], shift, b[:, :3, :3], none, np.zeros_like(shift))

    def select(self, rows: Indices) -> SolidPair:
        """Return the same solids in fewer poses."""
        names = ("poses", "turn", "shift", "axes", "least", "normal")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def measure(self, n: Floats) -> Floats:
        """Return the overlaps (n, d) along directions (n, d, 3) of the second solid's frame [m]."""
        near = find_support(self.one, -n @ self.turn)
        out: Floats = find_support(self.other, n) + near - (n @ self.shift[:, :, None])[..., 0]
        return out

    def measure_all(self) -> Floats:
        """Return the overlaps along directions of the world, spread over a sphere, (n, directions) [m]."""
        return self.measure(AROUND_ALL @ self.axes)

    def find_near(self, middle: Floats, base: Floats, margin: float) -> SolidPair:
        """Return the poses that are not shown to be apart by `margin`, with the least overlaps so far.

        The next direction is that between the points that are nearest along the present one (Gilbert, 1966).
        """
        both, n = self, unit(self.turn @ middle + self.shift - base)
        for _ in range(APPROACHES):
            far = n @ both.other.points.T + both.other.radius
            near = both.one.radius - (n[:, None] @ both.turn)[:, 0] @ both.one.points.T
            i, j, every = near.argmax(axis=1), far.argmax(axis=1), np.arange(len(n))
            overlap = near[every, i] + far[every, j] - (n * both.shift).sum(axis=1)
            better = overlap < both.least
            both = replace(
                both, least=np.minimum(overlap, both.least), normal=np.where(better[:, None], n, both.normal)
            )
            kept = np.flatnonzero(both.least > -margin)
            both, a, b = both.select(kept), both.one.points[i[kept]], both.other.points[j[kept]]
            if not len(kept):
                break
            n = unit(n[kept] + unit((both.turn @ a[..., None])[..., 0] + both.shift - b))
        return both

    def turn_deep(self, best: Indices | None, depth: float) -> SolidPair:
        """Return the overlaps deeper than `depth` [m] near given directions of the world, by index, (poses,)."""
        deep = np.flatnonzero(self.least > depth)
        if best is None or not len(deep):
            return self
        inside = self.select(deep)
        n = (AROUND_ALL[best[inside.poses], None] @ inside.axes)[:, 0]
        inside = replace(inside, normal=n, least=inside.measure(n[:, None])[:, 0]).find_least()
        n, least = self.normal.copy(), self.least.copy()
        n[deep], least[deep] = inside.normal, inside.least
        return replace(self, least=least, normal=n)

    def find_least(self) -> SolidPair:
        """Return the least overlaps near the directions found so far."""
        n, least = self.normal, self.least
        rows = np.arange(len(n))
        for width in NARROWER:
            u = unit(np.cross(n, np.eye(3)[np.abs(n).argmin(axis=1)]))
            ring = CIRCLE @ np.stack([u, np.cross(n, u)], axis=1)
            tried = np.cos(width) * n[:, None] + np.sin(width) * ring
            overlaps = self.measure(tried)
            lowest = overlaps.argmin(axis=1)
            found = overlaps[rows, lowest]
            better = found < least
            n, least = np.where(better[:, None], tried[rows, lowest], n), np.where(better, found, least)
        return replace(self, least=least, normal=n)

    def make_rows(self, pair: int, first: int, edge: float) -> Overlaps:
        """Return the overlaps of all poses; the first solid's points within `edge` [m] of its deepest share it."""
        inward = (self.normal[:, None] @ self.turn)[:, 0]
        heights = inward @ self.one.points.T - self.one.radius
        weights = np.exp((heights.min(axis=1, keepdims=True) - heights) / edge)
        weights /= weights.sum(axis=1, keepdims=True)
        point = weights @ self.one.points - (weights @ self.one.radius)[:, None] * inward
        place = (self.turn @ point[..., None])[..., 0] + self.shift
        pairs = np.full(len(self.poses), pair, dtype=np.intp)
        return Overlaps(pairs, self.poses + first, self.least, self.normal, point, place, self.turn)


@keep_with_model
def find_convex_parts(model: Model) -> ConvexParts | None:
    """Return the solids of a body that can collide, or None if it has no collision shapes, or all are joined.

    Left out are parts joined by one joint, the pairs of an SRDF, and otherwise parts that overlap in the rest pose with
    at most two joints between them.
    """
    solids = tuple(solid for solid in find_support_points(model, HULL_ERROR * model.length) if solid.solid)
    parts = find_rigid_parts(model)
    of = [parts[model.frame(solid.frame).name] for solid in solids]
    above = find_next_above(model, parts, set(of))
    steps = {frozenset(pair): count_steps(above, *pair) for pair in combinations(dict.fromkeys(of), 2)}
    disabled = model.attachments.disabled_pairs
    names = None if disabled is None else {frozenset(parts[name] for name in pair) for pair in disabled}
    rows = [
        (i, j)
        for i, j in combinations(range(len(solids)), 2)
        if of[i] != of[j] and steps[frozenset((of[i], of[j]))] > 1 and (names is None or frozenset((of[i], of[j])) not in names)
    ]
    if not rows:
        return None
    every = ConvexParts(model, solids, np.array(rows, dtype=np.intp))
    if names is not None:
        return every
    resting = every.measure(np.array(model.rest)[None], 0.0)
    deep = {rows[k] for k in resting.pair[resting.depth > REST_DEPTH * model.length]}
    lost = {frozenset((of[i], of[j])) for i, j in deep}
    kept = [row for row in rows if (key := frozenset((of[row[0]], of[row[1]]))) not in lost or steps[key] > NEAR_STEPS]
    return ConvexParts(model, solids, np.array(kept, dtype=np.intp)) if kept else None


def choose_ways(overlaps: Floats, turn: float) -> Indices:
    """Return the direction of each pose with the least overlap (poses, directions) that turns little from pose to pose.

    A turn by one radian costs as much as an overlap of `turn` [m]. Poses without overlap are -inf; the next ones begin
    anew. The best sequence is found by dynamic programming (Viterbi, 1967).
    """
    angles = np.arccos(np.clip(AROUND_ALL @ AROUND_ALL.T, -1.0, 1.0))
    out, known = np.zeros(len(overlaps), dtype=np.intp), np.isfinite(overlaps[:, 0])
    for first, end in zip(*(np.flatnonzero(np.diff(known, prepend=False, append=False)).reshape(-1, 2).T), strict=True):
        cost, before = overlaps[first], np.zeros((end - first, len(angles)), dtype=np.intp)
        for t in range(first + 1, end):
            ways = cost + turn * angles
            before[t - first] = ways.argmin(axis=1)
            cost = ways.min(axis=1) + overlaps[t]
        out[end - 1] = cost.argmin()
        for t in range(end - 1, first, -1):
            out[t - 1] = before[t - first][out[t]]
    return out


def find_support(solid: SupportPoints, n: Floats) -> Floats:
    """Return the support function of a solid along directions (..., 3) of its frame, (...) [m]."""
    ways, out = np.ascontiguousarray(n).reshape(-1, 3).T, np.empty(n[..., 0].size)
    round_ = solid.radius.any()
    for first in range(0, len(out), BLOCK_WAYS):
        heights = solid.points @ ways[:, first : first + BLOCK_WAYS]
        if round_:
            heights += solid.radius[:, None]
        heights.max(axis=0, out=out[first : first + BLOCK_WAYS])
    return out.reshape(n.shape[:-1])


def unit(x: Floats) -> Floats:
    """Return vectors of length 1; the z axis for those without length."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.where(length > 0.0, x / np.maximum(length, 1e-300), np.array([0.0, 0.0, 1.0]))
