"""More than bones is retargeted: streams, hands that hold, turns of heads and forearms, the upper body alone."""

import numpy as np
import pytest

import poise
from poise import Motion
from poise.errors import InvalidValue, ShapeMismatch
from poise.limits import Speed
from poise.motion import Contact, Contacts, Retargeter, retarget
from poise.spatial import Rotation
from walkers import make_character
from walks import make_walk, put_skate_in


@pytest.fixture(scope="module")
def walk():
    return put_skate_in(make_walk(60))


@pytest.fixture(scope="module")
def stream(walk, small):
    return retarget(walk, small, mode="online")


def measure_turns(one, other, frame):
    """Degrees between the turns of a frame in two clips."""
    a, b = (m.model.fk(m.q, frame)[:, :3, :3] for m in (one, other))
    return np.degrees(Rotation.from_matrix(np.swapaxes(a, 1, 2) @ b).angle)


@pytest.mark.slow
def test_no_frame_of_a_stream_sees_what_follows_it(walk, small, stream):
    for frames in (1, 2, 7, 31):
        first = retarget(walk[:frames], small, mode="online")
        np.testing.assert_array_equal(first.motion.q, stream.motion.q[:frames])


@pytest.mark.slow
def test_a_retargeter_gives_the_frames_one_by_one(walk, small, stream):
    live = Retargeter(walk.model, small, fps=walk.fps)
    first = [live.step(frame).q for frame in walk.q[:10]]
    np.testing.assert_array_equal(first, stream.motion.q[:10])
    live.reset()
    np.testing.assert_array_equal([live.step(walk[i]).q for i in range(10)], stream.motion.q[:10])
    with pytest.raises(ShapeMismatch, match="frame"):
        live.step(walk.q[:2])
    with pytest.raises(InvalidValue, match="finite"):
        live.step(np.full(walk.model.nq, np.nan))


@pytest.mark.slow
def test_feet_of_a_stream_stand(stream):
    assert len(stream.contacts) >= 4
    assert stream.quality.slip_p95 < 0.01  # mm a frame
    assert stream.quality.limits_max == 0.0


@pytest.mark.slow
def test_heads_and_forearms_turn_with_the_source(small):
    body = poise.load("humanoid")
    turn = 0.5 * np.sin(np.linspace(0.0, 6.0, 40))
    steps = np.zeros((40, body.nv))
    for name, size in (("elbow_l", 2.0), ("elbow_r", 2.0)):
        steps[:, body.joint(name).v] = np.abs(turn)[:, None] * size
    q = body.clamp(body.integrate(body.rest, steps))
    clip = Motion(body, q, 30.0)
    for joint in ("wrist_l", "head"):
        v = body.joint(joint).v
        more = np.zeros((40, body.nv))
        more[:, v.start] = turn
        clip = Motion(body, body.clamp(body.integrate(clip.q, more)), 30.0)
    carried = retarget(clip, small).motion
    for frame in ("head", "wrist_l", "wrist_r", "chest"):
        assert measure_turns(clip, carried, frame).mean() < 3.0


@pytest.mark.slow
def test_a_hand_that_holds_a_rail_holds_it_in_the_result(walk, small):
    """The hand of the walker stays in one place while the hips go on, as the contacts say: it does not move at all."""
    place = walk.positions("wrist_l")[20]
    held = Contacts((Contact("wrist_l", 15, 30, place=tuple(place), name="palm_l"),), len(walk), walk.fps, 0.0)
    carried = retarget(walk, small, contacts=held)
    path = carried.motion.positions(carried.mapping.find("wrist_l").target)[15:30]
    assert np.abs(path - path[0]).max() < 1e-5
    assert [contact.name for contact in carried.contacts] == ["palm_l"]


