"""Every solve ends: loops are bounded, steps are counted, the clock and the caller are checked throughout."""

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from paths import NATIVE
from poise import methods
from poise.errors import PoiseError
from poise.goals import Goal, Reach, Rest
from poise.methods import LM
from tiers import mostly_slow

MODES = ("nearest", "repeatable", "continuous")
HANDLING = ("active", "freeze", "penalty", "clamp", "off")
NOT_FOR_ARMS = ("inverse", "two_bone")  # of seven joints, that is, with a point to reach
UNASKED = 6  # poses between two questions whether the solve has to end, for each level


# ------------------------------------------------------------------------------------------ the sources


def list_open_loops() -> Iterator[tuple[str, str, str]]:
    """Every loop of the native code that does not count: where it is, the line before, the line."""
    for path in sorted([*NATIVE.rglob("*.h"), *NATIVE.rglob("*.cpp"), *NATIVE.rglob("*.cu")]):
        lines = path.read_text().splitlines()
        for k, line in enumerate(lines):
            code = line.split("//")[0]
            if re.search(r"\bwhile \(|\bfor \([^;]*;\s*;", code):
                yield f"{path.name}:{k + 1}", lines[k - 1], line


def test_a_loop_that_does_not_count_says_why_it_ends() -> None:
    loops = list(list_open_loops())
    assert loops
    for where, before, line in loops:
        assert "// ends: " in before, f"{where}: {line.strip()}"


# ------------------------------------------------------------------------------------------ steps


def draw_far_goals(model: poise.Model, rng: np.random.Generator) -> list[Goal]:
    """One to three points up to 1e9 lengths away, of any weight, on any level, some with a loose tolerance."""
    goals: list[Goal] = []
    for k in range(int(rng.integers(1, 4))):
        far = model.length * 10 ** (rng.uniform(3, 9) if rng.random() < 0.5 else rng.uniform(-1, 1))
        frame = str(rng.choice(list(model.frames)))
        weight = 10 ** rng.uniform(-6, 6)
        loose = model.length * 10 ** rng.uniform(-3, 0) if rng.random() < 0.3 else None
        given: dict[str, Any] = {"weight": weight, "priority": int(rng.integers(3)), "tolerance": loose}
        goals.append(Reach(frame, far * rng.normal(size=3), name=f"g{k}", **given))
    return [*goals, Rest()] if rng.random() < 0.2 else goals


def draw_options(rng: np.random.Generator) -> dict[str, Any]:
    """Any mode, few or many steps and searches, steps down to a millionth of a radian."""
    return {
        "mode": str(rng.choice(MODES)),
        "max_steps": int(rng.choice([1, 2, 7, 40])),
        "restarts": int(rng.choice([0, 1, 3])),
        "step_limit": None if rng.random() < 0.5 else 10 ** rng.uniform(-6, 0),
        "limit_handling": str(rng.choice(["active", "off"])),
    }


def count_most_poses(model: poise.Model, options: dict[str, Any], searches: int) -> int:
    """Every step looks at so many poses at most: dampings that are tried, and Newton's conjugate gradients."""
    steps = options["max_steps"] * searches + 30 * searches + 30
    return int(steps * (150 + 10 * (model.nv + 3)))


