"""Why goals were missed: one test for each kind of failure, its numbers right, and what it says helps does help."""

import math

import numpy as np
import pytest

import poise
from bodies import build_hinge, build_two_links
from poise import Status
from poise.diagnosis import CauseKind, WayOut, WayOutKind
from poise.diagnosis.sentences import say_ways_out
from poise.goals import Reach, Rest
from poise.limits import Acceleration, Speed
from why_cases import find, kinds

TIP = "panda_hand_tcp"
CORNERED = Reach("hand", (1.2 * math.cos(1.5), -1.2 * math.sin(1.5), 0.0))  # reached the other way round


def test_reached(panda: poise.Model) -> None:
    why = poise.solve(panda, Reach(TIP, (0.4, 0.2, 0.5))).why()
    assert why.startswith("Every goal is reached")
    assert TIP in why


def test_out_of_reach(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5)))
    cause, way = find(solution, CauseKind.PROVED), find(solution, WayOutKind.MOVE_TARGET)
    assert cause.goals == way.goals == (TIP,)
    assert cause.vector == pytest.approx((0, 0, 0.333))
    assert cause.numbers["distance"] == pytest.approx(1.424, abs=1e-3)
    assert cause.numbers["farthest"] == pytest.approx(0.9474, abs=1e-4)
    assert way.numbers["metres"] == cause.numbers["excess"] == pytest.approx(0.477, abs=1e-3)
    assert not cause.numbers["limited"]
    # and doing so helps
    target, center = np.array([1.4, 0.2, 0.5]), np.array(cause.vector)
    nearer = center + (target - center) * (1.0 - (way.numbers["metres"] + 1e-6) / cause.numbers["distance"])
    assert poise.solve(panda, Reach(TIP, nearer)).reached


def test_too_close() -> None:
    model = build_two_links(elbow=(0, 2.0))
    solution = poise.solve(model, Reach("hand", (0.2, 0, 0)), [0.3, 0.5])
    assert solution.status is Status.UNREACHABLE
    cause, way = find(solution, CauseKind.PROVED), find(solution, WayOutKind.WITHOUT_RANGE)
    assert cause.numbers["nearest"] == pytest.approx(2 * math.cos(1.0))
    assert cause.numbers["distance"] < cause.numbers["nearest"]
    assert cause.numbers["limited"]
    assert [(limit.joint, limit.side) for limit in way.limits] == [("elbow", "upper")]
    assert way.tried


def test_rotation_out_of_reach(panda: poise.Model) -> None:
    T = panda.fk(panda.rest, TIP)
    T[:3, 3] = (0.84, 0, 0.333)
    solution = poise.solve(panda, Reach(TIP, T))
    assert find(solution, CauseKind.PROVED).numbers["pivot"]
    assert find(solution, WayOutKind.POSITION_ALONE).goals == (TIP,)


def test_two_targets_too_far_apart() -> None:
    model = poise.load("humanoid")
    solution = poise.solve(model, [Reach("hand_l", (0, 3, 1)), Reach("hand_r", (0, -3, 1))])
    cause, first = find(solution, CauseKind.PROVED), solution.explanation.ways_out[0]
    assert cause.goals == first.goals == ("hand_l", "hand_r")
    assert cause.numbers["distance"] == pytest.approx(6)
    assert cause.numbers["farthest"] == pytest.approx(1.668, abs=1e-3)
    assert first.kind is WayOutKind.MOVE_TARGET
    assert first.numbers["metres"] == pytest.approx(4.332, abs=1e-3)
    assert find(solution, WayOutKind.WITHOUT_GOAL).goals == ("hand_l",)


def test_a_target_in_millimetres_is_questioned(panda: poise.Model) -> None:
    asked = "Lengths are in metres: were millimetres meant?"
    assert asked in poise.solve(panda, Reach(TIP, (400, 200, 300))).why()
    assert asked not in poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5))).why()


def test_a_limit_binds() -> None:
    model = build_two_links((-0.5, 0.5))
    wanted = np.array([0.8, 0.4])
    target = model.fk(wanted, "hand")[:3, 3]
    solution = poise.solve(model, Reach("hand", target))
    assert solution.status is Status.STALLED
    assert [(limit.joint, limit.side) for limit in solution.active_limits] == [("shoulder", "upper")]
    cause, first = find(solution, CauseKind.LIMITS), solution.explanation.ways_out[0]
    assert cause.limits == first.limits == solution.active_limits
    assert cause.limits[0].value == 0.5
    assert first.kind is WayOutKind.WITHOUT_RANGE
    assert first.numbers["value"] == pytest.approx(wanted[0], abs=1e-3)


