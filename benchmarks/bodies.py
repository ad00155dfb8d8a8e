"""Benchmark whole bodies from Python: `python benchmarks/bodies.py [g1 drag levels markers growth] [--rounds 3]`.

g1       the Unitree G1, two hands and two feet to 1e-3 m and 1e-2 rad, 200 targets about a bent stance, compared with
         other libraries in one run (shared/g1.py, shared/body_peers.py). An answer counts if Pinocchio finds every end
         at its target and every joint in its range.
drag     the built-in humanoid dragged by a hand: feet pinned, gaze, balance, rest, strict priorities; time of a frame.
         "feet", "hand": largest distance from their targets; "step": largest rotation of a joint in a frame. "far": the
         hand first prevents balance and gaze, and then is out of reach.
levels   a strict step compared with a chain of dense QPs by DAQP (pip install daqp), on four levels: the feet, a hand,
         gaze, balance. Poise's figure is the time of a whole solve in continuous mode over its steps: kinematics, rows,
         all levels with their bounds, corrections and acceptance. DAQP's is only the solving of one step: for each
         level a QP over its rows (whose Jacobians are made beforehand), with the levels above as equalities and the
         joint bounds, called through its Python binding.
markers  points all over the humanoid
growth   the cost of a step for bodies of 25 to 400 joints, with four hands and feet

"quiet" is the mean over the targets of the least time among the rounds: the time of a call on a quiet machine.
"""

import itertools
import tempfile
import time
from argparse import Namespace
from typing import Any

import numpy as np
from shared.body_peers import WHOLE_PEERS, Whole
from shared.command import Options, Part, Table, run_command
from shared.contest import Answer, Contestant, choose_peers, find_contestants, hold_contest
from shared.g1 import ENDS, PACKAGE, SPREAD, TOLERANCE, Problem, Targets, make_problem
from shared.robots import Array

import poise
from poise.goals import Balance, Goal, LookAt, Reach, Rest

TARGETS = 200
MARKED = 300  # frames
FRAMES, LOOPS, LAPS, SETTLE = 1000, 4, 3, 50
LEVEL_FRAMES, DAMPING = 400, 1e-6
JOINTS = (25, 50, 100, 200, 400)
NAMES = [peer.name for peer in WHOLE_PEERS]
OPTIONS: Options = {
    "rounds": (3, "rounds over the targets; five times that for growing bodies"),
    "spread": (SPREAD, "how far the G1's targets are from its stance [rad]"),
    "peers": (
        [peer.name for peer in WHOLE_PEERS],
        "names of the peers; none for Poise alone",
        [*(peer.name for peer in WHOLE_PEERS), "none"],
    ),
}

# ------------------------------------------------------------------------------------------ the G1 compared with others


def prepare(problem: Problem) -> Whole:
    """Return the default method of Poise on a prepared Solver."""
    model = poise.load(problem.path, base="free")
    solver = poise.Solver(model, [Reach(name, np.eye(4), tolerance=TOLERANCE) for name in ENDS])
    base = next(joint for joint in model.joints if joint.kind == "free").q
    at = np.concatenate([np.arange(model.nq)[model.joint(name).q] for name in problem.joint_names()])
    start = np.array(model.rest)
    start[base], start[at] = problem.start[[0, 1, 2, 6, 3, 4, 5]], problem.start[7:]
    solve = solver.solve

    def timed(_: Any, targets: Targets) -> Answer:
        return solve(start, targets)  # type: ignore[return-value]  # a Solution has the fields of an Answer

    return Whole(timed, lambda q: np.concatenate([q[base][[0, 1, 2, 4, 5, 6, 3]], q[at]]))


