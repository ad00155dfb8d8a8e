"""A real browser for tests: Chromium through Playwright, or the reason why it is not available.

If POISE_NEEDS_CHROMIUM is set, as in CI, tests fail without a browser; otherwise they are skipped.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

EVIL = "evil.example"  # a foreign name that resolves to this machine, as after DNS rebinding
# WebGL without a graphics card, and without a sandbox, which containers do not allow
FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    f"--host-resolver-rules=MAP {EVIL} 127.0.0.1",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser: the one named by POISE_CHROMIUM, else one on the path, else Playwright's own."""
    try:
        from playwright import sync_api
    except ImportError:
        go_without("needs Playwright. Type: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = launch(playwright, sync_api.Error)
        try:
            yield browser
        finally:
            browser.close()


def launch(playwright: Any, failure: type[Exception]) -> Any:
    """Return the first browser that starts."""
    installed = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    named = [os.environ.get("POISE_CHROMIUM"), *installed]
    tried = []
    for path in (*filter(None, named), None):
        try:
            return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except failure as problem:
            tried.append(str(problem).splitlines()[0])
    return go_without(f"no Chromium starts here ({tried[-1]}). Type: sudo apt install chromium")


def go_without(reason: str) -> NoReturn:
    """Skip the test, or fail it if a browser is required."""
    if os.environ.get("POISE_NEEDS_CHROMIUM"):
        pytest.fail(reason)
    pytest.skip(reason)
