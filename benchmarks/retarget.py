"""Motions retargeted to the Unitree G1, compared with GMR and with Unitree's own data for the same clips.

    python benchmarks/retarget.py --data DIR

DIR contains these files, at any depth; missing ones are reported:
    walk.bvh dance.bvh run.bvh fall_getup.bvh jumps.bvh    excerpts of LAFAN1 (ImChong/Robot_Retarget_Online)
    unitree_g1/g1.xml                                      from google-deepmind/mujoco_menagerie
    walk1_subject1.csv, ...                                Unitree's data (wenconggan/Retarget_Motion_Lafan1)
    gmr_walk.npz, ...                                      written by benchmarks/retarget_gmr.py

All are judged alike, by MuJoCo and a plain contact rule; benchmarks/retarget_judge.py describes the columns.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from clips import find_plain_contacts
from retarget_judge import KEYS, Judge, Verdict

import poise
from poise.arrays import Floats
from poise.motion import Retargeter
from poise.spatial import Rotation

# the file of Unitree's data, the row of the clip's first frame
CLIPS = {
    "walk": ("walk1_subject1", 0),
    "dance": ("dance1_subject1", 0),
    "run": ("run1_subject5", 0),
    "fall_getup": ("fallAndGetUp3_subject1", 150),
    "jumps": ("jumps1_subject1", 0),
}
GMR_SCALE = {"legs": 0.9 * 1.75 / 1.8, "arms": 0.75 * 1.75 / 1.8}  # its table for the G1, for a person of 1.75 m
HEAD = (
    f"{'clip':<11}{'who':<9}{'locked':>8}{'slip':>7}{'max':>8}{'drift':>7}{'max':>8}{'height':>8}{'sink':>6}"
    f"{'>1 mm':>7}"
    f"{'limits':>8}{'step':>7}{'jerk':>7}{'rf-kpe':>8}{'fps':>7}"
)


def find_file(data: Path, name: str) -> Path | None:
    """Return the first file of that name or path below a folder, or report that it is missing."""
    found = next((path for path in sorted(data.rglob(Path(name).name)) if str(path).endswith(name)), None)
    if found is None:
        print(f"missing: {name}")
    return found


class Case:
    """One clip: the source in the judge's world, and its contacts by the plain rule."""

    def __init__(self, clip: poise.Motion) -> None:
        self.clip = clip
        turn = Rotation.between(clip.model.up_direction, np.array([0.0, 0.0, 1.0])).matrix
        self.source = {name: clip.positions(name) @ turn.T for name in KEYS}
        plain = find_plain_contacts(clip, ["LeftToe", "RightToe"])
        self.contacts = {"left": plain["LeftToe"], "right": plain["RightToe"]}

    def judge(self, judge: Judge, q: Floats) -> Verdict:
        """Judge a motion of this clip."""
        return judge.judge(q, self.clip.fps, self.contacts, self.source)


def print_row(name: str, who: str, v: Verdict, fps: float | None) -> None:
    """Print one row."""
    print(
        f"{name:<11}{who:<9}{100 * v.locked:7.1f}%{v.slip:7.3f}{v.slip_max:8.3f}{v.drift:7.2f}{v.drift_max:8.2f}"
        f"{v.height:8.2f}{v.sink_max:6.1f}{100 * v.sink_share:6.1f}%{v.limits:8.4f}{v.step:7.3f}"
        f"{v.jerk:7.0f}{v.key_points:8.3f}" + (f"{fps:7.0f}" if fps else ""),
        flush=True,
    )


def measure_ours(case: Case, g1: poise.Model, judge: Judge, name: str, rounds: int) -> poise.motion.Retargeted:
    """Retarget a clip as a whole and frame by frame, and print both rows."""
    seconds = []
    for _ in range(rounds):
        begun = time.process_time()
        carried = poise.retarget(case.clip, g1)
        seconds.append(time.process_time() - begun)
    print_row(name, "poise", case.judge(judge, carried.motion.q), len(case.clip) / min(seconds))
    live = Retargeter(case.clip.model, g1)
    seconds = []
    for _ in range(rounds):
        live.reset()
        begun = time.process_time()
        q = np.array([live.step(frame).q for frame in case.clip.q])
        seconds.append(time.process_time() - begun)
    print_row(name, "online", case.judge(judge, q), len(case.clip) / min(seconds))
    if carried.track.released:
        print(carried.why())
    return carried


