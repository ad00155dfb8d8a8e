"""Arms that are nearly in a family: every pose that a search finds is among the answers, and nothing is promised."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from general_arms import calibrate
from poise.batch.guesses import GuessSearch
from poise.goals import Reach


def lies_among(q, found, near=1e-4) -> bool:
    d = np.array([getattr(one, "q", one) for one in found]).reshape(-1, len(q)) - q
    return bool((np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1, initial=0.0) < near).any())


def search(model, T, rng, count=80):
    goal, start = Reach("tool", np.eye(4), tolerance=1e-9), model.random(rng, count)
    batch = poise.solve_batch(model, goal, np.tile(T, (count, 1, 1)), start, restarts=0)
    return batch.q[batch.reached]


@pytest.mark.slow
def test_the_family_says_how_far_off_it_is():
    family = calibrate("puma", 1e-3).family("tool")
    assert family.near
    assert family.name == "nearly a spherical wrist"
    assert "off by up to" in str(family)
    assert "without proofs" in str(family)
    assert calibrate("ur5e", 1e-3).family("tool").name == "nearly three parallel axes"
    assert not poise.load("ur5e").family("tool0").near


@pytest.mark.slow
@pytest.mark.parametrize("size", [3e-5, 1e-4, 3e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("name", ["ur5e", "puma"])
def test_every_branch_of_six_joints_is_found(name, size):
    """Also of axes that are so near that they are moved into the family: their poses are not those of the family."""
    model, rng = calibrate(name, size), np.random.default_rng(1)
    searched = 0
    for T in model.fk(model.random(rng, 3), "tool"):
        answers = poise.solve_all(model, Reach("tool", T))
        assert not answers.complete
        for one in answers:
            assert one.reached
            assert max(one.errors["tool"]) < 1e-8
            assert (one.q >= model.lower).all()
            assert (one.q <= model.upper).all()
        poses = search(model, T, rng)
        searched += len(poses)
        assert all(lies_among(q, answers) for q in poses)
    assert searched > 20


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_of_seven_joints_every_pose_is_found_at_its_value_of_the_free_joint(name, size):
    model, rng = calibrate(name, size), np.random.default_rng(2)
    free = model.joint(model.family("tool").free)
    T = model.fk(0.6 * model.random(rng) + 0.4 * model.rest, "tool")
    answers = poise.solve_all(model, Reach("tool", T), samples=3)
    assert not answers.complete
    assert len(answers.arcs) >= 1
    assert len(answers) >= len(answers.arcs)
    assert all(max(one.errors["tool"]) < 1e-8 for one in answers)
    poses = search(model, T, rng, 30)[:12]
    found = []
    for q in poses:
        at = answers.at(float(q[free.q][0]))
        assert all(abs(one.q[free.q][0] - q[free.q][0]) < 1e-12 for one in at)
        found.append(lies_among(q, at))
    assert len(found) >= 5
    assert sum(found) >= len(found) - 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5e", "panda"])
def test_several_answers_of_a_batch_begin_at_the_guesses(name):
    model, rng = calibrate(name, 1e-3), np.random.default_rng(3)
    T = model.fk(model.random(rng, 6), "tool")
    batch = poise.solve_batch(model, Reach("tool", np.eye(4)), T, solutions=8)
    assert batch.reached[:, 0].all()
    assert not batch.complete.any()
    if name == "ur5e":
        branches = 0
        for row, one in enumerate(T):
            answers = poise.solve_all(model, Reach("tool", one))
            assert all(lies_among(answer.q, batch.q[row][batch.reached[row]], 0.11) for answer in answers)
            branches += len(answers)
        assert branches >= 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5e", "puma", "panda"])
@pytest.mark.parametrize("seed", range(3))
def test_a_path_that_it_has_made_is_followed_without_a_jump(name, seed):
    """Its branches are listed by searches from the guesses of every waypoint."""
    model = calibrate(name, 1e-3)
    q0, q1 = (s * model.random(np.random.default_rng(k)) for s, k in ((0.3, seed), (0.5, seed + 100)))
    own = q0 + (q1 - q0) * np.linspace(0.0, 1.0, 40)[:, None]
    track = poise.motion.track(model, Reach("tool", model.fk(own, "tool")), fps=30.0, start=q0)
    assert track.reached.all(), track.why()
    assert track.reconfigurations == ()
    assert np.abs(np.diff(track.motion.q, axis=0)).max() < 0.6


def test_rows_that_are_full_are_not_searched_further(monkeypatch):
    model, rng = calibrate("ur5e", 1e-3), np.random.default_rng(21)
    T = model.fk(model.random(rng, 30), "tool")
    asked: list[int] = []
    monkeypatch.setattr(GuessSearch, "fill_rows", lambda _, rows: asked.extend(rows))
    batch = poise.solve_batch(model, Reach("tool", np.eye(4)), T, solutions=2, threads=1)
    d = batch.q[:, 0] - batch.q[:, 1]
    apart = np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1) > 0.1  # else a row has one answer twice
    full = batch.reached.all(axis=1) & apart
    assert full.sum() > 10
    assert set(asked) == set(np.flatnonzero(~full))
