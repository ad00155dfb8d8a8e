"""Several answers: distinct, nearest first, each reached and inside its limits; whole turns count once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise.batch import BatchSolver
from poise.errors import InvalidValue
from poise.goals import Custom, Goal, LookAt, Orient, Range, Reach, Rest
from poise.limits import Clearance, Coupled
from poise.methods import DLS
from poise.reach.distinct import TURN, DistinctAnswers, Measure, find_periods

MODEL = poise.load("panda")
TOOL = MODEL.frames[-1]
RNG = np.random.default_rng(5)
POSES = MODEL.random(RNG, 6)
TARGETS = MODEL.fk(POSES, TOOL)
AHEAD = MODEL.fk(POSES, "panda_link5")[:, :3] @ (0.0, 0.0, 0.5, 1.0)  # points that link 5 looks at in these poses
START = MODEL.random(RNG)

Problem = tuple[list[Goal], dict[str, Any]]
PROBLEMS: dict[str, Callable[[Any, Any], Problem]] = {
    "a transform": lambda T, _: ([Reach(TOOL, T)], {}),
    "a posture": lambda T, _: ([Reach(TOOL, T), Rest()], {}),
    "priorities": lambda T, _: ([Reach(TOOL, T[:3, 3], name="place"), Orient(TOOL, T[:3, :3], priority=1)], {}),
    "a coupled range": lambda T, _: (
        [Reach(TOOL, T[:3, 3])],
        {"limits": [Coupled({"panda_joint1": 1.0, "panda_joint3": 1.0}, -1.5, 1.5)]},
    ),
    "a clearance": lambda T, _: ([Reach(TOOL, T[:3, 3])], {"limits": [Clearance(distance=0.01)]}),
    "a range": lambda T, _: ([Reach(TOOL, (T[0, 3], T[1, 3], Range(T[2, 3] - 0.05, T[2, 3] + 0.05)))], {}),
    "a look": lambda T, x: ([Reach(TOOL, T[:3, 3], name="place"), LookAt("panda_link5", x, weight=0.01)], {}),
    "dls": lambda T, _: ([Reach(TOOL, T[:3, 3])], {"method": DLS(damping=0.05), "max_steps": 300}),
    "some joints": lambda T, _: ([Reach(TOOL, T[:3, 3])], {"joints": [f"panda_joint{k}" for k in (1, 2, 3, 4, 6)]}),
    "repeatable": lambda T, _: ([Reach(TOOL, T[:3, 3])], {"mode": "repeatable"}),
}


def measure_apart(a: Any, b: Any) -> Any:
    return np.abs(np.asarray(a) - np.asarray(b)).max(axis=-1)


@pytest.mark.parametrize("name", PROBLEMS)
def test_answers_are_distinct_reached_and_nearest_first(name: str) -> None:
    several = 0
    for T, ahead in zip(TARGETS[:3], AHEAD[:3], strict=True):
        goals, options = PROBLEMS[name](T, ahead)
        answers = poise.solve(MODEL, goals, START, solutions=4, **options)
        assert 1 <= len(answers) <= 4
        assert all(answer.reached for answer in answers) or len(answers) == 1
        several += len(answers) > 1
        start = MODEL.rest if name == "repeatable" else START
        far = [measure_apart(answer.q, start) for answer in answers]
        assert (np.diff(far) >= 0).all()
        for i, one in enumerate(answers):
            assert (one.q >= MODEL.lower).all()
            assert (one.q <= MODEL.upper).all()
            assert all(measure_apart(one.q, other.q) > 0.1 for other in answers[:i])
        if name == "some joints":
            still = [MODEL.joint(f"panda_joint{k}").q.start for k in (5, 7)]
            assert all((answer.q[still] == START[still]).all() for answer in answers)
        if name == "a coupled range":
            sums = np.array([answer.q[0] + answer.q[2] for answer in answers])
            assert (np.abs(sums) <= 1.5 + 1e-9).all()
    assert several >= 1, "it never found a second answer"


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "some joints"])
def test_a_batch_answers_as_single_solves_do(name: str) -> None:
    goals, options = PROBLEMS[name](TARGETS[0], AHEAD[0])
    batch = poise.solve_batch(MODEL, goals, list_targets(goals, 2), START, solutions=3, **options)
    assert batch.q.shape == (2, 3, 7)
    for row in range(2):
        single = poise.solve(MODEL, PROBLEMS[name](TARGETS[row], AHEAD[row])[0], START, solutions=3, **options)
        found = batch.q[row][batch.reached[row]]
        reached = [answer for answer in single if answer.reached]
        assert len(found) == len(reached)
        if name not in ("a transform", "repeatable"):  # in lanes a search ends elsewhere by rounding
            # rounding grows over the steps of a search; another answer would be 0.1 away
            assert all(measure_apart(a, b.q) < 1e-6 for a, b in zip(found, reached, strict=True))
        assert np.isnan(batch.q[row][~batch.reached[row]]).all() or not batch.reached[row].any()


def list_targets(goals: list[Goal], rows: int) -> dict[str, Any]:
    """The goals' targets, row by row."""
    T = TARGETS[:rows]
    name = goals[0].name or TOOL
    goal: Any = goals[0]
    if goal.ranged:
        return {name: [(t[0, 3], t[1, 3], Range(t[2, 3] - 0.05, t[2, 3] + 0.05)) for t in T]}
    out = {name: T if goal.with_rotation else T[:, :3, 3]}
    turns = {TOOL: T[:, :3, :3]} if any(isinstance(goal, Orient) for goal in goals) else {}
    looks = {"panda_link5": AHEAD[:rows]} if any(isinstance(goal, LookAt) for goal in goals) else {}
    return {**out, **turns, **looks}


