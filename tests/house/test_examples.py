"""Every example runs without warnings and asserts its result."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from paths import EXAMPLES

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
