"""Lock: detects another run in the same folder. The operating system releases the lock when a process dies."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Lock"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lock:
    """A lock on a file, held from construction until `release`.

    File systems without locks admit everyone: two runs then do the same work and write the same bytes.

    Args:
        path: The lock file; it is not deleted, and is empty while unlocked.
        shared: Whether other shared locks on the file are allowed.

    Attributes:
        holder: None if this object holds the lock; otherwise a description of the holder, which may be empty.
    """

    def __init__(self, path: Path, *, shared: bool) -> None:
        self.holder: str | None = None
        self._shared = shared
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            acquire(self._handle, shared)
        except BlockingIOError:
            owner = os.pread(self._handle, 200, 0).decode("utf-8", "replace").strip() if hasattr(os, "pread") else ""
            self.holder = f" ({owner})" if owner else ""
            os.close(self._handle)
        except OSError:
            pass  # the file system has no locks
        if self.holder is None and not shared:
            with suppress(OSError):
                os.ftruncate(self._handle, 0)
                os.write(self._handle, f"process {os.getpid()} on {socket.gethostname()}".encode())

    def release(self) -> None:
        """Release the lock."""
        with suppress(OSError):
            if not self._shared:
                os.ftruncate(self._handle, 0)
            os.close(self._handle)


def acquire(handle: int, shared: bool) -> None:
    """Lock an open file; raise `BlockingIOError` immediately if it is locked."""
    if fcntl is not None:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    import msvcrt

    windows: Any = msvcrt
    if shared:
        return  # Windows has no simple shared lock; each shard has its own exclusive lock
    try:
        windows.locking(handle, windows.LK_NBLCK, 1)
    except OSError as error:
        raise BlockingIOError(str(error)) from None
