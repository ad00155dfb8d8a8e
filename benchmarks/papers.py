"""Published results compared with ours, on the published problems.

    python benchmarks/papers.py [fabrik buss haviland latent] [--problems 10000]
    python benchmarks/papers.py style --data DIR [--validate]

Iterations, successes and errors do not depend on the machine, so these are compared. The docstring of each section
describes the published experiment and the assumptions made; shared/latent.py and shared/style.py describe the last two.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from shared.command import Options, Part, Table, run_command
from shared.latent import compare_latent
from shared.robots import PI, Array, model_of, ur5
from shared.style import OTHERS, complete_poses

import poise
from poise.goals import Reach
from poise.methods import CCD, DLS, LM, SDLS, SVD, Halley, Method, Transpose

# ------------------------------------------------------------------------------------------ FABRIK, table 1

CHAIN = 0.9  # metres
AWAY = 0.6


def chain(bones: int = 9) -> poise.Model:
    """The paper's chain: 900 mm along x, joints p1 ... p10, of which the last is the effector and nine turn freely."""
    builder = poise.ModelBuilder("chain")
    bone = (CHAIN / bones, 0.0, 0.0)
    for i in range(bones):
        builder.add_joint(f"p{i + 1}", f"p{i}" if i else None, "ball", offset=bone if i else None)
    builder.add_frame("tip", f"p{bones}", bone)
    return builder.build()


@dataclass(frozen=True)
class Runs:
    """The results of a set of problems.

    Attributes:
        solved: The number of reached targets.
        problems: The number of problems.
        iterations: Mean over the solved.
        median: Median over the solved.
        searches: Mean over the solved.
        microseconds: Mean in the kernels, over all.
    """

    solved: int
    problems: int
    iterations: float
    median: float
    searches: float
    microseconds: float

    @classmethod
    def of(cls, answers: Sequence[poise.Solution], *, most: float = math.inf, first: int = 0) -> Runs:
        """Sum up the answers of at most `most` steps; each search counts `first` steps in addition."""
        good = [a for a in answers if a.reached and a.steps <= most]
        iterations = [a.steps + first * a.searches for a in good] or [math.nan]
        return cls(
            solved=len(good),
            problems=len(answers),
            iterations=float(np.mean(iterations)),
            median=float(np.median(iterations)),
            searches=float(np.mean([a.searches for a in good] or [math.nan])),
            microseconds=1e6 * float(np.mean([a.seconds for a in answers])),
        )


def chain_runs(method: str | Method, runs: int = 20, seed: int = 0) -> Runs:
    """Seeded targets all round, 600 mm from the root, from the straight chain, to 1e-3 mm."""
    directions = np.random.default_rng(seed).normal(size=(runs, 3))
    targets = AWAY * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    goal = Reach("tip", targets[0], tolerance=1e-6)
    solver = poise.Solver(chain(), goal, method=method, max_steps=20_000, restarts=0)
    return Runs.of([solver.solve(None, {"tip": target}) for target in targets])


def chain_answer(target: Sequence[float], start: Array | None = None) -> poise.Solution:
    """FABRIK's answer to one target."""
    return poise.solve(chain(), Reach("tip", target, tolerance=1e-6), start, method="fabrik", restarts=0)


def fabrik(_: Namespace) -> None:
    """Aristidou and Lasenby, FABRIK, Graphical Models 73(5), 2011, table 1.

    Not stated: the units of the damping (1.1 is taken in lengths of the chain) and the start (straight is taken).
    """
    print("table 1: a chain of 10 joints, 900 mm, targets 600 mm from the root, 1e-3 mm, mean of 20 runs")
    table = Table(":34", "iterations:12.2f", "published:11g", "solved:9", "us:9.1f")
    rows: list[tuple[str, str | Method, float | None]] = [
        ("fabrik", "fabrik", 15.5),
        ("ccd", "ccd", 26.3),
        ("ccd, turns without bound", CCD(turn_limit=math.inf), 26.3),
        ("transpose", "transpose", 1311),
        ("dls, their damping 1.1", DLS(damping=1.1), 999),
        ("dls", "dls", 999),
        ("sdls", "sdls", None),
        ("lm (the default)", "lm", None),
        ("halley", "halley", None),
    ]
    for label, method, published in rows:
        r = chain_runs(method)
        table.add(label, r.iterations, published, f"{r.solved}/{r.problems}", r.microseconds)
    ahead, behind = chain_answer((AWAY, 0.0, 0.0)), chain_answer((-AWAY, 0.0, 0.0))
    print(
        f"a target in line with the straight chain: {ahead.status} in {ahead.steps}, behind the root in {behind.steps}"
    )
    for target in ((1.0, 2.0, 0.0), (0.0, 0.0, 0.95)):
        far = chain_answer(target, chain().random(np.random.default_rng(0)))
        gap = far.errors["tip"][0] - (math.dist(target, (0, 0, 0)) - CHAIN)
        print(
            f"out of reach at {target}: {far.status} in {far.steps} (published 1), residual minus (d - L): {gap:.1e} m"
        )


