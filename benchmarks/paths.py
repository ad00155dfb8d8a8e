"""Paths of an arm: branches chosen over the whole path, compared with tracking from random first poses.

    python benchmarks/paths.py --paths FOLDER [--starts 100]

The three Panda paths of CppFlow (Morgan, Millard, Sukhatme 2024; github.com/jstmn/cppflow, MIT): FOLDER is its
`cppflow/paths`, whose files are read and not part of Poise. Without it, paths of the same kind are made here. Without
obstacles; a path counts as solved where every waypoint is within 0.1 mm and 0.1 degrees, no joint moves by more than
7 degrees from one waypoint to the next, and nothing jumps between them. Times are CPU time, best of three.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from pathlib import Path

import numpy as np

import poise
from poise import motion
from poise.goals import Reach
from poise.motion.paths.branches import find_route
from poise.motion.paths.midpoints import find_jumps

FRAME = "panda_hand"
TOLERANCE = (1e-4, np.radians(0.1))
STEP = 7.0  # degrees
PLACES = {  # of CppFlow's problem files
    "1cube": (0.0, 0.5421984559194368, 0.7885155964931997),
    "2cubes": (0.0, 0.54, 0.79),
    "flappy_bird": (0.0, 0.54, 0.79),
}


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


def measure(name: str, T: np.ndarray, starts: int) -> None:
    """Print the figures of one path."""
    model = poise.load("panda")
    goal = Reach(FRAME, T, tolerance=TOLERANCE)
    spent = []
    for _ in range(3):
        begun = time.process_time()
        track = motion.track(model, goal, fps=30.0)
        spent.append(time.process_time() - begun)
    q = track.motion.q
    step = np.degrees(np.abs(np.diff(q, axis=0)).max())
    jumps = find_jumps(model, Reach(FRAME, T[0], tolerance=TOLERANCE), T, q)
    inside = bool(((q >= model.lower) & (q <= model.upper)).all())
    good = track.reached.all() and step <= STEP and not jumps and inside and not track.reconfigurations
    route = find_route(model, {FRAME: Reach(FRAME, T[0])}, {FRAME: T}, None)
    listed = 0 if route is None else int(route.listed.mean())
    metres, radians = track.errors[FRAME].max(axis=0)
    print(
        f"{name:12}{len(T):>5}{'solved' if good else 'MISSED':>8}{min(spent):>8.3f}{listed:>9}{step:>8.2f}"
        f"{np.abs(np.diff(q, axis=0)).sum():>9.2f}{np.linalg.norm(np.diff(q, axis=0), axis=1).sum():>9.2f}"
        f"{1e3 * metres:>10.4f}{np.degrees(radians):>10.5f}{count_greedy(model, T, starts):>7} / {starts}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", type=Path, help="the folder cppflow/paths")
    parser.add_argument("--starts", type=int, default=100)
    given = parser.parse_args()
    made = "paths made here" if given.paths is None else "the paths of CppFlow"
    print(f"{platform.machine()}, one core: Panda, {made}; steps in degrees, lengths in radians (sum, Euclidean)")
    print(
        f"{'path':12}{'n':>5}{'':>8}{'CPU s':>8}{'answers':>9}{'step':>8}{'length':>9}{'':>9}{'mm':>10}{'degrees':>10}"
        f"{'greedy':>12}"
    )
    for name in PLACES:
        measure(name, make_path(name) if given.paths is None else read_path(given.paths, name), given.starts)


if __name__ == "__main__":
    main()
