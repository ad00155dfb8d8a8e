"""The environment of the process that runs MuJoCo's compiler."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["make_environment"]

SANITIZERS = ("libasan", "libhwasan", "liblsan", "libtsan", "libubsan", "libclang_rt.")


def make_environment() -> dict[str, str]:
    """Return the environment of the subprocess: that of this process, with its module paths and without sanitizers.

    A sanitizer reserves terabytes of address space, which the memory limit does not allow, and the subprocess runs no
    code of ours that needs checking.
    """
    modules = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    preloaded = os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
    kept = [library for library in preloaded if not Path(library).name.startswith(SANITIZERS)]
    out = {**os.environ, "PYTHONPATH": modules, "LD_PRELOAD": " ".join(kept)}
    return out if kept else {name: value for name, value in out.items() if name != "LD_PRELOAD"}
