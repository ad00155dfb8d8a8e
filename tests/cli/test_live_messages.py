"""The messages of `poise follow`, as pure functions."""

import json
import re

import numpy as np
import pytest

import poise
from live_arms import BENT, DT, find_hand, make_follower, shift
from poise.cli.live_messages import LiveMessages


def make_messages(body="ur5e"):
    return LiveMessages(make_follower(body))


def ask(messages, message):
    return messages.answer((message if isinstance(message, str) else json.dumps(message)).encode())


def find_pose(messages):
    return find_hand(messages.follower).tolist()


def test_the_greeting_describes_the_robot():
    messages = make_messages()
    greeting = messages.greet()
    model = messages.follower.model
    assert greeting["protocol"] == 1
    assert greeting["goals"] == {"hand": "pose"}
    assert greeting["joints"] == list(greeting["ranges"]) == [joint.name for joint in model.joints if joint.nq]
    assert greeting["q"] == pytest.approx(BENT["ur5e"])
    assert list(greeting["ranges"].values()) == np.transpose([model.lower, model.upper]).tolist()
    assert LiveMessages(poise.motion.Follower(poise.load("humanoid"), [poise.goals.Reach("hand_l")], [])).greet()


@pytest.mark.parametrize("shape", ["matrix", "quaternion"])
def test_a_step_is_that_of_the_follower(shape):
    messages, follower = make_messages(), make_follower("ur5e")
    target = shift(find_hand(follower), 0.05, 0.0, 0.02)
    w, *xyz = poise.Rotation.from_matrix(target[:3, :3]).wxyz.tolist()
    place = {"position": target[:3, 3].tolist(), "quaternion": [w, *xyz]}
    for _ in range(30):
        answer = ask(messages, {"targets": {"hand": target.tolist() if shape == "matrix" else place}, "dt": DT})
        step = follower.step({"hand": target}, DT)
        np.testing.assert_allclose(answer["q"], step.q, atol=1e-9)
        np.testing.assert_allclose(answer["velocity"], step.velocity, atol=1e-6)
        assert answer["state"] == step.state
    assert answer["state"] == "following"
    assert answer["missed"] == answer["gaps"] == {}


def test_lost_targets_and_misses_are_reported():
    messages = make_messages()
    far = shift(find_hand(messages.follower), 5.0, 0.0, 0.0).tolist()
    assert ask(messages, {"targets": {"hand": None}, "dt": DT})["gaps"] == {"hand": "was lost"}
    for _ in range(300):
        answer = ask(messages, {"targets": {"hand": far}, "dt": DT})
    assert answer["state"] == "limited"
    assert answer["missed"]["hand"][0] > 3.0
    assert "why" not in answer
    assert "hand" in ask(messages, {"dt": DT, "why": True})["why"]


def test_commands_do_what_the_follower_does():
    messages = make_messages()
    q, hand = messages.follower.q, find_pose(messages)
    controller = np.eye(4).tolist()
    assert ask(messages, {"engage": "hand", "pose": controller, "scale": 0.5, "axes": [1, 0, 0, 0]}) == {
        "done": "engage"
    }
    for _ in range(60):
        moved = shift(np.eye(4), 0.04, 0.0, 0.0).tolist()
        answer = ask(messages, {"targets": {"hand": moved}, "dt": DT})
    assert answer["state"] == "following"
    np.testing.assert_allclose(find_pose(messages), shift(np.array(hand), 0.02, 0.0, 0.0), atol=1e-3)
    ask(messages, {"pause": True})
    assert ask(messages, {"dt": DT})["state"] == "held"
    ask(messages, {"resume": True})
    ask(messages, {"release": "hand"})
    assert ask(messages, {"targets": {"hand": moved}, "dt": DT})["state"] == "held"
    before = messages.follower.q
    assert ask(messages, {"reset": True}) == {"done": "reset"}
    np.testing.assert_array_equal(messages.follower.q, before)
    ask(messages, {"reset": True, "measured": q.tolist()})
    assert messages.greet()["q"] == q.tolist()


