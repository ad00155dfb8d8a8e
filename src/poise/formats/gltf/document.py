"""The glTF container: a `.gltf` text or a chunked `.glb`, its JSON, and its buffers, each opened on first use.

It is parsed with `json` and `struct`. The library pygltflib drops unknown JSON fields, so that a character could not be
written back completely, checks no index, and follows `uri`s out of the folder. Only the parts of glTF 2.0 that a body
needs are read, and the JSON is kept as a plain dictionary. Specification:
https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html, chapters 3.6 (binary data) and 4 (GLB).
"""

import base64
import binascii
import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import unquote, unquote_to_bytes

from poise.errors import FormatError
from poise.files.source import MAX_BYTES, Source

__all__ = ["BIN", "JSON", "Document", "Object", "read_document", "read_own_extras"]

Object = dict[str, Any]

MAGIC = b"glTF"
JSON, BIN = 0x4E4F534A, 0x004E4942
MAX_ITEMS = 1_000_000
"""Entries of one list of the JSON above which the file is rejected."""

MAX_NUMBERS = 80_000_000
"""Numbers that are taken out of the buffers of one file, all accessors together."""

_DATA = re.compile(r"data:[^,;]*(?:;[^,;=]+=[^,;]*)*(;base64)?,", re.IGNORECASE)


