"""The timeline in a real browser: feet are found and locked, a key is dragged, the clip is saved and carried over."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from studio_page import PATIENCE, choose, click_until, download, drag, seen_at, until
from walks import make_walk, put_skate_in

pytestmark = pytest.mark.browser

FPS = 30.0
FRAME = 30  # the right foot stands, the left one swings


@pytest.fixture(scope="module")
def studio(studio, tmp_path_factory):
    """The studio with a clip whose feet slip, from a file."""
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    poise.save(put_skate_in(make_walk(90)), path)
    studio.show(path)
    studio.session.player.stop()
    return studio


@pytest.fixture(scope="module")
def page(page):
    page.get_by_role("tab", name="Motion").click()
    return page


def press(page, name):
    """Presses a button of the panel."""
    page.get_by_role("button", name=name, exact=True).click(timeout=1e3 * PATIENCE)


def unfold(page, name):
    """Opens a folder of the panel."""
    page.get_by_text(name, exact=True).last.click(timeout=1e3 * PATIENCE)


def free(studio, page):
    """Waits until no long work goes on."""
    until(lambda: studio.session.editing.background.task is None, page)


def test_feet_are_found_locked_and_measured(studio, page):
    press(page, "Find contacts")
    until(lambda: studio.session.editing.state.contacts is not None, page)
    free(studio, page)
    for name in ("heel_l", "toe_r"):  # rows of the picture
        page.get_by_text(name, exact=True).first.wait_for(timeout=1e3 * PATIENCE)
    page.get_by_role("button", name="Lock feet").dblclick(timeout=1e3 * PATIENCE)  # twice, as people do
    until(lambda: studio.session.player.edited, page)
    free(studio, page)
    assert len(studio.session.player.timeline._past) in (
        2,
        3,
    )  # found, locked; and again where the first had ended by then
    page.get_by_text("contacts hold within 0.01 mm").wait_for(timeout=1e3 * PATIENCE)
    press(page, "Quality")
    page.get_by_text("slip, mean").wait_for(timeout=1e3 * PATIENCE)
    before, after = studio.session.editing.compared
    assert before.slip_max > 0.5
    assert after.slip_max < 0.01


def test_the_marker_follows_the_time_and_keys_set_in_and_out(studio, page):
    studio.session.player.show_at(1.0)
    page.keyboard.press("n")
    until(lambda: studio.session.player.frame == FRAME + 1, page)
    share = 100.0 * (FRAME + 1) / (len(studio.session.player.motion) - 1)
    page.locator(f"div[style*='left: {share:.2f}%'], div[style*='left:{share:.2f}%']").first.wait_for(
        state="attached", timeout=1e3 * PATIENCE
    )
    page.keyboard.press("i")
    until(lambda: studio.session.player.start == pytest.approx(31 / FPS), page)
    studio.session.player.set_part(0.0, studio.session.player.duration)


def test_a_drag_at_a_frame_is_a_key_that_undo_takes_back(studio, page):
    studio.session.player.show_at(FRAME / FPS)
    before = studio.session.player.motion
    drag(studio, page, "hand_l", 20, 50)
    page.mouse.up()
    until(lambda: studio.session.editing.state.keys, page)
    free(studio, page)
    (key,) = studio.session.editing.state.keys
    assert key.frame == FRAME
    page.get_by_text("1.00 s: hand_l").or_(page.locator("input[value='1.00 s: hand_l']")).first.wait_for(
        state="attached", timeout=1e3 * PATIENCE
    )
    place = studio.model.fk(key.pose, studio.puppet.handles["hand_l"].frame)[:3, 3]
    seen = studio.session.player.motion[FRAME].position(studio.puppet.handles["hand_l"].frame)
    assert np.abs(seen - place).max() < 1e-6
    page.keyboard.press("Control+z")
    until(lambda: studio.session.player.motion is before, page)
    page.keyboard.press("Control+Shift+z")
    until(lambda: studio.session.editing.state.keys, page)
    press(page, "Remove this key")
    until(lambda: not studio.session.editing.state.keys, page)
    free(studio, page)


def test_the_clip_is_saved_as_it_is_seen_in_its_own_format(studio, page, tmp_path):
    unfold(page, "Save")
    file = download(page, "Save clip")
    assert file.suggested_filename == "walk_edited.bvh"
    file.save_as(tmp_path / "saved.bvh")
    saved, seen = poise.load_motion(tmp_path / "saved.bvh"), studio.session.player.motion
    for name in ("heel_l", "hand_r"):
        frame = poise.roles(seen.model).get(name, name)
        assert np.abs(saved.positions(frame) - seen.positions(frame)).max() < 1e-4


def test_a_clip_is_retargeted_and_a_pair_mended_by_two_clicks(studio, page, tmp_path):
    second = studio.second_body
    unfold(page, "Carry to another body")
    choose(page, "Onto", "humanoid as a child")
    until(lambda: second.carried is not None and second.background.task is None, page)
    page.get_by_text("parts, 1 m of the path").wait_for(timeout=1e3 * PATIENCE)
    page.set_viewport_size({"width": 1200, "height": 560})  # next to the panel there is room for two
    camera = studio.session.server.get_clients()[page.viewer].camera
    until(lambda: camera.image_width / camera.image_height > 2.0, page)
    studio.session.player.show_at(0.0)
    second.look()
    page.wait_for_timeout(1000)
    first = second.mapping.find("head")
    press(page, "Mend a pair by two clicks")
    page.get_by_text("Click a part of the body that moves").wait_for(timeout=1e3 * PATIENCE)
    own = studio.pose.position(first.source) + 0.08 * studio.model.up_direction
    click_until(page, lambda: seen_at(studio, page, own), lambda: studio.panel.motion.carry.picked)
    places = [
        second.view.places[second.model.frames.index(second.mapping.find(role).target), :3, 3]
        for role in ("chest", "neck")
    ]
    between = np.mean(places, axis=0)
    click_until(page, lambda: seen_at(studio, page, between), lambda: not studio.panel.motion.carry.picked)
    assert second.mapping.find("head").source == first.source
    assert second.mapping.find("head").target != first.target
    until(lambda: second.background.task is None and second.carried.result.mapping == second.mapping, page)
    choose(page, "On the other", first.target)  # the same by the list
    until(lambda: second.mapping.find("head") == first, page)
    until(lambda: second.background.task is None and second.carried.result.mapping.find("head") == first, page)
    download(page, "Save carried clip").save_as(tmp_path / "carried.bvh")
    assert len(poise.load_motion(tmp_path / "carried.bvh")) == len(studio.session.player.motion)
