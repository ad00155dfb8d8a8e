"""What the documentation says that a snippet prints is what it prints: words exactly, numbers about.

A ``text`` block that follows a ``python`` block is its output. Times, and errors below a millimetre, are anyone's.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from paths import DOCS

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```$)?", re.MULTILINE | re.DOTALL)
TINY = re.compile(r"[\d.e+-]+ (?:us|nm|um)\b")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PAGES = sorted(page for page in DOCS.rglob("*.md") if "\n```text\n" in page.read_text("utf-8"))


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """The text without its numbers and spacing, and the size of each number: a direction's sign is anyone's too."""
    rest = TINY.sub("tiny", text)
    return NUMBER.sub("#", rest).split(), [abs(float(number)) for number in NUMBER.findall(rest)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "docs"}
    for block in BLOCK.finditer(page.read_text("utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block["code"], str(page), "exec"), names)
        if block["printed"] is not None:
            (words, numbers), (said, figures) = words_and_numbers(out.getvalue()), words_and_numbers(block["printed"])
            assert words == said
            assert numbers == pytest.approx(figures, rel=0.1, abs=1e-3)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_pictures_are_there_and_small(page: Path) -> None:
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text("utf-8")):
        assert 0 < (page.parent / picture).stat().st_size < 80_000
