"""Objects and grasps that are given what they cannot take: each refusal is ours and names the argument."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.errors import InvalidModel, InvalidValue, PoiseError
from poise.goals import Grasp
from poise.model import Box, Path, Sphere
from poise.motion import track

STILL = np.tile(np.eye(4), (3, 1, 1))
BOX = Box((0.3, 0.2, 0.2))


def test_an_object_is_frozen_in_every_way() -> None:
    box = poise.Object(BOX, STILL)
    for name in poise.Object.__slots__:
        with pytest.raises(AttributeError, match="frozen"):
            setattr(box, name, None)
        with pytest.raises(AttributeError, match="frozen"):
            delattr(box, name)
        assert hasattr(box, name)


@pytest.mark.parametrize("kind", [int, float, np.int64, np.float32, np.float64])
def test_a_rate_is_any_real_number(kind) -> None:
    assert poise.Object(BOX, STILL, fps=kind(30)).fps == 30.0


@pytest.mark.parametrize("fps", [0, -1, np.nan, np.inf, "30", [30], 1j])
def test_invalid_rates_are_rejected(fps) -> None:
    with pytest.raises(InvalidValue, match="fps"):
        poise.Object(BOX, STILL, fps=fps)


def test_words_have_their_article() -> None:
    with pytest.raises(InvalidValue, match=r"^Object: name is"):
        poise.Object(BOX, STILL, name="")
    with pytest.raises(InvalidModel, match=r"^a joint's name"):
        poise.ModelBuilder().add_joint("", None, "revolute")
    with pytest.raises(InvalidValue, match="a closed curve needs"):
        Path([(0, 0, 0), (1, 0, 0)], closed=True)
    with pytest.raises(InvalidValue, match="an open curve needs"):
        Path([(0, 0, 0)])


@pytest.mark.parametrize("point", [(0, 0), "abc", None, (0, 0, np.nan)])
def test_a_distance_is_of_a_point(point) -> None:
    with pytest.raises(PoiseError, match="point"):
        poise.Object(BOX, STILL).measure_distance(point)


@pytest.mark.parametrize("hand", [None, "", 3, ["hand_l"]])
def test_a_hand_has_a_name(hand) -> None:
    with pytest.raises(InvalidValue, match=r"(hand|frame) is"):
        Grasp(hand, poise.Object(BOX, STILL))


@pytest.mark.parametrize("start", ["abc", [None] * 53, np.full(53, np.nan)])
def test_a_start_is_numbers(start) -> None:
    with pytest.raises(PoiseError, match="start"):
        track(poise.load("humanoid"), [Grasp("hand_l", poise.Object(BOX, STILL))], start=start)


def test_a_body_without_feet_raises_an_error_with_advice() -> None:
    with pytest.raises(InvalidValue, match=r"motion\.contacts\(clip, points="):
        track(poise.load("panda"), [Grasp("panda_hand", poise.Object(BOX, STILL))], contacts="auto")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "frame"), [("planar2", "tip"), ("hand", "pinky_tip")])
def test_an_object_is_not_a_bone(name, frame) -> None:
    body = poise.load(name)
    path = np.tile(np.eye(4), (4, 1, 1))
    path[:, :3, 3] = body.fk(body.rest, frame)[:3, 3] * np.linspace(1.0, 1.5, 4)[:, None]
    made = track(body, [Grasp(frame, poise.Object(Sphere(0.02), path))])
    assert not made.reached.all()
    assert "may slide" not in made.why()
