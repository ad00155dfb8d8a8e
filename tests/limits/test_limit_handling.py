"""Limits under every rule and every method: inside the solve, frozen, pulled, clamped, or off."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bodies import models
from limit_oracle import cone_broken, measure_outside, ranges_broken
from poise.arrays import Floats
from poise.goals import Reach, Rest
from poise.methods import DLS, LM, QR, SDLS, SVD, Gradient, Halley, Method, Pseudoinverse, Transpose, find_method, names
from poise.methods.scipy import LEAST_SQUARES, MINIMIZERS
from poise.model.joints.joint import BallRange

RULES: tuple[type[Method], ...] = (Transpose, Gradient, Pseudoinverse, SVD, QR, DLS, SDLS, Halley, LM)
HANDLING = ("active", "freeze", "penalty", "clamp")
TIP = "panda_hand_tcp"

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
each_handling = pytest.mark.parametrize("handling", HANDLING)


def find_first_step(model: poise.Model, goal: Reach, q: Floats, **options: Any) -> tuple[Floats, Floats]:
    """The step that is proposed at q, and where it leads."""
    native = poise.Solver(model, goal, restarts=0, **options).problem
    native.restart(q, None)
    for _ in range(2):
        native.advance()
    dq = native.state()["dq"].copy()
    native.advance()
    return dq, native.state()["q"]


# ------------------------------------------------------------------------------------------------ laws


@pytest.mark.slow
@each_rule
@each_handling
@given(model=models(max_joints=8), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_limits_are_never_broken(rule: type[Method], handling: str, model: poise.Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = str(rng.choice(model.frames))
    goals: list[Any] = [Reach(frame, rng.normal(scale=2, size=3))]
    if rng.random() < 0.3:
        goals.append(Rest(pose=model.random(rng)))
    options: dict[str, Any] = {"limit_handling": handling, "max_steps": 25, "record": True}
    solution = poise.solve(model, goals, model.random(rng), method=rule(), **options)
    assert solution.history is not None
    for q in solution.history.q:
        assert not measure_outside(model, q).any()  # exactly: no epsilon
        assert np.isfinite(q).all()


@each_rule
@each_handling
def test_a_start_outside_comes_back_without_a_jump(rule: type[Method], handling: str) -> None:
    model = poise.load("panda")
    start = np.array(model.rest)
    start[1], start[5] = 2.4, 4.5
    options: dict[str, Any] = {"limit_handling": handling, "step_limit": 0.1, "restarts": 0, "record": True}
    solution = poise.solve(model, Reach(TIP, (0.4, 0.2, 0.5)), start, method=rule(), max_steps=100, **options)
    assert solution.history is not None
    path = solution.history.q
    assert np.abs(np.diff(path, axis=0)).max() <= 0.1 + 1e-12
    out = np.array([measure_outside(model, q) for q in path])
    assert (np.diff(out, axis=0) <= 1e-15).all()
    assert not out[-1].any()


@pytest.mark.parametrize("rule", RULES[:-2], ids=lambda rule: rule.name)
def test_the_longest_motion_is_the_step_limit_and_the_direction_is_kept(rule: type[Method]) -> None:
    """Not under lm, which fixes what goes too far and solves again, nor halley, whose first half is bounded too."""
    model, goal = poise.load("panda"), Reach(TIP, (-0.3, 0.5, 0.6))
    free, _ = find_first_step(model, goal, model.rest, method=rule(), limit_handling="off", step_limit=1e6)
    held, _ = find_first_step(model, goal, model.rest, method=rule(), limit_handling="off", step_limit=0.01)
    assert np.abs(held).max() == pytest.approx(0.01)
    assert np.allclose(held / np.abs(held).max(), free / np.abs(free).max(), atol=1e-12)


@each_rule
def test_continuous_mode_keeps_the_bound_of_a_call(rule: type[Method]) -> None:
    model = poise.load("panda")
    options: dict[str, Any] = {"mode": "continuous", "step_limit": 0.05, "method": rule()}
    solver = poise.Solver(model, Reach(TIP, (-0.3, 0.5, 0.6)), **options)
    q = np.array(model.rest)
    for _ in range(20):
        before, q = q, solver.solve(q).q
        assert np.abs(q - before).max() <= 0.05 + 1e-12
        assert not measure_outside(model, q).any()


@each_rule
def test_off_leaves_the_ranges(rule: type[Method]) -> None:
    model = poise.load("panda")
    there = np.array(model.rest)
    there[3] = 0.5  # above its range
    goal = Reach(TIP, model.fk(there, TIP)[:3, 3])
    start = there - 0.05 * np.eye(7)[3]
    steps = 5000 if rule in (Gradient, Transpose) else 200
    solution = poise.solve(model, goal, start, method=rule(), limit_handling="off", max_steps=steps, restarts=0)
    assert solution.reached
    assert measure_outside(model, solution.q)[3] > 0.3


# ------------------------------------------------------------------------------------------------ each strategy


def build_crane(reach: float = 0.2) -> poise.Model:
    """A stiff hinge that carries a slide; the tip is 1 m out and the slide has `reach` left."""
    builder = poise.ModelBuilder(name="crane")
    builder.add_joint("swing", None, "revolute", axis=(0, 0, 1), lower=-1.5, upper=1.5, stiffness=200.0)
    builder.add_joint("lift", "swing", "prismatic", axis=(0, 1, 0), lower=-0.5, upper=reach)
    builder.add_frame("tip", "lift", (1, 0, 0))
    return builder.build()


def lift_to(y: float) -> Reach:
    """Only the height counts, so that both joints can do it, the slide at a two-hundredth of the hinge's price."""
    return Reach("tip", (0, y, 0), weight=(0, 1, 0))


