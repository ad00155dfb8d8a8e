"""Reading of ZIP members without trusting their declared sizes."""

import zipfile
import zlib
from typing import IO

__all__ = ["DAMAGES", "open_member"]

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, UnicodeError)
"""Exceptions that reading a damaged archive raises."""


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member; `read(n)` inflates at most about `n` bytes and stops at the declared size.

    A `read()` without a size would inflate the whole member before truncating it to the declared size. Other
    compression methods do so with every block, so they are rejected.

    Raises:
        zipfile.BadZipFile: The member uses another compression method.
    """
    if info.compress_type not in METHODS:
        raise zipfile.BadZipFile(f"method {info.compress_type} of packing is not read; pack it with deflate")
    return archive.open(info)
