"""The status of a miss: STALLED where the search cannot go on, OUT_OF_STEPS where only its steps were used up.

One law for every method, mode, level and handling of limits: a solve that is STALLED, made again from its own end,
neither reaches nor comes much nearer.
"""

from collections.abc import Sequence

import numpy as np
import pytest

import poise
from poise.errors import PoiseError
from poise.goals import Goal, LookAt, Orient, Reach, Rest
from poise.methods import LM, Sequential, names
from poise.solvers.solution import Solution
from poise.solvers.status import Status

BODIES = {"planar3": "tip", "panda": "panda_hand_tcp"}
METHODS = [name for name in names() if name not in ("auto", "inverse", "two_bone")]
HANDLINGS = ("active", "freeze", "penalty", "clamp", "off")
NEARER = 0.8  # of the cost: what counts as coming nearer; a stall is judged by small gains


def draw_problems(body: str, count: int) -> list[tuple[np.ndarray, list[list[Goal]]]]:
    """Starts, and goals for each: points and transforms, some of them out of reach, with postures and levels."""
    model, frame = poise.load(body), BODIES[body]
    rng = np.random.default_rng(7)
    out = []
    for _ in range(count):
        start, T = model.random(rng), model.fk(model.random(rng), frame)
        point, far = T[:3, 3], 2.5 * T[:3, 3]
        goals: list[list[Goal]] = [
            [Reach(frame, point)],
            [Reach(frame, T)],
            [Reach(frame, far), Orient(frame, T[:3, :3])],
            [Reach(frame, point), Rest()],
            [Reach(frame, point), LookAt(frame, (0.3, 0.2, 0.5), priority=1)],
        ]
        out.append((start, goals))
    return out


def read_cost(solution: Solution) -> float:
    """The squared errors, in units of the body's length and radians."""
    return float(sum((m / solution.model.length) ** 2 + a**2 for m, a in solution.errors.values()))


def check_again(solution: Solution, goals: Sequence[Goal], options: dict[str, object]) -> int:
    """Check a solution by the same call from its end; returns 1 if it had stalled."""
    if solution.status is not Status.STALLED:
        return 0
    again = poise.solve(solution.model, goals, solution.q, **options)  # type: ignore[arg-type]
    assert not again.reached, (options, solution.errors)
    assert read_cost(again) > NEARER * read_cost(solution), (options, solution.errors, again.errors)
    return 1


def check_all(body: str, count: int, **options: object) -> int:
    """Check every problem with some options; returns the number of stalls."""
    model, stalls = poise.load(body), 0
    for start, lists in draw_problems(body, count):
        for goals in lists:
            for max_steps in (1, 3, 12, 60):
                given = {**options, "max_steps": max_steps, "restarts": 0}
                try:
                    solution = poise.solve(model, goals, start, **given)  # type: ignore[arg-type]
                except PoiseError:  # what a method does not support
                    continue
                assert max_steps > 1 or options["method"] == "sequential" or solution.status is not Status.STALLED
                stalls += check_again(solution, goals, given)
    return stalls


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("body", list(BODIES))
def test_a_stalled_search_cannot_go_on(body, method) -> None:
    check_all(body, 2, method=method)


@pytest.mark.parametrize("handling", HANDLINGS)
def test_a_stalled_search_cannot_go_on_under_any_handling_of_limits(handling) -> None:
    stalls = sum(check_all("panda", 3, method=method, limit_handling=handling) for method in ("lm", "dls", "qr"))
    assert stalls > 0


@pytest.mark.parametrize("method", METHODS)
def test_a_stalled_frame_cannot_go_on(method) -> None:
    """In continuous mode a call that is on its way has not stalled."""
    check_all("planar3", 3, method=method, mode="continuous")
    check_all("panda", 1, method=method, mode="continuous")


def test_a_search_that_one_more_step_finishes_has_not_stalled() -> None:
    model, goals = poise.load("planar3"), [Reach("tip", (1.2, 1.5)), Rest()]
    short = poise.solve(model, goals, max_steps=3, restarts=0)
    assert short.status is Status.OUT_OF_STEPS
    assert "steps ran out" in short.why()
    assert "local minimum" not in short.why()
    assert poise.solve(model, goals, max_steps=20, restarts=0).reached


def test_an_arm_on_its_way_says_so() -> None:
    model = poise.load("planar3")
    for goals in ([Reach("tip", (-1.2, -1.5))], [Reach("tip", (-1.2, -1.5)), Rest()]):
        first = poise.solve(model, goals, [0.3, 0.3, 0.3], mode="continuous")
        assert first.status is Status.OUT_OF_STEPS
        assert "call again" in first.why()
        assert "steps ran out" not in first.why()


def test_a_level_without_steps_has_not_stalled() -> None:
    """The first level is reached at once; the second has no steps left."""
    model = poise.load("humanoid")
    foot = Reach("foot_l", model.fk(model.rest, "foot_l"))
    goals = [foot, Reach("hand_l", (0.3, 1.3, 0.5), priority=1)]
    assert poise.solve(model, goals, max_steps=2, restarts=0).status is Status.OUT_OF_STEPS
    assert poise.solve(model, goals).reached


@pytest.mark.parametrize("method", [LM(), Sequential(rounds=1, finish=False)])
def test_one_step_is_not_a_stall(method) -> None:
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", (0.4, 0.3, 0.5))
    assert poise.solve(model, goal, method=method, max_steps=1, restarts=0).status is Status.OUT_OF_STEPS


def draw_rows(count: int) -> np.ndarray:
    """Transforms of the Panda's hand, the second half moved, mostly out of reach."""
    model, rng = poise.load("panda"), np.random.default_rng(1)
    T = model.fk(np.stack([model.random(rng) for _ in range(count)]), BODIES["panda"])
    T[count // 2 :, :3, 3] += rng.normal(size=(count - count // 2, 3)) * 0.25 * model.length
    return np.asarray(T)


@pytest.mark.parametrize(("count", "options"), [(3000, {"max_steps": 80}), (400, {"max_steps": 40, "step_limit": 0.2})])
def test_rows_of_a_batch_that_stalled_cannot_go_on(count, options) -> None:
    """Some of the rows stop at a saddle: a search from there would leave it."""
    model, T, given = poise.load("panda"), draw_rows(3000)[:count], {**options, "restarts": 0}
    batch = poise.solve_batch(model, BODIES["panda"], T, **given)
    rows = np.flatnonzero([status is Status.STALLED for status in batch.status])
    assert len(rows) > 20
    again = poise.solve_batch(model, BODIES["panda"], T[rows], batch.q[rows], **given)
    assert not again.reached.any()
    units = (1.0 / model.length, 1.0)
    ((before, after),) = zip(batch.errors.values(), again.errors.values(), strict=True)
    left = ((after * units) ** 2).sum(axis=1) / ((before[rows] * units) ** 2).sum(axis=1)
    assert left.min() > NEARER
