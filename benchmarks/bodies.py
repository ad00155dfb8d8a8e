"""Benchmark whole bodies from Python: `python benchmarks/bodies.py [--rounds 3]`.

Three tables:

1. The Unitree G1, two hands and two feet to 1e-3 m and 1e-2 rad, 200 targets about a bent stance, compared with other
   libraries in one run (g1.py, body_peers.py). An answer counts if Pinocchio finds every end at its target and every
   joint in its range.
2. The built-in humanoid dragged by a hand: feet pinned, gaze, balance, rest, strict priorities; time of a frame.
3. The cost of a step for bodies of 25 to 400 joints, with four hands and feet.

The solvers take turns, a block of targets each, over several rounds, so that a slow minute hits all of them. "quiet" is
the mean over the targets of the least time among the rounds: the time of a call on a quiet machine.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from arms import versions
from body_peers import WHOLE_PEERS, Whole, WholePeer
from g1 import ENDS, PACKAGE, SPREAD, TOLERANCE, Problem, Targets, make_problem
from kinematics import machine
from peers import Answer, quiet_output
from robots import Array

import poise
from poise import native
from poise.goals import Balance, Goal, LookAt, Reach, Rest

TARGETS, BLOCK = 200, 20
PARTS = ("g1", "drag", "markers", "growth")
MARKED = 300  # frames
FRAMES, LOOPS, LAPS, SETTLE = 1000, 4, 3, 50
JOINTS = (25, 50, 100, 200, 400)

# ------------------------------------------------------------------------------------------ the G1 compared with others


def poise_whole(problem: Problem) -> Whole:
    """Return the default method of Poise on a prepared Solver."""
    model = poise.load(problem.path, base="free")
    solver = poise.Solver(model, [Reach(name, np.eye(4), tolerance=TOLERANCE) for name in ENDS])
    base = next(joint for joint in model.joints if joint.kind == "free").q
    at = np.concatenate([np.arange(model.nq)[model.joint(name).q] for name in problem.joint_names()])
    start = np.array(model.rest)
    start[base], start[at] = problem.start[[0, 1, 2, 6, 3, 4, 5]], problem.start[7:]
    solve = solver.solve

    def timed(targets: Targets) -> Answer:
        return solve(start, targets)  # type: ignore[return-value]  # a Solution has the fields of an Answer

    return Whole(timed, lambda q: np.concatenate([q[base][[0, 1, 2, 4, 5, 6, 3]], q[at]]))


@dataclass
class Tally:
    """The results of one library."""

    name: str
    whole: Whole
    seconds: list[list[float]] = field(default_factory=list)  # a list of times for each target
    answers: list[Answer] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)

    def run(self, problem: Problem, first: int, last: int) -> None:
        """Solve a block of targets, timed call by call, then check the answers of the first round."""
        clock, solve = time.perf_counter, self.whole.solve
        for i in range(first, last):
            targets = problem.targets[i]
            begun = clock()
            answer = solve(targets)
            taken = clock() - begun
            if i == len(self.seconds):
                self.seconds.append([])
                self.answers.append(answer)
                self.good.append(problem.serves(self.whole.there(answer.q), targets))
            self.seconds[i].append(taken)

    @property
    def quiet_us(self) -> float:
        """The mean over the targets of the least time [us]."""
        return 1e6 * float(np.mean([min(times) for times in self.seconds]))

    def row(self, ours: float) -> str:
        """Return its row of the table; `ours` is Poise's quiet time."""
        us = 1e6 * np.array(self.seconds).ravel()
        false = sum(a.reached and not good for a, good in zip(self.answers, self.good, strict=True))
        steps, searches = (np.mean([getattr(a, what) for a in self.answers]) for what in ("steps", "searches"))
        times = f"{us.mean():10.1f}{np.median(us):9.1f}{np.percentile(us, 99):10.1f}{self.quiet_us:10.1f}"
        counts = f"{100 * np.mean(self.good):9.1f}{false:7}{steps:8.2f}{searches:10.2f}{self.quiet_us / steps:9.1f}"
        return f"{self.name:12}{times}{counts}{self.quiet_us / ours:9.1f}x"


