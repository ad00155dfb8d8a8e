"""The joints tab, arrows of handles, and planar bodies."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.kinematics.carriers import find_root
from poise.pictures.body.stick import find_angles, find_lengths
from poise.studio import Studio
from poise.studio.panel.coordinates import find_dials, format_q, format_transform, read_dials, set_dial
from poise.studio.panel.joints_tab import find_rpy, make_copy
from poise.studio.puppet import Puppet
from poise.studio.scene.arrows import find_outward_signs, make_arrow, project_on_axis
from poise.studio.scene.grip_shapes import shape_grip
from poise.studio.scene.grips import Grips
from poise.studio.web.throttle import Pace
from waiting import wait_until

BODIES = ("humanoid", "panda", "tree30", "quadruped", "planar3", "hand")


@pytest.mark.parametrize("name", BODIES)
def test_every_number_that_moves_has_a_dial_of_its_own_name(name: str) -> None:
    model = poise.load(name)
    dials = find_dials(model, 1.0)
    free = [v for j in model.joints if j.nv and not j.mimic and not j.locked for v in range(j.v.start, j.v.stop)]
    assert sorted(dial.v for dial in dials) == free
    root = find_root(model)
    of_root = [root is not None and dial.joint in (root.slide.name, root.turn.name) for dial in dials]
    assert of_root == sorted(of_root), "the root is last"
    assert len({dial.name for dial in dials}) == len(dials)
    assert all(dial.low < dial.high for dial in dials)


@pytest.mark.parametrize("name", BODIES)
def test_a_dial_that_is_set_reads_so_and_moves_its_joint_alone(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(1)
    dials = find_dials(model, 1.0)
    for dial in rng.choice(np.array(dials, dtype=object), 12):
        q = model.clamp(model.integrate(np.array(model.rest), 0.2 * rng.standard_normal(model.nv)))
        value = dial.low + (0.3 + 0.4 * rng.random()) * (dial.high - dial.low)
        if model.joint(dial.joint).quaternion and not dial.slides:
            value *= 0.4  # a rotation vector beyond half a turn reads as a shorter one
        after = set_dial(model, dial, q, value)
        read = dict(zip([d.name for d in dials], read_dials(model, dials, after), strict=True))
        assert read[dial.name] == pytest.approx(value, abs=1e-6)
        moved = np.abs(model.difference(q, after)) > 1e-9
        assert not np.delete(moved, range(*model.joint(dial.joint).v.indices(model.nv))).any()


def test_a_dial_stays_inside_its_range() -> None:
    model = poise.load("panda")
    dial = find_dials(model, 1.0)[0]
    q = set_dial(model, dial, np.array(model.rest), 99.0)
    assert q[0] == pytest.approx(model.upper[0])


def test_numbers_are_copied_as_python_reads_them() -> None:
    T = poise.load("panda").fk(poise.load("panda").rest, "panda_hand_tcp")
    assert np.array(eval(format_transform(T))) == pytest.approx(T, abs=1e-5)
    assert np.array(eval(format_q(T[:3, 3]))) == pytest.approx(T[:3, 3], abs=1e-5)
    assert "data-text=" in make_copy("Copy", '"<x>')
    assert "<x>" not in make_copy("Copy", '"<x>')


def test_roll_pitch_and_yaw_make_the_rotation_again() -> None:
    for R in (poise.Rotation.from_vector(v).matrix for v in np.random.default_rng(0).standard_normal((20, 3))):
        roll, pitch, yaw = find_rpy(R)
        assert poise.Rotation.from_euler("ZYX", (yaw, pitch, roll)).matrix == pytest.approx(R, abs=1e-9)


def test_a_slider_is_one_change_and_a_drag_the_next() -> None:
    puppet = Puppet(poise.load("humanoid"))
    first = puppet.q
    for k in range(5):
        bent = first.copy()
        bent[puppet.model.joint("elbow_l").q] = -0.2 * k
        puppet.turn_joint("elbow_l", bent)
    turned = puppet.q
    puppet.hold("hand_r", puppet.transform("hand_r")[:3, 3] + np.array((0.0, 0.1, 0.1)))
    for _ in range(20):
        puppet.frame()
    puppet.let_go("hand_r")
    assert puppet.undo()
    assert np.array_equal(puppet.q, turned)
    assert puppet.undo()
    assert np.array_equal(puppet.q, first)
    assert not puppet.undo()


@pytest.mark.slow
def test_frequent_requests_run_at_once_and_again_at_the_end() -> None:
    done: list[float] = []
    pace = Pace(lambda: done.append(time.perf_counter()), 0.1)
    for _ in range(50):
        pace.ask()
    assert len(done) == 1
    time.sleep(0.4)
    assert len(done) == 2


# ------------------------------------------------------------------------------------------------ in the studio


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    with Studio("panda", port=18050, shadows=False) as running:
        yield running


@pytest.mark.slow
def test_sliders_follow_the_handles_and_handles_the_sliders(studio: Studio) -> None:
    tab, tip = studio.panel.joints, "panda_hand_tcp"
    assert len(tab.sliders) == 7
    before = studio.puppet.transform(tip)
    tab.on_slide(tab.dials[0], 40.0)
    assert wait_until(lambda: abs(studio.puppet.q[0] - math.radians(40.0)) < 1e-9)
    assert np.linalg.norm(studio.puppet.transform(tip)[:3, 3] - before[:3, 3]) > 0.1
    studio.puppet.hold(tip, studio.puppet.transform(tip)[:3, 3] + np.array((0.0, -0.2, 0.0)))
    studio.session.touch()
    assert wait_until(lambda: studio.session.last.errors.get(tip, (9.0, 9.0))[0] < 1e-3)
    studio.puppet.let_go(tip)
    assert wait_until(
        lambda: all(
            abs(math.degrees(value) - slider.value) < 0.2
            for value, slider in zip(studio.puppet.q, tab.sliders, strict=True)
        )
    )
    assert wait_until(lambda: f"{math.degrees(studio.puppet.q[0]):.1f}&deg;" in tab.pose.content)


def test_a_typed_target_is_reached(studio: Studio) -> None:
    tab, tip = studio.panel.joints, "panda_hand_tcp"
    studio.puppet.reset()
    tab.take_place()
    assert tab.place.value == pytest.approx(studio.puppet.transform(tip)[:3, 3], abs=1e-3)
    tab.place.value = (0.45, 0.2, 0.5)
    tab.go = SimpleNamespace(value="Target and rotation")
    tab.on_go()
    assert wait_until(lambda: np.abs(studio.puppet.transform(tip)[:3, 3] - (0.45, 0.2, 0.5)).max() < 1e-3)
    roll, pitch, yaw = (math.radians(x) for x in tab.turn.value)
    wanted = poise.Rotation.from_euler("ZYX", (yaw, pitch, roll)).matrix
    assert wait_until(lambda: np.abs(studio.puppet.transform(tip)[:3, :3] - wanted).max() < 1e-2)
    assert wait_until(lambda: studio.session.grips.find_state(tip, studio.session.last) == "placed")


def test_a_part_that_is_clicked_shows_its_joint(studio: Studio) -> None:
    tab = studio.panel.joints
    tab.find_joint("panda_joint4")
    assert [dial.name for dial, slider in zip(tab.dials, tab.sliders, strict=True) if slider.visible] == [
        "panda_joint4"
    ]
    tab.find.value = ""
    tab.filter()
    assert all(slider.visible for slider in tab.sliders)


def test_another_body_has_other_sliders(studio: Studio) -> None:
    studio.show("planar3")
    assert [dial.name for dial in studio.panel.joints.dials] == [j.name for j in studio.model.joints if j.nv]
    studio.show("panda")
    assert len(studio.panel.joints.sliders) == 7


def test_a_hand_that_lets_go_before_a_frame_was_made_is_not_lost():
    puppet = Puppet(poise.load("humanoid"))
    before = puppet.q
    target = puppet.transform("hand_l")[:3, 3] + (0.02, 0.05, 0.03)
    puppet.hold("hand_l", target)
    puppet.let_go("hand_l")
    assert not puppet.held
    assert puppet.measure_gap("hand_l", target) < 1e-3
    assert puppet.undo()
    assert np.array_equal(puppet.q, before)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", range(3))
def test_an_arrow_lies_outside_its_bubble_and_is_closed(axis, sign):
    model = poise.load("humanoid")
    vertices, faces = make_arrow(axis, 0.04 * model.length, sign)
    puppet = Puppet(model)
    bubble = shape_grip(model, puppet.handles["hand_l"], puppet.q, puppet.size).vertices
    assert (sign * vertices[:, axis]).min() > 1.2 * np.linalg.norm(bubble, axis=1).max()
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0  # seen from outside


@pytest.mark.parametrize("frame", ["hand_l", "hand_r", "foot_l"])
def test_no_arrow_points_into_the_limb(frame):
    model = poise.load("humanoid")
    T = model.fk(model.rest)
    frames = dict(zip(model.frames, T, strict=True))
    limb = frames["elbow_l" if frame == "hand_l" else "elbow_r" if frame == "hand_r" else "knee_l"][:3, 3]
    way = limb - frames[frame][:3, 3]
    tips = frames[frame][:3, :3] * find_outward_signs(model, frame, np.array(model.rest), 0.04 * model.length)
    assert (way @ tips / np.linalg.norm(way)).max() < 0.7


def test_the_nearest_place_on_an_axis_to_a_ray():
    origin, eye = np.array([0.1, 0.2, 0.3]), np.array([2.0, 3.0, 4.0])
    axis = np.array([2.0, -1.0, 2.0]) / 3
    for s in (-0.5, 0.0, 0.7):
        assert project_on_axis(origin, axis, eye, origin + s * axis) == pytest.approx(s)
    assert project_on_axis(origin, axis, origin - axis, origin) == 0.0  # in line with the eye


def test_a_pulled_arrow_moves_its_handle_along_one_axis():
    puppet = Puppet(poise.load("humanoid"))
    grips = SimpleNamespace(puppet=puppet, owners={}, _slides={}, touch=lambda _: None)
    grips.end = lambda name: (grips.owners.pop(name), puppet.let_go(name))
    before = puppet.transform("hand_l")
    eye = before[:3, 3] + (1.0, 0.4, 2.0)
    grab = before[:3, 3] + 0.1 * before[:3, 1]

    def pull(phase, place, viewer=1):
        camera = SimpleNamespace(position=tuple(eye))
        event = SimpleNamespace(
            phase=phase,
            client_id=viewer,
            client=SimpleNamespace(camera=camera),
            start_position=grab,
            end_position=place,
        )
        Grips.slide(grips, "hand_l", 1, event)

    pull("start", grab)
    pull("update", grab + 0.05 * before[:3, 1])
    pull("update", grab + 1.0, viewer=2)  # somebody else is not heard
    held = puppet.held["hand_l"]
    assert held[:3, 3] == pytest.approx(before[:3, 3] + 0.05 * before[:3, 1])
    assert np.array_equal(held[:3, :3], before[:3, :3])
    pull("end", grab)
    assert not puppet.held
    assert not grips._slides


@pytest.mark.parametrize("name", ["planar2", "planar3"])
def test_angles_and_lengths_are_those_of_the_pose(name: str) -> None:
    model = poise.load(name)
    q = np.array(model.rest) + 0.1 * np.arange(1, model.nq + 1)
    assert [angle for _, angle in find_angles(model, q)] == pytest.approx(q)
    assert [length for *_, length in find_lengths(model, q)] == pytest.approx([1.0] * model.nq)


def test_a_picture_of_a_planar_arm_says_them() -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'poise-ik[studio]'")
    model = poise.load("planar2")
    solution = poise.solve(model, Reach("tip", (0.9, 1.1, 0.0)))
    axes = poise.plot(solution).figure.axes[0]
    message = [text.get_text() for text in axes.texts]
    assert [f"{math.degrees(angle):.0f}°" for angle in solution.q] == message[:2]
    assert message.count("1 m") == 2
    thickest = max(line.get_linewidth() for line in axes.lines)
    assert thickest >= 6.0
    assert any(line.get_marker() == "x" for line in axes.lines)  # the target
    assert not poise.plot(poise.load("panda")).figure.axes[0].texts


@pytest.mark.slow
def test_two_numbers_are_typed_where_a_body_moves_in_a_plane() -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    with Studio("planar3", port=18061, shadows=False) as studio:
        tab = studio.panel.joints
        assert tab.flat.visible
        assert not tab.place.visible
        tab.handle.value, tab.flat.value, tab.go.value = "tip", (0.9, 1.6), "Target"
        tab.on_go()
        assert studio.puppet.find_target("tip") == pytest.approx([0.9, 1.6, 0.0])
        lines = [node for node in studio.panel.planar.nodes if hasattr(node, "thickness")]
        assert len(lines) == 3
        assert {line.thickness_units for line in lines} == {"screen"}, "pixels, not metres"
        studio.show("panda")  # while the tip is still on its way
        assert tab.place.visible
        assert not tab.flat.visible
