"""Reports of retargeted clips: self-collisions with their place and parts, and results in one line."""

from __future__ import annotations

import re

import numpy as np
import pytest

import poise
from poise import Motion, motion
from poise.goals import Grasp, Reach
from poise.limits import Clearance
from poise.limits.capsules import capsule_distances
from poise.limits.near_pairs import find_near_pairs
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Shape
from poise.motion import quality, retarget
from poise.motion.clips.faults import find_self_curve
from poise.motion.clips.result import Track
from poise.motion.contact.ledger import Contacts
from poise.motion.problem import members
from poise.motion.retargeting.result import describe_collisions
from poise.spatial import Transform
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
    known, message = carried.quality, carried.why()
    assert known.collision_max is not None
    assert known.collision_share is not None
    assert (known.collision_max > 1.0) == bool(share)
    assert ("collides with itself" in message) == bool(share)
    if share:
        found = re.search(
            r"collides with itself by .* in (\d+) of 24 .*most at frame (\d+) .*'(.*)' and '(.*)' by (.*) mm", message
        )
        assert found, message
        assert int(found[1]) == pytest.approx(24 * known.collision_share, abs=2.0)
        assert float(found[5]) == pytest.approx(known.collision_max, rel=0.06)
        worst = quality(carried.motion[int(found[2]) : int(found[2]) + 1]).collision_max
        assert worst == pytest.approx(known.collision_max, rel=1e-9)
        assert {found[3], found[4]} <= set(carried.motion.model.frames)
        assert any(part.endswith("_l") for part in (found[3], found[4]))
        assert "limits=[Clearance()]" in message


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
    monkeypatch.setattr(members, "NEAR_SHARE", 0.0)
    kept = retarget(fold(make_walk(16), 1.0), poise.load("humanoid", scale=0.6), limits=[Clearance()])
    assert kept.quality.collision_max < 1e-3
    assert kept.track.limits == (Clearance(),)


def overlap(depth: float, scale: float = 1.0) -> Motion:
    """Return a body that stands, with boxes around its hands that overlap by a depth [m]."""
    body = poise.load("humanoid", scale=scale)
    ends = [body.fk(body.rest, f"hand_{side}") for side in "lr"]
    middle = 0.5 * (ends[0][:3, 3] + ends[1][:3, 3])
    tiny = Box((0.01 * scale, 0.01 * scale, 0.01 * scale))
    names = ["chest", *(f"{name}_{side}" for side in "lr" for name in ("shoulder", "elbow"))]
    shapes = [Shape(name, tiny, Transform(), "collision") for name in names]
    for side, sign, T in (("l", 1.0, ends[0]), ("r", -1.0, ends[1])):
        place = np.eye(4)
        place[:3, 3] = middle + sign * np.array([0.05 * scale - 0.5 * depth, 0.0, 0.0])
        box = Box((0.1 * scale, 0.1 * scale, 0.1 * scale))
        shapes.append(Shape(f"hand_{side}", box, Transform.from_matrix(np.linalg.inv(T) @ place), "collision"))
    model = with_shapes(body, shapes)
    return Motion(model, np.tile(model.rest, (3, 1)), 30.0)


def describe(motion: Motion, *limits: Clearance, separated: bool = True) -> str:
    track = Track(motion, {}, {}, Contacts((), len(motion), motion.fps, 0.0), limits=limits)
    found = find_self_curve(motion)
    assert found is not None
    return " ".join(describe_collisions(track, separated, found))


def test_the_clearest_fault_is_reported_first() -> None:
    found = quality(overlap(0.02))
    assert [fault.kind for fault in found.faults] == ["itself", "floor"]
    assert re.match(r"worst     'hand_l' and 'hand_r' \d\d mm inside each other at frame 0\n", str(found))


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_collisions_that_separation_accepts_are_not_reported(scale: float) -> None:
    assert describe(overlap(0.002 * scale, scale)) == ""
    assert "in 3 of 3 frames (" in describe(overlap(0.005 * scale, scale))


def test_the_advice_fits_the_options() -> None:
    deep = overlap(0.02)
    assert "'hand_l' and 'hand_r' by 20 mm, which limbs could not avoid: limits=[Clearance()]" in describe(deep)
    assert describe(deep, separated=False).endswith("mm: clearance=True keeps them apart.")
    assert "Clearance does not check" in describe(deep, Clearance(), separated=False)


def carry(walk):
    return motion.retarget(walk, poise.load("humanoid", scale=0.6))


def hold(walk):
    path = np.tile(np.eye(4), (len(walk), 1, 1))
    path[:, 1:3, 3] = 0.9, 0.42
    box = poise.Object(Box((0.36, 0.24, 0.26)), path, name="box", fps=walk.fps)
    return motion.track(walk.model, [Grasp("hand_l", box), Grasp("hand_r", box)])


CASES = {
    "Retargeted": carry,
    "Track": motion.lock,
    "HeldTrack": hold,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_results_of_clips_print_in_one_short_line(name):
    result = CASES[name](make_walk(20))
    line = repr(result)
    assert line.startswith(f"<{name} ")
    assert "20 frames" in line
    assert "\n" not in line
    assert len(line) < 120
    assert repr(result.motion.model.name) in line
    if name == "Retargeted":
        assert repr(result.track).startswith("<Track ")
