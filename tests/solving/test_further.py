"""Searches from guesses keep what every solve keeps: joints that may not move, the clock, the record."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from general_arms import HARD, SIX, draw_general, draw_hard
from poise.arrays import Floats
from poise.goals import Reach, Rest
from poise.native import core
from poise.reach.chain_poses import ChainPoses
from poise.solvers import clock, multiple_solutions, table

SEEDED = 61  # searches of the default method: further ones began at guesses


def make_goal(T: Floats) -> Reach:
    return Reach("tool", T)


Door = Callable[[poise.Model, Floats, Floats, list[str]], Iterator[Floats]]


def solve(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    for one in T:
        yield poise.solve(model, make_goal(one), start, joints=joints).q


def solve_several(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    for one in T:
        yield from (answer.q for answer in poise.solve(model, make_goal(one), start, joints=joints, solutions=8))


def solve_batch(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    yield from poise.solve_batch(model, make_goal(T[0]), T, start, joints=joints).q


def solve_batch_several(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    batch = poise.solve_batch(model, make_goal(T[0]), T, start, joints=joints, solutions=8)
    yield from batch.q[batch.reached]


def solve_all(model: poise.Model, T: Floats, start: Floats, joints: list[str]) -> Iterator[Floats]:
    for one in T:
        yield from (answer.q for answer in poise.solve_all(model, make_goal(one), start, joints=joints))


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


def find_miss(seed: int) -> tuple[poise.Model, Floats]:
    """Return an arm with narrow ranges and a transform that is neither reached nor proved: every guess is searched."""
    q = np.random.default_rng(seed).uniform(-3.0, 3.0, (20, 7))
    model = draw_general(seed, turns=7, reach=1.5)
    for one in draw_general(seed, turns=7, reach=9.0).fk(q, "tool"):
        missed = poise.solve(model, make_goal(one))
        if missed.status is poise.Status.STALLED and missed.searches >= SEEDED + 4:
            return model, one
    raise AssertionError("no transform is missed with guesses")


def test_a_miss_tells_the_steps_the_searches_and_the_seconds_of_all_its_searches() -> None:
    model, T = find_miss(0)
    shares = []
    for _ in range(10):
        begun = time.perf_counter()
        missed = poise.solve(model, make_goal(T))
        shares.append(missed.seconds / (time.perf_counter() - begun))
    seeded = poise.solve(model, make_goal(T), mode="continuous")  # it never goes further
    assert missed.searches >= SEEDED + 4
    assert missed.steps > missed.searches - SEEDED
    assert seeded.searches == 1
    assert 0.3 < max(shares) <= 1.0


class Leaps:
    """A clock that goes on by so much at every look."""

    def __init__(self, by: float) -> None:
        self.by, self.now = by, 0.0

    def perf_counter(self) -> float:
        self.now += self.by
        return self.now


def test_searches_share_one_time_limit_and_none_begins_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model, T = find_miss(0)
    solver = poise.Solver(model, make_goal(T), time_limit=100.0)
    limits_set: list[float | None] = []
    set_limit = poise.Solver._set_time_limit
    monkeypatch.setattr(
        poise.Solver, "_set_time_limit", lambda self, left: (limits_set.append(left), set_limit(self, left))[1]
    )
    assert solver.solve().status is poise.Status.STALLED
    monkeypatch.setattr(clock, "time", Leaps(20.0))
    limits_set.clear()
    late = solver.solve()
    assert late.status is poise.Status.OUT_OF_TIME
    assert SEEDED < late.searches < SEEDED + 4
    assert len(limits_set) == late.searches - SEEDED
    assert all(0.0 < one < 100.0 for one in limits_set if one is not None)
    assert limits_set == sorted(limits_set, key=lambda left: -(left or 0.0))
    assert late.seconds >= 100.0


def test_nothing_is_guessed_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    model, T = find_miss(0)
    solver = poise.Solver(model, make_goal(T), time_limit=100.0)
    monkeypatch.setattr(clock, "time", Leaps(200.0))
    monkeypatch.setattr(ChainPoses, "find", lambda *_: pytest.fail("it guesses"))
    assert solver.solve().status is poise.Status.OUT_OF_TIME
    assert poise.solve(model, make_goal(T), time_limit=100.0, solutions=4)[0].status is poise.Status.OUT_OF_TIME


def test_a_solver_with_a_time_limit_has_its_guesses_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    _, T = find_miss(0)
    solver = poise.Solver(draw_general(0, turns=7, reach=1.5), make_goal(T), time_limit=100.0)
    monkeypatch.setattr(core, "GeneralChain", lambda *_: pytest.fail("it prepares"))
    assert solver.solve().searches > SEEDED


@pytest.mark.parametrize("goals", [[], [Rest()]])
def test_a_solver_with_a_time_limit_has_its_proofs_prepared(monkeypatch: pytest.MonkeyPatch, goals: list[Any]) -> None:
    model = poise.load("panda")
    far = np.array(model.fk(model.rest, "panda_hand_tcp")) + np.array([[0, 0, 0, 0.5]] * 3 + [[0] * 4])
    given: dict[str, Any] = {"restarts": 2, "max_steps": 20}
    solver = poise.Solver(model, [Reach("panda_hand_tcp", far), *goals], time_limit=100.0, **given)
    for name in ("find_other_ranges", "make_closed_tables"):
        monkeypatch.setattr(table, name, lambda *_: pytest.fail("it makes proofs"))
    late = solver.solve()
    monkeypatch.undo()
    usual = poise.Solver(model, [Reach("panda_hand_tcp", far), *goals], **given).solve()
    assert (late.status, late.steps, late.q.tobytes()) == (usual.status, usual.steps, usual.q.tobytes())


def test_no_solver_is_made_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    model, T = find_miss(0)
    solver = poise.Solver(model, make_goal(T), time_limit=100.0)
    monkeypatch.setattr(clock, "time", Leaps(200.0))
    monkeypatch.setattr(poise.Solver, "with_options", lambda *_: pytest.fail("it makes a solver"))
    assert solver.solve().status is poise.Status.OUT_OF_TIME


def test_several_answers_share_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    model, T = find_miss(0)
    limits_set: list[float | None] = []
    set_limit = poise.Solver._set_time_limit
    monkeypatch.setattr(
        poise.Solver, "_set_time_limit", lambda self, left: (limits_set.append(left), set_limit(self, left))[1]
    )
    monkeypatch.setattr(clock, "time", Leaps(10.0))
    answers = poise.solve(model, make_goal(T), solutions=8, time_limit=100.0)
    assert [one.status for one in answers] == [poise.Status.OUT_OF_TIME]
    assert 2 <= len(limits_set) <= 12
    assert limits_set[0] is not None
    assert limits_set[0] < 100.0
    assert limits_set == sorted(limits_set, key=lambda left: -(left or 0.0))
    # the best of them comes back, with what all of them took
    assert answers[0].searches == len(limits_set)
    assert answers[0].steps > answers[0].searches
    assert answers[0].seconds >= 100.0
    plain = poise.solve(model, make_goal(T), restarts=0)
    assert measure_cost(answers[0]) <= measure_cost(plain) * (1.0 + 1e-9)


def measure_cost(solution: poise.Solution) -> float:
    """The sum of squared residuals, lengths over L."""
    metres, radians = solution.errors["tool"]
    return (metres / solution.model.length) ** 2 + radians**2


def test_of_several_misses_the_one_with_the_lowest_cost_comes_back() -> None:
    """The kernels rank their searches by cost, too, and not by shares of the tolerances."""
    model = draw_general(4, reach=0.8)
    T = np.array(model.fk(np.zeros(model.nq), "tool"))
    T[:3, 3] *= 2.1
    explorer = multiple_solutions.Explorer(poise.Solver(model, replace(make_goal(T), tolerance=(0.1, 1e-4))))
    misses = [explorer.single.solve(model.random(np.random.default_rng(k))) for k in range(4)]
    costs = [measure_cost(one) for one in misses]
    best = explorer.keep_best(misses, clock.Clock(None))
    assert measure_cost(best) == pytest.approx(min(costs), rel=1e-9)
    assert best.searches == len(misses)


def test_a_batch_is_done_when_all_its_searches_are() -> None:
    model, T = find_miss(0)
    reports: list[tuple[int, int]] = []
    searched: list[int] = []
    find = ChainPoses.find

    def watch(self: ChainPoses, *given: Any) -> Any:
        searched.append(len(reports))
        assert all(done < rows for done, rows in reports)
        return find(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChainPoses, "find", watch)
        poise.solve_batch(model, make_goal(T), np.tile(T, (3, 1, 1)), progress=lambda *x: reports.append(x))
    assert len(searched) == 3
    assert reports[-1] == (3, 3)
    assert reports.count((3, 3)) == 1


def test_what_stands_beyond_the_frame_is_not_prepared_for() -> None:
    model, (T, *_), start = draw_general(1, gripper=True), draw_hard(1), np.zeros(7)
    known = []
    for k in range(4):
        start[6] = 0.1 * k
        assert poise.solve(model, make_goal(T), start, joints=SIX).reached
        far = poise.solve(model, make_goal(T + 50.0 * np.eye(4, k=3)), start, joints=SIX)
        assert far.status is poise.Status.UNREACHABLE
        assert len(poise.solve_all(model, make_goal(T), start, joints=SIX)) >= 1
        known.append(model.memo.count_entries())
    assert known[0]["guesses"] == 1
    assert known[1:] == known[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("leads", [False, True])
def test_what_stands_on_the_way_is_heeded(leads: bool) -> None:
    """Also a joint that follows one that is not on the way."""
    builder = poise.ModelBuilder("seven").add_joint("lead", None, "revolute", lower=-2.0, upper=2.0)
    rng, parent, names = np.random.default_rng(5), None, [f"j{k}" for k in range(7)]
    for k, name in enumerate(names):
        follows = {"mimic": ("lead", 1.0, 0.2)} if leads and k == 3 else {"lower": -3.0, "upper": 3.0}
        offset = poise.Transform(translation=0.2 * rng.normal(size=3))
        builder.add_joint(name, parent, "revolute", offset=offset, axis=rng.normal(size=3), **follows)
        parent = name
    model = builder.add_frame("tool", parent, poise.Transform(translation=(0.1, 0, 0))).build()
    still = model.joint("lead" if leads else "j3").q
    six = [name for name in names if name != "j3"]
    for at in (-0.5, 0.4, 0.4, 1.3):
        q, start = model.random(rng), np.zeros(model.nq)
        q[still] = start[still] = at
        if leads is False:
            q[model.joint("lead").q] = 0.0
        answers = poise.solve_all(model, make_goal(model.fk(q, "tool")), start, joints=six)
        assert min(np.abs(one.q - q).max() for one in answers) < 1e-6
        assert all(one.reached and one.q[still] == at for one in answers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", HARD)
def test_a_record_changes_no_bit_and_holds_every_search(seed: int) -> None:
    model, further = draw_general(seed), 0
    for T in draw_hard(seed):
        plain, recorded = (poise.solve(model, make_goal(T), record=record) for record in (False, True))
        np.testing.assert_array_equal(plain.q, recorded.q)
        assert (plain.status, plain.steps, plain.searches) == (recorded.status, recorded.steps, recorded.searches)
        history = recorded.history
        assert history is not None
        assert sorted(set(history.search.tolist())) == list(range(1, recorded.searches + 1))
        assert (np.diff(history.search) >= 0).all()
        np.testing.assert_allclose(history.errors[-1, 0], recorded.errors["tool"], atol=1e-12)
        assert len(history.cost) == len(history.damping) == len(history.q) == len(history)
        assert len(history.singular_values) == len(history)
        further += recorded.searches > SEEDED
    assert further >= 1


@pytest.mark.slow
def test_what_searches_from_all_seeds_miss_is_reached_from_a_guess() -> None:
    further = 0
    for seed in HARD:
        model, T = draw_general(seed), draw_hard(seed)
        batch = poise.solve_batch(model, make_goal(T[0]), T)
        assert batch.reached.all()
        for row, one in enumerate(T):
            alone = poise.solve(model, make_goal(one))
            assert alone.reached
            assert np.abs(alone.q - batch.q[row]).max() < 1e-2
            further += min(alone.searches, batch.searches[row]) > SEEDED
    assert further >= 3
