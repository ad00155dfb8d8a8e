"""Former errors of why(): each claim is checked by following its advice."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise.diagnosis import CauseKind, WayOut, WayOutKind
from poise.diagnosis.sentences import say_ways_out
from poise.goals import Reach
from poise.limits import Acceleration, Speed
from why_cases import find, kinds

TIP = "panda_hand_tcp"


def two_arms() -> poise.Model:
    builder = poise.ModelBuilder("two arms")
    for name in ("a", "b"):
        builder.add_joint(name, None, "revolute", lower=-2, upper=2)
        builder.add_frame(f"hand_{name}", name, (1, 0, 0))
    return builder.build()


def arm(lower: float | None = 0.0) -> poise.Model:
    """Two links of 1 m in a plane."""
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "revolute", lower=lower, upper=2.0, rest=0.0)
    builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0), lower=-2.5, upper=2.5, rest=1.0)
    return builder.add_frame("hand", "elbow", (1, 0, 0)).build()


def cornered() -> tuple[poise.Model, Reach]:
    """Two links that fold up at the end of their ranges: the way to the target is the other way round."""
    builder = poise.ModelBuilder("cornered")
    builder.add_joint("shoulder", None, "revolute", lower=-2.5, upper=2.5, rest=2.4)
    builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0), lower=0.0, upper=2.5, rest=1.0)
    model = builder.add_frame("hand", "elbow", (1, 0, 0)).build()
    return model, Reach("hand", (1.2 * math.cos(1.5), -1.2 * math.sin(1.5), 0.0))


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.0, 2.0)])
def test_joints_that_move_no_goal(start: tuple[float, float]) -> None:
    solution = poise.solve(two_arms(), Reach("hand_a", (0, 1, 0)), start, joints=["b"])
    assert find(solution, WayOutKind.ALL_JOINTS).tried
    assert "millimetres" not in solution.why()
    assert all(limit.multiplier == 0.0 for limit in solution.active_limits)
    assert set(solution.multipliers.values()) <= {0.0}
    assert solution.conditioning.singular


def test_position_alone_keeps_the_weights_of_its_axes() -> None:
    model, T = poise.load("planar3"), np.eye(4)
    T[:3, 3] = (1.0, 0.0, 0.5)  # z is never served by a planar arm
    alone = WayOutKind.POSITION_ALONE
    assert not poise.solve(model, Reach("tip", T[:3, 3], weight=(0, 1, 1))).reached
    assert find(poise.solve(model, Reach("tip", T, weight=(0, 1, 1, 1, 1, 1))), alone) is None
    T[:3, 3], T[:3, :3] = (1.0, 0.3, 0.0), np.diag([1.0, -1.0, -1.0])  # a rotation that it cannot take
    assert find(poise.solve(model, Reach("tip", T, weight=(0, 1, 1, 1, 1, 1))), alone).goals == ("tip",)
    assert find(poise.solve(model, Reach("tip", T, weight=(0, 0, 0, 1, 1, 1))), alone) is None


def test_continuous_mode_blames_no_limit_that_a_fresh_solve_keeps() -> None:
    model, goal = cornered()
    solver = poise.Solver(model, goal, mode="continuous")
    first, last = solver.solve(model.rest), solver.solve([2.5, 2.5])  # folded up
    assert kinds(first)[0] is CauseKind.ON_ITS_WAY
    assert kinds(last)[0] is CauseKind.BRANCH_ENDS
    for one in (first, last):
        assert [way.kind for way in one.explanation.ways_out] == [WayOutKind.FRESH_SOLVE, WayOutKind.TOLERANCE]
    assert poise.solve(model, goal, last.q).reached


def test_continuous_mode_names_the_mode_of_its_trials() -> None:
    builder = poise.ModelBuilder("hinge")
    builder.add_joint("hinge", None, "revolute", lower=-1, upper=0.5)
    model = builder.add_frame("hand", "hinge", (1, 0, 0)).build()
    goal = Reach("hand", (math.cos(0.8), math.sin(0.8), 0))
    solution = poise.solve(model, goal, [0.5], mode="continuous")
    assert (
        "in a fresh solve (mode=\"nearest\") it would be reached without the upper limit of 'hinge'" in solution.why()
    )
    assert find(solution, WayOutKind.WITHOUT_RANGE).numbers["value"] == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize("limits", [(), [Speed(0.5)], [Speed(0.5), Acceleration(2.0)], [Speed(0.01)]])
def test_a_step_in_time_is_still_on_its_way(limits: list[poise.limits.Limit]) -> None:
    model = poise.load("panda")
    T = np.array(model.fk(model.rest, TIP))
    T[:3, 3] = (0.3, 0.5, 0.5)
    solution = poise.Solver(model, Reach(TIP, T), limits=limits).step(model.rest, 0.01)
    assert kinds(solution) == [CauseKind.ON_ITS_WAY, WayOutKind.TOLERANCE]
    assert find(solution, CauseKind.ON_ITS_WAY).numbers["dt"] == 0.01


def test_steps_in_time_that_lead_no_further() -> None:
    model, goal = cornered()
    solver, q = poise.Solver(model, goal, limits=[Speed(2.0)]), np.array(model.rest)
    for _ in range(200):
        q = solver.step(q, 0.05).q
    last = solver.step(q, 0.05)
    assert kinds(last)[:2] == [CauseKind.BRANCH_ENDS, CauseKind.LIMITS]
    assert [way.kind for way in last.explanation.ways_out] == [WayOutKind.FRESH_SOLVE, WayOutKind.TOLERANCE]
    assert poise.solve(model, goal, q).reached


def test_a_stretched_arm_leaves_the_line_to_its_target() -> None:
    """A saddle beside the end of a range: in the corner of a window one joint has to be let go."""
    model, goal = arm(), Reach("hand", (1.2, 0.0, 0.0))
    solver, q = poise.Solver(model, goal, limits=[Speed(2.0)]), np.zeros(2)
    assert kinds(solver.step(q, 0.05))[0] is CauseKind.ON_ITS_WAY
    for _ in range(60):
        q = solver.step(q, 0.05).q
    assert solver.step(q, 0.05).reached


def test_the_value_of_a_freed_joint_is_reported_exactly() -> None:
    builder = poise.ModelBuilder("hinge")
    builder.add_joint("hinge", None, "revolute", lower=-2.0, upper=0.3)
    model = builder.add_frame("hand", "hinge", (1, 0, 0)).build()
    solution = poise.solve(model, Reach("hand", (0, 1, 0)), [0.0])
    (limit,) = solution.active_limits
    freed = WayOut(WayOutKind.WITHOUT_RANGE, limits=(limit,), numbers={"value": 3.64}, tried=True)
    (told,) = say_ways_out(solution, [freed])
    assert told.text.endswith(" (it would go to 3.64 rad (209 deg)).")  # -2.64 is out of range


def test_a_limit_that_the_freed_pose_keeps_is_not_blamed() -> None:
    model = poise.load("panda")
    T = np.array(model.fk(model.rest, TIP))
    T[:3, 3] = (-0.6, 0.0, 0.1)
    solution = poise.solve(model, Reach(TIP, T), restarts=0, mode="repeatable")
    assert any(limit.multiplier > 0 for limit in solution.active_limits)
    assert [way.kind for way in solution.explanation.ways_out if way.tried] == [WayOutKind.MORE_SEARCHES]
