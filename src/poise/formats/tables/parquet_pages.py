"""The pages of a Parquet file: their uncompressed sizes and encodings, read from their headers before any is unpacked.

The sizes in the footer may be false; memory is allocated by those of the pages. A header is a Thrift structure in the
compact protocol. Source: apache/parquet-format, parquet.thrift; apache/thrift, thrift-compact-protocol.md.
"""

from collections.abc import Iterator
from typing import Any

__all__ = ["measure_pages"]

SIZE, PACKED_SIZE, DATA, DATA_2 = 2, 3, 5, 8  # fields of a page header
ENCODINGS = {DATA: 2, DATA_2: 4}  # fields of the header of a data page
EXPANDING = 7  # DELTA_BYTE_ARRAY: each text may repeat all of the one before it
MOST_DEPTH = 8  # of structures; page headers have three
MOST_HEADER = 1 << 20  # bytes


def measure_pages(data: Any, chunk: Any) -> Iterator[int]:
    """Yield the uncompressed size of each page of a column of a row group [bytes].

    Args:
        data: The bytes of the file.
        chunk: The metadata of the column.

    Raises:
        ValueError: A header is damaged, or texts are stored in a form that expands.
    """
    for page in walk_pages(data, chunk):
        if any(kind in page and page[kind].get(field) == EXPANDING for kind, field in ENCODINGS.items()):
            raise ValueError(f"column {chunk.path_in_schema[:40]!r} uses DELTA_BYTE_ARRAY, which is not read")
        yield max(int(page[SIZE]), 0)


def walk_pages(data: Any, chunk: Any) -> Iterator[dict[int, Any]]:
    """Yield the header of each page of a column."""
    at, words = chunk.data_page_offset, chunk.dictionary_page_offset if chunk.has_dictionary_page else 0
    at = words if 0 < words < at else at
    end, view = at + chunk.total_compressed_size, memoryview(data)  # copies of headers would take quadratic time
    while chunk.num_values > 0 and 0 <= at < min(end, len(data)):  # ends: a header has at least one byte
        header = CompactReader(view[at : at + MOST_HEADER])
        page = header.read_struct(0)
        at += header.at + max(int(page[PACKED_SIZE]), 0)
        yield page


class CompactReader:
    """A reader of Thrift's compact protocol; integers are decoded, texts are skipped."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def read_integer(self) -> int:
        """Return an unsigned integer of variable length."""
        value = shift = 0
        while True:  # ends: at the last byte at the latest, with an IndexError
            byte, self.at = self.data[self.at], self.at + 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 63:
                return value

    def read_struct(self, depth: int) -> dict[int, Any]:
        """Return the fields of a structure by number."""
        out: dict[int, Any] = {}
        field = 0
        while (head := self.data[self.at]) != 0:  # ends: at the last byte at the latest
            self.at += 1
            field = field + (head >> 4) if head >> 4 else read_signed(self.read_integer())
            out[field] = (head & 15) == 1 if head & 15 in (1, 2) else self.read_value(head & 15, depth)
        self.at += 1
        return out

    def read_value(self, kind: int, depth: int) -> Any:
        """Return a value of a kind; None for texts and lists, which are skipped."""
        if kind in (4, 5, 6):
            return read_signed(self.read_integer())
        if kind == 12 and depth < MOST_DEPTH:
            return self.read_struct(depth + 1)
        if kind not in (1, 2, 3, 7, 8):
            raise ValueError("a page header is damaged")
        length = self.read_integer() if kind == 8 else 8 if kind == 7 else 1
        self.at += length
        return None


def read_signed(value: int) -> int:
    """Return a signed integer from its zigzag form."""
    return (value >> 1) ^ -(value & 1)
