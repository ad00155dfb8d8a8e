"""A page of `poise.show` in a browser."""

import io
import time
from pathlib import Path
from typing import Any

import numpy as np

from studio_page import PATIENCE

__all__ = ["Opened"]


class Opened:
    """A page in a tab without a network, with its requests and errors."""

    def __init__(self, browser: Any, path: Path, script: str = "", **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 900, "height": 640}, "offline": True, **options})
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(1e3 * PATIENCE)
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("pageerror", lambda error: self.problems.append(str(error)))
        self.tab.on("console", lambda line: self.problems.extend([line.text] * (line.type == "error")))
        if script:
            self.tab.add_init_script(script)
        self.uri = path.as_uri()
        self.tab.goto(self.uri)
        self.until("document.body.dataset.drawn > 0")

    def until(self, truth: str, seconds: float = PATIENCE) -> None:
        """Wait for a condition; the page's policy forbids Playwright's own wait."""
        end = time.monotonic() + seconds
        while not self.tab.evaluate(truth):
            assert time.monotonic() < end, f"still not: {truth}"
            self.tab.wait_for_timeout(30)

    def pixels(self) -> np.ndarray:
        """Return the pixels of the canvas."""
        from PIL import Image

        shot = self.tab.locator("#view").screenshot(animations="disabled")
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def still(self, frame: int) -> np.ndarray:
        """Return the pixels of a frame of the motion."""
        self.tab.evaluate(f"player.play(false); player.seek({frame})")
        self.settle()
        return self.pixels()

    def settle(self) -> None:
        """Wait until the requested frame is drawn."""
        self.tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def close(self) -> None:
        """Check that nothing but the file itself was requested, and that there were no errors."""
        self.context.close()
        assert self.requests == [self.uri]
        assert self.problems == []
