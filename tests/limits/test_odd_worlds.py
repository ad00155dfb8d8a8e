"""Worlds that are unusual or wrong: each gives the right answer, or an error that names the argument."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from limit_oracle import clearance_gaps
from poise import Status
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.limits import Box, Capsule, Clearance, Cylinder, HalfSpace, Sphere

TIP = "tool0"
ROUNDING = 1e-9  # m


@pytest.fixture(scope="module")
def arm() -> poise.Model:
    return poise.load("ur5e")


@pytest.fixture(scope="module")
def figure() -> poise.Model:
    return poise.load("humanoid")


def make_goal(arm: poise.Model) -> Reach:
    """A pose of the tool 5 cm from its place at rest."""
    T = arm.fk(arm.rest, TIP).copy()
    T[:3, 3] += T[:3, 0] * 0.05
    return Reach(TIP, T)


def test_a_start_in_collision_leaves_it(arm) -> None:
    limit = Clearance(world=[Sphere(arm.fk(arm.rest, "wrist_1_link")[:3, 3], 0.03)])
    assert limit.measure_gap(arm, arm.rest) < 0.0
    solution = poise.solve(arm, make_goal(arm), limits=[limit])
    assert solution.status in (Status.REACHED, Status.IN_COLLISION)
    assert solution.reached == (limit.measure_gap(arm, solution.q) >= -ROUNDING)


def test_a_start_in_many_collisions_gets_deeper_in_none(figure) -> None:
    """More of them than the limits that one step considers."""
    rng, place = np.random.default_rng(4), figure.fk(figure.rest, "hand_l")[:3, 3]
    centers = place - np.array((0.04, 0.03, 0.0)) + 0.01 * rng.normal(size=(80, 3))
    limit = Clearance([], 0.01, [Sphere(center, 0.06) for center in centers])
    start = gaps = clearance_gaps(figure, limit, figure.rest)
    assert (gaps < 0.0).sum() > 60
    goal = Reach("hand_l", place + np.array((0.3, 0.2, 0.1)))
    solution = poise.solve(figure, goal, limits=[limit], record=True, restarts=0, mode="continuous")
    assert solution.history is not None
    for q in solution.history.q:
        before, gaps = gaps, clearance_gaps(figure, limit, q)
        assert (gaps >= np.minimum(before, 0.0) - ROUNDING).all()
    assert gaps.min() > 0.5 * start.min()


def test_a_world_that_contains_the_body_is_in_collision(arm) -> None:
    for size in (0.3, 5.0):  # the base, and everything
        solution = poise.solve(
            arm, make_goal(arm), limits=[Clearance(world=[Box((0, 0, 0), [size] * 3, name="crate")])]
        )
        assert solution.status is Status.IN_COLLISION
        assert solution.explanation.causes[0].limits[0].between[1] == "crate"


def test_obstacles_may_overlap(arm) -> None:
    world = [Box((1, 1, 1), (0.3, 0.3, 0.3)), Box((1, 1, 1), (0.3, 0.3, 0.3)), Sphere((1, 1, 1), 0.2)]
    solution = poise.solve(arm, make_goal(arm), limits=[Clearance(world=world)])
    assert solution.reached
    assert Clearance(world=world).measure_gap(arm, solution.q) == Clearance(world=world[1:]).measure_gap(
        arm, solution.q
    )


def test_ten_thousand_obstacles(arm) -> None:
    at = np.random.default_rng(0).uniform(-3.0, 3.0, (10_000, 3))
    at = at[np.linalg.norm(at, axis=1) > 0.9]
    limit = Clearance([], world=[Sphere(center, 0.01) for center in at])
    solution = poise.solve(arm, make_goal(arm), limits=[limit])
    near = at[np.argsort(np.linalg.norm(at, axis=1))[:100]]
    few = Clearance([], world=[Sphere(center, 0.01) for center in near])
    assert solution.reached
    assert limit.measure_gap(arm, solution.q) == pytest.approx(min(clearance_gaps(arm, few, solution.q)), abs=1e-9)


@pytest.mark.parametrize(
    "region",
    [
        Sphere((0.4, 0.1, 0.4), 0.0),
        Box((0.4, 0.1, 0.4), (0.0, 0.0, 0.0)),
        Box((0.4, 0.1, 0.4), (0.0, 0.2, 0.2)),
        Capsule((0.4, 0.1, 0.4), (0.4, 0.1, 0.4), 0.0),
        Cylinder((0.4, 0.1, 0.4), (0.4, 0.3, 0.4), 0.0),
    ],
)
def test_regions_without_size_are_points_and_lines(arm, region) -> None:
    limit, q = Clearance([], 0.0, [region]), arm.random(np.random.default_rng(3), 5)
    expected = [min(clearance_gaps(arm, limit, one)) for one in q]
    np.testing.assert_allclose(limit.measure_gap(arm, q), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Sphere((0, 0, np.nan), 0.1), "Sphere: center"),
        (lambda: Sphere((0, 0, 0), -0.1), "Sphere: radius"),
        (lambda: Box((0, 0, 0), (0.1, np.inf, 0.1)), "Box: size"),
        (lambda: HalfSpace((0, 0, 0), (0, 0, 0)), "HalfSpace: normal"),
        (lambda: Clearance(world=[None]), "Clearance: world"),
    ],
)
def test_wrong_numbers_are_refused_by_name(make, words) -> None:
    with pytest.raises(InvalidValue, match=words):
        make()
