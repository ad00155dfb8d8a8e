"""Benchmark arms from Python, compared with other libraries in one run.

    python benchmarks/arms.py [solve cost track batch] [--targets 10000] [--peers EAIK klampt | --peers none]

Targets are tool frames of random poses inside the ranges, made by the DH tables of shared/robots.py. An answer counts
if those tables find it within 1e-4 m, 1e-3 rad and the ranges; a wrong `reached` is counted as false. The UR5 is that
of the maker's DH table (CB series), every joint +-360 degrees.

solve   single calls as in user code, `solver.solve(start, {name: T})`, on a prepared Solver. Every search starts in the
        middle of the ranges, which is singular for two of the three arms. Mean, p50 and p99 are by the wall clock. CPU
        is the process's own mean time, which a busy machine disturbs less; the ratio is of that.
cost    where the time of a call goes
track   a path followed from point to point
batch   batches on all cores, from the rest pose. "Mixed" targets are drawn evenly from the ball that the arm reaches,
        with any rotation, so that many cannot be reached: a missed row is searched from every seed. "a second" is by
        the wall clock, the best of some runs; "CPU us" is the best process time per target: the number of cores divided
        by it is the rate of an idle machine. "one by one" is a loop in Python over the first reachable targets: a
        prepared `Solver`, and `poise.solve`, which reads a new goal for each.
"""

from argparse import Namespace
from functools import partial

import numpy as np
from shared.arm_peers import PEERS
from shared.command import Options, Part, Table, best_of, run_command, time_best
from shared.contest import Answer, Contestant, Solve, choose_peers, find_contestants, hold_contest
from shared.robots import ARMS, TOLERANCE, Arm, Array, draw_mixed, draw_targets, model_of

import poise
from poise.batch import BatchSolver
from poise.batch.solver import count_cores
from poise.goals import Reach

POINTS = 1000  # of the path
NAMES = [peer.name for peer in PEERS]
OPTIONS: Options = {
    "targets": (10_000, "targets for each arm; slow peers get fewer"),
    "arms": (list(ARMS), "names of arms", ARMS),
    "peers": (
        [peer.name for peer in PEERS],
        "names of the peers; none for Poise alone",
        [*(peer.name for peer in PEERS), "none"],
    ),
    "repeats": (20, "runs of each batch"),
}


def prepare(arm: Arm) -> tuple[Solve, poise.Solver, str]:
    """Return the default method of Poise on a prepared Solver."""
    model, tool = model_of(arm)
    solver = poise.Solver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))
    solve = solver.solve

    def timed(start: Array, T: Array) -> Answer:
        return solve(start, {tool: T})  # a Solution has the fields of an Answer

    return timed, solver, tool  # type: ignore[return-value]


def compare(given: Namespace) -> None:
    """Print the table of single calls of each arm."""
    for arm in map(ARMS.__getitem__, given.arms):
        targets = draw_targets(arm, given.targets)
        print(f"\n{arm.name}: {given.targets} targets")
        contestants = [Contestant("Poise", prepare(arm)[0], arm.serves, given.targets)]
        for peer, solve in find_contestants(choose_peers(PEERS, given.peers), arm):
            contestants.append(Contestant(peer.name, solve, arm.serves, max(20, int(peer.share * given.targets))))
        hold_contest(contestants, arm.middle, targets)


# ------------------------------------------------------------------------------------------ where the time goes


class Shell:
    """A solver that does nothing, to measure the cost of a Python call."""

    def solve(self, start: Array, targets: dict[str, Array]) -> None:
        """Do nothing."""


def measure_cost(given: Namespace) -> None:
    """Print the parts of one call: the interpreter, the bindings (checks and output arrays), the kernel.

    All but the kernel are measured with a call whose start is already the answer.
    """
    count = min(given.targets, 2000)
    print(f"us: {count} targets, best of some turns")
    table = Table(
        ":10", "a call:9.2f", "empty call:18.2f", "Python shell:18.2f", "checks, arrays:18.2f", "kernel:18.2f"
    )
    for arm in map(ARMS.__getitem__, given.arms):
        _, solver, tool = prepare(arm)
        q = np.array(arm.elbow)
        there = {tool: arm.fk(q)}
        at_rest = 1e6 * min(solver.solve(q, there).seconds for _ in range(1000))
        works = (Shell().solve, solver.problem.solve, solver.solve)
        empty, door, whole = best_of(*(partial(work, q, there) for work in works))
        targets = draw_targets(arm, count, seed=1)
        turns = [np.mean([solver.solve(arm.middle, {tool: T}).seconds for T in targets]) for _ in range(5)]
        parts = (empty, whole - door - empty, door - at_rest, 1e6 * float(min(turns)))
        table.add(arm.name, sum(parts), *parts)