class Document:
    """A glTF file: its JSON and its buffers.

    Attributes:
        source: The file, which collects notes and oddities.
        json: The root object; readers never change it.
        binary: The BIN chunk of a GLB, or None.
        others: Chunks of other types as (type, bytes), kept for writing.
        unpacked: The decompressed bufferViews that were needed so far, by index.
    """

    def __init__(self, source: Source, root: Object, binary: bytes | None, others: list[tuple[int, bytes]]) -> None:
        self.source = source
        self.json = root
        self.binary = binary
        self.others = others
        self.unpacked: dict[int, bytes] = {}
        self._buffers: dict[int, bytes] = {}
        self._left = MAX_NUMBERS
        self._lists: dict[str, list[Object]] = {}
        self._odd: dict[str, list[str]] = {}

    # ------------------------------------------------------------------------------------------ errors and notes

    def fail(self, where: str, message: str) -> FormatError:
        """Return an error for a JSON element, such as ``nodes[3].children[0]``, to be raised."""
        return self.source.make_error(f"{where} {message}")

    def note_oddity(self, what: str, where: str) -> None:
        """Record an oddity; equal ones are reported together."""
        self._odd.setdefault(what, []).append(where)

    def report_oddities(self) -> None:
        """Pass the oddities to the source, one line per kind."""
        for what, places in self._odd.items():
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            self.source.note_oddity(f"{', '.join(places[:3])}{more}: {what}")
        self._odd.clear()

    # ------------------------------------------------------------------------------------------ JSON access

    def read_items(self, key: str) -> list[Object]:
        """Return a top-level list of objects; empty if it is absent."""
        if key not in self._lists:
            self._lists[key] = self.read_objects(self.json, key, "")
        return self._lists[key]

    def read_objects(self, at: Object, key: str, where: str) -> list[Object]:
        """Return a list of objects under `key`; empty if it is absent."""
        place = f"{where}.{key}" if where else key
        found = self.read_list(at.get(key, []), place)
        for i, item in enumerate(found):
            if not isinstance(item, dict):
                raise self.fail(f"{place}[{i}]", f"is {name_kind(item)}; it must be an object.")
        return found

    def read_list(self, value: Any, where: str) -> list[Any]:
        """Return a JSON list; raise `FormatError` if it has more than MAX_ITEMS entries."""
        if not isinstance(value, list):
            raise self.fail(where, f"is {name_kind(value)}; it must be a list.")
        if len(value) > MAX_ITEMS:
            raise self.fail(where, f"has {len(value)} entries; at most {MAX_ITEMS} are read.")
        return value

    def read_object(self, at: Object, key: str, where: str) -> Object:
        """Return an object under `key`; empty if it is absent."""
        value = at.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(f"{where}.{key}", f"is {name_kind(value)}; it must be an object.")
        return value

    def read_index(self, value: Any, key: str, where: str) -> int:
        """Return a valid index into the top-level list `key`."""
        count = len(self.read_items(key))
        if type(value) is not int or not 0 <= value < count:
            has = f"0 to {count - 1}" if count else "none at all"
            raise self.fail(where, f"is {shorten(value)}; it must be the number of one of the {key}: {has}.")
        return value

    def read_size(self, at: Object, key: str, where: str, default: int | None = None) -> int:
        """Return a non-negative integer."""
        value = at.get(key, default)
        if type(value) is float and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        if type(value) is not int or value < 0:
            given = "missing" if key not in at else shorten(value)
            raise self.fail(f"{where}.{key}", f"is {given}; it must be a whole number, 0 or more.")
        return value

    # ------------------------------------------------------------------------------------------ bytes

    def count_numbers(self, count: int, where: str) -> None:
        """Count numbers before they are read; raise `FormatError` if the file has too many."""
        self._left -= count
        if self._left < 0:
            raise self.fail(where, f"needs more numbers than are read of one file ({MAX_NUMBERS}); split its clips.")

    def read_buffer(self, i: int) -> bytes:
        """Return the bytes of a buffer, at least `byteLength` of them."""
        if i not in self._buffers:
            self._buffers[i] = self._open_buffer(i)
        return self._buffers[i]

    def _open_buffer(self, i: int) -> bytes:
        where, about = f"buffers[{i}]", self.read_items("buffers")[i]
        length = self.read_size(about, "byteLength", where)
        uri = about.get("uri")
        if uri is None:
            if i > 0 or self.binary is None:
                raise self.fail(where, "has no uri, and the file holds no binary chunk for it; export it again.")
            data = self.binary
        else:
            data = self.read_resource(uri, f"{where}.uri")
        if len(data) < length:
            raise self.fail(
                where, f"declares {length} bytes and has {len(data)}; the file is cut short. Export it again."
            )
        return data

    def read_resource(self, uri: Any, where: str) -> bytes:
        """Return the data of a URI: embedded, or a file in the same folder or below."""
        if not isinstance(uri, str):
            raise self.fail(where, f"is {name_kind(uri)}; it must be text.")
        if uri[:5].lower() == "data:":
            return self._read_embedded(uri, where)
        try:
            path = self.source.find_sibling(unquote(uri))
        except FormatError as error:
            raise self.source.make_error(f"{where}: the file {error.message}") from None
        try:
            return Source.open(path, limit=MAX_BYTES).data
        except FormatError as error:
            raise self.fail(where, f"refers to {shorten(uri)}, which {error.message}") from None

    def _read_embedded(self, uri: str, where: str) -> bytes:
        head = _DATA.match(uri)
        if head is None:
            raise self.fail(
                where, f"is {shorten(uri)}, no data uri; it must begin data:application/octet-stream;base64,"
            )
        if not head[1]:
            return unquote_to_bytes(uri[head.end() :])
        text = unquote(uri[head.end() :]) if "%" in uri[head.end() :] else uri[head.end() :]
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.fail(where, f"is not valid base64 ({error}); export it again.") from None


