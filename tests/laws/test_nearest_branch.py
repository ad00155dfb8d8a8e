"""Laws of mode="nearest" on arms of six joints with a closed form: the answer is the nearest of all branches."""

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, draw_poses
from general_arms import calibrate
from poise.goals import Reach, Rest
from poise.solvers import table

CASES = [(kind, mirrored) for kind in KINDS for mirrored in (False, True)]
ROWS = 24


def make_goal(T=None) -> Reach:
    return Reach("tool", np.eye(4) if T is None else T, name="tip")


def measure(model, q, start):
    """Return the largest motion of a joint, slides in lengths of the body."""
    return (np.abs(q - start) / np.where(model.slides, model.length, 1.0)).max(axis=-1)


def list_ways(model, T, start):
    """Return the distances of all branches, each at the turns nearest to the start."""
    answers = poise.solve_all(model, make_goal(T), start)
    return [float(measure(model, one.q, start)) for one in answers]


def check_answer(model, T, q) -> None:
    off = model.fk(q, "tool") @ np.linalg.inv(T)
    assert np.abs(off - np.eye(4)).max() < 2e-3
    assert (q >= model.lower).all()
    assert (q <= model.upper).all()


@pytest.mark.parametrize(("kind", "mirrored"), CASES)
def test_no_branch_is_nearer_than_the_answer(kind, mirrored) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    model = draw_arm(rng, kind, mirrored=mirrored)
    T, starts = model.fk(draw_poses(model, rng, ROWS), "tool"), model.random(rng, ROWS)
    solver, batch = poise.Solver(model, make_goal()), poise.solve_batch(model, make_goal(), T, starts)
    assert batch.reached.all()
    several = 0
    for target, start, row in zip(T, starts, batch.q, strict=True):
        ways = list_ways(model, target, start)
        several += len(ways) > 1
        for q in (solver.solve(start, {"tip": target}).q, row):
            check_answer(model, target, q)
            assert measure(model, q, start) <= min(ways) + 1e-6
    assert several > 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_batch_has_the_branch_of_each_single_solve(dtype) -> None:
    model, rng = poise.load("ur5e"), np.random.default_rng(0)
    T, starts = model.fk(model.random(rng, 60), "tool0"), model.random(rng, 60)
    batch = poise.solve_batch(model, Reach("tool0", np.eye(4)), T, starts, dtype=dtype)
    solver = poise.Solver(model, Reach("tool0", np.eye(4), name="tip"))
    single = [solver.solve(start, {"tip": target}) for target, start in zip(T, starts, strict=True)]
    assert batch.reached.all()
    assert np.abs(batch.q - [one.q for one in single]).max() < 1e-3
    assert sum(one.searches for one in single) < 1.1 * len(single)
    assert max(one.steps for one in single if one.searches == 1) <= 3


def test_a_start_that_reaches_is_the_answer() -> None:
    model = poise.load("ur5e")
    start = np.array([0.3, -1.2, 1.4, -0.8, 0.5, 6.0])
    T = model.fk(start + 1e-5, "tool0")
    solution = poise.solve(model, Reach("tool0", T), start)
    assert np.array_equal(solution.q, start)
    assert solution.steps == 0
    assert np.array_equal(poise.solve_batch(model, Reach("tool0", T), T[None], start).q[0], start)


def test_a_record_does_not_change_the_answer() -> None:
    model = poise.load("ur5e")
    T = model.fk([0.3, -1.2, 1.4, -0.8, 0.5, 1.0], "tool0")
    plain, recorded = (poise.solve(model, Reach("tool0", T), record=record) for record in (False, True))
    assert np.array_equal(plain.q, recorded.q)
    assert np.array_equal(recorded.history.q[-1], plain.q)


def test_a_posture_chooses_the_branch() -> None:
    model, rng = poise.load("ur5e"), np.random.default_rng(2)
    for q, wanted, start in model.random(rng, (12, 3)):
        T = model.fk(q, "tool0")
        posture = Rest(wanted)
        answers = poise.solve_all(model, Reach("tool0", T), wanted)
        least = min(float(((one.q - wanted) ** 2).sum()) for one in answers)
        for solution in (
            poise.solve(model, [Reach("tool0", T), posture], start),
            poise.solve_batch(model, [Reach("tool0", T, name="tip"), posture], {"tip": T[None]}, start),
        ):
            assert np.all(solution.reached)
            assert float(((np.ravel(solution.q) - wanted) ** 2).sum()) <= least + 0.05


def test_stiff_joints_weigh_more() -> None:
    model, rng = poise.load("ur5e"), np.random.default_rng(3)
    stiffness = np.array([99.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    weights, moved = np.sqrt(1.0 + stiffness), 0
    for q, start in model.random(rng, (20, 2)):
        T = model.fk(q, "tool0")
        plain, stiff = (poise.solve(model, Reach("tool0", T), start, stiffness=s) for s in (None, stiffness))
        moved += not np.array_equal(plain.q, stiff.q)
        assert (weights * np.abs(stiff.q - start)).max() <= (weights * np.abs(plain.q - start)).max() + 1e-6
    assert moved > 0


@pytest.mark.parametrize("name", ["ur5e", "puma"])
def test_a_calibrated_arm_begins_at_the_nearest_guess(name) -> None:
    model, rng = calibrate(name, 1e-3), np.random.default_rng(4)
    T, starts = model.fk(model.random(rng, 30), "tool"), model.random(rng, 30)
    solver = poise.Solver(model, make_goal())
    single = [solver.solve(start, {"tip": target}) for target, start in zip(T, starts, strict=True)]
    batch = poise.solve_batch(model, make_goal(), T, starts)
    least = [min(list_ways(model, target, start)) for target, start in zip(T, starts, strict=True)]
    for q in (batch.q, np.array([one.q for one in single])):
        assert np.mean(measure(model, q, starts) <= np.array(least) + 0.01) > 0.9
    assert batch.reached.all()
    assert sum(one.searches == 1 for one in single) > 25


@pytest.mark.parametrize("options", [{"mode": "continuous"}, {"restarts": 0}, {"step_limit": 0.3}, {"method": "dls"}])
def test_solves_whose_path_counts_begin_at_their_start(options) -> None:
    """A continuous solve moves at most 0.2 rad, and the others make steps."""
    model = poise.load("ur5e")
    start = np.array([0.3, -1.2, 1.4, -0.8, 0.5, 1.0])
    solution = poise.solve(model, Reach("tool0", model.fk(start + 0.4, "tool0")), start, **options)
    assert solution.steps > 1
    if "mode" in options:
        assert np.abs(solution.q - start).max() < 0.2001


def test_targets_out_of_reach_are_proved() -> None:
    model, far = poise.load("ur5e"), np.eye(4)
    far[0, 3] = 3.0
    assert poise.solve(model, Reach("tool0", far)).status is poise.Status.UNREACHABLE
    assert poise.solve_batch(model, Reach("tool0", far), far[None]).status[0] is poise.Status.UNREACHABLE


def test_a_solver_is_prepared_for_its_first_miss(monkeypatch) -> None:
    """The bounds and closed forms, which take milliseconds, are found when the solver is made."""
    asked = []
    for name in ("find_other_ranges", "make_closed_tables"):
        own = getattr(table, name)
        monkeypatch.setattr(table, name, lambda *args, own=own: asked.append(1) or own(*args))
    model = poise.load("panda")
    far = np.eye(4)
    far[0, 3] = 0.9
    solver = poise.Solver(model, Reach("panda_hand_tcp", far))
    assert len(asked) == 2
    solver.solve()
    assert len(asked) == 2
