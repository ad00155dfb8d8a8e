"""Members of ZIP archives, read without trusting their declared sizes."""

from __future__ import annotations

import zipfile
import zlib
from typing import IO

__all__ = ["DAMAGES", "open_member"]

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, UnicodeError)
"""Exceptions that reading a damaged archive raises."""


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member; `read(n)` inflates at most about `n` bytes and ends at the declared size.

    A `read()` without a size inflates all that follows before it is cut to the declared size, and the other methods of
    packing do so with every piece: they are rejected.

    Raises:
        zipfile.BadZipFile: The member is packed by another method.
    """
    if info.compress_type not in METHODS:
        raise zipfile.BadZipFile(f"method {info.compress_type} of packing is not read; pack it with deflate")
    return archive.open(info)