@contextmanager
def set_alarm(seconds: float, then: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Calls `then` after some time, as Ctrl-C would."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")
    before = signal.signal(signal.SIGALRM, then)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def give_up(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError("a solve does not end")


@pytest.mark.slow
@pytest.mark.parametrize("block", mostly_slow(range(10), 1))
def test_wild_problems_end_within_their_steps(block: int) -> None:
    for seed in range(200 * block, 200 * (block + 1)):
        rng = np.random.default_rng(seed)
        model = random_model(seed, int(rng.integers(2, 6)))
        options = draw_options(rng)
        with set_alarm(60, give_up):
            goals = draw_far_goals(model, rng)
            solver = poise.Solver(model, goals, **options)
            solution = solver.solve(np.asarray(model.random(rng)))
        poses, unasked = solver.problem.effort()
        assert solution.steps <= options["max_steps"] * solution.searches, seed
        assert poses <= count_most_poses(model, options, solution.searches), seed
        assert unasked <= UNASKED * len({goal.priority for goal in goals}), seed


@pytest.mark.parametrize("mode", MODES)
def test_a_translation_to_a_distant_target(mode: str) -> None:
    builder = poise.ModelBuilder("cart")
    builder.add_joint("slide", None, "translation3", offset=(0, 0, 0.1))
    builder.add_joint("turn", "slide", "revolute", offset=(0.3, 0, 0), axis=(0, 0, 1), lower=-1, upper=1)
    model = builder.add_frame("tip", "turn", (0.3, 0, 0)).build()
    for far in 10.0 ** np.arange(1, 10):
        with set_alarm(60, give_up):
            solution = poise.solve(model, Reach("tip", (far * model.length, 1, 0)), mode=mode)
        assert solution.steps <= 200 * solution.searches


def test_millimetres_for_metres_and_tiny_steps() -> None:
    with set_alarm(60, give_up):
        far = poise.solve(poise.load("humanoid"), Reach("hand_l", (1000, 1, 0)))
        slow = poise.solve(poise.load("panda"), Reach("panda_hand_tcp", (0.3, 0.5, 0.4)), step_limit=0.0007)
    for solution in (far, slow):
        assert solution.steps <= 200 * solution.searches


def test_one_bad_row_does_not_hold_a_batch() -> None:
    model, targets = poise.load("humanoid"), np.tile([0.3, 0.4, 1.2], (40, 1))
    targets[7] = 1000, 1, 0
    with set_alarm(120, give_up):
        batch = poise.solve_batch(model, Reach("hand_l", np.zeros(3)), {"hand_l": targets}, restarts=3)
    assert not batch.reached[7]
    assert (batch.steps <= 200 * batch.searches).all()


@pytest.mark.parametrize("handling", HANDLING)
@pytest.mark.parametrize("method", methods.names())
def test_no_method_makes_more_steps_than_it_may(method: str, handling: str) -> None:
    model, tried = poise.load("panda"), 0
    points = np.array([[0.3, 0.5, 0.4], [0.3, 0.1, 0.6], [3.0, 0.1, 0.6]])
    for mode in MODES:
        for most in (1, 2, 5, 30):
            for point in points:
                try:
                    goal = Reach("panda_hand_tcp", point)
                    options: dict[str, Any] = {"max_steps": most, "mode": mode, "limit_handling": handling}
                    solution = poise.solve(model, goal, method=method, restarts=0, **options)
                except PoiseError:
                    continue  # what a method does not support, it refuses
                tried += 1
                assert solution.steps <= most * solution.searches
                assert solution.searches == 1 or method == "sequential"
    assert tried == (0 if method in NOT_FOR_ARMS else len(MODES) * 4 * len(points))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("most", [1, 2, 5, 30])
def test_levels_share_the_steps_of_a_search(most: int, mode: str) -> None:
    model, rng = poise.load("humanoid"), np.random.default_rng(most)
    for spread in (0.1, 0.5, 2.0):
        hand = model.fk(model.rest, "hand_r")[:3, 3] + rng.normal(scale=spread, size=3)
        feet = [Reach(name, model.fk(model.rest, name)) for name in ("foot_l", "foot_r")]
        goals = [*feet, Reach("hand_r", hand, priority=1), Reach("head", hand, priority=2), Rest()]
        solution = poise.solve(model, goals, max_steps=most, mode=mode, restarts=2)
        assert solution.steps <= most * solution.searches
        alone = poise.solve(model, goals, max_steps=most, mode=mode, restarts=0)
        assert alone.steps <= most


# ------------------------------------------------------------------------------------------ calling it off


def make_endless() -> dict[str, Any]:
    """A search that would take hours: a goal out of reach that is never given up."""
    return {"method": LM(stall_steps=10**8), "max_steps": 10**8, "restarts": 0, "step_limit": 1e-9}


def raise_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1, 2])
def test_ctrl_c_is_handled(levels: int) -> None:
    model = poise.load("panda")
    goals = [Reach("panda_hand_tcp", (0.3, 0.5, 0.4)), Reach("panda_link4", (0, 0, 2.0), priority=levels - 1)]
    solver = poise.Solver(model, goals, **make_endless())
    with pytest.raises(KeyboardInterrupt), set_alarm(0.3, raise_interrupt):
        solver.solve()
    assert solver.model is model


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 40])
def test_ctrl_c_is_handled_by_a_batch(rows: int) -> None:
    model, targets = poise.load("panda"), np.tile([0.3, 0.5, 0.4], (rows, 1))
    begun = time.process_time()
    with pytest.raises(KeyboardInterrupt), set_alarm(0.3, raise_interrupt):
        poise.solve_batch(model, Reach("panda_hand_tcp", np.zeros(3)), {"panda_hand_tcp": targets}, **make_endless())
    assert time.process_time() - begun < 10.0  # and not when the search has made all its steps


@pytest.mark.timing
@pytest.mark.parametrize("limit", [1e-3, 5e-3])
def test_a_time_limit_is_held(limit: float) -> None:
    model, rng = poise.load("humanoid"), np.random.default_rng(0)
    feet = [Reach(name, model.fk(model.rest, name)) for name in ("foot_l", "foot_r")]
    over = []
    for _ in range(40):
        hand = model.fk(model.rest, "hand_r")[:3, 3] + rng.normal(scale=2.0, size=3)
        goals = [*feet, Reach("hand_r", hand, priority=1), Reach("head", hand, priority=2), Rest()]
        solver = poise.Solver(model, goals, time_limit=limit)
        over.append(min(solver.solve().seconds for _ in range(5)) - limit)
    assert max(over) <= max(0.2 * limit, 2e-4)