HEAD = (
    f"{'':12}{'mean us':>10}{'p50':>9}{'p99':>10}{'quiet us':>10}{'solved %':>9}{'false':>7}{'steps':>8}"
    f"{'searches':>10}{'us/step':>9}{'to Poise':>10}"
)


def contestants(problem: Problem, peers: Sequence[WholePeer]) -> Iterator[Tally]:
    """Yield Poise and every installed peer; print the names of the others."""
    yield Tally("Poise", poise_whole(problem))
    for peer in peers:
        try:
            with quiet_output():
                whole = peer.build(problem)
        except ImportError:
            print(f"{peer.name:12} not installed (pip install {peer.package})")
            continue
        yield Tally(peer.name, whole)


def compare(peers: Sequence[WholePeer], rounds: int, spread: float) -> None:
    """Print the table of the G1."""
    print(f"\nUnitree G1, 35 degrees of freedom, 4 poses, {TARGETS} targets within about {spread} rad, {rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        try:
            problem = make_problem(folder, TARGETS, spread)
        except ImportError as missing:  # of which a package that is not installed is one
            print(f"left out: {missing} (pip install pin {PACKAGE})")
            return
        tallies = list(contestants(problem, peers))
        for tally in tallies:  # one call to warm up
            tally.whole.solve(problem.targets[0])
        for _ in range(rounds):
            for first in range(0, TARGETS, BLOCK):
                for tally in tallies:
                    tally.run(problem, first, first + BLOCK)
    print(HEAD)
    for tally in tallies:
        print(tally.row(tallies[0].quiet_us))


# ------------------------------------------------------------------------------------------ the humanoid dragged


def drag_goals(model: poise.Model, levels: bool) -> list[Goal]:
    """Return the goals: pinned feet, then the hand, balance and gaze; on one level if `levels` is off."""
    pinned = [Reach(foot, model.fk(model.rest, foot), priority=0) for foot in ("foot_l", "foot_r")]
    hand = model.fk(model.rest, "hand_r")[:3, 3]
    return [
        *pinned,
        Reach("hand_r", hand, priority=1 if levels else 0),
        Balance(support=["foot_l", "foot_r"], priority=2 if levels else 0),
        LookAt("eyes", hand, priority=3 if levels else 0, name="gaze"),
        Rest(weight=0.01),
    ]


def drag_path(model: poise.Model, far: bool) -> Array:
    """Return the path of the right hand: loops in front of the body, from hip to shoulder and from side to side.

    With `far` the loops lead out of reach, and before that to places where the hand prevents balance and gaze.
    """
    hand = model.fk(model.rest, "hand_r")[:3, 3]
    phase = np.linspace(0.0, 2 * np.pi * LOOPS, FRAMES, endpoint=False)
    lift = 0.5 * (1.0 - np.cos(phase))  # leaves and returns smoothly
    shift = np.stack([0.35 * lift * np.sin(1.5 * phase), 0.60 * lift, 0.35 * lift], axis=-1)
    return hand + shift * (np.array([2.0, 1.0, 3.0]) if far else 1.0)


def drag(levels: bool, far: bool) -> str:
    """Follow the path frame by frame, each from the previous pose; return a row."""
    model = poise.load("humanoid")
    path = drag_path(model, far)
    solver = poise.Solver(model, drag_goals(model, levels), mode="continuous")
    settled = np.array(model.rest)
    for _ in range(SETTLE):  # eyes on the hand before it moves
        settled = solver.solve(settled, {"hand_r": path[0], "gaze": path[0]}).q
    times = np.zeros((LAPS, FRAMES))
    steps, reached, feet, hand, largest = 0, 0, 0.0, 0.0, 0.0
    for lap in range(LAPS):
        q = settled
        for i, point in enumerate(path):
            begun = time.perf_counter()
            solution = solver.solve(q, {"hand_r": point, "gaze": point})
            times[lap, i] = time.perf_counter() - begun
            largest = max(largest, float(np.abs(model.difference(q, solution.q)).max()))
            q = solution.q
            steps, reached = steps + solution.steps, reached + bool(solution.reached)
            feet = max(feet, solution.errors["foot_l"][0], solution.errors["foot_r"][0])
            hand = max(hand, solution.errors["hand_r"][0])
    us, label = 1e6 * times, ("strict levels" if levels else "one level") + (", far" if far else "")
    quiet = us.min(axis=0)
    row = f"{label:20}{us.mean():10.1f}{np.median(us):9.1f}{np.percentile(us, 99):9.1f}"
    row += f"{quiet.mean():10.1f}{np.percentile(quiet, 99):11.1f}"
    counts = f"{steps / us.size:8.2f}{100 * reached / us.size:11.1f}"
    return f"{row}{counts}{1e3 * feet:10.3f}{1e3 * hand:10.3f}{largest:10.3f}"


def dragging() -> None:
    """Print the table of the dragged humanoid."""
    print(f"\nhumanoid dragged: feet pinned, hand, balance, gaze, rest; {FRAMES} frames, continuous, {LAPS} laps")
    head = f"{'us per frame':20}{'mean':>10}{'p50':>9}{'p99':>9}{'quiet':>10}{'quiet p99':>11}{'steps':>8}"
    print(f"{head}{'reached %':>11}{'feet mm':>10}{'hand mm':>10}{'step rad':>10}")
    for levels, far in itertools.product((True, False), (False, True)):
        print(drag(levels, far))
    print("feet, hand: largest distance from their targets; step: largest rotation of a joint in a frame")
    print("far: the hand first prevents balance and gaze, and then is out of reach")


# ------------------------------------------------------------------------------------------ markers


def follow_markers(count: int, rest: bool) -> str:
    """Follow points all over the humanoid, 2 mm off, for some frames, each from the previous pose; return a row."""
    model, rng = poise.load("humanoid"), np.random.default_rng(0)
    points = {f"m{k}": (model.frames[k % len(model.frames)], rng.normal(scale=0.05, size=3)) for k in range(count)}
    goals = [Reach(frame, np.zeros(3), point=p, name=name, tolerance=0.01) for name, (frame, p) in points.items()]
    solver = poise.Solver(model, [*goals, *([Rest()] if rest else [])], mode="continuous")
    way, q, us, reached, steps = rng.normal(scale=0.3, size=model.nv), np.array(model.rest), [], 0, 0
    for k in range(MARKED):
        body = model.clamp(model.integrate(model.rest, way * np.sin(k / 20)))
        at = {frame: model.fk(body, frame) for frame, _ in points.values()}
        targets = {
            name: at[f][:3, :3] @ p + at[f][:3, 3] + rng.normal(scale=0.002, size=3) for name, (f, p) in points.items()
        }
        begun = time.perf_counter()
        solution = solver.solve(q, targets)
        us.append(1e6 * (time.perf_counter() - begun))
        q, reached, steps = solution.q, reached + bool(solution.reached), steps + solution.steps
    row = f"{count:8}{3 * count:7}{'yes' if rest else 'no':>6}{np.median(us):10.1f}{np.percentile(us, 99):10.1f}"
    return f"{row}{steps / MARKED:8.2f}{100 * reached / MARKED:11.1f}"


def markers() -> None:
    """Print the table of markers on a body."""
    print(f"\nmarkers on the humanoid, to 1 cm, continuous, {MARKED} frames; us a frame")
    print(f"{'markers':>8}{'rows':>7}{'rest':>6}{'p50':>10}{'p99':>10}{'steps':>8}{'reached %':>11}")
    for count, rest in itertools.product((20, 41, 80), (False, True)):
        print(follow_markers(count, rest))


# ------------------------------------------------------------------------------------------ growth


def figure(joints: int) -> poise.Model:
    """Return a floating body of that many hinges: a fifth each in the spine, the arms and the legs."""
    builder = poise.ModelBuilder(f"figure{joints}")
    builder.add_joint("root", None, "free")
    share, down, side = joints // 5, (0.0, 0.0, -0.9), (0.0, 0.7, 0.0)
    chains = {
        "spine": ("root", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5)),
        "hand_l": ("spine", (0.0, 0.2, 0.0), side),
        "hand_r": ("spine", (0.0, -0.2, 0.0), (0.0, -0.7, 0.0)),
        "foot_l": ("root", (0.0, 0.1, 0.0), down),
        "foot_r": ("root", (0.0, -0.1, 0.0), down),
    }
    for tip, (parent, begin, along) in chains.items():
        above = parent
        for i in range(share):
            offset = begin if i == 0 else np.array(along) / share
            builder.add_joint(
                f"{tip}{i}", above, "revolute", offset=offset, axis=np.eye(3)[i % 3], lower=-1.5, upper=1.5
            )
            above = f"{tip}{i}"
        builder.add_frame(tip, above, np.array(along) / share)
    return builder.build()


