"""Batches on the CPU: `python benchmarks/batch.py [--targets 10000]`.

Targets are tool frames of random poses inside the ranges, made by the DH tables of robots.py; every search starts in
the rest pose. An answer counts if that same FK finds it within 1e-4 m, 1e-3 rad and the ranges. "a second" is by the
wall clock, the best of some runs; "CPU us" is the process's own time for a target, the best too, which neighbours on
the machine disturb less: cores divided by it is what the machine does when it is free.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from gpu import targets_of, verify
from kinematics import machine
from robots import ARMS, TOLERANCE, model_of

import poise
from poise import native
from poise.batch import BatchSolver
from poise.batch.solver import cores
from poise.goals import Reach

HEAD = (
    f"{'':22}{'targets':>9}{'threads':>9}{'a second':>11}{'CPU us':>9}{'free machine':>14}{'verified %':>12}"
    f"{'false':>7}{'steps':>8}{'searches':>10}"
)


def best_run(solver: BatchSolver, targets: Any, repeats: int) -> tuple[float, float, Any]:
    """Seconds by the wall and of the process, each the best, and the last answer."""
    wall = cpu = float("inf")
    batch = solver.solve(targets)
    for _ in range(repeats):
        clock, used = time.perf_counter(), time.process_time()
        batch = solver.solve(targets)
        wall, cpu = min(wall, time.perf_counter() - clock), min(cpu, time.process_time() - used)
    return wall, cpu, batch


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--targets", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    options = parser.parse_args()
    print(f"{machine()}\npoise {poise.__version__} at level {native.level()}\n{HEAD}")
    for name in options.arms:
        arm = ARMS[name]
        model, tool = model_of(arm)
        targets = targets_of(arm, options.targets)
        for dtype in ("float64", "float32"):
            solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), dtype=dtype)
            wall, cpu, batch = best_run(solver, targets, options.repeats)
            good = verify(arm, batch.q.astype(np.float64), targets)
            count = options.targets
            row = f"{name + ' ' + dtype:22}{count:>9}{solver.threads:>9}{count / wall:>11,.0f}{1e6 * cpu / count:>9.2f}"
            row += f"{cores() * count / cpu:>14,.0f}{100 * good.mean():>12.2f}{int((batch.reached & ~good).sum()):>7}"
            print(f"{row}{batch.steps.mean():>8.2f}{batch.searches.mean():>10.3f}", flush=True)


if __name__ == "__main__":
    main()
