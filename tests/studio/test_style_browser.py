"""Style in a real browser: clips are opened, the slider shapes a drag, undo reverts, Save writes the visible pose."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise
from poise.goals import Style
from studio_page import PATIENCE, download, drag, open_save_folder, still, until
from walks import make_bow, make_walk

pytestmark = pytest.mark.browser


def test_clips_are_learned_and_a_slider_shapes_the_drag(studio, page, tmp_path):
    styling = studio.styles
    poise.save(make_bow(), tmp_path / "bow.npz")  # of this body
    poise.save(make_walk(24), tmp_path / "walk.bvh")  # of the body that the file describes: carried over
    before = studio.puppet.q
    page.get_by_text("Style", exact=True).last.click()
    for name, frames in (("bow.npz", 60), ("walk.bvh", 84)):
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open clips").click(timeout=1e3 * PATIENCE)
        chooser.value.set_files(tmp_path / name)
        page.get_by_text(f"Learned from {frames} frames").wait_for(timeout=1e3 * PATIENCE)
    page.get_by_text("carried over from").wait_for(timeout=1e3 * PATIENCE)
    off = np.abs(studio.model.difference(studio.puppet.q, before))
    moved = [joint.name for joint in studio.model.joints if off[joint.v].max(initial=0.0) > 1e-6]
    assert not moved, "no target is set yet"

    drag(studio, page, "hand_l", 30, 20)
    page.mouse.up()
    still(studio, page)
    styled = studio.pose
    slider = page.locator("[role=slider][aria-valuemin='0'][aria-valuemax='1']").first
    slider.focus()
    page.keyboard.press("Home")
    until(lambda: styling.share == 0.0, page)
    still(studio, page)
    plain = studio.pose
    style = styling.style
    assert style.likelihood(styled) > style.likelihood(plain) + 10.0
    hand = studio.puppet.handles["hand_l"].frame
    assert np.abs(styled.position(hand) - plain.position(hand)).max() < 2e-3
    assert studio.session.grips._states["hand_l"] == "placed"

    page.keyboard.press("Control+z")  # the slide
    until(lambda: np.array_equal(studio.puppet.q, styled.q), page)
    download(page, "Save style").save_as(tmp_path / "saved.npz")
    assert len(Style.load(tmp_path / "saved.npz")) == 84
    open_save_folder(page)
    assert json.loads(download(page, "Save").path().read_text())["q"] == pytest.approx(list(styled.q))
    page.keyboard.press("Control+z")  # the drag
    until(lambda: np.abs(studio.puppet.q - before).max() < 1e-6, page)
