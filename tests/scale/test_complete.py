"""`complete` of a batch: every answer is listed, or it does not say so."""

import pickle
from typing import Any

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, measure_turns, shake
from general_arms import draw_general
from poise.goals import Reach, Rest
from poise.limits import Clearance

TOLERANCE = (1e-6, 1e-6)


def solve(model: poise.Model, T: np.ndarray, k: int, *more: Any, **options: Any) -> Any:
    goal = Reach(model.frames[-1], np.eye(4), tolerance=TOLERANCE)
    return poise.solve_batch(model, [goal, *more], T, solutions=k, threads=1, **options)


def search_from_many_starts(model: poise.Model, T: np.ndarray, rng: np.random.Generator) -> Any:
    """Search each transform from 60 poses, by searches alone: (rows, 60) answers."""
    goal = Reach(model.frames[-1], np.eye(4), tolerance=TOLERANCE)
    starts = model.random(rng, len(T) * 60).reshape(len(T), 60, -1)
    return poise.solve_batch(model, goal, T[:, None], starts, restarts=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mirrored", [False, True])
def test_what_a_complete_row_of_six_joints_lacks_no_search_finds(kind: str, mirrored: bool) -> None:
    rng = np.random.default_rng(31)
    model = draw_arm(rng, kind, mirrored=mirrored)
    T = model.fk(model.random(rng, 30), "tool")
    batch = solve(model, T, 8)
    assert batch.complete.shape == (30,)
    assert batch.complete.dtype == np.bool_
    more = search_from_many_starts(model, T, rng)
    for row in np.flatnonzero(batch.complete):
        listed = batch.q[row][batch.reached[row]]
        for q in more.q[row][more.reached[row]]:
            assert measure_turns(model, listed, q).min() < 0.12
    assert batch.complete.mean() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_list_that_was_cut_short_is_not_complete(kind: str) -> None:
    rng = np.random.default_rng(32)
    model = draw_arm(rng, kind)
    T = model.fk(model.random(rng, 40), "tool")
    few, many = solve(model, T, 2), solve(model, T, 8)
    longer = many.reached.sum(axis=1) > 2
    assert longer.any()
    assert not few.complete[longer].any()


def test_rows_out_of_reach_are_complete_and_others_not_guessed() -> None:
    """A position has no closed form: its list is never known to be complete, unless a proof excludes every pose."""
    model = poise.load("ur5e")
    places = np.array([[0.3, 0.2, 0.4], [9.0, 0.0, 0.0]])
    for solutions in (1, 3):
        batch = poise.solve_batch(model, Reach("tool0", np.zeros(3)), places, solutions=solutions)
        assert batch.reached.reshape(2, -1)[0].all()
        np.testing.assert_array_equal(batch.complete, [False, True])


@pytest.mark.slow
def test_a_rest_and_limits_are_counted() -> None:
    model = poise.load("ur5e")
    rng = np.random.default_rng(33)
    T = model.fk(model.random(rng, 6), model.frames[-1])
    plain, rested = solve(model, T, 8), solve(model, T, 8, Rest())
    limited = solve(model, T, 8, limits=[Clearance(distance=0.0)])
    assert rested.complete.shape == limited.complete.shape == (6,)
    for batch in (plain, rested, limited):
        for row in np.flatnonzero(batch.complete):
            answers = poise.solve_all(model, Reach(model.frames[-1], T[row]))
            assert answers.complete
            for answer in answers:
                assert measure_turns(model, batch.q[row][batch.reached[row]], answer.q).min() < 0.12


@pytest.mark.slow
def test_seven_joints_are_complete_where_every_arc_has_an_answer() -> None:
    model = poise.load("panda")
    frame = "panda_hand_tcp"
    rng = np.random.default_rng(34)
    T = np.concatenate([model.fk(model.random(rng, 12), frame), shake(np.tile(np.eye(4), (4, 1, 1)), rng, 2.0, 3.0)])
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), T, solutions=24, threads=1)
    free = model.joint(model.family(frame).free or "").q.start
    for row in range(len(T)):
        answers = poise.solve_all(model, Reach(frame, T[row]), samples=1)
        listed = batch.q[row][batch.reached[row], free]
        covered = all(((listed >= arc.low - 2e-3) & (listed <= arc.high + 2e-3)).any() for arc in answers.arcs)
        assert not batch.complete[row] or covered  # an arc in which no answer lies at all is never overlooked
        if not answers.arcs and answers.complete and batch.counts:
            assert batch.complete[row] == (batch.status[row, 0] is poise.Status.UNREACHABLE)


def test_complete_is_of_the_rows_that_were_solved() -> None:
    """It is computed on access, from the targets and answers of its own call."""
    model = poise.load("ur5e")
    rng = np.random.default_rng(35)
    T = model.fk(model.random(rng, 10), "tool0")
    goal = Reach("tool0", np.eye(4), tolerance=TOLERANCE)
    solver = poise.batch.BatchSolver(model, goal, solutions=8, threads=1)
    given = T.copy()
    first = solver.solve(given)
    given[:] = T[::-1]
    wanted = solver.solve(T).complete
    np.testing.assert_array_equal(first.complete, wanted)
    reused = solver.solve(T, out=solver.solve(T[::-1].copy()))
    np.testing.assert_array_equal(reused.complete, wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(solver.solve(T))).complete, wanted)


@pytest.mark.parametrize("name", ["ur5e", "panda", "general"])
def test_leading_axes_that_are_spread_are_judged_row_by_row(name: str) -> None:
    """Transforms along one axis and starts along another are what all of them are one by one."""
    model = draw_general(0) if name == "general" else poise.load(name)
    frame, rng = model.frames[-1], np.random.default_rng(7)
    T, starts = model.fk(model.random(rng, 3), frame), model.random(rng, 2)
    T[2, :3, 3] += 5.0  # out of reach
    goal = Reach(frame, np.eye(4))
    spread = poise.solve_batch(model, goal, T[:, None], starts[None], solutions=16)
    flat = poise.solve_batch(model, goal, np.repeat(T, 2, axis=0), np.tile(starts, (3, 1)), solutions=16)
    assert spread.complete.shape == (3, 2)
    np.testing.assert_array_equal(spread.complete.ravel(), flat.complete)
    np.testing.assert_array_equal(spread.q.reshape(flat.q.shape), flat.q)
    assert flat.complete.sum() >= {"ur5e": 5, "panda": 2, "general": 2}[name]
    one = poise.solve_batch(model, goal, T[0], starts, solutions=16)
    np.testing.assert_array_equal(one.complete, flat.complete[:2])
