"""`poise.solve` prepares a problem once for many targets, and answers as a solver of its own does, bit for bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import PoiseError
from poise.goals import Custom, Distance, Goal, LookAt, Orient, Reach, Rest
from poise.goals.goal import GoalRows
from poise.solvers.options import Options
from poise.solvers.ready import MOST_READY, READY, describe, identify

ARM, HAND = poise.load("panda"), "panda_hand_tcp"
BODY = poise.load("humanoid")


def draw_goals(rng: np.random.Generator, kind: int) -> tuple[poise.Model, list[Goal]]:
    """A problem of one kind with targets of its own."""
    q = ARM.random(rng)
    T = ARM.fk(q, HAND)
    hand = BODY.fk(BODY.rest, "hand_l")[:3, 3] + rng.normal(scale=0.2, size=3)
    problems: list[tuple[poise.Model, list[Goal]]] = [
        (ARM, [Reach(HAND, T)]),
        (ARM, [Reach(HAND, T[:3, 3]), Orient(HAND, T[:3, :3], weight=0.3)]),
        (ARM, [Reach(HAND, T), Rest(q)]),
        (ARM, [Reach(HAND, T[:3, 3]), Reach("panda_link4", rng.normal(size=3), priority=1)]),
        (ARM, [Reach(HAND, 3.0 * T[:3, 3])]),  # mostly out of reach
        (BODY, [Reach("hand_l", hand), LookAt("head", hand, weight=0.3), Rest(weight=0.01)]),
        (BODY, [Distance("hand_l", "hand_r", float(rng.uniform(0.2, 0.6)))]),
    ]
    return problems[kind]


def bits(solution: poise.Solution) -> tuple[Any, ...]:
    return (solution.q.tobytes(), solution.status, solution.steps, solution.searches, solution.errors)


@pytest.mark.parametrize("kind", range(7))
def test_a_ready_problem_answers_as_a_new_one(kind):
    rng = np.random.default_rng(kind)
    for k in range(6):
        model, goals = draw_goals(rng, kind)
        start = model.random(rng) if k % 2 else None
        options = {"seed": k % 3, "max_steps": 100} if k % 3 else {}
        assert bits(poise.solve(model, goals, start, **options)) == bits(
            poise.Solver(model, goals, **options).solve(start)
        )
    assert model.memo.entries(READY)


def test_threads_never_share_a_problem():
    rng = np.random.default_rng(7)
    problems = [draw_goals(rng, 0)[1] for _ in range(60)]
    alone = [bits(poise.solve(ARM, goals)) for goals in problems]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda goals: bits(poise.solve(ARM, goals)), problems)) == alone


def test_a_solution_outlives_the_next_solve():
    rng = np.random.default_rng(3)
    first = poise.solve(ARM, [Reach(HAND, (0.3, 0.2, 2.0))])
    before = (bits(first), first.why(), str(first))
    for _ in range(3):
        poise.solve(ARM, [Reach(HAND, rng.normal(size=3))])
    assert (bits(first), first.why(), str(first)) == before


NO_NUMBERS = ("convert", "residual", "jacobian", "third")  # functions of Python


def test_every_kernel_input_distinguishes_problems():
    row = Reach(HAND, np.eye(4)).rows(ARM)
    other = {
        "op": Orient(HAND, np.eye(3)).rows(ARM).op,
        "frame": "panda_link4",
        "base": "panda_link1",
        "target": np.zeros(24),
        "points": (("panda_link4", np.zeros(3)),),
        "size": 3,
    }
    seen = {describe(row)}
    for field in fields(GoalRows):
        if field.name in NO_NUMBERS:
            continue
        old = getattr(row, field.name)
        new = other.get(field.name, not old if isinstance(old, bool) else np.ones(np.shape(old)) * 0.5)
        seen.add(describe(replace(row, **{field.name: new})))
    assert len(seen) == len(fields(GoalRows)) - len(NO_NUMBERS) + 1


@pytest.mark.parametrize("change", [{"weight": 0.5}, {"tolerance": 1e-6}, {"priority": 2}, {"name": "tip"}])
def test_every_goal_field_distinguishes_problems(change):
    def key(goal: Goal) -> Any:
        named = {goal.name or "hand": goal}
        return identify(ARM, named, [(name, g.rows(ARM)) for name, g in named.items()], options)

    options = Options()
    assert key(Reach(HAND, np.eye(4))) != key(Reach(HAND, np.eye(4), **change))
    assert key(Reach(HAND, np.eye(4))) == key(Reach(HAND, 2.0 * np.eye(4) - np.eye(4)))


def test_only_a_few_are_kept_and_none_that_calls_python():
    model = poise.load("panda")
    for k in range(3 * MOST_READY):
        poise.solve(model, Reach(HAND, (0.3, 0.2, 0.5), tolerance=1e-4 + 1e-6 * k))
        assert 1 <= len(model.memo.entries(READY)) <= MOST_READY
    kept = set(model.memo.entries(READY))
    poise.solve(model, Custom(lambda q: q[:1], size=1))
    poise.solve(model, Reach(HAND, (0.3, 0.2, 0.5)), record=True)
    assert set(model.memo.entries(READY)) == kept


@pytest.mark.parametrize("wrong", [{"max_steps": True}, {"max_steps": 1.0}, {"restarts": -1}, {"mode": "fast"}])
def test_an_invalid_option_is_rejected_after_an_equal_valid_one(wrong):
    poise.solve(ARM, Reach(HAND, (0.3, 0.2, 0.5)), max_steps=1)
    with pytest.raises(PoiseError):
        poise.solve(ARM, Reach(HAND, (0.3, 0.2, 0.5)), **wrong)
