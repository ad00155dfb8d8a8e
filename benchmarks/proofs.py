"""What closed forms decide and list, and whether it is true.

    python benchmarks/proofs.py [decide false complete] [--arms ur5e panda] [--workers 16]

Poses are drawn with a third of their joints within 1e-3 rad of a limit or a quarter turn.

decide    random transforms in the ball around the second joint that contains all positions of the tool, on one core,
          CPU time: the share decided, the cost of a missed row, false proofs, and lists of all branches. "listed":
          solve_batch(solutions=8; 7 joints: 128). "solve", "solve_all": one call on one target; "its list": the call,
          its arcs, and every pose (16 along each arc).
false     transforms of poses, moved by up to 0.999 of the tolerances, a third of them by all of that, must never be
          proved out of reach. The closed form is called directly, without a search before it.
complete  a dense numeric search must find no pose that a complete list lacks, in fifty digits (mpmath); see
          shared/complete_lists.py. Exits with 1 if a pose is missing.
"""

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from shared.closed_arms import ARMS, draw_around, find_closed, near_edges
from shared.command import Options, Part, Table, run_command, time_best

import poise
from poise import Rotation
from poise.goals import Reach

TOLERANCES = ((1e-4, 1e-3), (1e-3, 1e-2), (1e-6, 1e-5))
PROVED = 0
CHUNK = 20_000  # targets decided together
LISTED = 50  # targets listed together
OPTIONS: Options = {
    "arms": (list(ARMS), "names of arms", ARMS),
    "rows": (2000, "random transforms that are decided"),
    "proofs": (200_000, "transforms of poses whose false proofs are counted"),
    "targets": (500, "lists that are searched"),
    "starts": (30, "of the search of each list"),
    "seed": (0, "of the random numbers"),
    "workers": (1, "processes"),
    "show": (False, "print missing poses"),
}

# ------------------------------------------------------------------------------------------------ decided


def decide(given: Namespace) -> None:
    """Print the table of random transforms."""
    shares = ("reached:9.2%", "proved:9.2%", "open:9.2%", "mixed row us:9.1f", "reachable us:9.1f")
    costs = ("listed us:9.1f", "solve us:8.1f", "solve_all us:8.1f", "its list us:8.1f")
    table = Table("arm:8", *shares, "decision us:9.1f", "false proofs:18", *costs)
    for name in given.arms:
        table.add(name, *measure_decisions(ARMS[name](), given.rows, given.proofs))


def measure_decisions(model: poise.Model, rows: int, proofs: int) -> list[Any]:
    """Return the figures of one arm."""
    frame, rng = model.frames[-1], np.random.default_rng(0)
    goal, closed = Reach(frame, np.eye(4)), find_closed(model, model.frames[-1])
    T, own = draw_around(model, frame, rng, rows), model.fk(model.random(rng, rows), frame)
    batch = poise.solve_batch(model, goal, T, threads=1)
    share = {str(status): n / rows for status, n in batch.counts.items()}
    missed, ask = T[~batch.reached], closed.form.decide
    wrong = 0
    for _ in range(0, proofs, CHUNK):
        sure = model.fk(near_edges(model, rng, CHUNK), frame)
        wrong += count_proved(ask(sure[:, :3, :3].copy(), sure[:, :3, 3].copy(), 0.0, 0.0, 1000))
    several, most = [Reach(frame, T) for T in own[:100]], 8 if closed.free is None else 128

    def measure(work: Callable[[], object], count: int) -> float:
        """Return the CPU microseconds of one of a count."""
        return 1e6 * time_best(work)[1] / max(1, count)

    def solve_each(solve: Callable[[poise.Model, Reach], object]) -> float:
        return measure(lambda: [solve(model, goal) for goal in several], len(several))

    return [
        *(share.get(word, 0.0) for word in ("reached", "unreachable", "stalled")),
        measure(lambda: poise.solve_batch(model, goal, T, threads=1), rows),
        measure(lambda: poise.solve_batch(model, goal, own, threads=1), rows),
        measure(lambda: ask(missed[:, :3, :3].copy(), missed[:, :3, 3].copy(), 1e-4, 1e-3, 1000), len(missed)),
        f"{wrong} / {proofs}",
        measure(lambda: poise.solve_batch(model, goal, own, threads=1, solutions=most), rows),
        *(solve_each(solve) for solve in (poise.solve, poise.solve_all, lambda *x: len(poise.solve_all(*x)))),
    ]


