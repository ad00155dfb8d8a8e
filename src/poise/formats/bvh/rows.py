"""The MOTION section of a BVH file: the number of frames, the frame time, and the numbers.

The numbers are one stream: a row may be wrapped over several lines. They are read in blocks, so that a long clip needs
little more memory than its numbers, and never more than the size of the file allows, whatever its header declares.
"""

import contextlib
import io
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.files.source import Source, parse_number, quote

__all__ = ["BvhClip", "read_clip"]

BLOCK = 1 << 18  # bytes of text parsed at once
LONGEST = 4096  # maximum bytes of one number
MAX_EMPTY_FRAMES = 10_000_000  # maximum frames of a body without channels

_HEADER = re.compile(rb"\s*(frames|frame[ \t]*time)[ \t]*:?[ \t]*([^\s]*)", re.IGNORECASE)
_COUNT = re.compile(r"\+?[0-9]{1,18}", re.ASCII)
_DIGITS = b"0123456789+-.eE \t\r\n\v\f"
_FOREIGN = re.compile(rb"[^0-9+\-.eE\s]")

Places = NDArray[np.int64]
Letters = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class BvhClip:
    """The motion as written: rows (frames, channels) in the file's units, and the frame time [s]."""

    rows: Floats
    frame_time: float
    line: int


def read_clip(source: Source, data: bytes, start: int, channels: int) -> BvhClip:
    """Read the motion that follows the word MOTION, which ends at `start`.

    Raises:
        FormatError: The frame count or frame time is missing or invalid, or the numbers do not match them.
    """
    values: dict[str, tuple[str, int]] = {}
    for _ in range(2):
        found = _HEADER.match(data, start)
        if not found:
            missing = "Frame Time:" if "frames" in values else "Frames:"
            raise source.make_error(f"MOTION lacks its {missing!r} line.", find_line(data, start) + 1)
        key = "frames" if found.group(1).lower() == b"frames" else "time"
        line = find_line(data, found.start(1))
        if key in values:
            raise source.make_error(f"MOTION gives its {found.group(1).decode()} twice.", line)
        values[key] = found.group(2).decode("latin-1"), line
        start = found.end()
    text, line = values["frames"]
    if not _COUNT.fullmatch(text):
        raise source.make_error(f"Frames: is {quote(text)}; it must be a whole number.", line)
    time = parse_number(values["time"][0], "Frame Time:", source, values["time"][1])
    if not time > 0.0:
        raise source.make_error(f"Frame Time: is {time:g}; it must be above zero [s].", values["time"][1])
    if not np.isfinite(1.0 / time):
        raise source.make_error(f"Frame Time: is {time:g}, too short for a rate.", values["time"][1])
    rows = RowReader(source, data, start, channels).read(int(text), line)
    return BvhClip(rows, time, line)


def find_line(data: bytes, place: int) -> int:
    """Return the line number of a byte position, counted from 1."""
    return data.count(b"\n", 0, place) + 1


def find_word_starts(letters: Letters) -> Places:
    """Return the start positions of all words."""
    inside = np.zeros(len(letters) + 1, np.bool_)
    np.greater(letters, 32, out=inside[1:])
    return np.flatnonzero(inside[1:] > inside[:-1])


def read_numbers(block: bytes, count: int) -> Floats:
    """Return the numbers of a block, parsed by NumPy if its lines have equal lengths, otherwise one by one.

    Raises:
        ValueError: A word is not a number.
    """
    if count:
        with contextlib.suppress(ValueError):
            values = np.loadtxt(io.BytesIO(block), comments=None, ndmin=1).reshape(-1)
            if len(values) == count:
                return values
    return np.array([float(word) for word in block.split()])


