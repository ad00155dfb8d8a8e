"""Benchmark arms from Python, compared with other libraries in one run: `python benchmarks/arms.py [--targets 10000]`.

Targets are tool frames of random poses inside the ranges; every search starts in the middle of the ranges, which is
singular for two of the three arms. An answer counts if independent forward kinematics (robots.py) finds it within
1e-4 m, 1e-3 rad and the ranges; a wrong `reached` is counted as false.

Poise is called as in user code, `solver.solve(start, {name: T})`, on a prepared Solver. Mean, p50 and p99 are of
single calls by the wall clock. The CPU column is the process's own mean time, which a busy machine disturbs less; the
ratio is of that. The libraries take turns, a block of targets each, so that a slow minute hits all of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from kinematics import best_of, machine
from peers import PEERS, Answer, Peer, Solve, quiet_output
from robots import ARMS, TOLERANCE, Arm, Array, model_of

import poise
from poise import native
from poise.goals import Reach

BLOCKS = 20
POINTS = 1000


@dataclass
class Tally:
    """The results of one library."""

    name: str
    solve: Solve
    count: int
    seconds: list[float] = field(default_factory=list)
    cpu: float = 0.0
    answers: list[Answer] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)

    def run(self, arm: Arm, start: Array, targets: Sequence[Array]) -> None:
        """Solve a block of targets, timed call by call, then check the answers."""
        clock, solve = time.perf_counter, self.solve
        answers, times = [], []
        cpu = time.process_time()
        for T in targets:
            begun = clock()
            answer = solve(start, T)
            times.append(clock() - begun)
            answers.append(answer)
        self.cpu += time.process_time() - cpu
        self.seconds += times
        self.answers += answers
        self.good += [arm.serves(answer.q, T) for answer, T in zip(answers, targets, strict=True)]

    @property
    def cpu_us(self) -> float:
        """The mean CPU time of a call [us]."""
        return 1e6 * self.cpu / len(self.seconds)

    def row(self, ours: float) -> str:
        """Return its row of the table; `ours` is Poise's CPU time."""
        us = 1e6 * np.array(self.seconds)
        false = sum(a.reached and not good for a, good in zip(self.answers, self.good, strict=True))
        steps, searches = (np.mean([getattr(a, what) for a in self.answers]) for what in ("steps", "searches"))
        times = f"{us.mean():10.1f}{np.median(us):9.1f}{np.percentile(us, 99):10.1f}{self.cpu_us:10.1f}"
        counts = f"{100 * np.mean(self.good):9.2f}{false:7}{steps or np.nan:8.1f}{searches:10.2f}"
        return f"{self.name:17}{len(us):8}{times}{counts}{self.cpu_us / ours:9.1f}x"


HEAD = (
    f"{'':17}{'targets':>8}{'mean us':>10}{'p50':>9}{'p99':>10}{'CPU us':>10}"
    f"{'solved %':>9}{'false':>7}{'steps':>8}{'searches':>10}{'to Poise':>10}"
)


def poise_solve(arm: Arm) -> tuple[Solve, poise.Solver, str]:
    """Return the default method of Poise on a prepared Solver."""
    model, tool = model_of(arm)
    solver = poise.Solver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))
    solve = solver.solve

    def timed(start: Array, T: Array) -> Answer:
        return solve(start, {tool: T})  # a Solution has the fields of an Answer

    return timed, solver, tool  # type: ignore[return-value]


def contestants(arm: Arm, count: int, peers: Sequence[Peer]) -> Iterator[Tally]:
    """Yield Poise and every installed peer that supports the arm; print the names of the others."""
    yield Tally("Poise", poise_solve(arm)[0], count)
    for peer in peers:
        try:
            with quiet_output():
                solve = peer.build(arm)
        except ImportError:
            print(f"{peer.name:17} not installed (pip install {peer.package})")
            continue
        if solve is None:
            print(f"{peer.name:17} does not support this arm")
            continue
        yield Tally(peer.name, solve, max(20, int(peer.share * count)))


