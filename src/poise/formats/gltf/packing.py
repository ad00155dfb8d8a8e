"""Files put together again: the JSON as it was, changed where it must be, and bytes behind the bytes that were there.

A GLB keeps its BIN chunk and grows at its end; a `.gltf` keeps its buffers and gets one more, as a data uri. What the
file refers to beside it (buffers, images) stays where the result lies in the same folder, and is taken in elsewhere.
"""

from __future__ import annotations

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

__all__ = ["Parts", "write_parts"]

MIMES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp", b"\xabKTX": "image/ktx2"}


class Parts:
    """A file in the making: its JSON, copied as far as it is changed, and bytes to be added.

    Attributes:
        document: The file that it is made from; None for a new one.
        json: The root object.
        added: New bytes; the bufferViews of `view` count from their beginning until the file is written.
    """

    def __init__(self, root: Object, document: Document | None = None) -> None:
        self.document = document
        self.json = dict(root)
        self.added = bytearray()
        self._views: list[int] = []

    def append(self, key: str, item: Object, *, first: bool = False) -> int:
        """Adds to a top-level list (a copy of it); the number of the item."""
        items = list(self.json.get(key, []))
        items.insert(0 if first else len(items), item)
        self.json[key] = items
        return 0 if first else len(items) - 1

    def view(self, data: bytes) -> int:
        """Adds bytes as a bufferView."""
        self.added += b"\0" * (-len(self.added) % 8)
        number = self.append("bufferViews", {"buffer": -1, "byteOffset": len(self.added), "byteLength": len(data)})
        self._views.append(number)
        self.added += data
        return number

    def accessor(self, values: NDArray[np.float64], kind: str, *, bounds: bool = False) -> int:
        """Adds rows of numbers, in single precision."""
        single = np.ascontiguousarray(values, dtype="<f4")
        about: Object = {"bufferView": self.view(single.tobytes()), "componentType": 5126, "count": len(single)}
        about["type"] = kind
        if bounds:
            rows = single.reshape(len(single), -1).astype(np.float64)
            about |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        return self.append("accessors", about)

    def settle(self, buffer: int, offset: int) -> None:
        """Says where the added bytes came to lie."""
        views = list(self.json["bufferViews"])
        for i in self._views:
            views[i] = {**views[i], "buffer": buffer, "byteOffset": views[i]["byteOffset"] + offset}
        self.json["bufferViews"] = views


def write_parts(parts: Parts, target: Path) -> None:
    """Writes the file: a GLB, or JSON where its name ends in ``.gltf``.

    Raises:
        FormatError: Something that the file refers to cannot be taken along, or it grows above 4 GiB.
    """
    stays = parts.document is not None and same_folder(parts.document, target)
    target.write_bytes(as_text(parts, stays) if target.suffix.lower() == ".gltf" else as_chunks(parts, stays))


def same_folder(document: Document, target: Path) -> bool:
    """Whether relative references mean the same at both places."""
    return Path(document.source.path).parent.resolve() == target.parent.resolve()


# ------------------------------------------------------------------------------------------------ .gltf


def as_text(parts: Parts, stays: bool) -> bytes:
    """JSON, all new bytes as data uris."""
    document = parts.document
    buffers = [dict(item) for item in parts.json.get("buffers", [])]
    for i, item in enumerate(buffers):
        if document is not None and (
            (i == 0 and "uri" not in item and document.binary is not None) or moves(item, stays)
        ):
            item["uri"] = data_uri(document.buffer(i)[: item["byteLength"]], "application/octet-stream")
    if parts.added:
        parts.settle(len(buffers), 0)
        data = bytes(parts.added)
        buffers.append({"byteLength": len(data), "uri": data_uri(data, "application/octet-stream")})
    if buffers:
        parts.json["buffers"] = buffers
    if document is not None:
        parts.json |= {key: [taken_in(document, item, stays) for item in parts.json[key]] for key in images(parts)}
    return encoded(parts.json, indent=1)


def images(parts: Parts) -> list[str]:
    """The list of images, where there is one."""
    return ["images"] if isinstance(parts.json.get("images"), list) else []


def moves(item: Object, stays: bool) -> bool:
    """Whether an item refers to a file that has to be taken along."""
    uri = item.get("uri")
    return not stays and isinstance(uri, str) and uri[:5].lower() != "data:"


def taken_in(document: Document, image: Any, stays: bool) -> Any:
    """An image, as a data uri where its file would be out of reach."""
    if not isinstance(image, dict) or not moves(image, stays):
        return image
    data = image_bytes(document, image)
    return image if data is None else {**image, "uri": data_uri(data, mime_of(image, data))}


def image_bytes(document: Document, image: Object) -> bytes | None:
    """An image's file; None with a warning where it is not there, as the character was without it before."""
    try:
        return document.resource(image["uri"], "an image")
    except FormatError as error:
        warnings.warn(f"{document.source.path}: {error.message} Its name was kept.", FormatWarning, stacklevel=2)
        return None


