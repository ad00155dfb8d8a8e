"""Computation of parts: a row group is read, computed and written batch by batch, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from poise.errors import FormatError
from poise.formats.tables.parquet_pages import measure_pages
from poise.scale.columns import read_column
from poise.scale.folder import JobFolder
from poise.scale.inputs import RowGroup, load_parquet, make_damaged
from poise.scale.rows import RowWork

__all__ = ["ROWS", "add_id", "make_table", "write_part"]

ROWS = 1 << 18  # rows in memory at once, and per row group of the output
MOST_BYTES = 1 << 28  # of a page, and of the ids in memory at once
Tick = Callable[[int], Any]


def write_part(
    folder: JobFolder, name: str, piece: RowGroup, work: RowWork, facts: dict[str, Any], tick: Tick
) -> dict[str, Any]:
    """Compute a row group and write its part.

    Args:
        folder: The output folder.
        name: The part's name.
        piece: The row group.
        work: The work to do.
        facts: The job and the input of the part.
        tick: Called with the number of finished rows, after each batch and during it.

    Returns:
        The receipt: the facts, the number of rows, and the counts of their outcomes.
    """
    _, door = load_parquet()
    counts: dict[str, int] = {}
    with folder.write(name) as temporary, temporary.open("wb") as sink:
        writer, done = None, 0
        for table in read_batches(piece, work):
            found = work.compute(table, str(piece.input.path), shift(tick, done))
            out = make_table(found, add_id(table, piece.first + done, len(next(iter(found.values())))))
            if writer is None:
                writer = door.ParquetWriter(
                    sink, out.schema, compression="none", use_dictionary=["status", "steps", "searches"]
                )
            writer.write_table(out, row_group_size=max(1, out.num_rows))
            add_counts(counts, found)
            done += table.num_rows
            tick(done)
        if writer is None:  # a row group without rows
            empty = empty_table(piece, work)
            writer = door.ParquetWriter(sink, empty.schema, compression="none")
        writer.close()
        sink.flush()
    return folder.sign(name, facts | {"file": name, "rows": done, "counts": dict(sorted(counts.items()))})


def shift(tick: Tick, before: int) -> Callable[[int, int], Any]:
    """Return a callback that reports the progress of a batch as progress of its row group."""
    return lambda done, _: tick(before + done)


def read_batches(piece: RowGroup, work: RowWork) -> Iterator[Any]:
    """Yield the row group as tables of at most `ROWS` rows, with the needed columns.

    Raises:
        FormatError: The file is damaged.
    """
    pyarrow, door = load_parquet()
    wanted = work.list_columns(piece.columns, str(piece.input.path))
    wanted = ["id", *wanted] if "id" in piece.columns else wanted
    batches = iterate(piece, door, wanted)
    while True:  # ends: with the row group
        try:
            batch = next(batches, None)
        except FormatError:
            raise
        except Exception as error:  # pyarrow raises many types of exceptions on damaged files
            raise make_damaged(piece.input.path, error) from error
        if batch is None:
            return
        yield pyarrow.Table.from_batches([batch])


def iterate(piece: RowGroup, door: Any, columns: list[str]) -> Iterator[Any]:
    """Yield the record batches of a row group, page by page.

    Raises:
        FormatError: A column does not hold numbers, or the ids are too long.
    """
    path, words = piece.input.path, [name for name in columns if name == "id"]
    with door.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False, read_dictionary=words) as file:
        check_columns(piece, door.read_schema(path), file.metadata.row_group(piece.group), columns)
        for batch in file.iter_batches(ROWS, row_groups=[piece.group], columns=columns, use_threads=False):
            yield write_out_ids(batch, str(path))


def check_columns(piece: RowGroup, schema: Any, group: Any, columns: list[str]) -> None:
    """Raise an error if columns do not hold numbers, or a page of them is too large."""
    path = piece.input.path
    for name in columns:
        if name != "id":
            read_column(schema.empty_table(), name, str(path))
        elif schema.field(name).type.num_fields:
            raise FormatError(f"column 'id' is of type {schema.field(name).type}; give numbers or text.", str(path))
    with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        chunks = [group.column(k) for k in range(group.num_columns)]
        largest = max((p for c in chunks if c.path_in_schema in columns for p in measure_pages(data, c)), default=0)
    if largest > MOST_BYTES:
        raise FormatError(f"has a page of {largest} bytes; at most {MOST_BYTES} are read.", str(path))


def write_out_ids(batch: Any, where: str) -> Any:
    """Return a batch with its ids as plain values, if they were read as a dictionary.

    Raises:
        FormatError: They are too long.
    """
    at = batch.schema.get_field_index("id")
    ids = None if at < 0 else batch.column(at)
    if ids is None or not hasattr(ids, "dictionary"):
        return batch
    from pyarrow import compute

    longest = compute.max(compute.binary_length(ids.dictionary)).as_py() or 0
    if longest * len(ids) > MOST_BYTES:
        raise FormatError(f"column 'id' has texts of {longest} bytes in {len(ids)} rows; write shorter ids.", where)
    return batch.set_column(at, "id", ids.dictionary_decode())


def empty_table(piece: RowGroup, work: RowWork) -> Any:
    """Return the answer table for zero rows."""
    _, door = load_parquet()
    wanted = work.list_columns(piece.columns, str(piece.input.path))
    table = door.read_schema(piece.input.path).empty_table().select(wanted + ["id"] * ("id" in piece.columns))
    return make_table(work.compute(table, str(piece.input.path)), add_id(table, 0, 0))


def add_id(table: Any, first: int, rows: int) -> Any:
    """Return the ids of the answers: the table's ids, repeated for several answers, or row numbers.

    Raises:
        FormatError: A row has no id.
    """
    import pyarrow

    each = rows // max(1, table.num_rows)
    if "id" not in table.column_names:
        return pyarrow.array(np.repeat(np.arange(first, first + table.num_rows, dtype=np.int64), each))
    column = table.column("id").combine_chunks()
    if column.null_count:
        raise FormatError(f"column 'id' has {column.null_count} gaps; every row needs an id, or leave the column out.")
    if each > 1:
        column = column.take(pyarrow.array(np.repeat(np.arange(table.num_rows), each)))
    return column


def make_table(columns: dict[str, Any], ids: Any) -> Any:
    """Return the columns of an answer as a table, with the ids first."""
    import pyarrow

    arrays = [pyarrow.array(x, pyarrow.string()) if x.dtype == object else pyarrow.array(x) for x in columns.values()]
    return pyarrow.Table.from_arrays([ids, *arrays], names=["id", *columns])


def add_counts(counts: dict[str, int], columns: dict[str, Any]) -> None:
    """Add the row counts by status, or by pose validity."""
    if "status" in columns:
        names, numbers = np.unique(columns["status"].astype(str), return_counts=True)
    else:
        names, numbers = np.unique(np.where(columns["valid"], "done", "invalid"), return_counts=True)
    for name, number in zip(names.tolist(), numbers.tolist(), strict=True):
        counts[name] = counts.get(name, 0) + number
