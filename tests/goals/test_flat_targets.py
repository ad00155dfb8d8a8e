"""Targets of two numbers for planar bodies, and goals in small cases, judged in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise import textbook
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Balance, Ball, Goal, Inside, LookAt, OnLine, OnPlane, Orient, Range, Reach, Relative
from poise.rig import Rig
from poise.solvers import race

PLANES = {0: "yz", 1: "xz", 2: "xy"}


def build_arm(normal: int, height: float = 0.3) -> poise.Model:
    """Build three hinges and a slide that move across one axis of the world, at a height along it."""
    across, along = np.eye(3)[normal], np.eye(3)[(normal + 1) % 3]
    builder = poise.ModelBuilder(name="flat")
    builder.add_frame("base", None, height * across)
    parent = "base"
    for k in range(3):
        builder.add_joint(f"turn_{k}", parent, "revolute", offset=along if k else 0 * along, axis=across, rest=0.4)
        parent = f"turn_{k}"
    builder.add_joint("slide", parent, "prismatic", axis=along, lower=0.0, upper=0.5, rest=0.2)
    builder.add_frame("tip", "slide", 0.5 * along + 0.1 * across)
    return builder.build()


def find_pair(normal: int, place: np.ndarray) -> tuple[float, float]:
    """Return a place without its coordinate along the normal."""
    first, second = (float(x) for k, x in enumerate(place) if k != normal)
    return first, second


BODIES = [(poise.load("planar2"), 2), (poise.load("planar3"), 2), *((build_arm(normal), normal) for normal in PLANES)]


@pytest.mark.parametrize(("model", "normal"), BODIES, ids=["planar2", "planar3", *PLANES.values()])
@pytest.mark.parametrize("point", [None, (0.1, -0.05, 0.02)])
def test_two_numbers_mean_what_three_mean(model: poise.Model, normal: int, point: tuple[float, ...] | None) -> None:
    rng = np.random.default_rng(3)
    for q in model.clamp(rng.uniform(-1.0, 1.0, (5, model.nq))):
        T = model.fk(q, "tip")
        place = T[:3, 3] if point is None else T[:3, :3] @ point + T[:3, 3]
        pair = find_pair(normal, place)
        flat = poise.solve(model, Reach("tip", pair, point=point))
        full = poise.solve(model, Reach("tip", place, point=point))
        assert flat.reached
        assert np.allclose(flat.q, full.q, atol=1e-6)
        assert np.allclose(flat.pose.transform("tip").apply(np.zeros(3) if point is None else point), place, atol=1e-3)
        again = poise.Solver(model, Reach("tip", place, point=point)).solve(targets={"tip": pair})
        assert np.allclose(again.q, full.q, atol=1e-6)


@pytest.mark.parametrize(("model", "normal"), BODIES[1:3], ids=["planar3", "flat"])
def test_a_batch_takes_pairs(model: poise.Model, normal: int) -> None:
    q = model.clamp(np.random.default_rng(5).uniform(-1.0, 1.0, (20, model.nq)))
    places = model.fk(q, "tip")[:, :3, 3]
    pairs = np.array([find_pair(normal, place) for place in places])
    for goal in (Reach("tip", pairs[0]), Reach("tip", places[0])):
        flat, full = poise.solve_batch(model, goal, pairs), poise.solve_batch(model, goal, places)
        assert flat.reached.all()
        assert np.allclose(flat.q, full.q, atol=1e-6)
    alone = poise.solve_batch(model, Reach("tip", pairs[0]), pairs.reshape(4, 5, 2), method="ccd")
    assert alone.q.shape == (4, 5, model.nq)


def test_a_pair_may_hold_a_range_and_be_relative() -> None:
    model = poise.load("planar3")
    ranged = poise.solve(model, Reach("tip", (Range(0.5, 0.7), 1.5))).pose.position("tip")
    assert 0.5 - 1e-3 < ranged[0] < 0.7 + 1e-3
    assert ranged[1:] == pytest.approx([1.5, 0.0], abs=1e-3)
    for goal in (Reach("tip", (1.1, 0.8), relative_to="joint_1"), Relative("tip", "joint_1", (1.1, 0.8))):
        pose = poise.solve(model, goal).pose
        seen = pose.transform("joint_1").inverse() @ pose.transform("tip")
        assert seen.translation == pytest.approx([1.1, 0.8, 0.0], abs=1e-3)


@pytest.mark.slow
def test_a_rig_and_a_track_take_pairs() -> None:
    model = poise.load("planar3")
    rig = Rig(model)
    for _ in range(20):
        pose = rig.drag("tip", (1.0, 1.4))
    assert pose.position("tip") == pytest.approx([1.0, 1.4, 0.0], abs=1e-3)
    path = np.linspace((1.0, 1.4), (0.2, 1.8), 12)
    track = poise.motion.track(model, Reach("tip", path), fps=30)
    assert np.allclose(track.motion.positions("tip")[:, :2], path, atol=2e-3)


@pytest.mark.parametrize("name", ["panda", "humanoid"])
def test_a_body_that_leaves_its_plane_is_rejected_with_the_cause(name: str) -> None:
    model = poise.load(name)
    frame = "hand_l" if name == "humanoid" else model.frames[-1]
    asks = (
        lambda: poise.solve(model, Reach(frame, (0.3, 0.4))),
        lambda: poise.solve_batch(model, Reach(frame, (0.3, 0.4, 0.2)), np.zeros((4, 2))),
        lambda: Rig(model).drag(next(iter(Rig(model).handles)), (0.3, 0.4)),
    )
    for ask in asks:
        with pytest.raises(ShapeMismatch, match=r"2 numbers.*does not move in a plane: its joint '.*' leaves the"):
            ask()


def test_a_plane_that_no_axis_of_the_world_crosses_is_none() -> None:
    builder = poise.ModelBuilder(name="tilted")
    for k in range(2):
        builder.add_joint(f"turn_{k}", f"turn_{k - 1}" if k else None, "revolute", offset=(k, 0, 0), axis=(0, 0.6, 0.8))
    with pytest.raises(ShapeMismatch, match="turn_0"):
        poise.solve(builder.build(), Reach("turn_1", (0.3, 0.4)))


def build_hinges(count: int, axis: tuple[float, float, float]) -> poise.Model:
    """Build a chain of hinges about one axis, with links across it."""
    across = np.cross(axis, (0.48, 0.6, 0.64))
    builder = poise.ModelBuilder(name=f"{count} hinges")
    for k in range(count):
        builder.add_joint(f"turn_{k}", f"turn_{k - 1}" if k else None, "revolute", offset=across * (k > 0), axis=axis)
    return builder.add_frame("tip", f"turn_{count - 1}", across).build()


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0.6, 0.8)], ids=["xy", "xz", "yz", "tilted"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_rows_in_which_a_planar_body_cannot_move_do_not_count(axis: tuple[float, float, float], count: int) -> None:
    model = build_hinges(count, axis)
    q = np.linspace(0.5, 0.8, count)
    T, along = model.fk(q + 0.1, "tip"), np.cross(axis, (0.48, 0.6, 0.64))
    ahead = LookAt("tip", T[:3, 3] + 3.0 * T[:3, :3] @ along, axis=along / np.linalg.norm(along))
    asked: list[tuple[Goal, int]] = [(Orient("tip", T[:3, :3]), 1), (ahead, 1), (Reach("tip", T[:3, 3]), 2)]
    for goal, rows in [*asked, (Reach("tip", T), 3), (Reach("tip", T, weight=(1, 1, 1, 0, 0, 0)), 2)]:
        if rows != count:
            with pytest.raises(InvalidValue, match=f"{rows} goal rows and {count} degrees of freedom"):
                poise.Solver(model, goal, method="inverse")
            continue
        found = poise.solve(model, goal, q, method="inverse", restarts=0)
        assert found.reached
        assert found.steps <= 8
        if isinstance(goal, Reach) and goal.with_rotation:
            assert poise.solve_batch(model, goal, T[None], q, method="inverse").reached.all()


def test_two_numbers_are_two_rows_in_every_loop() -> None:
    model, start = poise.load("planar2"), np.array([0.3, 0.6])
    places = model.fk(np.random.default_rng(2).uniform(0.4, 1.2, (6, 2)), "tip")[:, :2, 3]
    assert poise.solve(model, Reach("tip", (1, 1)), method="inverse").reached
    assert poise.solve_batch(model, Reach("tip", places[0]), places, start, method="inverse").reached.all()
    assert not race(model, methods="inverse", problems=3).racers[0].refused
    for place in places:  # np.linalg.solve takes square matrices only
        assert textbook.basic_ik(model, start, "tip", place, step=np.linalg.solve).errors[-1] < 1e-6
    with pytest.raises(ShapeMismatch, match=r"goal has shape \(4,\)"):
        textbook.basic_ik(model, start, "tip", (1, 2, 3, 4))


# -------------------------------------------------- Goals as a hunt found them broken: each case small, judged in NumPy


TIP = "panda_hand_tcp"


def build_slider() -> poise.Model:
    """A mass on a rail along x."""
    builder = poise.ModelBuilder("slider")
    builder.add_joint("rail", None, "prismatic", axis=(1, 0, 0), lower=-2, upper=2, mass=1.0)
    return builder.add_frame("ground", None).build()


@pytest.mark.parametrize("thin", [0.0, 1e-9, 1e-7, 1e-4, 0.3])
@pytest.mark.parametrize("margin", [0.0, 1e-5])
@pytest.mark.parametrize("x", [-0.7, 0.4, 1.2, 1.9])
def test_balance_is_judged_by_the_distance_from_the_supports(thin: float, margin: float, x: float) -> None:
    model = build_slider()
    feet = [("ground", (0, 0, 0)), ("ground", (1, 0, 0)), ("ground", (0.5, thin, 0))]
    solution = poise.solve(model, Balance(feet, margin=margin), [x], max_steps=1)
    at = float(model.center_of_mass(solution.q)[0])
    outside = max(-at, at - 1.0, 0.0)  # of the corners at 0 and 1, along the rail
    assert solution.errors["balance"][0] >= outside - 1e-12
    if margin == 0.0:
        assert solution.errors["balance"][0] == pytest.approx(outside, abs=1e-9)
    assert not solution.reached or outside <= 1e-4


def test_a_needle_of_a_foot_holds_the_body() -> None:
    model = poise.load("humanoid")
    rng = np.random.default_rng(0)
    goal, reached = Balance(["foot_l"]), 0
    for _ in range(12):
        T = np.array(model.fk(model.rest, "foot_l"))
        a = 0.02 * rng.normal()
        T[:3, :3] = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]) @ T[:3, :3]
        start = model.clamp(model.integrate(model.rest, 0.2 * rng.normal(size=model.nv)))
        solution = poise.solve(model, [Reach("foot_l", T), goal], start)
        if not solution.reached:
            continue
        reached += 1
        frames = [(model.fk(solution.q, frame), point) for frame, point in goal.contacts(model)]
        places = np.array([T[:3, :3] @ p + T[:3, 3] for T, p in frames])[:, [2, 0]]
        center = np.asarray(model.center_of_mass(solution.q))[[2, 0]]
        # no farther than the farthest contact from their middle, and the tolerance
        middle = places.mean(axis=0)
        assert np.linalg.norm(center - middle) <= np.linalg.norm(places - middle, axis=1).max() + 1.1e-4
    assert reached >= 10


GOALS: dict[str, Callable[[Any], Goal]] = {
    "plane": lambda p: OnPlane(TIP, p, "z"),
    "line": lambda p: OnLine(TIP, p, (1, 2, 3)),
    "ball": lambda p: Inside(TIP, Ball(p, 0.01)),
}


@pytest.mark.parametrize("name", GOALS)
def test_sdls_does_not_depend_on_what_was_solved_before(name: str) -> None:
    model = poise.load("panda")
    for seed in range(20):
        target = model.fk(model.random(np.random.default_rng(seed)), TIP)[:3, 3]
        solver = poise.Solver(
            model, GOALS[name](target), method="sdls", limit_handling="penalty", mode="repeatable", restarts=0
        )
        np.testing.assert_array_equal(solver.solve().q, solver.solve().q)
