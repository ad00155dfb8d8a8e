"""Assembly of glTF files: the original JSON with changes, and new bytes after the original ones.

A GLB keeps its BIN chunk, which is extended; a `.gltf` keeps its buffers and gets one more, as a data URI. External
files (buffers, images) stay external if the result is in the same folder; otherwise they are embedded.
"""

import base64
import json
import struct
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, FormatWarning
from poise.formats.gltf.document import BIN, JSON, Document, Object
from poise.formats.meshes.images import find_kind

__all__ = ["GltfDraft", "write_parts"]


class GltfDraft:
    """A file under construction: its JSON, copied where it is changed, and the bytes to add.

    Attributes:
        document: The original file; None for a new one.
        json: The root object.
        added: The new bytes; offsets in bufferViews of `add_view` are relative to them until the file is written.
    """

    def __init__(self, root: Object, document: Document | None = None) -> None:
        self.document = document
        self.json = dict(root)
        self.added = bytearray()
        self._views: list[int] = []

    def append(self, key: str, item: Object, *, first: bool = False) -> int:
        """Append an item to a copy of a top-level list (in front if `first`); return its index."""
        items = list(self.json.get(key, []))
        items.insert(0 if first else len(items), item)
        self.json[key] = items
        return 0 if first else len(items) - 1

    def add_view(self, data: bytes) -> int:
        """Add bytes as a bufferView; return its index."""
        self.added += b"\0" * (-len(self.added) % 8)
        number = self.append("bufferViews", {"buffer": -1, "byteOffset": len(self.added), "byteLength": len(data)})
        self._views.append(number)
        self.added += data
        return number

    def add_accessor(self, values: NDArray[np.float64], kind: str, *, bounds: bool = False) -> int:
        """Add rows of numbers in single precision as an accessor; return its index."""
        single = np.ascontiguousarray(values, dtype="<f4")
        about: Object = {"bufferView": self.add_view(single.tobytes()), "componentType": 5126, "count": len(single)}
        about["type"] = kind
        if bounds:
            rows = single.reshape(len(single), -1).astype(np.float64)
            about |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        return self.append("accessors", about)

    def place_bytes(self, buffer: int, offset: int) -> None:
        """Set the buffer and offset of the added bytes."""
        views = list(self.json["bufferViews"])
        for i in self._views:
            views[i] = {**views[i], "buffer": buffer, "byteOffset": views[i]["byteOffset"] + offset}
        self.json["bufferViews"] = views


def write_parts(parts: GltfDraft, target: Path) -> None:
    """Write the file: a GLB, or JSON if its name ends in ``.gltf``.

    Raises:
        FormatError: A referenced file cannot be embedded, or the result exceeds 4 GiB.
    """
    stays = parts.document is not None and is_same_folder(parts.document, target)
    target.write_bytes(format_text(parts, stays) if target.suffix.lower() == ".gltf" else format_chunks(parts, stays))


def is_same_folder(document: Document, target: Path) -> bool:
    """Return whether relative references are the same for both files."""
    return Path(document.source.path).parent.resolve() == target.parent.resolve()


# ------------------------------------------------------------------------------------------------ .gltf


def format_text(parts: GltfDraft, stays: bool) -> bytes:
    """Return the JSON text, with all new bytes as data URIs."""
    document = parts.document
    buffers = [dict(item) for item in parts.json.get("buffers", [])]
    for i, item in enumerate(buffers):
        if document is not None and (
            (i == 0 and "uri" not in item and document.binary is not None) or must_move(item, stays)
        ):
            item["uri"] = make_data_uri(document.read_buffer(i)[: item["byteLength"]], "application/octet-stream")
    if parts.added:
        parts.place_bytes(len(buffers), 0)
        data = bytes(parts.added)
        buffers.append({"byteLength": len(data), "uri": make_data_uri(data, "application/octet-stream")})
    if buffers:
        parts.json["buffers"] = buffers
    if document is not None:
        parts.json |= {key: [take_in(document, item, stays) for item in parts.json[key]] for key in list_images(parts)}
    return encode(parts.json, indent=1)


def list_images(parts: GltfDraft) -> list[str]:
    """Return ["images"] if the file has a list of images, otherwise an empty list."""
    return ["images"] if isinstance(parts.json.get("images"), list) else []


def must_move(item: Object, stays: bool) -> bool:
    """Return whether an item refers to a file that must be embedded."""
    uri = item.get("uri")
    return not stays and isinstance(uri, str) and uri[:5].lower() != "data:"


def take_in(document: Document, image: Any, stays: bool) -> Any:
    """Return an image, embedded as a data URI if its file must be embedded."""
    if not isinstance(image, dict) or not must_move(image, stays):
        return image
    data = read_image(document, image)
    return image if data is None else {**image, "uri": make_data_uri(data, find_mime(image, data))}


def read_image(document: Document, image: Object) -> bytes | None:
    """Return an image's bytes; if the file is missing, issue a warning and return None."""
    try:
        return document.read_resource(image["uri"], "an image")
    except FormatError as error:
        warnings.warn(f"{document.source.path}: {error.message} Its name was kept.", FormatWarning, stacklevel=2)
        return None


