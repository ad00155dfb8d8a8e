"""Whole turns of a joint are one answer in every list, unless turns=True."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.goals import Orient, Reach, Rest
from poise.reach.distinct import TURN, find_periods

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


def test_turns_without_an_end_or_without_a_list_are_explained() -> None:
    with pytest.raises(InvalidValue, match="'joint_1' turns without end; type: solve"):
        poise.solve_all(PLANAR, TIP, turns=True)
    with pytest.raises(InvalidValue, match="solutions=8, turns=True"):
        poise.solve(PLANAR, TIP, turns=True)  # type: ignore[call-overload]
    with pytest.raises(InvalidValue, match="solutions=8, turns=True"):
        poise.solve_batch(PLANAR, TIP, np.array([[1.0, 0.8]]), turns=True)


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