def test_the_limit_trap_bounded_beats_clamped() -> None:
    """The cheap joint is at its bound: clamped, its part is left undone; bounded, the stiff joint takes it over."""
    model = build_crane()
    goal = lift_to(0.7)
    for method in (Pseudoinverse(), QR(), DLS(damping=0.02), SVD(), LM()):
        options: dict[str, Any] = {"method": method, "max_steps": 60, "restarts": 0}
        bounded = poise.solve(model, goal, [0, 0.2], limit_handling="active", **options)
        clamped = poise.solve(model, goal, [0, 0.2], limit_handling="clamp", **options)
        assert bounded.reached, method
        if not isinstance(method, LM):  # which ends with a polish inside the limits
            assert not clamped.reached, method
        assert bounded.steps < clamped.steps, method


@pytest.mark.slow
def test_on_an_arm_bounded_reaches_more_than_clamped() -> None:
    model = poise.load("iiwa14")
    frame = model.frames[-1]
    steps: dict[str, list[int]] = {"active": [], "clamp": []}
    for handling, taken in steps.items():
        rng = np.random.default_rng(1)
        options: dict[str, Any] = {"limit_handling": handling, "method": "qr", "restarts": 0}
        solver = poise.Solver(model, Reach(frame, np.eye(4)), **options)
        for _ in range(200):
            target = model.fk(model.random(rng), frame)
            solution = solver.solve(model.random(rng), {frame: target})
            if solution.reached:
                taken.append(solution.steps)
    assert len(steps["active"]) > len(steps["clamp"])
    assert np.mean(steps["active"]) < np.mean(steps["clamp"]) / 2


@each_rule
def test_active_fixes_at_the_bound_and_gives_the_rest_to_the_others(rule: type[Method]) -> None:
    dq, q = find_first_step(build_crane(), lift_to(0.5), np.array([0.0, 0.15]), method=rule(), step_limit=10)
    if rule not in (Transpose, Gradient, SDLS):
        assert q[1] == 0.2
    if rule in (Pseudoinverse, QR, SVD):
        assert dq[0] == pytest.approx(0.3, rel=0.2)  # 0.5 m to go: 0.2 by the slide, the rest by the hinge


@each_rule
def test_freeze_does_not_move_what_would_leave(rule: type[Method]) -> None:
    options: dict[str, Any] = {"limit_handling": "freeze", "step_limit": 10}
    dq, q = find_first_step(build_crane(), lift_to(0.8), np.array([0.0, 0.19]), method=rule(), **options)
    assert dq[1] == 0
    assert q[1] == 0.19
    assert dq[0] > 0


def test_penalty_lets_the_rows_fight_it_out() -> None:
    """The row that pulls to the bound fights the goal's inside the solve, so the stiff hinge does more than clamped."""
    goal, q = lift_to(0.8), np.array([0.0, 0.19])
    swing = {
        handling: find_first_step(
            build_crane(), goal, q, method="pseudoinverse", limit_handling=handling, step_limit=10
        )[0][0]
        for handling in HANDLING
    }
    assert swing["clamp"] < swing["penalty"] <= swing["active"] + 1e-12


