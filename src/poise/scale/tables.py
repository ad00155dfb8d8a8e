"""Parts of tables: a row group is read, computed and written batch by batch, so that memory stays bounded."""

from collections.abc import Callable, Iterator, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from poise.errors import FormatError, InvalidValue
from poise.formats.tables.parquet_pages import measure_pages
from poise.scale.columns import read_column
from poise.scale.folder import JobFolder, Record
from poise.scale.inputs import Part, list_inputs, list_row_groups, load_parquet, make_damaged
from poise.scale.rows import RowWork
from poise.scale.run import Made, Plan, Tick

__all__ = ["ROWS", "RowPlan", "add_id", "make_table"]

ROWS = 1 << 18  # rows in memory at once, and per row group of the output
MOST_BYTES = 1 << 28  # of a page, and of the ids in memory at once


class RowPlan(Plan):
    """A job on the rows of tables: a part for every row group; see `Plan`.

    Raises:
        FormatError: An input is damaged or lacks a column, or only some inputs have ids.
        InvalidValue: Two parts would have the same name.
    """

    def __init__(self, job: Any, inputs: Any, threads: int | None) -> None:
        super().__init__()
        pieces = list_row_groups(list_inputs(inputs))
        self.work: RowWork = job.prepare(threads)
        check_tables(pieces, self.work)
        for piece in pieces:
            self.inputs.setdefault(piece.name, []).append(piece.rows)
            stem = str(PurePosixPath(piece.name).with_suffix("")).replace("/", "+")
            other = self.parts.setdefault(f"{job.hash}-{stem}-{piece.group:05d}.parquet", piece)
            if other is not piece:
                raise InvalidValue(f"{other.name!r} and {piece.name!r} would have the same part: rename one.")

    def make(self, folder: JobFolder, names: Sequence[str], tick: Tick) -> Made:
        """Make parts one after another; the work itself uses all threads."""
        for name in names:
            piece = self.parts[name]
            try:
                record = write_part(folder, name, piece, self.work, tick)
            except FormatError as error:
                if error.path != piece.where:
                    raise
                self.failed[f"{piece.name}, row group {piece.group}"] = error.message
            else:
                yield record


def check_tables(pieces: Sequence[Part], work: RowWork) -> None:
    """Check that all tables have the needed columns, before anything is computed."""
    files = {piece.where: piece.columns for piece in pieces}
    for path, columns in files.items():
        work.list_columns(columns, path)
    with_id = [path for path, columns in files.items() if "id" in columns]
    without = [path for path, columns in files.items() if "id" not in columns]
    if with_id and without:
        raise FormatError(f"has no column 'id', and {with_id[0]} has one: all files have it, or none.", without[0])


def write_part(folder: JobFolder, name: str, piece: Part, work: RowWork, tick: Tick) -> Record:
    """Compute a row group and write its part; return its record.

    Args:
        folder: The output folder.
        name: The part's name.
        piece: The row group.
        work: The work to do.
        tick: Called with the number of finished rows, after each batch and during it.
    """
    _, door = load_parquet()
    facts = {"input": piece.name, "group": piece.group, "fingerprint": piece.fingerprint()}
    counts: dict[str, int] = {}
    with folder.write(name) as temporary, temporary.open("wb") as sink:
        writer: Any = None
        done = 0
        for table in read_batches(piece, work):
            found = work.compute(table, piece.where, shift(tick, done))
            out = make_table(found, add_id(table, piece.first + done, len(next(iter(found.values())))))
            if writer is None:
                writer = door.ParquetWriter(
                    sink, out.schema, compression="none", use_dictionary=["status", "steps", "searches"]
                )
            writer.write_table(out, row_group_size=max(1, out.num_rows))
            add_counts(counts, found)
            done += table.num_rows
            tick(done)
        writer.close()
        sink.flush()
    return folder.make_record(name, name, facts | {"rows": done, "counts": dict(sorted(counts.items()))})


def shift(tick: Tick, before: int) -> Callable[[int, int], Any]:
    """Return a callback that reports the progress of a batch as progress of its row group."""
    return lambda done, _: tick(before + done)


def read_batches(piece: Part, work: RowWork) -> Iterator[Any]:
    """Yield a row group page by page as tables of at most `ROWS` rows, at least one, with the needed columns.

    Raises:
        FormatError: The file is damaged, a column does not hold numbers, or the ids are too long.
    """
    pyarrow, door = load_parquet()
    path, ids = piece.path, [name for name in piece.columns if name == "id"]
    columns = [*ids, *work.list_columns(piece.columns, str(path))]
    try:
        schema = door.read_schema(path)
        check_columns(piece, schema, door.read_metadata(path).row_group(piece.group), columns)
        if not piece.rows:
            yield schema.empty_table().select(columns)
        with door.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False, read_dictionary=ids) as file:
            for batch in file.iter_batches(ROWS, row_groups=[piece.group], columns=columns, use_threads=False):
                yield pyarrow.Table.from_batches([write_out_ids(batch, str(path))])
    except FormatError:
        raise
    except Exception as error:  # pyarrow raises many types of exceptions on damaged files
        raise make_damaged(path, error) from error


def check_columns(piece: Part, schema: Any, group: Any, columns: list[str]) -> None:
    """Raise an error if columns do not hold numbers, or a page of them is too large."""
    path = piece.path
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
