"""Programs under Node, which solve with the kernels of pages."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from poise.native import read_wasm

__all__ = ["find_node", "run_node"]


def find_node() -> str:
    """Return Node; skip the test without it or the module, and fail where POISE_NEEDS_WASM says that both are here."""
    found = shutil.which("node") or shutil.which("nodejs")
    missing = "Node (sudo apt install nodejs)" if found is None else "the module (make wasm)" if not read_wasm() else ""
    if missing and os.environ.get("POISE_NEEDS_WASM"):
        pytest.fail(f"{missing} is missing")
    if missing:
        pytest.skip(f"{missing} is missing")
    return str(found)


def run_node(node: str, script: Path, *arguments: Path, **request: Any) -> dict[str, Any]:
    """Return the answer of a script to a request; both are JSON."""
    command = [node, str(script), *map(str, arguments)]
    done = subprocess.run(command, check=False, input=json.dumps(request), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
