"""The Jacobian rules: each step compared with NumPy, the targets they reach, and the laws common to all."""

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np
import pytest

import poise
from bodies import random_model
from poise.arrays import Floats
from poise.goals import Goal, Orient, Reach, Rest
from poise.methods import DLS, LM, QR, SDLS, SVD, Gradient, Halley, Method, Pseudoinverse, Transpose

RULES: tuple[type[Method], ...] = (Transpose, Gradient, Pseudoinverse, SVD, QR, DLS, SDLS, LM, Halley)
SLOW = {"transpose", "gradient"}
SLIDES = {"prismatic": [0], "translation3": [0, 1, 2], "planar": [0, 1], "free": [0, 1, 2], "cylindrical": [0]}
FAR = 1e6  # a step limit that limits nothing

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def find_first_step(
    model: poise.Model, goals: list[Goal], q: Floats, **options: Any
) -> tuple[Floats, Floats, Floats, list[int]]:
    """J, r and the step that a method proposes at q, and the velocities of J's columns."""
    options = {"limit_handling": "off", "step_limit": FAR, **options}
    native = poise.Solver(model, goals, restarts=0, **options).problem
    velocities = native.rows_jacobian(q)[2]
    native.restart(q, None)
    native.advance()
    native.advance()
    state = native.state()
    return state["J"].T, state["rows"], state["dq"], velocities


def find_units(model: poise.Model) -> Floats:
    """1 for turns, the body's length for slides."""
    out = np.ones(model.nv)
    for joint in model.joints:
        if joint.mimic is None:
            for k in SLIDES.get(joint.kind, []):
                out[joint.v.start + k] = model.length
    return out


def solve_pseudo(A: Floats, r: Floats, cut: float = 1e-14) -> Floats:
    out: Floats = np.linalg.pinv(A, rcond=cut) @ r
    return out


def solve_damped(A: Floats, r: Floats, squared: float) -> Floats:
    out: Floats = A.T @ np.linalg.solve(A @ A.T + squared * np.eye(len(r)), r)
    return out


def solve_selectively(A: Floats, r: Floats, root: Floats, most: float) -> Floats:
    """Buss and Kim 2005, as printed."""

    def clamp(x: Floats, bound: float) -> Floats:
        size = np.abs(root * x).max()
        return x * (bound / size) if size > bound else x

    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    blocks = np.linalg.norm(A.reshape(-1, 3, A.shape[1]), axis=1)
    total = np.zeros(A.shape[1])
    for u, s, v in zip(U.T, sigma, Vt, strict=True):
        if s <= 1e-14 * sigma[0]:
            continue
        N = np.linalg.norm(u.reshape(-1, 3), axis=1).sum()
        M = (blocks @ np.abs(v)).sum() / s
        total += clamp(v * (u @ r) / s, min(1.0, N / M) * most)
    return clamp(total, most)


def solve_by_numpy(method: Method, A: Floats, r: Floats, root: Floats) -> Floats:
    """The method's x for A x = r, from NumPy alone."""
    if isinstance(method, Gradient):
        return method.gain * A.T @ r / (A**2).sum()
    if isinstance(method, Transpose):
        y = A @ A.T @ r
        return (r @ y) / (y @ y) * A.T @ r
    if isinstance(method, SVD):
        return solve_pseudo(A, r, method.threshold)
    if isinstance(method, DLS):
        return solve_damped(A, r, method.damping**2)
    if isinstance(method, SDLS):
        return solve_selectively(A, r, root, method.gamma_max)
    return solve_pseudo(A, r)


STEPS = [Gradient(gain=0.7), Transpose(), Pseudoinverse(), SVD(threshold=0.05), QR(), DLS(damping=0.2), SDLS()]


