"""Locks on files, which detect another run in the same folder."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from poise.errors import InvalidValue

__all__ = ["hold_lock"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def hold_lock(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a file, which is empty otherwise; the operating system releases it when the process dies.

    File systems without locks admit everyone: two runs then do the same work and write the same bytes.

    Args:
        path: The lock file; it is not deleted.
        shared: Whether other shared locks on the file are allowed.

    Raises:
        InvalidValue: Another run holds the lock.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with suppress(OSError):  # the file system has no locks
            acquire(handle, shared, path)
        if not shared:
            rewrite(handle, f"process {os.getpid()} on {socket.gethostname()}")
        try:
            yield
        finally:
            if not shared:
                rewrite(handle, "")
    finally:
        os.close(handle)


def rewrite(handle: int, text: str) -> None:
    """Replace the content of an open file."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.write(handle, text.encode())


def acquire(handle: int, shared: bool, path: Path) -> None:
    """Lock an open file, or raise `InvalidValue` immediately if it is locked."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        elif not shared:  # Windows has no simple shared lock; each shard has its own exclusive lock
            import msvcrt

            windows: Any = msvcrt
            windows.locking(handle, windows.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):  # flock, msvcrt
        owner = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() if hasattr(os, "pread") else ""
        raise InvalidValue(
            f"another run is writing into {str(path.parent)!r}{f' ({owner})' if owner else ''}: wait until it has "
            "ended, or give another folder. Runs that share the work have a shard each: --shard 0/2 and --shard 1/2."
        ) from None
