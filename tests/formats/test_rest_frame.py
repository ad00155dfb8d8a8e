"""A first frame that only shows the rest pose is left out of a recording; every other first frame is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise import Motion
from poise.errors import FormatWarning
from poise.formats import load_motion
from poise.kinematics.rest_frames import begins_at_rest
from walks import make_walk

LEFT_OUT = "first frame is the rest pose"


def put_first(clip: Motion, q: np.ndarray, count: int = 1) -> Motion:
    """Return a clip with a pose before it, on the place where the clip begins."""
    return Motion(clip.model, np.concatenate([np.repeat(q[None], count, axis=0), clip.q]), clip.fps)


def swing_arms(clip: Motion) -> Motion:
    """Return a clip whose arms hang, unlike those of the rest pose."""
    q = np.array(clip.q)
    for joint in clip.model.joints:
        if joint.name.startswith("shoulder"):
            q[:, joint.q] += (0.9, 0.3, 0.2)
    return Motion(clip.model, q, clip.fps)


@pytest.fixture(scope="module")
def clip() -> Motion:
    return swing_arms(make_walk())


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("fps", [24.0, 120.0])
def test_a_rest_pose_before_the_motion_is_left_out(clip: Motion, tmp_path: Path, noise: float, fps: float) -> None:
    model, rng = clip.model, np.random.default_rng(3)
    rest = model.integrate(np.array(model.rest), noise * rng.normal(size=model.nv))
    poise.save(put_first(clip.resampled(fps), rest), tmp_path / "t.bvh")
    with pytest.warns(FormatWarning, match=LEFT_OUT):
        found = load_motion(tmp_path / "t.bvh")
    whole = load_motion(tmp_path / "t.bvh", keep_rest=True)
    assert len(whole) == len(found) + 1
    assert np.array_equal(whole.q[1:], found.q)
    assert any(LEFT_OUT in note for note in found.model.notes)
    assert found.model == whole.model


def list_legitimate(clip: Motion) -> dict[str, Motion]:
    """List clips whose first frame belongs to the motion."""
    q, rest = np.array(clip.q), np.array(clip.model.rest)
    step = clip.model.difference(rest, q[0])
    begin = np.array([clip.model.integrate(rest, share * step) for share in np.linspace(0.0, 1.0, 12)])
    leap = np.array([clip.model.integrate(rest, share * step) for share in (0.0, 0.5, 0.9, 1.3, 0.4, 0.1, 0.8)])
    other = clip.model.integrate(q[40], 0.4 * np.random.default_rng(1).normal(size=clip.model.nv))
    return {
        "as it is": clip,
        "from rest into the motion": Motion(clip.model, np.concatenate([begin, q]), clip.fps),
        "a sudden start": Motion(clip.model, np.concatenate([leap, q]), clip.fps),
        "a cut after one frame": put_first(clip, other),
        "standing at rest, then a cut": put_first(clip, rest, count=8),
        "cut out of a clip": clip[37:80],
        "coarse": Motion(clip.model, np.concatenate([rest[None], q[::11]]), 2.7),
        "a few frames": put_first(clip[:3], rest),
    }


@pytest.mark.parametrize("name", list_legitimate(make_walk()))
def test_every_other_first_frame_is_kept(clip: Motion, tmp_path: Path, name: str) -> None:
    given = list_legitimate(clip)[name]
    assert not begins_at_rest(given)
    poise.save(given, tmp_path / "t.bvh")
    assert len(load_motion(tmp_path / "t.bvh")) == len(given)
