"""Accessors: typed views into buffers, dense or sparse, packed or interleaved, plain or normalised.

All offsets and sizes are checked against the available bytes before NumPy reads them. A normalised integer c means
c / 255, c / 65535, max(c / 127, -1) or max(c / 32767, -1) (glTF 2.0, chapter 3.11).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.formats.gltf.document import Document, Object, shorten
from poise.formats.gltf.meshopt import FILTERS, unpack

__all__ = ["UNPACK", "check_layout", "find_unknown_packing", "read_accessor", "read_indices", "read_quantized"]


UNPACK = "unpack the file, as with: npx @gltf-transform/cli copy in.glb out.glb"

COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
NAMES = {
    5120: "BYTE",
    5121: "UNSIGNED_BYTE",
    5122: "SHORT",
    5123: "UNSIGNED_SHORT",
    5125: "UNSIGNED_INT",
    5126: "FLOAT",
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
PADDED = {("MAT2", 1): 8, ("MAT3", 1): 12, ("MAT3", 2): 24}  # columns begin at multiples of four bytes
MAX_NUMBERS = 20_000_000
"""Numbers of one accessor above which it is not read."""


def check_layout(document: Document) -> None:
    """Check that every bufferView is within its buffer, and every accessor within its bufferView."""
    for i in range(len(document.read_items("buffers"))):
        document.read_size(document.read_items("buffers")[i], "byteLength", f"buffers[{i}]")
    for i in range(len(document.read_items("bufferViews"))):
        find_span(document, i)
    for i, accessor in enumerate(document.read_items("accessors")):
        find_layout(document, accessor, f"accessors[{i}]")


def find_span(document: Document, i: int) -> tuple[int, int, int, int]:
    """Return a bufferView as (buffer, offset, length, stride or 0)."""
    where, view = f"bufferViews[{i}]", document.read_items("bufferViews")[i]
    buffer = document.read_index(view.get("buffer"), "buffers", f"{where}.buffer")
    offset, length = document.read_size(view, "byteOffset", where, 0), document.read_size(view, "byteLength", where)
    stride = document.read_size(view, "byteStride", where, 0)
    whole = document.read_size(document.read_items("buffers")[buffer], "byteLength", f"buffers[{buffer}]")
    if offset + length > whole:
        raise document.fail(where, f"ends at byte {offset + length} of buffers[{buffer}], which has {whole}.")
    return buffer, offset, length, stride


def find_layout(document: Document, accessor: Object, where: str) -> tuple[str, int, int]:
    """Return an accessor as (NumPy type, numbers per element, elements); checks that it fits in its bufferView."""
    kind, code = accessor.get("type"), accessor.get("componentType")
    if not isinstance(kind, str) or kind not in WIDTHS:
        raise document.fail(f"{where}.type", f"is {shorten(kind)}; it must be one of {', '.join(WIDTHS)}.")
    if type(code) is not int or code not in COMPONENTS:
        raise document.fail(f"{where}.componentType", f"is {shorten(code)}; it must be one of {sorted(COMPONENTS)}.")
    count = document.read_size(accessor, "count", where)
    if not 1 <= count <= 2**32:
        raise document.fail(f"{where}.count", f"is {count}; it must be 1 to {2**32}.")
    if accessor.get("bufferView") is not None:
        view = document.read_index(accessor["bufferView"], "bufferViews", f"{where}.bufferView")
        locate(
            document,
            view,
            document.read_size(accessor, "byteOffset", where, 0),
            measure_element(kind, code),
            count,
            where,
        )
    return COMPONENTS[code], WIDTHS[kind], count


def measure_element(kind: str, code: int) -> int:
    """Return the size of one element [bytes]."""
    size = np.dtype(COMPONENTS[code]).itemsize
    return PADDED.get((kind, size), size * WIDTHS[kind])


def locate(document: Document, view: int, offset: int, size: int, count: int, where: str) -> tuple[int, int, int]:
    """Return (buffer, offset, stride) of `count` elements of `size` bytes at `offset` of a bufferView."""
    buffer, start, length, stride = find_span(document, view)
    step = stride or size
    if step < size:
        raise document.fail(f"bufferViews[{view}].byteStride", f"is {step}; {where} has elements of {size} bytes.")
    end = offset + step * (count - 1) + size
    if end > length:
        raise document.fail(where, f"needs {end} bytes of bufferViews[{view}], which has {length}; export it again.")
    return buffer, start + offset, step


def read_accessor(document: Document, i: int, kind: str, where: str, *, integers: bool = False) -> Floats:
    """Read the elements of an accessor as (count, numbers) in double precision.

    Args:
        document: The file.
        i: The index of the accessor.
        kind: The required `type`.
        where: The element that refers to it, for error messages.
        integers: Whether normalised integers are allowed in addition to floats.
    """
    at, accessor = f"accessors[{i}]", document.read_items("accessors")[i]
    dtype, _, _ = find_layout(document, accessor, at)
    if accessor["type"] != kind:
        raise document.fail(at, f"is of type {accessor['type']}; {where} needs {kind}.")
    normalised = accessor.get("normalized", False) is True
    if dtype != "<f4" and not (integers and normalised and dtype != "<u4"):
        name = NAMES[accessor["componentType"]] + (", normalized" if normalised else "")
        wanted = "FLOAT, or a normalized byte or short" if integers else "FLOAT"
        raise document.fail(f"{at}.componentType", f"is {name}; {where} needs {wanted}.")
    return read_finite(document, convert_to_floats(read_elements(document, i, where)), i, where)


def read_finite(document: Document, numbers: Floats, i: int, where: str) -> Floats:
    """Return the numbers; raise `FormatError` if one is not finite."""
    good = np.isfinite(numbers).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        message = f"element {row} is {numbers[row].tolist()}; every number must be finite ({where})."
        raise document.fail(f"accessors[{i}]", message)
    return numbers


def read_elements(document: Document, i: int, where: str) -> NDArray[Any]:
    """Return the elements of an accessor as stored, (count, numbers), with sparse replacements applied."""
    at, accessor = f"accessors[{i}]", document.read_items("accessors")[i]
    dtype, width, count = find_layout(document, accessor, at)
    if count * width > MAX_NUMBERS:
        raise document.fail(f"{at}.count", f"is {count}; at most {MAX_NUMBERS // width} such are read ({where}).")
    document.count_numbers(count * width, at)
    if accessor.get("bufferView") is None:
        values: NDArray[Any] = np.zeros((count, width), dtype)
    else:
        values = copy_elements(document, accessor["bufferView"], accessor.get("byteOffset", 0), dtype, width, count, at)
    return overwrite(document, values, accessor, at) if "sparse" in accessor else values


def read_quantized(document: Document, i: int, kinds: tuple[str, ...], where: str) -> Floats:
    """Read the elements of a mesh accessor as doubles; integers are allowed, as in KHR_mesh_quantization."""
    accessor = document.read_items("accessors")[i]
    find_layout(document, accessor, f"accessors[{i}]")
    if accessor["type"] not in kinds:
        raise document.fail(f"accessors[{i}]", f"is of type {accessor['type']}; {where} needs {' or '.join(kinds)}.")
    values = read_elements(document, i, where)
    with np.errstate(invalid="ignore"):
        whole = accessor.get("normalized", False) is not True
        numbers = values.astype(np.float64) if whole or values.dtype.kind == "f" else convert_to_floats(values)
    return read_finite(document, numbers, i, where)


def read_indices(document: Document, i: int, kind: str, where: str) -> NDArray[np.int64]:
    """Read the elements of an accessor of unsigned integers, (count, numbers)."""
    accessor = document.read_items("accessors")[i]
    dtype, _, _ = find_layout(document, accessor, f"accessors[{i}]")
    if accessor["type"] != kind or dtype not in ("<u1", "<u2", "<u4"):
        name = f"{accessor['type']} of {NAMES[accessor['componentType']]}"
        raise document.fail(f"accessors[{i}]", f"is a {name}; {where} needs {kind} of unsigned integers.")
    return read_elements(document, i, where).astype(np.int64)


def find_packing(document: Document, view: int) -> tuple[str, Object]:
    """Return the name and JSON of the extension that compresses a bufferView; "" and {} if it is not compressed."""
    extensions = document.read_object(document.read_items("bufferViews")[view], "extensions", f"bufferViews[{view}]")
    name = next((name for name in extensions if "compression" in name), "")
    return name, document.read_object(extensions, name, f"bufferViews[{view}].extensions") if name else {}


def find_unknown_packing(document: Document, *accessors: int) -> str:
    """Return an unsupported extension that compresses one of these accessors, or ""."""
    for i in accessors:
        view = document.read_items("accessors")[i].get("bufferView")
        if type(view) is int and 0 <= view < len(document.read_items("bufferViews")):
            name, about = find_packing(document, view)
            if name and not can_unpack(name, about):
                return name
    return ""


def can_unpack(name: str, about: Object) -> bool:
    """Return whether this compression is supported."""
    plain = about.get("mode") == "ATTRIBUTES" and str(about.get("filter", "NONE")) in FILTERS
    return plain and name in ("EXT_meshopt_compression", "KHR_meshopt_compression")


def copy_elements(
    document: Document, view: int, offset: Any, dtype: str, width: int, count: int, where: str
) -> NDArray[Any]:
    """Return a copy of the elements of a bufferView."""
    size = np.dtype(dtype).itemsize
    buffer, start, step = locate(document, view, int(offset), size * width, count, where)
    name, about = find_packing(document, view)
    if name:
        data, start = unpack_view(document, view, name, about), int(offset)
    else:
        data = document.read_buffer(buffer)
    return np.array(np.ndarray((count, width), dtype, data, start, (step, size)))


def unpack_view(document: Document, view: int, name: str, about: Object) -> bytes:
    """Return the decompressed bytes of a bufferView; raise `FormatError` if they are too few."""
    if view in document.unpacked:
        return document.unpacked[view]
    where = f"bufferViews[{view}]"
    if not can_unpack(name, about):
        raise document.fail(where, f"is packed by {name}; {UNPACK}.")
    at = f"{where}.extensions.{name}"
    buffer = document.read_buffer(document.read_index(about.get("buffer"), "buffers", f"{at}.buffer"))
    offset, length = document.read_size(about, "byteOffset", at, 0), document.read_size(about, "byteLength", at)
    count, stride = document.read_size(about, "count", at), document.read_size(about, "byteStride", at)
    if offset + length > len(buffer):
        raise document.fail(at, f"ends at byte {offset + length} of its buffer, which has {len(buffer)}.")
    document.count_numbers(count * stride, at)
    try:
        data = unpack(buffer[offset : offset + length], count, stride, str(about.get("filter", "NONE")))
    except ValueError as error:
        raise document.fail(at, f"cannot be unpacked: {error}; export it again.") from None
    if len(data) < find_span(document, view)[2]:
        raise document.fail(at, f"has {len(data)} bytes, fewer than its bufferView; export it again.")
    document.unpacked[view] = data
    return data


def overwrite(document: Document, values: NDArray[Any], accessor: Object, where: str) -> NDArray[Any]:
    """Return the values with the replacements of a sparse accessor applied."""
    where = f"{where}.sparse"
    sparse = accessor["sparse"]
    if not isinstance(sparse, dict):
        raise document.fail(where, "must be an object with count, indices and values.")
    count = document.read_size(sparse, "count", where)
    if not 1 <= count <= len(values):
        raise document.fail(f"{where}.count", f"is {count}; it must be 1 to the accessor's {len(values)}.")
    at, new = document.read_object(sparse, "indices", where), document.read_object(sparse, "values", where)
    code = at.get("componentType")
    if code not in (5121, 5123, 5125):
        raise document.fail(f"{where}.indices.componentType", f"is {shorten(code)}; it must be 5121, 5123 or 5125.")
    view = document.read_index(at.get("bufferView"), "bufferViews", f"{where}.indices.bufferView")
    offset = document.read_size(at, "byteOffset", f"{where}.indices", 0)
    rows = copy_elements(document, view, offset, COMPONENTS[code], 1, count, f"{where}.indices")[:, 0].astype(np.int64)
    if rows[-1] >= len(values) or (np.diff(rows) <= 0).any():
        raise document.fail(f"{where}.indices", f"must rise strictly and stay below {len(values)}; export it again.")
    view = document.read_index(new.get("bufferView"), "bufferViews", f"{where}.values.bufferView")
    offset = document.read_size(new, "byteOffset", f"{where}.values", 0)
    values[rows] = copy_elements(document, view, offset, values.dtype.str, values.shape[1], count, f"{where}.values")
    return values


def convert_to_floats(values: NDArray[Any]) -> Floats:
    """Convert values to doubles; integers are divided by the maximum of their type."""
    with np.errstate(invalid="ignore"):  # a signalling NaN; the caller checks for it
        numbers = values.astype(np.float64)
    if values.dtype.kind == "f":
        return numbers
    return np.maximum(numbers / np.iinfo(values.dtype).max, -1.0)
