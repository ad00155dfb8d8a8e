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
from poise.kinematics.samples import Layout, Samples
from poise.model import Joint, Model

__all__ = ["Asked", "StyleFrames"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BLOCK = 32  # frames that follow one another
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
        chart: The coordinates in which they are compared.
        origin: Their mean pose, where the coordinates are zero.
        counts: The coordinates that make a style: not those of the root, nor of locked joints.
        x: All coordinates of all frames, (frames, n + 3 r).
        root: The frame in whose axes places are compared; None where the body's base does not move.
        mean: Their mean pose as a configuration, (nq,).
        common: The covariance of the coordinates that count, of all frames, (d, d).
    """

    model: Model
    q: Floats
    chart: Chart
    origin: Samples
    counts: Ints
    x: Floats
    root: str | None
    mean: Floats
    common: Floats
    _places: dict[Any, Blocks] = field(default_factory=dict)

    @classmethod
    def prepare(cls, model: Model, motions: Sequence[Motion]) -> StyleFrames:
        """Return the frames of clips of one body."""
        layout = Layout.read_model(model)
        chart = Chart.read(layout)
        q = np.concatenate([motion.q for motion in motions])
        samples = layout.read(q)
        thin = max(1, len(q) // 2000)
        mean = np.array(Motion(model, q[::thin]).mean().q)
        origin = layout.read(mean[None])
        x = origin.repeat(len(q)).measure(samples)
        root, held = find_root(model, q)
        counts = np.array([k for k, v in enumerate(chart.velocities) if int(v) not in held], dtype=np.int64)
        common = np.cov(x[::thin, counts], rowvar=False, bias=True).reshape(len(counts), len(counts))
        return cls(model, q, chart, origin, counts, x, root, mean, common)

    def find_place(self, q: Floats) -> Floats:
        """Return T_world_root of configurations, (..., 4, 4)."""
        if self.root is None:
            return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        return np.asarray(self.model.fk(q, self.root))

    def find_nearest(self, asked: Asked, places: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames whose points lie nearest to places in the root's axes, (points, 3), and how far each is."""
        if asked not in self._places:
            self._places[asked] = Blocks.gather(self._place_points(asked))
        return self._places[asked].find(places.ravel(), many)

    def find_alike(self, q: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames whose coordinates are nearest to those of a pose, and how far each is."""
        if "pose" not in self._places:
            self._places["pose"] = Blocks.gather(self.x[:, self.counts])
        x = self.chart.measure(self.origin, q)
        return self._places["pose"].find(x[self.counts], many)

    def make_gaussian(self, nearest: Ints, far: Floats) -> Gaussian:
        """Return the Gaussian of frames; they count less the farther they are, and the farthest not at all.

        So a frame that comes into view, or leaves it, changes nothing at once.
        """
        most = float(far.max(initial=0.0))
        weight = (1.0 - (far / most) ** 2) ** 2 if most > 0 else np.ones(len(far))
        weight = weight + 1e-9
        weight = weight / weight.sum()
        x = self.x[np.ix_(nearest, self.counts)]
        mean = weight @ x
        away = np.sqrt(weight)[:, None] * (x - mean)
        unit = np.where(self.model.slides, self.model.length, 1.0)[self.chart.velocities[self.counts]]
        spread = (1.0 - COMMON) * (away.T @ away) + COMMON * self.common
        spread[np.diag_indices_from(spread)] += (FLOOR * unit) ** 2
        return Gaussian(self.chart, self.origin, self.counts, mean, spread)

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

    @classmethod
    def gather(cls, points: Floats) -> Blocks:
        """Return points in blocks, in the order given."""
        starts = np.arange(0, len(points), BLOCK)
        counts = np.diff(np.append(starts, len(points)))
        centers = np.add.reduceat(points, starts) / counts[:, None]
        away = np.linalg.norm(points - np.repeat(centers, counts, axis=0), axis=1)
        return cls(points, centers, np.maximum.reduceat(away, starts))

    def find(self, place: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the nearest points, the nearest first, and their distances."""
        many = min(many, len(self.points))
        away = np.linalg.norm(self.centers - place, axis=1)
        surely = np.argsort(away + self.radii)[: -(-many // BLOCK) + 1]
        enough = float((away + self.radii)[surely].max())
        rows = (np.flatnonzero(away - self.radii <= enough)[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        rows = rows[rows < len(self.points)]
        far = np.linalg.norm(self.points[rows] - place, axis=1)
        order = np.argsort(far, kind="stable")[:many]
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