def compare(arm: Arm, count: int, peers: Sequence[Peer]) -> None:
    """Print the table of one arm."""
    rng = np.random.default_rng(0)
    targets = arm.fk(rng.uniform(arm.lower, arm.upper, (count, len(arm.rows))))
    print(f"\n{arm.name}: {count} targets")
    tallies = list(contestants(arm, count, peers))
    for tally in tallies:  # one call to warm up
        tally.solve(arm.middle, targets[0])
    for block in range(BLOCKS):
        for tally in tallies:
            first, last = (tally.count * k // BLOCKS for k in (block, block + 1))
            tally.run(arm, arm.middle, targets[first:last])
    print(HEAD)
    for tally in tallies:
        print(tally.row(tallies[0].cpu_us))


# ------------------------------------------------------------------------------------------ where the time goes


class Shell:
    """A solver that does nothing, to measure the cost of a Python call."""

    def solve(self, start: Array, targets: dict[str, Array]) -> None:
        """Do nothing."""


def where_time_goes(arm: Arm, count: int) -> str:
    """Return the parts of one call as text: the interpreter, the bindings (checks and output arrays), the kernel.

    All but the kernel are measured with a call whose start is already the answer.
    """
    _, solver, tool = poise_solve(arm)
    q = np.array(arm.elbow)
    there = {tool: arm.fk(q)}
    at_rest = 1e6 * min(solver.solve(q, there).seconds for _ in range(1000))
    calls = (partial(Shell().solve, q, there), partial(solver.problem.solve, q, there), partial(solver.solve, q, there))
    empty, door, whole = best_of(*calls)
    rng = np.random.default_rng(1)
    targets = arm.fk(rng.uniform(arm.lower, arm.upper, (count, len(arm.rows))))
    kernel = 1e6 * min(float(np.mean([solver.solve(arm.middle, {tool: T}).seconds for T in targets])) for _ in range(5))
    parts = (empty, whole - door - empty, door - at_rest, kernel)
    return f"{arm.name:10}{sum(parts):9.2f}" + "".join(f"{part:18.2f}" for part in parts)


# ------------------------------------------------------------------------------------------ tracking


def path_of(arm: Arm) -> Array:
    """Return a figure of eight, 0.3 m wide, with the tool swaying by 0.2 rad, about a bent pose: (POINTS, 4, 4)."""
    T = np.broadcast_to(arm.fk(np.array(arm.elbow)), (POINTS, 4, 4)).copy()
    phase = np.linspace(0.0, 2 * np.pi, POINTS)
    T[:, 1, 3] += 0.15 * np.sin(phase)
    T[:, 2, 3] += 0.10 * np.sin(2 * phase)
    sway = 0.2 * np.sin(phase)
    turns = np.zeros((POINTS, 3, 3))
    turns[:, 0, 0] = turns[:, 2, 2] = np.cos(sway)
    turns[:, 0, 2], turns[:, 2, 0], turns[:, 1, 1] = np.sin(sway), -np.sin(sway), 1.0
    T[:, :3, :3] = turns @ T[:, :3, :3]
    return T


def track(name: str, solve: Solve, arm: Arm, turns: int) -> None:
    """Follow the path from point to point, each from the previous answer, and print a row."""
    path = path_of(arm)
    best = best_cpu = float("inf")
    for _ in range(turns):
        q, taken = np.array(arm.elbow), []
        clock, cpu = time.perf_counter(), time.process_time()
        for T in path:
            q = solve(q, T).q
            taken.append(q)
        best, best_cpu = min(best, time.perf_counter() - clock), min(best_cpu, time.process_time() - cpu)
    reached = sum(arm.serves(q, T) for q, T in zip(taken, path, strict=True))
    largest = np.abs(np.diff(np.array([arm.elbow, *taken]), axis=0)).max()
    print(f"{arm.name:8}{name:17}{1e6 * best / POINTS:10.2f}{1e6 * best_cpu / POINTS:10.2f}{reached:9}{largest:18.4f}")


def tracking(arms: Sequence[Arm], peers: Sequence[Peer]) -> None:
    """Print the table of tracked paths."""
    print(f"\nwarm-started tracking of {POINTS} points (a figure of eight, 0.3 m wide); best of some runs")
    print(f"{'':25}{'us/point':>10}{'CPU us':>10}{'reached':>9}{'largest step rad':>18}")
    for arm in arms:
        track("Poise", poise_solve(arm)[0], arm, 20)
        for peer in peers:
            try:
                with quiet_output():
                    solve = peer.build(arm) if peer.tracks else None
            except ImportError:
                continue
            if solve is not None:
                track(peer.name, solve, arm, 3 if peer.share > 0.1 else 1)


def versions(peers: Sequence[Peer]) -> str:
    """Return the versions of the installed peers."""
    found = []
    for package in dict.fromkeys(peer.package for peer in peers):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found) or "no peers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=10_000, help="targets for each arm; slow peers get fewer")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--peers", nargs="*", default=None, help="names of the peers to run; all unless given")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    wanted = [] if options.no_peers else [p for p in PEERS if options.peers is None or p.name in options.peers]
    arms = [ARMS[name] for name in options.arms]
    print(f"{machine()}\nPython {platform.python_version()}, numpy {np.__version__}")
    print(f"poise {poise.__version__} at level {native.level()}, {versions(wanted)}")
    print("UR5: the maker's DH table (CB series), every joint +-360 degrees")
    for arm in arms:
        compare(arm, options.targets, wanted)
    print(f"\nwhere Poise's time goes, us: {min(options.targets, 2000)} targets, best of some turns")
    print(f"{'':10}{'a call':>9}{'empty call':>18}{'Python shell':>18}{'checks, arrays':>18}{'kernel':>18}")
    for arm in arms:
        print(where_time_goes(arm, min(options.targets, 2000)))
    tracking(arms, wanted)


if __name__ == "__main__":
    main()
