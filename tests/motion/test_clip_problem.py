"""A clip as one problem: what must hold holds at once, and steps that do not improve it are taken back."""

from typing import Any

import numpy as np
import pytest

import poise
import walkers
from falls import fall
from poise import Motion
from poise.goals import Reach
from poise.limits import Acceleration, Clearance, Speed
from poise.limits import Box as Block
from poise.limits.convex_parts import find_convex_parts
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Capsule, Shape
from poise.motion import Contact, Contacts
from poise.motion.clips.collisions import find_collisions
from poise.motion.clips.whole_clip import solve_whole
from poise.motion.contact.body_floor import measure_heights
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.scene import read_scene
from poise.motion.problem import clip_problem
from poise.motion.problem.members import ContactPlaces, FloorBelow, PartsApart
from poise.motion.scenes.scene_goals import measure_depths
from poise.spatial import Transform
from walks import make_walk


@pytest.fixture(scope="module")
def clip() -> Motion:
    """A walk whose left hand goes through the chest in its middle third."""
    walk = make_walk(60)
    model, part = walk.model, np.zeros(60)
    part[20:40] = np.sin(np.linspace(0.0, np.pi, 20)) ** 2
    arm = [joint.name for joint in model.joints_above("hand_l") if joint.nv and joint.name.endswith("_l")]
    goal = Reach("hand_l", model.fk(model.rest, "chest")[:3, 3] + (0.0, 0.06, 0.1))
    folded = poise.solve(model, [goal], joints=arm).q
    return Motion(model, model.integrate(walk.q, part[:, None] * model.difference(model.rest, folded)), walk.fps)


@pytest.fixture(scope="module")
def robot() -> poise.Model:
    """The humanoid at another size, with a box for a trunk and capsules for its hands."""
    shapes = [Shape("chest", Box((0.24, 0.32, 0.16)), Transform(None, (0.0, 0.05, 0.0)), "collision")]
    for side in "lr":
        for name, radius in (("shoulder", 0.01), ("elbow", 0.02), ("hand", 0.03)):
            shapes.append(Shape(f"{name}_{side}", Capsule(radius, 0.04), Transform(), "collision"))
    return with_shapes(poise.load("humanoid", scale=0.8), shapes)


def hold(clip: Motion, ledger: Contacts, members: list[Any]) -> poise.motion.Track:
    """Return a clip with its contacts held and other members kept, without bones."""
    return clip_problem.ClipProblem(clip, ContactPlaces(clip, ledger), members, [], (), 1.0, None).solve()


def test_a_hand_leaves_the_chest_while_feet_stand_still(robot: poise.Model, clip: Motion) -> None:
    kept = poise.retarget(clip, robot)
    found = find_collisions(kept.motion)
    assert found is not None
    assert found.deepest < 0.005
    assert len(kept.contacts) > 6
    assert kept.quality.slip_max < 0.02  # mm a frame
    assert kept.quality.sink_max < 1.0


@pytest.mark.parametrize("depth", [0.0, 0.15])
def test_a_body_that_lies_down_stays_above_the_floor(depth: float) -> None:
    body = walkers.make_character() if depth else poise.load("humanoid", scale=0.6)
    carried = poise.retarget(fall(depth=depth), body)
    found = measure_heights(carried.motion)
    assert found is not None
    assert found.deepest < 2e-3
    assert carried.quality.step_max < 0.6


def test_contacts_do_not_pull_a_body_into_the_floor() -> None:
    """Its heel is to stand 5 cm deeper: the hips would follow it."""
    clip = fall(depth=0.0)
    found = measure_heights(clip)
    assert found is not None
    up, q = clip.model.up_direction, np.array(clip.q)
    q[:, :3] += max(float(found.depths.max()), 0.0) * up
    clip = Motion(clip.model, q, clip.fps)
    last = len(clip)
    place = tuple((clip.positions("heel_l")[-12:].mean(axis=0) - 0.05 * up).tolist())
    ledger = Contacts((Contact("heel_l", last - 12, last, place=place),), last, clip.fps, 0.0)
    depths = [measure_heights(hold(clip, ledger, each).motion) for each in ([], [FloorBelow(clip)])]
    assert depths[0] is not None
    assert depths[1] is not None
    assert depths[0].deepest > 0.01
    assert depths[1].deepest < 2e-3


