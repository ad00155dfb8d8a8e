"""Motions retargeted to the Unitree G1, judged by MuJoCo.

    python benchmarks/retarget.py lafan --data DIR
    python benchmarks/retarget.py cmu --cmu DIR --g1 unitree_g1/g1.xml
    python benchmarks/retarget.py gmr --data DIR       # where mink, daqp and scipy are installed

lafan  compared with GMR and with Unitree's own data for the same clips, by a plain contact rule;
       shared/retarget_judge.py describes the columns. DIR contains these, at any depth; missing ones are reported:
       walk.bvh dance.bvh run.bvh fall_getup.bvh jumps.bvh    excerpts of LAFAN1 (ImChong/Robot_Retarget_Online)
       unitree_g1/g1.xml                                      from google-deepmind/mujoco_menagerie
       walk1_subject1.csv, ...                                Unitree's data (wenconggan/Retarget_Motion_Lafan1)
       gmr_walk.npz, ...                                      written by the part gmr
cmu    forty clips of the CMU database, judged by MuJoCo's collision detection. DIR contains the BVH files of
       una-dinosauria/cmu-mocap at any depth. The clips were chosen from the index of the database by category before
       any of them was run. At most the first ten seconds of each are used.
       p99, worst   depth of the deepest geom below the floor, over frames                                 mm
       deep         share of frames in which it is more than 5 mm
       self         share of frames in which two parts of the robot are more than 5 mm inside each other
       slip         horizontal motion of the front of the sole while the source's toe stands by a plain rule, mm a frame
       step         largest motion of a joint in one frame                                                 rad
       limbs        95th percentile of the angle between the limb bones of both bodies                     degrees
       touch        largest error of the gap between a hand and a part that it touches in the source       mm
gmr    runs GMR's own code (a checkout of YanjieZe/GMR somewhere under DIR), and writes DIR/gmr_walk.npz and so on: `q`
       (frames, nq) as MuJoCo's, `targets` (frames, bodies, 3) that it aimed at, their `bodies`, and its `fps`
"""

