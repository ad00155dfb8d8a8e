"""The studio in a browser window, for tests: positions on the screen, and mouse drags."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import poise

SIZE = {"width": 780, "height": 460}
PATIENCE = 120.0  # [s], on two shared cores
COARSE = 0.4  # device pixels per window pixel: without a graphics card they take most of the time
OFFSETS = ((0, 0), (0, -4), (0, 4), (-3, 0), (3, 0))  # [pixels] of repeated clicks


def open_page(browser: Any, studio: Any) -> Any:
    """Open a window that shows the studio; `page.viewer` is its number there."""
    before = set(studio.session.server.get_clients())
    page = browser.new_page(viewport=SIZE)
    page.set_default_timeout(1e3 * PATIENCE)
    page.goto(f"{studio.url}&fixedDpr={COARSE}")
    page.get_by_role("tab", name="Pose").wait_for(timeout=1e3 * PATIENCE)
    page.viewer = find_viewer(studio, page, before)
    return page


def find_viewer(studio: Any, page: Any, others: set[int]) -> int:
    """Wait until a window is connected; return its number, which is none of the others."""
    clients = studio.session.server.get_clients
    until(lambda: set(clients()) - others, page)
    until(lambda: set(studio.panel.pose.own) == set(clients()), page)
    return int(max(set(clients()) - others))


def open_save_folder(page: Any) -> None:
    """Open the folder of the panel with the button Save, if a test before has not done so."""
    if not any(button.is_visible() for button in page.get_by_role("button", name="Save", exact=True).all()):
        page.get_by_text("Save", exact=True).first.click(timeout=1e3 * PATIENCE)


def until(true: Callable[[], object], page: Any, seconds: float = PATIENCE) -> None:
    """Wait for a condition while the browser runs; fail if it never becomes true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        page.wait_for_timeout(20)


def seen_at(studio: Any, page: Any, place: Any) -> tuple[float, ...]:
    """Return the window position of a world point [pixels]; the picture may be drawn in fewer pixels."""
    camera, size = studio.session.server.get_clients()[page.viewer].camera, page.viewport_size
    inside = poise.Rotation(camera.wxyz).matrix.T @ (np.asarray(place) - camera.position)
    focus = 0.5 * size["height"] / np.tan(0.5 * camera.fov)
    return tuple(0.5 * np.array([size["width"], size["height"]]) + focus * inside[:2] / inside[2])


def grip_at(studio: Any, page: Any, handle: str) -> tuple[float, ...]:
    """Return the window position of a grip [pixels]."""
    return seen_at(studio, page, studio.session.grips.find_place(handle))


def hover(studio: Any, page: Any, handle: str) -> tuple[float, float]:
    """Move the mouse over a grip at its current window position, until the pointer is a hand; return it [pixels].

    If a ring of the gizmo covers the middle of the grip, a point next to it is used.
    """
    hand = "() => [...document.querySelectorAll('canvas')].some(c => c.style.cursor === 'pointer')"
    page.mouse.move(6, SIZE["height"] - 6)
    until(lambda: not page.evaluate(hand), page)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        x, y = grip_at(studio, page, handle)
        for right, up in ((0, 0), (0, -9), (7, -6), (-7, -6), (0, 9), (7, 6), (-7, 6)):
            page.mouse.move(x + right + 1, y - up)
            page.mouse.move(x + right, y - up)
            page.wait_for_timeout(20)
            if page.evaluate(hand):
                return x + right, y - up
    raise AssertionError(f"the window does not show {handle} where it is")


def drag(studio: Any, page: Any, handle: str, right: float, up: float, steps: int = 6) -> None:
    """Drag a grip with the mouse by some pixels, until the studio has received it; the button stays down."""
    x, y = hover(studio, page, handle)
    start = np.array(seen_at(studio, page, studio.puppet.transform(handle)[:3, 3]))
    page.mouse.down()
    page.mouse.move(x + 5, y)  # a drag begins after 3 pixels
    until(lambda: handle in studio.puppet.held, page)
    for k in range(1, steps + 1):
        page.mouse.move(x + right * k / steps, y - up * k / steps)
    way = np.array([right, -up])

    def heard() -> bool:
        moved = np.array(seen_at(studio, page, studio.puppet.held[handle])) - start
        return bool(np.linalg.norm(moved - way) < 3 + 0.1 * np.linalg.norm(way))

    until(heard, page)


def let_go(studio: Any, page: Any) -> None:
    """Release the mouse button, and wait until the studio has received it."""
    page.mouse.up()
    until(lambda: not studio.puppet.held, page)


def click_until(page: Any, find: Callable[[], tuple[float, ...]], done: Callable[[], object]) -> None:
    """Click at a place of the window until a condition is true; the place may move while the body settles.

    The window tests a click against the picture that it drew last. On a busy machine that is an old one: the click
    then hits what was there before, or nothing, and is repeated, a few pixels away.
    """
    for right, down in (*OFFSETS, *OFFSETS[:3]):
        x, y = find()
        page.mouse.move(x + right + 1, y + down)
        page.mouse.move(x + right, y + down)
        page.mouse.click(x + right, y + down)
        end = time.monotonic() + PATIENCE / 8
        while time.monotonic() < end:
            if done():
                return
            page.wait_for_timeout(20)
    raise AssertionError("no click was received")


def still(studio: Any, page: Any) -> None:
    """Wait until the body is at rest: equal in ten samples, since a busy machine may skip frames."""
    looks = [studio.puppet.q]

    def same() -> bool:
        looks.append(studio.puppet.q)
        return len(looks) > 10 and all(np.array_equal(looks[-1], q) for q in looks[-10:-1])

    page.wait_for_timeout(60)
    until(same, page)


def choose(page: Any, label: str, option: str) -> None:
    """Choose an entry in a list of the panel; open the list again if the panel was drawn anew and closed it."""
    from playwright.sync_api import TimeoutError as NotThere

    entry = page.get_by_role("option", name=option, exact=True)
    for _ in range(12):
        page.get_by_label(label, exact=True).first.click()
        with contextlib.suppress(NotThere):
            entry.click(timeout=1e3 * PATIENCE / 12)
            return
    raise AssertionError(f"the list {label} never showed {option}")


def download(page: Any, name: str) -> Any:
    """Press a button of the panel until a file comes: on a busy machine it may move away under a click."""
    from playwright.sync_api import TimeoutError as NotThere

    for _ in range(8):
        with contextlib.suppress(NotThere):
            with page.expect_download(timeout=1e3 * PATIENCE / 8) as started:
                page.get_by_role("button", name=name, exact=True).last.click()
            return started.value
    raise AssertionError(f"{name} sent no file")
