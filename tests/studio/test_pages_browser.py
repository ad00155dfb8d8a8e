"""Pages in a real browser: pixels are drawn, time passes, the mouse turns the body, and no request is ever made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bvh_cases
import looks_files
import poise
from opened_page import Opened
from poise.formats.meshes.looks import find_look
from poise.goals import Reach, Rest
from poise.model.geometry.looks import deform
from poise.solvers import race

pytestmark = pytest.mark.browser

WITHOUT_WEBGL = """
const real = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith("webgl") ? null : real.call(this, kind, ...rest);
};
"""


def saved(thing: Any, folder: Path) -> Path:
    """Its page."""
    path = folder / "page.html"
    poise.show(thing, path)
    return path


def drawn(pixels: np.ndarray) -> int:
    """Pixels that are clearly something, and not the soft background."""
    return int((np.ptp(pixels, axis=-1) > 30).sum())


@pytest.mark.parametrize("script", ["", WITHOUT_WEBGL], ids=["webgl", "flat"])
def test_a_pose_is_drawn_and_turns_with_the_mouse(browser: Any, tmp_path: Path, script: str) -> None:
    opened = Opened(browser, saved(poise.load("humanoid"), tmp_path), script)
    before = opened.pixels()
    assert drawn(before) > 4000
    assert bool(opened.tab.evaluate("document.body.dataset.painter === 'flat'")) == bool(script)
    opened.tab.mouse.move(450, 300)
    opened.tab.mouse.down()
    opened.tab.mouse.move(600, 320, steps=4)
    opened.tab.mouse.up()
    opened.settle()
    assert (np.abs(opened.pixels() - before).max(axis=-1) > 30).sum() > 2000
    opened.tab.mouse.dblclick(450, 300)
    opened.settle()
    assert (np.abs(opened.pixels() - before).max(axis=-1) > 30).sum() < 200
    opened.close()


def test_a_resized_view_is_drawn_before_it_is_seen(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, saved(poise.load("planar3"), tmp_path), WITHOUT_WEBGL)
    look = "new ResizeObserver(() => done(player.dirty)).observe(player.canvas)"
    assert not opened.tab.evaluate(f"new Promise((done) => {{ player.canvas.style.height = '9px'; {look}; }})")
    opened.close()


def test_a_motion_plays_by_itself_and_stops(browser: Any, tmp_path: Path) -> None:
    model = poise.load("panda")
    q = np.linspace(model.rest, model.rest + 0.6 * (model.upper - model.rest), 60)
    opened = Opened(browser, saved(poise.Motion(model, q, 30), tmp_path))
    opened.until("player.time > 3")
    opened.tab.locator("#play").click()
    opened.until("player.playing === false")
    first, last = opened.still(0), opened.still(59)
    assert (np.abs(first - last).max(axis=-1) > 30).sum() > 3000
    assert "1.97 / 1.97 s" in opened.tab.locator("#clock").inner_text()
    opened.tab.keyboard.press("Home")
    opened.until("player.time === 0")
    opened.close()


def test_arrow_keys_step_after_the_mouse_and_turn_after_tab(browser: Any, tmp_path: Path) -> None:
    model = poise.load("planar3")
    motion = poise.Motion(model, np.repeat([model.rest], 9, axis=0), 30)
    opened = Opened(browser, saved(motion, tmp_path), WITHOUT_WEBGL)
    play, view = opened.tab.locator("#play"), "[player.time, player.azimuth]"
    play.click()
    opened.tab.keyboard.press("Home")
    for button in ("left", "right"):
        opened.tab.mouse.move(450, 300)
        opened.tab.mouse.down(button=button)
        opened.tab.mouse.move(520, 310, steps=3)
        opened.tab.mouse.up(button=button)
    before = opened.tab.evaluate(view)
    for _ in range(2):
        opened.tab.keyboard.press("ArrowRight")
    assert opened.tab.evaluate(view) == [before[0] + 2, before[1]]
    opened.settle()
    assert opened.tab.locator("#slider").get_attribute("aria-valuetext") == "0.07 / 0.27 s"
    assert play.get_attribute("aria-label") == "Play"
    play.focus()
    while opened.tab.evaluate("document.activeElement.id") != "view":
        opened.tab.keyboard.press("Shift+Tab")
    opened.tab.keyboard.press("ArrowRight")
    time, azimuth = opened.tab.evaluate(view)
    assert time == before[0] + 2
    assert azimuth > before[1]
    opened.close()


def test_a_recorded_search_shows_its_table_and_reason(browser: Any, tmp_path: Path) -> None:
    model = poise.load("panda")
    missed = poise.solve(model, [Reach("panda_hand_tcp", (1.2, 0.0, 0.4)), Rest()], record=True)
    opened = Opened(browser, saved(missed, tmp_path), viewport={"width": 390, "height": 640})
    label, panel, view = (opened.tab.locator(each).bounding_box() for each in ("#labels span", "#panel", "#view"))
    assert [label["x"] + label["width"] <= 391, view["y"] + view["height"] <= panel["y"]] == [True, True]
    assert "panda_hand_tcp" in opened.tab.locator("#table").text_content()
    assert "out of reach" in opened.tab.locator("#words").text_content()
    assert drawn(opened.still(len(missed.history))) > 1500
    opened.close()


def test_a_race_is_drawn_with_its_names(browser: Any, tmp_path: Path) -> None:
    result = race(poise.load("panda"), methods=["lm", "dls", "ccd"], problems=3)
    opened = Opened(browser, saved(result, tmp_path))
    assert opened.tab.locator("#labels span").all_inner_texts() == ["lm", "dls", "ccd"]
    assert drawn(opened.still(5)) > 4000
    opened.close()


# ------------------------------------------------------------------------------------------------ bodies of one's own


def tinted(pixels: np.ndarray, channel: int, than: int) -> int:
    """Pixels that have clearly more of one colour than of another."""
    return int((pixels[..., channel] > pixels[..., than] + 50).sum())


@pytest.mark.parametrize("influences", [4, 8])
def test_a_skin_is_drawn_with_its_texture_and_bends(browser: Any, tmp_path: Path, influences: int) -> None:
    halves = looks_files.png([[(200, 30, 30)] * 2 + [(30, 30, 200)] * 2] * 4)
    file, *_ = looks_files.strip(4, influences, texture=halves)
    opened = Opened(browser, saved(poise.load_motion(file.glb(tmp_path / "strip.glb")), tmp_path))
    opened.until("document.body.dataset.images === '1'")
    first, bent = opened.still(0), opened.still(12)
    for pixels in (first, bent):
        assert min(tinted(pixels, 0, 2), tinted(pixels, 2, 0)) > 800, "both halves of the image are seen"
    assert (np.abs(first - bent).max(axis=-1) > 30).sum() > 2000, "it bends"
    opened.close()


def test_the_page_bends_a_skin_as_numpy_does(browser: Any, tmp_path: Path) -> None:
    """Where the pixels of a bent strip are, compared with the vertices that linear blend skinning gives."""
    file, *_ = looks_files.strip(6, 8, texture=looks_files.png([[(200, 30, 30)] * 4] * 4))
    motion = poise.load_motion(file.glb(tmp_path / "strip.glb"))
    opened = Opened(browser, saved(motion, tmp_path))
    opened.until("document.body.dataset.images === '1'")
    (piece,) = find_look(motion.model).pieces
    for frame in (0, 12):
        pixels = opened.still(frame)
        rows, columns = np.nonzero(pixels[..., 0] > pixels[..., 2] + 50)
        points = deform(piece, motion.model.frames, motion.model.fk(motion.q[frame])).tolist()
        places = np.array(opened.tab.evaluate("(points) => points.map((p) => player.camera().project(p))", points))
        x, y = (places[:, 0] + 1) / 2 * pixels.shape[1], (1 - places[:, 1]) / 2 * pixels.shape[0]
        found, wanted = (columns.min(), columns.max(), rows.min(), rows.max()), (x.min(), x.max(), y.min(), y.max())
        np.testing.assert_allclose(found, wanted, atol=6.0)
    opened.close()


@pytest.mark.parametrize("script", ["", WITHOUT_WEBGL], ids=["webgl", "flat"])
def test_a_robot_is_drawn_by_its_meshes_or_by_what_stands_in(browser: Any, tmp_path: Path, script: str) -> None:
    model = poise.load(looks_files.robot(tmp_path), package_path=[tmp_path / "elsewhere"])
    opened = Opened(browser, saved(model, tmp_path), script)
    pixels = opened.pixels()
    assert drawn(pixels) > 1500
    if not script:
        assert min(tinted(pixels, 0, 2), tinted(pixels, 2, 0)) > 800, "red and blue, as its meshes say"
        assert opened.tab.evaluate("document.body.dataset.meshes") == "4"
    opened.close()


def test_a_figure_of_six_channels_is_drawn(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "six.bvh"
    path.write_text(bvh_cases.six_channels("0 0 0"))
    opened = Opened(browser, saved(poise.load_motion(path), tmp_path))
    assert drawn(opened.pixels()) > 1500
    opened.close()
