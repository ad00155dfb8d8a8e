"""Searches from guesses keep what every solve keeps: joints that may not move stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import poise
from general_arms import SIX, Floats, draw_general, draw_hard
from poise.goals import Reach


def goal_of(T: Floats) -> Reach:
    return Reach("tool", T)


Door = Callable[[poise.Model, Floats, Floats, list[str]], Iterator[Floats]]


def solve(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    for one in T:
        yield poise.solve(model, goal_of(one), start, joints=joints).q


def solve_several(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    for one in T:
        yield from (answer.q for answer in poise.solve(model, goal_of(one), start, joints=joints, solutions=8))


def solve_batch(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    yield from poise.solve_batch(model, goal_of(T[0]), T, start, joints=joints).q


def solve_batch_several(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    batch = poise.solve_batch(model, goal_of(T[0]), T, start, joints=joints, solutions=8)
    yield from batch.q[batch.reached]


def solve_all(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    for one in T:
        yield from (answer.q for answer in poise.solve_all(model, goal_of(one), start, joints=joints))


DOORS: list[Door] = [solve, solve_several, solve_batch, solve_batch_several, solve_all]


@pytest.mark.parametrize("door", DOORS)
def test_a_joint_behind_the_frame_that_may_not_move_stays_where_it_is(door: Door) -> None:
    """Also outside its range, and to the last bit."""
    model, start = draw_general(1, gripper=True), np.zeros(7)
    start[6] = 0.9
    found = np.array(list(door(model, draw_hard(1), start, SIX)))
    assert len(found) >= 4
    assert (found[:, 6] == 0.9).all()
    assert (np.abs(found[:, :6]) <= 3.0).all()


@pytest.mark.parametrize("door", DOORS)
def test_a_joint_of_the_chain_that_may_not_move_stays_where_it_is(door: Door) -> None:
    model, start = draw_general(6, turns=7, reach=2.5), np.zeros(7)
    start[3] = 2.8
    q = model.random(np.random.default_rng(0), 12)
    q[:, 3] = 2.8
    found = np.array(list(door(model, model.fk(q, "tool"), start, [f"j{k}" for k in (0, 1, 2, 4, 5, 6)])))
    assert len(found) >= 12
    assert (found[:, 3] == 2.8).all()
    assert (np.abs(np.delete(found, 3, axis=1)) <= 2.5).all()