# ------------------------------------------------------------------------------------------ Buss and Kim


@cache
def shapes() -> dict[str, Any]:
    """The two trees and the waves of their targets."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("buss_shapes.json").read_text())
    return loaded


def tree(shape: str) -> poise.Model:
    """Return one of the trees: a hinge for each node that is not an effector, without limits."""
    nodes = shapes()[shape]["nodes"]
    builder = poise.ModelBuilder(shape)
    for i, (position, parent, axis) in enumerate(nodes):
        offset = np.array(position, dtype=float) - (np.array(nodes[parent][0], dtype=float) if parent >= 0 else 0.0)
        under = f"n{parent}" if parent >= 0 else None
        if axis is None:
            builder.add_frame(f"n{i}", under, offset)
        else:
            builder.add_joint(f"n{i}", under, "continuous", offset=offset, axis=axis)
    return builder.build()


def waves(shape: str, T: float) -> Array:
    """Return the targets at time T, (effectors, 3)."""
    w = np.array(shapes()[shape]["targets"], dtype=float)
    return np.asarray(w[..., 0] + w[..., 1] * np.sin(w[..., 2] * T))


def tracking_errors(
    shape: str, method: Method, step_limit: float, *, settle: int = 400, steps: int = 2000, moved: float = 0.0
) -> Array:
    """Sum of the effectors' distances to their targets after one update a step; `moved` shifts the start."""
    model = tree(shape)
    names = [f"n{e}" for e in shapes()[shape]["effectors"]]
    goals = [Reach(name, np.zeros(3), tolerance=0.0) for name in names]
    solver = poise.Solver(model, goals, method=method, max_steps=1, restarts=0, step_limit=step_limit, record=True)
    q = np.full(model.nq, moved)
    errors = []
    for k in range(1, settle + steps + 1):
        # pose 0 of the history is the start, pose 1 the first update, even uphill
        history = solver.solve(q, dict(zip(names, waves(shape, 0.005 * k), strict=True))).history
        q = history.q[1].copy()
        errors.append(history.errors[1, :, 0].sum())
    return np.array(errors[settle:])


def authors_methods(shape: str, length: float) -> list[tuple[str, Method, float, float | None]]:
    """Label, method as the authors set it (lambda metres: lambda / L here), its longest turn [deg], published error."""
    y = shape == "y"
    best = 0.6 if y else 1.1
    return [
        ("transpose", Transpose(), 30.0, 0.533 if y else 2.685),
        ("pseudoinverse, cut at 0.01", SVD(threshold=0.01), 5.0, 0.514 if y else 2.065),
        (f"dls, damping {best}", DLS(damping=best / length), 45.0, 0.4522 if y else 1.9788),
        ("dls, damping 0.7", DLS(damping=0.7 / length), 45.0, None if y else 1.840),
        ("sdls, target clamp 0.4", SDLS(target_clamp=0.4 / length), 45.0, 0.433 if y else 1.745),
        ("lm (the default)", LM(), 45.0, None),
        ("halley", Halley(), 45.0, None),
    ]


def buss(_: Namespace) -> None:
    """Buss and Kim, Selectively damped least squares, J. Graphics Tools 10(3), 2005.

    The authors' demo: T = 0.005 k for k = 1, 2, ..., one update a step, 400 steps to settle, the mean of the next 2000.
    Published values are of their own program. Targets run out of reach, so errors do not vanish. Where the motion is
    chaotic, starts 1e-9 rad apart end apart: lowest and highest of five are given.
    """
    for shape in ("y", "double_y"):
        model, effectors = tree(shape), len(shapes()[shape]["effectors"])
        print(f"\n{shape}: {model.nv} joints, {effectors} effectors, mean error a step")
        table = Table(":30", "ours:9.4f", "published:11g", "largest:9.3f", "starts 1e-9 apart:20")
        for label, method, degrees, published in authors_methods(shape, model.length):
            runs = [tracking_errors(shape, method, math.radians(degrees), moved=1e-9 * k) for k in range(5)]
            means = [float(run.mean()) for run in runs]
            table.add(label, means[0], published, runs[0].max(), f"{min(means):.4f} .. {max(means):.4f}")


# ------------------------------------------------------------------------------------------ Haviland and Corke


