"""The frames of clips that a style is made of, and which of them are nearest to what is asked.

Places are compared as the body sees them, in the axes of its root: where it stands and which way it faces is no style.
Clips move smoothly, so frames lie in blocks that follow one another; a block whose nearest point cannot be among the
nearest frames is not looked at. The answer is that of looking at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals.gaussian import Gaussian
from poise.kinematics import Motion
from poise.kinematics.charts import Chart
from poise.kinematics.samples import Layout
from poise.model import Joint, Model

__all__ = ["Asked", "StyleFrames"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BLOCK = 32  # frames that follow one another
FEW = 5000  # frames that are sooner looked at, all of them
STILL = 1e-4  # lengths L: a joint that slides less than this in all frames does not travel
COMMON = 0.1  # share of the spread of all frames in that of a few: what few frames do not show is not forbidden
FLOOR = 0.04  # radians, or lengths L: how far a pose strays from the frames at least
Asked = tuple[tuple[str, tuple[float, float, float]], ...]  # frames, and points on them


@dataclass(eq=False)
class StyleFrames:
    """Frames of one body, prepared.

    Attributes:
        model: The body.
        q: Its configurations, (frames, nq).
        chart: The coordinates in which they are compared, zero in their mean pose. Those of the root and of locked
            joints do not count: they are no style.
        x: The coordinates that count, of all frames, (frames, d).
        root: The frame in whose axes places are compared; None where the body's base does not move.
        mean: Their mean pose as a configuration, (nq,).
        carried: The numbers of q that are no style, those of the root and of locked joints.
        least: What every local spread holds: its share of that of all frames, and the floor, (d, d).
    """

    model: Model
    q: Floats
    chart: Chart
    x: Floats
    root: str | None
    mean: Floats
    carried: Ints
    least: Floats
    _places: dict[Any, Blocks] = field(default_factory=dict)

    @classmethod
    def prepare(cls, model: Model, motions: Sequence[Motion]) -> StyleFrames:
        """Return the frames of clips of one body."""
        q = np.concatenate([motion.q for motion in motions])
        thin = max(1, len(q) // 2000)
        mean = np.array(Motion(model, q[::thin]).mean().q)
        root, held = find_root(model, q)
        chart = Chart.about(Layout.read_model(model), mean, held)
        x = np.ascontiguousarray(chart.measure(q)[:, chart.counts])
        unit = np.where(model.slides, model.length, 1.0)[chart.velocities[chart.counts]]
        common = np.cov(x[::thin], rowvar=False, bias=True).reshape(len(unit), len(unit))
        carried = [k for j in model.joints if j.nv and j.v.start in held for k in range(j.q.start, j.q.stop)]
        loose = np.array(carried, dtype=np.int64)
        return cls(model, q, chart, x, root, mean, loose, COMMON * common + np.diag((FLOOR * unit) ** 2))

    def find_place(self, q: Floats) -> Floats:
        """Return T_world_root of configurations, (..., 4, 4)."""
        if self.root is None:
            return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        return np.asarray(self.model.fk(q, self.root))

    def carry_frames(self, frames: Ints, q: Floats) -> Floats:
        """Return frames carried to where a pose stands, (many, nq)."""
        out = self.q[frames]
        out[:, self.carried] = q[self.carried]
        return out

    def find_nearest(self, asked: Asked, places: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames whose points lie nearest to places in the root's axes, (points, 3), and how far each is."""
        if asked not in self._places:
            self._places[asked] = Blocks.gather(self._place_points(asked))
        return self._places[asked].find(places.ravel(), many)

    def find_alike(self, q: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames whose coordinates are nearest to those of a pose, and how far each is."""
        if "pose" not in self._places:
            self._places["pose"] = Blocks.gather(self.x)
        return self._places["pose"].find(self.chart.measure(q)[self.chart.counts], many)

    def make_gaussian(self, nearest: Ints, far: Floats) -> Gaussian:
        """Return the Gaussian of frames; they count less the farther they are, and the farthest not at all.

        So a frame that comes into view, or leaves it, changes nothing at once.
        """
        most = float(far.max(initial=0.0))
        weight = (1.0 - (far / most) ** 2) ** 2 if most > 0 else np.ones(len(far))
        weight = weight + 1e-9
        weight = weight / weight.sum()
        x = self.x[nearest]
        mean = weight @ x
        away = np.sqrt((1.0 - COMMON) * weight)[:, None] * (x - mean)
        return Gaussian(self.chart, mean, away.T @ away + self.least)

    def _place_points(self, asked: Asked) -> Floats:
        """Return where points are in the root's axes, in all frames, (frames, 3 points)."""
        T = self.find_place(self.q)
        out = []
        for frame, point in asked:
            at = self.model.fk(self.q, frame)
            world = at[:, :3, :3] @ np.array(point) + at[:, :3, 3]
            out.append(np.einsum("fji,fj->fi", T[:, :3, :3], world - T[:, :3, 3]))
        return np.concatenate(out, axis=1)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Points in blocks of neighbours, each with its centre and how far its points are from it."""

    points: Floats
    centers: Floats
    radii: Floats
    squares: Floats
    center_squares: Floats

    @classmethod
    def gather(cls, points: Floats) -> Blocks:
        """Return points in blocks, in the order given."""
        starts = np.arange(0, len(points), BLOCK)
        counts = np.diff(np.append(starts, len(points)))
        centers = np.add.reduceat(points, starts) / counts[:, None]
        away = np.linalg.norm(points - np.repeat(centers, counts, axis=0), axis=1)
        squares = [np.einsum("ij,ij->i", x, x) for x in (points, centers)]
        return cls(points, centers, np.maximum.reduceat(away, starts), *squares)

    def find(self, place: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the nearest points, the nearest first, and their distances."""
        many = min(many, len(self.points))
        if len(self.points) <= FEW:
            away = self.squares - self.points @ (2.0 * place)
            order = np.argpartition(away, many - 1)[:many] if many < len(away) else np.arange(len(away))
            return self._sort(order, place)
        away = np.sqrt(np.maximum(self.center_squares - self.centers @ (2.0 * place) + place @ place, 0.0))
        blocks = -(-many // BLOCK) + 1
        enough = float(np.partition(away + self.radii, blocks - 1)[:blocks].max()) + 1e-6
        rows = (np.flatnonzero(away - self.radii <= enough)[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        rows = rows[rows < len(self.points)]
        away = self.squares[rows] - self.points[rows] @ (2.0 * place)
        return self._sort(rows[np.argpartition(away, many - 1)[:many]] if many < len(rows) else rows, place)

    def _sort(self, rows: Ints, place: Floats) -> tuple[Ints, Floats]:
        """Return these points, the nearest first, and their distances."""
        apart = self.points[rows] - place
        far = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        order = np.argsort(far, kind="stable")
        return rows[order], far[order]


def find_root(model: Model, q: Floats) -> tuple[str | None, set[int]]:
    """Return the frame that carries the whole body through the clips, and the velocities that are no style.

    A body is carried by joints that slide in space and by turns that follow them, above everything else that moves.
    Files may hold several in a row, such as a node at the origin and hips that travel; the last that travels counts.
    No style are the joints that carry, and the lengths of bones.
    """
    groups: list[list[Joint]] = []
    for joint in list_trunk(model):
        if joint.kind in ("free", "planar", "translation3"):
            groups.append([joint])
        elif groups and groups[-1][-1].kind == "translation3" and joint.kind in ("euler", "ball"):
            groups[-1].append(joint)
        else:
            break
    far = [float(np.ptp(q[:, group[0].q], axis=0).max()) for group in groups]
    travel = [k for k, way in enumerate(far) if way > STILL * model.length] or [0]
    carry = [joint for group in groups[: travel[-1] + 1] for joint in group]
    still = [joint for joint in model.joints if joint.nv and joint.locked]
    held = {v for joint in carry + still for v in range(joint.v.start, joint.v.stop)}
    return carry[-1].frame if carry else None, held


def list_trunk(model: Model) -> list[Joint]:
    """Return the joints above everything else that moves, from the base on."""
    below: dict[str | None, list[Joint]] = {}
    for joint in model.joints:
        if joint.nv:
            frame = joint.parent
            while frame is not None and not is_moved(model, frame):
                frame = model.frame(frame).parent
            below.setdefault(frame, []).append(joint)
    out: list[Joint] = []
    while len(found := below.get(out[-1].frame if out else None, [])) == 1:
        out.append(found[0])
    return out


def is_moved(model: Model, frame: str) -> bool:
    """Return whether a joint with freedom of its own carries a frame directly."""
    joint = model.frame(frame).joint
    return joint is not None and model.joint(joint).nv > 0
