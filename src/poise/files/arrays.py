"""NPZ files of arrays, read from untrusted files.

`numpy.load` trusts and allocates the sizes declared in a header. Here every member is checked against the archive
before memory is allocated, pickles are never read, nothing is extracted to disk, and archives with an excessive
compression ratio are rejected.
"""

import io
import math
import zipfile
from collections.abc import Container
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError
from poise.files.source import Source, quote
from poise.files.zips import open_member

__all__ = ["bound_unpacked", "list_members", "read_arrays"]

MAX_MEMBERS = 1000
MAX_BYTES = 1 << 30  # limit for all members that are read, uncompressed
BOMB = 200  # maximum compression ratio of a large member
LARGE = 1 << 26  # bytes
_KINDS = "fiubU"


def bound_unpacked(packed: int) -> int:
    """Return how many bytes a file of a size may unpack to."""
    return min(MAX_BYTES, max(LARGE, BOMB * packed))


def read_arrays(source: Source, wanted: Container[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read the arrays by name; those not in `wanted` are skipped.

    Raises:
        FormatError: The file is not an archive, is damaged, contains pickles, or declares false or excessive sizes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return read_members(source, archive, wanted)
    except FormatError:
        raise
    except Exception as error:  # zipfile and zlib raise many types of exceptions on damaged archives
        reason = str(error) or type(error).__name__
        raise source.make_error(f"is a damaged NPZ archive ({quote(reason, 80)}); save it again.") from error


def list_members(source: Source) -> set[str]:
    """Return the names of the arrays in an archive; empty if it is not an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return {info.filename.removesuffix(".npy") for info in archive.infolist()}
    except Exception:
        return set()


def read_members(source: Source, archive: zipfile.ZipFile, wanted: Container[str] | None) -> dict[str, NDArray[Any]]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise source.make_error(f"holds {len(infos)} members; at most {MAX_MEMBERS} are read.")
    chosen: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if wanted is not None and name not in wanted:
            continue
        if name in chosen:
            raise source.make_error(f"holds {quote(name)} twice; keep one.")
        if not info.filename.endswith(".npy"):
            raise source.make_error(f"holds {quote(info.filename)}, which is not an array.")
        chosen[name] = info
    total = 0
    for name, info in chosen.items():
        total += info.file_size
        if total > MAX_BYTES or (info.file_size > LARGE and info.file_size > BOMB * info.compress_size):
            raise source.make_error(
                f"unpacks to {total} bytes at {quote(name)}, out of proportion; it was not unpacked."
            )
    return {name: read_member(source, archive, name, info) for name, info in chosen.items()}


def read_member(source: Source, archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array, after checking its header against its size."""
    with open_member(archive, info) as stream:
        shape, fortran, dtype = read_header(stream)
        if dtype.hasobject or dtype.kind not in _KINDS or dtype.names is not None:
            raise source.make_error(
                f"array {quote(name)} is of type {dtype}; only numbers and text are read, never pickles."
            )
        size = math.prod(shape) * dtype.itemsize
        if len(shape) > 8 or min(shape, default=0) < 0 or size != info.file_size - stream.tell():
            raise source.make_error(f"array {quote(name)} declares shape {quote(str(shape))}, but holds other bytes.")
        data = stream.read(size)
    if len(data) != size:
        raise source.make_error(f"array {quote(name)} ends early.")
    flat: NDArray[Any] = np.frombuffer(data, dtype) if size else np.zeros(math.prod(shape), dtype)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, order and type from an array's header; NumPy limits its length."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream, max_header_size=10_000)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream, max_header_size=10_000)
    raise ValueError(f"arrays of version {version} are not read")
