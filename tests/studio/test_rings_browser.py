"""Rings in a real browser: a mouse clicks a part of a body, through notices and handles, and turns its joint alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bvh_cases
import looks_files as made
import poise
from studio_page import PATIENCE, SIZE, click_until, seen_at, until

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise-ik[studio]'")

from poise.studio.scene.joint_turn import find_turning_joint
from poise.studio.scene.rings import RING_SIZE
from poise.studio.web.studio import Studio

pytestmark = pytest.mark.browser

SEEN = (440, 450)  # [pixels] left of the panel
STEP = 8  # [pixels] between two looks
AROUND = 40  # [pixels] around the frames of a body it is looked for
ARC = 0.65  # of a gizmo's size is the radius of its rings


def write_strip(folder: Path) -> Path:
    return made.strip(4, 4)[0].glb(folder / "strip.glb")


def write_bvh(folder: Path) -> Path:
    return bvh_cases.write(folder, bvh_cases.six_channels("0 0 0"))


def look(camera: Any, x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    """The ray through a place of the window."""
    focus = 0.5 * SIZE["height"] / np.tan(0.5 * camera.fov)
    inside = np.array([x - 0.5 * SIZE["width"], y - 0.5 * SIZE["height"], focus])
    return np.array(camera.position), poise.Rotation(camera.wxyz).matrix @ inside / np.linalg.norm(inside)


def find_parts(studio: Studio, page: Any, camera: Any) -> dict[str, tuple[float, float]]:
    """Where in the window each part is seen that turns, about the middle of what is seen of it [pixels].

    A part that is too thin to be meant by a click is left out: all within two pixels of the place must be of it.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    shown = np.array([seen_at(studio, page, place) for place in studio.session.view.places[:, :3, 3]])
    low, high = (np.clip(ends, 0, SEEN) for ends in (shown.min(axis=0) - AROUND, shown.max(axis=0) + AROUND))
    for y in range(STEP * (1 + int(low[1]) // STEP), int(high[1]), STEP):
        for x in range(STEP * (1 + int(low[0]) // STEP), int(high[0]), STEP):
            frame = studio.session.view.find_clicked(*look(camera, x, y))
            if frame is not None and find_turning_joint(studio.model, frame, studio.puppet.size) is not None:
                found.setdefault(frame, []).append((x, y))
    out = {}
    for frame, places in found.items():
        off = np.linalg.norm(np.array(places) - np.mean(places, axis=0), axis=1)
        for x, y in (places[k] for k in np.argsort(off, kind="stable")):
            near = ((x + i, y + j) for i in (-2, 2) for j in (-2, 2))
            if all(studio.session.view.find_clicked(*look(camera, *place)) == frame for place in near):
                out[frame] = (float(x), float(y))
                break
    return out


def find_arc(studio: Studio, page: Any, turn: Any) -> np.ndarray:
    """Places along the ring that is seen best, which lies between two axes [pixels]."""
    at = turn.place(studio.model.fk(studio.puppet.q))
    reach = ARC * RING_SIZE * studio.puppet.size
    angles = np.linspace(0.3, 1.3, 12)[:, None]
    arcs = []
    for a, b in [(0, 1)] if turn.hinge else [(0, 1), (1, 2), (2, 0)]:
        places = at[:3, 3] + reach * (np.cos(angles) * at[:3, a] + np.sin(angles) * at[:3, b])
        arcs.append(np.array([seen_at(studio, page, place) for place in places]))
    return max(arcs, key=lambda arc: float(np.linalg.norm(np.diff(arc, axis=0), axis=1).sum()))


@pytest.fixture(scope="module")
def page(page: Any, studio: Studio) -> Iterator[Any]:
    """The window while its clicks are for parts."""
    page.get_by_role("tab", name="Joints").click()
    page.get_by_label("Click a part to turn it").click()
    until(lambda: studio.panel.joints.rings.heard, page)
    yield page
    page.get_by_label("Click a part to turn it").click()
    until(lambda: not studio.panel.joints.rings.heard, page)


def show(studio: Studio, page: Any, body: str) -> Any:
    """Show a body; return the camera of the window once the window has the body and its camera stands still."""
    studio.show(body)
    studio.session.player.stop()
    camera = studio.session.server.get_clients()[page.viewer].camera
    until(lambda: page.evaluate("name => name in poiseNodes", studio.session.view.root.name), page)
    looks: list[np.ndarray] = []

    def same() -> bool:
        looks.append(np.array((*camera.position, *camera.wxyz)))
        return len(looks) > 30 and np.array_equal(looks[-1], looks[-30])

    until(same, page)
    return camera


def test_parts_that_are_seen_can_be_clicked(studio: Studio, page: Any) -> None:
    """Also under the notice that a browser without a graphics card shows, and inside of handles.

    That a ray finds every part is a law of test_rings_seen.py; a window takes seconds for a click.
    """
    camera = show(studio, page, "humanoid")
    rings, fixed = studio.panel.joints.rings, set(studio.puppet.fixed)
    parts = find_parts(studio, page, camera)
    for frame in ("chest", "spine_2", "wrist_l", "ankle_r", "head"):
        click_until(page, lambda frame=frame: parts[frame], lambda: page.viewer in rings.turns)  # type: ignore[misc]
        assert rings.turns[page.viewer].joint == find_turning_joint(studio.model, frame, studio.puppet.size)
        click_until(page, lambda: (6, SIZE["height"] - 6), lambda: page.viewer not in rings.turns)
    assert set(studio.puppet.fixed) == fixed, "nothing was pinned or released"


def drag_ring(studio: Studio, page: Any, turn: Any) -> None:
    """Drag along a ring until the studio reacts; the mouse stays down. The window does not say when it has drawn it."""
    held, end = studio.panel.joints.rings.held, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        page.wait_for_timeout(800)
        arc = find_arc(studio, page, turn)
        page.mouse.move(*arc[2])
        page.wait_for_timeout(300)
        page.mouse.down()
        for place in arc[3:]:
            page.mouse.move(*place)
            page.wait_for_timeout(50)
        for _ in range(40):
            if page.viewer in held:
                return
            page.wait_for_timeout(50)
        page.mouse.up()
    raise AssertionError("no drag of the ring reached the studio")


@pytest.mark.parametrize("body", ["panda", "humanoid", write_strip, write_bvh])
def test_a_ring_that_is_dragged_turns_its_joint_alone(
    studio: Studio, page: Any, body: str | Callable[[Path], Path], tmp_path: Path
) -> None:
    camera = show(studio, page, body if isinstance(body, str) else str(body(tmp_path)))
    rings, parts = studio.panel.joints.rings, find_parts(studio, page, camera)
    place = max(parts.values(), key=lambda place: place[1] < 0.6 * SIZE["height"] and place[1])
    click_until(page, lambda: place, lambda: page.viewer in rings.nodes)
    turn, before = rings.turns[page.viewer], studio.puppet.q.copy()
    drag_ring(studio, page, turn)
    page.mouse.up()
    until(lambda: page.viewer not in rings.held, page)
    step = studio.model.difference(before, studio.puppet.q)
    own = np.zeros(len(step), dtype=bool)
    own[studio.model.joint(turn.joint).v] = True
    assert np.abs(step[own]).max() > 0.2, f"{turn.joint} turned as the ring was"
    assert np.abs(step[~own]).max() < 1e-12, "nothing else moved"
