"""Lists of answers where arms are singular, and in the corners of their ranges."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, shake
from poise.goals import Reach
from poise.reach.bounds import Freedom
from poise.reach.closed_forms import ClosedGoal, find_closed_form


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_excluded_poses_are_outside_by_more_than_rounding(kind: str) -> None:
    """Poses with every joint at the end of its range: a branch that is just inside is never called outside."""
    rng = np.random.default_rng(7)
    model = draw_arm(rng, kind, joints=7)
    corners = np.where(rng.random((20, 7)) < 0.5, model.lower, model.upper)
    told = 0
    for T in shake(model.fk(corners, "tool"), rng, 1e-9, 1e-9):
        answers = poise.solve_all(model, Reach("tool", T), samples=1)
        told += len(answers.excluded)
        assert all(one.excess > 1e-9 for one in answers.excluded)
        assert not any(" by 0 " in line or " by -" in line for line in answers.why().splitlines())
    assert told > 0


@pytest.mark.slow
@pytest.mark.parametrize("stretched", [(), (3,), (1, 5), (1, 3, 5)])
def test_a_pose_of_a_singular_arm_is_listed(stretched: tuple[int, ...]) -> None:
    """Where axes of the iiwa are in line joints are not determined, and cells not decided: its own pose is listed."""
    model = poise.load("iiwa14")
    q = np.array([0.4, 0.7, -0.3, -1.1, 0.5, 0.9, 0.2])
    q[list(stretched)] = 0.0
    answers = poise.solve_all(model, Reach("iiwa_link_ee", model.fk(q, "iiwa_link_ee")), q, samples=4)
    assert answers
    assert all(one.reached for one in answers)
    assert np.abs(answers[0].q - q).max() < 0.01
    assert any(arc.low - 1e-4 <= q[0] <= arc.high + 1e-4 for arc in answers.arcs)


@pytest.mark.slow
def test_rows_of_branches_are_found_while_others_run() -> None:
    model, frame = poise.load("panda"), "panda_hand_tcp"
    closed = find_closed_form(
        model, Reach(frame, np.eye(4)).rows(model), Freedom(np.ones(model.nv, dtype=bool).tobytes(), True)
    )
    assert isinstance(closed, ClosedGoal)
    T = model.fk(model.random(np.random.default_rng(1), 1), frame)
    values = np.linspace(-2.8, 2.8, 100_000)
    given = (T[:, :3, :3].copy(), T[:, :3, 3].copy(), values, False, np.zeros(7), np.ones(7))
    other = threading.Thread(target=closed.form.near, args=given)
    other.start()
    rounds = 0
    while other.is_alive():
        time.sleep(0.001)
        rounds += 1
    assert rounds > 5