# ------------------------------------------------------------------------------------------ tracking


def make_path(arm: Arm) -> Array:
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


def follow(solve: Solve, arm: Arm, path: Array) -> list[Array]:
    """Follow the path, each point from the previous answer."""
    q, taken = np.array(arm.elbow), []
    for T in path:
        q = solve(q, T).q
        taken.append(q)
    return taken


def track(given: Namespace) -> None:
    """Print the table of tracked paths."""
    print(f"warm-started tracking of {POINTS} points (a figure of eight, 0.3 m wide); best of some runs")
    table = Table("arm:8", "library:17", "us/point:10.2f", "CPU us:10.2f", "reached:9", "largest step rad:18.4f")
    peers = [peer for peer in choose_peers(PEERS, given.peers) if peer.tracks]
    for arm in map(ARMS.__getitem__, given.arms):
        path = make_path(arm)
        solves = [("Poise", prepare(arm)[0], 20)]
        solves += [(p.name, solve, 3 if p.share > 0.1 else 1) for p, solve in find_contestants(peers, arm)]
        for name, solve, turns in solves:
            wall, cpu, taken = time_best(partial(follow, solve, arm, path), turns)
            reached = sum(arm.serves(q, T) for q, T in zip(taken, path, strict=True))
            largest = np.abs(np.diff(np.array([arm.elbow, *taken]), axis=0)).max()
            table.add(arm.name, name, 1e6 * wall / POINTS, 1e6 * cpu / POINTS, reached, largest)


# ------------------------------------------------------------------------------------------ batches


def measure_batches(given: Namespace) -> None:
    """Print the table of batches, then the loops over single calls."""
    columns = (":22", "targets:9", "threads:9", "a second:11,.0f", "CPU us:9.2f", "free machine:14,.0f")
    table = Table(*columns, "verified %:12.2f", "false:7", "steps:8.2f", "searches:10.3f")
    for arm in map(ARMS.__getitem__, given.arms):
        model, tool = model_of(arm)
        kinds = {
            "": (draw_targets(arm, given.targets), given.repeats),
            " mixed": (draw_mixed(arm, max(1, given.targets // 10)), min(3, given.repeats)),
        }
        solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))
        for kind, (targets, repeats) in kinds.items():
            solver.solve(targets)
            wall, cpu, batch = time_best(partial(solver.solve, targets), repeats)
            good = arm.serve(batch.q, targets)
            count, false = len(targets), int((batch.reached & ~good).sum())
            rates = (count / wall, 1e6 * cpu / count, count_cores() * count / cpu)
            effort = (batch.steps.mean(), batch.searches.mean())
            table.add(f"{arm.name}{kind}", count, solver.threads, *rates, 100 * good.mean(), false, *effort)
        measure_loops(arm, kinds[""][0][:1000], min(5, given.repeats))


def measure_loops(arm: Arm, targets: Array, repeats: int) -> None:
    """Solve the targets in a loop; print the CPU microseconds per target."""
    model, tool = model_of(arm)
    solver = prepare(arm)[1]
    loops = {
        "Solver": lambda: [solver.solve(None, {tool: target}) for target in targets],
        "poise.solve": lambda: [poise.solve(model, Reach(tool, target, tolerance=TOLERANCE)) for target in targets],
    }
    for name, loop in loops.items():
        print(f"{arm.name}, one by one: {name:12}{1e6 * time_best(loop, repeats)[1] / len(targets):9.2f} CPU us")


if __name__ == "__main__":
    run_command(
        __doc__,
        {"solve": Part(compare), "cost": Part(measure_cost), "track": Part(track), "batch": Part(measure_batches)},
        OPTIONS,
        [peer.package for peer in PEERS],
    )
