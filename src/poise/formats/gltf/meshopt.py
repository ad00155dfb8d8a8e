"""Decompression of meshoptimizer data (EXT_meshopt_compression, KHR_meshopt_compression).

This implements the attribute codec, versions 0 and 1, with the filters for keyframes and matrices; the codecs for
triangles are not needed. Elements of `stride` bytes are stored in blocks, one byte column after the other, in groups of
16 differences of 0, 1, 2, 4 or 8 bits; a difference of all ones is followed by a full byte. Specification:
https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0/Vendor/EXT_meshopt_compression, appendix A.

The Python binding of the library is not used: it works on whole meshes and would be a compiled dependency for the few
kilobytes of keyframes that a body needs.
"""

from collections.abc import Callable

import numpy as np

from poise.arrays import Bytes

__all__ = ["FILTERS", "unpack"]


WIDTHS = {0: ((0, 2, 4, 8),), 1: ((0, 1, 2, 4), (1, 2, 4, 8))}  # bits per group, by version and control value
TAIL = {0: 32, 1: 24}
MAX_BYTES = 1 << 24
"""Bytes of one view above which it is not unpacked: some seconds."""


def unpack(data: bytes, count: int, stride: int, name: str) -> bytes:
    """Decompress `count` elements of `stride` bytes, with their filter applied.

    Raises:
        ValueError: The stream is malformed, or the filter is not in `FILTERS`.
    """
    if not 0 < stride <= 256 or stride % 4 or count < 1 or count * stride > MAX_BYTES:
        raise ValueError(f"{count} elements of {stride} bytes cannot be unpacked")
    if name not in FILTERS:
        raise ValueError(f"its filter is {name}")
    try:
        return np.ascontiguousarray(FILTERS[name](read_elements(data, count, stride))).tobytes()
    except IndexError:
        raise ValueError("it is cut short") from None


def read_elements(data: bytes, count: int, stride: int) -> Bytes:
    """Return the elements of the stream, (count, stride)."""
    version = data[0] - 0xA0 if data else -1
    if version not in WIDTHS:
        raise ValueError("it is not a stream of attributes")
    tail = stride + (stride // 4 if version else 0)
    end = len(data) - max(tail, TAIL[version])
    if end < 1:
        raise ValueError("it is cut short")
    last = np.frombuffer(data, np.uint8, stride, len(data) - tail).copy()
    channels = data[len(data) - tail + stride :] if version else bytes(stride // 4)
    out, at, size = np.empty((count, stride), np.uint8), 1, min(8192 // stride & ~15, 256)
    for begin in range(0, count, size):
        rows = min(size, count - begin)
        control = data[at : at + stride // 4] if version else bytes(stride // 4)
        at += stride // 4 if version else 0
        if len(control) < stride // 4:
            raise ValueError("it is cut short")
        for k in range(stride):
            kind = control[k // 4] >> (k % 4 * 2) & 3
            row, at = read_column(data, at, end, rows, kind, version)
            out[begin : begin + rows, k] = row
        for k in range(0, stride, 4):
            block = out[begin : begin + rows, k : k + 4]
            block[:] = sum_differences(block, last[k : k + 4], channels[k // 4])
        last = out[begin + rows - 1].copy()
    return out


def read_column(data: bytes, at: int, end: int, rows: int, kind: int, version: int) -> tuple[Bytes, int]:
    """Return one byte column of a block as differences, and the position after it."""
    if kind == 2:
        return np.zeros(rows, np.uint8), at
    if kind == 3:
        if at + rows > end:
            raise ValueError("it is cut short")
        return np.frombuffer(data, np.uint8, rows, at), at + rows
    groups = (rows + 15) // 16
    header, at = data[at : at + (groups + 3) // 4], at + (groups + 3) // 4
    out = bytearray()
    for g in range(groups):
        if at > end:
            raise ValueError("it is cut short")
        bits = WIDTHS[version][kind][header[g // 4] >> (g % 4 * 2) & 3]
        at = read_group(data, at, bits, out)
    if at > end:
        raise ValueError("it is cut short")
    return np.frombuffer(out, np.uint8, rows), at


def read_group(data: bytes, at: int, bits: int, out: bytearray) -> int:
    """Append 16 differences; return the position after them."""
    if bits in (0, 8):
        out += data[at : at + 16] if bits else bytes(16)
        return at + 2 * bits
    packed, behind, full, per = data[at : at + 2 * bits], at + 2 * bits, (1 << bits) - 1, 8 // bits
    for byte in packed:
        for k in range(per):
            value = byte >> (k if bits == 1 else 8 - bits * (k + 1)) & full
            if value == full:
                value, behind = data[behind], behind + 1
            out.append(value)
    return behind


def sum_differences(block: Bytes, last: Bytes, channel: int) -> Bytes:
    """Return four byte columns from their differences: of bytes, of 16-bit words, or XOR of 32-bit words."""
    kind = channel & 3
    if kind == 3:
        raise ValueError("it has a kind of differences that is not known")
    dtype = np.dtype(("u1", "<u2", "<u4")[kind])
    values = np.ascontiguousarray(block).view(dtype)
    start = np.ascontiguousarray(last).view(dtype)[None]
    if kind == 2:
        turn = np.uint32((32 - (channel >> 4)) & 31)
        turned = values << turn | values >> (np.uint32(32) - turn) if turn else values
        whole = np.bitwise_xor.accumulate(np.concatenate([start, turned]), axis=0)
    else:
        one = dtype.type(1)
        signed = (values >> one) ^ (dtype.type(0) - (values & one))
        whole = np.cumsum(np.concatenate([start, signed]), axis=0, dtype=dtype)
    return whole[1:].view(np.uint8)


def read_quaternions(rows: Bytes) -> Bytes:
    """Decode quaternions to four normalised shorts, from three components and the index of the fourth."""
    if rows.shape[1] != 8:
        raise ValueError("its rotations have another size")
    shorts = rows.view("<i2")
    parts = shorts[:, :3] / (np.sqrt(2.0) * (shorts[:, 3:] | 3))
    largest = np.sqrt(np.maximum(1.0 - (parts**2).sum(axis=1, keepdims=True), 0.0))
    whole = np.rint(np.clip(np.hstack([largest, parts]), -1, 1) * 32767.0).astype("<i2")
    places = (shorts[:, 3:] + np.arange(4)) & 3
    out = np.empty_like(whole)
    np.put_along_axis(out, places.astype(np.intp), whole, axis=1)
    return np.asarray(out.view(np.uint8), np.uint8)


def read_exponentials(rows: Bytes) -> Bytes:
    """Decode floats from 24-bit mantissas and exponents of two."""
    words = rows.view("<i4")
    with np.errstate(over="ignore"):
        numbers = np.ldexp((words << 8 >> 8).astype(np.float64), words >> 24).astype("<f4")
    return np.asarray(numbers.view(np.uint8), np.uint8)


FILTERS: dict[str, Callable[[Bytes], Bytes]] = {
    "NONE": np.asarray,
    "QUATERNION": read_quaternions,
    "EXPONENTIAL": read_exponentials,
}
