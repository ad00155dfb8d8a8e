"""Generate the notebooks of the course from its page: text becomes text cells, Python blocks become code cells.

    python tools/notebooks.py

There is one notebook for each numbered section of `docs/course/exercises.md`. Notebooks are written directly as JSON,
so nothing needs to be installed.
"""

import json
import re
from pathlib import Path
from typing import Any

COURSE = Path(__file__).parents[1] / "docs" / "course"
SECTION = re.compile(r"^## (?P<number>\d+)\. (?P<title>.*)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\((?!http)[^)]+\)")  # links to pages that are not next to a student's notebook
FIGURE = re.compile(r"^<figure>.*?</figure>\n\n", re.MULTILINE | re.DOTALL)  # pages that are not there either


def make_notebooks() -> dict[str, str]:
    """Return the text of every notebook by file name."""
    page = FIGURE.sub("", (COURSE / "exercises.md").read_text("utf-8"))
    starts = list(SECTION.finditer(page))
    ends = [start.start() for start in starts[1:]] + [len(page)]
    return {
        f"exercise_{start['number']}.ipynb": make_notebook(page[start.start() : end], int(start["number"]))
        for start, end in zip(starts, ends, strict=True)
    }


def make_notebook(section: str, number: int) -> str:
    """Return one section as a notebook."""
    cells: list[dict[str, Any]] = []
    for index, piece in enumerate(BLOCK.split(section)):
        text = piece.strip("\n") if index % 2 else LINK.sub(r"\1", piece.strip())
        if text:
            cells.append(make_cell(text, "code" if index % 2 else "markdown", f"{number}-{len(cells)}"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def make_cell(text: str, kind: str, name: str) -> dict[str, Any]:
    """Return a notebook cell; its heading is raised by one level, because it is the first of its notebook."""
    lines = re.sub("^## ", "# ", text).splitlines(keepends=True)
    cell: dict[str, Any] = {"cell_type": kind, "id": f"exercise-{name}", "metadata": {}, "source": lines}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


if __name__ == "__main__":
    for name, text in make_notebooks().items():
        (COURSE / name).write_text(text, encoding="utf-8")
        print(f"wrote {COURSE / name}")
