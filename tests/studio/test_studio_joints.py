"""The joints tab: every number of a pose has a slider, and sliders, handles and typed targets move the same body."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise.kinematics.carriers import find_root
from poise.studio import Studio
from poise.studio.panel.coordinates import find_dials, format_q, format_transform, read_dials, set_dial
from poise.studio.panel.joints_tab import find_rpy, make_copy
from poise.studio.puppet import Puppet
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
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")
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
