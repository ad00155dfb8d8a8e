"""A real browser for tests: Chromium through Playwright, or a reason in words why there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# WebGL without a graphics card, and without a sandbox, which containers do not allow
FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where none can be started.

    POISE_CHROMIUM names one, else one on the path is taken, else Playwright's own.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = launch(playwright, sync_api.Error)
        try:
            yield browser
        finally:
            browser.close()


def launch(playwright: Any, failure: type[Exception]) -> Any:
    """The first browser that starts."""
    installed = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    named = [os.environ.get("POISE_CHROMIUM"), *installed]
    tried = []
    for path in (*filter(None, named), None):
        try:
            return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except failure as problem:
            tried.append(str(problem).splitlines()[0])
    pytest.skip(f"no Chromium starts here ({tried[-1]}). Type: playwright install --with-deps chromium")
