"""NPZ files of objects with `to_arrays()`; `poise.files.arrays` reads them."""

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["NAME", "SUFFIXES", "looks_like", "write_arrays"]

NAME = "NPZ"
SUFFIXES = (".npz",)


def looks_like(_: bytes) -> bool:
    """Return False: each class reads its own arrays with its method `load`."""
    return False


def write_arrays(thing: Any, target: Path) -> None:
    """Write the arrays of an object that has `to_arrays()`."""
    with target.open("wb") as file:
        np.savez_compressed(file, **thing.to_arrays())