def name_kind(value: Any) -> str:
    """Return the type of a JSON value, for messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def shorten(value: Any, longest: int = 48) -> str:
    """Return a JSON value for an error message, shortened."""
    if isinstance(value, (dict, list)):
        return name_kind(value)
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number of more than 30 digits"
    text = json.dumps(value)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def read_own_extras(item: Object) -> Object:
    """Return the `extras` that Poise wrote into an object; empty if there are none."""
    extras = item.get("extras")
    ours = extras.get("poise") if isinstance(extras, dict) else None
    return ours if isinstance(ours, dict) else {}


# ------------------------------------------------------------------------------------------------ reading


def read_document(source: Source) -> Document:
    """Read the file and check its container and JSON; opens no other file.

    Raises:
        FormatError: The file is not glTF 2.0, is truncated, or has invalid JSON.
    """
    if source.data[:4] == MAGIC:
        text, binary, others = read_chunks(source)
        document = Document(source, parse(source, text, "the JSON chunk"), binary, others)
    else:
        text = source.data.removeprefix(b"\xef\xbb\xbf")
        document = Document(source, parse(source, text, ""), None, [])
    check_asset(document)
    return document


def read_chunks(source: Source) -> tuple[bytes, bytes | None, list[tuple[int, bytes]]]:
    """Return the JSON chunk, the BIN chunk and the other chunks of a GLB."""
    if len(source.data) < 20:
        raise source.make_error("begins as a GLB and ends before its first chunk; it is cut short.")
    _, version, length = struct.unpack_from("<4sII", source.data)
    if version != 2:
        raise source.make_error(f"is a GLB of version {version}; version 2 is read. Convert it with gltf-pipeline.")
    if length > len(source.data):
        raise source.make_error(f"declares {length} bytes and has {len(source.data)}; it is cut short. Fetch it again.")
    if length < len(source.data):
        source.note_oddity(f"{len(source.data) - length} bytes follow the end of the GLB; they were ignored")
    chunks = list(split_chunks(source, length))
    if not chunks or chunks[0][0] != JSON:
        raise source.make_error("its first chunk is not JSON, as a GLB's must be; export it again.")
    binary = next((i for i, chunk in enumerate(chunks) if chunk[0] == BIN), 0)
    others = [chunk for i, chunk in enumerate(chunks) if i not in (0, binary)]
    return chunks[0][1].rstrip(b" \0"), chunks[binary][1] if binary else None, others


def split_chunks(source: Source, length: int) -> Iterator[tuple[int, bytes]]:
    """Yield all chunks in order, as (type, bytes)."""
    at = 12
    while at < length:
        if at + 8 > length:
            raise source.make_error(f"a chunk begins at byte {at} and its header is cut short; fetch the file again.")
        size, kind = struct.unpack_from("<II", source.data, at)
        if at + 8 + size > length:
            raise source.make_error(
                f"the chunk at byte {at} declares {size} bytes where {length - at - 8} are left; fetch the file again."
            )
        yield kind, source.data[at + 8 : at + 8 + size]
        at += 8 + size


def parse(source: Source, data: bytes, where: str) -> Object:
    """Parse the JSON text and return its root object; rejects repeated keys, NaN and excessive nesting."""

    def reject(word: str) -> NoReturn:
        raise source.make_error(f"the JSON holds {word}, which is not a JSON number; export it again.")

    def unique(pairs: list[tuple[str, Any]]) -> Object:
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = counts.most_common(1)[0][0]
            raise source.make_error(f"the JSON gives the key {shorten(twice)} twice in one object; keep one of them.")
        return made

    place = f"{where}: " if where else ""
    try:
        root = json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=reject)
    except UnicodeDecodeError as error:
        raise source.make_error(f"{place}byte {error.start} is not UTF-8, as the JSON of glTF must be.") from None
    except json.JSONDecodeError as error:
        line = None if where else error.lineno
        raise source.make_error(f"{place}is not JSON: {error.msg} (column {error.colno}).", line) from None
    except RecursionError:
        raise source.make_error(f"{place}the JSON is nested too deeply to be a glTF.") from None
    except FormatError:
        raise
    except ValueError as error:  # a number with thousands of digits
        raise source.make_error(f"{place}the JSON holds a number that cannot be: {error}.") from None
    if not isinstance(root, dict):
        raise source.make_error(f"{place}the JSON is {name_kind(root)}; a glTF is an object with an 'asset'.")
    return root


def check_asset(document: Document) -> None:
    """Raise `FormatError` if the file is not glTF 2."""
    asset = document.json.get("asset")
    if not isinstance(asset, dict):
        raise document.fail("asset", 'is missing; a glTF 2.0 file has "asset": {"version": "2.0"}.')
    version = asset.get("version")
    hint = " Convert it with gltf-pipeline." if isinstance(document.json.get("nodes"), dict) else ""  # as in glTF 1
    if not isinstance(version, str) or not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", version):
        raise document.fail("asset.version", f'is {shorten(version)}; it must be "2.0".{hint}')
    least = asset.get("minVersion", "2.0")
    if version.split(".")[0] != "2" or least != "2.0":
        raise document.fail("asset.version", f"is {version} (at least {shorten(least)}); glTF 2.0 is read.{hint}")