def compare(given: Namespace) -> None:
    """Print the table of the G1."""
    print(f"35 degrees of freedom, 4 poses, {TARGETS} targets within about {given.spread} rad, {given.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        try:
            problem = make_problem(folder, TARGETS, given.spread)
        except ImportError as missing:  # of which a package that is not installed is one
            print(f"left out: {missing} (pip install pin {PACKAGE})")
            return
        wholes = [("Poise", prepare(problem))]
        wholes += [
            (peer.name, whole) for peer, whole in find_contestants(choose_peers(WHOLE_PEERS, given.peers), problem)
        ]
        contestants = [
            Contestant(name, whole.solve, lambda q, T, whole=whole: problem.serves(whole.there(q), T), TARGETS)
            for name, whole in wholes
        ]
        hold_contest(contestants, None, problem.targets, rounds=given.rounds, blocks=10)


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


def drag(table: Table, levels: bool, far: bool) -> None:
    """Follow the path frame by frame, each from the previous pose; print a row."""
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
    spent = (us.mean(), np.median(us), np.percentile(us, 99), quiet.mean(), np.percentile(quiet, 99))
    table.add(label, *spent, steps / us.size, 100 * reached / us.size, 1e3 * feet, 1e3 * hand, largest)


def drag_all(_: Namespace) -> None:
    """Print the table of the dragged humanoid."""
    print(f"feet pinned, hand, balance, gaze, rest; {FRAMES} frames, continuous, {LAPS} laps")
    spent = ("us per frame:20", "mean:10.1f", "p50:9.1f", "p99:9.1f", "quiet:10.1f", "quiet p99:11.1f")
    found = ("steps:8.2f", "reached %:11.1f", "feet mm:10.3f", "hand mm:10.3f", "step rad:10.3f")
    table = Table(*spent, *found)
    for levels, far in itertools.product((True, False), (False, True)):
        drag(table, levels, far)


# ------------------------------------------------------------------------------------------ a strict step


def make_levels() -> tuple[poise.Solver, Any, Any]:
    """Return a solver of four strict levels, its body, and the place of the hand."""
    model = poise.load("humanoid")
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    hand = model.fk(model.rest, "hand_r")[:3, 3]
    goals = [
        *feet,
        Reach("hand_r", hand, priority=1),
        LookAt("eyes", hand, priority=2),
        Balance(["foot_l", "foot_r"], priority=3),
    ]
    return poise.Solver(model, goals, mode="continuous"), model, hand


def drag_levels() -> tuple[float, list[Any]]:
    """Return the microseconds per step of Poise, and the linearised levels of every frame."""
    solver, model, hand = make_levels()
    q, seconds, steps, linear = np.array(model.rest), 0.0, 0, []
    for k in range(LEVEL_FRAMES):
        a = 2 * np.pi * k / 200
        way = (0.1 * np.sin(a) + 0.05, 0.25 + 0.15 * np.cos(a), 0.25 + 0.1 * np.sin(2 * a))
        at = hand + np.array(way)
        solution = solver.solve(q, {"hand_r": at, "eyes": at})
        seconds, steps = seconds + solution.seconds, steps + solution.steps
        J, r, _ = solver.problem.rows_jacobian(q)
        linear.append((np.array(J), np.array(r)))
        q = solution.q
    return 1e6 * seconds / steps, linear


def chain(daqp: Any, J: Any, r: Any, spans: list[slice]) -> Any:
    """Solve one step with one QP per level."""
    n = J.shape[1]
    x, above, level_values = np.zeros(n), np.zeros((0, n)), np.zeros(0)
    low, high = np.full(n, -0.2), np.full(n, 0.2)
    for span in spans:
        A, b = J[span], r[span]
        H, f = 2 * (A.T @ A + DAMPING * np.eye(n)), -2 * A.T @ b
        upper = np.concatenate([high, level_values])
        lower = np.concatenate([low, level_values])
        sense = np.concatenate([np.zeros(n), np.full(len(level_values), 5)]).astype(np.int32)
        found = daqp.solve(H, f, np.ascontiguousarray(above), upper, lower, sense)
        x = found[0]
        above = np.vstack([above, A])
        level_values = above @ x
    return x


def compare_levels(_: Namespace) -> None:
    """Print the time of a strict step, and of DAQP's chain."""
    own, linear = drag_levels()
    print(f"Poise: {own:.1f} us a step, everything included")
    try:
        import daqp
    except ImportError:
        return
    spans = [slice(0, 12), slice(12, 15), slice(15, 18), slice(18, len(linear[0][1]))]
    times = []
    for J, r in linear:
        begun = time.perf_counter()
        chain(daqp, J, r, spans)
        times.append(time.perf_counter() - begun)
    chained = 1e6 * float(np.median(times))
    print(f"DAQP, a QP a level: {chained:.1f} us a step, {chained / own:.1f} times Poise's")


# ------------------------------------------------------------------------------------------ markers


def follow_markers(table: Table, count: int, rest: bool) -> None:
    """Follow points all over the humanoid, 2 mm off, for some frames, each from the previous pose; print a row."""
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
    found = (np.median(us), np.percentile(us, 99), steps / MARKED, 100 * reached / MARKED)
    table.add(str(count), 3 * count, "yes" if rest else "no", *found)


def follow_all(_: Namespace) -> None:
    """Print the table of markers on a body."""
    print(f"on the humanoid, to 1 cm, continuous, {MARKED} frames; us a frame")
    table = Table("markers:8", "rows:7", "rest:6", "p50:10.1f", "p99:10.1f", "steps:8.2f", "reached %:11.1f")
    for count, rest in itertools.product((20, 41, 80), (False, True)):
        follow_markers(table, count, rest)


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


def grow(table: Table, joints: int, turns: int) -> None:
    """Print the cost of a step and of a solve for a body of that many joints, best of several turns."""
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
    each = (us, 1e3 * us / joints, 1e6 * best.mean(), steps / len(targets))
    table.add(str(joints), model.nv, *each, f"{reached}/{len(targets)}")


def grow_all(given: Namespace) -> None:
    """Print the table of bodies from 25 to 400 joints."""
    print("cost of a step, 4 poses (24 rows), kernel time; best of some turns")
    each = ("us/step:12.2f", "ns/joint:14.1f", "us/solve:12.1f", "steps:8.2f")
    table = Table("joints:8", "nv:6", *each, "reached:9")
    for joints in JOINTS:
        grow(table, joints, 5 * given.rounds)


if __name__ == "__main__":
    parts = {"g1": compare, "drag": drag_all, "levels": compare_levels, "markers": follow_all, "growth": grow_all}
    packages = [*(peer.package for peer in WHOLE_PEERS), PACKAGE, "mujoco", "daqp"]
    run_command(__doc__, {name: Part(work) for name, work in parts.items()}, OPTIONS, packages)
