"""The studio without a browser: bodies, what hands do, lessons, files, and a server that two viewers share."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise.errors import FormatError, InvalidValue
from poise.goals import Balance
from poise.kinematics.column_names import name_velocities
from poise.methods import find_method, names
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.surface import make_capsule, measure_distance, round_surface
from poise.studio.downloads import pose_from_json, pose_to_json
from poise.studio.panel import lesson
from poise.studio.puppet import Puppet
from poise.studio.web.uploads import strip_folders
from waiting import wait_until

BODIES = ("humanoid", "panda", "quadruped", "hand", "tree30", "planar3")


def settled(puppet, most=120):
    """Frames until the body stands still."""
    frame = puppet.frame()
    for _ in range(most):
        frame = puppet.frame()
        if frame.moved < 1e-6:
            break
    return frame


# ---------------------------------------------------------------------------------------------- bodies


def test_a_surface_lies_on_its_cones():
    low, middle, high = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 1.2]])
    cones = [make_capsule(None, low, middle, (0.2, 0.1)), make_capsule(None, middle, high, (0.1, 0.08))]
    surface = round_surface(cones)
    assert np.abs(measure_distance(surface.vertices, cones, 0.5 * 0.12)).max() < 2e-3
    edges = np.sort(
        np.concatenate([surface.faces[:, [0, 1]], surface.faces[:, [1, 2]], surface.faces[:, [2, 0]]]), axis=1
    )
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # closed
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0  # seen from outside


@pytest.mark.parametrize("name", BODIES)
def test_every_moving_part_of_a_body_is_drawn(name):
    model = poise.load(name)
    parts = find_flesh(model)
    assert parts
    assert all(np.isfinite(part.surface.vertices).all() and len(part.surface.faces) for part in parts)
    T = dict(zip(model.frames, model.fk(np.array(model.rest)), strict=True))
    world = np.concatenate([p.surface.vertices @ T[p.frame][:3, :3].T + T[p.frame][:3, 3] for p in parts])
    places = np.array([T[name][:3, 3] for name in model.frames])
    gaps = [np.linalg.norm(world - place, axis=1).min() for place in places]
    assert max(gaps) < 0.15 * model.length


def test_solids_of_a_file_are_drawn_as_they_are():
    from poise.model.geometry.shapes import Box

    builder = poise.ModelBuilder("boxed")
    builder.add_joint("arm", None, "revolute")
    builder.add_shape("arm", Box((0.2, 0.4, 0.6)), color=(1.0, 0.5, 0.0, 1.0))
    (part,) = find_flesh(builder.build())
    assert part.color == (255, 128, 0)
    assert np.ptp(part.surface.vertices, axis=0) == pytest.approx([0.2, 0.4, 0.6])


# ---------------------------------------------------------------------------------------------- hands


def test_feet_that_stand_are_planted(humanoid):
    assert Puppet(humanoid).planted == ("foot_l", "foot_r")
    assert len(Puppet(poise.load("quadruped")).planted) == 4
    panda = Puppet(poise.load("panda"))
    assert panda.rig.state.standing == panda.fixed == ()


def test_two_hands_at_once_both_arrive_and_the_feet_stay(humanoid):
    puppet = Puppet(humanoid)
    feet = {name: puppet.pose.position(name) for name in ("ball_l", "ball_r")}
    left, right = np.array([0.45, 1.35, 0.35]), np.array([-0.35, 1.1, 0.45])
    puppet.hold("hand_l", left)
    puppet.hold("hand_r", right)
    frame = settled(puppet)
    assert not frame.missed
    assert puppet.transform("hand_l")[:3, 3] == pytest.approx(left, abs=1e-4)
    assert puppet.transform("hand_r")[:3, 3] == pytest.approx(right, abs=1e-4)
    for name, place in feet.items():  # they are planted: the heel may rise
        assert np.abs(puppet.pose.position(name) - place).max() < 1e-6


def test_what_was_let_go_stays_and_undo_brings_back_the_bits(humanoid):
    puppet = Puppet(humanoid)
    before = puppet.q
    puppet.hold("hand_l", np.array([0.4, 1.3, 0.3]))
    settled(puppet)
    puppet.let_go("hand_l")
    placed = puppet.transform("hand_l")[:3, 3]
    puppet.hold("hand_r", np.array([-0.4, 1.2, 0.3]))
    settled(puppet)
    puppet.let_go("hand_r")
    assert puppet.transform("hand_l")[:3, 3] == pytest.approx(placed, abs=1e-3)
    while puppet.undo():
        puppet.frame()
    assert np.array_equal(puppet.q, before)
    assert puppet.redo()
    puppet.reset()
    assert np.array_equal(puppet.q, before)


def test_a_pose_that_was_set_stays_until_a_target_is_set(humanoid):
    puppet = Puppet(humanoid)
    q = humanoid.random(np.random.default_rng(3))
    puppet.place(q)
    for _ in range(5):
        puppet.frame()
    assert np.array_equal(puppet.q, puppet.pose.q)
    assert np.abs(humanoid.difference(q, puppet.q)).max() < 1e-12


@pytest.mark.slow
def test_a_distant_target_is_missed_and_reported(humanoid):
    puppet = Puppet(humanoid)
    puppet.hold("hand_l", np.array([3.0, 1.0, 0.5]))
    for _ in range(25):
        frame = puppet.frame()
    assert "hand_l" in frame.missed
    assert "hand_l" in [one.goal for one in puppet.explain().missed]


def test_a_foot_in_the_air_carries_nothing(humanoid):
    puppet = Puppet(humanoid)
    lifted = puppet.transform("foot_r")
    lifted[1, 3] += 0.3
    puppet.hold("foot_r", lifted)
    settled(puppet)
    puppet.let_go("foot_r")
    (balance,) = (goal for goal in puppet.rig.solvers.problem.goals if isinstance(goal, Balance))
    assert "foot_r" not in str(balance.support)


@pytest.mark.parametrize("method", [name for name in names() if name not in ("inverse", "transpose", "gradient")])
def test_methods_can_be_switched_while_a_handle_is_held(humanoid, method):
    puppet = Puppet(humanoid)
    start = puppet.transform("hand_l")[:3, 3]
    puppet.hold("hand_l", start + np.array((0.05, 0.1, 0.1)))
    puppet.frame()
    puppet.change(method=find_method(method))
    for _ in range(60):
        frame = puppet.frame()
    assert frame.errors["hand_l"][0] < 2e-3
    if method == "dls":  # far and at once, as a quick hand pulls
        puppet.hold("hand_l", np.array([0.5, 1.35, 0.4]))
        for _ in range(60):
            frame = puppet.frame()
        assert frame.errors["hand_l"][0] < 2e-3
    if not find_method(method).levels and method not in ("pseudoinverse", "svd", "qr", "dls", "sdls"):
        assert method in frame.note


def test_frozen_joints_do_not_move(humanoid):
    puppet = Puppet(humanoid)
    puppet.freeze(["elbow_l"])
    elbow = puppet.q[humanoid.joint("elbow_l").q].copy()
    puppet.hold("hand_l", np.array([0.4, 1.2, 0.2]))
    settled(puppet, 40)
    assert np.array_equal(puppet.q[humanoid.joint("elbow_l").q], elbow)


# ---------------------------------------------------------------------------------------------- lessons


def test_arrows_are_columns_of_the_jacobian():
    model = poise.load("panda")
    q = np.array(model.rest)
    drawn = lesson.find_arrows(model, q, "panda_hand_tcp", 0.3)
    J = model.jacobian(q, "panda_hand_tcp")[:3]
    lengths = np.linalg.norm(drawn.points[:, 1] - drawn.points[:, 0], axis=1)
    assert lengths.max() == pytest.approx(0.3, rel=1e-5)
    column = name_velocities(model).index(drawn.names[0])
    along = drawn.points[0, 1] - drawn.points[0, 0]
    assert np.linalg.norm(np.cross(along, J[:, column])) < 1e-6
    assert len(drawn.colors) == len(drawn.names) == len(drawn.points)


def test_the_null_space_moves_the_body_and_not_the_hand(humanoid):
    puppet = Puppet(humanoid)
    walk = lesson.Wanderer(puppet, "hand_l", 0)
    q = walk.go(0.5)
    assert walk.modes > 10
    assert np.abs(humanoid.difference(puppet.q, q)).max() > 0.05
    for frame in ("hand_l", "foot_l", "foot_r"):
        assert np.abs(humanoid.fk(q, frame) - humanoid.fk(puppet.q, frame)).max() < 2e-3
    assert np.array_equal(humanoid.clamp(q), q)


def test_one_step_taken_apart_adds_up():
    puppet = Puppet(poise.load("panda"))
    handle = next(iter(puppet.handles))
    assert lesson.take_step(puppet, handle) is None
    puppet.rig.reach(handle, puppet.transform(handle)[:3, 3] + np.array((0.05, 0.05, -0.05)))
    step = lesson.take_step(puppet, handle)
    assert step.J.shape == (3, 7)
    assert np.linalg.norm(step.e - step.J @ step.dq) < 0.5 * np.linalg.norm(step.e)
    assert step.left < np.linalg.norm(step.e)
    curve = lesson.trace_error(puppet, handle)
    assert curve[-1] < 1e-4 < curve[0]


def test_joints_at_their_limit_are_found(humanoid):
    q = np.array(humanoid.rest)
    q[humanoid.joint("knee_l").q] = humanoid.lower[humanoid.joint("knee_l").v]
    assert "knee_l" in lesson.find_limited(humanoid, q)


# ---------------------------------------------------------------------------------------------- files


def test_a_pose_goes_out_and_comes_back(humanoid):
    pose = poise.Pose(humanoid, humanoid.random(np.random.default_rng(1)))
    assert pose_from_json(humanoid, pose_to_json(pose)) == pose
    with pytest.raises(InvalidValue, match="no pose"):
        pose_from_json(humanoid, json.dumps({"something": 1}))


@pytest.mark.parametrize("name", ["../../etc/passwd", "C:\\x\\robot.urdf", "robot.urdf", "..", ""])
def test_a_browsers_file_name_is_not_a_path(name):
    assert strip_folders(name) in ("passwd", "robot.urdf", "file")


# ---------------------------------------------------------------------------------------------- the server


@pytest.fixture(scope="module")
def studio():
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    from poise.studio.web.studio import Studio

    with Studio("humanoid", port=18080) as running:
        yield running


def pull(studio, handle, viewer, phase, place, start=None):
    """What the browser sends when a grip is dragged."""
    grab = studio.puppet.transform(handle)[:3, 3] if start is None else start
    event = SimpleNamespace(client_id=viewer, phase=phase, start_position=grab, end_position=place)
    studio.session.grips.drag(handle, event)


@pytest.mark.slow
def test_it_listens_on_this_machine_alone(studio):
    assert studio.session.host == "127.0.0.1"
    assert studio.url in studio._repr_html_()
    assert "humanoid" in repr(studio)


@pytest.mark.slow
def test_a_dragged_grip_brings_the_body_and_quickly(studio):
    place = studio.puppet.transform("hand_l")[:3, 3].copy()
    pull(studio, "hand_l", 1, "start", place)
    for k in range(60):
        pull(studio, "hand_l", 1, "update", place + np.array([0.003, 0.005, 0.004]) * k, place)
        time.sleep(0.005)
    wanted = studio.puppet.held["hand_l"]
    assert wait_until(lambda: np.linalg.norm(studio.puppet.transform("hand_l")[:3, 3] - wanted) < 1e-3)
    pull(studio, "hand_l", 1, "end", wanted)
    assert wait_until(lambda: not studio.puppet.held)
    figures = studio.meter.summarize()
    assert figures["frames_per_second"] > 5
    assert figures["delay_ms"] < 200  # a loaded machine; tests/studio/test_studio_browser.py holds the 20 ms


def test_a_grip_belongs_to_who_holds_it(studio):
    place = studio.puppet.transform("hand_l")[:3, 3].copy()
    other = studio.puppet.transform("hand_r")[:3, 3].copy()
    pull(studio, "hand_l", 1, "start", place)
    pull(studio, "hand_l", 2, "start", place + 1.0)
    pull(studio, "hand_l", 2, "update", place + 1.0)
    pull(studio, "hand_r", 2, "start", other)
    pull(studio, "hand_r", 2, "update", other + np.array((0.0, 0.1, 0.1)), other)
    pull(studio, "hand_l", 1, "update", place + np.array((0.05, 0.0, 0.05)), place)
    assert studio.puppet.held["hand_l"] == pytest.approx(place + np.array((0.05, 0.0, 0.05)))
    assert studio.session.grips.owners == {"hand_l": 1, "hand_r": 2}
    pull(studio, "hand_l", 2, "end", place)
    assert "hand_l" in studio.puppet.held
    studio.session.grips.leave(2)  # closing the window releases its handles
    assert set(studio.puppet.held) == {"hand_l"}
    pull(studio, "hand_l", 1, "end", place)
    assert not studio.puppet.held
    assert not studio.session.grips.owners


def test_a_click_pins_and_lets_go(studio):
    studio.session.grips.click("head", 1)
    assert "head" in studio.puppet.pins
    studio.session.grips.click("head", 1)
    assert "head" not in studio.puppet.pins


@pytest.mark.slow
def test_files_are_opened_by_what_is_in_them(studio, tmp_path):
    from poise.studio.downloads import make_file
    from poise.studio.web.uploads import open_upload

    poise.save(poise.load("panda"), tmp_path / "arm.urdf")
    open_upload(studio.session, "arm.urdf", (tmp_path / "arm.urdf").read_bytes())
    assert studio.model.nv == 7
    with pytest.raises(FormatError):
        open_upload(studio.session, "broken.urdf", b"<robot")
    assert studio.model.nv == 7  # the old body stays
    kept = make_file(studio.session, "Pose")
    studio.pose = poise.Pose(studio.model, studio.model.random(np.random.default_rng(0)))
    open_upload(studio.session, "pose.json", kept)
    assert pose_to_json(studio.pose).encode() == kept
    assert b"<html" in make_file(studio.session, "HTML")[:400].lower()
    studio.show("humanoid")
    bvh = make_file(studio.session, "BVH")
    open_upload(studio.session, "stand.bvh", bvh)
    assert studio.model.name == "stand"
    studio.show("humanoid")


@pytest.mark.slow
def test_what_is_dragged_can_be_recorded_and_played(studio):
    tab = studio.panel.motion
    tab.record.value = True
    place = studio.puppet.transform("hand_l")[:3, 3].copy()
    pull(studio, "hand_l", 1, "start", place)
    for k in range(30):
        pull(studio, "hand_l", 1, "update", place + np.array([0.0, 0.005, 0.004]) * k, place)
        time.sleep(0.01)
    pull(studio, "hand_l", 1, "end", place)
    assert wait_until(lambda: len(studio.session.player._recorded or []) > 5)
    tab.record.value = False
    assert wait_until(lambda: studio.session.player.motion is not None)
    first = np.array(studio.session.player.motion.q[0])
    studio.session.player.show_at(0.0)
    assert np.abs(studio.model.difference(first, studio.puppet.q)).max() < 1e-9
    studio.puppet.reset()


@pytest.mark.slow
def test_methods_race_on_the_same_drag(studio):
    race = studio.panel.race
    for name, box in race.boxes.items():
        box.value = name in ("dls", "transpose")
    race.on.value = True
    assert wait_until(lambda: len(race.racers) == 2)
    place = studio.puppet.transform("hand_l")[:3, 3].copy()
    pull(studio, "hand_l", 1, "start", place)
    pull(studio, "hand_l", 1, "update", place + np.array((0.1, 0.2, 0.1)), place)
    assert wait_until(lambda: "dls" in race.table.content and "transpose" in race.table.content)
    assert wait_until(lambda: racer(race, "dls").last.errors.get("hand_l", (9, 9))[0] < 0.01)
    assert wait_until(lambda: not race.is_moving())  # it goes on until the slowest stands still
    slow = racer(race, "transpose")
    assert slow.target.visible
    assert slow.target.position == pytest.approx(studio.puppet.held["hand_l"] + slow.place)
    pull(studio, "hand_l", 1, "end", place)
    race.on.value = False
    assert wait_until(lambda: not race.racers)


def racer(race, method):
    return next(racer for racer in race.racers if racer.method == method)


@pytest.mark.slow
def test_the_command_says_where_to_look(monkeypatch):
    from typer.testing import CliRunner

    from poise.cli.app import app
    from poise.cli.studio import write_greeting

    shown = CliRunner().invoke(app, ["studio", "--help"])
    assert shown.exit_code == 0
    assert "poise studio robot.urdf" in shown.stdout
    missing = CliRunner().invoke(app, ["studio", "nobody.urdf", "--no-open"])
    assert missing.exit_code == 2
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    assert "ssh -L 8080:127.0.0.1:8080" in write_greeting("http://127.0.0.1:8080", "humanoid", "127.0.0.1", 8080)
    assert "beyond this machine" in write_greeting("http://10.0.0.1:8080", "humanoid", "0.0.0.0", 8080)
