"""The embedded pages of the documentation: each exists, and has a picture for browsers without scripts."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from paths import ROOT

HOOKS = runpy.run_path(str(ROOT / "docs" / "live_pages.py"))
NAMES = {**HOOKS["DRAGGED"], **HOOKS["PLAYED"]}


def test_every_embedded_page_exists_and_has_a_picture() -> None:
    used = set()
    for path in (ROOT / "docs").rglob("*.md"):
        text = path.read_text("utf-8")
        frames = re.findall(r'src="(?:\.\./)*live/(\w+)\.html"', text)
        assert set(frames) <= set(NAMES), path
        assert HOOKS["add_pictures"](text).count("<noscript>") == len(frames), path
        used |= set(frames)
    assert used == set(NAMES)


def test_without_its_files_a_page_is_a_picture(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("MENAGERIE", raising=False)
    HOOKS["write_page"](tmp_path, "g1", NAMES["g1"])
    assert 'src="g1.png"' in (tmp_path / "g1.html").read_text("utf-8")
    assert (tmp_path / "g1.png").read_bytes() == (ROOT / "docs" / "pictures" / "g1.png").read_bytes()
