"""The stage of the studio, in metres for bodies in every unit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import poise
from poise import Motion, Pose
from poise.formats.units import restore_units, scale_motion, to_metres
from poise.kinematics.together import MotionWithObjects
from poise.model import Box, Model, Object
from poise.pictures.front import find_turn
from poise.studio import Studio
from poise.studio.clips.player import Player
from poise.studio.downloads import make_file, pose_from_json
from poise.studio.puppet import Puppet, measure_size
from poise.studio.scene.scenery import Scenery
from poise.studio.scene.stage import NARROW_ASPECT, VIEWS, View, find_direction, find_view
from poise.studio.showable import read_opening
from poise.studio.web.uploads import open_upload
from waiting import wait_until
from walks import make_walk

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

BODIES = ("humanoid", "panda", "quadruped", "planar3", "snake100")
FOV = 0.72  # of the studio's camera [rad]


@pytest.mark.parametrize("aspect", [2.0, 1.2, 0.6])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", BODIES)
def test_every_view_shows_the_whole_body_from_above_the_floor(name: str, view: str, aspect: float) -> None:
    model = poise.load(name)
    points = model.fk(np.array(model.rest))[:, :3, 3]
    size = measure_size(model, np.array(model.rest))
    seen = find_view(model, size, points, find_direction(model, view), aspect)
    forward = seen.look_at - seen.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, model.up_direction)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    away = points - seen.position
    depth = away @ forward
    assert (depth > 0).all()
    assert (np.abs(away @ above / depth) < np.tan(FOV / 2)).all()
    assert (np.abs(away @ right / depth) < aspect * np.tan(FOV / 2)).all()
    assert seen.position @ model.up_direction >= points[:, model.up_axis].min()


def project(model: poise.Model, seen: View, points: np.ndarray, aspect: float) -> np.ndarray:
    """Where points are in the picture, -1 to 1 across and upwards, (n, 2); all before the camera."""
    forward = seen.look_at - seen.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, model.up_direction)
    right /= np.linalg.norm(right)
    away = points - seen.position
    depth = away @ forward
    assert (depth > 0).all()
    flat = np.stack([away @ right, away @ np.cross(right, forward)], axis=1) / depth[:, None]
    return flat / (np.tan(FOV / 2) * np.array([aspect, 1.0]))


@pytest.mark.parametrize("aspect", [2.4, 1.56, 1.1, 0.95, 0.85, 0.5])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("seed", range(8))
def test_whatever_its_form_a_body_fills_the_free_part_of_the_picture_and_no_more(
    seed: int, view: str, aspect: float
) -> None:
    rng = np.random.default_rng(seed)
    model = poise.load("humanoid" if seed % 2 else "panda")
    points = rng.normal(size=(200, 3)) * rng.uniform(0.02, 3.0, 3) + rng.normal(size=3)
    size = 0.1
    flat = project(model, find_view(model, size, points, find_direction(model, view), aspect), points, aspect)
    assert np.abs(flat).max() <= 0.97
    if aspect > NARROW_ASPECT:  # the panel is on the right
        assert flat[:, 0].max() <= 1.0 - 0.85 * min(0.92 / aspect, 0.9)
    else:  # and below
        assert flat[:, 1].min() >= -0.05
    assert max(np.ptp(flat[:, 0]), np.ptp(flat[:, 1])) > 0.6


def test_planar_bodies_are_seen_as_on_paper() -> None:
    model = poise.load("planar3")
    away = find_direction(model, "fit")
    forward = -away / np.linalg.norm(away)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    assert right / np.linalg.norm(right) == pytest.approx((1.0, 0.0, 0.0))
    assert np.cross(right, forward)[1] > 0.0


def test_the_size_of_a_body_does_not_hang_on_a_long_way_that_it_does_not_show() -> None:
    builder = poise.ModelBuilder("sliding")
    builder.add_joint("slide", None, "prismatic", lower=-100.0, upper=100.0)
    builder.add_joint("arm", "slide", "revolute", offset=(0.3, 0.0, 0.0))
    builder.add_frame("tip", "arm", (0.4, 0.0, 0.0))
    model = builder.build()
    assert measure_size(model, np.array(model.rest)) < 1.2
    humanoid = poise.load("humanoid")
    assert measure_size(humanoid, np.array(humanoid.rest)) == humanoid.length


@pytest.mark.parametrize("turn", [0.0, 1.0, np.pi, -2.0])
def test_a_figure_is_seen_from_its_front_whichever_way_it_is_turned(turn: float) -> None:
    model = poise.ModelBuilder("turned")
    model.up = "y"
    model.add_joint("base", None, "fixed", offset=poise.Transform(poise.Rotation.from_axis_angle((0, 1, 0), turn)))
    for name, role in (("l", "shoulder_l"), ("r", "shoulder_r")):
        model.add_joint(name, "base", "ball", offset=(0.2 if name == "l" else -0.2, 1.4, 0.0))
        model.add_frame(f"tip_{name}", name, (0.0, -0.5, 0.0))
        model.add_role(role, name)
    body = model.build()
    front = np.array([np.sin(turn), 0.0, np.cos(turn)])
    assert find_direction(body, "front") @ front > 0.99
    assert find_direction(body, "fit") @ front > 0.8
    assert abs(find_direction(body, "side") @ front) < 1e-9
    assert np.cos(find_turn(body) - turn) == pytest.approx(1.0)
    assert find_turn(poise.load("humanoid")) == 0.0


ROTOR = """<link name="rotor_{k}"/><joint name="j_{k}" type="continuous"><parent link="hull"/><child link="rotor_{k}"/>
  <origin xyz="{k} 0 0"/><axis xyz="0 0 1"/></joint>"""


@pytest.mark.slow
def test_a_body_that_its_joints_take_nowhere_opens_on_a_free_root(tmp_path: Path) -> None:
    (tmp_path / "drone.urdf").write_text(
        f'<robot name="drone"><link name="hull"/>{"".join(ROTOR.format(k=k) for k in (1, 2, 3))}</robot>'
    )
    (tmp_path / "stone.urdf").write_text('<robot name="stone"><link name="stone"/></robot>')
    assert read_opening(tmp_path / "drone.urdf").model.nv == 9
    assert read_opening(tmp_path / "stone.urdf").model.nv == 6
    assert read_opening(poise.load(tmp_path / "stone.urdf")).model.nv == 6
    for name in poise.models.names():
        assert read_opening(name).model is poise.load(name)


@pytest.mark.slow
def test_who_is_there_and_who_will_come_see_the_same_points() -> None:
    model = poise.load("humanoid")
    server = MagicMock()
    server.initial_camera, there = SimpleNamespace(), SimpleNamespace(aspect=1.6)
    server.get_clients.return_value = {0: SimpleNamespace(camera=there, client_id=0)}
    scenery = Scenery(server, Player(lambda _: None), lambda: False, shadows=False, dark=False)
    scenery.puppet = Puppet(model)
    points = np.random.default_rng(0).uniform(-3.0, 3.0, (50, 3))
    scenery.show_points(points)
    for camera in (there, server.initial_camera):
        flat = project(model, View(np.array(camera.position), np.array(camera.look_at), 1.0), points, 1.6)
        assert np.abs(flat).max() < 1.0


def test_a_late_report_of_an_older_view_does_not_move_the_camera(monkeypatch) -> None:
    """The view of a small body lies below the floor of the next: the camera stays where it was set."""
    monkeypatch.setattr("poise.studio.scene.scenery.Pace", lambda do, _: SimpleNamespace(ask_later=do))
    server, reports = MagicMock(), list[Any]()
    camera = SimpleNamespace(aspect=1.6, on_update=reports.append)
    client = SimpleNamespace(camera=camera, client_id=0)
    server.get_clients.return_value = {0: client}
    scenery = Scenery(server, Player(lambda _: None), lambda: False, shadows=False, dark=False)
    scenery.puppet, scenery.view = Puppet(poise.load("humanoid")), MagicMock(sample_points=lambda T: T[:, :3, 3])
    scenery.welcome(client)
    wanted = camera.position
    for place, kept in (((2.0, -3.0, 1.0), (2.0, -3.0, 1.0)), (wanted, wanted)):
        camera.position = place  # what the browser reports
        reports[0](None)
        assert camera.position == kept
    camera.position = (2.0, -3.0, 1.0)  # the viewer moved it
    reports[0](None)
    assert camera.position[1] == pytest.approx(scenery.floor, abs=0.1)


UNITS = {"m": 1.0, "cm": 0.01, "in": 0.0254, "cmu": 0.0254 / 0.45}


def write_in(unit: str) -> Motion:
    """Return a walk whose lengths are in a unit."""
    big = scale_motion(make_walk(48), 1.0 / UNITS[unit])
    body = big.model
    attached = replace(body.attachments, units=unit)
    return Motion(Model(body.name, body.layout.specs, source=body.source, attached=attached), big.q, big.fps)


@pytest.fixture(scope="module", params=UNITS)
def clip(request: pytest.FixtureRequest) -> Motion:
    return write_in(request.param)


@pytest.fixture(scope="module")
def studio_of_clip(clip: Motion) -> Iterator[Studio]:
    with Studio(clip, port=18095, shadows=False) as running:
        running.session.player.stop()
        yield running


@pytest.mark.slow
def test_the_stage_is_in_metres_and_the_studio_in_the_unit_of_the_body(studio_of_clip: Studio, clip: Motion) -> None:
    walk = make_walk()
    assert studio_of_clip.session.model.metres_per_unit == 1.0
    assert studio_of_clip.session.model.length == pytest.approx(walk.model.length)
    assert studio_of_clip.model is clip.model
    studio_of_clip.pose = clip[40]
    assert studio_of_clip.session.given is clip.model, "the same body stays on the stage"
    assert np.abs(studio_of_clip.puppet.q - walk.q[40]).max() < 1e-9
    assert np.abs(studio_of_clip.pose.q - clip.q[40]).max() < 1e-9 * clip.model.length
    assert studio_of_clip.pose.model is clip.model


@pytest.mark.slow
def test_files_keep_the_unit_of_the_body(studio_of_clip: Studio, clip: Motion, tmp_path) -> None:
    (tmp_path / "again.bvh").write_bytes(make_file(studio_of_clip.session, "BVH"))
    again = poise.load_motion(tmp_path / "again.bvh")
    assert again.model.length == pytest.approx(clip.model.length, rel=1e-6)
    studio_of_clip.pose = clip[40]
    saved = make_file(studio_of_clip.session, "Pose")
    assert np.abs(pose_from_json(clip.model, saved.decode()).q - clip.q[40]).max() < 1e-6 * clip.model.length
    studio_of_clip.pose = clip[0]
    open_upload(studio_of_clip.session, "pose.json", json.dumps(json.loads(saved)).encode())
    assert np.abs(studio_of_clip.pose.q - clip.q[40]).max() < 1e-6 * clip.model.length


@pytest.mark.slow
def test_a_second_body_has_its_size_next_to_the_first(studio_of_clip: Studio) -> None:
    second = studio_of_clip.second_body
    assert studio_of_clip.carry(write_in("cmu").model)
    assert wait_until(lambda: second.carried is not None and second.background.task is None)
    assert second.model is not None
    assert second.given is not None
    assert second.carried is not None
    assert second.model.length == pytest.approx(studio_of_clip.session.model.length, rel=1e-6)
    assert second.carried.result.scale == pytest.approx(1.0, rel=1e-3)
    saved = restore_units(second.carried.result.motion, second.given)
    assert saved.model.units == "cmu"
    far = np.ptp(saved.positions("pelvis"), axis=0).max() * UNITS["cmu"]
    assert second.clip is not None  # a clip with the edits of the tests above, which planted feet may not reach wholly
    assert far == pytest.approx(np.ptp(second.clip.positions("pelvis"), axis=0).max(), rel=0.25)


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