def data_uri(data: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"


def mime_of(image: Object, data: bytes) -> str:
    """The kind of an image: as stated, by its first bytes, or by its name."""
    if isinstance(image.get("mimeType"), str):
        return str(image["mimeType"])
    by_name = "image/jpeg" if unquote(image["uri"]).lower().endswith((".jpg", ".jpeg")) else "image/png"
    return next((mime for head, mime in MIMES.items() if data.startswith(head)), by_name)


# ------------------------------------------------------------------------------------------------ GLB


def as_chunks(parts: Parts, stays: bool) -> bytes:
    """A GLB: JSON, BIN, and the chunks that Poise does not know as they were."""
    document = parts.document
    if document is not None and document.binary is None and parts.json.get("buffers"):
        binary = gathered(parts, document)
    else:
        binary = bytearray(document.binary or b"") if document is not None else bytearray()
        if document is not None:
            take_buffers(parts, document, stays)
    if document is not None:
        take_images(parts, document, stays and document.binary is not None)
    if parts.added:
        binary += b"\0" * (-len(binary) % 8)
        parts.settle(0, len(binary))
        binary += parts.added
    buffers = [dict(item) for item in parts.json.get("buffers", [])]
    if binary and (parts.added or not buffers):
        buffers[:1] = [{**(buffers[0] if buffers else {}), "byteLength": len(binary)}]
        parts.json["buffers"] = buffers
    chunks = chunk(JSON, encoded(parts.json), b" ")
    if binary:
        chunks += chunk(BIN, bytes(binary), b"\0")
    for kind, data in document.others if document is not None else ():
        chunks += chunk(kind, data, b"\0")
    if len(chunks) + 12 >= 1 << 32:
        raise FormatError("grows above 4 GiB, more than a GLB can hold; write a shorter motion.")
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def gathered(parts: Parts, document: Document) -> bytearray:
    """All buffers of a `.gltf` one behind the other; its bufferViews follow them.

    Buffers without bytes, which stand for what packed views unpack to, stay behind the first.
    """
    binary, starts, buffers = bytearray(), dict[int, int](), list[Object]()
    numbers = {-1: -1}  # of buffers, old to new; the added bytes have none yet
    for i, item in enumerate(parts.json["buffers"]):
        if "uri" not in item:
            buffers.append(item)
            numbers[i] = len(buffers)
            continue
        binary += b"\0" * (-len(binary) % 8)
        starts[i], numbers[i] = len(binary), 0
        binary += document.buffer(i)[: item["byteLength"]]
    views = [moved(view, starts, numbers) for view in parts.json.get("bufferViews", [])]
    if views:
        parts.json["bufferViews"] = views
    first: Object = next((item for item in parts.json["buffers"] if "uri" in item), {})
    kept = {key: value for key, value in first.items() if key != "uri"}
    parts.json["buffers"] = [{**kept, "byteLength": len(binary)}, *buffers]
    return binary


def moved(view: Object, starts: dict[int, int], numbers: dict[int, int]) -> Object:
    """A bufferView, and the packed bytes that it names, where its buffer came to lie."""
    start, number = starts.get(view["buffer"], 0), numbers[view["buffer"]]
    out = view if number == view["buffer"] else {**view, "buffer": number}
    out = {**out, "byteOffset": out.get("byteOffset", 0) + start} if start else out
    given = view.get("extensions")
    if not isinstance(given, dict):
        return out
    extensions = {
        name: moved(about, starts, numbers) if "compression" in name and placed(about, numbers) else about
        for name, about in given.items()
    }
    return {**out, "extensions": extensions}


def placed(about: Any, numbers: dict[int, int]) -> bool:
    """Whether packed bytes are said to lie in a buffer that there is; those of meshes are not looked at."""
    if not isinstance(about, dict):
        return False
    buffer, offset = about.get("buffer"), about.get("byteOffset", 0)
    return type(buffer) is int and buffer in numbers and type(offset) is int


def take_buffers(parts: Parts, document: Document, stays: bool) -> None:
    """Further buffers of a GLB that lie in files, as data uris where the files would be out of reach."""
    buffers = parts.json.get("buffers", [])
    if any(moves(item, stays) for item in buffers):
        parts.json["buffers"] = [
            {**item, "uri": data_uri(document.buffer(i), "application/octet-stream")} if moves(item, stays) else item
            for i, item in enumerate(buffers)
        ]


def take_images(parts: Parts, document: Document, stays: bool) -> None:
    """Images in files become bytes of the GLB where they would be out of reach."""
    for key in images(parts):
        items = list(parts.json[key])
        for i, image in enumerate(items):
            if isinstance(image, dict) and moves(image, stays):
                data = image_bytes(document, image)
                if data is None:
                    continue
                kept = {name: value for name, value in image.items() if name != "uri"}
                items[i] = {**kept, "mimeType": mime_of(image, data), "bufferView": parts.view(data)}
        parts.json[key] = items


def chunk(kind: int, data: bytes, padding: bytes) -> bytes:
    data += padding * (-len(data) % 4)
    return struct.pack("<II", len(data), kind) + data


def encoded(root: Object, indent: int | None = None) -> bytes:
    """JSON in UTF-8; text that UTF-8 cannot hold (half a surrogate pair) stays escaped."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(root, ensure_ascii=False, allow_nan=False, separators=separators, indent=indent)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(root, allow_nan=False, separators=separators, indent=indent).encode("ascii")
