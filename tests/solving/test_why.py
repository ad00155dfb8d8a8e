"""why(): one test for each kind of failure. The reason and its numbers are right, and what it says helps does help."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import poise
from poise import Status
from poise.goals import Reach, Rest

TIP = "panda_hand_tcp"


@pytest.fixture(scope="module")
def panda() -> poise.Model:
    return poise.load("panda")


def hinge_arm(upper: float = 1.0) -> poise.Model:
    """Two links of 1 m in a plane; the elbow bends one way, up to `upper`."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute", lower=-3, upper=3)
    builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0), lower=0, upper=upper)
    return builder.add_frame("hand", "elbow", (1, 0, 0)).build()


def test_reached(panda: poise.Model) -> None:
    why = poise.solve(panda, Reach(TIP, (0.4, 0.2, 0.5))).why()
    assert why.startswith("Every goal is reached")
    assert TIP in why


def test_out_of_reach(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5)))
    why = solution.why()
    assert solution.proof is not None
    assert "Proved out of reach: the target is 1.424 m from the point (0, 0, 0.333)" in why
    assert "at most 947.4 mm" in why
    assert "477 mm too far" in why
    assert f"move the target of '{TIP}' at least 477 mm closer" in why
    # and doing so helps
    target = np.array([1.4, 0.2, 0.5])
    center = np.array([0, 0, 0.333])
    nearer = center + (target - center) * (solution.proof.farthest - 1e-6) / solution.proof.distance
    assert poise.solve(panda, Reach(TIP, nearer)).reached


def test_too_close() -> None:
    model = hinge_arm(upper=2.0)
    solution = poise.solve(model, Reach("hand", (0.2, 0, 0)), [0.3, 0.5])
    assert solution.status is Status.UNREACHABLE
    least = 2 * math.cos(1.0)
    assert f"at least {least:.4g} m" in solution.why() or f"at least {1e3 * least:.4g} mm" in solution.why()
    assert "inside the joint limits" in solution.why()
    assert "too close" in solution.why()
    assert "would be reached without the upper limit of 'elbow'" in solution.why()


def test_rotation_out_of_reach(panda: poise.Model) -> None:
    T = panda.fk(panda.rest, TIP)
    T[:3, 3] = (0.84, 0, 0.333)
    why = poise.solve(panda, Reach(TIP, T)).why()
    assert "with this rotation" in why
    assert "would be reached if 'panda_hand_tcp' asked for the position alone" in why


def test_two_targets_too_far_apart() -> None:
    model = poise.load("humanoid")
    why = poise.solve(model, [Reach("hand_l", (0, 3, 1)), Reach("hand_r", (0, -3, 1))]).why()
    assert "the targets of 'hand_l' and 'hand_r' are 6 m apart" in why
    assert "the body between them spans at most 1.668 m" in why
    assert "Relax first: bring the targets of 'hand_l' and 'hand_r' at least 4.33 m closer together" in why
    assert "without the goal 'hand_l'" in why


def test_a_target_in_millimetres_is_asked_about(panda: poise.Model) -> None:
    asked = "Lengths are in metres: were millimetres meant?"
    assert asked in poise.solve(panda, Reach(TIP, (400, 200, 300))).why()
    assert asked not in poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5))).why()


def test_a_limit_binds() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute", lower=-0.5, upper=0.5)
    builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0), lower=-2.5, upper=2.5)
    model = builder.add_frame("hand", "elbow", (1, 0, 0)).build()
    wanted = np.array([0.8, 0.4])
    target = model.fk(wanted, "hand")[:3, 3]
    solution = poise.solve(model, Reach("hand", target))
    assert solution.status is Status.STALLED
    assert [(limit.joint, limit.side) for limit in solution.active_limits] == [("shoulder", "upper")]
    why = solution.why()
    assert re.search(r"Limits hold it back: 'shoulder' is at its upper limit, 0\.5 rad \(28\.6 deg\)", why)
    assert "Relax first: it would be reached without the upper limit of 'shoulder' (it would go to 0.8 rad" in why


def test_goals_in_conflict(panda: poise.Model) -> None:
    rng = np.random.default_rng(0)
    (_, _), (hand, elbow) = panda.random(rng, 2), panda.random(rng, 2)
    goals = [Reach(TIP, panda.fk(hand, TIP)), Reach("panda_link4", panda.fk(elbow, "panda_link4")[:3, 3])]
    solution = poise.solve(panda, goals)
    assert solution.status is Status.STALLED
    why = solution.why()
    assert f"'{TIP}' and 'panda_link4' are in conflict" in why
    assert "Relax first: it would be reached if 'panda_hand_tcp' asked for the position alone" in why
    assert "without the goal" in why
    for goal in goals:
        assert poise.solve(panda, goal).reached


def test_local_minimum_and_singular_direction() -> None:
    model = poise.load("planar3")
    solution = poise.solve(model, Reach("tip", (1, 0, 0.3)))
    why = solution.why()
    assert solution.status is Status.STALLED
    assert "local minimum" in why
    assert "points along (0, 0, 1)" in why
    assert "'tip' cannot move along (0, 0, 1)" in why
    assert solution.conditioning.singular


def test_out_of_time(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (0.1, 0.6, 0.7)), time_limit=1e-9)
    assert solution.status is Status.OUT_OF_TIME
    assert "Time ran out" in solution.why()
    assert "would be reached with more time" in solution.why()


def test_out_of_steps() -> None:
    model = poise.load("panda")
    T = model.fk(model.random(np.random.default_rng(5)), TIP)
    solution = poise.solve(model, Reach(TIP, T), max_steps=1, restarts=0, method=poise.methods.LM(stall_steps=50))
    assert solution.status is Status.OUT_OF_STEPS
    assert "steps ran out" in solution.why()
    assert "would be reached with" in solution.why()


def test_joints_that_may_not_move(panda: poise.Model) -> None:
    start = np.array(panda.rest)
    start[3] = 0.5  # outside its range
    solution = poise.solve(panda, Reach(TIP, (0.6, 0.3, 0.5)), start, joints=["panda_joint1"])
    why = solution.why()
    assert "would be reached if all joints could move" in why
    assert "Outside their range, and not in joints=: 'panda_joint4'" in why


def test_continuous_mode_says_when_to_call_again(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (0.1, 0.6, 0.7)), mode="continuous", step_limit=0.05)
    assert not solution.reached
    assert "One call moves each joint by at most 0.05 rad: call again from this pose" in solution.why()


def test_what_is_left_is_the_tolerance_that_would_accept_it(panda: poise.Model) -> None:
    goal = Reach(TIP, (1.4, 0.2, 0.5))
    solution = poise.solve(panda, goal)
    assert f"accepted with a tolerance of '{TIP}' 477 mm" in solution.why()
    assert poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5), tolerance=0.478)).reached


def test_asking_does_not_disturb_the_solver(panda: poise.Model) -> None:
    solver = poise.Solver(panda, [Reach(TIP, (0.4, 0.2, 0.5)), Rest()])
    first = solver.solve(targets={TIP: np.array([1.4, 0.2, 0.5])})
    why = first.why()
    q = solver.solve().q
    second = solver.solve(targets={TIP: np.array([0.4, 0.2, 0.5])})
    assert second.reached
    assert np.array_equal(solver.solve(targets={TIP: np.array([1.4, 0.2, 0.5])}).q, q)
    assert first.why() == why  # the reason stays that of its own call
    assert first.errors[TIP][0] > 0.4