@pytest.mark.slow
def test_the_upper_body_alone_leaves_the_rest_as_it_is(walk, small):
    upper = [
        j.name
        for j in small.joints
        if j.nv and any(w in j.name for w in ("spine", "chest", "shoulder", "elbow", "wrist"))
    ]
    carried = retarget(walk, small, joints=upper)
    still = [k for j in small.joints if j.nv and j.name not in upper for k in range(j.q.start, j.q.stop)]
    np.testing.assert_array_equal(carried.motion.q[:, still], np.tile(small.rest[still], (len(walk), 1)))
    assert np.ptp(carried.motion.q, axis=0).max() > 0.05
    assert not len(carried.contacts)


@pytest.mark.slow
def test_lengths_may_be_given(walk, small):
    longer = retarget(walk, small, scale=0.7)
    assert longer.scale == 0.7
    way = np.ptp(longer.motion.positions("pelvis"), axis=0).max() / np.ptp(walk.positions("pelvis"), axis=0).max()
    assert way == pytest.approx(0.7, abs=0.04)  # its legs are made for 0.6
    reaching = retarget(walk, small, scale={"legs": 0.6, "arms": 0.6})
    hands = reaching.motion.positions("wrist_l") - reaching.motion.positions("pelvis")
    wanted = 0.6 * (walk.positions("wrist_l") - walk.positions("pelvis"))
    assert np.linalg.norm(hands - wanted, axis=1).mean() < 0.02
    assert "0.600" in str(reaching.scales)


@pytest.mark.slow
def test_a_child_and_a_giant_stand_as_well(walk):
    for size in (0.05, 20.0):
        carried = retarget(walk[:20], poise.load("humanoid", scale=size))
        assert carried.scale == pytest.approx(size, rel=1e-6)
        assert carried.quality.slip_max < 0.01 * max(size, 1.0)


@pytest.mark.slow
def test_a_fixed_robot_raises_an_error_with_the_correct_call(walk):
    free = poise.load("humanoid")
    body = free.locked({free.joints[0].name: free.rest[free.joints[0].q]})
    with pytest.raises(InvalidValue, match=r"base='free'"):
        retarget(walk, body)


@pytest.mark.slow
def test_limits_hold_in_the_result(walk, small):
    free = retarget(walk, small)
    fastest = 0.7 * free.quality.speed_max
    held = retarget(walk, small, limits=[Speed(fastest)])
    steps = np.abs(small.difference(held.motion.q[:-1], held.motion.q[1:])[:, 6:]).max()
    assert steps * walk.fps <= fastest * (1.0 + 1e-9)
    with pytest.raises(InvalidValue, match="time"):
        retarget(walk, small, limits=[Speed(fastest)], mode="online")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_bones_keep_their_lengths_and_the_nearest_root_carries(walk, mode):
    body = make_character("euler", sliding=True)
    carried = retarget(walk, body, mode=mode)
    q, limbs = carried.motion.q, ("knee_l", "foot_r", "elbow_l", "hand_r", "head")
    for name in ("scene_position", "scene", *(f"{limb}_position" for limb in limbs)):
        at = body.joint(name).q
        np.testing.assert_array_equal(q[:, at], np.tile(body.rest[at], (len(walk), 1)))
    assert np.ptp(q[:, body.joint("pelvis_position").q], axis=0).max() > 0.3
    assert carried.quality.slip_p95 < 0.01
    assert carried.quality.sink_max < 1.0


def test_a_stream_of_the_upper_body_alone_leaves_the_rest_as_it_is(walk, small):
    arms = [joint.name for joint in small.joints if "arm" in joint.name or "elbow" in joint.name]
    assert arms
    carried = retarget(walk[:6], small, joints=arms, mode="online").motion
    others = [k for joint in small.joints if joint.name not in arms for k in range(small.nq)[joint.q]]
    np.testing.assert_array_equal(carried.q[:, others], np.broadcast_to(carried.q[0, others], (6, len(others))))


def test_a_stream_lists_its_contacts(walk, small):
    live = retarget(walk[:20], small, mode="online")
    assert len(live.contacts)
    assert f"{len(live.contacts)} contacts were held" in live.why()
