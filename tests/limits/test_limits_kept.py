"""Starts that break limits or touch them exactly: what they keep is kept, what they break gets no worse."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from limit_oracle import cone_broken, limits_broken
from poise.arrays import Floats
from poise.diagnosis import CauseKind
from poise.goals import Goal, LookAt, Reach
from poise.limits import Clearance, Closed, Coupled, HalfSpace, Limit, Speed, Sphere
from poise.limits.cone import find_cones
from poise.model.joints.joint import BallRange

ROUNDING = 1e-12


def draw_body(rng: np.random.Generator, size: float = 1.0) -> poise.Model:
    """A branching chain of slides, hinges and ball joints with ranges and cones."""
    builder, parent = poise.ModelBuilder("body"), None
    kinds = rng.choice(["prismatic", "revolute", "ball"], rng.integers(2, 5)).tolist()
    for k, kind in enumerate([*kinds, "revolute"]):
        name, offset = f"{kind[0]}{k}", tuple((rng.uniform(-0.4, 0.4, 3) * size).tolist())
        if kind == "ball":
            swing = tuple(rng.uniform(0.3, 1.2, 2).tolist()) if rng.random() < 0.5 else float(rng.uniform(0.3, 1.2))
            twist = (-float(rng.uniform(0.1, 1.0)), float(rng.uniform(0.1, 1.0))) if rng.random() < 0.5 else None
            builder.add_joint(name, parent, kind, offset=offset, cone=BallRange(swing=swing, twist=twist))
        else:
            unit = size if kind == "prismatic" else 1.0
            low, high = -float(rng.uniform(0.2, 1.5)) * unit, float(rng.uniform(0.2, 1.5)) * unit
            axis = tuple(rng.normal(size=3).tolist())
            builder.add_joint(name, parent, kind, offset=offset, axis=axis, lower=low, upper=high, rest=0.0)
        parent = name if k != 1 or rng.random() < 0.7 else parent
        last = name
    builder.add_frame("tip", last, (0.3 * size, 0.1 * size, 0.0))
    return builder.add_frame("other", parent, (0.0, 0.25 * size, 0.1 * size)).build()


def draw_limits(model: poise.Model, rng: np.random.Generator) -> Iterator[Limit]:
    """Sums, clearances and now and then a loop."""
    plain = [joint for joint in model.joints if joint.nv == 1]
    if rng.random() < 0.7:
        chosen = rng.choice(len(plain), min(2, len(plain)), replace=False)
        factors = {plain[k].name: float(rng.choice([-1.0, 0.5, 1.0])) for k in chosen}
        ends = np.array([[model.lower[plain[k].v.start], model.upper[plain[k].v.start]] for k in chosen])
        reach = np.sort(ends * np.array(list(factors.values()))[:, None], axis=1).sum(axis=0)
        low = float(rng.uniform(*reach))
        yield Coupled(factors, low, low + float(rng.uniform(0.05, 0.5)) * float(np.ptp(reach)), name="sum")
    if rng.random() < 0.5:
        place = (rng.normal(size=3) * 0.5 * model.length).tolist()
        floor = HalfSpace((0, 0, -float(rng.uniform(0.0, 0.6)) * model.length), (0, 0, 1))
        yield Clearance([], 0.01 * model.length, [floor, Sphere(place, 0.2 * model.length)], name="clear")
    if rng.random() < 0.25 and model.frame("tip").parent != model.frame("other").parent:
        T = np.linalg.inv(model.fk(model.rest, "other")) @ model.fk(model.rest, "tip")
        yield Closed("tip", "other", T[:3, 3], name="loop")


def throw_start(model: poise.Model, rng: np.random.Generator) -> Floats:
    """A start somewhere, inside the ranges or not."""
    return np.asarray(
        model.integrate(model.rest, rng.normal(size=model.nv) * np.where(list_slides(model), model.length, 1))
    )


def list_slides(model: poise.Model) -> NDArray[np.bool_]:
    """Which velocities slide."""
    out = np.zeros(model.nv, dtype=bool)
    for joint in model.joints:
        out[joint.v] = joint.kind == "prismatic"
    return out


def name_limits_of(why: str, name: str) -> bool:
    """Whether an explanation says that a limit is broken."""
    if name.startswith("cone "):
        return f"'{name[5:]}' has been " in why and "beyond its cone since the start" in why
    if name == "ranges":
        return "limit since the start" in why
    kind = name.split(" ", 1)[1]
    said = {"sum": "'sum' has been violated", "clear": "'clear' has been violated", "loop": "'loop' is still"}
    return said[kind] in why


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "continuous"])
@pytest.mark.parametrize("seed", range(8))
def test_what_a_start_keeps_is_kept_and_what_it_breaks_gets_no_worse(seed: int, mode: str) -> None:
    rng, still_broken = np.random.default_rng(seed), 0
    for _ in range(12):
        model = draw_body(rng)
        limits = list(draw_limits(model, rng))
        goals: list[Goal] = [Reach("tip", rng.normal(size=3) * 0.5 * model.length)]
        if rng.random() < 0.3:
            goals.append(LookAt("other", rng.normal(size=3), priority=1))
        start = throw_start(model, rng)
        solution = poise.solve(model, goals, start, limits=limits, mode=mode, restarts=4)
        before, after = (limits_broken(model, limits, q) for q in (start, solution.q))
        for name, broken in after.items():
            slack = 1e-9 if name.endswith("loop") else ROUNDING
            assert broken <= max(before[name], 0.0) + slack, name
        broken_now = [name for name, broken in after.items() if broken > 1e-8]
        if broken_now:
            still_broken += 1
            assert not solution.reached
            why = solution.why()
            for name in broken_now:
                assert name_limits_of(why, name), (name, why)
    assert mode == "nearest" or still_broken >= 5  # one call of continuous mode leads only so far


def build_sliding_ball() -> poise.Model:
    """A slide that carries a ball joint with a cone of 0.8 rad."""
    builder = poise.ModelBuilder("sliding ball")
    builder.add_joint("x", None, "prismatic", axis=(1, 0, 0), lower=-20, upper=20, rest=0.0)
    builder.add_joint("ball", "x", "ball", cone=BallRange(swing=0.8))
    return builder.add_frame("tip", "ball", (0, 0, 1)).build()


@pytest.mark.parametrize("ends", [(5.0, 6.0), (9.0, 10.0), (15.0, 16.0)])
def test_a_sum_far_outside_its_range_comes_all_the_way_back(ends: tuple[float, float]) -> None:
    model, limit = build_sliding_ball(), Coupled({"x": 1.0}, *ends)
    for target in np.random.default_rng(0).normal(size=(10, 3)):
        solution = poise.solve(model, Reach("tip", target), limits=[limit])
        assert max(limits_broken(model, [limit], solution.q).values()) <= ROUNDING


def test_a_limit_that_stays_broken_is_named_and_not_called_the_end_of_its_range() -> None:
    """The slide that the sum is about may not move, so no step brings it back."""
    model, limit = build_sliding_ball(), Coupled({"x": 1.0}, 9.0, 10.0)
    why = poise.solve(model, Reach("tip", (0.0, 0.5, 0.5)), limits=[limit], joints=["ball"]).why()
    assert "'coupled x' has been violated since the start: 'x' is 0, below the bound 9." in why
    assert "lowest value" not in why
    start = np.array([2.0, *poise.Rotation.from_vector((2.0, 0.0, 0.0)).wxyz])
    held = poise.solve(model, Reach("tip", (2.0, -1.0, 0.0)), start, joints=["ball"], max_steps=1, restarts=0)
    assert not held.reached
    assert limits_broken(model, [], held.q)["cone ball"] > 0.1
    assert "'ball' has been swung beyond its cone since the start" in held.why()


# ------------------------------------------------------------------------------------------------ sizes


@pytest.mark.parametrize("seed", range(6))
def test_a_body_of_any_size_keeps_the_same_limits(seed: int) -> None:
    """From micrometres to a thousand kilometres: the same problem, the same answer in its own unit."""
    answers = []
    for size in (1e-6, 1e-3, 1.0, 100.0, 1e3, 1e6):
        rng = np.random.default_rng(seed)
        model = draw_body(rng, size)
        plain = [joint for joint in model.joints if joint.nv == 1]
        units = {joint.name: size if joint.kind == "prismatic" else 1.0 for joint in plain}
        factors = {name: float(rng.choice([-1.0, 0.5, 1.0])) / unit * size for name, unit in units.items()}
        ends = [(factors[j.name] * model.lower[j.v.start], factors[j.name] * model.upper[j.v.start]) for j in plain]
        least = float(sum(min(pair) for pair in ends))
        limit = Coupled(factors, least, least + 0.2 * size, name="sum")
        goal = Reach("tip", rng.normal(size=3) * 0.5 * size, tolerance=1e-4 * size)
        solution = poise.solve(model, goal, limits=[limit], restarts=2)
        assert max(limits_broken(model, [limit], solution.q).values()) <= ROUNDING * size
        answers.append((solution.reached, solution.errors["tip"][0] / size))
    assert len({reached for reached, _ in answers}) == 1
    assert np.ptp([error for _, error in answers]) <= 2e-4


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 100.0, 1e3, 1e6])
def test_a_gantry_of_any_size_comes_into_a_coupled_range(size: float) -> None:
    builder = poise.ModelBuilder("gantry")
    builder.add_joint("x", None, "prismatic", axis=(1, 0, 0), lower=0.0, upper=size, rest=0.0)
    builder.add_joint("y", "x", "prismatic", axis=(0, 1, 0), lower=0.0, upper=size, rest=0.0)
    model = builder.add_frame("hook", "y", (0, 0, -0.1 * size)).build()
    limit = Coupled({"x": 1.0}, 0.5 * size, 0.6 * size)
    solution = poise.solve(model, Reach("hook", (0.2 * size, 0.3 * size, -0.1 * size)), limits=[limit])
    assert 0.5 * size <= solution.q[0] <= 0.6 * size
    assert abs(solution.q[0] / size - 0.5) <= 1e-6
    assert abs(solution.q[1] / size - 0.3) <= 1e-6


# -------------------- A start that touches its limits exactly, as zeros often do: the body moves off them in every mode


LIMITS = [
    Coupled({"r0": 1.0}, lower=0.0),
    Coupled({"r1": 1.0, "r0": -0.5}, lower=0.0),
    Coupled({"r2": 1.0, "r1": -0.6}, lower=0.0),
]


def build_finger() -> poise.Model:
    """Three hinges, each of which bends at least so much of the one before."""
    builder = poise.ModelBuilder("finger")
    for k, above in enumerate((None, "r0", "r1")):
        builder.add_joint(
            f"r{k}", above, "revolute", axis=(0, 0, 1), offset=(0.04 * (k > 0), 0, 0), lower=-0.1, upper=2.0
        )
    return builder.add_frame("tip", "r2", (0.03, 0, 0)).build()


def is_kept(q: np.ndarray) -> bool:
    return bool(min(q[0], q[1] - 0.5 * q[0], q[2] - 0.6 * q[1]) >= 0)


def is_whole(solver: poise.Solver, q: np.ndarray) -> poise.Solution:
    return solver.solve(q)


def draw_timed(solver: poise.Solver, q: np.ndarray) -> poise.Solution:
    return solver.step(q, dt=0.05)


@pytest.mark.parametrize(("mode", "go"), [("nearest", is_whole), ("continuous", is_whole), ("continuous", draw_timed)])
def test_it_moves_off(mode: str, go: Callable[[poise.Solver, np.ndarray], poise.Solution]) -> None:
    model = build_finger()
    target = model.fk(np.array([0.5, 0.4, 0.4]), "tip")[:3, 3]
    rules = [*LIMITS, Speed(2.0)] if go is draw_timed else LIMITS
    solver = poise.Solver(model, [Reach("tip", target)], mode=mode, limits=rules)
    q = np.zeros(3)
    for _ in range(15):
        solution = go(solver, q)
        q = solution.q
        assert is_kept(q)
    assert solution.reached


# -------------------------------- What docs/limits.md calls exact, over calls in continuous mode and over steps in time


LAST_DIGITS = 1e-14  # what NumPy and the kernels may differ by


def narrow_arm() -> poise.Model:
    """Three ball joints in narrow cones."""
    builder, parent = poise.ModelBuilder("narrow"), None
    for k, cone in enumerate((0.25, 0.4, 0.3)):
        limits = BallRange(swing=(cone, 2 * cone), twist=(-0.2, 0.3))
        builder.add_joint(f"b{k}", parent, "ball", offset=(0, 0, 0.3 if k else 0.0), cone=limits)
        parent = f"b{k}"
    return builder.add_frame("tip", parent, (0.1, 0, 0.3)).build()


@pytest.mark.parametrize("span", [0.05, 0.2])
@pytest.mark.parametrize("method", ["auto", "dls"])
def test_ball_joints_in_their_cones_move_no_farther_than_a_call_may_lead(method: str, span: float) -> None:
    model, rng = narrow_arm(), np.random.default_rng(4)
    solver = poise.Solver(
        model, Reach("tip", np.zeros(3), name="tip"), mode="continuous", method=method, step_limit=span
    )
    q, farthest = np.array(model.rest), 0.0
    for target in rng.normal(size=(60, 3)):
        before, q = q, solver.solve(q, {"tip": target}).q
        moved = float(np.abs(model.difference(before, q)).max())
        assert moved <= span + LAST_DIGITS
        assert (
            max(cone_broken(cone, q[model.joint(name).q]) for name, cone in find_cones(model, ()).items())
            <= LAST_DIGITS
        )
        farthest = max(farthest, moved)
    assert farthest > 0.9 * span


def test_speed_is_exact_for_ball_joints_in_their_cones() -> None:
    model, rng = narrow_arm(), np.random.default_rng(5)
    solver = poise.Solver(model, Reach("tip", np.zeros(3), name="tip"), limits=[Speed(1.0)])
    q = np.array(model.rest)
    for target in rng.normal(size=(80, 3)):
        solution = solver.step(q, 0.1, {"tip": target})
        assert solution.velocity is not None
        assert np.abs(solution.velocity).max() <= 1.0 + 1e-12
        q = solution.q


@pytest.mark.parametrize("timed", [False, True])
def test_a_joint_that_moves_no_goal_comes_back_and_until_then_nothing_is_reached(timed: bool) -> None:
    builder = poise.ModelBuilder("two arms")
    for name in ("a", "b"):
        builder.add_joint(name, None, "revolute", lower=-1, upper=1)
        builder.add_frame(f"hand_{name}", name, (1, 0, 0))
    model, q = builder.build(), np.array([0.3, 2.0])
    goal = Reach("hand_a", np.array(model.fk(q, "hand_a"))[:3, 3])
    limits = [Speed(1.0)] if timed else []
    solver = poise.Solver(model, goal, mode="continuous", limits=limits)
    for _ in range(9):
        before = q
        solution = solver.step(q, 0.1) if timed else solver.solve(q)
        q = solution.q
        assert np.abs(q - before).max() <= (0.1 if timed else 0.2) + LAST_DIGITS
        assert solution.reached == (q[1] <= 1.0)
        if not solution.reached:
            broken, going = solution.explanation.causes
            assert (broken.kind, going.kind) == (CauseKind.BROKEN_LIMIT, CauseKind.ON_ITS_WAY)
            assert [(limit.joint, limit.side) for limit in broken.limits] == [("b", "upper")]
    assert timed or solution.reached
