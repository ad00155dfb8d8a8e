"""The camera follows a walk: it keeps its place next to the body, above the floor, unless a viewer moves it."""

from __future__ import annotations

import time

import numpy as np
import pytest

import poise
from poise import Motion
from poise.studio import Studio
from poise.studio.panel.follow_box import find_place
from poise.studio.scene.follow_camera import CATCH_UP_TIME, VIEWER_PAUSE, Chase, find_way, measure_travel, trace_root

UP = np.array([0.0, 1.0, 0.0])


class Camera:
    """A camera as viser has it: what it looks at goes along when it is moved."""

    def __init__(self, position: tuple[float, ...] = (0.0, 1.5, 5.0)) -> None:
        self._position, self.look_at = np.array(position), np.array((0.0, 1.0, 0.0))

    @property
    def position(self) -> np.ndarray:
        return self._position

    @position.setter
    def position(self, place: np.ndarray) -> None:
        self.look_at = self.look_at + np.asarray(place) - self._position
        self._position = np.asarray(place, dtype=np.float64)


def make_walk(metres: float, seconds: float = 4.0, fps: float = 30.0, bob: float = 0.03) -> Motion:
    """Carry the humanoid straight ahead, bobbing twice a second."""
    model = poise.load("humanoid")
    times = np.arange(round(seconds * fps) + 1) / fps
    q = np.tile(np.array(model.rest), (len(times), 1))
    place = model.joint("pelvis").q.start
    q[:, place + 2] += metres * times / seconds
    q[:, place + 1] += bob * np.sin(4.0 * np.pi * times)
    return Motion(model, q, fps)


def test_the_way_of_the_camera_is_that_of_the_root_without_its_bobbing() -> None:
    walk = make_walk(6.0)
    root, way = trace_root(walk), find_way(walk)
    assert way.shape == root.shape
    assert np.abs(way - root)[:, 2].max() < 1e-6  # an even walk is not lagged behind, at its ends neither
    assert np.ptp(way[15:-15, 1]) < 0.2 * np.ptp(root[15:-15, 1])
    for frames in (1, 2, 5):
        assert find_way(Motion(walk.model, walk.q[:frames], walk.fps)).shape == (frames, 3)


@pytest.mark.parametrize(("metres", "far"), [(0.5, False), (6.0, True)])
def test_a_travelling_clip_is_distinguished_from_a_standing_one(metres: float, far: bool) -> None:
    walk = make_walk(metres)
    assert measure_travel(walk) == pytest.approx(metres, rel=1e-6)
    assert (measure_travel(walk) > walk.model.length) is far


def test_a_camera_keeps_its_offset_and_its_view_of_the_body() -> None:
    walk, camera = make_walk(6.0), Camera()
    way = find_way(walk)
    chase = Chase(camera, way, UP, 0.0)
    offset, arm = camera.position - way[0], camera.position - camera.look_at
    for place in np.concatenate([way, way]):  # twice: at the end it begins again
        chase.go(place)
        chase.notice()  # a report of its own position is not a viewer's motion
        assert camera.position == pytest.approx(place + offset)
        assert camera.position - camera.look_at == pytest.approx(arm)


@pytest.mark.slow
def test_a_camera_that_saw_the_whole_clip_brings_the_body_to_where_its_middle_was() -> None:
    way, camera = find_way(make_walk(6.0)), Camera()
    chase = Chase(camera, way, UP, 0.0)
    position, look_at = np.array((1.0, 2.0, 12.0)), np.array((0.5, 1.0, 3.2))
    chase.put(position, look_at)
    chase.go(way[0])
    assert camera.look_at == pytest.approx(look_at)  # no jump
    time.sleep(6 * CATCH_UP_TIME)
    for place in (way[40], way[-1], way[0]):
        chase.go(place)
        assert camera.look_at - place == pytest.approx(look_at - (way[0] + way[-1]) / 2, abs=0.02)
        assert camera.position - camera.look_at == pytest.approx(position - look_at)


def test_an_old_report_is_not_a_viewers_action() -> None:
    way, camera = find_way(make_walk(6.0)), Camera()
    chase = Chase(camera, way, UP, 0.0)
    arm = camera.position - camera.look_at
    chase.go(way[0])
    old = camera.position.copy(), camera.look_at.copy()
    for place in way[1:]:
        chase.go(place)
    there = camera.position.copy()
    camera._position, camera.look_at = old  # as a slow browser has it
    chase.notice()
    chase.go(way[-1])
    assert camera.position == pytest.approx(there)
    assert camera.position - camera.look_at == pytest.approx(arm)


