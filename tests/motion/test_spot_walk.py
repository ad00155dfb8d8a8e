"""Walks on the spot: their speed is found, the path is added, and feet can then be locked."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion, motion
from poise.errors import InvalidValue
from poise.formats.units import with_up
from poise.kinematics.carriers import find_root
from walks import PERIOD, STRIDE, make_bow, make_swing, make_walk

SPEED = STRIDE / PERIOD


def hold_back(clip: Motion) -> Motion:
    """Return a clip without its progress over the ground: on the spot."""
    root, up = find_root(clip.model), clip.model.up_direction
    assert root is not None
    path = clip.positions(root.frame)
    way = path[-1] - path[0]
    way -= (way @ up) * up
    q = np.array(clip.q)
    shift = np.outer(np.linspace(0.0, 1.0, len(clip)), way) @ root.base[:3, :3]
    q[:, root.slide.q.start : root.slide.q.start + 3] -= shift
    return Motion(clip.model, q, clip.fps)


@pytest.mark.parametrize("fps", [30.0, 120.0])
@pytest.mark.parametrize("up", ["y", "z"])
def test_the_speed_is_that_of_the_walk_and_its_path_comes_back(fps: float, up: str) -> None:
    walk = make_walk().resampled(fps)
    walk = Motion(with_up(walk.model, up), walk.q, fps)
    spot = hold_back(walk)
    assert motion.measure_spot_speed(spot) == pytest.approx(SPEED, rel=0.05)
    again = motion.add_path(spot)
    assert np.abs(again.positions("pelvis") - walk.positions("pelvis")).max() < 0.05
    assert motion.measure_spot_speed(again) == 0.0
    assert motion.quality(again).slip_mean < 0.05 * motion.quality(spot).slip_mean


def test_a_walk_with_its_path_can_be_locked() -> None:
    track = motion.lock(motion.add_path(hold_back(make_walk())))
    assert track.quality.slip_max < 1e-3
    assert np.ptp(track.motion.positions("pelvis"), axis=0).max() > 0.9 * SPEED * 4.0


@pytest.mark.parametrize("name", ["walk", "swing", "bow", "rest", "short", "arm"])
def test_other_clips_are_not_on_the_spot(name: str) -> None:
    body, arm = poise.load("humanoid"), poise.load("panda")
    clip = {
        "walk": make_walk(),
        "swing": make_swing(),
        "bow": make_bow(),
        "rest": Motion(body, np.repeat(body.rest[None], 40, axis=0)),
        "short": make_walk()[:2],
        "arm": Motion(arm, np.repeat(arm.rest[None], 40, axis=0)),
    }[name]
    assert motion.measure_spot_speed(clip) == 0.0
    with pytest.raises(InvalidValue, match="on the spot"):
        motion.add_path(clip)
