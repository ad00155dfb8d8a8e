"""The whole body and the floor: its depth below it, and bodies that lie on it."""

from dataclasses import replace

import numpy as np

import poise
import walkers
from dirt import move_root
from falls import fall
from poise import Motion
from poise.goals import Orient
from poise.kinematics.carriers import find_root
from poise.motion import Contact, Contacts, Track, contacts, quality, retarget
from poise.motion.clips.lock import lock_places
from poise.motion.clips.lock_options import LockOptions
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.body_floor import measure_depth, measure_heights
from poise.motion.contact.curves import spread_peaks
from poise.motion.retargeting.goal_targets import keep_directions
from poise.motion.retargeting.offline import HELD_SINK_M, TURN_WEIGHT, hold_above_floor
from walks import make_walk


def test_the_depth_of_a_lying_body_is_measured_and_its_part_named():
    clip = fall()
    ledger = contacts(clip, floor=contacts(clip[:8]).floor)
    measured = quality(clip, contacts=ledger)
    assert measured.sink_max > 50.0
    assert measured.sink_share > 0.2
    message = Track(clip, {}, {}, ledger).why()
    assert message.startswith("The body is below the floor by more than 1 mm in")
    assert "'" in message.splitlines()[0]


def test_an_upright_body_is_not_below_the_floor():
    walk = make_walk(60)
    assert quality(walk).sink_max < 1.0
    assert "below the floor" not in Track(walk, {}, {}, contacts(walk)).why()


def test_a_body_that_lies_down_stays_above_the_floor():
    """The child's hips would be as low as those of the source, and its trunk in the floor."""
    carried = retarget(fall(depth=0.0), poise.load("humanoid", scale=0.6))
    assert carried.quality.sink_max < 2.0
    assert "below the floor" not in carried.why()


def test_contacts_that_pull_a_character_into_the_floor_are_held_above_it_again():
    """After two rounds of holding it above the floor, a part of this body is still 30 mm deep."""
    assert measure_depth(retarget(fall(depth=0.15), walkers.make_character()).motion) < HELD_SINK_M


def test_a_stream_that_lies_down_stays_above_the_floor():
    carried = retarget(fall(depth=0.0), poise.load("humanoid", scale=0.6), mode="online")
    assert carried.quality.sink_max < 5.0
    assert carried.quality.step_max < 0.5


def test_a_stream_that_begins_with_a_pose_elsewhere_does_not_float():
    """Many recordings begin with a T-pose, whose feet may be far below the floor."""
    walk, model = make_walk(40), poise.load("humanoid", scale=0.6)
    q = np.array(walk.q)
    q[0, 1] -= 0.6
    plain, cut = (retarget(Motion(walk.model, each, walk.fps), model, mode="online") for each in (walk.q, q))
    heights = [each.motion.positions("pelvis")[10:, 1] for each in (plain, cut)]
    assert np.abs(heights[1] - heights[0]).max() < 0.02


def test_a_lift_is_smooth_and_nowhere_lower_than_the_depth():
    depths = np.zeros(60)
    depths[20:30] = 0.1
    lift = spread_peaks(depths, 3)
    assert (lift >= depths - 1e-15).all()
    assert np.abs(np.diff(lift)).max() < 0.06
    assert not lift[:10].any()


def test_contacts_do_not_pull_a_lying_body_into_the_floor():
    """Its heels are to stand 5 cm deeper: the hips would follow them."""
    clip = fall(depth=0.0)
    heights = measure_heights(clip)
    assert heights is not None
    up = clip.model.up_direction
    clip = move_root(clip, np.tile(max(float(heights.depths.max()), 0.0) * up, (len(clip), 1)))
    last = len(clip)
    heels = [Contact(f"heel_{side}", last - 12, last) for side in "lr"]
    deep = [replace(c, place=tuple(clip.positions(c.frame)[-12:].mean(axis=0) - 0.05 * up)) for c in heels]
    ledger = Contacts(tuple(deep), last, clip.fps, 0.0)
    options = LockOptions(1.0, None, (), None)
    track = hold_above_floor(clip, ledger, options, True, find_root(clip.model, "pelvis"))
    for motion, deepest in ((track.motion, (-1.0, 2e-3)), (lock_places(clip, ledger, options).motion, (0.02, 1.0))):
        found = measure_heights(motion)
        assert found is not None
        assert deepest[0] < found.depths.max() < deepest[1]
    assert not track.limits


def test_a_lying_body_keeps_its_trunk_while_a_foot_above_the_floor_is_held():
    """One heel is to stand 15 cm deeper: its leg bends, and the trunk turns less than without its own goal."""
    clip = fall(depth=0.0)
    heights = measure_heights(clip)
    assert heights is not None
    up, last = clip.model.up_direction, len(clip)
    clip = move_root(clip, np.tile((max(float(heights.depths.max()), 0.0) + 0.15) * up, (last, 1)))
    place = clip.positions("heel_l")[-12:].mean(axis=0) - 0.15 * up
    ledger = Contacts((Contact("heel_l", last - 12, last, place=tuple(place)),), last, clip.fps, 0.0)
    turns = np.asarray(clip.model.fk(clip.q, "chest"))[:, :3, :3]
    targets = np.c_[turns.reshape(-1, 9), np.zeros((last, 3))]
    trunk = ClipGoal(Orient("chest", np.eye(3), name="chest turned"), targets, np.ones(last))
    off = []
    for wanted in ([], [trunk]):
        options = LockOptions(1.0, None, (), None, extra=tuple(keep_directions(clip, wanted, TURN_WEIGHT)))
        track = hold_above_floor(clip, ledger, options, True, None)
        assert not track.released
        now = np.asarray(clip.model.fk(track.motion.q, "chest"))[:, :3, :3]
        off.append(np.arccos(np.clip(0.5 * ((now * turns).sum(axis=(1, 2)) - 1.0), -1.0, 1.0)).max())
    assert off[1] < 0.6 * off[0]
