"""Importing Poise is free: quick, and it wakes none of the extras."""

import json
import os
import subprocess
import sys

import pytest

import poise

pytestmark = pytest.mark.slow

# `import poise` is the promise; what the first example needs loads when it is used, and is watched too.
BUDGET_MS = {"import": 150.0, "first example": 400.0}
RUNS = 5

EXTRAS = {
    *("cupy", "imageio", "lxml", "matplotlib", "mujoco", "pinocchio", "pyarrow", "pygltflib", "ray", "rich"),
    *("scipy", "trimesh", "typer", "viser", "yourdfpy"),
}

# Names load when they are first used: the second way touches those that the README's first example needs.
IMPORTS = {
    "import": "import poise",
    "first example": "import poise; from poise.goals import Reach, Rest; poise.load, poise.solve",
}

TIME_IT = """
import time, numpy
before = time.process_time()
{code}
print(1e3 * (time.process_time() - before))
"""

LIST_MODULES = """
import json, sys
{code}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""

IMPORT_IN_COPIES = """
import os, numpy
for name in {names!r}:
    copy = os.fork()
    if copy == 0:
        exec(f"from poise import {{name}}")
        print(name, flush=True)
        os._exit(0)
    os.waitpid(copy, 0)
"""


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.timing
@pytest.mark.parametrize("way", IMPORTS)
def test_import_keeps_its_budget_beyond_numpy(way: str) -> None:
    fastest = min(float(python(TIME_IT.format(code=IMPORTS[way]))) for _ in range(RUNS))
    assert fastest < BUDGET_MS[way]


@pytest.mark.parametrize("way", IMPORTS)
def test_import_loads_no_extra(way: str) -> None:
    loaded = set(json.loads(python(LIST_MODULES.format(code=IMPORTS[way]))))
    assert "poise" in loaded
    assert loaded.isdisjoint(EXTRAS)


def test_every_public_name_can_be_imported_first() -> None:
    """Each in a process that has not met Poise; copies of one that has NumPy, where processes can be copied."""
    if hasattr(os, "fork"):
        assert python(IMPORT_IN_COPIES.format(names=vars(poise)["__all__"])).split() == list(vars(poise)["__all__"])
    else:
        for name in vars(poise)["__all__"]:
            python(f"from poise import {name}")
