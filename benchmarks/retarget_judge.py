"""What a motion of the G1 is worth, judged by MuJoCo's forward kinematics and a rule of contact that is not ours.

contact   toe of the source slower than 0.15 m/s and lower than the floor + 5 cm, for at least 4 frames
slip      horizontal motion of the middle of the two front sole points, inside one contact      mm a frame
drift     its largest distance from the median of the contact                                     mm
locked    share of the frames in contact in which that point moves by at most 0.01 mm
height    distance of that point from the floor, in contact                                       mm
sink      how far a sole point is below the floor, in any frame                                   mm
step      largest motion of a joint in one frame                                                  rad
jerk      third difference of the joints, root mean square over joints, 95th percentile           rad/s^3
rf-kpe    distance of key points from the source's, about the root, in its heading, one scale     m
limits    how far a joint is outside MuJoCo's range of it                                         rad
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["KEYS", "Judge", "Verdict", "measure_key_points"]

Floats = NDArray[np.float64]
LOCKED = 1e-5  # m in one frame
KEYS = {"Hips": "pelvis", "Spine2": "torso_link"} | {
    f"{side}{bone}": f"{side.lower()}_{link}"
    for side in ("Left", "Right")
    for bone, link in (
        ("UpLeg", "hip_yaw_link"),
        ("Leg", "knee_link"),
        ("Foot", "ankle_roll_link"),
        ("Arm", "shoulder_yaw_link"),
        ("ForeArm", "elbow_link"),
        ("Hand", "wrist_yaw_link"),
    )
}


@dataclass(frozen=True)
class Verdict:
    """One row of the table; lengths in millimetres."""

    locked: float
    slip: float
    slip_max: float
    drift: float
    drift_max: float
    height: float
    sink_max: float
    sink_share: float
    limits: float
    step: float
    jerk: float
    key_points: float


class Judge:
    """MuJoCo's G1, and what it says of motions."""

    def __init__(self, path: str) -> None:
        self.model = mujoco.MjModel.from_xml_path(path)
        self.data = mujoco.MjData(self.model)
        self.soles = {side: self._find_soles(f"{side}_ankle_roll_link") for side in ("left", "right")}

    def judge(
        self, q: Floats, fps: float, contacts: dict[str, NDArray[np.bool_]], source: dict[str, Floats]
    ) -> Verdict:
        """Judge configurations (frames, 36) by contacts of "left" and "right" and by the source's key points, z up."""
        bodies, soles = self.place(q)
        fronts = {side: points[:, :2].mean(axis=1) for side, points in soles.items()}
        runs = [(side, a, b) for side, flags in contacts.items() for a, b in find_runs(flags)]
        paths = [fronts[side][a:b] for side, a, b in runs]
        slips = np.concatenate([np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1) for path in paths])
        drifts = np.array([np.linalg.norm(p[:, :2] - np.median(p[:, :2], axis=0), axis=1).max() for p in paths])
        depths = np.maximum(0.0, -np.concatenate([points[..., 2] for points in soles.values()], axis=1)).max(axis=1)
        steps = np.diff(q[:, 7:], axis=0)
        jerks = np.sqrt((np.diff(q[:, 7:], 3, axis=0) ** 2).mean(axis=1)) * fps**3
        low, high = self.model.jnt_range[1:].T
        return Verdict(
            locked=float((slips <= LOCKED).mean()),
            slip=1e3 * float(slips.mean()),
            slip_max=1e3 * float(slips.max()),
            drift=1e3 * float(drifts.mean()),
            drift_max=1e3 * float(drifts.max()),
            height=1e3 * float(np.abs(np.concatenate([path[:, 2] for path in paths])).mean()),
            sink_max=1e3 * float(depths.max()),
            sink_share=float((depths > 1e-3).mean()),
            limits=float(np.maximum(low - q[:, 7:], q[:, 7:] - high).max(initial=0.0)),
            step=float(np.abs(steps).max()),
            jerk=float(np.percentile(jerks, 95.0)),
            key_points=measure_key_points(bodies, source),
        )

    def place(self, q: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return where bodies are (frames, 3), and the sole points of both feet (frames, 4, 3), front ones first."""
        at = {name: np.empty((len(q), 3)) for name in KEYS.values()}
        soles = {side: np.empty((len(q), 4, 3)) for side in self.soles}
        for t, row in enumerate(q):
            self.data.qpos[:] = row
            mujoco.mj_kinematics(self.model, self.data)
            for name, path in at.items():
                path[t] = self.data.body(name).xpos
            for side, (body, points) in self.soles.items():
                placed = self.data.body(body)
                soles[side][t] = points @ placed.xmat.reshape(3, 3).T + placed.xpos
        return at, soles

    def _find_soles(self, body: str) -> tuple[str, Floats]:
        """The lowest points of the four spheres under a foot, in its axes, front ones first."""
        own = [
            geom
            for geom in range(self.model.ngeom)
            if self.model.geom_bodyid[geom] == self.model.body(body).id
            and self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE
        ]
        points = np.array([self.model.geom_pos[geom] - (0, 0, self.model.geom_size[geom][0]) for geom in own])
        return body, points[np.argsort(-points[:, 0], kind="stable")]


def measure_key_points(ours: dict[str, Floats], theirs: dict[str, Floats]) -> float:
    """Return the mean distance of key points about the root, in its heading, after one common scale [m]."""
    a = face_ahead({name: theirs[name] for name in KEYS}, "Hips", "LeftUpLeg", "RightUpLeg")
    b = face_ahead({name: ours[KEYS[name]] for name in KEYS}, "Hips", "LeftUpLeg", "RightUpLeg")
    scale = float((a * b).sum() / (a * a).sum())
    return float(np.linalg.norm(scale * a - b, axis=2).mean())


def face_ahead(points: dict[str, Floats], root: str, left: str, right: str) -> Floats:
    """Return points about the root with the heading along x, without the root itself: (frames, points, 3)."""
    across = points[left] - points[right]
    angle = np.arctan2(across[:, 1], across[:, 0]) - 0.5 * np.pi
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    turn = np.stack([c, s, zero, -s, c, zero, zero, zero, one], axis=1).reshape(-1, 3, 3)
    rows = np.stack([path - points[root] for name, path in points.items() if name != root], axis=1)
    turned: Floats = np.einsum("tij,tkj->tki", turn, rows)
    return turned


def find_runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the stretches of True: (first, one past the last)."""
    edges = np.flatnonzero(np.diff(np.r_[0, flags.astype(int), 0]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
