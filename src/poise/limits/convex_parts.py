"""Convex parts of a body: how deep its solids are inside each other, and in which direction they part soonest.

    overlap(n) = h_B(n) + h_A(-n)        metres; h is the support function, n a unit vector from B to A
    depth      = min over n of overlap(n)        negative if the solids are apart: the distance between them

Every solid is the convex hull of its support points (`poise.limits.support_points`), which lie on it: so the depth is
that of the shapes themselves to a millimetre or two, whereas capsules that contain a mesh stand out by centimetres. The
least overlap is searched over directions of a sphere, then near the best one. Source: Cameron and Culley, Determining
the minimum translational distance between two convex polyhedra, 1986.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.limits.pairs import NEAR_STEPS, LinkPairs, name_pairs
from poise.limits.support_points import AROUND, SupportPoints, find_support_points
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.native import core

__all__ = ["ConvexParts", "Overlaps", "Ways", "find_convex_parts", "find_solids"]

Indices = NDArray[np.intp]
Ways = dict[tuple[int, int], Floats]  # directions of the world by group and pose
BLOCK_POSES = 1024  # poses measured at once
HULL_ERROR = 1e-3  # of L: of a solid's convex hull
REST_DEPTH = 1e-3  # of L: deeper overlaps at rest are due to the shapes
REST_GAP = 1e-3  # of L: gap at rest of housings that are two joints apart, which turn next to each other
DEEP = 3e-3  # of L: for deeper overlaps, directions that turn little are searched
TURN = 0.05  # of L: overlap that is accepted to turn a direction by one radian less from pose to pose
EDGE = 3e-3  # of L: points this near to the deepest one share the contact


def name_column(name: str) -> Any:
    """Return the property of a column of rows."""
    return property(lambda found: found.rows[name])


class Overlaps:
    """Pairs of solids that are near each other, one row for each pair and pose.

    Args:
        rows: The rows, as `NearRow` in `native/bind/hulls.cpp`.

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

    pair: Indices = name_column("pair")
    pose: Indices = name_column("pose")
    turn: Floats = name_column("turn")
    shift: Floats = name_column("shift")
    axes: Floats = name_column("axes")
    depth: Floats = name_column("depth")
    normal: Floats = name_column("normal")
    point: Floats = name_column("point")

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows = rows

    def select(self, rows: NDArray[np.bool_] | Indices) -> Overlaps:
        """Return some of the rows."""
        return Overlaps(self.rows[rows])

    def drop_apart(self, margin: float) -> Overlaps:
        """Return the rows with a gap below `margin` [m]."""
        return self.select(self.depth > -margin)

    def replace(self, **columns: NDArray[Any]) -> Overlaps:
        """Return the rows with other values in some columns."""
        out = Overlaps(self.rows.copy())
        for name, values in columns.items():
            out.rows[name] = values
        return out

    def place(self, points: Floats) -> Floats:
        """Return points of the first solid's frame, (3,) or (n, 3), in that of the second, (n, 3) [m]."""
        return (self.turn @ points[..., None])[..., 0] + self.shift


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
        balls = [np.column_stack([solid.points, solid.radius]) for solid in solids]
        self.hulls = core.HullPairs(
            balls=np.concatenate([np.zeros((0, 4)), *balls]),
            counts=[len(each) for each in balls],
            pairs=[(int(i), int(j)) for i, j in pairs],
            capsules=np.reshape([cover_roughly(solid) for solid in solids], (-1, 7)),
            frames=self.at.tolist(),
        )

    def measure(
        self,
        q: Floats,
        margin: float,
        before: Ways | None = None,
        *,
        times: Indices | None = None,
        steady: bool = True,
        last: Floats | None = None,
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
            last: The best direction of each pair in the pose before, (m, 3), zero if unknown, and replaced by that of
                the last pose. Each pose tries the direction of the pose before first: if it shows that a pair is
                apart by `margin`, no other is tried.
        """
        when = np.arange(len(q)) if times is None else times
        way = np.zeros((len(self.pairs), 3)) if last is None else last
        blocks = list[Overlaps]()
        for first in range(0, max(len(q), 1), BLOCK_POSES):
            part = slice(first, first + BLOCK_POSES)
            found, way = self.hulls.find(self.model.fk(q[part])[:, self.at], margin, way)
            found["pose"] += first
            rows = Overlaps(found)
            deep = np.flatnonzero(rows.depth > (DEEP * self.model.length if steady else 0.0))
            if len(deep):
                inside = rows.select(deep)
                if steady:
                    self._steady(inside, when, before or {})
                else:
                    self._search(inside)
                self.hulls.refine(inside.rows)
                found[deep] = inside.rows
            self.hulls.find_points(found, EDGE * self.model.length)
            blocks.append(rows)
        if last is not None:
            last[:] = way
        if len(blocks) == 1:
            return blocks[0]
        joined = Overlaps(np.concatenate([each.rows for each in blocks]))
        return joined.select(np.lexsort((joined.pose, joined.pair)))

    def measure_gaps(self, T: Floats, most: float) -> Floats:
        """Return the smallest gap in each group, (groups, poses) [m]; negative if solids overlap, at most `most`.

        Args:
            T: The transforms of all frames of the body, (poses, frames, 4, 4).
            most: A larger gap is not measured.
        """
        out, way = np.full((int(self.groups.max(initial=-1)) + 1, len(T)), most), np.zeros((len(self.pairs), 3))
        for first in range(0, len(T), BLOCK_POSES):
            part = T[first : first + BLOCK_POSES, self.at]
            rows, way = self.hulls.find(part, most, way)
            np.minimum.at(out, (self.groups[rows["pair"]], first + rows["pose"]), -rows["depth"])
        return out

    def _search(self, rows: Overlaps) -> None:
        """Give rows the direction of their least overlap, if it is below their depth."""
        ways, every = AROUND @ rows.axes, np.arange(len(rows.depth))
        overlaps = self.hulls.overlaps(rows.rows, ways)
        best = overlaps.argmin(axis=1)
        least = overlaps[every, best]
        rows.normal[:] = np.where((least < rows.depth)[:, None], ways[every, best], rows.normal)
        rows.depth[:] = np.minimum(least, rows.depth)

    def _steady(self, rows: Overlaps, times: Indices, before: Ways) -> None:
        """Give the rows of each group directions that turn little from pose to pose."""
        span = int(times[-1]) + 2  # a number is left between groups
        keys, first, of = np.unique(
            self.groups[rows.pair] * span + times[rows.pose], return_index=True, return_inverse=True
        )
        most = np.full((len(keys), len(AROUND)), -np.inf)
        np.maximum.at(most, of, self.hulls.overlaps(rows.rows, AROUND @ rows.axes))
        for k, row in enumerate(first.tolist()) if before else ():
            way = before.get((int(self.groups[rows.pair[row]]), int(rows.pose[row])))
            if way is not None:
                most[k] += TURN * self.model.length * measure_angles(way)
        best = choose_ways(most, keys, TURN * self.model.length)
        rows.normal[:] = (AROUND[best[of], None] @ rows.axes)[:, 0]
        rows.depth[:] = self.hulls.overlaps(rows.rows, rows.normal[:, None])[:, 0]

    def follow(self, rows: Overlaps, q: Floats) -> Overlaps:
        """Return rows of single poses in a new pose (nq,): contacts keep their points and planes."""
        out = rows.replace()
        self.hulls.follow(out.rows, self.model.fk(q)[self.at])
        return out

    def displace(
        self, q: Floats, rows: Overlaps, columns: Indices, moved: Floats, wanted: Floats, weight: float
    ) -> Floats:
        """Return the displacement of some joints that ends overlaps of pose `q`, (columns,).

        Args:
            q: The pose, (nq,).
            rows: The pairs near each other in it.
            columns: The indices of the joints' velocities.
            moved: Their displacement in `q`.
            wanted: The displacement without overlaps; the result is the nearest one that ends them.
            weight: The cost of a depth [1 / m], relative to a displacement.
        """
        body = self.model.native_body
        return np.asarray(self.hulls.displace(body, q, rows.rows, columns, moved, wanted, weight**-2))

    def list_ways(self, rows: Overlaps) -> Ways:
        """Return the directions of the world in which groups part in each pose: those of their deepest pairs."""
        ways, groups = (rows.axes @ rows.normal[..., None])[..., 0], self.groups[rows.pair]
        order = [k for k in np.argsort(rows.depth) if rows.depth[k] > 0.0]
        return {(int(groups[k]), int(rows.pose[k])): ways[k] for k in order}


def cover_roughly(solid: SupportPoints) -> Floats:
    """Return the ends and the radius of a capsule around a solid, along its longest axis, (7,) [m]."""
    middle = 0.5 * (solid.points.min(axis=0) + solid.points.max(axis=0))
    off = solid.points - middle
    axis = np.linalg.eigh(off.T @ off)[1][:, -1]
    along = off @ axis
    across = float(np.linalg.norm(off - along[:, None] * axis, axis=1).max())
    half = max(float(np.abs(along).max()) - across, 0.0)
    nearest = np.clip(along, -half, half)[:, None] * axis
    radius = float((np.linalg.norm(off - nearest, axis=1) + solid.radius).max())
    return np.concatenate([middle - half * axis, middle + half * axis, [radius]])


def find_solids(model: Model) -> tuple[SupportPoints, ...]:
    """Return the solids of a body; parts without readable shapes have those of their bones."""
    return find_support_points(model, HULL_ERROR * model.length)


@keep_with_model
def find_convex_parts(model: Model) -> ConvexParts | None:
    """Return the solids of a body that can collide, or None if it has no shapes, or all are joined.

    Left out are links on parts joined by one joint, links that overlap in the rest pose with at most two joints
    between them, and visual shapes that overlap others in the rest pose. With an SRDF, left out are the pairs that it
    disables, and links on parts joined by one joint that overlap in the rest pose; `model.notes` lists the latter.
    """
    solids = tuple(solid for solid in find_solids(model) if solid.solid)
    tree = LinkPairs(
        model, (solid.frame for solid in solids), solid={solid.frame for solid in solids if not solid.seen}
    )
    disabled = tree.list_disabled()
    kept = {pair for pair, count in tree.steps.items() if count > (disabled is None)} - {*(disabled or ())}
    by_link = [(row, pair) for pair, rows in tree.list_rows().items() if pair in kept for row in rows]
    if not by_link:
        return None
    rows = sorted(by_link)
    every = ConvexParts(model, solids, np.array([row for row, _ in rows], dtype=np.intp))
    resting = every.measure(np.array(model.rest)[None], REST_GAP * model.length)
    depths = {rows[k]: depth / model.length for k, depth in zip(resting.pair, resting.depth, strict=True)}
    drawn = {row: depth for row, depth in depths.items() if any(solids[k].seen for k in row[0])}
    seen = {row for row, depth in drawn.items() if depth > REST_DEPTH or tree.steps[row[1]] <= NEAR_STEPS}
    deep = {pair for (row, pair), depth in depths.items() if depth > REST_DEPTH and (row, pair) not in drawn}
    lost = {pair for pair in deep if tree.steps[pair] <= (NEAR_STEPS if disabled is None else 1)}
    if lost and disabled is not None:
        why = "one joint joins them, and they overlap at rest"
        model.memo.note(f"Self-collisions of clips leave out {name_pairs(sorted(lost))}: {why}.")
    left = [row for row, pair in rows if pair not in lost and (row, pair) not in seen]
    return ConvexParts(model, solids, np.array(left, dtype=np.intp)) if left else None


def choose_ways(overlaps: Floats, keys: Indices, turn: float) -> Indices:
    """Return the directions with the least overlaps (n, directions) that turn little from each pose to the next.

    A turn by one radian costs as much as an overlap of `turn` [m]. Consecutive poses have consecutive `keys`, (n,); a
    pose after a gap begins anew. The best sequence is found by dynamic programming (Viterbi, 1967).
    """
    if len(keys) == 1:
        return np.asarray(overlaps.argmin(axis=1))
    angles = np.array([measure_angles(way) for way in AROUND])
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
    out: Floats = np.arccos(np.clip(AROUND @ way, -1.0, 1.0))
    return out