@dataclass(frozen=True)
class Problems:
    """The seeded problems of the notebooks: a body, targets, and the start that all of them share."""

    model: poise.Model
    tool: str
    targets: Array
    start: Array

    @classmethod
    def drawn(cls, model: poise.Model, tool: str, seed: int, count: int) -> Problems:
        """As `np.random.seed(seed)`, 10,000 poses, then the starts, draws them; `count` keeps the first."""
        draw = np.random.RandomState(seed)
        poses = draw.uniform(model.lower, model.upper, (10_000, model.nv))
        start = draw.uniform(model.lower, model.upper)
        return cls(model, tool, model.fk(poses[:count], tool), start)

    def run(self, method: str | Method, *, metric: bool = False, searches: int = 1, **options: Any) -> Runs:
        """All of them. E = |e|^2 / 2 < 1e-6 holds where 1e-3 m and 1e-3 rad do. `metric`: lengths in metres, not L."""
        length = self.model.length
        weight = (length, length, length, 1.0, 1.0, 1.0) if metric else 1.0
        goal = Reach(self.tool, self.targets[0], weight=weight, tolerance=(1e-3, 1e-3), name="target")
        solver = poise.Solver(self.model, goal, method=method, restarts=searches - 1, **options)
        answers = [solver.solve(self.start, {"target": T}) for T in self.targets]

        # theirs counts evaluations, one more than steps in every search
        return Runs.of(answers, most=options["max_steps"] * searches, first=1)


def ur5_problems(count: int = 10_000) -> Problems:
    """Part I: seed 0, ranges of half a turn each way, which the solvers ignore."""
    model, tool = model_of(ur5(PI))
    return Problems.drawn(model, tool, 0, count)


def panda_problems(count: int = 10_000) -> Problems:
    """Part II: seed 10, the tool frame of the hand."""
    return Problems.drawn(poise.load("panda"), "panda_hand_tcp", 10, count)


# Chan's lambda E = 0.1 |e|^2 / 2, and nothing else: no floor, no bound on a step, no giving up early
CHAN = LM(damping=0.05, floor=1e-12, stall_steps=10_000, stall_ratio=1.0)
FREE: dict[str, Any] = {"limit_handling": "off", "step_limit": 1e6}


def haviland(given: Namespace) -> None:
    """Haviland and Corke, Manipulator differential kinematics, parts I and II, IEEE RAM 2023; the notebooks' own seeds.

    All their problems share one random start. Their unsolved problems on the Panda need joint 6 beyond half a turn, but
    they wrap every angle to half a turn.
    """
    print(f"{given.problems} poses, E < 1e-6; an iteration is an evaluation of the error")
    table = Table(":50", "mean:8.2f", "median:8.0f", "searches:10.2f", "unsolved %:10.2f", "us:8.1f", "published:32")
    one, many = {"max_steps": 500}, {"max_steps": 30, "searches": 100}
    arm, hand = ur5_problems(given.problems), panda_problems(given.problems)
    middle = replace(hand, start=0.5 * (hand.model.lower + hand.model.upper))
    best = "42.42 / 14, 2.12, 0.76 % (QP)"
    rows: list[tuple[str, Problems, str | Method, dict[str, Any], str]] = [
        ("UR5, Chan 0.1, one search of 500", arm, CHAN, {"metric": True, **one, **FREE}, "9.43 / 9, 9.61 %"),
        ("UR5, Chan 0.1, 100 searches of 30", arm, CHAN, {"metric": True, **many, **FREE}, "15.33 / 9, 1.20, 0 %"),
        ("UR5, the default, 100 searches of 30", arm, "auto", {**many, "limit_handling": "off"}, ""),
        ("Panda in its ranges, Chan 0.1, bounded", hand, CHAN, {"metric": True, **many}, "37.55 / 18, 3.81, 0.91 %"),
        ("Panda in its ranges, the default, their start", hand, "auto", many, best),
        ("Panda in its ranges, the default, from the middle", middle, "auto", many, best),
        ("Panda in its ranges, the default, from rest", replace(hand, start=hand.model.rest), "auto", many, best),
    ]
    for label, problems, method, options, published in rows:
        r = problems.run(method, **options)
        lost = 100.0 * (1.0 - r.solved / r.problems)
        table.add(label, r.iterations, r.median, r.searches, lost, r.microseconds, published)


OPTIONS: Options = {
    "problems": (10_000, "how many of Haviland and Corke's poses"),
    "data": (Path, "the folder of Bandai-Namco's data set 1, for style"),
    "stride": (10, "stride of the test frames of the other styles"),
    "styles": (OTHERS, "the test styles"),
    "validate": (False, "complete each training style from the others"),
}

if __name__ == "__main__":
    parts = {name: Part(work) for name, work in (("fabrik", fabrik), ("buss", buss), ("haviland", haviland))}
    parts |= {"latent": Part(compare_latent), "style": Part(complete_poses, "data")}
    run_command(__doc__, parts, OPTIONS)