def measure_distance(judge: Judge, q: Floats, gmr: dict[str, Floats], rise: float) -> float:
    """Return the mean distance of bodies to GMR's targets, those lowered by `rise` [mm]."""
    bodies, _ = judge.place(q)
    targets = gmr["targets"] - np.array([0.0, 0.0, rise])
    ours = np.stack([bodies[str(name)] for name in gmr["bodies"]], axis=1)
    return 1e3 * float(np.linalg.norm(ours - targets[: len(ours)], axis=2).mean())


def compare_with_gmr(case: Case, g1: poise.Model, judge: Judge, name: str, gmr: dict[str, Floats]) -> None:
    """Retarget a clip with GMR's scale, and print the distances of both from GMR's own targets.

    GMR's robot floats, by the mean height of its front sole points in contact. Poise stands on the floor, so the
    targets are lowered by that for it.
    """
    _, soles = judge.place(gmr["q"])
    rise = float(
        np.mean(np.concatenate([soles[s][: len(f)][f][:, :2, 2].mean(axis=1) for s, f in case.contacts.items()]))
    )
    ours = poise.retarget(case.clip, g1, scale=GMR_SCALE)
    theirs = measure_distance(judge, gmr["q"], gmr, 0.0)
    here = measure_distance(judge, ours.motion.q, gmr, rise)
    print(f"{name:<11}GMR {theirs:6.1f} mm   poise {here:6.1f} mm   (floor {1e3 * rise:.0f} mm lower)", flush=True)


def measure_way_back(case: Case, carried: poise.motion.Retargeted) -> None:
    """Retarget the robot's motion back to the body of the clip, and print the mean angle between bones."""
    back = poise.retarget(carried.motion, case.clip.model)
    low, high = carried.motion.model.lower[6:], carried.motion.model.upper[6:]
    free = ((carried.motion.q[:, 7:] > low + 1e-6) & (carried.motion.q[:, 7:] < high - 1e-6)).all(axis=1)
    angles = []
    for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"), ("Arm", "ForeArm"), ("ForeArm", "Hand")):
        for side in ("Left", "Right"):
            ways = [m.positions(side + b) - m.positions(side + a) for m in (case.clip, back.motion)]
            one, two = (way / np.linalg.norm(way, axis=1, keepdims=True) for way in ways)
            angles.append(np.degrees(np.arccos(np.clip((one * two).sum(axis=1), -1.0, 1.0))))
    rows = np.mean(angles, axis=0)
    print(
        f"and back: {rows[free].mean() if free.any() else np.nan:.2f} degrees in {int(free.sum())} frames with no "
        f"joint at an end, {rows.mean():.2f} in all"
    )


def main() -> None:
    """Measure the available files, and report missing ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with clips, the G1, and other results")
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3, help="the best time of so many")
    parser.add_argument("--clips", nargs="*", default=list(CLIPS), choices=list(CLIPS))
    options = parser.parse_args()
    robot = find_file(options.data, "unitree_g1/g1.xml")
    if robot is None:
        return
    g1, judge = poise.load(robot, base="free"), Judge(str(robot))
    print(HEAD)
    for name in options.clips:
        path = find_file(options.data, f"{name}.bvh")
        if path is not None:
            measure_clip(options, Case(poise.load_motion(path, scale=0.01)[: options.frames]), g1, judge, name)


def measure_clip(options: argparse.Namespace, case: Case, g1: poise.Model, judge: Judge, name: str) -> None:
    """Print all rows of one clip."""
    carried = measure_ours(case, g1, judge, name, options.rounds)
    file, row = CLIPS[name]
    answers, given = find_file(options.data, f"gmr_{name}.npz"), find_file(options.data, f"{file}.csv")
    if given is not None:
        rows = np.loadtxt(given, delimiter=",")[row : row + options.frames]
        print_row(name, "unitree", case.judge(judge, rows[:, [0, 1, 2, 6, 3, 4, 5, *range(7, 36)]]), None)
    if answers is not None:
        with np.load(answers) as file_:
            gmr = {key: file_[key] for key in file_}
        gmr["q"] = gmr["q"][: options.frames]
        print_row(name, "gmr", case.judge(judge, gmr["q"]), float(gmr["fps"]))
        compare_with_gmr(case, g1, judge, name, gmr)
    measure_way_back(case, carried)


if __name__ == "__main__":
    main()
