"""The stage is in metres, whatever unit a body's file has; files are saved in their own unit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import Motion, Pose
from poise.formats.units import restore_units, scale_motion, to_metres
from poise.kinematics.together import MotionWithObjects
from poise.model import Box, Model, Object
from poise.studio import Studio
from poise.studio.downloads import make_file, pose_from_json
from poise.studio.web.uploads import open_upload
from waiting import wait_until
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")
UNITS = {"m": 1.0, "cm": 0.01, "in": 0.0254, "cmu": 0.0254 / 0.45}


def write_in(unit: str) -> Motion:
    """Return a walk whose lengths are in a unit."""
    big = scale_motion(make_walk(), 1.0 / UNITS[unit])
    body = big.model
    attached = replace(body.attachments, units=unit)
    return Motion(Model(body.name, body.layout.specs, source=body.source, attached=attached), big.q, big.fps)


@pytest.fixture(scope="module", params=UNITS)
def clip(request: pytest.FixtureRequest) -> Motion:
    return write_in(request.param)


@pytest.fixture(scope="module")
def studio(clip: Motion) -> Iterator[Studio]:
    with Studio(clip, port=18095, shadows=False) as running:
        running.session.player.stop()
        yield running


@pytest.mark.slow
def test_the_stage_is_in_metres_and_the_studio_in_the_unit_of_the_body(studio: Studio, clip: Motion) -> None:
    walk = make_walk()
    assert studio.session.model.metres_per_unit == 1.0
    assert studio.session.model.length == pytest.approx(walk.model.length)
    assert studio.model is clip.model
    studio.pose = clip[40]
    assert studio.session.given is clip.model, "the same body stays on the stage"
    assert np.abs(studio.puppet.q - walk.q[40]).max() < 1e-9
    assert np.abs(studio.pose.q - clip.q[40]).max() < 1e-9 * clip.model.length
    assert studio.pose.model is clip.model


@pytest.mark.slow
def test_files_keep_the_unit_of_the_body(studio: Studio, clip: Motion, tmp_path) -> None:
    (tmp_path / "again.bvh").write_bytes(make_file(studio.session, "BVH"))
    again = poise.load_motion(tmp_path / "again.bvh")
    assert again.model.length == pytest.approx(clip.model.length, rel=1e-6)
    studio.pose = clip[40]
    saved = make_file(studio.session, "Pose")
    assert np.abs(pose_from_json(clip.model, saved.decode()).q - clip.q[40]).max() < 1e-6 * clip.model.length
    studio.pose = clip[0]
    open_upload(studio.session, "pose.json", json.dumps(json.loads(saved)).encode())
    assert np.abs(studio.pose.q - clip.q[40]).max() < 1e-6 * clip.model.length


@pytest.mark.slow
def test_a_second_body_has_its_size_next_to_the_first(studio: Studio) -> None:
    second = studio.second_body
    assert studio.carry(write_in("cmu").model)
    assert wait_until(lambda: second.carried is not None and second.background.task is None)
    assert second.model is not None
    assert second.given is not None
    assert second.carried is not None
    assert second.model.length == pytest.approx(studio.session.model.length, rel=1e-6)
    assert second.carried.result.scale == pytest.approx(1.0, rel=1e-3)
    saved = restore_units(second.carried.result.motion, second.given)
    assert saved.model.units == "cmu"
    far = np.ptp(saved.positions("pelvis"), axis=0).max() * UNITS["cmu"]
    assert far == pytest.approx(np.ptp(make_walk().positions("pelvis"), axis=0).max(), rel=0.05)


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_restored(unit: str) -> None:
    clip = write_in(unit)
    box = Object(Box((1.0, 2.0, 3.0), transform=poise.Transform(None, (5.0, 0.0, 0.0))), np.eye(4))
    held = MotionWithObjects(clip.model, clip.q, clip.fps, [box])
    there = to_metres(held)
    assert there.model.length == pytest.approx(make_walk().model.length)
    assert there.objects[0].half == pytest.approx(np.array([0.5, 1.0, 1.5]) * UNITS[unit])
    assert there.objects[0].offset[0, 3] == pytest.approx(5.0 * UNITS[unit])
    back = restore_units(there, clip.model)
    assert back.model is clip.model
    assert np.abs(back.q - clip.q).max() < 1e-12 * clip.model.length
    assert back.objects[0].half == pytest.approx(box.half)
    pose = restore_units(to_metres(clip[3]), clip.model)
    assert isinstance(pose, Pose)
    assert np.abs(pose.q - clip.q[3]).max() < 1e-12 * clip.model.length
