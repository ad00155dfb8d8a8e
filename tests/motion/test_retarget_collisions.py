"""A body whose parts are in each other after a motion was carried over says so, where and which."""

import re

import numpy as np
import pytest

import poise
from poise import Motion
from poise.goals import Reach
from poise.limits import Clearance
from poise.limits.capsules import capsule_distances
from poise.limits.near_pairs import find_near_pairs
from poise.motion import quality, retarget
from poise.motion.clips import clear_lock
from walks import make_walk


def fold(walk, share):
    """The walk with its left hand led into the chest, so far at most, and back."""
    model = walk.model
    arm = [joint.name for joint in model.joints_above("hand_l") if joint.nv and joint.name.endswith("_l")]
    folded = poise.solve(model, [Reach("hand_l", model.fk(model.rest, "chest")[:3, 3])], joints=arm).q
    part = share * np.sin(np.linspace(0.0, np.pi, len(walk)))[:, None]
    return Motion(model, model.integrate(walk.q, part * model.difference(model.rest, folded)), walk.fps)


def stand(frames):
    """A body that stands still."""
    model = poise.load("humanoid")
    return Motion(model, np.tile(model.rest, (frames, 1)), 30.0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
def test_why_reports_self_collisions_that_quality_measures(share, mode):
    walk = fold(make_walk(24), share) if share else stand(24)
    carried = retarget(walk, poise.load("humanoid", scale=0.6), mode=mode, touch=False)
    known, told = carried.quality, carried.why()
    assert known.collision_max is not None
    assert known.collision_share is not None
    assert (known.collision_max > 1.0) == bool(share)
    assert ("collides with itself" in told) == bool(share)
    if share:
        found = re.search(
            r"collides with itself in .* in (\d+) of 24 .*most at frame (\d+) .*'(.*)' and '(.*)' by (.*) mm", told
        )
        assert found, told
        assert int(found[1]) == pytest.approx(24 * known.collision_share, abs=2.0)
        assert float(found[5]) == pytest.approx(known.collision_max, rel=0.06)
        worst = quality(carried.motion[int(found[2]) : int(found[2]) + 1]).collision_max
        assert worst == pytest.approx(known.collision_max, rel=1e-9)
        assert {found[3], found[4]} <= set(carried.motion.model.frames)
        assert any(part.endswith("_l") for part in (found[3], found[4]))
        assert "limits=[Clearance()]" in told


@pytest.mark.slow
def test_what_why_advises_helps():
    walk = fold(make_walk(24), 1.0)
    kept = retarget(walk, poise.load("humanoid", scale=0.6), limits=[Clearance()])
    assert kept.quality.collision_max == pytest.approx(0.0, abs=1e-3)
    assert "collides with itself" not in kept.why()


def test_pairs_that_stay_far_apart_are_left_out():
    clip, limit = fold(make_walk(24), 1.0), Clearance()
    model = clip.model
    every = limit.index_pairs(model)
    near = find_near_pairs(model, limit, clip.q, 0.02)
    assert 0 < len(near) < 0.5 * len(every)
    gaps = capsule_distances(model, limit.capsules(model), every, clip.q).min(axis=0)
    assert sorted(map(tuple, near.tolist())) == sorted(map(tuple, every[gaps < 0.02].tolist()))


def test_a_pair_that_meets_only_after_the_lock_is_found(monkeypatch):
    """With no margin, the first round knows only the pairs that overlap already."""
    monkeypatch.setattr(clear_lock, "NEAR_SHARE", 0.0)
    kept = retarget(fold(make_walk(16), 1.0), poise.load("humanoid", scale=0.6), limits=[Clearance()])
    assert kept.quality.collision_max < 1e-3
    assert kept.track.limits == (Clearance(),)
