"""Pages that solve, in a real browser: dragged by mouse, finger and keys; limits hold; no request is made."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from hostile_names import ATTACKS, make_body, make_clip
from opened_page import Opened
from poise.goals import Reach
from poise.kinematics import Mirror
from poise.native import read_wasm
from poise.solvers import race

pytestmark = pytest.mark.browser

OUTLINES = """
const real = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "2d" ? real.call(this, kind, ...rest) : null;
};
"""  # drawing without WebGL is cheaper where there is no graphics card
LACKS = {
    "SIMD": "WebAssembly.validate = () => false;",
    "WebAssembly": "delete window.WebAssembly;",
    "DecompressionStream": "delete window.DecompressionStream;",
    "memory": "WebAssembly.instantiate = () => Promise.reject(new RangeError('out of memory'));",
}
COUNT_WRITES = """
window.writes = 0;
const look = {attributes: true, childList: true, characterData: true, subtree: true};
new MutationObserver((seen) => { window.writes += seen.length; }).observe(document.getElementById("short"), look);
"""
PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


@pytest.fixture(autouse=True)
def module() -> None:
    """The kernels of pages, which CI has."""
    if read_wasm() is None and os.environ.get("POISE_NEEDS_WASM"):
        pytest.fail("the module is missing: make wasm")
    if read_wasm() is None:
        pytest.skip("the module is missing: make wasm")


class Dragged(Opened):
    """A page that solves."""

    def __init__(self, browser: Any, thing: Any, folder: Path, script: str = "", **options: Any) -> None:
        poise.show(thing, folder / "page.html", drag=True)
        super().__init__(browser, folder / "page.html", script, **options)
        self.until("['ready', 'failed'].includes(document.body.dataset.drag)")

    def find(self, handle: str) -> tuple[float, float]:
        """Where a handle is on the screen."""
        return self.find_middle(f'.handle[title="{handle}"]')

    def find_middle(self, selector: str) -> tuple[float, float]:
        """Where the middle of an element is on the screen."""
        box = self.tab.locator(selector).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, handle: str, dx: float, dy: float) -> None:
        """Drag a handle by pixels, and wait until the body is at rest."""
        x, y = self.find(handle)
        self.tab.mouse.move(x, y)
        self.tab.mouse.down()
        self.tab.mouse.move(x + dx, y + dy, steps=6)
        self.settle()
        self.tab.mouse.up()
        self.rest()

    def rest(self) -> None:
        self.settle()
        self.until("!player.puppet.moving")
        self.settle()

    def q(self) -> np.ndarray:
        return np.array(self.tab.evaluate("Array.from(player.puppet.q)"))

    def rows(self) -> dict[str, list[str]]:
        """The cells of the table by goal."""
        rows = self.tab.evaluate(
            "Array.from(document.getElementById('table').rows, (r) => Array.from(r.cells, (c) => c.textContent))"
        )
        return {row[0]: row[1:] for row in rows[1:]}


def test_a_figure_follows_the_mouse_and_its_feet_stay(browser: Any, tmp_path: Path) -> None:
    model = poise.load("humanoid")
    opened = Dragged(browser, model, tmp_path)
    before, pixels = opened.q(), opened.pixels()
    opened.drag("hand_l", 60, -90)
    after = opened.q()
    for foot in ("foot_l", "foot_r"):
        assert np.abs(model.fk(after, foot) - model.fk(before, foot)).max() < 1e-4
    assert np.linalg.norm(model.fk(after, "hand_l")[:3, 3] - model.fk(before, "hand_l")[:3, 3]) > 0.1
    assert np.abs(model.clamp(after) - after).max() < 1e-12
    assert opened.rows()["hand_l"][2] == "yes"
    assert opened.rows()["balance"][2] == "yes"
    opened.tab.keyboard.press("Home")
    assert opened.tab.evaluate("player.puppet.live"), "there is no motion to go back to"
    assert (np.abs(opened.pixels() - pixels).max(axis=-1) > 30).sum() > 1000
    opened.tab.locator("#undo").click()
    opened.rest()
    assert np.abs(opened.q() - before).max() < 1e-5
    opened.close()


def test_the_mirror_swaps_sides_and_pins(browser: Any, tmp_path: Path) -> None:
    model = poise.load("humanoid")
    opened = Dragged(browser, model, tmp_path, OUTLINES)
    start = opened.q()
    opened.drag("hand_l", 60, -90)
    opened.tab.locator("#hold").click()
    opened.rest()
    before = opened.q()
    opened.tab.locator("#mirror").click()
    opened.rest()
    wanted = Mirror(model).reflect_pose(before, start)
    assert np.abs(model.fk(opened.q()) - model.fk(wanted)).max() < 0.02
    held = opened.tab.evaluate("Object.fromEntries(player.puppet.held)")
    assert held == {"foot_l": "plant", "foot_r": "plant", "hand_r": "pin"}
    opened.tab.locator("#undo").click()
    opened.rest()
    assert np.abs(opened.q() - before).max() < 1e-4
    opened.close()


def test_a_far_target_is_missed_in_words_and_the_range_is_kept(browser: Any, tmp_path: Path) -> None:
    model = poise.load("panda")
    opened = Dragged(browser, model, tmp_path)
    opened.drag("panda_hand_tcp", -380, -250)
    q = opened.q()
    assert (q >= model.lower).all()
    assert (q <= model.upper).all()
    assert opened.rows()["panda_hand_tcp"][2] == "no"
    assert opened.tab.locator("#words").inner_text().startswith("panda_hand_tcp is missed by ")
    assert opened.tab.locator("#short").inner_text() == "1 of 1 missed"
    assert opened.tab.locator(".target").is_visible()
    assert opened.tab.locator(".handle.missed").get_attribute("title") == "panda_hand_tcp"
    here, there = opened.find("panda_hand_tcp"), opened.find_middle(".target")
    assert np.hypot(*np.subtract(here, there)) > 50
    assert opened.find_middle(".thread") == pytest.approx(np.mean([here, there], axis=0), abs=2.0)
    opened.tab.evaluate(COUNT_WRITES)
    opened.tab.evaluate("player.puppet.moving = true")  # another solve
    opened.rest()
    assert opened.tab.evaluate("window.writes") == 0, "the same words are not written again"
    opened.tab.locator("#undo").click()
    opened.rest()
    for mark in (".target", ".thread", ".handle.missed"):
        assert opened.tab.locator(mark).count() == 0 or not opened.tab.locator(mark).is_visible()
    opened.close()


def test_the_reason_names_only_joints_that_move_the_goal(browser: Any, tmp_path: Path) -> None:
    model = poise.load("humanoid")
    knee = next(joint for joint in model.joints if joint.frame == model.roles["knee_r"])
    pose = poise.Pose(model).replace({knee.name: float(knee.lower)})
    rig = poise.Rig(pose.model, pose.q)
    rig.pin("pelvis")
    opened = Dragged(browser, rig, tmp_path, OUTLINES)
    opened.drag("hand_l", 100, -250)
    words = opened.tab.locator("#words").inner_text()
    assert re.fullmatch(r"hand_l is missed by [^.]*\.", words), "one sentence"
    assert knee.name not in words
    two = "[p.data.standing[0], p.handles[0].goals.drag[0]].map((goal, k) => ({goal, metres: 1 - 0.9 * k, radians: 0}))"
    assert opened.tab.evaluate(f"((p) => p.say({two}, 2))(player.puppet)").startswith("hand_l"), "handles come first"
    opened.close()


def test_targets_and_handles_are_above_the_panel(browser: Any, tmp_path: Path) -> None:
    opened = Dragged(browser, poise.load("panda"), tmp_path, OUTLINES, viewport={"width": 1000, "height": 640})
    x, y = opened.find("panda_hand_tcp")
    opened.drag("panda_hand_tcp", 800 - x, 40 - y)
    for mark in (".target", ".handle"):
        level = f"Number(getComputedStyle(document.querySelector('{mark}')).zIndex)"
        assert opened.tab.evaluate(level) > 0
    opened.close()


@pytest.mark.parametrize("wide", [390, 1000])
def test_all_columns_of_the_jacobian_are_seen(browser: Any, tmp_path: Path, wide: int) -> None:
    model = poise.load("panda")
    opened = Dragged(browser, model, tmp_path, OUTLINES, viewport={"width": wide, "height": 780})
    opened.tab.evaluate("document.getElementById('panel').open = document.getElementById('lesson').open = true")
    opened.settle()
    assert opened.tab.locator("#jacobian th").count() == 1 + model.nv
    for table in ("jacobian", "steps"):
        box = opened.tab.locator(f"#{table} th").last.bounding_box()
        panel = opened.tab.locator("#panel").bounding_box()
        assert box["x"] + box["width"] <= panel["x"] + panel["width"]
    opened.close()


def test_a_phone_drags_by_touch_and_a_keyboard_pins(browser: Any, tmp_path: Path) -> None:
    opened = Dragged(browser, poise.load("humanoid"), tmp_path, OUTLINES, **PHONE)
    before = opened.q()
    x, y = opened.find("hand_r")
    touch = opened.context.new_cdp_session(opened.tab)
    for kind, at in (("touchStart", 0), ("touchMove", 20), ("touchMove", 50), ("touchEnd", None)):
        points = [] if at is None else [{"x": x - at, "y": y - at}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        opened.settle()
    opened.rest()
    moved = opened.q()
    assert np.abs(moved - before).max() > 0.1
    head = opened.tab.locator('.handle[title="head"]')
    head.focus()
    opened.tab.keyboard.press("ArrowUp")
    opened.tab.keyboard.press("Enter")
    opened.rest()
    assert head.get_attribute("aria-label") == "head, pinned"
    for part in ("#tools", "#panel"):
        box = opened.tab.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    opened.close()


def test_a_paused_motion_is_solved_again_at_its_frame(browser: Any, tmp_path: Path) -> None:
    model = poise.load("panda")
    q = np.linspace(model.rest, model.rest + 0.4 * (model.upper - model.rest), 30)
    opened = Dragged(browser, poise.Motion(model, q, 30), tmp_path, OUTLINES)
    opened.tab.evaluate("player.play(false); player.seek(10)")
    opened.settle()
    opened.drag("panda_hand_tcp", 0, -40)
    assert np.abs(opened.q() - q[10]).max() > 0.02
    opened.tab.evaluate("player.seek(20)")
    opened.settle()
    assert np.abs(opened.q() - q[20]).max() < 1e-12
    opened.tab.keyboard.press("Home")
    opened.settle()
    place = opened.find("panda_hand_tcp")
    opened.drag("panda_hand_tcp", 0, -40)
    opened.tab.keyboard.press("Home")
    opened.settle()
    assert np.abs(opened.q() - q[0]).max() < 1e-12, "the frame that was shown already"
    assert opened.find("panda_hand_tcp") == pytest.approx(place, abs=0.01)
    opened.close()


def test_the_handles_of_a_motion_show_its_contacts(browser: Any, tmp_path: Path) -> None:
    model = poise.load("humanoid")
    q = np.repeat(np.array(model.rest)[None], 6, axis=0)
    q[3:, 1] += 0.5  # a jump
    opened = Dragged(browser, poise.Motion(model, q, 30), tmp_path, OUTLINES)
    foot = opened.tab.locator('.handle[title="foot_l"]')
    for frame, held in ((4, "free"), (1, "planted")):
        opened.still(frame)
        assert foot.get_attribute("aria-label") == f"foot_l, {held}"
    opened.drag("hand_l", 30, -30)
    assert set(opened.rows()) >= {"foot_l", "foot_r", "hand_l"}
    opened.close()


def test_a_small_arm_shows_its_jacobian_and_the_first_steps(browser: Any, tmp_path: Path) -> None:
    model = poise.load("planar3")
    opened = Dragged(browser, model, tmp_path, OUTLINES)
    start = opened.q()
    opened.tab.evaluate("document.getElementById('lesson').open = true")
    opened.tab.locator(".handle").focus()
    opened.tab.keyboard.press("ArrowUp")
    opened.rest()
    assert opened.rows()["tip"][2] == "yes", "a step within the plane of the arm"
    opened.drag("tip", -40, -60)
    cells = "(id) => Array.from(document.getElementById(id).rows, (r) => Array.from(r.cells, (c) => c.textContent))"
    J = np.array([row[1:] for row in opened.tab.evaluate(cells, "jacobian")[1:]], dtype=float)
    assert np.abs(J - model.jacobian(opened.q(), "tip")[:2]).max() < 1e-3
    sigma = re.findall(r"[0-9.]+", opened.tab.locator("#sigma").inner_text())
    assert np.abs(np.array(sigma, dtype=float) - np.linalg.svd(J, compute_uv=False)).max() < 5e-3
    steps = {row[0]: np.array(row[1:], dtype=float) for row in opened.tab.evaluate(cells, "steps")[1:]}
    assert {"transpose", "dls", "ccd"} <= set(steps)
    before, target = model.fk(start, "tip")[:3, 3], np.array(opened.tab.evaluate("player.puppet.lesson.target()"))
    for step in steps.values():
        after = model.fk(start + step, "tip")[:3, 3]
        assert np.linalg.norm(after - target) < np.linalg.norm(before - target)
    opened.close()


def test_a_race_runs_again_where_its_target_is_dragged(browser: Any, tmp_path: Path) -> None:
    model, methods = poise.load("planar3"), ["dls", "lm", "ccd"]
    first = race(model, methods=methods, problems=1)
    opened = Dragged(browser, first, tmp_path, OUTLINES)
    assert {name: int(row[1]) for name, row in opened.rows().items()} == {r.method: int(r.steps) for r in first.racers}
    opened.until("player.time > 1")
    before = opened.tab.evaluate("player.puppet.handles[0].race.target")
    x, y = opened.find("lm")
    opened.tab.mouse.move(x, y)
    opened.tab.mouse.down()
    opened.tab.mouse.move(x - 30, y + 20, steps=4)
    opened.settle()
    assert opened.tab.evaluate("player.scene.frames") == 1, "the poses that the methods end in"
    opened.tab.mouse.up()
    opened.settle()
    target = np.array(opened.tab.evaluate("player.puppet.handles[0].race.target"))
    assert 0.1 < np.linalg.norm(target - before) < 2.0
    ends = opened.tab.evaluate("player.puppet.handles.map(({path}) => Array.from(path.at(-1).q))")
    for method, q in zip(methods, ends, strict=True):
        own = poise.solve(model, Reach("tip", target), method=method, restarts=0, max_steps=1000)
        assert np.abs(own.q - q).max() < 1e-5
        assert opened.rows()[method][1:] == [str(own.steps), opened.rows()[method][2], "yes"]
    assert (
        opened.tab.evaluate("player.playing && player.end")
        == max(opened.tab.evaluate("player.puppet.handles.map(({path}) => path.length)")) - 1
    )
    opened.tab.locator("#reset").click()
    opened.settle()
    assert opened.tab.evaluate("player.puppet.handles[0].race.target") == before
    opened.close()


def test_a_race_of_two_bodies_moves_only_the_dragged_one(browser: Any, tmp_path: Path) -> None:
    races = [race(poise.load(name), methods=["dls", "lm"], problems=1) for name in ("panda", "planar3")]
    opened = Dragged(browser, races, tmp_path, OUTLINES, **PHONE)
    targets = "player.puppet.data.races.map(({target}) => target)"
    before = np.array(opened.tab.evaluate(targets))
    opened.tab.locator('.handle[title="planar3 lm"]').focus()
    opened.tab.keyboard.press("Shift+ArrowUp")
    opened.settle()
    moved = np.array(opened.tab.evaluate(targets)) - before
    assert np.abs(moved[0]).max() == 0.0
    assert moved[1] == pytest.approx([0.0, moved[1, 1], 0.0], abs=1e-9), "up in its plane"
    assert moved[1, 1] > 0.05
    opened.close()


@pytest.mark.parametrize("missing", LACKS)
def test_a_browser_that_cannot_solve_says_so_and_shows_the_body(browser: Any, tmp_path: Path, missing: str) -> None:
    opened = Dragged(browser, poise.load("planar3"), tmp_path, OUTLINES + LACKS[missing])
    said = "cannot be dragged here: out of memory." if missing == "memory" else "no WebAssembly SIMD or no Decompr"
    for place in ("#words", "#said"):
        assert said in opened.tab.locator(place).inner_text()
    assert opened.tab.locator(".handle").count() == 0
    assert (np.ptp(opened.pixels(), axis=-1) > 30).sum() > 500
    opened.close()


def test_screen_readers_find_every_control_and_hear_results(browser: Any, tmp_path: Path) -> None:
    opened = Dragged(browser, poise.load("humanoid"), tmp_path, OUTLINES)
    tree = opened.tab.locator("body").aria_snapshot()
    names = opened.tab.evaluate("player.puppet.handles.map(({name}) => name)")
    for name in names:
        role = "planted" if name.startswith("foot") else "free"
        assert f'button "{name}, {role}"' in tree
    for control in ('group "Handles: drag', 'application "A body in three', 'button "Mirror"', 'checkbox "gaze"'):
        assert control in tree
    assert opened.tab.locator("#said").inner_text() == "", "nothing has happened yet"
    opened.tab.locator("#view").focus()
    for name in names:
        opened.tab.keyboard.press("Tab")
        assert opened.tab.evaluate("document.activeElement.title") == name
        outline = opened.tab.evaluate("getComputedStyle(document.activeElement, '::before').outlineStyle")
        assert outline == "solid", "the focus is visible"
    opened.tab.locator('.handle[title="hand_l"]').focus()
    place = "player.puppet.position(player.puppet.selected)"
    for key in ("ArrowUp", "ArrowRight", "PageUp", "PageDown"):
        before = np.array(opened.tab.evaluate(place))
        opened.tab.keyboard.press(f"Shift+{key}")
        opened.rest()
        assert np.linalg.norm(np.array(opened.tab.evaluate(place)) - before) > 0.01
    opened.until("document.getElementById('said').textContent.startsWith('hand_l at ')")
    opened.until("document.getElementById('said').textContent.endsWith(' m. All goals are reached.')")
    opened.tab.locator("#view").focus()
    turned = opened.tab.evaluate("[player.azimuth, player.zoom]")
    opened.tab.keyboard.press("ArrowLeft")
    opened.tab.keyboard.press("+")
    assert (np.array(opened.tab.evaluate("[player.azimuth, player.zoom]")) < turned).all()
    opened.tab.keyboard.press("0")
    assert opened.tab.evaluate("[player.azimuth, player.zoom]") == turned
    opened.close()


def test_hostile_names_are_text(browser: Any, tmp_path: Path) -> None:
    """Of handles, of goals that are missed, of joints at the end of their range, of a motion and of a race."""
    model = make_body()
    clip, races = make_clip(model), [race(model, methods=["lm", "dls"], problems=1)] * 2
    titles = (model.name, model.name, f"A race: {model.name}")
    for thing, title in zip((model, clip, races), titles, strict=True):
        opened = Dragged(browser, thing, tmp_path, OUTLINES)
        assert opened.tab.evaluate("document.body.dataset.drag") == "ready"
        assert opened.tab.locator("#title").inner_text() == title
        handle = opened.tab.locator(".handle").first
        handle.focus()
        for _ in range(12):
            opened.tab.keyboard.press("Shift+ArrowRight")
        opened.until("document.getElementById('said').textContent.includes('issed')")
        shown = opened.tab.locator("#table").inner_text() + opened.tab.locator("#words").inner_text()
        assert any(attack in shown for attack in ATTACKS)
        assert any(attack in handle.get_attribute("aria-label") for attack in ATTACKS)
        assert opened.tab.evaluate("() => window.ran") is None
        assert opened.tab.locator("iframe, img, svg, b, [onerror], [onload], [onmouseover]").count() == 0
        opened.close()
