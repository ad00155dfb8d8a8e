"""Forty clips of the CMU database retargeted to the Unitree G1, judged by MuJoCo's collision detection.

    python benchmarks/retarget_cmu.py --cmu DIR --g1 unitree_g1/g1.xml

DIR contains the BVH files of una-dinosauria/cmu-mocap at any depth; missing ones are reported. The clips were chosen
from the index of the database by category before any of them was run. At most the first ten seconds of each are used.

p99, worst   depth of the deepest geom below the floor, over frames                                        mm
deep         share of frames in which it is more than 5 mm
self         share of frames in which two parts of the robot are more than 5 mm inside each other
slip         horizontal motion of the front of the sole while the source's toe stands by a plain rule      mm a frame
step         largest motion of a joint in one frame                                                        rad
limbs        95th percentile of the angle between the limb bones of both bodies                            degrees
touch        largest error of the gap between a hand and a part that it touches in the source              mm
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from clips import find_plain_contacts
from retarget_judge import Judge, find_runs

import poise
from poise.arrays import Floats

CLIPS = {
    "walk": ("02_01", "69_57", "81_04", "136_24"),
    "run": ("09_09", "16_36", "127_06", "127_15"),
    "jump": ("16_02", "75_11", "91_51", "118_08"),
    "dance": ("05_02", "49_13", "60_10", "93_03"),
    "sit": ("75_17", "75_20", "111_10", "143_19"),
    "lie": ("77_17", "111_21", "139_18", "140_04"),
    "crawl": ("77_15", "111_03", "133_01"),
    "climb": ("13_33", "14_21", "83_27"),
    "gesture": ("13_27", "18_09", "18_11"),
    "sport": ("06_09", "10_03", "80_10", "135_04"),
    "two hands": ("14_04", "80_19", "115_06"),
}
LONGEST_S = 10.0
METRES_PER_UNIT = 0.0254 / 0.45  # of these files
DEEP_M = 5e-3
TOES = {"left": "LeftToeBase", "right": "RightToeBase"}
COLUMNS = {
    "frames": 7,
    "p99": 8,
    "worst": 8,
    "deep": 8,
    "self": 8,
    "slip": 8,
    "step": 7,
    "limbs": 7,
    "touch": 7,
    "fps": 6,
}
HEAD = f"{'':<11}{'clip':<8}" + "".join(f"{name:>{width}}" for name, width in COLUMNS.items())


@dataclass(frozen=True)
class ClipVerdict:
    """The figures of one clip; depths in millimetres."""

    frames: int
    p99: float
    worst: float
    deep: float
    inside: float
    slip: float
    step: float
    limbs: float
    touch: float
    fps: float


class CollisionJudge:
    """MuJoCo's G1 on a floor at height 0."""

    def __init__(self, path: Path) -> None:
        spec = mujoco.MjSpec.from_file(str(path))
        spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.floor = self.model.geom("floor").id
        self.soles = Judge(str(path))

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

    def measure_slip(self, clip: poise.Motion, q: Floats) -> float:
        """Return the mean motion of the front of the soles while the source's toes stand [mm a frame]; nan without."""
        plain, slips = find_plain_contacts(clip, list(TOES.values())), list[Floats]()
        soles = self.soles.place(q)[1]
        for side, toe in TOES.items():
            front = soles[side][:, :2].mean(axis=1)[:, :2]
            slips += [np.linalg.norm(np.diff(front[a:b], axis=0), axis=1) for a, b in find_runs(plain[toe])]
        return 1e3 * float(np.concatenate(slips).mean()) if slips else np.nan


def judge_clip(judge: CollisionJudge, clip: poise.Motion, g1: poise.Model) -> ClipVerdict:
    """Retarget a clip and judge it."""
    poise.retarget(clip[:2], g1)  # finds the parts of both bodies
    begun = time.process_time()
    carried = poise.retarget(clip, g1)
    seconds = time.process_time() - begun
    q = carried.motion.q
    floor, own = judge.measure_depths(q)
    return ClipVerdict(
        frames=len(q),
        p99=1e3 * float(np.percentile(floor, 99.0)),
        worst=1e3 * float(floor.max()),
        deep=float((floor > DEEP_M).mean()),
        inside=float((own > DEEP_M).mean()),
        slip=judge.measure_slip(clip, q),
        step=float(np.abs(np.diff(q[:, 7:], axis=0)).max(initial=0.0)),
        limbs=float(np.degrees(np.percentile(carried.bone_errors, 95.0))),
        touch=1e3 * max((touch.error for touch in carried.touches), default=np.nan),
        fps=len(q) / seconds,
    )


def print_row(category: str, name: str, v: ClipVerdict) -> None:
    """Print one row."""
    print(
        f"{category:<11}{name:<8}{v.frames:7d}{v.p99:8.1f}{v.worst:8.1f}{100 * v.deep:7.1f}%{100 * v.inside:7.1f}%"
        f"{v.slip:8.3f}{v.step:7.3f}{v.limbs:7.1f}{v.touch:7.1f}{v.fps:6.0f}",
        flush=True,
    )


def sum_up(rows: list[ClipVerdict]) -> ClipVerdict:
    """Return the figures of a category: the worst of depths, steps, limbs and touch, otherwise means over frames."""
    frames = np.array([row.frames for row in rows], dtype=np.float64)
    slips = np.array([row.slip for row in rows])
    known = np.isfinite(slips)
    return ClipVerdict(
        frames=int(frames.sum()),
        p99=max(row.p99 for row in rows),
        worst=max(row.worst for row in rows),
        deep=float(np.average([row.deep for row in rows], weights=frames)),
        inside=float(np.average([row.inside for row in rows], weights=frames)),
        slip=float(np.average(slips[known], weights=frames[known])) if known.any() else np.nan,
        step=max(row.step for row in rows),
        limbs=max(row.limbs for row in rows),
        touch=max((row.touch for row in rows if np.isfinite(row.touch)), default=np.nan),
        fps=float(frames.sum() / sum(row.frames / row.fps for row in rows)),
    )


def main() -> None:
    """Judge the available clips, and print every clip and a row for each category."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cmu", type=Path, required=True, help="a folder with the BVH files of the CMU database")
    parser.add_argument("--g1", type=Path, required=True, help="unitree_g1/g1.xml of the MuJoCo Menagerie")
    parser.add_argument("--categories", nargs="*", default=list(CLIPS), choices=list(CLIPS))
    options = parser.parse_args()
    g1, judge = poise.load(options.g1, base="free"), CollisionJudge(options.g1)
    print(HEAD)
    sums: dict[str, ClipVerdict] = {}
    for category in options.categories:
        rows = []
        for name in CLIPS[category]:
            path = next(iter(sorted(options.cmu.rglob(f"{name}.bvh"))), None)
            if path is None:
                print(f"missing: {name}.bvh")
                continue
            clip = poise.load_motion(path, scale=METRES_PER_UNIT)
            rows.append(judge_clip(judge, clip[: round(LONGEST_S * clip.fps)], g1))
            print_row(category, name, rows[-1])
        if rows:
            sums[category] = sum_up(rows)
    print(HEAD)
    for category, row in sums.items():
        print_row(category, "all", row)


if __name__ == "__main__":
    main()
