"""Batches on the CPU: `python benchmarks/batch.py [--targets 10000]`.

Targets are tool frames of random poses inside the ranges, made by the DH tables of robots.py. "Mixed" ones are drawn
evenly from the ball that the arm reaches, with any rotation, so that many of them cannot be reached: a missed row
is searched from every seed. Every search starts in the rest pose. The lines "one by one" are a loop in
Python over the first reachable targets: a prepared `Solver`, and `poise.solve`, which reads a new goal for each.

An answer counts if the FK of those tables finds it within 1e-4 m, 1e-3 rad and the ranges. "a second" is by the wall
clock, the best of some runs; "CPU us" is the best process time per target, which other work on the machine disturbs
less: the number of cores divided by it is the rate of an idle machine.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from gpu import targets_of, verify
from kinematics import machine
from robots import ARMS, TOLERANCE, Arm, mixed_targets, model_of

import poise
from poise import native
from poise.batch import BatchSolver
from poise.batch.solver import count_cores
from poise.goals import Reach

HEAD = (
    f"{'':22}{'targets':>9}{'threads':>9}{'a second':>11}{'CPU us':>9}{'free machine':>14}{'verified %':>12}"
    f"{'false':>7}{'steps':>8}{'searches':>10}"
)


def best_run(solver: BatchSolver, targets: Any, repeats: int) -> tuple[float, float, Any]:
    """Return the best wall-clock time and the best process time [s], and the last answer."""
    wall = cpu = float("inf")
    batch = solver.solve(targets)
    for _ in range(repeats):
        clock, used = time.perf_counter(), time.process_time()
        batch = solver.solve(targets)
        wall, cpu = min(wall, time.perf_counter() - clock), min(cpu, time.process_time() - used)
    return wall, cpu, batch


def print_row(what: str, arm: Arm, targets: Any, threads: int, run: tuple[float, float, Any]) -> None:
    """Print one row: times, the verified share, the effort."""
    wall, cpu, batch = run
    good = verify(arm, batch.q.astype(np.float64), targets)
    count = len(targets)
    row = f"{what:22}{count:>9}{threads:>9}{count / wall:>11,.0f}{1e6 * cpu / count:>9.2f}"
    row += f"{count_cores() * count / cpu:>14,.0f}{100 * good.mean():>12.2f}{int((batch.reached & ~good).sum()):>7}"
    print(f"{row}{batch.steps.mean():>8.2f}{batch.searches.mean():>10.3f}", flush=True)


def one_by_one(arm: Arm, targets: Any, repeats: int) -> None:
    """Solve the same targets in a loop; print the CPU microseconds per target."""
    model, tool = model_of(arm)
    solver = poise.Solver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))

    def prepared() -> None:
        for target in targets:
            solver.solve(None, {tool: target})

    def not_prepared() -> None:
        for target in targets:
            poise.solve(model, Reach(tool, target, tolerance=TOLERANCE))

    for what, work in (("Solver", prepared), ("poise.solve", not_prepared)):
        best = float("inf")
        for _ in range(repeats):
            used = time.process_time()
            work()
            best = min(best, time.process_time() - used)
        print(f"{arm.name + ', one by one: ' + what:40}{1e6 * best / len(targets):>20.2f}", flush=True)


def main() -> None:
    """Print the table."""
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
        mixed = mixed_targets(arm, max(1, options.targets // 10))
        for dtype in ("float64", "float32"):
            solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), dtype=dtype)
            run = best_run(solver, targets, options.repeats)
            print_row(f"{name} {dtype}", arm, targets, solver.threads, run)
            run = best_run(solver, mixed, min(3, options.repeats))
            print_row(f"{name} {dtype} mixed", arm, mixed, solver.threads, run)
        one_by_one(arm, targets[:1000], min(5, options.repeats))


if __name__ == "__main__":
    main()
