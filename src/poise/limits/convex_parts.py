"""Convex parts of a body: how deep its solids are inside each other, and in which direction they part soonest.

    overlap(n) = h_B(n) + h_A(-n)        metres; h is the support function, n a unit vector from B to A
    depth      = min over n of overlap(n)        negative if the solids are apart: the distance between them

Every solid is the convex hull of its support points (`poise.limits.support_points`), which lie on it: so the depth is
that of the shapes themselves to a millimetre or two, whereas capsules that contain a mesh stand out by centimetres. The
least overlap is searched over directions of a sphere, then near the best one. Source: Cameron and Culley, Determining
the minimum translational distance between two convex polyhedra, 1986.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

__all__ = ["ConvexParts", "Overlaps", "Ways", "find_convex_parts"]

Indices = NDArray[np.intp]
Ways = dict[tuple[int, int], Floats]  # directions of the world by group and pose
BLOCK_POSES = 1024  # poses measured at once
BLOCK_GAPS = 1 << 20  # pairs and poses whose gaps are measured roughly at once
FEW_ROWS = 64  # rows that are measured together, although they belong to different solids
BLOCK_WAYS = 1024  # directions measured at once: their numbers stay in the cache
APPROACHES = 3  # directions tried to show that two solids are apart, each towards their nearest points so far
NARROWER = (0.3, 0.15, 0.07, 0.035, 0.017)  # distances from the best direction in which better ones are searched
ASIDE = np.concatenate([np.eye(3), -np.eye(3)])  # ways to turn a direction
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
        turn: The rotation of the first solid's frame in that of the second, (n, 3, 3).
        shift: The position of the first solid's frame in that of the second, (n, 3) [m].
        axes: The rotation of the second solid's frame in the world, (n, 3, 3).
        depth: The depth of the overlap, (n,) [m]; negative if the solids are apart.
        normal: The direction in which the first solid leaves the second one, in the frame of the second, (n, 3).
        point: The middle of the first solid's points in contact, in its own frame, (n, 3) [m].
    """

    pair: Indices
    pose: Indices
    turn: Floats
    shift: Floats
    axes: Floats
    depth: Floats
    normal: Floats
    point: Floats

    def select(self, rows: NDArray[np.bool_] | Indices) -> Overlaps:
        """Return some of the rows."""
        return Overlaps(*(getattr(self, each.name)[rows] for each in fields(self)))

    def drop_apart(self, margin: float) -> Overlaps:
        """Return the rows with a gap below `margin` [m]."""
        kept = self.depth > -margin
        return self if kept.all() else self.select(kept)

    def place(self, points: Floats) -> Floats:
        """Return points of the first solid's frame, (3,) or (n, 3), in that of the second, (n, 3) [m]."""
        return (self.turn @ points[..., None])[..., 0] + self.shift


