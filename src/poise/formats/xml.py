"""A parser for untrusted XML: a bounded tree with line numbers, without entities or external files.

Python's expat parses, and this module builds the tree. Unlike `xml.etree` and lxml, this lets us reject all entity
declarations (so nothing expands and nothing is fetched) and limit depth and element count while parsing, and it needs
no package. Tested in `tests/formats/test_formats_source.py`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.parsers import expat

from poise.errors import FormatError
from poise.files.source import Source

__all__ = ["Element", "find_root_tag", "parse_xml", "strip_prefix"]

MAX_BYTES = 1 << 26
MAX_ELEMENTS = 400_000
MAX_DEPTH = 200
MAX_TEXT_LENGTH = 1 << 20  # buffer size, in characters: a mesh has millions of numbers

_TAG = re.compile(rb"<([A-Za-z_][\w:.-]*)")
BLANKS = (b" ", b"\t", b"\r", b"\n")
_ENDS = {b"<!--": b"-->", b"<?": b"?>", b"<!": b">"}  # other markup, with its end


class Element(ET.Element):
    """An element of `xml.etree` with its line number in the file as `sourceline`."""

    __slots__ = ("sourceline",)
    sourceline: int

    if TYPE_CHECKING:  # the children are of this class too

        def __iter__(self) -> Iterator[Element]: ...


class _Builder:
    """The tree under construction; expat calls its methods."""

    def __init__(self, source: Source, parser: expat.XMLParserType, deepest: int) -> None:
        self.source, self.parser, self.deepest = source, parser, deepest
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self.count += 1
        if len(self.stack) >= self.deepest:
            raise self.source.make_error(
                f"elements are nested more than {self.deepest} deep; no robot or body is.", line
            )
        if self.count > MAX_ELEMENTS:
            raise self.source.make_error(f"has more than {MAX_ELEMENTS} elements.", line)
        element = Element(tag, attributes)
        element.sourceline = line
        if self.stack:
            self.stack[-1].append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, tag: str) -> None:
        self.stack.pop()

    def text(self, words: str) -> None:
        if words.isspace():
            return  # white space between elements has no meaning in these formats
        at = self.stack[-1]
        if len(at):
            at[-1].tail = (at[-1].tail or "") + words
        else:
            at.text = (at.text or "") + words

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        if system or public:  # expat would silently ignore the declarations of that file
            raise self.source.make_error(
                "names a document type in another file, which is not read. Remove its DOCTYPE line.",
                self.parser.CurrentLineNumber,
            )

    def entity(self, name: str, *_: object) -> None:
        raise self.source.make_error(
            f"declares the entity {name[:40]!r}; entities are not allowed. Write its value instead.",
            self.parser.CurrentLineNumber,
        )


def parse_xml(source: Source, *, deepest: int = MAX_DEPTH) -> Element:
    """Parse the file and return the root element.

    Tags and attributes in a namespace keep their prefix, ``prefix:name``; see `strip_prefix`.

    Raises:
        FormatError: The file is not well-formed text, declares an entity, is nested too deep, or has too many elements.
    """
    if len(source.data) > MAX_BYTES:
        raise source.make_error(f"has {len(source.data)} bytes; at most {MAX_BYTES} of XML are read.")
    if not source.data.strip():
        raise source.make_error("is empty. Was it copied or downloaded completely?")
    try:
        return parse(source, move_declaration(source), None, deepest)
    except FormatError:
        raise
    except expat.ExpatError as error:
        if error.code not in (4, 18, 19):  # invalid token, unknown or incorrect encoding: try other encodings
            raise source.make_error(explain(error), error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not support
        raise source.make_error(f"cannot be decoded: {error}. Save it as UTF-8.") from None
    return parse_latin(source, deepest)


def move_declaration(source: Source) -> bytes:
    """Return the bytes with white space and comments before the declaration, which XML forbids, moved behind it."""
    data = source.data.removeprefix(b"\xef\xbb\xbf")
    at = find_start(data)
    end = data.find(b"?>", at, at + 200) + 2
    if not at or end < 2 or not data.startswith(b"<?xml", at):
        return source.data
    what = "comments" if data[:at].strip() else "white space"
    source.note_oddity(f"begins with {what} before its XML declaration; it was ignored", 1)
    return data[at:end] + data[:at] + data[end:]


def find_start(data: bytes) -> int:
    """Return the position after leading white space and comments."""
    at = 0
    while True:
        while data[at : at + 1] in BLANKS:
            at += 1
        if not data.startswith(b"<!--", at):
            return at
        end = data.find(b"-->", at + 4)
        if end < 0:
            return 0
        at = end + 3


def parse_latin(source: Source, deepest: int) -> Element:
    """Parse a file whose bytes do not match its declared encoding, as Latin-1 or UTF-8."""
    try:
        source.data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = source.data.count(b"\n", 0, problem.start) + 1
    else:
        line = 0
    try:
        root = parse(source, source.data, "iso-8859-1" if line else "utf-8", deepest)
    except FormatError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:
        where = getattr(error, "lineno", None)
        reason = explain(error) if isinstance(error, expat.ExpatError) else f"cannot be decoded: {error}."
        raise source.make_error(reason, where) from None
    if line:
        source.note_oddity("is not UTF-8; letters beyond ASCII were read as Latin-1", line)
    else:
        source.note_oddity("names an encoding that does not fit; it was read as UTF-8", 1)
    return root


def parse(source: Source, data: bytes, encoding: str | None, deepest: int) -> Element:
    """Parse in one call of expat; in chunks, a long token would take quadratic time."""
    parser = expat.ParserCreate(encoding)
    builder = _Builder(source, parser, deepest)
    parser.buffer_text, parser.buffer_size = True, MAX_TEXT_LENGTH
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.EntityDeclHandler = builder.entity
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.Parse(data, True)
    if builder.root is None:
        raise FormatError("has no element.", source.path)
    return builder.root


def explain(error: expat.ExpatError) -> str:
    """Return a message for an expat error, with advice."""
    words = expat.ErrorString(error.code)
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
        return "has no element: it is cut off, or holds comments only."
    return f"is not well-formed XML: {words} (column {error.offset + 1}). Is the file complete?"


def strip_prefix(name: str) -> str:
    """Return a tag or attribute without its prefix."""
    return name.rpartition(":")[2]


def find_root_tag(head: bytes) -> str:
    """Return the tag of the first element in the first bytes of a file, or ""."""
    data, at = head.replace(b"\0", b""), 0
    while (at := data.find(b"<", at)) >= 0:
        if found := _TAG.match(data, at):
            return found[1].decode("ascii", "replace")
        start = next((start for start in _ENDS if data.startswith(start, at)), b"<")
        end = _ENDS.get(start, b"<")
        if start == b"<!" and 0 <= data.find(b"[", at) < data.find(b">", at):
            end = b"]>"  # a document type with an internal subset
        after = data.find(end, at + len(start))
        if after < 0:
            break
        at = after if end == b"<" else after + len(end)
    return ""
