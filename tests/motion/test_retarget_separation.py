"""Parts of a retargeted body with collision shapes do not collide, and nothing else moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from poise import Motion
from poise.goals import Reach
from poise.limits import Clearance, Speed
from poise.limits.convex_parts import Overlaps, find_convex_parts
from poise.limits.support_points import PointClearance
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Capsule, Shape
from poise.motion import Retargeter, retarget
from poise.motion.clips.collisions import find_collisions
from poise.motion.clips.whole_clip import solve_whole
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.problem import planes
from poise.motion.problem.planes import list_plane_goals
from poise.motion.retargeting.result import prepare
from poise.motion.retargeting.separation import limb_correction
from poise.spatial import Rotation, Transform
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
    reach = round(limb_correction.SPREAD_S * clip.fps) + 1
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

    monkeypatch.setattr(limb_correction, "find_convex_parts", fail)
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


def test_a_body_that_only_turns_in_one_frame_keeps_its_posture(clip: Motion) -> None:
    q, joints = np.array(clip.q), ["shoulder_l", "shoulder_r"]
    q[30:, 0] += 5.0
    assert find_cuts(Motion(clip.model, q, clip.fps)) == [30]
    assert limb_correction.find_posture_cuts(Motion(clip.model, q, clip.fps), joints) == []
    raised = np.zeros(clip.model.nv)
    raised[clip.model.joint("shoulder_r").v] = (0.0, 0.0, -1.5)
    q[30:] = clip.model.integrate(q[30:], raised)
    assert limb_correction.find_posture_cuts(Motion(clip.model, q, clip.fps), joints) == [30]


def make_meetings(frames: int) -> Overlaps:
    """Meetings of the first pair for one of every four frames, at seven places of its first part."""
    pose = np.arange(0, frames, 4)
    numbers = [(name, "f8", shape) for name, shape in {"shift": 3, "depth": (), "normal": 3, "point": 3}.items()]
    turns = [("turn", "f8", (3, 3)), ("axes", "f8", (3, 3))]
    rows = np.zeros(len(pose), [("pair", "i8"), ("pose", "i8"), *turns, *numbers])
    rows["pose"], rows["turn"], rows["axes"] = pose, np.eye(3), np.eye(3)
    rows["depth"], rows["normal"], rows["point"][:, 0] = 0.01, (0.0, 0.0, 1.0), 0.05 * (pose // 4 % 7)
    return Overlaps(rows)


@pytest.mark.parametrize("frames", [40, 400])
def test_a_pair_has_few_goals_however_often_it_meets(robot: poise.Model, frames: int) -> None:
    parts = find_convex_parts(robot)
    assert parts is not None
    goals = list_plane_goals(parts, make_meetings(frames), range(frames), 50.0)
    assert len(goals) <= planes.MOST_POINTS
    used = np.sum([goal.weights > 0.0 for goal in goals], axis=0)
    np.testing.assert_array_equal(used, np.arange(frames) % 4 == 0)


@pytest.mark.parametrize("fps", [60.0, 120.0])
def test_a_collision_of_one_frame_is_corrected_at_every_rate(robot: poise.Model, fps: float) -> None:
    part = np.zeros(41)
    part[21] = 1.0
    clip = Motion(poise.load("humanoid"), fold_left_arm(0.0 * part).q, fps)
    carrying = prepare(clip.model, robot, None, "auto", None)
    hit = Motion(robot, fold_left_arm(part).q, fps)
    ledger = Contacts((), len(clip), fps)
    kept = limb_correction.correct_limbs(hit, carrying, ledger, (), 1.0)
    assert measure_depths(hit)[21] > 0.02
    assert measure_depths(kept).max() < 0.005


def test_long_collisions_are_solved_in_windows(robot: poise.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = fold_left_arm(np.sin(np.linspace(0.0, np.pi, 90)) ** 0.5)
    lengths, solve = list[int](), solve_whole

    def note(window: Motion, *args: Any, **named: Any) -> Any:
        lengths.append(len(window))
        return solve(window, *args, **named)

    monkeypatch.setattr(limb_correction, "solve_whole", note)
    whole = retarget(clip, robot, touch=False).motion
    longest = max(lengths)
    lengths.clear()
    monkeypatch.setattr(limb_correction, "MOST_FRAMES", 1)
    kept = retarget(clip, robot, touch=False).motion
    assert max(lengths) < 0.6 * longest
    assert measure_depths(kept).max() < 0.005
    jolts = [np.abs(np.diff(robot.difference(m.q[:-1], m.q[1:]), axis=0)).max() for m in (whole, kept)]
    assert jolts[1] < 1.5 * jolts[0]


def test_a_window_that_fails_does_not_end_the_others(robot: poise.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    part = np.zeros(80)
    part[10:26] = part[54:70] = np.sin(np.linspace(0.0, np.pi, 16)) ** 2
    clip, solve = fold_left_arm(part), limb_correction.LimbCorrection.solve_window
    free = retarget(clip, robot, clearance=False, touch=False).motion

    def fail(self: Any, q: np.ndarray, at: slice, frozen: np.ndarray) -> np.ndarray:
        if at.start > 40:
            return np.asarray(solve(self, q, at, frozen))
        return np.where(frozen[:, None], q[at], free.q[measure_depths(free).argmax()])

    monkeypatch.setattr(limb_correction.LimbCorrection, "solve_window", fail)
    kept = retarget(clip, robot, touch=False).motion
    np.testing.assert_array_equal(kept.q[:40], free.q[:40])
    assert measure_depths(free)[40:].max() > 0.02
    assert measure_depths(kept)[40:].max() < 0.005


@pytest.mark.parametrize("fault", ["limit", "contact", "jump", "floor"])
def test_a_window_with_a_fault_is_left_as_it_is(
    robot: poise.Model, clip: Motion, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, part = solve_whole, clip[15:45]
    named: dict[str, Any] = {"limits": [Speed(12.0)]} if fault == "limit" else {}
    track = retarget(part, robot, clearance=False, touch=False, **named).track
    carrying = prepare(part.model, robot, None, "auto", None)
    ledger = track.contacts
    if fault == "contact":
        hand = Contact("hand_r", 5, 25, name="palm_r")
        ledger = replace(ledger, intervals=(*ledger, hand))

    def break_it(*args: Any, **settings: Any) -> Any:
        answer = solve(*args, **settings)
        if fault == "contact":
            return replace(answer, errors=answer.errors + 1e-3)
        move, middle = np.zeros(robot.nv), len(answer.q) // 2
        if fault == "floor":
            answer.q[:, 1] -= 2.0
        move[robot.joint("shoulder_r").v.start] = {"limit": 0.6, "jump": 2.0, "floor": 0.0}[fault]
        answer.q[middle] = robot.integrate(answer.q[middle], move)
        return answer

    limits = named.get("limits", ())
    good = limb_correction.correct_limbs(track.motion, carrying, ledger, limits, 1.0)
    monkeypatch.setattr(limb_correction, "solve_whole", break_it)
    bad = limb_correction.correct_limbs(track.motion, carrying, ledger, limits, 1.0)
    assert np.abs(good.q - track.motion.q).max() > 0.01
    np.testing.assert_array_equal(bad.q, track.motion.q)


def test_feet_are_as_thick_as_their_shapes_above_the_floor() -> None:
    body = poise.load("humanoid")
    boxes = [
        Shape(f"foot_{side}", Box((0.08, 0.1, 0.2)), Transform(None, (0.0, 0.03, 0.0)), "collision") for side in "lr"
    ]
    robot = with_shapes(body, boxes)
    legs = [joint.name for side in "lr" for joint in robot.joints_above(f"foot_{side}")]
    q = np.array(robot.rest)  # the body lies, so that the upper sides of its feet are near the floor
    q[:7] = (0.0, 0.1, 0.0, *Rotation.from_axis_angle((1.0, 0.0, 0.0), 0.5 * np.pi).wxyz)
    (limit,) = limb_correction.list_floor(Motion(robot, q[None], 30.0), legs, 1.0)
    assert isinstance(limit, PointClearance)
    radii = [p.radius for p in limit.points if p.frame.startswith("foot")]
    assert radii == pytest.approx([0.0] * len(radii), abs=1e-12)
    assert radii


def test_stairs_below_the_floor_say_nothing_of_it(clip: Motion) -> None:
    foot = Contact("foot_l", 0, 9, place=(0.0, -0.3, 0.0), name="heel_l")
    ledger = Contacts((foot,), len(clip), clip.fps, 0.0)
    assert not limb_correction.has_level_floor(clip, ledger, 1.0)
    assert limb_correction.has_level_floor(clip, replace(ledger, intervals=()), 1.0)
    assert not limb_correction.has_level_floor(clip, replace(ledger, intervals=(), floor=None), 1.0)