def test_contacts_that_contradict_each_other_are_released_or_hold_exactly(clip: Motion) -> None:
    far = tuple((clip.positions("hand_r")[10] + (0.0, 3.0, 0.0)).tolist())
    contacts = Contact("hand_r", 5, 25, place=far), Contact("toe_l", 2, 28), Contact("toe_r", 40, 50)
    track = hold(clip, Contacts(contacts, len(clip), clip.fps, 0.0), [])
    assert track.released
    assert "out of reach" in track.released[0].reason
    for contact in track.contacts:
        path = track.motion[contact.start : contact.end].positions(contact.frame, contact.point)
        assert np.linalg.norm(path - contact.place, axis=1).max() < 1e-5


def test_a_walk_climbs_the_stairs_of_a_scene() -> None:
    steps = [Block((0.0, 0.03 * k, 0.45 * k + 0.1), (2.0, 0.06 * k, 0.45)) for k in (1, 2, 3)]
    clip, body = make_walk(60), poise.load("humanoid", scale=0.8)
    level, climbed = poise.retarget(clip, body), poise.retarget(clip, body, scene=steps)
    scene = read_scene(steps, body)
    assert scene is not None
    assert measure_depths(scene, level.motion).depths.max() > 0.03
    assert measure_depths(scene, climbed.motion).depths.max() < 0.003
    assert climbed.quality.slip_max < 0.01


def test_a_clearance_among_the_limits_is_kept(robot: poise.Model, clip: Motion) -> None:
    apart = Clearance(distance=0.01)
    kept = poise.retarget(clip, robot, limits=[apart])
    assert np.min(apart.measure_gap(robot, kept.motion.q)) > 0.01 - 1e-5
    assert kept.track.limits == (apart,)


def test_a_clip_that_nothing_moves_is_not_changed(clip: Motion) -> None:
    track = hold(clip, Contacts((), len(clip), clip.fps), [])
    np.testing.assert_array_equal(track.motion.q, clip.q)


class Violated:
    """A member that some frames violate, more after every step, and that asks for nothing."""

    waits = wish = of_limbs = False

    def __init__(self, frames: slice) -> None:
        self.frames, self.calls = frames, 0

    def update(self, moved: Motion, solved: np.ndarray) -> np.ndarray:
        out, self.calls = np.zeros(len(moved)), self.calls + 1
        out[self.frames] = self.calls
        return out

    def accept(self, frames: np.ndarray) -> None:
        pass

    def list_goals(self, at: slice) -> list[Any]:
        return []

    def list_limits(self, joints: object) -> tuple[Any, ...]:
        return ()


def test_steps_that_do_not_improve_are_taken_back_and_become_shorter(
    clip: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, steps = solve_whole, list[float]()

    def push(window: Motion, *args: Any, **named: Any) -> Any:
        answer = solve(window, *args, **named)
        steps.append(float(named["steady"].damping.max()))
        if len(steps) > 1:
            answer.q[~named["frozen"], 0] += 0.1
        return answer

    monkeypatch.setattr(clip_problem, "solve_whole", push)
    ledger = Contacts((Contact("toe_l", 2, 6),), len(clip), clip.fps, 0.0)
    once = hold(clip, ledger, []).motion.q
    steps.clear()
    many = hold(clip, ledger, [Violated(slice(40, 44))])
    np.testing.assert_array_equal(many.motion.q, once)
    assert len(steps) == 1 + clip_problem.MOST_FAILURES
    assert steps[1:] == sorted(set(steps[1:]))
    assert len(many.contacts) == 1


@pytest.mark.slow
@pytest.mark.parametrize("limits", [[Acceleration(60.0)], [Speed(6.0), Acceleration(60.0)]])
def test_rates_do_not_release_the_contacts_of_a_walk(limits: list[Any]) -> None:
    carried = poise.retarget(make_walk(60), poise.load("humanoid", scale=0.6), limits=limits)
    assert not carried.track.released
    assert carried.quality.sink_max < 2.0


def test_a_correction_after_a_cut_is_that_of_the_shot_alone(robot: poise.Model, clip: Motion) -> None:
    """The hand is in the chest two frames after the cut."""
    shot = clip.q[26:44]
    q = np.concatenate([clip.q[:18], shot])
    q[18:, 0] += 5.0
    parts = find_convex_parts(robot)
    assert parts is not None
    moved = []
    for frames in (q, q[18:]):
        hit = Motion(robot, robot.clamp(frames), 30.0)
        apart = PartsApart(parts, 30.0, find_cuts(hit))
        moved.append(np.asarray(robot.difference(hit.q, hold(hit, Contacts((), len(hit), 30.0), [apart]).motion.q)))
    assert np.abs(moved[1]).max() > 0.05
    np.testing.assert_allclose(moved[0][:18], 0.0, atol=1e-9)
    np.testing.assert_allclose(moved[0][18:], moved[1], atol=0.02)
