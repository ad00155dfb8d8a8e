"""Take the pictures of docs/studio.md: `python tools/studio_pictures.py`, with Playwright and Chromium installed."""

import io
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import poise
from poise.studio import Studio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from walks import make_bow, make_walk, put_skate_in

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SLOW = 120_000  # ms, timeout for software rendering


def ask(studio: Studio, targets: Mapping[str, tuple[float, float, float]], *, hold: bool = False) -> None:
    """Drag handles to positions, and release them unless they are held."""
    for name, place in targets.items():
        studio.puppet.hold(name, np.array(place))
    studio.session.touch()
    time.sleep(2.0)
    for name in () if hold else targets:
        studio.puppet.let_go(name)
    studio.session.touch()
    time.sleep(0.5)


def look(page: Any) -> Any:
    """Return the pixels of a window."""
    page.wait_for_timeout(5000)  # software rendering is slow
    return Image.open(io.BytesIO(page.screenshot(timeout=SLOW))).convert("RGB")


def write(pixels: Any, name: str) -> None:
    """Write one picture."""
    pixels.save(PICTURES / f"{name}.jpg", quality=52, optimize=True, progressive=True)
    print(f"wrote {name}.jpg")


def shoot(page: Any, name: str) -> None:
    """Take one picture."""
    write(look(page), name)


def shoot_page(page: Any) -> None:
    """Take a picture of a page that solves, with a target that is out of reach."""
    page.set_viewport_size({"width": 800, "height": 600})
    page.set_content(poise.show(poise.load("ur5e"), drag=True, browser=False).html)
    page.locator(".handle").drag_to(page.locator("body"), target_position={"x": 24, "y": 70}, timeout=SLOW)
    shoot(page, "page")


def wait(true: Any, seconds: float = 300.0) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)


def show_tab(page: Any, url: str, name: str) -> None:
    """Open a tab of a studio and close all notifications."""
    page.goto(url)
    tab = page.get_by_role("tab", name=name)
    tab.wait_for(timeout=SLOW)
    page.wait_for_timeout(3000)
    for button in page.locator("button.mantine-Notification-closeButton").all():
        button.click(timeout=SLOW)  # readers need no notification about software rendering
    tab.click()


@contextmanager
def open_window(height: int) -> Iterator[Any]:
    """Open a window of a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser.new_page(viewport={"width": 1120, "height": height})
        browser.close()


def shoot_timeline(page: Any) -> None:
    """Take a picture of a walk with locked feet, a key and its ghost."""
    with Studio(put_skate_in(make_walk()), port=18201) as studio:
        studio.session.player.stop()
        show_tab(page, studio.url, "Motion")
        editing = studio.session.editing
        for do in (editing.find_contacts, editing.lock_feet):
            do()
            wait(lambda: editing.background.task is None)
        studio.session.player.show_at(2.3)
        place = studio.puppet.transform("hand_l")[:3, 3] + np.array([0.1, 0.3, 0.2])
        ask(studio, {"hand_l": (float(place[0]), float(place[1]), float(place[2]))})
        wait(lambda: editing.state is not None and editing.state.keys and editing.background.task is None)
        editing.compare()
        wait(lambda: editing.compared)
        studio.panel.motion.ghost_on.value = True
        studio.session.scenery.set_stage()
        shoot(page, "studio_timeline")


def shoot_carry(page: Any) -> None:
    """Take a picture of the same walk on a smaller body next to the original."""
    with Studio(make_walk(), port=18202) as studio:
        studio.session.player.stop()
        show_tab(page, studio.url, "Motion")
        carry = studio.panel.motion.carry
        carry.second_body.open("humanoid", scale=0.6)
        wait(lambda: carry.second_body.carried is not None and carry.second_body.background.task is None)
        for folder in ("Feet that stand", "Keys"):
            page.get_by_text(folder, exact=True).last.click()
        page.get_by_text("Carry to another body", exact=True).click()
        studio.session.player.show_at(2.3)
        carry.part.value = "knee_l"
        carry.on_part()
        shoot(page, "studio_carry")


def shoot_style(page: Any) -> None:
    """Take a picture of a hand in one place, at rest and in the style of somebody who bows, next to the panel."""
    with Studio("humanoid", port=18203, style=make_bow(), shadows=False) as studio:
        wait(lambda: studio.styles.style is not None)
        show_tab(page, studio.url, "Pose")
        page.get_by_text("Style", exact=True).last.click(timeout=SLOW)
        ask(studio, {"hand_l": (0.02, 1.0, 0.3)})
        styled = look(page)
        studio.styles.share = 0.0
        studio.session.touch()
        picture = look(page)
        width, height = picture.size
        body, panel = int(0.23 * width), int(0.66 * width)
        out = picture.resize((2 * body + width - panel, height))
        for pixels, x in ((picture, 0), (styled, body)):
            out.paste(pixels.crop(((panel - body) // 2, 0, (panel + body) // 2, height)), (x, 0))
        out.paste(picture.crop((panel, 0, width, height)), (2 * body, 0))
        write(out, "studio_style")


def main() -> None:
    """Take all pictures; with `clips`, only those of clips."""
    with open_window(860) as page:
        for take in (shoot_timeline, shoot_carry, shoot_style):
            take(page)
    if "clips" in sys.argv[1:]:
        return
    with open_window(600) as page:
        shoot_page(page)
    with Studio("humanoid", port=18200) as studio, open_window(720) as page:
        show_tab(page, studio.url, "Pose")
        viewer = next(iter(studio.session.server.get_clients()))
        ask(studio, {"hand_l": (0.62, 1.35, 0.3)})
        studio.session.grips.choose(viewer, "hand_l")
        studio.session.touch()
        shoot(page, "studio")
        studio.puppet.reset()
        studio.puppet.pin("pelvis")
        ask(studio, {"hand_r": (-0.95, 1.5, 0.4)}, hold=True)
        page.wait_for_timeout(6000)
        shoot(page, "studio_missed")
        studio.puppet.let_go("hand_r")
        studio.puppet.reset()
        ask(studio, {"hand_r": (-0.45, 1.35, 0.35)})
        studio.panel.select(viewer, "hand_r")
        page.get_by_role("tab", name="Learn").click()
        studio.panel.learn.columns.value = studio.panel.learn.ball.value = True
        studio.puppet.stand_at(np.array(studio.model.rest))
        studio.panel.learn.on_mark()
        studio.panel.learn.on_step()
        shoot(page, "studio_learn")
        studio.panel.learn.columns.value = studio.panel.learn.ball.value = False
        studio.puppet.reset()
        page.get_by_role("tab", name="Race").click()
        studio.panel.race.on.value = True
        page.wait_for_timeout(3000)
        for k in range(6):
            studio.puppet.hold("hand_r", np.array([-0.5, 1.1 + 0.05 * k, 0.4]))
            studio.session.touch()
            time.sleep(0.1)
        shoot(page, "studio_race")


if __name__ == "__main__":
    main()