def make_data_uri(data: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"


def find_mime(image: Object, data: bytes) -> str:
    """Return the MIME type of an image: as stated, by its first bytes, or by its suffix."""
    if isinstance(image.get("mimeType"), str):
        return str(image["mimeType"])
    by_name = "image/jpeg" if unquote(image["uri"]).lower().endswith((".jpg", ".jpeg")) else "image/png"
    return find_kind(data) or by_name


# ------------------------------------------------------------------------------------------------ GLB


def format_chunks(parts: GltfDraft, stays: bool) -> bytes:
    """Return a GLB: JSON, BIN, and unknown chunks unchanged."""
    document = parts.document
    if document is not None and document.binary is None and parts.json.get("buffers"):
        binary = gather_buffers(parts, document)
    else:
        binary = bytearray(document.binary or b"") if document is not None else bytearray()
        if document is not None:
            take_buffers(parts, document, stays)
    if document is not None:
        take_images(parts, document, stays and document.binary is not None)
    if parts.added:
        binary += b"\0" * (-len(binary) % 8)
        parts.place_bytes(0, len(binary))
        binary += parts.added
    buffers = [dict(item) for item in parts.json.get("buffers", [])]
    if binary and (parts.added or not buffers):
        buffers[:1] = [{**(buffers[0] if buffers else {}), "byteLength": len(binary)}]
        parts.json["buffers"] = buffers
    chunks = make_chunk(JSON, encode(parts.json), b" ")
    if binary:
        chunks += make_chunk(BIN, bytes(binary), b"\0")
    for kind, data in document.others if document is not None else ():
        chunks += make_chunk(kind, data, b"\0")
    if len(chunks) + 12 >= 1 << 32:
        raise FormatError("grows above 4 GiB, more than a GLB can hold; write a shorter motion.")
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def gather_buffers(parts: GltfDraft, document: Document) -> bytearray:
    """Return all buffers of a `.gltf` joined; its bufferViews are updated.

    Buffers without bytes, which are placeholders for decompressed views, are listed after the first.
    """
    binary, starts, buffers = bytearray(), dict[int, int](), list[Object]()
    numbers = {-1: -1}  # old to new indices of buffers; the added bytes have none yet
    for i, item in enumerate(parts.json["buffers"]):
        if "uri" not in item:
            buffers.append(item)
            numbers[i] = len(buffers)
            continue
        binary += b"\0" * (-len(binary) % 8)
        starts[i], numbers[i] = len(binary), 0
        binary += document.read_buffer(i)[: item["byteLength"]]
    views = [move_view(view, starts, numbers) for view in parts.json.get("bufferViews", [])]
    if views:
        parts.json["bufferViews"] = views
    first: Object = next((item for item in parts.json["buffers"] if "uri" in item), {})
    kept = {key: value for key, value in first.items() if key != "uri"}
    parts.json["buffers"] = [{**kept, "byteLength": len(binary)}, *buffers]
    return binary


def move_view(view: Object, starts: dict[int, int], numbers: dict[int, int]) -> Object:
    """Return a bufferView, and its compression extension, with the new buffer index and offset."""
    start, number = starts.get(view["buffer"], 0), numbers[view["buffer"]]
    out = view if number == view["buffer"] else {**view, "buffer": number}
    out = {**out, "byteOffset": out.get("byteOffset", 0) + start} if start else out
    given = view.get("extensions")
    if not isinstance(given, dict):
        return out
    extensions = {
        name: move_view(about, starts, numbers) if "compression" in name and has_buffer(about, numbers) else about
        for name, about in given.items()
    }
    return {**out, "extensions": extensions}


def has_buffer(about: Any, numbers: dict[int, int]) -> bool:
    """Return whether the bytes of a compression extension are in an existing buffer."""
    if not isinstance(about, dict):
        return False
    buffer, offset = about.get("buffer"), about.get("byteOffset", 0)
    return type(buffer) is int and buffer in numbers and type(offset) is int


def take_buffers(parts: GltfDraft, document: Document, stays: bool) -> None:
    """Embed further buffers of a GLB as data URIs if their files must be embedded."""
    buffers = parts.json.get("buffers", [])
    if any(must_move(item, stays) for item in buffers):
        parts.json["buffers"] = [
            {**item, "uri": make_data_uri(document.read_buffer(i), "application/octet-stream")}
            if must_move(item, stays)
            else item
            for i, item in enumerate(buffers)
        ]


def take_images(parts: GltfDraft, document: Document, stays: bool) -> None:
    """Embed image files as bytes of the GLB if they must be embedded."""
    for key in list_images(parts):
        items = list(parts.json[key])
        for i, image in enumerate(items):
            if isinstance(image, dict) and must_move(image, stays):
                data = read_image(document, image)
                if data is None:
                    continue
                kept = {name: value for name, value in image.items() if name != "uri"}
                items[i] = {**kept, "mimeType": find_mime(image, data), "bufferView": parts.add_view(data)}
        parts.json[key] = items


def make_chunk(kind: int, data: bytes, padding: bytes) -> bytes:
    data += padding * (-len(data) % 4)
    return struct.pack("<II", len(data), kind) + data


def encode(root: Object, indent: int | None = None) -> bytes:
    """Return JSON in UTF-8; text that UTF-8 cannot encode (half a surrogate pair) stays escaped."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(root, ensure_ascii=False, allow_nan=False, separators=separators, indent=indent)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(root, allow_nan=False, separators=separators, indent=indent).encode("ascii")
