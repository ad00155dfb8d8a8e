"""Lists of answers where arms are singular, and in the corners of their ranges."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, shake
from poise import Model, ModelBuilder
from poise.goals import Reach
from poise.models.dh import add_links
from poise.models.panda import LINKS as PANDA_LINKS
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


def make_panda(endless: Callable[[int], bool]) -> Model:
    """Return a Panda of whose joints some turn without end."""
    links = [link._replace(lower=-np.inf, upper=np.inf) if endless(k) else link for k, link in enumerate(PANDA_LINKS)]
    builder = ModelBuilder("panda").add_frame("base")
    add_links(builder, "base", links)
    return builder.add_frame("tip", links[-1].frame, (0, 0, 0.1)).build()


@pytest.mark.parametrize("seed", [15, 43])
def test_an_interval_that_wraps_by_a_sliver_changes_no_arc(seed: int) -> None:
    free, bounded = make_panda(lambda k: k != 3), make_panda(lambda k: k == 6)
    q = bounded.random(np.random.default_rng(seed))
    q[6] = np.clip(q[6], -2, 2)
    T = np.asarray(bounded.fk(q, "tip"))
    end = max(arc.high for arc in poise.solve_all(free, Reach("tip", T), samples=1).arcs)
    found = []
    for past in (5e-7, -1e-3):
        turn = np.pi - end + past
        answers = poise.solve_all(bounded, Reach("tip", T @ turn_about_z(turn)), samples=1)
        wide = sorted(
            (arc.branch, arc.low - turn, arc.high - turn) for arc in answers.arcs if arc.high - arc.low > 3e-6
        )
        found.append((answers.complete, wide))
    assert found[0][0] == found[1][0]
    assert [arc[0] for arc in found[0][1]] == [arc[0] for arc in found[1][1]]
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


def turn_about_z(angle: float) -> np.ndarray:
    T = np.eye(4)
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return T