def test_goals_in_conflict(panda: poise.Model) -> None:
    """The hand's place goes with the elbow's; the hand's rotation goes with its place, and needs another elbow."""
    q, other = panda.random(np.random.default_rng(0), 2)
    place, elbow = (panda.fk(q, frame)[:3, 3] for frame in (TIP, "panda_link4"))
    turned = poise.solve(panda, Reach(TIP, place, tolerance=1e-9), other)
    assert turned.reached
    assert np.linalg.norm(panda.fk(turned.q, "panda_link4")[:3, 3] - elbow) > 0.01
    goals = [Reach(TIP, panda.fk(turned.q, TIP)), Reach("panda_link4", elbow)]
    solution = poise.solve(panda, goals)
    assert solution.status is Status.STALLED
    assert find(solution, CauseKind.CONFLICT).goals == (TIP, "panda_link4")
    first, second = solution.explanation.ways_out[:2]
    assert (first.kind, first.goals) == (WayOutKind.POSITION_ALONE, (TIP,))
    assert second.kind is WayOutKind.WITHOUT_GOAL
    for goal in goals:
        assert poise.solve(panda, goal).reached


def test_local_minimum_and_lost_direction() -> None:
    model = poise.load("planar3")
    solution = poise.solve(model, Reach("tip", (1, 0, 0.3)))
    assert solution.status is Status.STALLED
    cause, lost = find(solution, CauseKind.LOCAL_MINIMUM), find(solution, CauseKind.NEVER_MOVES)
    assert (cause.goals, cause.motion) == (lost.goals, lost.motion) == (("tip",), "move")
    assert cause.vector == pytest.approx((0, 0, 1), abs=1e-6)
    assert np.abs(lost.vector) == pytest.approx((0, 0, 1), abs=1e-6)
    assert solution.conditioning.never


def test_out_of_time(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (0.1, 0.6, 0.7)), time_limit=1e-9)
    assert solution.status is Status.OUT_OF_TIME
    assert kinds(solution) == [CauseKind.OUT_OF_TIME, WayOutKind.MORE_TIME, WayOutKind.TOLERANCE]


def test_out_of_steps() -> None:
    model = poise.load("panda")
    T = model.fk(model.random(np.random.default_rng(5)), TIP)
    solution = poise.solve(model, Reach(TIP, T), max_steps=1, restarts=0, method=poise.methods.LM(stall_steps=50))
    assert solution.status is Status.OUT_OF_STEPS
    cause = find(solution, CauseKind.OUT_OF_STEPS)
    assert cause.numbers == {"steps": 1.0, "searches": 1.0, "max_steps": 1.0}
    assert find(solution, WayOutKind.MORE_STEPS).numbers["max_steps"] > 1


def test_joints_that_may_not_move(panda: poise.Model) -> None:
    start = np.array(panda.rest)
    start[3] = 0.5  # outside its range
    solution = poise.solve(panda, Reach(TIP, (0.6, 0.3, 0.5)), start, joints=["panda_joint1"])
    assert find(solution, WayOutKind.ALL_JOINTS).tried
    assert [limit.name for limit in find(solution, CauseKind.EXEMPT).limits] == ["panda_joint4"]


def test_continuous_mode_says_when_to_call_again(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (0.1, 0.6, 0.7)), mode="continuous", step_limit=0.05)
    assert not solution.reached
    assert find(solution, CauseKind.ON_ITS_WAY).numbers == {"span": 0.05}


def test_what_is_left_is_the_tolerance_that_would_accept_it(panda: poise.Model) -> None:
    solution = poise.solve(panda, Reach(TIP, (1.4, 0.2, 0.5)))
    (miss,) = solution.explanation.missed
    assert find(solution, WayOutKind.TOLERANCE).goals == (miss.goal,) == (TIP,)
    assert miss.accepted[0] == pytest.approx(0.477, abs=1e-3)
    loose = Reach(TIP, (1.4, 0.2, 0.5), tolerance=miss.accepted[0] * (1 + 1e-9))
    assert poise.solve(panda, loose, solution.q).reached


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