def test_a_floating_body_and_ball_joints() -> None:
    model = poise.load("tree30")
    frame = model.frames[-1]
    answers = poise.solve(model, [Reach(frame, (0.3, 0.2, 0.6)), Rest()], solutions=3)
    assert all(answer.reached for answer in answers)
    q = np.array([answer.q for answer in answers])
    assert np.isfinite(q).all()


def test_unreachable_goals_have_one_answer_with_the_reason() -> None:
    for goals in ([Reach(TOOL, (3.0, 0.0, 0.0))], [Reach(TOOL, (3.0, 0.0, 0.0)), Rest()]):
        answers = poise.solve(MODEL, goals, solutions=4)
        assert len(answers) == 1
        assert not answers[0].reached
        assert "3" in answers[0].why() or "reach" in answers[0].why()
        batch = poise.solve_batch(MODEL, goals, np.array([[3.0, 0.0, 0.0], [np.nan, 0, 0]]), solutions=3)
        assert not batch.reached.any()
        assert np.isfinite(batch.q[0, 0]).all()
        assert np.isnan(batch.q[0, 1:]).all()
        assert batch.status[1, 0] is poise.Status.INVALID


def test_a_number_of_solutions_gives_a_list() -> None:
    near = MODEL.rest + np.random.default_rng(6).uniform(-0.2, 0.2, MODEL.nq)
    goal = Reach(TOOL, MODEL.fk(near, TOOL))
    alone = poise.solve(MODEL, goal)
    assert isinstance(alone, poise.Solution)
    assert len(poise.solve(MODEL, goal, solutions=2)) == 2
    for wrong in (0, -1, 2.5, "three", True):
        with pytest.raises(InvalidValue, match="solutions is"):
            poise.solve(MODEL, goal, solutions=wrong)  # type: ignore[call-overload]


@pytest.mark.parametrize("options", [{}, {"mode": "continuous"}, {"method": "sequential"}])
def test_one_answer_is_that_of_a_plain_solve(options: dict[str, Any]) -> None:
    """Also after a miss, from where a longer list goes on at branches, and a plain solve at seeds."""
    missed = 0
    for T in MODEL.fk(MODEL.random(np.random.default_rng(8), 12), TOOL):
        alone = poise.solve(MODEL, Reach(TOOL, T), **options)
        (only,) = poise.solve(MODEL, Reach(TOOL, T), solutions=1, **options)
        np.testing.assert_array_equal(only.q, alone.q)
        assert (only.status, only.steps, only.searches) == (alone.status, alone.steps, alone.searches)
        missed += alone.searches > 1
    assert missed or options


