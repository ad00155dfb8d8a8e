"""Goals as a hunt found them broken: each case small, judged in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise.goals import Balance, Ball, Goal, Inside, OnLine, OnPlane, Reach

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
