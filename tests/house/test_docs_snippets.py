"""Every Python block of the documentation and the README runs, page by page, top to bottom."""

import re

import pytest

from paths import DOCS, ROOT

PAGES = sorted(DOCS.rglob("*.md")) + [page for page in (ROOT / "README.md",) if page.exists()]
BLOCK = re.compile(r"^(?P<indent>[ \t]*)```python(?P<flags>[^\n]*)\n(?P<code>.*?)^(?P=indent)```[ \t]*$", re.M | re.S)


def blocks(text):
    """(line number, code) of each block to run; a fence that says ``python no-run`` is left out."""
    found = []
    for match in BLOCK.finditer(text):
        if "no-run" not in match["flags"]:
            line = text.count("\n", 0, match.start("code")) + 1
            code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.M)
            found.append((line, code))
    return found


def run(page, text):
    """Execute the page's blocks in one namespace; errors name the page and its line."""
    namespace = {"__name__": "docs"}
    for line, code in blocks(text):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


SLOW = {"mjcf.md", "pictures.md"}
RUN = [pytest.param(page, marks=pytest.mark.slow) if page.name in SLOW else page for page in PAGES]


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
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
    assert blocks(text) == [(3, "x = 1\n"), (9, "y = x + 1\n")]


def test_a_failing_block_names_its_line():
    with pytest.raises(ZeroDivisionError) as caught:
        run("page.md", "text\n\n```python\nx = 0\n1 / x\n```\n")
    assert caught.traceback[-1].lineno + 1 == 5


def test_the_textbook_pages_are_there():
    names = {page.stem for page in PAGES if page.parent.name == "textbook"}
    assert {"index", "recipe", "ucsd", "redundant", "parent", "slides"} <= names
