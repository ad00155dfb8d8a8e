"""Rows of a batch that are searched further from guesses are what one solve answers, whatever stands still in them."""

import numpy as np
import pytest

import poise
from general_arms import HARD, SIX, calibrate, draw_general, draw_hard
from poise.arrays import Floats
from poise.batch import solver
from poise.goals import Reach
from poise.reach.distinct import DistinctAnswers, Measure
from poise.solvers.guess_starts import guess_goals

SEEDED = 61  # searches of the default method: further ones began at guesses
WITHOUT_FOURTH = [f"j{k}" for k in (0, 1, 2, 4, 5, 6)]
GOAL = Reach("tool", np.eye(4))


def check_rows(model: poise.Model, T: Floats, starts: Floats, joints: list[str]) -> int:
    """Hold every row against a solve of its own; return how many were reached from a guess."""
    batch, further = poise.solve_batch(model, GOAL, T, starts, joints=joints), 0
    for row, (one, start) in enumerate(zip(T, starts, strict=True)):
        alone = poise.solve(model, Reach("tool", one), start, joints=joints)
        assert alone.reached == batch.reached[row]
        still = np.array([joint.name not in joints for joint in model.joints if joint.nq])
        np.testing.assert_array_equal(batch.q[row][still], start[still])
        further += bool(batch.reached[row]) and batch.searches[row] > SEEDED < alone.searches
    return further


@pytest.mark.slow
@pytest.mark.parametrize("seed", HARD)
def test_a_joint_beyond_the_frame_stands_elsewhere_in_each_row(seed: int) -> None:
    model, T = draw_general(seed, gripper=True), draw_hard(seed)
    starts = np.zeros((len(T), 7))
    starts[:, 6] = np.linspace(-0.9, 0.9, len(T))
    assert check_rows(model, T, starts, SIX) >= 1


@pytest.mark.slow
def test_a_joint_of_the_chain_stands_elsewhere_in_each_row() -> None:
    further = 0
    for seed, row in ((3, 6), (6, 23), (10, 32), (11, 12)):  # which searches from all seeds miss
        model = draw_general(seed, turns=7)
        q = model.random(np.random.default_rng(seed), 60)[[row - 1, row, row + 1]]
        starts = np.zeros((3, 7))
        starts[:, 3] = q[:, 3]
        further += check_rows(model, model.fk(q, "tool"), starts, WITHOUT_FOURTH)
    assert further >= 2


def count_branches(q: Floats) -> int:
    """Return how many poses there are, whole turns aside."""
    kept: list[Floats] = []
    for one in q:
        d = np.array(kept).reshape(-1, len(one)) - one
        if not (np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1) <= 0.1).any():
            kept.append(one)
    return len(kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["general", "nearly"])
def test_several_answers_are_branches_and_none_is_listed_twice(name: str) -> None:
    """Joints that turn more than once have poses whole turns apart; as in a list of `solve_all` they are one answer."""
    model = draw_general(5, reach=6.2) if name == "general" else calibrate("ur5e", 1e-3)
    rng = np.random.default_rng(3)
    T, start = model.fk(model.random(rng, 8), "tool"), model.random(rng)
    batch = poise.solve_batch(model, GOAL, T, start, solutions=8)
    listed = 0
    for row, one in enumerate(T):
        every = poise.solve_all(model, Reach("tool", one), start)
        several = poise.solve(model, Reach("tool", one), start, solutions=8)
        for q in (batch.q[row][batch.reached[row]], np.array([answer.q for answer in several])):
            assert count_branches(q) == len(q) >= min(count_branches(np.array([a.q for a in every])), 8)
            ways = np.abs(q - start).max(axis=1)
            assert (np.diff(ways) >= 0.0).all()
        assert np.isnan(batch.q[row][~batch.reached[row]]).all()
        listed += len(every)
    assert listed >= 8


def test_of_answers_that_are_alike_one_stays_also_where_a_nearer_one_joins_two() -> None:
    model = poise.load("ur5e")
    measure = Measure(model)
    a, b, nearer = np.zeros((3, 6))
    a[5], b[5], nearer[5] = 5.0, 5.12, 5.06 - 2.0 * np.pi
    for order in ([a, b, nearer], [b, a, nearer], [nearer, a, b], [a, nearer, b]):
        answers: DistinctAnswers[float] = DistinctAnswers(measure, np.zeros(6))
        for q in order:
            answers.add(q, float(q[5]))
        assert answers.sort() == [nearer[5]]


def test_rows_on_a_base_that_stands_elsewhere_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that has a closed form has it wherever its base stands."""
    chain = poise.load("ur5e").family("tool0").chain
    builder, parent, at = poise.ModelBuilder("mobile").add_joint("base", None, "planar"), "base", np.zeros(3)
    for k, axis in enumerate(chain.axes):
        offset = poise.Transform(translation=axis.p - at)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=axis.h, lower=-3.0, upper=3.0)
        parent, at = f"j{k}", axis.p
    model = builder.add_frame("tool", parent, poise.Transform(translation=chain.T[:3, 3] - at)).build()
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (12, model.nq))
    asked: list[int] = []
    monkeypatch.setattr(solver, "guess_goals", lambda *given: (asked.append(1), guess_goals(*given))[1])
    batch = poise.solve_batch(
        model, GOAL, model.fk(q, "tool"), q * 0.9 + [0.1 * q[0, 0], *([0.0] * 8)], joints=SIX, solutions=4
    )
    assert len(asked) == 1
    assert batch.q.shape == (12, 4, 9)


def test_branches_of_guessed_arms_are_listed_whatever_restarts_are() -> None:
    model = draw_general(1)
    T = model.fk(model.random(np.random.default_rng(2), 8), "tool")
    alone = [len(poise.solve(model, Reach("tool", one), solutions=6, restarts=0)) for one in T]
    batch = poise.solve_batch(model, GOAL, T, solutions=6, restarts=0)
    assert batch.reached.sum(axis=1).tolist() == alone
    assert sum(alone) > 16
