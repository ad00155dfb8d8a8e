"""Every Python block of the documentation and the README runs, page by page, top to bottom.

A ``text`` block that follows a ``python`` block is its output: words exactly, numbers about. Times, and errors below a
millimetre, are anyone's.
"""

import contextlib
import io
import re

import pytest

from paths import DOCS, ROOT

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