from argparse import Namespace
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from shared.command import Options, Part, Table, run_command, time_best
from shared.contact_rule import find_plain_contacts, find_runs
from shared.gmr import run_gmr
from shared.retarget_judge import KEYS, CollisionJudge, Judge, Verdict

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
CMU_CLIPS = {
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
OPTIONS: Options = {
    "data": (Path, "a folder with clips, the G1, and other results"),
    "frames": (600, "of each clip of LAFAN1"),
    "rounds": (3, "the best time of so many"),
    "clips": (list(CLIPS), "names of clips of LAFAN1", CLIPS),
    "cmu": (Path, "a folder with the BVH files of the CMU database"),
    "g1": (Path, "unitree_g1/g1.xml of the MuJoCo Menagerie"),
    "categories": (list(CMU_CLIPS), "of the clips of the CMU database", CMU_CLIPS),
}

# ------------------------------------------------------------------------------------------------ LAFAN1


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


def add_row(table: Table, name: str, who: str, v: Verdict, fps: float | None) -> None:
    """Print one row."""
    feet = (100 * v.locked, v.slip, v.slip_max, v.drift, v.drift_max, v.height, v.sink_max, 100 * v.sink_share)
    table.add(name, who, *feet, v.limits, v.step, v.jerk, v.key_points, fps)


def compare_clips(given: Namespace) -> None:
    """Measure the available clips."""
    robot = find_file(given.data, "unitree_g1/g1.xml")
    if robot is None:
        return
    g1, judge = poise.load(robot, base="free"), Judge(str(robot))
    feet = (
        "locked %:8.1f",
        "slip:7.3f",
        "max:8.3f",
        "drift:7.2f",
        "max:8.2f",
        "height:8.2f",
        "sink:6.1f",
        ">1 mm %:7.1f",
    )
    body = ("limits:8.4f", "step:7.3f", "jerk:7.0f", "rf-kpe:8.3f", "fps:7.0f")
    table = Table("clip:11", "who:9", *feet, *body)
    for name in given.clips:
        path = find_file(given.data, f"{name}.bvh")
        if path is not None:
            case = Case(poise.load_motion(path, scale=0.01)[: given.frames])
            carried = measure_ours(table, case, g1, judge, name, given.rounds)
            compare_results(table, given, case, g1, judge, name)
            measure_way_back(case, carried)


def measure_ours(
    table: Table, case: Case, g1: poise.Model, judge: Judge, name: str, rounds: int
) -> poise.motion.Retargeted:
    """Retarget a clip as a whole and frame by frame, and print both rows."""
    _, seconds, carried = time_best(partial(poise.retarget, case.clip, g1), rounds)
    add_row(table, name, "poise", case.judge(judge, carried.motion.q), len(case.clip) / seconds)
    live = Retargeter(case.clip.model, g1)

    def stream() -> Floats:
        """Retarget the clip frame by frame."""
        live.reset()
        return np.array([live.step(frame).q for frame in case.clip.q])

    _, seconds, q = time_best(stream, rounds)
    add_row(table, name, "online", case.judge(judge, q), len(case.clip) / seconds)
    if carried.track.released:
        print(carried.why())
    return carried


def compare_results(table: Table, given: Namespace, case: Case, g1: poise.Model, judge: Judge, name: str) -> None:
    """Print the rows of Unitree's data and of GMR, where their files are there."""
    file, row = CLIPS[name]
    answers, data = find_file(given.data, f"gmr_{name}.npz"), find_file(given.data, f"{file}.csv")
    if data is not None:
        rows = np.loadtxt(data, delimiter=",")[row : row + given.frames]
        add_row(table, name, "unitree", case.judge(judge, rows[:, [0, 1, 2, 6, 3, 4, 5, *range(7, 36)]]), None)
    if answers is not None:
        with np.load(answers) as file_:
            gmr = {key: file_[key] for key in file_}
        gmr["q"] = gmr["q"][: given.frames]
        add_row(table, name, "gmr", case.judge(judge, gmr["q"]), float(gmr["fps"]))
        compare_with_gmr(case, g1, judge, name, gmr)


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


# ------------------------------------------------------------------------------------------------ CMU


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


def judge_clip(judge: CollisionJudge, soles: Judge, clip: poise.Motion, g1: poise.Model) -> ClipVerdict:
    """Retarget a clip and judge it."""
    poise.retarget(clip[:2], g1)  # finds the parts of both bodies
    _, seconds, carried = time_best(partial(poise.retarget, clip, g1), 1)
    q = carried.motion.q
    floor, own = judge.measure_depths(q)
    return ClipVerdict(
        frames=len(q),
        p99=1e3 * float(np.percentile(floor, 99.0)),
        worst=1e3 * float(floor.max()),
        deep=float((floor > DEEP_M).mean()),
        inside=float((own > DEEP_M).mean()),
        slip=measure_slip(soles, clip, q),
        step=float(np.abs(np.diff(q[:, 7:], axis=0)).max(initial=0.0)),
        limbs=float(np.degrees(np.percentile(carried.bone_errors, 95.0))),
        touch=1e3 * max((touch.error for touch in carried.touches), default=np.nan),
        fps=len(q) / seconds,
    )


def measure_slip(judge: Judge, clip: poise.Motion, q: Floats) -> float:
    """Return the mean motion of the front of the soles while the source's toes stand [mm a frame]; nan without."""
    plain, slips = find_plain_contacts(clip, list(TOES.values())), list[Floats]()
    soles = judge.place(q)[1]
    for side, toe in TOES.items():
        front = soles[side][:, :2].mean(axis=1)[:, :2]
        slips += [np.linalg.norm(np.diff(front[a:b], axis=0), axis=1) for a, b in find_runs(plain[toe])]
    return 1e3 * float(np.concatenate(slips).mean()) if slips else np.nan


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


def judge_clips(given: Namespace) -> None:
    """Judge the available clips of the CMU database, and print every clip, then a row for each category."""
    if given.g1 is None:
        print("left out: give --g1")
        return
    g1, judge, soles = poise.load(given.g1, base="free"), CollisionJudge(given.g1), Judge(str(given.g1))
    depths = ("frames:7", "p99:8.1f", "worst:8.1f", "deep:8.1%", "self:8.1%")
    columns = (":11", "clip:8", *depths, "slip:8.3f", "step:7.3f", "limbs:7.1f", "touch:7.1f", "fps:6.0f")
    table, sums = Table(*columns), dict[str, ClipVerdict]()
    for category in given.categories:
        rows = []
        for name in CMU_CLIPS[category]:
            path = find_file(given.cmu, f"{name}.bvh")
            if path is not None:
                clip = poise.load_motion(path, scale=METRES_PER_UNIT)
                rows.append(judge_clip(judge, soles, clip[: round(LONGEST_S * clip.fps)], g1))
                table.add(category, name, *astuple(rows[-1]))
        if rows:
            sums[category] = sum_up(rows)
    table = Table(*columns)
    for category, row in sums.items():
        table.add(category, "all", *astuple(row))


if __name__ == "__main__":
    parts = {
        "lafan": Part(compare_clips, "data"),
        "cmu": Part(judge_clips, "cmu"),
        "gmr": Part(lambda given: run_gmr(given.data, CLIPS, given.frames), "data"),
    }
    run_command(__doc__, parts, OPTIONS, ["mujoco", "mink", "daqp"])