def count_proved(decided: Any) -> int:
    """Return the number of targets that are proved out of reach."""
    return int((np.array(decided) == PROVED).sum())


# ------------------------------------------------------------------------------------------------ false proofs


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


def count_false(arm: str, seed: int) -> int:
    """Return the number of targets of a chunk that are proved out of reach although a pose exists."""
    model, rng = ARMS[arm](), np.random.default_rng(seed)
    metres, radians = TOLERANCES[seed % len(TOLERANCES)]
    T = move(model.fk(near_edges(model, rng, CHUNK), model.frames[-1]), rng, metres, radians)
    form, R, p = find_closed(model, model.frames[-1]).form, T[:, :3, :3].copy(), T[:, :3, 3].copy()
    return count_proved(form.decide(R, p, metres, radians, 400))


def search_false(given: Namespace) -> bool:
    """Print the number of false proofs of each arm."""
    table, chunks = Table("arm:8", "targets:12,", "false proofs:14"), -(-given.proofs // CHUNK)
    false = 0
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for arm in given.arms:
            own = sum(pool.map(partial(count_false, arm), range(given.seed, given.seed + chunks)))
            table.add(arm, chunks * CHUNK, own)
            false += own
    return false == 0


# ------------------------------------------------------------------------------------------------ complete lists


def search_lists(name: str, seed: int, starts: int, show: bool, chunk: int, count: int) -> Counter:
    """Return the number of complete lists of some targets, and the verdicts on their poses."""
    from shared.complete_lists import Listed, find_poses, get_arm  # needs mpmath

    arm = get_arm(name)
    rng = np.random.default_rng([seed, chunk])
    own = near_edges(arm.model, rng, count)
    T = arm.model.fk(own, arm.frame)
    out: Counter = Counter(targets=count)
    for row, (target, poses) in enumerate(zip(T, find_poses(arm, T, own, rng, starts), strict=True)):
        listed = Listed(arm, target)
        if not listed.complete:
            continue
        out["complete"] += 1
        for q in poses:
            verdict = listed.judge(q)
            out[verdict] += 1
            if show and verdict == "lacking":
                print(f"{name} seed {seed} chunk {chunk} row {row}: {q.tolist()}", flush=True)
    return out


def search_lacking(given: Namespace) -> bool:
    """Print, for each arm, the number of complete lists and of poses missing in them."""
    table = Table("arm:8", "targets:8", "complete:9.2%", "listed:9", "exact:7", "no pose:8", "lacking:8")
    lacking = 0
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the processes are enough
    sizes = [min(LISTED, given.targets - at) for at in range(0, given.targets, LISTED)]
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for name in given.arms:
            found: Counter = Counter()
            work = partial(search_lists, name, given.seed, given.starts, given.show)
            for part in pool.map(work, range(len(sizes)), sizes):
                found += part
                if given.show:
                    print(name, dict(found), file=sys.stderr, flush=True)
            lacking += found["lacking"]
            words = ("listed", "exact", "no pose", "lacking")
            table.add(name, found["targets"], found["complete"] / found["targets"], *(found[word] for word in words))
    return lacking == 0


if __name__ == "__main__":
    parts = {"decide": decide, "false": search_false, "complete": search_lacking}
    run_command(__doc__, {name: Part(work) for name, work in parts.items()}, OPTIONS, ["mpmath"])
