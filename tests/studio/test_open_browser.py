"""File after file in a real browser: a skinned body gives way to the next one, and the studio stays on the screen."""

from __future__ import annotations

from functools import partial

import pytest

import looks_files as made
import poise
from studio_page import open_page, until

pytest.importorskip("viser", reason="the studio needs viser: pip install 'poise[studio]'")

from poise.studio.web.studio import Studio

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A skinned body, then others; each file has a name of its own."""
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / name for name in ("first.glb", "arm.urdf", "second.glb", "third.glb", "again.urdf")]
    for path, bones in zip(paths, (8, 0, 8, 5, 0), strict=True):
        if bones:
            made.strip(bones, 4)[0].glb(path)
        else:
            poise.save(poise.load("panda"), path)
    return paths


def is_told(errors, words):
    return bool(errors) or words.is_visible()


def is_dressed(studio, path):
    return studio.session.view.dressed is not None or path.suffix == ".urdf"


def test_files_are_opened_one_after_the_other(browser, files):
    errors = []
    with Studio(files[0], port=18218, shadows=False) as studio:
        page = open_page(browser, studio)
        page.on("pageerror", lambda error: errors.append(str(error)))
        until(lambda: studio.session.view.dressed is not None, page)
        for path in files[1:]:
            page.locator("input[type=file]").first.set_input_files(str(path))
            words = page.get_by_text(f"{path.name} is open").first
            until(partial(is_told, errors, words), page)
            until(partial(is_dressed, studio, path), page)
            page.wait_for_timeout(1000)  # the scene changes a few frames after the words
            assert errors == []
            assert page.get_by_role("tab", name="Pose").is_visible()
        page.close()
