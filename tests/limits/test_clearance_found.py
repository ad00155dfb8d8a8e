"""Poses among obstacles: the answer keeps clear, wherever the way to it leads."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from limit_oracle import clearance_gaps
from poise import Status
from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound, ShapeMismatch
from poise.goals import Reach, Rest
from poise.limits import Box, Capsule, Clearance, Cylinder, HalfSpace, Sphere

TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}
ROUNDING = 1e-9  # m


def random_region(rng: np.random.Generator) -> object:
    """A thing of 10 to 40 cm within reach."""
    at, size = rng.uniform((-0.8, -0.8, -0.3), (0.8, 0.8, 1.3)), rng.uniform(0.1, 0.4, 3)
    turn = poise.Rotation.from_vector(rng.normal(size=3))
    end = at + turn.apply((0.0, 0.0, size[1]))
    kinds = (
        Box(at, size, turn),
        Sphere(at, size[0] / 2),
        Capsule(at, end, size[0] / 3),
        Cylinder(at, end, size[0] / 3),
    )
    return kinds[rng.integers(4)]


def make_scene(model: poise.Model, rng: np.random.Generator) -> tuple[Clearance, Floats]:
    """A world of twelve things, and a pose that is clear of them."""
    while True:
        q = model.random(rng)
        world: list[object] = []
        while len(world) < 12:
            region = random_region(rng)
            if Clearance([], 0.0, [region]).measure_gap(model, np.stack([q, model.rest])).min() > 0.01:
                world.append(region)
        if Clearance(world=world).measure_gap(model, q) > 1e-4:
            return Clearance(world=world), q


@pytest.mark.parametrize("name", TIPS)
def test_a_pose_that_is_known_to_be_clear_is_found(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(7)
    for _ in range(10):
        limit, q = make_scene(model, rng)
        solution = poise.solve(model, Reach(TIPS[name], model.fk(q, TIPS[name])), limits=[limit])
        assert solution.reached
        assert min(clearance_gaps(model, limit, solution.q)) >= -ROUNDING


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_the_last_clear_part_of_an_arc_is_found(name: str) -> None:
    """Of all poses of a goal, only those near the one with the widest gap keep the distance."""
    model, tip, rng, tried = poise.load(name), TIPS[name], np.random.default_rng(11), 0
    for _ in range(200):
        if tried == 20:
            break
        scene, q = make_scene(model, rng)
        goal = Reach(tip, model.fk(q, tip))
        widest = Clearance([], 0.0, scene.world).measure_gap(model, poise.solve_all(model, goal, samples=720).q).max()
        if widest < 1e-3:
            continue
        tried += 1
        limit = Clearance([], widest - 3e-5, scene.world)
        solution = poise.solve(model, goal, limits=[limit])
        assert solution.reached
        assert limit.measure_gap(model, solution.q) >= -ROUNDING
    assert tried == 20


@pytest.mark.parametrize("place", [(0.0, 0.0, 9.0), (0.2, -0.2, 0.5)], ids=["out of reach", "in reach"])
def test_a_missed_second_level_costs_the_first_nothing(place: tuple[float, float, float]) -> None:
    """All listed poses of the first level collide; one between them is clear."""
    model, tip, rng = poise.load("panda"), TIPS["panda"], np.random.default_rng(11)
    for _ in range(6):
        scene, q = make_scene(model, rng)
        T = model.fk(q, tip)
        goals = [Reach(tip, T), Reach("panda_link4", place, priority=1)]
        every = poise.solve_all(model, goals[0], samples=720).q
        limit = Clearance([], Clearance([], 0.0, scene.world).measure_gap(model, every).max() - 3e-5, scene.world)
        solution = poise.solve(model, goals, limits=[limit])
        assert not solution.reached
        assert solution.status is not poise.Status.IN_COLLISION
        assert limit.measure_gap(model, solution.q) >= -ROUNDING
        np.testing.assert_allclose(model.fk(solution.q, tip), T, atol=2e-3)


def test_a_body_without_a_closed_form_finds_one_too() -> None:
    model, rng = poise.load("humanoid"), np.random.default_rng(3)
    arm = [
        joint.name for joint in model.joints if joint.name.endswith("_l") and joint.name[:4] in "clav shou elbo wris"
    ]
    limit, found = Clearance([], 0.0, [Box((0.3, 1.22, 0.23), (0.3, 0.02, 0.2))]), 0
    for _ in range(12):
        target = np.array((0.3, 1.12, 0.35)) + rng.uniform(-0.1, 0.1, 3)
        solution = poise.solve(model, Reach("hand_l", target), joints=arm, limits=[limit])
        assert min(clearance_gaps(model, limit, solution.q)) >= -ROUNDING
        found += solution.reached
    assert found >= 10


def test_the_posture_chooses_among_the_clear_branches() -> None:
    model, tip = poise.load("ur5e"), TIPS["ur5e"]
    rng = np.random.default_rng(5)
    for _ in range(5):
        limit, q = make_scene(model, rng)
        goal = Reach(tip, model.fk(q, tip))
        solution = poise.solve(model, [goal, Rest(q)], limits=[limit])
        assert solution.reached
        assert np.abs(model.difference(q, solution.q)).max() < 1e-4


def test_a_start_that_is_clear_and_reaches_stays() -> None:
    model, tip = poise.load("panda"), TIPS["panda"]
    limit, q = make_scene(model, np.random.default_rng(9))
    solution = poise.solve(model, Reach(tip, model.fk(q, tip)), q, limits=[limit])
    np.testing.assert_allclose(solution.q, q, atol=1e-9)


def test_a_target_inside_an_obstacle_is_missed() -> None:
    model, tip = poise.load("ur5e"), TIPS["ur5e"]
    T = model.fk(model.rest, tip)
    solution = poise.solve(model, Reach(tip, T), limits=[Clearance([], 0.0, [Sphere(T[:3, 3], 0.2)])])
    assert solution.status is Status.IN_COLLISION
    assert not solution.reached


@pytest.mark.parametrize("region", ["sphere", "box", "capsule", "cylinder", "half-space"])
def test_gaps_are_those_of_the_oracle(region: str) -> None:
    model, rng = poise.load("panda"), np.random.default_rng(1)
    turn = poise.Rotation.from_vector((0.3, 0.4, 0.5))
    world = {
        "sphere": Sphere((0.4, 0.1, 0.4), 0.1),
        "box": Box((0.4, 0.1, 0.4), (0.1, 0.3, 0.2), turn),
        "capsule": Capsule((0.4, 0.1, 0.4), (0.5, 0.3, 0.2), 0.05),
        "cylinder": Cylinder((0.4, 0.1, 0.4), (0.5, 0.3, 0.2), 0.1),
        "half-space": HalfSpace((0, 0, 0.1), (0.1, 0, 1)),
    }
    limit = Clearance(world=[world[region]])
    q = model.random(rng, 30)
    gaps = limit.measure_gap(model, q)
    np.testing.assert_allclose(gaps, [min(clearance_gaps(model, limit, one)) for one in q], atol=1e-7)
    assert limit.measure_gap(model, q[0]) == gaps[0] == limit.measure_gap(model, poise.Pose(model, q[0]))
    assert limit.measure_gap(model, q.reshape(5, 6, -1)).shape == (5, 6)


def test_gaps_of_what_is_no_configuration_are_refused() -> None:
    model = poise.load("panda")
    with pytest.raises(ShapeMismatch, match="its last axis must be"):
        Clearance().measure_gap(model, np.zeros(3))


@pytest.mark.parametrize("name", ["panda", "humanoid"])
def test_gaps_among_many_things_are_those_of_the_oracle(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(8)
    world = [*(random_region(rng) for _ in range(25)), HalfSpace((0, 0, -0.5), (0.2, 0.1, 1.0))]
    limit, q = Clearance(world=world, distance=0.02), model.random(rng, 10)
    expected = [min(clearance_gaps(model, limit, one)) + limit.distance for one in q]
    np.testing.assert_allclose(limit.measure_gap(model, q), expected, atol=1e-7)


def test_gaps_of_a_body_that_grows() -> None:
    builder = poise.ModelBuilder("balloon")
    builder.add_joint("size", None, "uniform_scale", lower=0.5, upper=4.0)
    builder.add_frame("tip", "size", offset=(0.4, 0.0, 0.0))
    model = builder.add_shape("tip", poise.model.Sphere(0.1)).build()
    limit = Clearance([], 0.0, [Sphere((2.0, 0.0, 0.0), 0.1)])
    q = np.array([[1.0], [2.0], [3.0]])
    expected = 1.8 - model.fk(q, "tip")[:, 0, 3]
    np.testing.assert_allclose(limit.measure_gap(model, q), expected, atol=1e-12)


@pytest.mark.parametrize("name", TIPS)
def test_another_world_gives_the_answers_of_a_new_solver(name: str) -> None:
    model, tip, rng = poise.load(name), TIPS[name], np.random.default_rng(2)
    first, q = make_scene(model, rng)
    solver = poise.Solver(model, Reach(tip, model.fk(q, tip)), limits=[first])
    before = solver.solve()
    for _ in range(3):
        limit, q = make_scene(model, rng)
        T = model.fk(q, tip)
        other = solver.with_world(limit.world)
        found = other.solve(None, {tip: T})
        expected = poise.Solver(model, Reach(tip, np.eye(4)), limits=[limit]).solve(None, {tip: T})
        np.testing.assert_array_equal(found.q, expected.q)
        assert found.status is expected.status
        (kept,) = other.options.limits
        assert isinstance(kept, Clearance)
        assert kept.world == limit.world
    np.testing.assert_array_equal(solver.solve().q, before.q)  # the old one keeps its world


def test_a_world_for_a_limit_that_is_not_there_is_refused() -> None:
    model = poise.load("panda")
    goal = Reach(TIPS["panda"], (0.4, 0.0, 0.4))
    with pytest.raises(InvalidValue, match="needs a Clearance"):
        poise.Solver(model, goal).with_world([Sphere((1, 1, 1), 0.1)])
    two = [Clearance(name="one"), Clearance(name="two", distance=0.01)]
    with pytest.raises(InvalidValue, match="limit="):
        poise.Solver(model, goal, limits=two).with_world([])
    with pytest.raises(NameNotFound, match="three"):
        poise.Solver(model, goal, limits=two).with_world([], limit="three")
    assert len(poise.Solver(model, goal, limits=two).with_world([], limit="two").options.limits) == 2