T = [[1, 0, 0, 0.4], [0, 1, 0, 0], [0, 0, 1, 0.4], [0, 0, 0, 1]]
WRONG = [
    ("junk", "not JSON"),
    ("", "not JSON"),
    ("[" * 60_000, "not JSON"),
    ("[1]", "send an object"),
    ('{"targets": {"hand": [NaN, 0, 0]}, "dt": 0.01}', "has nan.*null"),
    ('{"targets": {"hand": [0, -Infinity, 0]}, "dt": 0.01}', "-inf.*finite"),
    ('{"targets": {"hand": [1e999, 0, 0]}, "dt": 0.01}', "has inf.*finite"),
    ('{"dt": 1' + "0" * 5000 + "}", "limit|below"),
    ('{"dt": 1' + "0" * 200 + "}", "1000.*below"),
    ({"targets": {"hand": T}}, "dt is missing"),
    ({"dt": 0}, "dt is 0"),
    ({"dt": -0.01}, "dt"),
    ({"dt": 1e-300}, "dt is 1e-300.*at least 1e-09"),
    ({"dt": 1e200}, "1e.200;.*below"),
    ({"dt": True}, "dt"),
    ({"dt": "0.01"}, "dt"),
    ({"target": {"hand": T}, "dt": DT}, "'target'.*'targets'"),
    ({"targets": {"hnad": T}, "dt": DT}, "'hnad'.*'hand'"),
    ({"targets": [T], "dt": DT}, "targets"),
    ({"targets": {"hand": "T"}, "dt": DT}, "'hand'.*list of numbers"),
    ({"targets": {"hand": [0.4, 0.0, 0.4]}, "dt": DT}, "'hand'"),
    ({"targets": {"hand": [["1", 0, 0], [1]]}, "dt": DT}, "'hand'"),
    ({"targets": {"hand": [[1, 0, 0], [1]]}, "dt": DT}, "'hand'"),
    ({"targets": {"hand": {"quaternion": [1, 0, 0, 0]}}, "dt": DT}, "position.*3 numbers"),
    ({"targets": {"hand": {"position": [0, 0, 0], "quaternion": [1, 0, 0]}}, "dt": DT}, "quaternion.*4 numbers"),
    ({"targets": {"hand": {"position": [0, 0, 0], "quaternion": [0, 0, 0, 0]}}, "dt": DT}, "'hand'.*zeros"),
    ({"targets": {"hand": {"position": [0, 0, 0], "rotation": [1, 0, 0, 0]}}, "dt": DT}, "'rotation'.*'quaternion'"),
    ({"targets": {"hand": {"position": [True, 0, 0], "quaternion": [1, 0, 0, 0]}}, "dt": DT}, "position.*3 numbers"),
    ({"dt": DT, "measured": [0]}, "measured"),
    ({"dt": DT, "measured": "here"}, "measured"),
    ({"dt": DT, "why": 1}, "why"),
    ({"engage": "hand"}, "pose is missing"),
    ({"engage": ["hand"], "pose": T}, "engage"),
    ({"engage": "hand", "pose": T, "scale": 0}, "scale"),
    ({"engage": "hand", "pose": T, "axes": [1, 2]}, "axes"),
    ({"release": "hnad"}, "'hand'"),
    ({"pause": False}, "pause.*true"),
    ({"puase": True}, "'puase'.*'pause'"),
    ({"pause": True, "resume": True}, "one of them"),
    ({"reset": True, "measured": [0]}, "measured"),
]


def test_wrong_messages_are_named_and_change_nothing():
    messages, plain = make_messages(), make_follower("ur5e")
    target = shift(find_hand(plain), 0.05, 0.0, 0.0)
    for message, words in WRONG:
        answer = ask(messages, message)
        assert list(answer) == ["error"], message
        assert re.search(words, answer["error"]), (message, answer["error"])
        step = ask(messages, {"targets": {"hand": target.tolist()}, "dt": DT})
        assert step["q"] == plain.step({"hand": target}, DT).q.tolist()
