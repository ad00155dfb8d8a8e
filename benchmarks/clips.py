"""Whole clips, and paths of an arm.

    python benchmarks/clips.py [growth noise paths]          # the walk of the tests, and paths made here
    python benchmarks/clips.py contacts noise --data DIR     # every BVH of a folder, as LAFAN1's and CMU's
    python benchmarks/clips.py paths --paths FOLDER [--starts 100]

contacts  feet locked, judged by a rule of contact that is not ours (shared/contact_rule.py): the share of its frames
          that are locked, slip before, then slip, drift, height and sink [mm], steps and jerk relative to the clip,
          frames a CPU second, and contacts released
growth    frames a CPU second of walks of 100 to 20,000 frames
noise     the share of the clean clip's contact frames that are found and, after the slash, held by `lock`, in percent,
          then new frames, with noise on the root: 1 cm (standard deviation per axis) below 1, 2 and 4 Hz, 2 mm of white
          noise, and a path that is 10 % and 20 % longer than the steps, so that standing feet skate. "twice" is the
          largest motion of a heel or toe if the clip is locked twice, "part" the largest difference if only its first
          60 % are locked, a second or more before their end [mm].
paths     the three Panda paths of CppFlow (Morgan, Millard, Sukhatme 2024; github.com/jstmn/cppflow, MIT): FOLDER is
          its `cppflow/paths`. Without it, paths of the same kind are made here. Without obstacles; a path counts as
          solved where every waypoint is within 0.1 mm and 0.1 degrees, no joint moves by more than 7 degrees from one
          waypoint to the next, and nothing jumps between them. Steps in degrees, lengths in radians (sum, Euclidean).
          "greedy" counts the random first poses from which tracking step by step reaches the end.
"""

import csv
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from shared.command import Options, Part, Table, run_command, time_best
from shared.contact_rule import find_plain_contacts

import poise
from dirt import add_drift, add_jitter, measure_found, stretch_path
from poise import motion
from poise.arrays import Floats
from poise.goals import Reach
from poise.motion import Track, contacts, lock, quality
from poise.motion.paths.branches import find_route
from poise.motion.paths.midpoints import find_jumps
from walks import make_walk, put_skate_in

CENTIMETRES = 0.01
LENGTHS = (100, 500, 2_000, 5_000, 20_000)
DIRT: dict[str, Callable[[poise.Motion], poise.Motion]] = {
    "1 Hz": lambda clip: add_drift(clip, hz=1.0),
    "2 Hz": lambda clip: add_drift(clip, hz=2.0),
    "4 Hz": lambda clip: add_drift(clip, hz=4.0),
    "white": add_jitter,
    "10 %": lambda clip: stretch_path(clip, 0.1),
    "20 %": lambda clip: stretch_path(clip, 0.2),
}
SHARE = 0.6  # of a clip that is locked alone
FRAME = "panda_hand"
TOLERANCE = (1e-4, np.radians(0.1))
STEP = 7.0  # degrees
PLACES = {  # of CppFlow's problem files
    "1cube": (0.0, 0.5421984559194368, 0.7885155964931997),
    "2cubes": (0.0, 0.54, 0.79),
    "flappy_bird": (0.0, 0.54, 0.79),
}
OPTIONS: Options = {
    "data": (Path, "a folder with BVH files, for contacts in centimetres"),
    "frames": (600, "of each clip whose feet are locked"),
    "seconds": (10.0, "of each clip that noise is added to"),
    "longest": (LENGTHS[-1], "frames of the longest walk"),
    "paths": (Path, "the folder cppflow/paths"),
    "starts": (100, "random first poses"),
}

# ------------------------------------------------------------------------------------------------ contacts


def share_locked(track: Track, plain: dict[str, np.ndarray]) -> float:
    """Return the share of the plain rule's frames that are locked."""
    wanted = held = 0
    for toe, frames in plain.items():
        own = np.zeros(len(frames), dtype=bool)
        for contact in track.contacts:
            if contact.frame == toe:
                own[contact.start : contact.end] = True
        wanted += int(frames.sum())
        held += int((own & frames).sum())
    return held / max(wanted, 1)


