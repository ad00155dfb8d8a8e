"""Planned objects: paths through poses, and hands that hold an object for a part of its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poise
from poise import motion
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals import Grasp
from poise.model import Box
from poise.spatial import Rotation


def turn(yaw: float, *place: float) -> Any:
    return poise.Transform(Rotation.from_euler("YXZ", (yaw, 0.0, 0.0)), place or (0.0, 1.1, 0.4)).matrix


def make_box() -> poise.Object:
    return poise.Object(Box((0.3, 0.2, 0.3)), turn(0.0), name="box", fps=30)


@pytest.mark.parametrize("fps", [30, 120])
def test_a_path_rests_at_each_of_its_poses(fps: int) -> None:
    stops = [turn(0.5, 0.1, 1.3, 0.4), turn(-0.5, -0.1, 1.1, 0.4)]
    path = make_box().move_through(stops, seconds=2.0, fps=fps)
    assert path.fps == fps
    T = path.transforms
    np.testing.assert_array_equal(T[0], turn(0.0))
    np.testing.assert_allclose(T[-1], stops[1], atol=1e-12)
    between = int(np.argmin(np.linalg.norm(T - stops[0], axis=(1, 2))))
    np.testing.assert_allclose(T[between], stops[0], atol=1e-12)
    speed = np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1) * fps
    assert max(speed[0], speed[between - 1], speed[between], speed[-1]) < 0.05 * speed.max()
    assert abs(len(T) - 1 - 2.0 * fps) <= 1


def test_a_pause_a_default_duration_and_a_longer_path() -> None:
    there = make_box().move_through(turn(0.0, 0.0, 1.5, 0.4))
    assert len(there.transforms) - 1 == 30  # 0.4 m at 0.4 m/s
    rested = there.move_through(there.transforms[-1], seconds=0.5)
    np.testing.assert_array_equal(rested.transforms[:31], there.transforms)
    np.testing.assert_allclose(rested.transforms[31:], np.tile(there.transforms[-1], (15, 1, 1)), atol=1e-15)


def test_hands_regrasp_an_object_while_it_is_turned() -> None:
    quarter, half = turn(np.pi / 2), turn(0.999 * np.pi)
    box = make_box().move_through(quarter, seconds=1.0).move_through(quarter, seconds=1.0)
    box = box.move_through(half, seconds=1.0)
    grasps = [
        Grasp("hand_l", box, "+x", during=(0.0, 1.0)),
        Grasp("hand_r", box, "-x", during=(0.0, 1.5)),
        Grasp("hand_l", box, "+z", during=(1.5, 3.0)),
        Grasp("hand_r", box, "-z", during=(2.0, 3.0)),
    ]
    track = motion.track(poise.load("humanoid"), grasps, contacts="auto")
    assert track.reached.all(), track.why()
    frames = np.arange(len(box.transforms)) / 30
    for name, (first, last) in {"hand_l": (0.0, 1.0), "hand_l.grasp": (1.5, 3.0)}.items():
        held = (frames >= first) & (frames <= last)
        assert track.errors[name][held].max() < 1e-6
        assert track.errors[name][~held, 0].max() > 0.05  # the hand is elsewhere
    np.testing.assert_array_equal(track.motion.objects[0].transforms, box.transforms)


def test_bad_plans_are_rejected() -> None:
    body, box = poise.load("humanoid"), make_box().move_through(turn(0.3), seconds=0.5)
    for during in (1.0, (2.0, 1.0), (-1.0, 1.0), ("a", "b"), (0.0, 1.0, 2.0)):
        with pytest.raises(InvalidValue, match="during"):
            Grasp("hand_l", box, during=during)
    with pytest.raises(InvalidValue, match=r"during is \(3.0, 4.0\); the motion has 0.5"):
        motion.track(body, Grasp("hand_l", box, during=(3.0, 4.0)))
    with pytest.raises(InvalidValue, match="online"):
        motion.track(body, Grasp("hand_l", box, during=(0.0, 0.2)), mode="online")
    with pytest.raises(InvalidValue, match="seconds"):
        box.move_through(turn(0.0), seconds=0.0)
    with pytest.raises(InvalidValue, match="fps"):
        box.move_through(turn(0.0), fps=-1)
    with pytest.raises(ShapeMismatch, match="transform"):
        box.move_through(np.zeros((1, 1, 4, 4)) + np.eye(4))
