"""The examples and the code blocks of the documentation run; pages on the web keep their names."""

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from paths import DOCS, EXAMPLES, ROOT

SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    subprocess.run([sys.executable, "-W", "error", str(path)], check=True, cwd=tmp_path, env=environment)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_example_is_numbered_and_asserts(path: Path) -> None:
    assert re.match(r"\d\d_\w+\.py$", path.name)
    assert len(path.read_text("utf-8").splitlines()) < 40
    assert re.search(r"^\s*assert ", path.read_text("utf-8"), re.MULTILINE)


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


PAGES = sorted(DOCS.rglob("*.md")) + [page for page in (ROOT / "README.md",) if page.exists()]
BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)```python(?P<flags>[^\n]*)\n(?P<code>.*?)^(?P=indent)```[ \t]*$"
    r"(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.M | re.S,
)
TINY = re.compile(r"[\d.e+-]+ (?:us|nm|um)\b")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def blocks(text):
    """(line number, code, what it prints) of each block to run; one that says ``python no-run`` is left out."""
    found = []
    for match in BLOCK.finditer(text):
        if "no-run" not in match["flags"]:
            line = text.count("\n", 0, match.start("code")) + 1
            code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.M)
            found.append((line, code, match["printed"]))
    return found


def run(page, text):
    """Execute the page's blocks in one namespace, and compare their output; errors name the page and its line."""
    namespace = {"__name__": "docs"}
    for line, code, printed in blocks(text):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)
        if printed is not None:
            (words, numbers), (said, figures) = words_and_numbers(out.getvalue()), words_and_numbers(printed)
            assert words == said, f"{page}:{line}"
            assert numbers == pytest.approx(figures, rel=0.1, abs=1e-3), f"{page}:{line}"


def words_and_numbers(text):
    """The text without its numbers and spacing, and the size of each number: a direction's sign is anyone's too."""
    rest = TINY.sub("tiny", text)
    return NUMBER.sub("#", rest).split(), [abs(float(number)) for number in NUMBER.findall(rest)]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_fences_are_such_as_the_site_can_read(page):
    """A word after the language breaks a fence there; what shall not run is a ``py`` block."""
    assert not re.findall(r"^ *```[a-z]+ [^{=\n]*$", page.read_text(encoding="utf-8"), flags=re.M)


def test_blocks_are_found_and_left_out():
    text = "a\n```python\nx = 1\n```\n```python no-run\nboom()\n```\n"
    text += "    ```python\n    y = x + 1\n    ```\n```sh\nls\n```\n"
    text += "```python\nprint(x)\n```\n\n```text\n1\n```\n"
    assert blocks(text) == [(3, "x = 1\n", None), (9, "y = x + 1\n", None), (15, "print(x)\n", "1\n")]


@pytest.mark.parametrize(("printed", "same"), [("about 1.05 m", True), ("about 1.3 m", False), ("exactly 1 m", False)])
def test_words_are_exact_and_numbers_about(printed, same):
    with contextlib.nullcontext() if same else pytest.raises(AssertionError):
        run("page.md", f"```python\nprint('about 1 m')\n```\n\n```text\n{printed}\n```\n")


def test_a_failing_block_names_its_line():
    with pytest.raises(ZeroDivisionError) as caught:
        run("page.md", "text\n\n```python\nx = 0\n1 / x\n```\n")
    assert caught.traceback[-1].lineno + 1 == 5


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_pictures_are_there_and_small(page):
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text("utf-8")):
        assert 0 < (page.parent / picture).stat().st_size < 80_000


def test_the_textbook_pages_are_there():
    names = {page.stem for page in PAGES if page.parent.name == "textbook"}
    assert {"index", "recipe", "ucsd", "redundant", "parent", "slides"} <= names