@pytest.mark.parametrize("angle", np.linspace(-2.9, 2.9, 9))
def test_a_limit_without_a_pull_holds_nothing_back(angle: float) -> None:
    """A stretched arm: the elbow stands at its limit, and the pull on it is rounding."""
    solution = poise.solve(
        build_two_links(elbow=(0, 1.0)), Reach("hand", (3.0 * math.cos(angle), 3.0 * math.sin(angle), 0.0))
    )
    assert [limit.joint for limit in solution.active_limits] == ["elbow"]
    assert solution.active_limits[0].multiplier == 0.0
    assert "Restricted by limits" not in solution.why()


# ------------------------------------------------ Former errors of why(): each claim is checked by following its advice


def build_two_arms() -> poise.Model:
    builder = poise.ModelBuilder("two arms")
    for name in ("a", "b"):
        builder.add_joint(name, None, "revolute", lower=-2, upper=2)
        builder.add_frame(f"hand_{name}", name, (1, 0, 0))
    return builder.build()


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.0, 2.0)])
def test_joints_that_move_no_goal(start: tuple[float, float]) -> None:
    solution = poise.solve(build_two_arms(), Reach("hand_a", (0, 1, 0)), start, joints=["b"])
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
    model, goal = build_two_links((-2.5, 2.5), (0.0, 2.5), rest=(2.4, 1.0)), CORNERED
    solver = poise.Solver(model, goal, mode="continuous")
    first, last = solver.solve(model.rest), solver.solve([2.5, 2.5])  # folded up
    assert kinds(first)[0] is CauseKind.ON_ITS_WAY
    assert kinds(last)[0] is CauseKind.BRANCH_ENDS
    for one in (first, last):
        assert [way.kind for way in one.explanation.ways_out] == [WayOutKind.FRESH_SOLVE, WayOutKind.TOLERANCE]
    assert poise.solve(model, goal, last.q).reached


def test_continuous_mode_names_the_mode_of_its_trials() -> None:
    model = build_hinge(-1, 0.5)
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
    model, goal = build_two_links((-2.5, 2.5), (0.0, 2.5), rest=(2.4, 1.0)), CORNERED
    solver, q = poise.Solver(model, goal, limits=[Speed(2.0)]), np.array(model.rest)
    for _ in range(200):
        q = solver.step(q, 0.05).q
    last = solver.step(q, 0.05)
    assert kinds(last)[:2] == [CauseKind.BRANCH_ENDS, CauseKind.LIMITS]
    assert [way.kind for way in last.explanation.ways_out] == [WayOutKind.FRESH_SOLVE, WayOutKind.TOLERANCE]
    assert poise.solve(model, goal, q).reached


def test_a_stretched_arm_leaves_the_line_to_its_target() -> None:
    """A saddle next to the end of a range: in the corner of a window one joint has to be let go."""
    model, goal = build_two_links((0.0, 2.0), rest=(0.0, 1.0)), Reach("hand", (1.2, 0.0, 0.0))
    solver, q = poise.Solver(model, goal, limits=[Speed(2.0)]), np.zeros(2)
    assert kinds(solver.step(q, 0.05))[0] is CauseKind.ON_ITS_WAY
    for _ in range(60):
        q = solver.step(q, 0.05).q
    assert solver.step(q, 0.05).reached


def test_the_value_of_a_freed_joint_is_reported_exactly() -> None:
    model = build_hinge(-2.0, 0.3)
    solution = poise.solve(model, Reach("hand", (0, 1, 0)), [0.0])
    (limit,) = solution.active_limits
    freed = WayOut(WayOutKind.WITHOUT_RANGE, limits=(limit,), numbers={"value": 3.64}, tried=True)
    (sentence,) = say_ways_out(solution, [freed])
    assert sentence.text.endswith(" (it would go to 3.64 rad (209 deg)).")  # -2.64 is out of range


def test_a_limit_that_the_freed_pose_keeps_is_not_blamed() -> None:
    model = poise.load("panda")
    T = np.array(model.fk(model.rest, TIP))
    T[:3, 3] = (-0.6, 0.0, 0.1)
    solution = poise.solve(model, Reach(TIP, T), restarts=0, mode="repeatable")
    assert any(limit.multiplier > 0 for limit in solution.active_limits)
    assert [way.kind for way in solution.explanation.ways_out if way.tried] == [WayOutKind.MORE_SEARCHES]