def concatenate(found: Sequence[Overlaps]) -> Overlaps:
    """Return the rows of all, by pair and pose."""
    if len(found) == 1:
        return found[0]
    joined = Overlaps(*(np.concatenate([getattr(each, f.name) for each in found]) for f in fields(Overlaps)))
    return joined.select(np.lexsort((joined.pose, joined.pair)))


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
        self.at = np.array([model.frames.index(solid.frame) for solid in solids], dtype=np.intp)
        most = max(len(solid.points) for solid in solids)
        rows = [np.resize(np.arange(len(solid.points)), most) for solid in solids]
        self.points = np.stack([solid.points[own] for solid, own in zip(solids, rows, strict=True)])
        self.balls = np.stack([solid.radius[own] for solid, own in zip(solids, rows, strict=True)])
        self.middle = 0.5 * (self.points.min(axis=1) + self.points.max(axis=1))
        found = [cover_roughly(solid) for solid in solids]
        self.ends, self.radius = np.array([ends for ends, _ in found]), np.array([radius for _, radius in found])
        self.reach = self.radius + 0.5 * np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=1)

    def measure(
        self,
        q: Floats,
        margin: float,
        before: Ways | None = None,
        *,
        times: Indices | None = None,
        steady: bool = True,
    ) -> Overlaps:
        """Return the pairs with a gap below `margin` [m] in poses (n, nq); a negative one is a depth.

        Args:
            q: The poses.
            margin: The gap.
            before: Directions in which groups parted before, as `list_ways` returns them: they are preferred.
            times: Ascending numbers of the poses, (n,): those of poses that follow each other differ by 1. By default
                all do.
            steady: Whether groups part in directions that turn little from pose to pose; otherwise every pair parts by
                the least depth.
        """
        when = np.arange(len(q)) if times is None else times
        found = []
        for first in range(0, max(len(q), 1), BLOCK_POSES):
            part = slice(first, first + BLOCK_POSES)
            rows = self._measure_block(q[part], margin)
            deep = np.flatnonzero(rows.depth > DEEP * self.model.length)
            if len(deep):
                inside = rows.select(deep)
                if steady:
                    inside = self._steady(replace(inside, pose=inside.pose + first), when, before or {})
                else:
                    inside = self._find_least(self._try(inside, AROUND_ALL @ inside.axes), np.inf)
                rows.normal[deep], rows.depth[deep] = inside.normal, inside.depth
            found.append(replace(rows, pose=rows.pose + first, point=self._find_points(rows)))
        return concatenate(found)

    def _measure_block(self, q: Floats, margin: float) -> Overlaps:
        """Return the near pairs of some poses, with the least overlaps near the directions between them."""
        T = self.model.fk(q)[:, self.at]
        return self._find_least(self._find_near(self._place(T, margin), margin), margin)

    def _steady(self, rows: Overlaps, times: Indices, before: Ways) -> Overlaps:
        """Return rows whose groups part in directions that turn little from pose to pose."""
        span = int(times[-1]) + 2  # a number is left between groups
        keys, first, of = np.unique(
            self.groups[rows.pair] * span + times[rows.pose], return_index=True, return_inverse=True
        )
        most = np.full((len(keys), len(AROUND_ALL)), -np.inf)
        np.maximum.at(most, of, self._measure(rows, AROUND_ALL @ rows.axes))
        for k, row in enumerate(first.tolist()) if before else ():
            way = before.get((int(self.groups[rows.pair[row]]), int(rows.pose[row])))
            if way is not None:
                most[k] += TURN * self.model.length * measure_angles(way)
        best = choose_ways(most, keys, TURN * self.model.length)
        normal = (AROUND_ALL[best[of], None] @ rows.axes)[:, 0]
        rows = replace(rows, normal=normal, depth=self._measure(rows, normal[:, None])[:, 0])
        return self._find_least(rows, np.inf)

    def follow(self, rows: Overlaps, q: Floats) -> Overlaps:
        """Return rows of single poses in a new pose (nq,): contacts keep their points and planes."""
        one, other = self.at[self.pairs[rows.pair]].T
        T = self.model.fk(q)
        a, b = T[one], T[other]
        back = np.swapaxes(b[:, :3, :3], 1, 2)
        shift = (back @ (a[:, :3, 3:] - b[:, :3, 3:]))[..., 0]
        new = replace(rows, turn=back @ a[:, :3, :3], shift=shift, axes=b[:, :3, :3])
        way = (rows.normal * (new.place(rows.point) - rows.place(rows.point))).sum(axis=1)
        return replace(new, depth=rows.depth - way)

    def list_ways(self, rows: Overlaps) -> Ways:
        """Return the directions of the world in which groups part in each pose: those of their deepest pairs."""
        ways, groups = (rows.axes @ rows.normal[..., None])[..., 0], self.groups[rows.pair]
        order = [k for k in np.argsort(rows.depth) if rows.depth[k] > 0.0]
        return {(int(groups[k]), int(rows.pose[k])): ways[k] for k in order}

    def _place(self, T: Floats, margin: float) -> Overlaps:
        """Return the pairs whose capsules are near each other, for transforms of the solids (poses, solids, 4, 4)."""
        one, other = self.pairs.T
        ends = np.einsum("tnij,nkj->tnki", T[..., :3, :3], self.ends) + T[..., None, :3, 3]
        pair, pose = self._find_close(0.5 * (ends[:, :, 0] + ends[:, :, 1]), margin)
        if len(pair):
            sides = (ends[pose, solids[pair], k] for solids in (one, other) for k in (0, 1))
            near = core.segment_distances(*sides) < (self.radius[one] + self.radius[other])[pair] + margin
            pair, pose = pair[near], pose[near]
        a, b = T[pose, one[pair]], T[pose, other[pair]]
        back = np.swapaxes(b[:, :3, :3], 1, 2)
        shift = (back @ (a[:, :3, 3:] - b[:, :3, 3:]))[..., 0]
        none, zero = np.full(len(pair), np.inf), np.zeros_like(shift)
        return Overlaps(pair, pose, back @ a[:, :3, :3], shift, b[:, :3, :3], none, zero, zero)

    def _find_close(self, x: Floats, margin: float) -> tuple[Indices, Indices]:
        """Return the pairs and poses whose balls around centres (poses, solids, 3) are near each other, by pair."""
        one, other = self.pairs.T
        most, found = self.reach[one] + self.reach[other] + margin, list[Indices]()
        block = max(1, BLOCK_GAPS // max(len(one), 1))
        for first in range(0, max(len(x), 1), block):
            part = x[first : first + block]
            apart = part[:, one] - part[:, other]
            near = np.argwhere((np.einsum("tpi,tpi->tp", apart, apart) < most * most).T)
            found.append(near + np.array([0, first]))
        pair, pose = np.concatenate(found).T
        order = np.argsort(pair, kind="stable")
        return pair[order], pose[order]

    def _measure(self, rows: Overlaps, n: Floats) -> Floats:
        """Return the overlaps (n, d) along directions (n, d, 3) of the second solids' frames [m]."""
        one, other = self.pairs[rows.pair].T
        near = self._find_support(one, -n @ rows.turn)
        out: Floats = self._find_support(other, n) + near - (n @ rows.shift[:, :, None])[..., 0]
        return out

    def _find_support(self, solids: Indices, n: Floats) -> Floats:
        """Return the support functions of solids along directions (n, d, 3) of their frames, (n, d) [m]."""
        if len(n) < FEW_ROWS:
            return np.asarray((n @ np.swapaxes(self.points[solids], 1, 2) + self.balls[solids, None]).max(axis=2))
        out = np.empty(n.shape[:2])
        for solid, rows in list_equal(solids, max(1, BLOCK_WAYS // n.shape[1])):
            heights = self.solids[solid].points @ n[rows].reshape(-1, 3).T
            heights += self.solids[solid].radius[:, None]
            out[rows] = heights.max(axis=0).reshape(len(rows), -1)
        return out

    def _find_farthest(self, solids: Indices, n: Floats) -> Indices:
        """Return the points of solids that are farthest along directions (n, 3) of their frames, by index, (n,)."""
        if len(n) < FEW_ROWS:
            return np.asarray(((self.points[solids] @ n[..., None])[..., 0] + self.balls[solids]).argmax(axis=1))
        out = np.empty(len(n), dtype=np.intp)
        for solid, rows in list_equal(solids, BLOCK_WAYS):
            out[rows] = (self.solids[solid].points @ n[rows].T + self.solids[solid].radius[:, None]).argmax(axis=0)
        return out

    def _find_near(self, rows: Overlaps, margin: float) -> Overlaps:
        """Return the rows that are not shown to be apart by `margin`, with the least overlaps so far.

        The next direction is that between the points that are nearest along the present one (Gilbert, 1966).
        """
        one, other = self.pairs[rows.pair].T
        n = unit(rows.place(self.middle[one]) - self.middle[other])
        for _ in range(APPROACHES if len(n) else 0):
            one, other = self.pairs[rows.pair].T
            inward = (n[:, None] @ rows.turn)[:, 0]
            i, j = self._find_farthest(one, -inward), self._find_farthest(other, n)
            a, b = self.points[one, i], self.points[other, j]
            apart = rows.place(a) - b
            overlap = self.balls[one, i] + self.balls[other, j] - (n * apart).sum(axis=1)
            normal = np.where((overlap < rows.depth)[:, None], n, rows.normal)
            rows = replace(rows, depth=np.minimum(overlap, rows.depth), normal=normal)
            rows = replace(rows, point=unit(n + unit(apart))).drop_apart(margin)
            n = rows.point
        if len(n):  # the normals of boxes and cylinders
            axes = np.concatenate([np.broadcast_to(np.eye(3), rows.turn.shape), np.swapaxes(rows.turn, 1, 2)], axis=1)
            rows = self._try(rows, np.concatenate([axes, -axes], axis=1)).drop_apart(margin)
        return rows

    def _find_least(self, rows: Overlaps, margin: float) -> Overlaps:
        """Return the least overlaps near the directions found so far, of pairs that are not apart by `margin`."""
        for width in NARROWER:
            if not len(rows.pair):
                break
            rows = self._try(rows, unit(rows.normal[:, None] + width * ASIDE)).drop_apart(margin)
        return rows

    def _try(self, rows: Overlaps, ways: Floats) -> Overlaps:
        """Return the rows with the best of their directions and others (n, d, 3)."""
        overlaps, every = self._measure(rows, ways), np.arange(len(rows.pair))
        lowest = overlaps.argmin(axis=1)
        found = overlaps[every, lowest]
        normal = np.where((found < rows.depth)[:, None], ways[every, lowest], rows.normal)
        return replace(rows, normal=normal, depth=np.minimum(found, rows.depth))

    def _find_points(self, rows: Overlaps) -> Floats:
        """Return the middle of the deepest points of the first solids, in their frames, (n, 3) [m]."""
        one = self.pairs[rows.pair, 0]
        inward, points = (rows.normal[:, None] @ rows.turn)[:, 0], self.points[one]
        heights = (points @ inward[..., None])[..., 0] - self.balls[one]
        weights = np.exp((heights.min(axis=1, keepdims=True) - heights) / (EDGE * self.model.length))
        weights /= weights.sum(axis=1, keepdims=True)
        balls = (weights * self.balls[one]).sum(axis=1, keepdims=True)
        out: Floats = (weights[:, None] @ points)[:, 0] - balls * inward
        return out


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
        if of[i] != of[j]
        and steps[frozenset((of[i], of[j]))] > 1
        and (names is None or frozenset((of[i], of[j])) not in names)
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


def list_equal(values: Indices, most: int) -> Iterator[tuple[int, Indices]]:
    """Return every value and the indices at which it occurs, at most so many at once."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        for first in range(0, len(rows), most):
            yield int(values[rows[0]]), rows[first : first + most]


def choose_ways(overlaps: Floats, keys: Indices, turn: float) -> Indices:
    """Return the directions with the least overlaps (n, directions) that turn little from each pose to the next.

    A turn by one radian costs as much as an overlap of `turn` [m]. Consecutive poses have consecutive `keys`, (n,); a
    pose after a gap begins anew. The best sequence is found by dynamic programming (Viterbi, 1967).
    """
    if len(keys) == 1:
        return np.asarray(overlaps.argmin(axis=1))
    angles = np.array([measure_angles(way) for way in AROUND_ALL])
    before, cost = np.tile(np.arange(len(angles)), (len(keys), 1)), overlaps[0]
    out, follows = np.zeros(len(keys), dtype=np.intp), np.diff(keys, prepend=-2) == 1
    ends = {}
    for t in range(len(keys)):
        if follows[t]:
            ways = cost + turn * angles
            before[t], cost = ways.argmin(axis=1), ways.min(axis=1) + overlaps[t]
        else:
            cost = overlaps[t]
        if t + 1 == len(keys) or not follows[t + 1]:
            ends[t] = int(cost.argmin())
    for t in reversed(range(len(keys))):
        out[t] = ends[t] if t in ends else before[t + 1][out[t + 1]]
    return out


def measure_angles(way: Floats) -> Floats:
    """Return the angles between a unit vector and all directions [rad]."""
    out: Floats = np.arccos(np.clip(AROUND_ALL @ way, -1.0, 1.0))
    return out


def unit(x: Floats) -> Floats:
    """Return vectors of length 1; the z axis for those without length."""
    length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return np.where(length > 0.0, x / np.maximum(length, 1e-300), np.array([0.0, 0.0, 1.0]))