def lock_clips(given: Namespace) -> None:
    """Lock the feet of every clip, and print the table."""
    before = ("clip:14", "locked %:9.1f", "slip before:8.3f")
    after = ("slip mm:10.5f", "drift mm:9.5f", "height mm:8.4f", "sink mm:8.4f", "step:8.3f", "jerk:8.4f", "fps:8.0f")
    table = Table(*before, *after, "freed:5")
    for path in sorted(given.data.glob("*.bvh")):
        try:
            clip = poise.load_motion(path, scale=CENTIMETRES)[: given.frames]
            roles = poise.roles(clip.model)
            toes = [roles[role] for role in ("toe_l", "toe_r") if role in roles]
            _, seconds, track = time_best(partial(lock, clip), 1)
            was, now = quality(clip, contacts=track.contacts), track.quality
        except poise.PoiseError as error:
            print(f"{path.stem:<14}{error}")
            continue
        share = 100.0 * share_locked(track, find_plain_contacts(clip, toes))
        lengths = (was.slip_mean, now.slip_max, now.drift_max, now.height_mean, now.sink_max)
        ratios = (now.step_max / was.step_max, now.jerk_p95 / max(was.jerk_p95, 1e-9))
        table.add(path.stem, share, *lengths, *ratios, len(clip) / seconds, len(track.released))


def measure_growth(given: Namespace) -> None:
    """Print the frames per second for walks of increasing length."""
    table, period = Table("frames:8", "a second:10.0f", "slip at most, mm:10.5f"), put_skate_in(make_walk(144))[:144]
    for frames in (length for length in LENGTHS if length <= given.longest):
        clip = period
        while len(clip) < frames:
            clip = clip.joined(clip, blend=0.2)
        _, seconds, track = time_best(partial(lock, clip[:frames]), 1)
        table.add(str(frames), frames / seconds, track.quality.slip_max)


# ------------------------------------------------------------------------------------------------ noise


def measure_dirt(clip: poise.Motion) -> list[str]:
    """Return the shares of contact frames for all kinds of noise."""
    clean, out = contacts(clip), list[str]()
    for add in DIRT.values():
        dirty = add(clip)
        found, new = measure_found(clean, contacts(dirty))
        held, _ = measure_found(clean, lock(dirty).contacts)
        out.append(f"{100 * found:.0f}/{100 * held:.0f} {100 * new:+.0f}")
    return out


def place_feet(clip: poise.Motion) -> Floats:
    """Return the paths of heels and toes, (points, frames, 3) [m]."""
    known = poise.roles(clip.model).contacts
    names = [name for name in known if name.startswith(("heel", "toe"))]
    return np.stack([clip.positions(known[name].frame, known[name].point) for name in names])


def measure_repeats(clip: poise.Motion) -> tuple[float, float]:
    """Return how far feet move if the clip is locked twice, and if only its first part is locked [mm]."""
    once, cut = lock(clip).motion, int(SHARE * len(clip))
    away = max(cut - round(clip.fps), 1)
    feet = place_feet(once)
    twice, part = place_feet(lock(once).motion), place_feet(lock(clip[:cut]).motion)
    moved = np.linalg.norm(twice - feet, axis=2).max()
    return 1e3 * float(moved), 1e3 * float(np.linalg.norm(part - feet[:, :cut], axis=2)[:, :away].max())


def measure_noise(given: Namespace) -> None:
    """Measure the walk of the tests, or all clips of a folder."""
    table = Table("clip:12", "contacts:8", *(f"{name}:13" for name in DIRT), "twice:9.3f", "part:8.1f")
    clips = {"walk": put_skate_in(make_walk(144))}
    if given.data is not None:
        clips = {path.stem: poise.load_motion(path, scale="auto") for path in sorted(given.data.glob("*.bvh"))}
    for name, whole in clips.items():
        clip = whole[: round(given.seconds * whole.fps)]
        table.add(name, len(contacts(clip)), *measure_dirt(clip), *measure_repeats(clip))


