"""Search for false proofs: transforms of poses, moved by up to the tolerances, must never be proved out of reach.

    python benchmarks/proofs.py --targets 1000000 --workers 16

A third of the poses have a joint within 1e-3 rad of the end of its range, a third a joint within 1e-3 rad of where
axes coincide; targets are moved by up to 0.999 of the tolerances, a third of them by all of that. The closed form
is called directly, without a search before it.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import poise
from poise import Rotation
from poise.goals import Reach
from poise.reach.bounds import Freedom
from poise.reach.closed_forms import ClosedGoal, find_closed_form

ARMS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}
TOLERANCES = ((1e-4, 1e-3), (1e-3, 1e-2), (1e-6, 1e-5))
NEAR = 1e-3
PROVED = 0
CHUNK = 20_000


def find_frame(model: poise.Model, wanted: str) -> str:
    """Return the frame at the arm's end."""
    return wanted if wanted in model.frames else model.frames[-1]


def draw_poses(model: poise.Model, rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw poses: a third as they come, a third at an end of a range, a third near a multiple of a quarter turn."""
    q = model.random(rng, count)
    rows = np.arange(count)
    joint = rng.integers(0, model.nq, count)
    low, high = np.maximum(model.lower, -2.0 * np.pi), np.minimum(model.upper, 2.0 * np.pi)
    ends = np.where(rng.random(count) < 0.5, low[joint], high[joint]) + rng.uniform(-NEAR, NEAR, count)
    turns = np.pi / 2.0 * np.round(q[rows, joint] / (np.pi / 2.0)) + rng.uniform(-NEAR, NEAR, count)
    kind = rng.integers(0, 3, count)
    q[rows, joint] = np.where(kind == 0, q[rows, joint], np.where(kind == 1, ends, turns))
    return np.clip(q, model.lower, model.upper)


def move(T: np.ndarray, rng: np.random.Generator, metres: float, radians: float) -> np.ndarray:
    """Move transforms by up to 0.999 of the tolerances, a third of them by all of that."""
    out = T.copy()
    share = np.where(rng.random(len(T)) < 1.0 / 3.0, 1.0, rng.random(len(T)))[:, None] * 0.999
    for size, shift in ((metres, True), (radians, False)):
        way = rng.normal(size=(len(T), 3))
        way *= share * size / np.linalg.norm(way, axis=1, keepdims=True)
        if shift:
            out[:, :3, 3] += way
        else:
            out[:, :3, :3] = Rotation.from_vector(way).matrix @ T[:, :3, :3]
    return out


def count_false(arm: str, seed: int) -> tuple[str, int, int]:
    """Return the number of targets of a chunk that are proved out of reach although a pose exists."""
    model, rng = poise.load(arm), np.random.default_rng(seed)
    frame = find_frame(model, ARMS[arm])
    free = Freedom(np.ones(model.nv, dtype=bool).tobytes(), True)
    closed = find_closed_form(model, Reach(frame, np.eye(4)).rows(model), free)
    assert isinstance(closed, ClosedGoal), closed
    metres, radians = TOLERANCES[seed % len(TOLERANCES)]
    T = move(model.fk(draw_poses(model, rng, CHUNK), frame), rng, metres, radians)
    R, p = np.ascontiguousarray(T[:, :3, :3]), np.ascontiguousarray(T[:, :3, 3])
    verdicts = closed.form.decide(R, p, metres, radians, 400)["verdict"]
    return arm, int((verdicts == PROVED).sum()), CHUNK


def main() -> None:
    """Test all arms on all cores, and print the number of false proofs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=100_000, help="for each arm")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chunks = -(-options.targets // CHUNK)
    jobs = [(arm, options.seed + k) for k in range(chunks) for arm in ARMS]
    false, asked = dict.fromkeys(ARMS, 0), dict.fromkeys(ARMS, 0)
    with ProcessPoolExecutor(options.workers) as pool:
        for arm, wrong, count in pool.map(count_false, *zip(*jobs, strict=True)):
            false[arm] += wrong
            asked[arm] += count
    for arm in ARMS:
        print(f"{arm:<10}{asked[arm]:>12,} targets that a pose reaches, {false[arm]} proved out of reach")


if __name__ == "__main__":
    main()
