"""Robot hands that follow a person's hand, judged by MuJoCo.

    python benchmarks/hands.py --hands DIR --points FILE

poses   fist, point, spread, thumbs up and pinches with all fingers, 9 s of the built-in hand
points  tracked points in MediaPipe's order, (frames, 21, 3) in an NPY file, such as the 621 frames of dexsuite's
        dex-retargeting (example/profiling/human_joint_right.pkl, saved by NumPy)

DIR contains google-deepmind/mujoco_menagerie; every hand is loaded as it is, without configuration. Rows are clips by
`poise.retarget` and streams by `HandRetargeter`:
    ms, p99   time of a frame, its mean over the clip, or the median and the 99th percentile of a stream
    step      largest motion of a joint in a frame [rad]
    fingers   median angle between a finger's bones and those of the source [degrees]
    gap       largest gap of a pinch, over frames whose tips are within 18 % of a finger's length in the source [mm]
    open      share of these frames with a gap of more than 2 mm
    deep      share of frames in which MuJoCo finds a contact deeper than 0.5 mm, without pairs that overlap at rest
    worst     the deepest [mm]
"""

import time
from argparse import Namespace
from pathlib import Path

import mujoco
import numpy as np
from shared.command import Options, Part, Table, run_command

import poise
from hand_poses import FINGERS, bend_hand, pinch_hand
from poise.arrays import Floats
from poise.motion import HandRetargeter
from poise.motion.retargeting.hands.goals import HandGoals
from poise.motion.retargeting.hands.pinches import Pinches

HANDS = ("shadow_hand", "leap_hand", "wonik_allegro", "tetheria_aero_hand_open")
DEEP_M, OPEN_M = 5e-4, 2e-3
OPTIONS: Options = {
    "hands": (Path, "a checkout of MuJoCo Menagerie"),
    "points": (Path, "tracked points, (frames, 21, 3), in an NPY file"),
    "fps": (30.0, "frames per second of the points"),
}


def make_poses() -> poise.Motion:
    """Return the clip of poses, each reached in a second."""
    model = poise.load("hand")
    spread = bend_hand(model, 0.0, thumb=(0.0,))
    for name, angle in zip(FINGERS, (-18.0, 0.0, 15.0, 22.0), strict=True):
        spread[model.joint(f"{name}_mcp").q.start + 1] = np.radians(angle)
    keys = [bend_hand(model, 0.0, thumb=(0.0,)), bend_hand(model, 85.0, thumb=(20.0, 30.0, 40.0))]
    keys += [bend_hand(model, 85.0, FINGERS[1:], (20.0, 30.0)), spread, bend_hand(model, 85.0, thumb=(-15.0,))]
    keys += [pinch_hand(model, name) for name in FINGERS]
    share = np.linspace(0.0, 1.0, 30, endpoint=False)[:, None]
    share = share**2 * (3.0 - 2.0 * share)
    return poise.Motion(
        model, np.concatenate([a + share * (b - a) for a, b in zip(keys, [*keys[1:], keys[0]], strict=True)]), 30.0
    )


class Judge:
    """MuJoCo's contacts of a hand, in poses of the model that Poise loads from its file."""

    def __init__(self, path: Path, model: poise.Model) -> None:
        self.mj = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.mj)
        joints = [joint for joint in model.joints if joint.nv]
        self.at = [self.mj.joint(joint.name).qposadr[0] for joint in joints]
        self.own = [joint.q.start for joint in joints]
        self.known = {pair for pair, depth in self.list_depths(np.array(model.rest)).items() if depth > 0.0}

    def list_depths(self, q: Floats) -> dict[tuple[int, int], float]:
        """Return the depth of the contacts of a pose by pairs of geoms [m]."""
        self.data.qpos[self.at] = q[self.own]
        mujoco.mj_kinematics(self.mj, self.data)
        mujoco.mj_collision(self.mj, self.data)
        out = dict[tuple[int, int], float]()
        for contact in self.data.contact:
            pair = int(contact.geom[0]), int(contact.geom[1])
            out[pair] = max(out.get(pair, 0.0), -float(contact.dist))
        return out

    def measure(self, q: Floats) -> Floats:
        """Return the deepest contact of each pose, without pairs that overlap at rest, (poses,) [m]."""
        found = (self.list_depths(row).items() for row in q)
        return np.array([max((d for pair, d in each if pair not in self.known), default=0.0) for each in found])


def follow(clip: poise.Motion, model: poise.Model) -> tuple[Floats, float, float]:
    """Return the poses of a stream, and the median and 99th percentile of the time of a frame [ms]."""
    live, times, out = HandRetargeter(clip.model, model, fps=clip.fps), list[float](), list[Floats]()
    for q in clip.q:
        start = time.perf_counter()
        out.append(live.step(q).q)
        times.append(1e3 * (time.perf_counter() - start))
    return np.array(out), float(np.median(times[1:])), float(np.percentile(times[1:], 99.0))


def judge(given: Namespace, clip: poise.Motion) -> None:
    """Retarget a clip to every hand, and print a row for the clip and one for the stream."""
    if given.hands is None:
        print("left out: give --hands")
        return
    numbers = ("ms:8.2f", "p99:8.2f", "step:8.2f", "fingers:9.1f", "gap:8.1f", "open:8.0%", "deep:8.1%", "worst:8.2f")
    table = Table("hand:28", "how:8", *numbers)
    for name in HANDS:
        path = given.hands / name / "right_hand.xml"
        if not path.exists():
            print(f"missing: {path}")
            continue
        model = poise.load(path)
        referee, goals = Judge(path, model), HandGoals(clip.model, model)
        pinches = Pinches(goals, model, clip)
        poise.retarget(clip[:2], model)  # reads the meshes
        start = time.perf_counter()
        whole = poise.retarget(clip, model).motion.q
        spent = 1e3 * (time.perf_counter() - start) / len(clip)
        for how, q, *spans in (("clip", whole, spent, np.nan), ("stream", *follow(clip, model))):
            moved = poise.Motion(model, q, clip.fps)
            errors = np.array(list(goals.compare_bones(clip, moved).values()))
            gaps = np.concatenate([[0.0], *(kept.errors[kept.touching] for kept in pinches.list_kept(moved))])
            depths = referee.measure(q)
            step = float(np.abs(np.diff(q, axis=0)).max())
            shares = (gaps[1:] > OPEN_M).mean() if len(gaps) > 1 else np.nan, (depths > DEEP_M).mean()
            table.add(
                name, how, *spans, step, np.degrees(np.median(errors)), 1e3 * gaps.max(), *shares, 1e3 * depths.max()
            )


if __name__ == "__main__":
    parts = {
        "poses": Part(lambda given: judge(given, make_poses()), "hands"),
        "points": Part(lambda given: judge(given, poise.hand_points(np.load(given.points), fps=given.fps)), "points"),
    }
    run_command(__doc__, parts, OPTIONS, ["mujoco"])
