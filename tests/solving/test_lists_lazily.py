"""What a list costs: its poses are solutions without a solve each, and another target closes no goal again."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import poise
from poise import ModelBuilder
from poise.answers import complete_list, lazy_poses
from poise.goals import Reach
from poise.model import Model
from poise.models.dh import add_links
from poise.models.ur5e import LINKS
from poise.solvers.solver import Solver

ARMS = {"ur5e": "tool0", "panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}
READ = ("q", "reached", "errors", "status", "steps", "searches", "history", "velocity", "proof", "active_limits")


def draw_target(model: Model, frame: str, seed: int) -> np.ndarray:
    """Return a transform that a random pose has."""
    return np.asarray(model.fk(model.random(np.random.default_rng(seed)), frame))


def add_idle_finger() -> Model:
    """Return a UR5e with a finger on which its tool does not depend."""
    builder = ModelBuilder("ur5e with a finger").add_frame("base")
    add_links(builder, "base", LINKS)
    builder.add_frame("tool0", LINKS[-1].frame)
    return builder.add_joint("finger", "tool0", "revolute", lower=-0.5, upper=0.5).build()


def solve_from(model: Model, goal: Reach, q: np.ndarray) -> poise.Solution:
    """Return what one search from a pose ends with."""
    return poise.solve(model, goal, q, restarts=0)


@pytest.mark.parametrize("tolerance", [None, 1e-7])
@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_a_listed_solution_is_what_a_solve_from_its_pose_ends_with(name, frame, tolerance) -> None:
    model = poise.load(name)
    goal = Reach(frame, draw_target(model, frame, 5), tolerance=tolerance)
    answers = poise.solve_all(model, goal, samples=1)
    assert len(answers)
    assert answers[-1] is list(answers)[-1]
    for answer in answers:
        alone = solve_from(model, goal, answer.q.copy())
        for what in READ:
            assert np.array_equal(getattr(answer, what), getattr(alone, what)), what
        assert repr(answer) == repr(alone)
        assert answer.model is model


def test_what_no_pose_reaches_is_not_called_reached() -> None:
    model = poise.load("ur5e")
    goal = Reach("tool0", draw_target(model, "tool0", 5), tolerance=0.0)
    answers = poise.solve_all(model, goal)
    assert len(answers)
    assert all(answer.reached == (answer.errors["tool0"][0] <= 0.0) for answer in answers)


def test_a_listed_solution_brings_a_joint_back_on_which_no_goal_depends() -> None:
    model = add_idle_finger()
    start = np.array([*poise.load("ur5e").rest, 0.9])
    goal = Reach("tool0", draw_target(model, "tool0", 6))
    answers = poise.solve_all(model, goal, start)
    assert len(answers)
    for answer in answers:
        assert answer.reached
        assert answer.q[-1] == 0.5


@pytest.mark.parametrize("asked", [(), READ])
def test_a_listed_solution_is_pickled_and_copied_in_any_state(asked) -> None:
    model = poise.load("ur5e")
    answer = poise.solve_all(model, Reach("tool0", draw_target(model, "tool0", 7)))[0]
    for what in asked:
        getattr(answer, what)
    for other in (pickle.loads(pickle.dumps(answer)), copy.copy(answer), copy.deepcopy(answer)):
        assert np.array_equal(other.q, answer.q)
        assert other.reached is answer.reached
        assert other.errors == answer.errors
    assert not hasattr(answer, "no_such_name")


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_poses_are_read_without_a_solve_each(name, frame, monkeypatch) -> None:
    model = poise.load(name)
    answers = poise.solve_all(model, Reach(frame, draw_target(model, frame, 8)), samples=2)
    monkeypatch.setattr(complete_list.ClosedFormQuery, "solve", None)
    assert all(answer.reached and answer.model is model and answer.q.shape == (model.nq,) for answer in answers)
    assert [answer.q.tolist() for answer in answers[1:]] == [answer.q.tolist() for answer in answers][1:]


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_another_target_of_a_problem_closes_no_goal_again(name, frame, monkeypatch) -> None:
    model = poise.load(name)
    first = poise.solve_all(model, Reach(frame, draw_target(model, frame, 8)))
    for what in ("find_closed_form", "find_guesses", "find_freedom", "fixes_the_frame"):
        monkeypatch.setattr(complete_list, what, None)
    monkeypatch.setattr(Solver, "_prepare", None) if len(first) else None
    assert len(poise.solve_all(model, Reach(frame, draw_target(model, frame, 9)), samples=3))


def test_the_poses_of_a_list_are_one_array_and_no_solution_is_made_before_it_is_read(monkeypatch) -> None:
    made: list[int] = []
    make = lazy_poses.ListedSolution.__init__

    def count(self: object, *given: object) -> None:
        made.append(1)
        make(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(lazy_poses.ListedSolution, "__init__", count)
    model = poise.load("panda")
    answers = poise.solve_all(model, Reach("panda_hand_tcp", draw_target(model, "panda_hand_tcp", 5)))
    q = answers.q
    assert q.shape == (len(answers), model.nq)
    assert not made
    assert np.array_equal(answers[2].q, q[2])
    assert answers[2] is answers[2]
    assert len(made) == 1
    third = answers[2]
    assert np.array_equal([answer.q for answer in answers], q)
    assert list(answers)[2] is third
    q[:] = 0.0  # an array of the caller's own
    assert answers.q.any()


def test_a_list_is_in_order_after_it_is_read_from_its_end() -> None:
    model = poise.load("ur5e")
    answers = poise.solve_all(model, Reach("tool0", draw_target(model, "tool0", 7)))
    backwards = [answers[k] for k in reversed(range(len(answers)))]
    assert len(answers) > 1
    assert list(answers) == backwards[::-1]


def test_the_array_of_poses_is_that_of_the_solutions_also_where_an_idle_joint_begins_outside() -> None:
    model = add_idle_finger()
    start = np.array(model.rest)
    start[-1] = 1.0
    answers = poise.solve_all(model, Reach("tool0", draw_target(model, "tool0", 7)), start)
    assert len(answers)
    assert np.array_equal(answers.q, [answer.q for answer in answers])
