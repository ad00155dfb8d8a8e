"""The border of the reachable set: a target within the tolerances of a pose is reached, even with joints at limits."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.goals import Orient, Reach
from poise.solvers import Status

ROWS = 400
FRAMES = {"panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee", "ur5e": "tool0"}
METRES, RADIANS = 1e-4, 1e-3  # what a goal tolerates unless it says otherwise


def draw_near(model: poise.Model, frame: str, share: float = 0.95):
    """Return transforms that are off a pose's by a share of both tolerances; half of its joints are at an end."""
    rng = np.random.default_rng(0)
    q = model.random(rng, ROWS)
    ends = np.where(rng.random(q.shape) < 0.5, model.lower, model.upper)
    ends = np.where(np.abs(ends) > 6.0, 0.0, ends)
    T = model.fk(np.where(rng.random(q.shape) < 0.5, ends, q), frame)
    turn, way = rng.normal(size=(2, ROWS, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    T[:, :3, 3] += share * METRES * way
    off = [poise.Rotation.from_axis_angle(axis / np.linalg.norm(axis), share * RADIANS).matrix for axis in turn]
    T[:, :3, :3] = np.array(off) @ T[:, :3, :3]
    return T


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_what_is_within_both_tolerances_of_a_pose_is_reached(name):
    """The least sum of squares may miss in metres alone, where a little more turn would have brought it within both."""
    model, frame = poise.load(name), FRAMES[name]
    T = draw_near(model, frame)
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), T)
    assert not (np.array(batch.status) == Status.UNREACHABLE).any()
    assert batch.reached.mean() >= 0.99
    assert ((batch.errors[frame][batch.reached] <= (METRES, RADIANS)).all(axis=1)).all()
    one_by_one = [poise.solve(model, Reach(frame, T[i])).reached for i in range(60)]
    assert one_by_one == batch.reached[:60].tolist()


@pytest.mark.slow
def test_two_goals_are_weighed_by_their_own_tolerances():
    """A place and a rotation that are two goals, of other weights: both are within where a pose is within both."""
    model = poise.load("iiwa14")
    T = draw_near(model, "iiwa_link_ee")
    goals = [Reach("iiwa_link_ee", (0, 0, 0), weight=0.5), Orient("iiwa_link_ee", np.eye(3), name="turn", weight=3.0)]
    batch = poise.solve_batch(model, goals, {"iiwa_link_ee": T[:, :3, 3], "turn": T[:, :3, :3]})
    assert batch.reached.mean() >= 0.99
