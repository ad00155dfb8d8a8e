"""The race: a comparison of all methods on one set of problems.

Every method gets the same targets, from random poses of the body, and the same start. Problems that a method does not
support are listed with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, PoiseError
from poise.goals import Reach
from poise.methods import Method, find_method, names
from poise.methods.arithmetic import count_printed, count_step
from poise.model import Model
from poise.solvers.solution import Solution
from poise.solvers.solver import Solver

__all__ = ["Race", "Racer", "race"]


@dataclass(frozen=True, slots=True)
class Racer:
    """One method's result.

    Attributes:
        method: The name of the method.
        reached: Fraction of targets reached.
        steps: Mean number of steps, over all searches.
        searches: Mean number of searches.
        microseconds: Mean time inside the kernels [us].
        arithmetic: Multiplications from the Jacobian to the step, or None if not counted for the method.
        printed: The flops of a step as Rabbani's figure 8 prints them, or None if it does not list the method.
        curve: Mean error by step [m or rad, the larger] over the recorded problems, each held at its end.
        refused: The reason why the method does not support the problem; empty if it does.
        watched: The answer to the first recorded problem, with every step in its history.
    """

    method: str
    reached: float = 0.0
    steps: float = 0.0
    searches: float = 0.0
    microseconds: float = 0.0
    arithmetic: int | None = None
    printed: int | None = None
    curve: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    refused: str = ""
    watched: Solution | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Race:
    """The results of all methods, with the model, the frame and the number of problems."""

    model: str
    frame: str
    problems: int
    racers: tuple[Racer, ...]

    def __str__(self) -> str:
        head = f"{'method':14} {'reached':>8} {'steps':>8} {'searches':>9} {'us':>9} {'mult/step':>10} {'printed':>8}"
        lines = [f"{self.problems} targets for {self.frame!r} of {self.model!r}", head]
        for r in self.racers:
            if r.refused:
                lines.append(f"{r.method:14} not supported: {r.refused}")
                continue
            counts = " ".join(f"{'' if n is None else n:>{wide}}" for n, wide in ((r.arithmetic, 10), (r.printed, 8)))
            figures = f"{100 * r.reached:7.2f}% {r.steps:8.1f} {r.searches:9.2f} {r.microseconds:9.1f} {counts}"
            lines.append(f"{r.method:14} {figures}".rstrip())
        return "\n".join(lines)


def race(
    model: Model,
    frame: str | None = None,
    *,
    methods: Sequence[str | Method] | str | Method | None = None,
    problems: int = 100,
    rotation: bool = False,
    max_steps: int = 1000,
    restarts: int | str = 0,
    seed: int = 0,
    recorded: int = 10,
) -> Race:
    """Compare methods on targets from random poses.

    Args:
        model: The body.
        frame: The frame that reaches (default: the last one).
        methods: Names, or methods with settings (default: all methods).
        problems: The number of targets.
        rotation: Whether the targets fix the rotation too.
        max_steps: The largest number of steps in one search.
        restarts: Further searches after a failed one; 0 compares the methods themselves.
        seed: Seed of the targets.
        recorded: The number of problems recorded for the error curves.
    """
    if not isinstance(model, Model):
        raise InvalidValue(f"model must be a poise.Model, not {model!r}; poise.load(name) gives one.")
    if isinstance(methods, (str, Method)):
        methods = [methods]
    if problems < 1:
        raise InvalidValue(f"problems is {problems}; it must be 1 or more.")
    at = model.frames[-1] if frame is None else model.frame(frame).name
    poses = model.random(np.random.default_rng(seed), problems)
    transforms = model.fk(poses, at)
    targets = transforms if rotation else np.ascontiguousarray(transforms[:, :3, 3])
    chosen = [find_method(method) for method in (methods or [n for n in names() if n != "auto"])]
    options: dict[str, Any] = {"max_steps": max_steps, "restarts": restarts}
    racers = tuple(run(model, at, method, targets, recorded, options) for method in chosen)
    return Race(model.name, at, problems, racers)


def run(
    model: Model, frame: str, method: Method, targets: NDArray[np.float64], recorded: int, options: dict[str, Any]
) -> Racer:
    """Run one method over all targets."""
    try:
        goal = Reach(frame, targets[0], name="target")
        solver = Solver(model, goal, method=method, **options)
        answers = [solver.solve(None, {"target": target}) for target in targets]
        watched = Solver(model, goal, method=method, record=True, **options)
        seen = [watched.solve(None, {"target": target}) for target in targets[:recorded]]
    except PoiseError as error:
        return Racer(method.name, refused=str(error))
    rows = 6 if targets.ndim == 3 else 3
    return Racer(
        method=method.name,
        reached=float(np.mean([a.reached for a in answers])),
        steps=float(np.mean([a.steps for a in answers])),
        searches=float(np.mean([a.searches for a in answers])),
        microseconds=float(np.mean([a.seconds for a in answers])) * 1e6,
        arithmetic=count_step(method.name, rows, model.nv),
        printed=count_printed(method.name, rows, model.nv),
        curve=average_curves([read_curve(answer) for answer in seen]),
        watched=seen[0] if seen and seen[0].history is not None else None,
    )


def read_curve(solution: Any) -> NDArray[np.float64]:
    """Return the larger of the errors in metres and radians, for every step."""
    history = solution.history
    if history is None or not len(history):
        return np.zeros(1)
    return np.asarray(history.errors.max(axis=(1, 2)))


def average_curves(curves: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the geometric mean of curves of different lengths, each extended by its last value."""
    longest = max((len(c) for c in curves), default=1)
    held = [np.concatenate([c, np.full(longest - len(c), c[-1])]) for c in curves]
    return np.asarray(np.exp(np.mean(np.log(np.maximum(held, 1e-12)), axis=0))) if held else np.zeros(1)
