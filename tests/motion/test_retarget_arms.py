"""Branches of hinges: a whole clip stays in one of them, in hips, legs and arms."""

import numpy as np
import pytest

import walkers
from falls import fall
from poise import Motion
from poise.goals import Orient
from poise.motion import Contacts, retarget
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.retargeting.arms import branches
from poise.motion.retargeting.arms.branches import approach_directions, choose_answers, find_arms
from poise.motion.retargeting.arms.hinges import limit_path, limit_speed
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.result import prepare


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr(walkers, "THREE", (("pitch", "y"), ("roll", "x"), ("yaw", "z")))
    return walkers.make_machine(bend=0.2)


def kick(model, seed, frames=45):
    """A leg that goes up and comes down again, past where two axes of its hip lie in one line."""
    rng, u = np.random.default_rng(seed), np.linspace(0.0, 1.0, frames)
    steps = np.zeros((frames, model.nv))
    for part, most in (("pitch", 2.0), ("roll", 2.1), ("yaw", 1.5)):
        up, sway = rng.uniform(-most, most), rng.uniform(-0.4, 0.4)
        steps[:, model.joint(f"left_hip_{part}").v.start] = up * np.sin(np.pi * u) ** 2 + sway * np.sin(2.0 * np.pi * u)
    steps[:, model.joint("left_knee").v.start] = rng.uniform(0.3, 1.6) * np.sin(np.pi * u) ** 2
    return Motion(model, model.clamp(model.integrate(model.rest, steps)), 30.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [13, 28, 41, 42, 46, 51])
def test_a_kick_does_not_jump_from_one_branch_to_the_other(machine, seed):
    clip = kick(machine, seed)
    carried = retarget(clip, machine, contacts=Contacts((), len(clip), clip.fps, 0.0)).motion
    asked, made = (np.abs(np.diff(each.q[:, 7:], axis=0)).max() for each in (clip, carried))
    assert made < 2.0 * asked
    for frame in ("left_knee", "left_foot"):
        away = clip.positions(frame) - clip.positions("pelvis") - carried.positions(frame) + carried.positions("pelvis")
        assert np.linalg.norm(away, axis=1).max() < 0.1


def test_a_leg_that_sits_to_the_side_keeps_its_directions(monkeypatch):
    """Solved from the rest pose alone, thigh and shin of the robot end 60 degrees off."""
    model, share = walkers.make_character(), np.clip(np.linspace(0.0, 2.0, 60), 0.0, 1.0)
    steps = np.zeros((60, model.nv))
    for name, turn in (("hip_l", (0.78, 1.17, 0.42)), ("knee_l", (2.2, 0.0, 0.0))):
        v = model.joint(name).v
        steps[:, v.stop - 3 : v.stop] = np.outer(share * share * (3.0 - 2.0 * share), turn)
    clip = Motion(model, model.integrate(model.rest, steps), 30.0)

    def carry():
        return retarget(
            clip, walkers.make_machine(), contacts=Contacts((), 60, 30.0, None), touch=False, clearance=False
        )

    made = carry()
    assert np.degrees(made.bone_errors.max()) < 10.0
    assert np.abs(np.diff(made.motion.q[:, 7:], axis=0)).max() < 0.5
    monkeypatch.setattr(branches, "find_wrong_legs", lambda *_: [])
    assert np.degrees(carry().bone_errors.max()) > 30.0


def test_directions_of_the_free_motion_are_kept_not_those_of_the_source():
    """The first frame of the source is a T-pose that the free motion does not follow."""
    clip = fall(depth=0.0)
    turns = np.asarray(clip.model.fk(clip.q, "chest"))[:, :3, :3]
    targets = np.c_[turns.reshape(-1, 9), np.zeros((len(clip), 3))]
    targets[0, :9] = np.diag([-1.0, 1.0, -1.0]).ravel()
    wanted = ClipGoal(Orient("chest", np.eye(3), name="chest turned"), targets, np.ones(len(clip)))
    (kept,) = keep_directions(clip, [wanted], 2.0)
    assert kept.targets is not None
    assert np.abs(kept.targets[:, :9] - turns.reshape(-1, 9)).max() < 1e-12


MOST_STEP = 0.5  # rad per frame at 30 frames per second


@pytest.fixture(scope="module")
def upright():
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
def test_arms_that_swing_out_of_range_neither_jump_nor_turn_the_trunk(upright):
    made = retarget(swing((1.0, 0.0, 0.0), 1.0), upright, touch=False).motion
    assert np.abs(np.diff(made.q[:, 7:], axis=0)).max() <= MOST_STEP
    assert measure_turn(made, "pelvis").max() < 10.0
    assert measure_turn(made, "torso").max() < 45.0


def test_one_answer_per_frame_is_chosen_over_the_whole_clip(upright):
    arm = find_arms(prepare(walkers.make_character(), upright, None, "auto", None))[0]
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


def test_slow_motions_stay_as_they_are(upright):
    q = np.tile(upright.rest, (30, 1))
    q[:, 8:] += np.linspace(0.0, 0.4, 30)[:, None]
    assert (limit_speed(Motion(upright, q, 30.0), upright.joints).q == q).all()


def test_the_trunk_shares_small_errors_of_arms_but_not_large_ones():
    reached = np.array([[1.0, 0.0, 0.0]])
    for angle, shared in ((0.1, 0.1), (0.225, 0.075), (0.5, 0.0)):
        wanted = np.array([[np.cos(angle), np.sin(angle), 0.0]])
        made = approach_directions(reached, wanted)[0]
        assert np.arctan2(made[1], made[0]) == pytest.approx(shared, abs=1e-9)