# ------------------------------------------------------------------------------------------------ paths


def read_path(folder: Path, name: str) -> np.ndarray:
    """Return transforms (n, 4, 4) of a file with columns x y z qw qx qy qz."""
    with (folder / f"{name}.csv").open(newline="") as file:
        values = np.array([[float(x) for x in row[1:]] for row in list(csv.reader(file))[1:]])
    T = np.tile(np.eye(4), (len(values), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = poise.Rotation(values[:, 3:]).matrix, values[:, :3] + PLACES[name]
    return T


def make_path(name: str) -> np.ndarray:
    """Return a path of the same kind: 200 waypoints across the front of the arm and back, 0.7 m wide."""
    t = np.linspace(0.0, 2.0 * np.pi, 200)
    height = {"1cube": 0.0 * t, "2cubes": 0.05 * np.sin(2.0 * t), "flappy_bird": 0.08 * np.sin(2.0 * t) - 0.1}[name]
    T = np.tile(np.eye(4), (len(t), 1, 1))
    T[:, :3, :3] = poise.Rotation((0.7058, -0.7084, 0.0, 0.0) if name == "flappy_bird" else (1.0, 0.0, 0.0, 0.0)).matrix
    T[:, :3, 3] = np.stack([0.35 * np.cos(t), 0.0 * t, height], axis=1) + PLACES[name]
    return T


def count_greedy(model: poise.Model, T: np.ndarray, starts: int) -> int:
    """Return the number of random first poses from which step-by-step tracking reaches the end."""
    solver = poise.Solver(model, Reach(FRAME, T[0], tolerance=TOLERANCE), restarts=0)
    first = poise.Solver(model, Reach(FRAME, T[0], tolerance=TOLERANCE))
    good = 0
    for q0 in model.random(np.random.default_rng(0), starts):
        answer = first.solve(q0)
        for target in T[1:]:
            before, answer = answer, solver.solve(answer.q, {FRAME: target})
            if not answer.reached or np.degrees(np.abs(answer.q - before.q).max()) > STEP:
                break
        else:
            good += answer.reached
    return good


def measure_paths(given: Namespace) -> None:
    """Print the table of paths."""
    print("Panda, one core;", "paths made here" if given.paths is None else "the paths of CppFlow")
    lengths = ("step:8.2f", "sum:9.2f", "Euclidean:9.2f", "mm:10.4f", "degrees:10.5f")
    table, model = Table("path:12", "n:5", ":8", "CPU s:8.3f", "answers:9", *lengths, "greedy:12"), poise.load("panda")
    for name in PLACES:
        T = make_path(name) if given.paths is None else read_path(given.paths, name)
        point, goal = Reach(FRAME, T[0], tolerance=TOLERANCE), Reach(FRAME, T, tolerance=TOLERANCE)
        _, spent, track = time_best(partial(motion.track, model, goal, fps=30.0))
        q = track.motion.q
        moves = np.diff(q, axis=0)
        step = float(np.degrees(np.abs(moves).max()))
        inside = bool(((q >= model.lower) & (q <= model.upper)).all())
        good = track.reached.all() and step <= STEP and inside and not track.reconfigurations
        good = good and not find_jumps(model, point, T, q)
        route = find_route(model, {FRAME: Reach(FRAME, T[0])}, {FRAME: T}, None)
        listed = 0 if route is None else int(route.listed.mean())
        metres, radians = track.errors[FRAME].max(axis=0)
        sizes = (step, np.abs(moves).sum(), np.linalg.norm(moves, axis=1).sum(), 1e3 * metres, np.degrees(radians))
        greedy = f"{count_greedy(model, T, given.starts)} / {given.starts}"
        table.add(name, len(T), "solved" if good else "MISSED", spent, listed, *sizes, greedy)


if __name__ == "__main__":
    parts = {
        "contacts": Part(lock_clips, "data"),
        "growth": Part(measure_growth),
        "noise": Part(measure_noise),
        "paths": Part(measure_paths),
    }
    run_command(__doc__, parts, OPTIONS)