def test_modes_and_methods_with_one_answer_are_rejected() -> None:
    goal = Reach(TOOL, TARGETS[0][:3, 3])
    for call in (poise.solve, lambda *a, **k: BatchSolver(a[0], a[1], **k)):
        with pytest.raises(InvalidValue, match="mode='continuous' follows one"):
            call(MODEL, goal, mode="continuous", solutions=2)
        with pytest.raises(InvalidValue, match="'sequential' lacks"):
            call(MODEL, goal, method="sequential", solutions=2)
    own = Custom(lambda q: q[:1] - POSES[0, 0], size=1)
    assert all(answer.reached for answer in poise.solve(MODEL, [goal, own], solutions=2))


# ----------------------------------------------- Whole turns of a joint are one answer in every list, unless turns=True


PLANAR = poise.load("planar2")
TIP = Reach("tip", (1.0, 0.8))


def count_alike(q: Any, model: poise.Model) -> int:
    """The pairs of poses that are the same, whole turns aside."""
    q, period = np.asarray(q), find_periods(model)
    d = np.array(model.difference(q[:, None] + 0 * q[None], q[None] + 0 * q[:, None]))
    whole = np.where(period > 0, period, 1.0)
    d = np.where(period > 0, d - whole * np.round(d / whole), d)
    return int((np.abs(d).max(axis=-1) < 0.1)[np.triu_indices(len(q), 1)].sum())


def make_arm(kinds: str, **options: Any) -> poise.Model:
    """An arm with hinges of several turns, or without limits."""
    builder, parent = poise.ModelBuilder("arm"), None
    for k, kind in enumerate(kinds):
        ends = {} if kind == "c" else {"lower": -3.5 * np.pi, "upper": 3.5 * np.pi}
        axis = (0, 0, 1) if k % 2 == 0 else (0, 1, 0)
        name = {"c": "continuous", "r": "revolute"}[kind]
        builder.add_joint(f"j{k}", parent, name, axis=axis, offset=(0.0, 0.0, 0.1 + 0.3 * (k > 0)), **ends, **options)
        parent = f"j{k}"
    return builder.add_frame("tip", parent, (0.2, 0.1, 0.3)).build()


@pytest.mark.parametrize("start", [None, (9.0, -20.0), (0.0, 7.0)])
def test_the_two_link_arm_has_two_answers(start: Any) -> None:
    answers = poise.solve(PLANAR, TIP, start, solutions=8)
    assert len(answers) == 2
    assert np.sin(0.5 * (answers[0].q[1] + answers[1].q[1])) == pytest.approx(0.0, abs=1e-2)
    batch = poise.solve_batch(PLANAR, TIP, np.array([[1.0, 0.8], [0.3, -1.2]]), start, solutions=8)
    assert batch.reached.sum(axis=1).tolist() == [2, 2]


@pytest.mark.parametrize("kinds", ["rrr", "ccc", "crcr", "rcrcr"])
@pytest.mark.parametrize("goal", ["position", "posture", "priority"])
def test_no_list_has_an_answer_twice(kinds: str, goal: str) -> None:
    model = make_arm(kinds)
    rng = np.random.default_rng(4)
    for q, start in zip(rng.uniform(-1.5, 1.5, (3, model.nv)), rng.uniform(-8.0, 8.0, (3, model.nv)), strict=True):
        T = model.fk(q, "tip")
        goals: list[Any] = [Reach("tip", T[:3, 3], name="place")]
        goals += {"position": [], "posture": [Rest()], "priority": [Orient("tip", T[:3, :3], priority=1)]}[goal]
        found = [answer.q for answer in poise.solve(model, goals, start, solutions=6) if answer.reached]
        assert count_alike(found, model) == 0
        batch = poise.solve_batch(model, goals, {"place": T[None, :3, 3]}, start, solutions=6)
        assert count_alike(batch.q[0][batch.reached[0]], model) == 0
        assert len(found) > 0


@pytest.mark.parametrize("name", ["ur5e", "panda", "iiwa14"])
def test_lists_of_a_closed_form_have_no_answer_twice(name: str) -> None:
    model = poise.load(name)
    frame, rng = model.frames[-1], np.random.default_rng(8)
    q, starts = model.random(rng, 6), model.random(rng, 6)
    T = model.fk(q, frame)
    batch = poise.solve_batch(model, Reach(frame, T[0]), T, starts, solutions=32)
    for row in range(len(T)):
        listed = poise.solve(model, Reach(frame, T[row]), starts[row], solutions=32)
        assert count_alike([answer.q for answer in listed], model) == 0
        assert count_alike(batch.q[row][batch.reached[row]], model) == 0


