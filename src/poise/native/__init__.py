"""The bindings of the C++ kernels, with numpy arrays in and out."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import INDEX_NAME, InvalidValue, ShapeMismatch
from poise.native import _core
from poise.native._core import Body, choose_level, level, levels

__all__ = ["Body", "broadcast_rows", "choose_level", "core", "get_cmake_dir", "level", "levels", "read_wasm"]

core = _core


def choose_level_from_environment() -> None:
    """Select the instruction level named in the environment variable `POISE_LEVEL`; without it, keep the best one.

    Raises:
        ImportError: This machine supports no level of this build.
        InvalidValue: This machine does not support the level.
    """
    if not levels():
        raise ImportError(
            f"Poise was compiled for another processor. Compile it here: pip install --no-cache-dir {INDEX_NAME}; "
            "in a checkout: make clean demo"
        )
    wanted = os.environ.get("POISE_LEVEL")
    if not wanted:
        return
    choose_level(wanted)
    if level() != wanted:
        raise InvalidValue(f"POISE_LEVEL is {wanted!r}; this machine supports {', '.join(levels())}.")


choose_level_from_environment()


def broadcast_rows(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """Broadcast two arrays of rows to the same leading shape; the bindings call it if the shapes differ."""
    try:
        lead = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        wide = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in (a, b)]
    except (ValueError, RuntimeError):  # RuntimeError: more axes than numpy broadcasts
        raise ShapeMismatch(f"leading axes {a.shape[:-1]} and {b.shape[:-1]} do not broadcast together.") from None
    return tuple(np.ascontiguousarray(x) for x in wide)


def read_wasm() -> bytes | None:
    """Return the kernels compiled to WebAssembly, or None if `make wasm` has not built them."""
    path = Path(__file__).parent / "wasm" / "kernels.wasm"
    return path.read_bytes() if path.exists() else None


def get_cmake_dir() -> str:
    """Return the folder of the CMake package `poise`, for `cmake -Dpoise_DIR=...`."""
    return str(Path(__file__).parent / "cmake")
