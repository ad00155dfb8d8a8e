"""Parts of a retargeted body with collision shapes do not collide, and nothing else moves."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.limits import Clearance, Speed
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Capsule, Shape
from poise.motion import Retargeter, retarget
from poise.motion.clips.collisions import find_collisions
from poise.motion.retargeting.separation import clip_separation
from poise.spatial import Transform
from walks import make_walk

FRAMES = 60
FOLDED = slice(20, 40)


@pytest.fixture(scope="module")
def robot() -> poise.Model:
    """The humanoid at another size, with a box for a trunk and capsules for its hands."""
    body = poise.load("humanoid", scale=0.8)
    shapes = [Shape("chest", Box((0.24, 0.32, 0.16)), Transform(None, (0.0, 0.05, 0.0)), "collision")]
    for side in "lr":
        for name, radius in (("shoulder", 0.01), ("elbow", 0.02), ("hand", 0.03)):
            shapes.append(Shape(f"{name}_{side}", Capsule(radius, 0.04), Transform(), "collision"))
    return with_shapes(body, shapes)


@pytest.fixture(scope="module")
def clip() -> Motion:
    """A walk whose left hand goes through the chest in its middle third."""
    walk = make_walk(FRAMES)
    model = walk.model
    arm = [joint.name for joint in model.joints_above("hand_l") if joint.nv and joint.name.endswith("_l")]
    folded = poise.solve(
        model, [Reach("hand_l", model.fk(model.rest, "chest")[:3, 3] + (0.0, 0.06, 0.1))], joints=arm
    ).q
    part = np.zeros((FRAMES, 1))
    part[FOLDED, 0] = np.sin(np.linspace(0.0, np.pi, 20)) ** 2
    return Motion(model, model.integrate(walk.q, part * model.difference(model.rest, folded)), walk.fps)


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_hand_does_not_go_through_the_chest(robot: poise.Model, clip: Motion, mode: str) -> None:
    free = retarget(clip, robot, mode=mode, clearance=False, touch=False)
    kept = retarget(clip, robot, mode=mode, touch=False)
    before, after = (find_collisions(each.motion) for each in (free, kept))
    assert before is not None
    assert after is not None
    assert before.deepest > 0.02
    assert after.deepest < (0.005 if mode == "clip" else 0.01)
    arms = np.array([joint.name.endswith("_l") and "hip" not in joint.name for joint in robot.joints])
    moved = [np.abs(free.motion.q[:, j.q] - kept.motion.q[:, j.q]).max(initial=0.0) > 1e-9 for j in robot.joints]
    legs = {joint.name for side in "lr" for joint in robot.joints_above(f"toe_{side}")}
    assert any(np.array(moved) & arms)
    assert not any(each for each, joint in zip(moved, robot.joints, strict=True) if joint.name in legs)
    assert [c.place for c in kept.contacts] == [c.place for c in free.contacts]
    steps = [np.abs(robot.difference(m.q[:-1], m.q[1:])).max() for m in (free.motion, kept.motion)]
    assert steps[1] < 1.5 * steps[0]


def test_frames_far_from_a_collision_stay_as_they_are(robot: poise.Model, clip: Motion) -> None:
    free, kept = (retarget(clip, robot, clearance=each, touch=False).motion.q for each in (False, True))
    deep = np.flatnonzero(find_collisions(Motion(robot, free, clip.fps)).depths > 1e-3)  # type: ignore[union-attr]
    changed = np.flatnonzero(np.abs(free - kept).max(axis=1) > 0.0)
    reach = round(clip_separation.SPREAD_S * clip.fps) + 1
    assert len(changed)
    assert changed.min() >= deep.min() - reach
    assert changed.max() <= deep.max() + reach


def test_a_clip_without_collisions_is_not_changed(robot: poise.Model) -> None:
    walk = make_walk(24)
    free, kept = (retarget(walk, robot, clearance=each).motion.q for each in (False, True))
    np.testing.assert_array_equal(free, kept)


def test_limits_still_hold(robot: poise.Model, clip: Motion) -> None:
    fastest = 6.0
    part = clip[15:45]
    kept = retarget(part, robot, limits=[Speed(fastest)], touch=False).motion
    speeds = np.abs(robot.difference(kept.q[:-1], kept.q[1:])) * clip.fps
    inner = [joint.v for joint in robot.joints if joint.nv and joint.parent is not None]
    assert max(speeds[:, v].max(initial=0.0) for v in inner) < fastest * (1.0 + 1e-6)
    found = find_collisions(kept)
    assert found is not None
    assert found.deepest < 0.02


def test_a_clearance_among_the_limits_replaces_it(
    robot: poise.Model, clip: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("not called")

    monkeypatch.setattr("poise.motion.retargeting.offline.separate_parts", fail)
    retarget(clip[:4], robot, limits=[Clearance()])
    assert Retargeter(clip.model, robot, limits=[Clearance()]).separation is None
    assert Retargeter(clip.model, robot, clearance=False).separation is None


def test_a_stream_begins_anew(robot: poise.Model, clip: Motion) -> None:
    live = Retargeter(clip.model, robot, fps=clip.fps)
    first = [live.step(q).q for q in clip.q[24:32]]
    live.reset()
    np.testing.assert_array_equal([live.step(q).q for q in clip.q[24:32]], first)


@pytest.mark.parametrize("given", ["no", 0.01, None])
def test_clearance_is_a_switch(robot: poise.Model, clip: Motion, given: object) -> None:
    with pytest.raises(InvalidValue, match=r"clearance is .*True or False"):
        retarget(clip[:2], robot, clearance=given)  # type: ignore[arg-type]


def test_knees_of_a_standing_body_keep_apart() -> None:
    model = poise.load("humanoid")
    goals = [Reach(f"foot_{side}", model.fk(model.rest, f"foot_{side}")) for side in "lr"]
    knees = [Reach(f"knee_{side}", (sign * 0.06, 0.48, 0.12), priority=1) for side, sign in (("l", 1.0), ("r", -1.0))]
    knocked = poise.solve(model, [*goals, *knees]).q
    part = np.sin(np.linspace(0.0, np.pi, 30))[:, None] ** 2
    clip = Motion(
        model, model.integrate(np.tile(model.rest, (30, 1)), part * model.difference(model.rest, knocked)), 30.0
    )
    body = poise.load("humanoid", scale=0.8)
    boxes = [Shape(f"knee_{side}", Box((0.15, 0.1, 0.1)), Transform(), "collision") for side in "lr"]
    robot = with_shapes(body, [Shape("pelvis", Box((0.1, 0.1, 0.1)), Transform(), "collision"), *boxes])
    free, kept = (retarget(clip, robot, clearance=each) for each in (False, True))
    before, after = (find_collisions(each.motion) for each in (free, kept))
    assert before is not None
    assert after is not None
    assert before.deepest > 0.008
    assert after.deepest < 0.5 * before.deepest
    assert not kept.track.released
    assert kept.quality.slip_max < 0.01