class RowReader:
    """A reader of numbers in blocks that keeps track of line ends."""

    def __init__(self, source: Source, data: bytes, start: int, channels: int) -> None:
        self.source, self.data, self.start, self.channels = source, data, start, channels
        self.line = find_line(data, start)  # line number of the current block
        self.count = 0  # numbers read
        self.line_start = 0  # numbers read before the current line
        self.whole = self.lines = 0  # lines that hold exactly one frame; non-empty lines
        self.astray = False  # whether a frame ends inside a line that does not consist of whole frames
        self.odd: tuple[int, int] | None = None  # the first line that is not one frame, and its count of numbers

    def read(self, frames: int, line: int) -> Floats:
        """Read all numbers into an array (frames, channels)."""
        if not self.channels and frames > MAX_EMPTY_FRAMES:
            raise self.source.make_error(f"Frames: is {frames} for a body without channels.", line)
        size = frames * self.channels
        out = np.empty(min(size, (len(self.data) - self.start) // 2 + 1))
        at = self.start
        while at < len(self.data):
            end = self._cut(at)
            block = self.data[at:end]
            letters = np.frombuffer(block, np.uint8)
            starts = find_word_starts(letters)
            values = self._read_numbers(block, len(starts))
            room = out[self.count : self.count + len(values)]
            room[:] = values[: len(room)]
            self._watch(starts, np.flatnonzero(letters == 10))
            at = end
        if self.count > self.line_start:  # the last line has no line break
            self._watch_lines(np.array([self.line_start]), np.array([self.count]))
        self._check(frames, line)
        return out[:size].reshape(frames, self.channels)

    def _cut(self, at: int) -> int:
        """Return the end of the block that begins at `at`: the next line end if it is near, else the next space."""
        end = at + BLOCK
        if end >= len(self.data):
            return len(self.data)
        line = self.data.find(b"\n", end, end + BLOCK)
        if line >= 0:
            return line + 1
        space = re.compile(rb"\s").search(self.data, end, end + LONGEST)
        if not space:
            raise self.source.make_error(
                "has a number of thousands of letters.", self.line + self.data.count(b"\n", at, end)
            )
        return space.end()

    def _read_numbers(self, block: bytes, count: int) -> Floats:
        """Read `count` numbers of a block; raise an error with the line number if a word is not a number."""
        if block.translate(None, _DIGITS):
            found = _FOREIGN.search(block)
            self._reject_word(block, found.start() if found else 0)
        try:
            values = read_numbers(block, count)
        except ValueError:
            values = np.array([np.nan])
        if not np.isfinite(values).all():
            for word in re.finditer(rb"\S+", block):
                self._check_word(block, word.start(), word.group())
        return values

    def _check_word(self, block: bytes, place: int, word: bytes) -> None:
        try:
            fine = bool(np.isfinite(float(word)))
        except ValueError:
            fine = False
        if not fine:
            self._reject_word(block, place)

    def _reject_word(self, block: bytes, place: int) -> None:
        """Raise `FormatError` for the word at a byte position."""
        first = place
        while first and not block[first - 1 : first].isspace():
            first -= 1
        word = block[first : first + LONGEST].split(maxsplit=1)[0].decode("utf-8", "replace")
        hint = " Use a decimal point." if "," in word else ""
        line = self.line + block.count(b"\n", 0, place)
        raise self.source.make_error(f"{quote(word)} is not a number; the motion is plain numbers.{hint}", line)

    def _watch(self, starts: Places, breaks: Places) -> None:
        """Update the counts for the line ends in a block."""
        if len(breaks):
            ends = self.count + np.searchsorted(starts, breaks)
            self._watch_lines(np.concatenate([[self.line_start], ends[:-1]]), ends)
            self.line_start = int(ends[-1])
        self.count += len(starts)
        self.line += len(breaks)

    def _watch_lines(self, starts: Places, ends: Places) -> None:
        filled = ends > starts
        sizes = ends - starts
        one = sizes == self.channels
        self.lines += int(np.count_nonzero(filled))
        self.whole += int(np.count_nonzero(one & filled))
        if self.channels:
            inside = (
                ends - 1
            ) // self.channels * self.channels > starts  # the last frame that ends before the line does
            ragged = (starts % self.channels != 0) | (ends % self.channels != 0)
            self.astray |= bool((inside & ragged & filled).any())
        if self.odd is None and (filled & ~one).any():
            first = int(np.argmax(filled & ~one))
            self.odd = self.line + first, int(sizes[first])

    def _check(self, frames: int, line: int) -> None:
        """Check that the count of numbers matches the declared frames."""
        if self.count == frames * self.channels:
            if self.astray and 2 * self.whole > self.lines:
                self._reject_row()
            if self.astray:
                self.source.note_oddity("line ends do not match frames; the numbers were read in sequence", line)
            return
        if self.odd is not None and 2 * self.whole > self.lines - 1 and self.count % max(self.channels, 1):
            self._reject_row()
        if not self.channels:
            raise self.source.make_error(f"has {self.count} numbers of motion, but no joint has channels.", self.line)
        found, rest = divmod(self.count, self.channels)
        if found > frames > 0 and not rest and self.whole == self.lines:
            self.source.note_oddity(f"declares {frames} frames and holds {found}; the first {frames} were read", line)
            return
        more = f" and {rest} numbers" if rest else ""
        wanted = f"{frames} frames of {self.channels} channels"
        raise self.source.make_error(f"declares {wanted} (line {line}), but holds {found} frames{more}.", self.line)

    def _reject_row(self) -> None:
        assert self.odd is not None
        line, size = self.odd
        raise self.source.make_error(f"this row has {size} numbers; the hierarchy has {self.channels} channels.", line)
