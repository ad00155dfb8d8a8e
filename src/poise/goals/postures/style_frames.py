"""The frames of the clips of a style, and the search for those nearest to the targets.

Positions are compared in the axes of the root: the position and heading of the body are not part of the style. The
kernels find the nearest frames (`kernels/algebra/nearest.h`) exactly, with a tree that is built on the first query for
a set of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.arrays import Floats, Ints
from poise.errors import InvalidValue
from poise.goals.postures.gaussian import Gaussian
from poise.goals.postures.pose_targets import Points, PoseTargets
from poise.goals.postures.rest import measure_units
from poise.kinematics import Motion
from poise.kinematics.charts import Chart
from poise.kinematics.samples import SampleLayout
from poise.model import Joint, Model
from poise.native import core

__all__ = ["StyleFrames"]

STILL = 1e-4  # in units of L: a joint that slides less than this in all frames counts as still
COMMON = 0.1  # fraction of the covariance of all frames in a local one: motions missing in a few frames stay possible
FLOOR = 0.04  # rad, or in units of L: smallest standard deviation
MOST_TREES = 8  # cached trees, one per set of points
AT_ONCE = 2000  # frames whose points are placed together


@dataclass(eq=False)
class StyleFrames:
    """Frames of one body, prepared for searches.

    Attributes:
        model: The body.
        q: Its configurations, (frames, nq).
        chart: The coordinates in which they are compared, zero in their mean pose. The root and locked joints do not
            count, as they are not part of the style.
        x: The counted coordinates of all frames, (frames, d).
        root: The frame in whose axes positions are compared; None if the body's base does not move.
        mean: Their mean pose as a configuration, (nq,).
        carried: Indices in q outside the style: those of the root and of locked joints.
        least: The lower bound of every local covariance: a fraction of that of all frames, and the floor, (d, d).
    """

    model: Model
    q: Floats
    chart: Chart
    x: Floats
    root: str | None
    mean: Floats
    carried: Ints
    least: Floats
    _trees: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def prepare(cls, model: Model, motions: Sequence[Motion]) -> StyleFrames:
        """Return the frames of clips of one body."""
        return cls.prepare_parts(model, [np.concatenate([motion.q for motion in motions])])[0]

    @classmethod
    def prepare_parts(cls, model: Model, parts: Sequence[Floats]) -> list[StyleFrames]:
        """Return sets of frames in one chart about their common mean."""
        q = np.concatenate([part[:: max(1, len(part) // 2000)] for part in parts])
        mean = np.array(Motion(model, q).mean().q)
        root, held = find_root(model, parts)
        if len(held) == model.nv:
            raise InvalidValue(
                f"Style.fit: only the root and locked joints of {model.name!r} move, which are not part of a style."
            )
        chart = Chart.about(SampleLayout.read_model(model), mean, held)
        carried = [k for j in model.joints if j.nv and j.v.start in held for k in range(j.q.start, j.q.stop)]
        return [cls._measure(chart, part, root, np.array(carried, dtype=np.int64)) for part in parts]

    @classmethod
    def _measure(cls, chart: Chart, q: Floats, root: str | None, carried: Ints) -> StyleFrames:
        """Return frames with their coordinates in a chart."""
        model = chart.layout.model
        x = np.ascontiguousarray(chart.measure(q)[:, chart.counts])
        unit = measure_units(model)[chart.velocities[chart.counts]]
        common = np.cov(x[:: max(1, len(q) // 2000)], rowvar=False, bias=True).reshape(len(unit), len(unit))
        least = COMMON * common + np.diag((FLOOR * unit) ** 2)
        return cls(model, q, chart, x, root, chart.origin, carried, least)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_trees": {}}  # rebuilt on demand

    def find_place(self, q: Floats) -> Floats:
        """Return T_world_root of configurations, (..., 4, 4)."""
        if self.root is None:
            return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        return np.asarray(self.model.fk(q, self.root))

    def carry_frames(self, frames: Ints, q: Floats) -> Floats:
        """Return frames moved to the root of a pose, (many, nq)."""
        out = self.q[frames]
        out[:, self.carried] = q[self.carried]
        return out

    def find_near(self, asked: PoseTargets, q: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames nearest to the targets, relative to the root, or to q without targets, with distances."""
        if not asked.points:
            return self.find_alike(q, many)
        T = self.find_place(q)
        return self.find_nearest(asked.points, (asked.places - T[:3, 3]) @ T[:3, :3], many)

    def find_nearest(self, points: Points, places: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames whose points lie closest to `places` in the root's axes, and their distances [m]."""
        tree = self._trees.get(points)
        if tree is None:
            if len(self._trees) >= MOST_TREES:
                self._trees.pop(next(iter(self._trees)))
            tree = self._trees[points] = core.Points(self._place_points(points))
        found: tuple[Ints, Floats] = tree.find(places, min(many, len(self.q)))
        return found

    def find_alike(self, q: Floats, many: int) -> tuple[Ints, Floats]:
        """Return the frames whose coordinates are closest to those of a pose, and their distances."""
        if "pose" not in self._trees:
            self._trees["pose"] = core.Points(self.x)
        found: tuple[Ints, Floats] = self._trees["pose"].find(
            self.chart.measure(q)[self.chart.counts], min(many, len(self.q))
        )
        return found

    def make_gaussian(self, nearest: Ints, far: Floats) -> Gaussian:
        """Return the Gaussian of frames, with weights that decrease to zero at the farthest."""
        return Gaussian(self.chart, *core.gaussian_of(self.x, nearest, far, self.least, 1.0 - COMMON))

    def _place_points(self, points: Points) -> Floats:
        """Return the positions of points in the root's axes, in all frames, (frames, 3 points) [m]."""
        out = np.empty((len(self.q), 3 * len(points)))
        for first in range(0, len(self.q), AT_ONCE):
            q = self.q[first : first + AT_ONCE]
            T = self.find_place(q)
            for k, (frame, point) in enumerate(points):
                at = self.model.fk(q, frame)
                world = at[:, :3, :3] @ np.array(point) + at[:, :3, 3]
                seen = np.einsum("fji,fj->fi", T[:, :3, :3], world - T[:, :3, 3])
                out[first : first + AT_ONCE, 3 * k : 3 * k + 3] = seen
        return out


def find_root(model: Model, parts: Sequence[Floats]) -> tuple[str | None, set[int]]:
    """Return the frame of the root that moves through the clips, and the velocities outside the style.

    The root consists of joints that translate in space and the rotations that follow them, above all other moving
    joints. Files may contain several in sequence, such as a node at the origin and moving hips; the last moving one
    counts. Root joints and bone lengths are not part of the style.
    """
    groups: list[list[Joint]] = []
    for joint in list_trunk(model):
        if joint.kind in ("free", "planar", "translation3"):
            groups.append([joint])
        elif groups and groups[-1][-1].kind == "translation3" and joint.kind in ("euler", "ball"):
            groups[-1].append(joint)
        else:
            break
    far = [float(np.ptp(np.concatenate([q[:, group[0].q] for q in parts]), axis=0).max()) for group in groups]
    travel = [k for k, way in enumerate(far) if way > STILL * model.length] or [0]
    carry = [joint for group in groups[: travel[-1] + 1] for joint in group]
    still = [joint for joint in model.joints if joint.nv and joint.locked]
    held = {v for joint in carry + still for v in range(joint.v.start, joint.v.stop)}
    return carry[-1].frame if carry else None, held


def list_trunk(model: Model) -> list[Joint]:
    """Return the joints above all branches of the body, base first."""
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
    """Return whether the joint of a frame has degrees of freedom of its own."""
    joint = model.frame(frame).joint
    return joint is not None and model.joint(joint).nv > 0
