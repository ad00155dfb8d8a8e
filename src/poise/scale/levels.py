"""The instruction level of a job. It is part of the job's hash, because it changes the last bits of the answers."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

from poise import native
from poise.errors import InvalidValue, MissingExtra
from poise.native.gpu import load_cupy

__all__ = ["ANY_GPU", "find_level", "run_at_level"]

ANY_GPU = "gpu"  # the level of a job that was made on a machine without a GPU
PROCESSORS = {"aarch64": "arm64", "amd64": "x86-64", "x86_64": "x86-64"}


def add_processor(level: str) -> str:
    """Prepend the processor architecture of this machine to a level: "arm64 baseline", "x86-64 avx2"."""
    own = platform.machine().lower()
    return f"{PROCESSORS.get(own, own)} {level}"


def find_level(device: str) -> str:
    """Return the level of this machine's processor ("x86-64 avx2") or GPU ("sm_90")."""
    if device == "cpu":
        return add_processor(native.level())
    try:
        return f"sm_{load_cupy().cuda.Device().compute_capability}"
    except MissingExtra:
        return ANY_GPU
    except Exception:  # CuPy raises various errors if there is no device
        return ANY_GPU


@contextmanager
def run_at_level(device: str, level: str) -> Iterator[None]:
    """Run a block at the instruction level of a job.

    Raises:
        InvalidValue: This machine does not support the level.
    """
    if device == "gpu":
        load_cupy()
        own = find_level(device)
        if level not in (own, ANY_GPU) or own == ANY_GPU:
            what = "there is no GPU" if own == ANY_GPU else f"the GPU is of {own}"
            raise InvalidValue(f"the job is for GPUs of level {level!r}, but {what}.")
        yield
        return
    known = {add_processor(name): name for name in native.levels()}
    if level not in known:
        raise InvalidValue(
            f"the job is for level {level!r}, and this machine supports {', '.join(map(repr, known))}: create the job "
            "with a level= that all machines support."
        )
    before = native.level()
    native.choose_level(known[level])
    try:
        yield
    finally:
        native.choose_level(before)