@each_rule
@each_handling
def test_every_strategy_reaches_inside_the_ranges(rule: type[Method], handling: str) -> None:
    model, rng = poise.load("panda"), np.random.default_rng(8)
    solved = 0
    for _ in range(5):
        q = model.random(rng)
        there = model.clamp(q + rng.uniform(-0.4, 0.4, 7))
        options: dict[str, Any] = {"limit_handling": handling, "restarts": 0, "max_steps": 3000}
        solution = poise.solve(model, Reach(TIP, model.fk(there, TIP)[:3, 3]), q, method=rule(), **options)
        solved += solution.reached
    assert solved >= 4


# ---------------------------- Limits under every method of the shelf: the model's own cones, and how far one step leads


ROUNDING = 1e-12
STEPPING = [name for name in names() if name != "sequential"]


def build_coned_arm() -> poise.Model:
    """A ball joint and a hinge, both held narrow."""
    builder = poise.ModelBuilder("coned arm")
    builder.add_joint("ball", None, "ball", cone=BallRange(swing=(0.6, 0.9), twist=(-0.4, 0.5)))
    builder.add_joint("hinge", "ball", "revolute", offset=(0, 0, 0.5), axis=(0, 1, 0), lower=-1.0, upper=1.5)
    return builder.add_frame("tip", "hinge", (0, 0, 0.4)).build()


def find_largest_break(model: poise.Model, q: np.ndarray) -> float:
    """The worst of the ranges and the cone."""
    cone = model.joint("ball").cone
    assert cone is not None
    return max(ranges_broken(model, q), cone_broken(cone, q[model.joint("ball").q]))


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [*LEAST_SQUARES, *MINIMIZERS])
def test_scipy_keeps_the_cones_of_the_model(optimizer: str) -> None:
    pytest.importorskip("scipy")
    model, rng, reached = build_coned_arm(), np.random.default_rng(3), 0
    method = poise.methods.Scipy(optimizer)
    for k in range(16):
        inside = poise.solve(model, Reach("tip", rng.normal(size=3))).q  # some pose that keeps the limits
        has_pose = k % 4 > 0
        target = np.array(model.fk(inside, "tip"))[:3, 3] if has_pose else rng.normal(size=3) * 0.7
        start = model.rest if has_pose else np.array([*poise.Rotation.from_vector((1.5, 0.3, 0.9)).wxyz, 0.2])
        solution = poise.solve(model, Reach("tip", target), start, method=method)
        assert solution.steps <= 200
        assert find_largest_break(model, solution.q) <= ROUNDING
        error = float(np.linalg.norm(np.array(model.fk(solution.q, "tip"))[:3, 3] - target))
        assert abs(error - solution.errors["tip"][0]) <= 1e-9
        assert solution.reached == (error <= 1e-4 * min(1.0, model.length))
        reached += solution.reached and has_pose
        for few in (1, 4) if k % 2 else ():  # and cut short, it keeps them too
            short = poise.solve(model, Reach("tip", target), start, method=method, max_steps=few)
            assert short.steps <= few
            assert find_largest_break(model, short.q) <= ROUNDING
    assert reached >= 3  # of 12 that have a pose: trf reaches 4 to 7 of them, the others 9 to 12


def find_longest_step(model: poise.Model, solution: poise.Solution) -> float:
    """The most that a joint turned in one step of one search."""
    history = solution.history
    assert history is not None
    moved = np.abs(model.difference(history.q[:-1], history.q[1:])).max(axis=1)
    return float(moved[np.diff(history.search) == 0].max(initial=0.0))


@pytest.mark.parametrize("step_limit", [None, 0.3])
@pytest.mark.parametrize("method", STEPPING)
def test_a_step_is_no_longer_than_its_method_says(method: str, step_limit: float | None) -> None:
    """One radian, unless the method lays limbs into place; `step_limit=` holds all of them."""
    model, kind = poise.load("planar3"), find_method(method)
    assert isinstance(kind, Method)
    most = kind.longest_step if step_limit is None else step_limit
    longest = 0.0
    for target in np.random.default_rng(0).uniform(-2, 2, (20, 3)) * (1, 1, 0):
        try:
            solution = poise.solve(
                model, Reach("tip", target), method=method, step_limit=step_limit, record=True, max_steps=30
            )
        except poise.errors.InvalidValue:  # a body or a goal that the method does not support
            return
        longest = max(longest, find_longest_step(model, solution))
    assert longest <= most + 1e-9
