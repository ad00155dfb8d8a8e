"""The studio in a real browser: Chromium opens it, a mouse drags, clicks, chooses, opens and saves.

Where Playwright or a Chromium is missing, see `chromium`. Nothing waits for a fixed time: each step waits for what it
needs, so that a slow machine is only slow.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import poise
from studio_page import (
    PATIENCE,
    SIZE,
    choose,
    click_until,
    download,
    drag,
    grip_at,
    hover,
    let_go,
    open_page,
    open_save_folder,
    still,
    until,
)

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def as_it_was(studio):
    """Every test starts with the humanoid in its first pose."""
    if studio.model.name != "humanoid":
        studio.show("humanoid")
    studio.puppet.reset()
    studio.session.touch()


def test_it_opens_with_words_and_a_body(page):
    assert page.title() == "Poise studio"
    assert page.get_by_text("a handle and the body follows").is_visible()
    tabs = [page.get_by_role("tab", name=tab) for tab in ("Pose", "Joints", "Solver", "Learn", "Race", "Motion")]
    assert all(tab.is_visible() for tab in tabs)
    until(lambda: len({round(tab.bounding_box()["y"]) for tab in tabs}) == 1, page)  # in one row, once all is there
    box = tabs[-1].bounding_box()
    assert box["x"] + box["width"] <= SIZE["width"]
    page.set_viewport_size({"width": 390, "height": 844})  # on a phone the panel is below the body
    panel = page.locator("[style*='max-height: 60%']")
    until(lambda: panel.count() == 1 and panel.bounding_box()["width"] == 390, page)
    assert panel.bounding_box()["y"] >= 0.5 * 844
    page.set_viewport_size(SIZE)


def test_a_mouse_drags_the_hand_and_the_goal_is_reached(studio, page):
    before, feet = studio.puppet.q, {n: studio.pose.position(n) for n in ("ball_l", "ball_r")}
    drag(studio, page, "hand_l", 40, 90)
    still(studio, page)
    wanted = studio.puppet.held["hand_l"]
    until(lambda: np.linalg.norm(studio.puppet.transform("hand_l")[:3, 3] - wanted) < 1e-3, page)
    assert np.abs(studio.model.difference(before, studio.puppet.q)).max() > 0.1
    until(lambda: not studio.session.last.missed, page)
    x, y = grip_at(studio, page, "hand_l")
    let_go(studio, page)
    for name, place in feet.items():
        assert np.abs(studio.pose.position(name) - place).max() < 1e-6
    assert 0 < x < SIZE["width"]
    assert 0 < y < SIZE["height"]


def test_a_grip_that_wears_arrows_is_dragged_again_in_any_direction(studio, page):
    for right, up in ((40, 70), (-50, 20), (20, -60)):  # drag() waits until the target is where the mouse is
        drag(studio, page, "hand_l", right, up)
        page.mouse.up()
        until(lambda: not studio.puppet.held, page)
        still(studio, page)


def test_a_clicked_foot_is_released_and_pinned_again_and_stays(studio, page):
    click_until(page, lambda: hover(studio, page, "foot_l"), lambda: "foot_l" not in studio.puppet.fixed)
    still(studio, page)
    click_until(page, lambda: hover(studio, page, "foot_l"), lambda: "foot_l" in studio.puppet.planted)
    page.keyboard.press("p")
    until(lambda: "foot_l" in studio.puppet.pins, page)
    still(studio, page)
    pinned = studio.puppet.transform("foot_l")
    drag(studio, page, "hand_r", -30, 80)
    still(studio, page)
    let_go(studio, page)
    assert np.abs(studio.puppet.transform("foot_l") - pinned).max() < 1e-6


def test_an_unreachable_handle_turns_red_and_says_why(studio, page):
    drag(studio, page, "hand_l", -380, 230)
    until(lambda: "hand_l" in studio.session.last.missed, page)
    until(lambda: tuple(studio.session.grips.nodes["hand_l"].color) == (222, 52, 60), page)
    page.get_by_text("Not everything can be reached").wait_for(timeout=1e3 * PATIENCE)
    page.get_by_text("docs/failures.md").wait_for(timeout=1e3 * PATIENCE)
    let_go(studio, page)


def test_methods_are_switched_while_a_handle_is_held(studio, page):
    page.get_by_role("tab", name="Solver").click()
    drag(studio, page, "hand_l", 20, 40)
    studio.panel.solver.method.value = "dls"  # the mouse is busy: as another viewer would
    until(lambda: studio.puppet.settings.method.name == "dls", page)
    still(studio, page)
    assert studio.session.last.errors["hand_l"][0] < 2e-3
    let_go(studio, page)
    choose(page, "Method", "ccd")
    until(lambda: studio.puppet.settings.method.name == "ccd", page)
    choose(page, "Method", "auto")
    until(lambda: studio.puppet.settings.method.name == "lm", page)
    page.get_by_role("tab", name="Pose").click()


def test_a_drag_is_one_undo_step_by_key(studio, page):
    before = studio.puppet.q
    drag(studio, page, "hand_l", 40, 60)
    still(studio, page)
    let_go(studio, page)
    still(studio, page)
    after = studio.puppet.q
    page.keyboard.press("Control+z")
    until(lambda: np.array_equal(studio.puppet.q, before), page)
    page.keyboard.press("Control+Shift+z")
    until(lambda: np.array_equal(studio.puppet.q, after), page)


def test_keys_turn_the_view_release_and_help(studio, page):
    camera = studio.session.server.get_clients()[page.viewer].camera
    click_until(page, lambda: hover(studio, page, "foot_l"), lambda: "foot_l" not in studio.puppet.fixed)
    page.keyboard.press("p")
    until(lambda: "foot_l" in studio.puppet.pins, page)
    page.keyboard.press("Shift+r")
    until(lambda: not studio.puppet.fixed, page)
    page.keyboard.press("3")
    until(lambda: camera.position[1] - camera.look_at[1] > 1.2, page)  # the nearest place that sees all of it
    page.keyboard.press("1")
    until(lambda: abs(camera.position[1] - camera.look_at[1]) < 0.5, page)
    page.keyboard.press("h")
    page.get_by_text("Ctrl K finds them by name").wait_for(timeout=1e3 * PATIENCE)
    page.get_by_role("button", name="Close").last.click()


def test_the_camera_does_not_sink_below_the_floor(studio, page):
    camera = studio.session.server.get_clients()[page.viewer].camera
    page.mouse.move(60, 300)
    page.mouse.down()
    for k in range(8):
        page.mouse.move(60, 300 - 30 * k)  # look from below
    page.mouse.up()
    page.wait_for_timeout(500)
    until(lambda: camera.position[1] >= studio.session.scenery.floor, page)
    page.keyboard.press("1")
    until(lambda: camera.position[1] > studio.session.scenery.floor + 0.3, page)


def test_a_file_is_opened_and_a_pose_saved(studio, page, tmp_path):
    poise.save(poise.load("panda"), tmp_path / "arm.urdf")
    page.locator("input[type=file]").first.set_input_files(str(tmp_path / "arm.urdf"))
    until(lambda: studio.model.nv == 7, page)
    page.get_by_text("arm.urdf is open").wait_for(timeout=1e3 * PATIENCE)
    open_save_folder(page)
    download(page, "Save").save_as(tmp_path / "pose.json")
    assert '"poise": "pose"' in (tmp_path / "pose.json").read_text()


def test_two_viewers_do_not_disturb_each_other(studio, browser, page):
    other = open_page(browser, studio)
    drag(studio, page, "hand_l", 30, 60)
    drag(studio, other, "hand_r", -30, 60)
    mine = studio.puppet.held["hand_l"].copy()
    assert studio.session.grips.owners == {"hand_l": page.viewer, "hand_r": other.viewer}
    still(studio, page)
    assert np.array_equal(studio.puppet.held["hand_l"], mine)
    for name in ("hand_l", "hand_r"):
        assert np.linalg.norm(studio.puppet.transform(name)[:3, 3] - studio.puppet.held[name]) < 1e-3
    other.close()  # with the mouse down: its handle is released, and the first drag continues
    until(lambda: "hand_r" not in studio.puppet.held, page)
    assert np.array_equal(studio.puppet.held["hand_l"], mine)
    let_go(studio, page)


@pytest.mark.timing
def test_a_mouse_event_becomes_a_pose_within_20_ms(studio, page, closing_table):
    page.evaluate(
        "() => { window.moved = []; window.addEventListener('pointermove',"
        " e => window.moved.push(performance.timeOrigin + e.timeStamp), true) }"
    )
    shown: list[float] = []

    def watch(*_):
        shown.append(1e3 * time.time())

    studio.session.listeners.append(watch)
    drag(studio, page, "hand_l", 30, 40, steps=25)
    x, y = grip_at(studio, page, "hand_l")
    delays = []
    for k in range(6):  # single moves out of stillness: the first pose after one is its answer
        still(studio, page)
        count = page.evaluate("() => { window.moved = []; return 0 }")
        shown.clear()
        page.mouse.move(x + 4 * (k % 2), y - 4 * k)
        until(lambda: shown, page)
        moved = page.evaluate("() => window.moved")
        delays += [shown[0] - moved[0]] if moved else []
    page.mouse.up()
    studio.session.listeners.remove(watch)
    figures = studio.meter.summarize()
    closing_table(
        "studio: from a mouse event to a new pose",
        f"in the browser's event to pose sent, median {np.median(delays):.1f} ms (software rendering takes most of it);"
        f" server alone median {figures['delay_ms']:.2f} ms, 99% {figures['delay_ms_p99']:.1f} ms;"
        f" solve {figures['solve_ms']:.2f} ms; {figures['frames_per_second']:.0f} frames a second",
    )
    assert count == 0
    assert figures["delay_ms"] < 20
