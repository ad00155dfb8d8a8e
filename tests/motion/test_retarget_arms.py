"""Arms of robots: no jumps, and no trunk that turns for an arm out of reach."""

import numpy as np
import pytest

import walkers
from poise import Motion
from poise.motion import retarget
from poise.motion.retargeting.arms.branches import approach_directions, choose_answers, find_arms
from poise.motion.retargeting.arms.hinges import limit_path, limit_speed
from poise.motion.retargeting.result import prepare

MOST_STEP = 0.5  # rad per frame at 30 frames per second


@pytest.fixture(scope="module")
def machine():
    return walkers.make_machine()


def swing(axis, turns, frames=60):
    """Both arms of a character swing about an axis, mirrored."""
    model, u = walkers.make_character(), np.linspace(0.0, 1.0, frames)
    steps = np.zeros((len(u), model.nv))
    for side, sign in (("l", 1.0), ("r", -1.0)):
        v = model.joint(f"shoulder_{side}").v
        steps[:, v.stop - 3 : v.stop] = np.outer(2.0 * np.pi * turns * u, sign * np.array(axis))
    return Motion(model, model.integrate(model.rest, steps), 30.0)


def measure_turn(motion, frame):
    """The largest rotation of a part that stands still in the source [degrees]."""
    turned = motion.model.fk(motion.q, frame)[:, :3, :3]
    cosines = 0.5 * (np.trace(turned, axis1=1, axis2=2) - 1.0)
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


@pytest.mark.slow
def test_arms_that_swing_out_of_range_neither_jump_nor_turn_the_trunk(machine):
    made = retarget(swing((1.0, 0.0, 0.0), 1.0), machine, touch=False).motion
    assert np.abs(np.diff(made.q[:, 7:], axis=0)).max() <= MOST_STEP
    assert measure_turn(made, "pelvis").max() < 10.0
    assert measure_turn(made, "torso").max() < 45.0


def test_one_answer_per_frame_is_chosen_over_the_whole_clip(machine):
    arm = find_arms(prepare(walkers.make_character(), machine, None, "auto", None))[0]
    layers = np.zeros((20, 2, len(arm.columns)))
    layers[:, 1, 0] = 1.5
    misses = np.zeros((20, 2, 1))
    misses[9, 0], misses[:, 1] = 0.5, 0.6
    misses[9, 1] = 0.0
    assert (choose_answers(arm, layers, misses, 30.0) == 0.0).all()  # a bad frame alone is not worth two changes
    misses[10:, 0] = 2.0
    path = choose_answers(arm, layers, misses, 30.0)
    assert (path[:9, 0] == 0.0).all()
    assert (path[10:, 0] == 1.5).all()


def test_a_jump_becomes_the_nearest_path_within_a_speed():
    path = np.repeat([0.0, 2.0], 20)
    made = limit_path(path, 0.25)
    assert np.abs(np.diff(made)).max() <= 0.25 + 1e-12
    assert np.abs(made - path).max() <= 1.0 + 1e-12
    assert (made[[0, -1]] == path[[0, -1]]).all()


def test_slow_motions_stay_as_they_are(machine):
    q = np.tile(machine.rest, (30, 1))
    q[:, 8:] += np.linspace(0.0, 0.4, 30)[:, None]
    assert (limit_speed(Motion(machine, q, 30.0), machine.joints).q == q).all()


def test_the_trunk_shares_small_errors_of_arms_but_not_large_ones():
    reached = np.array([[1.0, 0.0, 0.0]])
    for angle, shared in ((0.1, 0.1), (0.225, 0.075), (0.5, 0.0)):
        wanted = np.array([[np.cos(angle), np.sin(angle), 0.0]])
        made = approach_directions(reached, wanted)[0]
        assert np.arctan2(made[1], made[0]) == pytest.approx(shared, abs=1e-9)
