"""Hands that touch other parts of the body in the source also do so in the result, and not more deeply."""

from functools import lru_cache

import numpy as np
import pytest

import poise
import walkers
from poise import Motion
from poise.errors import InvalidValue
from poise.goals import Reach, Rest
from poise.motion import retarget
from poise.motion.retargeting.touch.keeper import KeptTouch, describe_touches, shrink
from poise.motion.retargeting.touch.parts import find_parts, pair_solids

ARMS = [f"{part}_{side}" for part in ("clavicle", "shoulder", "elbow", "wrist") for side in "lr"]


def raise_arms(targets, frames=40):
    """The humanoid stands, moves its hands to places given by (frame, offset), and back."""
    model = poise.load("humanoid")
    goals = [
        Reach(hand, model.fk(model.rest, part)[:3, 3] + np.array(offset), name=hand)
        for hand, (part, offset) in targets.items()
    ]
    arms = [joint.name for joint in model.joints if joint.nv and joint.name in ARMS]
    there = poise.solve(model, [*goals, Rest(weight=1e-3)], joints=arms).q
    share = np.clip(1.6 * np.sin(np.linspace(0.0, np.pi, frames)), 0.0, 1.0)[:, None]
    return Motion(model, model.integrate(model.rest, share * model.difference(model.rest, there)), 30.0)


@lru_cache
def make_child():
    """A smaller humanoid; its pairs of parts are found once."""
    return poise.load("humanoid", scale=0.6)


CLAP = {"hand_l": ("chest", (0.035, -0.05, 0.3)), "hand_r": ("chest", (-0.035, -0.05, 0.3))}
POSES = {
    "clap": (CLAP, ("hand_l", "hand_r")),
    "head": ({"hand_l": ("head", (0.12, 0.05, 0.03))}, ("hand_l", "head")),
    "hip": ({"hand_r": ("pelvis", (-0.17, 0.05, 0.0))}, ("hand_r", "pelvis")),
}


@pytest.mark.parametrize("pose", POSES)
def test_hands_touch_as_in_the_source(pose):
    targets, pair = POSES[pose]
    clip, body = raise_arms(targets), walkers.make_character()
    without, kept = retarget(clip, body, touch=False), retarget(clip, body)
    touch = next(each for each in kept.touches if (each.hand, each.other) == pair)
    assert touch.touching.sum() > 5
    assert touch.error < 0.01
    assert measure_pair(without, pair)[touch.touching].max() > 0.04  # it is lost otherwise
    assert not without.touches
    assert f"{pair[0]} and {pair[1]} by up to" in kept.why()
    assert kept.quality.step_max < 1.25 * without.quality.step_max


def measure_pair(carried, pair):
    """The gap between two parts of the result."""
    model = carried.motion.model
    parts = find_parts(model, dict(poise.roles(model)), 1.0)
    sides = [(parts[pair[0]].solids, parts[pair[1]].around)]
    return pair_solids(model, sides).measure_gaps(np.array(model.fk(carried.motion.q)), 1.0)[0]


def test_clips_without_touch_are_the_same():
    """Arms that are stretched out to the sides are near nothing."""
    clip = raise_arms({"hand_l": ("chest", (0.7, 0.2, 0.1)), "hand_r": ("chest", (-0.7, 0.2, 0.1))})[10:30]
    body = walkers.make_character()
    assert np.array_equal(retarget(clip, body).motion.q, retarget(clip, body, touch=False).motion.q)
    assert not retarget(clip, body).touches


def test_hands_that_overlap_in_the_source_do_not_in_the_result():
    near = {hand: (part, (0.5 * x, y, z)) for hand, (part, (x, y, z)) in CLAP.items()}
    clip, body = raise_arms(near), walkers.make_character()
    without, kept = retarget(clip, body, touch=False), retarget(clip, body)
    touching = kept.touches[0].touching
    assert np.abs(measure_pair(without, ("hand_l", "hand_r"))[touching]).max() > 0.03
    gaps = np.abs(measure_pair(kept, ("hand_l", "hand_r"))[touching])
    assert gaps.max() < 0.015  # in the first and last frame of the touch
    assert gaps[1:-1].max() < 0.005


def test_gaps_are_measured_often_enough_at_a_high_frame_rate():
    """They are measured in every third frame of this clip."""
    slow, body = raise_arms(CLAP), walkers.make_character()
    model, times = slow.model, np.linspace(0.0, len(slow) - 1.001, 157)
    first = times.astype(int)
    steps = model.difference(slow.q[first], slow.q[first + 1])
    q = model.integrate(slow.q[first], (times - first)[:, None] * steps)
    kept = retarget(Motion(model, q, 120.0), body)
    assert kept.touches[0].touching.sum() > 20
    assert kept.touches[0].error < 0.01


def test_touch_is_true_or_false():
    clip = raise_arms(CLAP, frames=4)
    with pytest.raises(InvalidValue, match="touch"):
        retarget(clip, clip.model, touch="yes")
    retarget(clip, clip.model, touch=np.False_)


def test_touch_is_the_same_in_every_unit():
    clip = raise_arms(CLAP, frames=8)
    child = poise.load("humanoid", scale=0.8)
    one, other = (retarget(clip, each).motion.q[:, 7:] for each in (child, poise.load("humanoid", scale=80.0)))
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_parts_without_shapes_have_the_thickness_of_a_person():
    """Robots often have shapes on some parts only, such as the feet."""
    kept = retarget(raise_arms(CLAP, frames=8), walkers.make_machine())
    assert {(touch.hand, touch.other) for touch in kept.touches} == {("hand_l", "hand_r")}


def test_parts_of_a_bare_skeleton_have_the_flesh_of_a_person():
    model = walkers.make_character()
    parts = find_parts(model, dict(poise.roles(model)), 1.0)
    assert {"hand_l", "hand_r", "head", "chest", "pelvis", "thigh_l", "shin_r", "forearm_l", "upper_arm_r"} <= set(
        parts
    )
    radii = {name: part.solids[0].radius[0] for name, part in parts.items()}
    assert radii["hand_l"] < radii["thigh_l"] < radii["pelvis"]
    doubled = find_parts(model, dict(poise.roles(model)), 2.0)
    assert doubled["head"].solids[0].radius[0] == pytest.approx(2.0 * radii["head"])


def test_small_differences_are_tolerated():
    x = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, 0.0]])
    assert shrink(x, np.array([2.5, 2.0, 1.0])) == pytest.approx(np.array([[1.5, 2.0], [0.0, 0.0], [0.0, 0.0]]))


def test_the_worst_touch_is_named_first():
    flags, errors = np.array([True, True, False]), np.array([0.001, -0.004, 0.9])
    one, other = KeptTouch("hand_l", "head", flags, errors), KeptTouch("hand_r", "chest", flags, 2.0 * errors)
    assert one.worst == 1
    assert one.error == pytest.approx(0.004)
    (message,) = describe_touches([one, other], 10.0, 1.0)
    assert message.index("hand_r and chest by up to 8.0 mm") < message.index("hand_l and head by up to 4.0 mm")
    assert "worst at frame 1, 0.10 s" in message
    assert describe_touches([], 10.0, 1.0) == []
