"""Judge a motion of the G1 by MuJoCo's forward kinematics and an independent contact rule.

contact   toe of the source slower than 0.15 m/s and lower than the floor + 5 cm, for at least 4 frames
slip      horizontal motion of the middle of the two front sole points, inside one contact      mm a frame
drift     its largest distance from the median of the contact                                     mm
locked    share of the frames in contact in which that point moves by at most 0.01 mm
height    distance of that point from the floor, in contact                                       mm
sink      how far a sole point is below the floor, in any frame                                   mm
step      largest motion of a joint in one frame                                                  rad
jerk      third difference of the joints, root mean square over joints, 95th percentile           rad/s^3
rf-kpe    distance of sixteen key points from the source's, about the root, in its heading        m
limits    how far a joint is outside MuJoCo's range of it                                         rad

rf-kpe is that of Arkitect-z/retargeting_comparison (its evaluator, version 2), so that numbers can be compared with
those published there, 0.1162 for GMR on the dance: the scale is the height of the robot's head over its toes at zero,
divided by that of the source in its first frame, for every method; the heading of the robot is that of its root's x,
the heading of the source is across the middle of hips and shoulders. The robot's head is 0.35 m above the frame of its
torso, its toe 0.037 m below its ankle.
"""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from shared.contact_rule import find_runs

from poise.arrays import Floats

__all__ = ["KEYS", "CollisionJudge", "Judge", "Verdict"]

LOCKED = 1e-5  # m in one frame
KEYS = {"Hips": "pelvis", "Spine2": "torso_link", "Head": "head"} | {
    f"{side}{bone}": f"{side.lower()}_{link}"
    for side in ("Left", "Right")
    for bone, link in (
        ("UpLeg", "hip_roll_link"),
        ("Leg", "knee_link"),
        ("Foot", "ankle_roll_link"),
        ("Toe", "toe"),
        ("Arm", "shoulder_roll_link"),
        ("ForeArm", "elbow_link"),
        ("Hand", "wrist_yaw_link"),
    )
}
MARKS = {  # key points that are not bodies: the body they are fixed to, and their position on it
    "head": ("torso_link", (0.0, 0.0, 0.35)),
    "left_toe": ("left_ankle_roll_link", (0.0, 0.0, -0.037)),
    "right_toe": ("right_ankle_roll_link", (0.0, 0.0, -0.037)),
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
    """MuJoCo's G1, which judges motions."""

    def __init__(self, path: str) -> None:
        self.model = mujoco.MjModel.from_xml_path(path)
        self.data = mujoco.MjData(self.model)
        self.soles = {side: self._find_soles(f"{side}_ankle_roll_link") for side in ("left", "right")}
        self.height = measure_height(self.place_keys(self.model.qpos0[None]), KEYS)

    def judge(
        self, q: Floats, fps: float, contacts: dict[str, NDArray[np.bool_]], source: dict[str, Floats]
    ) -> Verdict:
        """Judge configurations (frames, 36) by contacts of "left" and "right" and by the source's key points, z up."""
        points, soles = self.place_keys(q), self.place(q)[1]
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
            key_points=measure_key_points(points, find_yaw(q), source, self.height),
        )

    def place(self, q: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return the positions of bodies (frames, 3), and the sole points of both feet (frames, 4, 3), front first."""
        places, turns = self._place_all(q)
        at = {self.model.body(i).name: places[:, i] for i in range(1, self.model.nbody)}
        soles = {}
        for side, (body, points) in self.soles.items():
            i = self.model.body(body).id
            soles[side] = points @ np.swapaxes(turns[:, i], 1, 2) + places[:, i, None]
        return at, soles

    def place_keys(self, q: Floats) -> dict[str, Floats]:
        """Return the positions of the key points (frames, 3)."""
        places, turns = self._place_all(q)
        out = {}
        for name in KEYS.values():
            body, point = MARKS.get(name, (name, (0.0, 0.0, 0.0)))
            i = self.model.body(body).id
            out[name] = places[:, i] + turns[:, i] @ np.array(point)
        return out

    def _place_all(self, q: Floats) -> tuple[Floats, Floats]:
        places, turns = np.empty((len(q), self.model.nbody, 3)), np.empty((len(q), self.model.nbody, 3, 3))
        for t, row in enumerate(q):
            self.data.qpos[:] = row
            mujoco.mj_kinematics(self.model, self.data)
            places[t], turns[t] = self.data.xpos, self.data.xmat.reshape(-1, 3, 3)
        return places, turns

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


class CollisionJudge:
    """MuJoCo's G1 on a floor at height 0."""

    def __init__(self, path: Path) -> None:
        spec = mujoco.MjSpec.from_file(str(path))
        spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.floor = self.model.geom("floor").id

    def measure_depths(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the depth of the robot in the floor and in itself in each frame, (frames,) [m]."""
        floor, own = np.zeros(len(q)), np.zeros(len(q))
        for t, row in enumerate(q):
            self.data.qpos[:] = row
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_collision(self.model, self.data)
            pairs, depths = self.data.contact.geom, -self.data.contact.dist
            on_floor = (pairs == self.floor).any(axis=1) if len(depths) else np.zeros(0, dtype=bool)
            floor[t] = depths[on_floor].max(initial=0.0)
            own[t] = depths[~on_floor].max(initial=0.0)
        return floor, own


def measure_key_points(ours: dict[str, Floats], yaw: Floats, theirs: dict[str, Floats], height: float) -> float:
    """Return the mean distance of key points about the root, in its heading, after one common scale [m].

    `yaw` is the heading of ours, (frames,), and `height` is how high our head is above our toes at zero.
    """
    across = theirs["LeftUpLeg"] - theirs["RightUpLeg"] + theirs["LeftArm"] - theirs["RightArm"]
    scale = height / measure_height(theirs, dict(zip(KEYS, KEYS, strict=True)))
    a = turn_back({name: theirs[name] for name in KEYS}, "Hips", np.arctan2(across[:, 1], across[:, 0]) - 0.5 * np.pi)
    b = turn_back({name: ours[KEYS[name]] for name in KEYS}, "Hips", yaw)
    return float(np.linalg.norm(scale * a - b, axis=2).mean())


def measure_height(points: dict[str, Floats], names: dict[str, str]) -> float:
    """Return the distance of the head from the middle of the toes in the first frame [m]."""
    toes = 0.5 * (points[names["LeftToe"]][0] + points[names["RightToe"]][0])
    return float(np.linalg.norm(points[names["Head"]][0] - toes))


def find_yaw(q: Floats) -> Floats:
    """Return the heading of the root's x, (frames,)."""
    w, x, y, z = q[:, 3:7].T
    yaw: Floats = np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
    return yaw


def turn_back(points: dict[str, Floats], root: str, angle: Floats) -> Floats:
    """Return points about the root with the heading along x, without the root itself: (frames, points, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    turn = np.stack([c, s, zero, -s, c, zero, zero, zero, one], axis=1).reshape(-1, 3, 3)
    rows = np.stack([path - points[root] for name, path in points.items() if name != root], axis=1)
    turned: Floats = np.einsum("tij,tkj->tki", turn, rows)
    return turned
