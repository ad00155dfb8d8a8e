"""Legs of robots: a leg that ends in a wrong branch finds the right one, and lying bodies keep their directions."""

from dataclasses import replace

import numpy as np

import walkers
from dirt import move_root
from falls import fall
from poise import Motion
from poise.goals import Orient
from poise.motion import Contact, Contacts, retarget
from poise.motion.clips.lock import list_goals, lock_places, measure_pull
from poise.motion.clips.lock_options import LockOptions
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.retargeting.arms import branches
from poise.motion.retargeting.goal_targets import keep_directions


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


def test_a_body_far_from_its_contacts_comes_nearer_before_they_are_held(monkeypatch):
    clip = fall(depth=0.0)
    up, last = clip.model.up_direction, len(clip)
    clip = move_root(clip, np.tile(0.25 * up, (last, 1)))
    place = clip.positions("heel_l")[-12:].mean(axis=0) - 0.25 * up
    ledger = Contacts((Contact("heel_l", last - 12, last, place=tuple(place)),), last, clip.fps, 0.0)
    options = LockOptions(1.0, None, (), None, approach=True)
    near = Motion(clip.model, options.solve_softly(clip, list_goals(clip, ledger)), clip.fps)
    assert 0.01 < measure_pull(near, ledger) < 0.5 * measure_pull(clip, ledger)
    came = []
    monkeypatch.setattr(LockOptions, "solve_softly", lambda *_: came.append(1) or near.q)
    lock_places(clip, ledger, options)
    assert len(came) == 1
    lock_places(clip, ledger, replace(options, approach=False))
    lock_places(near, ledger, options)
    assert len(came) == 1, "neither without being asked, nor from nearby"