@pytest.mark.parametrize("order", [("near", "far"), ("far", "near")])
def test_of_poses_that_are_whole_turns_apart_the_nearest_to_the_start_is_kept(order: tuple[str, str]) -> None:
    poses = {"near": np.array([0.4, 1.0]), "far": np.array([0.4 + TURN, 1.0 - TURN])}
    answers: DistinctAnswers[str] = DistinctAnswers(Measure(PLANAR), np.zeros(2))
    for name in order:
        answers.add(poses[name], name)
    assert answers.sort() == ["near"]


def test_the_nearest_turn_is_kept_and_no_answer_is_lost() -> None:
    model = make_arm("rr")
    q = np.array([0.4, 1.0])
    for start in ((6.0, 6.5), (-6.0, 1.0), (0.0, -7.0)):
        answers = poise.solve(model, Reach("tip", model.fk(q, "tip")[:3, 3]), start, solutions=8)
        ways = [np.abs(answer.q - start).max() for answer in answers]
        assert ways == sorted(ways)
        assert count_alike([q, *(answer.q for answer in answers)], model) == 1


def test_with_turns_every_turn_is_an_answer() -> None:
    answers = poise.solve(PLANAR, TIP, solutions=8, turns=True)
    q = np.array([answer.q for answer in answers])
    assert len(q) == 8
    assert all(answer.reached for answer in answers)
    assert (np.abs(q[:, None] - q[None]).max(axis=-1)[np.triu_indices(8, 1)] > 0.1).all()
    ways = np.abs(q - PLANAR.rest).max(axis=1)
    assert (np.diff(ways) >= 0).all()
    whole = TURN * (np.array(list(np.ndindex(7, 7))) - 3)
    every = [one.q + n for one in poise.solve_all(PLANAR, TIP) for n in whole]
    assert ways == pytest.approx(np.sort(np.abs(np.array(every) - PLANAR.rest).max(axis=1))[:8], abs=1e-3)
    batch = poise.solve_batch(PLANAR, TIP, np.array([[1.0, 0.8]]), solutions=8, turns=True)
    assert batch.q[0] == pytest.approx(q, abs=1e-3)


def test_with_turns_solve_all_lists_every_turn_inside_the_ranges() -> None:
    model = poise.load("ur5e")
    q = np.array([0.5, -1.2, 1.4, -0.8, 1.1, 0.3])
    goal = Reach("tool0", model.fk(q, "tool0"))
    once, every = (poise.solve_all(model, goal, q, turns=turns) for turns in (False, True))
    low, high = model.lower, model.upper
    wanted = sum(
        int(np.prod(np.floor((high - one.q) / TURN + 1e-9) - np.ceil((low - one.q) / TURN - 1e-9) + 1)) for one in once
    )
    assert (len(once), len(every), every.complete) == (8, wanted, True)
    assert wanted > 8
    assert all(max(answer.errors["tool0"]) < 1e-9 for answer in every[:40])
    found = np.array([answer.q for answer in every])
    assert ((found >= low) & (found <= high)).all()
    assert len(np.unique(np.round(found, 6), axis=0)) == wanted


def test_a_follower_that_turns_twice_as_fast_sets_no_shorter_period() -> None:
    builder = poise.ModelBuilder("geared")
    builder.add_joint("a", None, "continuous")
    builder.add_joint("b", "a", "continuous", offset=(1.0, 0.0, 0.0), mimic=("a", 2.0, 0.0))
    builder.add_joint("c", "b", "continuous", offset=(1.0, 0.0, 0.0), mimic=("a", 1.5, 0.0))
    whole = poise.ModelBuilder("whole")
    whole.add_joint("a", None, "continuous")
    whole.add_joint("b", "a", "continuous", offset=(1.0, 0.0, 0.0), mimic=("a", 2.0, 0.0))
    assert find_periods(builder.build()).tolist() == [0.0]
    assert find_periods(whole.build()) == pytest.approx([TURN])
    kinds = poise.ModelBuilder("kinds")
    kinds.add_joint("ball", None, "ball")
    kinds.add_joint("slide", "ball", "prismatic")
    kinds.add_joint("screw", "slide", "screw", pitch=0.1)
    kinds.add_joint("euler", "screw", "euler", order="XYZ")
    assert find_periods(kinds.build()) == pytest.approx([0, 0, 0, 0, 0, TURN, TURN, TURN])
