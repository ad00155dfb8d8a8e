"""Hostile names in a real browser: every tab of the studio and every page shows them, and no script runs."""

from __future__ import annotations

import pytest

import poise
from hostile_names import make_body, make_clip, use_every_tab, write_files
from studio_page import PATIENCE, until

pytestmark = pytest.mark.browser

TABS = ("Pose", "Joints", "Solver", "Learn", "Race", "Motion")
FOREIGN = "iframe, [onerror], [onload], [onmouseover], a[href^='javascript'], img[src='x'], img[src^='data:x']"


def check(page):
    page.wait_for_timeout(200)
    assert page.evaluate("() => window.ran") is None
    assert page.locator(FOREIGN).count() == 0


@pytest.mark.parametrize("which", [0, 1], ids=["body", "clip"])
def test_no_tab_runs_a_name(page, studio, tmp_path, which):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    path = write_files(tmp_path)[which]
    page.get_by_role("tab", name="Pose").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(path)
    until(lambda: studio.model.name == path.stem or (which == 0 and "<iframe" in studio.model.name), page)
    page.get_by_text("is open.").first.wait_for()
    until(lambda: (studio.session.player.motion is not None) == bool(which), page)
    use_every_tab(studio)
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        for folder in page.locator(".mantine-Collapse-root, details").all():
            folder.evaluate("element => { if (element.tagName === 'DETAILS') element.open = true; }")
        check(page)
    assert not dialogs


def test_no_page_runs_a_name(browser, tmp_path):
    model = make_body()
    page = browser.new_page(viewport={"width": 400, "height": 300})  # few pixels: clips play
    page.set_default_timeout(1e3 * PATIENCE)
    for thing in (model, make_clip(model), poise.solve(model, poise.goals.Reach(model.frames[-1], (9.0, 9.0, 9.0)))):
        poise.show(thing, tmp_path / "page.html", browser=False)
        page.goto((tmp_path / "page.html").as_uri())
        assert page.evaluate("() => document.getElementById('title').textContent.length") > 0
        check(page)
    page.close()