def grows(joints: int, turns: int) -> str:
    """Return a row: the cost of a step and of a solve for a body of that many joints, best of several turns."""
    model, rng = figure(joints), np.random.default_rng(0)
    tips = ("hand_l", "hand_r", "foot_l", "foot_r")
    solver = poise.Solver(model, [Reach(tip, np.eye(4), tolerance=TOLERANCE) for tip in tips], restarts=0)
    size = 0.2 / np.sqrt(joints / 25)  # joints of longer chains turn less for the same motion of their tip
    bent = model.integrate(model.rest, size * rng.standard_normal(model.nv))
    near = [model.clamp(model.integrate(bent, size * rng.standard_normal(model.nv))) for _ in range(20)]
    targets = [{tip: model.fk(q, tip) for tip in tips} for q in near]
    best = np.full(len(targets), np.inf)
    for _ in range(turns):
        solutions = [solver.solve(bent, T) for T in targets]
        best = np.minimum(best, [solution.seconds for solution in solutions])
    steps = sum(solution.steps for solution in solutions)
    us, reached = 1e6 * best.sum() / steps, sum(solution.reached for solution in solutions)
    row = f"{joints:8}{model.nv:6}{us:12.2f}{1e3 * us / joints:14.1f}"
    return f"{row}{1e6 * best.mean():12.1f}{steps / len(targets):8.2f}{reached:6}/{len(targets)}"


def growth(turns: int) -> None:
    """Print the table of bodies from 25 to 400 joints."""
    print("\ncost of a step, 4 poses (24 rows), kernel time; best of some turns")
    print(f"{'joints':>8}{'nv':>6}{'us/step':>12}{'ns/joint':>14}{'us/solve':>12}{'steps':>8}{'reached':>9}")
    for joints in JOINTS:
        print(grows(joints, turns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds over the targets; five times that for growing bodies"
    )
    parser.add_argument(
        "--spread", type=float, default=SPREAD, help="how far the G1's targets are from its stance [rad]"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--peers", nargs="*", default=None, help="names of the peers to run; all unless given")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    wanted = [] if options.no_peers else [p for p in WHOLE_PEERS if options.peers is None or p.name in options.peers]
    print(f"{machine()}\nPython {platform.python_version()}, numpy {np.__version__}")
    print(f"poise {poise.__version__} at level {native.level()}, {versions(wanted)}")
    if "g1" in options.parts:
        compare(wanted, options.rounds, options.spread)
    if "drag" in options.parts:
        dragging()
    if "markers" in options.parts:
        markers()
    if "growth" in options.parts:
        growth(5 * options.rounds)


if __name__ == "__main__":
    main()
