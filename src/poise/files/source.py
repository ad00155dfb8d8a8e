"""The input of a reader: a file's bytes, read once with a size limit, and its errors and notes.

Files are untrusted. A reader never opens anything itself: `Source.open` rejects anything but plain files of limited
size, `Source.find_sibling` rejects references to files outside the file's folder, `parse_number` accepts decimals only,
and `poise.formats.xml.parse_xml` rejects entities and limits depth and element count.
"""

from __future__ import annotations

import codecs
import math
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from poise.errors import FormatError

__all__ = ["MAX_BYTES", "MAX_NAME_LENGTH", "Source", "parse_number", "parse_numbers", "quote", "quote_names"]

MAX_BYTES = 1 << 29
"""Larger files are rejected before they are read [bytes]."""

MAX_NOTES = 40
"""A file with more oddities than this gets a count of the rest."""

# unambiguous, so that a long text that is not a number is rejected in one pass
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_PLAIN = re.compile(r"[0-9eE+.\s-]*", re.ASCII)
MAX_NUMBER_LENGTH = 1000
MAX_NAME_LENGTH = 1000
"""Letters of a name; one with more is not a name, and would flood every message."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class Source:
    """A file being read.

    Attributes:
        path: The path as given by the user.
        data: The content of the file.
        notes: The assumptions made on reading, including oddities, for `model.notes`.
        oddities: The notes that are also issued as warnings.
    """

    path: str
    data: bytes
    notes: list[str] = field(default_factory=list)
    oddities: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, path: str | Path, *, limit: int = MAX_BYTES) -> Source:
        """Read a file completely.

        Raises:
            FormatError: The file is missing, a folder, not a regular file, too large, or not readable.
        """
        text = str(path)
        try:
            where = Path(text)
            about = where.stat()
            if stat.S_ISDIR(about.st_mode):
                inside = sorted(entry.name for entry in where.iterdir())
                advice = f"a folder; name a file inside it: {quote_names(inside)}" if inside else "an empty folder"
                raise FormatError(f"is {advice}.", text)
            if not stat.S_ISREG(about.st_mode):
                raise FormatError("is not a plain file (a pipe or a device); copy its content to a file first.", text)
            if about.st_size > limit:
                raise FormatError(f"has {about.st_size} bytes; at most {limit} are read. Split it, or thin it.", text)
            with where.open("rb") as stream:
                data = stream.read(limit + 1)
        except FormatError:
            raise
        except FileNotFoundError:
            raise FormatError(explain_missing(text), text) from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise FormatError(f"cannot be opened: {getattr(error, 'strerror', None) or error}.", text) from None
        if len(data) > limit:
            raise FormatError(f"grew above {limit} bytes while it was read.", text)
        return cls(text, data)

    def read_text(self) -> str:
        """Decode the file: UTF-8 with or without BOM, UTF-16 with BOM, otherwise Latin-1 with a note.

        Raises:
            FormatError: The file contains NUL characters.
        """
        text = self._decode()
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise self.make_error("holds NUL characters, so it is not a text file, or a damaged one.", line)
        return text

    def _decode(self) -> str:
        if self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            try:
                return self.data.decode("utf-16")
            except UnicodeDecodeError as error:
                raise self.make_error(f"begins as UTF-16 and is not: {error.reason}. Save it as UTF-8.") from None
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            self.note_oddity("is not UTF-8; letters beyond ASCII were read as Latin-1", line)
            return self.data.decode("latin-1")

    def make_error(self, message: str, line: int | None = None) -> FormatError:
        """Return an error for this file, to be raised."""
        return FormatError(message, self.path, line)

    def note(self, message: str, line: int | None = None) -> None:
        """Record an assumption in the notes."""
        self._add(self.notes, message if line is None else f"line {line}: {message}")

    def note_oddity(self, message: str, line: int | None = None) -> None:
        """Record an oddity and its interpretation in the notes; a `FormatWarning` is issued after reading."""
        text = message if line is None else f"line {line}: {message}"
        if self._add(self.notes, text):
            self._add(self.oddities, text)

    def _add(self, to: list[str], text: str) -> bool:
        if text in to or len(to) > MAX_NOTES:
            return False
        to.append(text if len(to) < MAX_NOTES else "further oddities of this file are not listed")
        return True

    def find_sibling(self, reference: str, above: tuple[str, ...] = (), within: str = "") -> Path:
        """Return the path of a file that this one refers to, in its own folder or below.

        Args:
            reference: The reference as written in the file.
            above: Suffixes of files that may be outside the folder if the reference contains ``..``; none by default.
            within: The folder of an upload, which no reference may leave; "" for no restriction.

        Raises:
            FormatError: The reference is absolute, has a scheme, or leads out of the folder (links included).
        """
        if not reference or "\0" in reference:
            raise self.make_error(f"refers to a file by {reference!r}, which is not a file name.")
        plain = reference.replace("\\", "/")
        if plain.startswith("/") or _SCHEME.match(plain):
            raise self.make_error(f"refers to {reference!r}; only files next to it are read. Write a relative path.")
        folder = Path(self.path).parent.resolve()
        path = (folder / plain).resolve()
        if path.is_relative_to(folder):
            return path
        if not above or ".." not in plain.split("/"):
            raise self.make_error(f"refers to {reference!r}, which leads out of its folder; put that file next to it.")
        if path.suffix.lower() not in above:
            kinds = " or ".join(above)
            raise self.make_error(f"refers to {reference!r}, which leads out of its folder and to no {kinds} file.")
        if within and not path.is_relative_to(Path(within).resolve()):
            raise self.make_error(f"refers to {reference!r}, which leads out of the upload; add that file to it.")
        return path


def explain_missing(path: str) -> str:
    """Return a message for a missing file: the folder that was searched, and similar names in it."""
    import difflib

    where = Path(path)
    folder = where.parent
    if "://" in path:
        return "is an address on the web; download the file with its meshes, and name it."
    if not folder.is_dir():
        return f"is missing, and so is the folder {str(folder.absolute())!r}."
    try:
        names = [entry.name for entry, _ in zip(folder.iterdir(), range(2000), strict=False) if entry.is_file()]
    except OSError:
        names = []
    close = difflib.get_close_matches(where.name, names, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"is missing; searched {str(folder.absolute())!r}.{hint}"


def parse_number(text: str, what: str, source: Source, line: int | None = None) -> float:
    """Parse a finite decimal number, such as ``-1.5e-3``; spaces around it are allowed.

    Raises:
        FormatError: The text is not such a number: ``nan``, ``inf``, ``0x10``, ``1_0``, ``1,5``, "", or an overflow.
    """
    word = text.strip(" \t\r\n")
    if len(word) > MAX_NUMBER_LENGTH or _NUMBER.fullmatch(word) is None:
        hint = " Has xacro been run on it?" if "${" in word else ""
        raise source.make_error(f"{what} is {quote(text)}; it must be a plain number such as -1.5e-3.{hint}", line)
    value = float(word)
    if not math.isfinite(value):
        raise source.make_error(f"{what} is {quote(text)}, too large for a number.", line)
    return value


def parse_numbers(text: str, count: int | None, what: str, source: Source, line: int | None = None) -> list[float]:
    """Parse `count` finite numbers (any count if None), separated by white space.

    Raises:
        FormatError: The count is wrong, or a word is not a number.
    """
    words = text.split()
    if len(text) <= MAX_NUMBER_LENGTH and _PLAIN.fullmatch(text) is not None and (count is None or len(words) == count):
        try:  # for these characters, float() accepts the same words as parse_number
            values = [float(word) for word in words]
        except ValueError:
            values = [math.inf]
        if all(map(math.isfinite, values)):
            return values
    if count is not None and len(words) != count:
        raise source.make_error(f"{what} is {quote(text)}: {len(words)} numbers where {count} belong.", line)
    return [parse_number(word, what, source, line) for word in words]


def quote(text: str, longest: int = 40) -> str:
    """Return text from the file in quotes, shortened."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def quote_names(names: Iterable[str], most: int = 8) -> str:
    """Return the first few names in quotes, with the total if there are more."""
    known = list(names)
    more = f", ... ({len(known)} in all)" if len(known) > most else ""
    return ", ".join(map(repr, known[:most])) + more
