"""ZIP archives that declare less than they hold."""

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable

__all__ = ["HELD", "make_lying_zip", "measure_peak"]

HELD = 8 << 20  # actual size of the content


def make_lying_zip(name: str, start: bytes, declared: int, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of one member that begins with `start`, has `HELD` bytes, and declares another size."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, start + bytes(HELD - len(start)))
    data = bytearray(stream.getvalue())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        data[at : at + 4] = struct.pack("<I", declared)
    return bytes(data)


def measure_peak(call: Callable[[], object]) -> int:
    """Return the peak memory of Python during a call [bytes]."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