def test_a_page_that_loads_for_seconds_reports_its_own_view_which_is_no_viewers_hand(monkeypatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    way, camera = find_way(make_walk(6.0)), Camera()
    position, look_at = np.array((1.0, 2.0, 12.0)), np.array((0.5, 1.0, 3.2))
    for begun in (False, True):
        chase = Chase(camera, way, UP, 0.0)
        chase.put(position, look_at)
        if begun:
            chase.go(way[0])
        clock[0] += 4.0
        for _ in range(3):
            camera._position, camera.look_at = np.full(3, 3.0), np.zeros(3)  # viser's own first view
            chase.notice()
        chase.go(way[0])
        assert camera.position - camera.look_at == pytest.approx(position - look_at)
        chase.notice()  # the page has heard
        camera._position = camera.position + np.array((3.0, 0.0, 0.0))
        for _ in range(2):
            chase.notice()
        assert not begun or chase.arm == pytest.approx(camera.position - camera.look_at), "a viewer's hand"


def test_a_camera_never_goes_below_the_floor() -> None:
    camera = Camera(position=(0.0, 0.3, 5.0))
    way = np.linspace((0.0, 1.0, 0.0), (0.0, -3.0, 4.0), 50)
    chase = Chase(camera, way, UP, 0.05)
    for place in way:
        chase.go(place)
        chase.notice()
        assert camera.position[1] >= 0.05 - 1e-12
    assert camera.position[2] == pytest.approx(5.0 + 4.0)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["orbit", "pan", "zoom"])
def test_a_camera_that_its_viewer_moves_is_left_alone_and_then_goes_on_as_it_was_moved(how: str) -> None:
    camera, way = Camera(), np.linspace((0.0, 1.0, 0.0), (0.0, 1.0, 2.0), 40)
    chase = Chase(camera, way, UP, 0.0)
    for place in way[:20]:
        chase.go(place)
    look = camera.look_at - way[19]
    moved = {
        "orbit": (camera.position + np.array((2.0, 0.0, -0.3)), camera.look_at),
        "pan": (camera.position + np.eye(3)[0], camera.look_at + np.eye(3)[0]),
        "zoom": (camera.position + 0.5 * (camera.look_at - camera.position), camera.look_at),
    }[how]
    camera._position, camera.look_at = (np.array(x) for x in moved)
    for _ in range(2):
        chase.notice()
    for place in way[20:30]:
        chase.go(place)
        assert camera.position == pytest.approx(moved[0])
    time.sleep(VIEWER_PAUSE + 0.05)
    wanted = look + (np.eye(3)[0] if how == "pan" else np.zeros(3))
    before = camera.position.copy()
    chase.go(way[30])
    assert camera.position == pytest.approx(before, abs=1e-3)  # it begins where it is, without a jump
    time.sleep(5 * CATCH_UP_TIME)
    chase.go(way[31])
    assert camera.look_at == pytest.approx(way[31] + wanted, abs=0.02)
    assert camera.position - camera.look_at == pytest.approx(moved[0] - moved[1], abs=1e-9)


def test_a_way_is_read_between_its_frames() -> None:
    way = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert [float(find_place(way, at)[0]) for at in (0.0, 0.25, 1.0, 7.0)] == [0.0, 0.25, 1.0, 1.0]


@pytest.mark.slow
def test_a_walk_is_followed_unless_the_box_says_no() -> None:
    pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")
    with Studio(make_walk(0.3), port=18062, shadows=False) as studio:
        follow = studio.panel.follow
        assert not follow.box.value
        studio.show(make_walk(8.0))
        assert follow.box.value
        camera = Camera()
        follow.chases[7] = follow.make_chase(camera)
        first = camera.position.copy()
        end = time.monotonic() + 10.0
        while np.linalg.norm(camera.position - first) < 0.5 and time.monotonic() < end:
            time.sleep(0.02)
        assert camera.position[2] > first[2] + 0.5
        follow.box.value = False
        time.sleep(0.1)
        there = camera.position.copy()
        time.sleep(0.2)
        assert np.array_equal(camera.position, there)