@pytest.mark.parametrize("method", STEPS, ids=lambda method: method.name)
@pytest.mark.parametrize("seed", range(12))
def test_a_step_is_the_printed_formula(method: Method, seed: int) -> None:
    """On bodies of every joint kind, one to three goals, stiffness: wide, tall and rank-deficient systems."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, joints=[3, 6, 13][seed % 3], mimic=False)  # whose unit would be its leader's
    q, stiffness = model.random(rng), rng.uniform(0, 3, model.nv)
    frames = sorted(model.frames, key=lambda frame: -np.abs(model.jacobian(q, frame)).sum())
    goals: list[Goal] = [
        Reach(frame, rng.normal(size=3) if seed % 2 else model.fk(model.random(rng), frame))
        for frame in frames[: 1 + seed % 3]
    ]
    J, r, dq, velocities = find_first_step(model, goals, q, method=method, stiffness=stiffness)
    root, unit = 1 / np.sqrt(1 + stiffness[velocities]), find_units(model)[velocities]
    wanted = root * unit * solve_by_numpy(method, J * root * unit, r, root)
    assert np.allclose(dq, wanted, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(wanted).max()))


def test_the_inverse_is_the_inverse() -> None:
    model, rng = poise.load("ur5e"), np.random.default_rng(1)
    for _ in range(10):
        goal = Reach(model.frames[-1], model.fk(model.random(rng), model.frames[-1]))
        J, r, dq, _ = find_first_step(model, [goal], model.random(rng), method="inverse")
        assert np.allclose(dq, np.linalg.solve(J, r), rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------------------------ what they reach


def draw_near(
    model: poise.Model, goals: dict[str, bool], seed: int, by: float, tolerance: float | None = None
) -> tuple[list[Goal], Floats]:
    """Goals (frame: with rotation) that a pose near a random one reaches, and that random one."""
    rng = np.random.default_rng(seed)
    q = model.random(rng)
    there = model.clamp(model.integrate(q, rng.uniform(-by, by, model.nv) * find_units(model)))
    places = {frame: model.fk(there, frame) for frame in goals}
    return [Reach(f, T if goals[f] else T[:3, 3], tolerance=tolerance) for f, T in places.items()], q


BODIES = {
    "planar3": {"tip": False},
    "panda": {"panda_hand_tcp": False},
    "iiwa14": {poise.load("iiwa14").frames[-1]: True},
    "tree30": dict.fromkeys(poise.load("tree30").frames[-2:], False),
    "humanoid": {"hand_l": False, "hand_r": False},
}


def find_rate(model: poise.Model, goals: list[Goal], q: Floats, room: float) -> float:
    """Return by which share the slowest error shrinks in a step of gradient descent: sigma_min^2 / |A|^2.

    Joints nearer than `room` to an end of their range do not count: they may have to stay there.
    """
    jacobian, _, velocities = poise.Solver(model, goals).problem.rows_jacobian(q)
    A, value = jacobian * find_units(model)[velocities], np.zeros(model.nv)
    for joint in model.joints:
        if joint.nq == joint.nv and joint.mimic is None:
            value[joint.v] = q[joint.q]
    free = np.minimum(value - model.lower, model.upper - value) > room * find_units(model)
    rank = int(np.linalg.matrix_rank(A, tol=1e-9))
    sigma = np.linalg.svd(A[:, free[velocities]], compute_uv=False)
    return float(sigma[rank - 1] ** 2 / (A**2).sum()) if len(sigma) >= rank else 0.0


def draw_regular(model: poise.Model, goals: dict[str, bool]) -> Iterator[tuple[list[Goal], Floats]]:
    """Yield problems in which 5000 steps of gradient descent shrink every error by exp(-15): to the tolerance."""
    problems = (draw_near(model, goals, seed, 0.3) for seed in count())
    return (problem for problem in problems if find_rate(model, *problem, 0.3) > 15.0 / 5000)


@each_rule
@pytest.mark.parametrize("name", BODIES)
def test_reaches(rule: type[Method], name: str) -> None:
    model = poise.load(name)
    damped = rule.name in {*SLOW, "dls"}  # slow near singular poses, as they say
    steps = 5000 if rule.name in SLOW else 300
    problems = (
        draw_regular(model, BODIES[name]) if damped else (draw_near(model, BODIES[name], k, 0.3) for k in count())
    )
    for goals, start in islice(problems, 5):
        assert poise.solve(model, goals, start, method=rule(), max_steps=steps, restarts=0).reached


@each_rule
@pytest.mark.parametrize("kind", ["ball", "euler", "prismatic", "universal", "screw", "planar", "free", "translation3"])
def test_serves_every_joint_kind(rule: type[Method], kind: str) -> None:
    """A chain that mixes the kind with hinges, some of them mimicking."""
    model = random_model(7, joints=7, kinds=(kind, "revolute"))
    goals, start = draw_near(model, {model.frames[-1]: False}, 3, 0.1, 1e-3 if rule.name in SLOW else None)
    assert poise.solve(model, goals, start, method=rule(), max_steps=20_000, restarts=0).reached


def test_inverse_reaches_where_it_is_square() -> None:
    model = poise.load("ur5e")
    goals, start = draw_near(model, {model.frames[-1]: True}, 2, 0.3)
    assert poise.solve(model, goals, start, method="inverse", restarts=0).reached
    arm = poise.load("planar2")
    assert poise.solve(arm, Reach("tip", (0.5, 0.8, 0), weight=(1, 1, 0)), [0.1, 0.4], method="inverse").reached


@each_rule
def test_serves_relative_goals_and_free_axes(rule: type[Method]) -> None:
    model = poise.load("humanoid")
    rng = np.random.default_rng(5)
    there = model.clamp(model.integrate(model.rest, rng.uniform(-0.2, 0.2, model.nv)))
    inside = np.linalg.inv(model.fk(there, "head")) @ model.fk(there, "hand_l")
    goals = [
        Reach("hand_l", inside[:3, 3], relative_to="head"),
        Orient("hand_r", model.fk(there, "hand_r")[:3, :3], axes="xy"),
    ]
    assert poise.solve(model, goals, method=rule(), max_steps=5000, restarts=0).reached


# ------------------------------------------------------------------------------------------------ laws


@each_rule
def test_a_stiffer_joint_moves_less(rule: type[Method]) -> None:
    model, rng = poise.load("panda"), np.random.default_rng(3)
    for _ in range(20):
        q, joint = model.random(rng), int(rng.integers(7))
        goals: list[Goal] = [Reach("panda_hand_tcp", model.fk(model.random(rng), "panda_hand_tcp")[:3, 3])]
        moved = []
        for stiff in (0.0, 3.0, 30.0, 300.0):
            stiffness = np.zeros(7)
            stiffness[joint] = stiff
            _, _, dq, velocities = find_first_step(model, goals, q, method=rule(), stiffness=stiffness)
            moved.append(abs(dq[velocities.index(joint)]) / np.abs(dq).max())
        if rule is not SDLS:  # whose clamps come and go with the singular vectors
            assert (np.diff(moved) <= 1e-12).all()
        assert moved[-1] < min(0.2, moved[0])


@pytest.mark.parametrize("rule", [Pseudoinverse, QR, DLS, LM], ids=lambda rule: rule.name)
@pytest.mark.parametrize("seed", range(8))
def test_a_stiffer_joint_never_moves_more_in_a_step(rule: type[Method], seed: int) -> None:
    """Of the rules that minimise a norm, on bodies of every kind: what is promised of a step, and only of a step."""
    model, rng = random_model(seed, 10), np.random.default_rng(seed)
    q, goals = model.random(rng), [Reach(model.frames[-1], model.fk(model.random(rng), model.frames[-1])[:3, 3])]
    own = rng.uniform(0, 3, model.nv)
    moves = find_first_step(model, goals, q, method=rule(), stiffness=own)[3]
    for joint in rng.permutation(moves)[:4].tolist():
        moved = []
        for more in (0.0, 1.0, 10.0, 100.0):
            stiffness = own.copy()
            stiffness[joint] += more
            _, _, dq, velocities = find_first_step(model, goals, q, method=rule(), stiffness=stiffness)
            moved.append(abs(dq[velocities.index(joint)]))
        assert (np.diff(moved) <= 1e-9 * (1 + moved[0])).all(), (model.name, joint, moved)


@each_rule
def test_a_posture_moves_the_null_space_alone(rule: type[Method]) -> None:
    """The goal is kept to its tolerance and the pose is nearer to the wanted one than without."""
    model = poise.load("panda")
    wanted = np.array(model.rest) + 0.3
    goal = Reach("panda_hand_tcp", (0.4, 0.25, 0.5))
    steps = 5000 if rule.name in SLOW else 300
    plain = poise.solve(model, goal, method=rule(), max_steps=steps)
    rested = poise.solve(model, [goal, Rest(pose=model.clamp(wanted))], method=rule(), max_steps=steps)
    best = poise.solve(model, [goal, Rest(pose=model.clamp(wanted))])
    assert plain.reached
    assert rested.reached

    def distance(q: Floats) -> float:
        return float(np.linalg.norm(q - model.clamp(wanted)))

    assert distance(rested.q) < distance(plain.q)
    assert distance(rested.q) < 1.001 * distance(best.q)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule is not LM], ids=lambda rule: rule.name)
@pytest.mark.parametrize("scale", [1e-6, 1e3])
def test_a_body_of_any_size_steps_alike(rule: type[Method], scale: float) -> None:
    def arm(size: float) -> poise.Model:
        builder = poise.ModelBuilder(name="arm")
        builder.add_joint("a", None, "revolute", axis=(0, 0, 1))
        builder.add_joint("b", "a", "revolute", offset=(size, 0, 0), axis=(0, 1, 0))
        builder.add_joint("c", "b", "prismatic", offset=(size, 0, 0), axis=(1, 0, 0), lower=-size, upper=size)
        builder.add_frame("tip", "c", (0.5 * size, 0, 0.1 * size))
        return builder.build()

    def step(size: float) -> Floats:
        q = np.array([0.3, -0.4, 0.2 * size])
        target = np.array([0.5, 1.1, 0.9]) * size
        dq = find_first_step(arm(size), [Reach("tip", target)], q, method=rule(), step_limit=0.5)[2]
        return dq / [1, 1, size]

    assert np.allclose(step(scale), step(1.0), rtol=1e-9)


@each_rule
def test_the_same_input_gives_the_same_bits(rule: type[Method]) -> None:
    model = poise.load("humanoid")
    goals, start = draw_near(model, {"hand_l": True, "foot_r": False}, 4, 0.3)
    solver = poise.Solver(model, goals, method=rule(), max_steps=30, restarts=0)
    first = solver.solve(start).q
    poise.Solver(model, goals, method="dls").solve(model.rest)
    assert np.array_equal(first, solver.solve(start).q)
    assert np.array_equal(first, solver.copy().solve(start).q)
