"""Parts of a retargeted body with collision shapes do not collide, and nothing else moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poise
from poise import Motion
from poise.goals import Reach
from poise.limits import Clearance, Speed
from poise.limits.convex_parts import Overlaps, find_convex_parts
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Capsule, Shape
from poise.motion import Retargeter, retarget
from poise.motion.clips.collisions import find_collisions
from poise.motion.clips.whole_clip import solve_whole
from poise.motion.contact.ledger import Contacts
from poise.motion.problem import clip_problem
from poise.motion.problem.members import ContactPlaces, PartsApart
from poise.motion.problem.planes import cut_planes, find_plane_goals
from poise.motion.retargeting import offline
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
    part = np.zeros(FRAMES)
    part[FOLDED] = np.sin(np.linspace(0.0, np.pi, 20)) ** 2
    return fold_left_arm(part)


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
    found = find_collisions(Motion(robot, free, clip.fps))
    assert found is not None
    deep = np.flatnonzero(found.depths > 1e-3)
    changed = np.flatnonzero(np.abs(free - kept).max(axis=1) > 0.0)
    reach = round(clip_problem.SPREAD_S * clip.fps) + 1
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
    def fail(_: object) -> None:
        raise AssertionError("not called")

    monkeypatch.setattr(offline, "find_convex_parts", fail)
    retarget(clip[:4], robot, limits=[Clearance()])
    assert Retargeter(clip.model, robot, limits=[Clearance()]).separation is None
    assert Retargeter(clip.model, robot, clearance=False).separation is None


def test_a_stream_begins_anew(robot: poise.Model, clip: Motion) -> None:
    live = Retargeter(clip.model, robot, fps=clip.fps)
    first = [live.step(q).q for q in clip.q[24:32]]
    live.reset()
    np.testing.assert_array_equal([live.step(q).q for q in clip.q[24:32]], first)


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


def fold_left_arm(part: np.ndarray) -> Motion:
    """A walk whose left hand goes a share of the way into the chest in each frame."""
    walk = make_walk(len(part))
    model = walk.model
    arm = [joint.name for joint in model.joints_above("hand_l") if joint.nv and joint.name.endswith("_l")]
    goal = Reach("hand_l", model.fk(model.rest, "chest")[:3, 3] + (0.0, 0.06, 0.1))
    folded = poise.solve(model, [goal], joints=arm).q
    return Motion(model, model.integrate(walk.q, part[:, None] * model.difference(model.rest, folded)), walk.fps)


def measure_depths(motion: Motion) -> np.ndarray:
    """The depths of the collisions of all frames."""
    found = find_collisions(motion)
    assert found is not None
    return np.asarray(found.depths)


def test_a_correction_does_not_spread_over_a_cut(robot: poise.Model, clip: Motion) -> None:
    q = np.concatenate([clip.q[5:20], clip.q[26:40]])
    raised = np.zeros(clip.model.nv)
    raised[clip.model.joint("shoulder_r").v] = (0.0, 0.0, -1.5)
    q[15:] = clip.model.integrate(q[15:], raised)  # a posture that only moves elsewhere is not cut
    q[15:, 0] += 5.0
    free, kept = (
        retarget(Motion(clip.model, q, clip.fps), robot, clearance=each, touch=False).motion.q for each in (False, True)
    )
    np.testing.assert_array_equal(kept[:15], free[:15])
    assert np.abs(kept[15:] - free[15:]).max() > 0.05


def make_meetings(frames: int) -> Overlaps:
    """Meetings of the first pair for one of every four frames, at seven places of its first part."""
    pose = np.arange(0, frames, 4)
    numbers = [(name, "f8", shape) for name, shape in {"shift": 3, "depth": (), "normal": 3, "point": 3}.items()]
    turns = [("turn", "f8", (3, 3)), ("axes", "f8", (3, 3))]
    rows = np.zeros(len(pose), [("pair", "i8"), ("pose", "i8"), *turns, *numbers])
    rows["pose"], rows["turn"], rows["axes"] = pose, np.eye(3), np.eye(3)
    rows["depth"], rows["normal"], rows["point"][:, 0] = 0.01, (0.0, 0.0, 1.0), 0.05 * (pose // 4 % 7)
    return Overlaps(rows)


def test_the_goals_of_a_pair_are_as_many_as_its_points_however_often_it_meets(robot: poise.Model) -> None:
    parts = find_convex_parts(robot)
    assert parts is not None
    goals = find_plane_goals(parts, make_meetings(400))
    assert len(goals) == 7
    for frames in (range(400), range(100, 140)):
        cut = cut_planes(goals, frames, np.full(len(frames), 50.0))
        used = np.sum([goal.weights > 0.0 for goal in cut], axis=0)
        np.testing.assert_array_equal(used, np.array(frames) % 4 == 0)
    assert cut_planes(goals, range(101, 104), np.ones(3)) == []


@pytest.mark.parametrize("fps", [60.0, 120.0])
def test_a_collision_of_one_frame_is_corrected_at_every_rate(robot: poise.Model, fps: float) -> None:
    part = np.zeros(41)
    part[21] = 1.0
    hit = Motion(robot, fold_left_arm(part).q, fps)
    parts = find_convex_parts(robot)
    assert parts is not None
    apart, nothing = PartsApart(parts, fps, ()), Contacts((), len(hit), fps, None)
    kept = clip_problem.ClipProblem(hit, ContactPlaces(hit, nothing), [apart], [], (), 1.0, None).solve()
    assert measure_depths(hit)[21] > 0.02
    assert measure_depths(kept.motion).max() < 0.005


def test_long_collisions_are_solved_in_windows(robot: poise.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = fold_left_arm(np.sin(np.linspace(0.0, np.pi, 90)) ** 0.5)
    lengths, solve = list[int](), solve_whole

    def note(window: Motion, *args: Any, **named: Any) -> Any:
        lengths.append(len(window) * ("steady" in named and named["frozen"].any()))
        return solve(window, *args, **named)

    monkeypatch.setattr(clip_problem, "solve_whole", note)
    whole = retarget(clip, robot, touch=False).motion
    longest = max(lengths)
    lengths.clear()
    monkeypatch.setattr(clip_problem, "MOST_FRAMES", 1)
    kept = retarget(clip, robot, touch=False).motion
    assert max(lengths) < 0.6 * longest
    assert measure_depths(kept).max() < 0.005
    jolts = [np.abs(np.diff(robot.difference(m.q[:-1], m.q[1:]), axis=0)).max() for m in (whole, kept)]
    assert jolts[1] < 1.5 * jolts[0]
