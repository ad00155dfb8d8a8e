"""The file formats of tables (CSV, NPZ, Parquet): readers return columns and the metadata text; writers take both."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import INDEX_NAME, FormatError, MissingExtra
from poise.files.arrays import bound_unpacked, list_members, read_arrays
from poise.files.source import Source, quote, quote_names
from poise.formats.tables.parquet_pages import measure_pages
from poise.kinematics.column_names import LABELS, RESERVED

__all__ = ["WRITERS", "choose_reader"]

Column = NDArray[Any]
Columns = dict[str, Column]

MAX_COLUMNS = 100_000
MAX_LINES = 5_000_000  # limit for a CSV file
BLOCK = 4096  # rows converted at once
BATCH = 1 << 16  # rows of a Parquet table read at once
BARE = '{"style": "unitree"}'  # the metadata assumed for a CSV without a header, and for an archive with GMR's names
OF_ROBOTS = ("root_pos", "root_rot", "dof_pos")
_FORMULA = re.compile("'*[=+@\t\r\n\uff0b\uff0d\uff1d\uff20-]")  # a cell that a spreadsheet evaluates, guarded or not
_WORDS = {"True": True, "False": False, "true": True, "false": False}


def choose_reader(source: Source) -> Callable[[Source], tuple[Columns, str]]:
    """Return the reader of this file, chosen by its first bytes."""
    if source.data.startswith(b"PAR1"):
        return read_parquet
    if source.data.startswith(b"PK"):
        return read_npz
    if Path(source.path).suffix.lower() in (".npz", ".parquet"):
        raise source.make_error(f"is not a {Path(source.path).suffix.lower()} file; it begins with other bytes.")
    return read_csv


def check_lengths(source: Source, columns: Columns) -> Columns:
    """Return the columns; raise `FormatError` if their lengths differ."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise source.make_error(
            f"its columns differ in length: {quote_names(f'{n} ({size})' for n, size in sizes.items())}."
        )
    return columns


# ------------------------------------------------------------------------------------------------ CSV


def write_csv(columns: Columns, facts: str, target: Path) -> None:
    """Write CSV with the shortest exact digits of each number; the metadata is not stored.

    Names and text that a spreadsheet would evaluate are prefixed with an apostrophe, which `read_csv` removes.
    """
    del facts
    words = [*columns, *(word for column in columns.values() if column.dtype.kind == "U" for word in column)]
    returns = any("\r" in word for word in words)  # csv itself does not quote these
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)
        writer.writerow(map(guard, columns))
        count = len(next(iter(columns.values()), ()))
        for first in range(0, count, BLOCK):
            block = [column[first : first + BLOCK].tolist() for column in columns.values()]
            block = [[guard(cell) for cell in cells] if isinstance(cells[0], str) else cells for cells in block]
            writer.writerows(zip(*block, strict=True))  # csv writes floats by repr


def guard(cell: str) -> str:
    """Return a cell that spreadsheets do not evaluate (OWASP, CSV injection)."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def remove_guard(cell: str) -> str:
    """Remove the apostrophe that `guard` added."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def read_csv(source: Source) -> tuple[Columns, str]:
    """Read columns of text or numbers, separated by commas, semicolons or tabs; skips leading comments."""
    text = source.read_text()
    if max(text.count("\n"), text.count("\r")) > MAX_LINES:
        raise source.make_error(f"has more than {MAX_LINES} lines; split it, or save it as NPZ or Parquet.")
    lines = (text if "\n" in text else text.replace("\r", "\n")).split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        raise source.make_error("is empty. Was it copied or downloaded completely?")
    marks = [mark for mark in ",;\t" if mark in lines[start]]
    mark = marks[0] if marks else ","
    bare = begins_with_numbers(lines[start].split(mark))
    rows = csv.reader((f"{x}\n" for x in lines[start:]), delimiter=mark, strict=True)
    names, blocks = [], []
    try:
        names = number_names(lines[start].count(mark) + 1) if bare else next(rows)
        if all(name.startswith(" ") for name in names[1:]):  # a space after each separator
            names = [name.strip() for name in names]
        names = list(map(remove_guard, names))
        check_header(source, names, start + 1)
        blocks = [read_block(source, names, block) for block in split_blocks(source, rows, len(names), start)]
    except csv.Error as error:
        raise source.make_error(f"is not a CSV file: {error}.", start + rows.line_num) from error
    whole = {name: [block[i] for block in blocks] for i, name in enumerate(names)}
    return {name: join_blocks(source, name, parts) for name, parts in whole.items()}, BARE if bare else ""


def number_names(count: int) -> list[str]:
    """Return the column indices as names."""
    return [str(i) for i in range(count)]


def begins_with_numbers(cells: list[str]) -> bool:
    """Return whether the first row consists of numbers instead of names."""
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return False
    return [cell.strip() for cell in cells] != number_names(len(cells))


def check_header(source: Source, names: list[str], line: int) -> None:
    """Raise `FormatError` if there are too many columns or a name is repeated."""
    if len(names) > MAX_COLUMNS:
        raise source.make_error(f"has {len(names)} columns; at most {MAX_COLUMNS} are read.", line)
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise source.make_error(f"columns {quote_names(twice)} occur more than once.", line)


def split_blocks(source: Source, rows: Any, width: int, start: int) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield blocks of rows with the line number of the first; skips blank lines."""
    block: list[list[str]] = []
    first = start + rows.line_num + 1
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != width:
            raise source.make_error(f"this row has {len(row)} cells; the header has {width}.", start + rows.line_num)
        block.append(row)
        if len(block) == BLOCK:
            yield first, block
            block, first = [], start + rows.line_num + 1
    yield first, block


def read_block(source: Source, names: list[str], block: tuple[int, list[list[str]]]) -> list[Column]:
    """Return the columns of a block as numbers, booleans or text."""
    first, rows = block
    out: list[Column] = []
    for i, name in enumerate(names):
        cells = [row[i].strip() for row in rows]
        label = name.startswith(LABELS)  # may be undefined in some rows
        if label:
            cells = [cell or "nan" for cell in cells]
        try:
            values = np.array([float(cell) for cell in cells])
        except ValueError:
            flags = [_WORDS.get(cell) for cell in cells]
            out.append(np.array(list(map(remove_guard, cells))) if None in flags else np.array(flags, np.bool_))
            continue
        odd = next((k for k, cell in enumerate(cells) if "_" in cell or not cell.isascii()), None)
        if odd is not None or not (label or np.isfinite(values).all()):
            at = odd if odd is not None else int(np.argmax(~np.isfinite(values)))
            raise source.make_error(f"{quote(cells[at])} in column {quote(name)} is not a number.", first + at)
        out.append(values)
    return out


def join_blocks(source: Source, name: str, parts: list[Column]) -> Column:
    """Join the blocks of a column; raise `FormatError` if their types differ."""
    if len({part.dtype.kind for part in parts if len(part)}) > 1:
        raise source.make_error(f"column {quote(name)} mixes numbers and text.")
    return np.concatenate([part for part in parts if len(part)] or parts)


# ------------------------------------------------------------------------------------------------ NPZ


def write_npz(columns: Columns, facts: str, target: Path) -> None:
    """Write q as one array and the other columns by name; the metadata is first, so that the file is recognised."""
    others = {name: column for name, column in columns.items() if is_fact(name)}
    joints = {name: column for name, column in columns.items() if not is_fact(name)}
    count = len(next(iter(columns.values()), ()))
    q = np.stack(list(joints.values()), axis=1) if joints else np.zeros((count, 0))
    arrays = {"poise": np.array(facts), "columns": np.array(list(joints), np.str_), "q": q}
    arrays |= {f"column {name}": column for name, column in others.items()}
    savez: Any = np.savez  # accepts any array names
    with target.open("wb") as stream:
        savez(stream, **arrays)


def is_fact(name: str) -> bool:
    """Return whether a column is not a joint coordinate."""
    return name in RESERVED or name.startswith(LABELS)


def read_npz(source: Source) -> tuple[Columns, str]:
    """Read an archive with `q` and `columns`; if it has only `q`, columns are numbered."""
    members = list_members(source)
    of_robots = "q" not in members and set(OF_ROBOTS) <= members  # other members may not be numbers
    arrays = read_arrays(source, {*OF_ROBOTS, "fps"} if of_robots else None)
    held = quote_names(f"{name} {array.shape}" for name, array in arrays.items()) or "none"
    names, q = arrays.pop("columns", None), arrays.pop("q", None)
    facts = arrays.pop("poise", np.array(""))
    if of_robots:
        q, facts = join_arrays(source, [arrays.pop(name) for name in OF_ROBOTS], held), np.array(BARE)
    if names is None and q is not None and q.ndim == 2 and q.shape[1] <= MAX_COLUMNS:
        names = np.array(number_names(q.shape[1]), np.str_)
    if names is None or q is None or names.dtype.kind != "U" or names.ndim != 1 or q.shape[1:] != names.shape:
        raise source.make_error(f"needs arrays 'q' (rows, n) and 'columns' (n names); it has {held}.")
    listed_names = [str(name) for name in names]
    check_header(source, listed_names, 1)
    columns = {name: np.ascontiguousarray(q[:, i]) for i, name in enumerate(listed_names)}
    rest = {name.removeprefix("column "): array for name, array in arrays.items()}
    for name, array in rest.items():
        if name == "fps" and array.size == 1:
            columns.setdefault(name, np.full(len(q), array.ravel()[0]))
        elif array.ndim == 1:
            columns.setdefault(name, array)
    return check_lengths(source, columns), str(facts) if facts.ndim == 0 and facts.dtype.kind == "U" else "null"


def join_arrays(source: Source, parts: list[Column], held: str) -> Column:
    """Return a robot's motion as one array: root position, root quaternion, joints."""
    place, turn, joints = parts
    if joints.ndim != 2 or place.shape != (len(joints), 3) or turn.shape != (len(joints), 4):
        raise source.make_error(
            f"needs 'root_pos' (frames, 3), 'root_rot' (frames, 4) and 'dof_pos' (frames, joints); it has {held}."
        )
    return np.concatenate(parts, axis=1)


# ------------------------------------------------------------------------------------------------ Parquet


def load_parquet(extra: str = "formats") -> tuple[Any, Any]:
    """Import and return pyarrow and its Parquet module; `extra` is the extra named in the error message."""
    try:
        import pyarrow
        from pyarrow import parquet as door
    except ImportError as error:
        raise MissingExtra(f'Parquet needs pyarrow: pip install "{INDEX_NAME}[{extra}]"') from error
    return pyarrow, door


def write_parquet(columns: Columns, facts: str, target: Path) -> None:
    """Write the columns, with the metadata text under the key `poise`."""
    pyarrow, door = load_parquet()
    arrays = [pyarrow.array(column) for column in columns.values()]
    table = pyarrow.Table.from_arrays(arrays, names=list(columns), metadata={"poise": facts})
    door.write_table(table, str(target))


def read_parquet(source: Source) -> tuple[Columns, str]:
    """Read flat columns of numbers, booleans or text; raises for missing values."""
    pyarrow, door = load_parquet()
    try:
        file = door.ParquetFile(pyarrow.BufferReader(source.data))
        names = file.schema_arrow.names
        check_header(source, names, 1)
        words = [field.name for field in file.schema_arrow if check_kind(source, field)]
        check_parquet(source, file.metadata)
        table = door.ParquetFile(pyarrow.BufferReader(source.data), read_dictionary=words, pre_buffer=False)
        facts = (file.schema_arrow.metadata or {}).get(b"poise", b"").decode()
        parts: dict[str, list[Column]] = {name: [] for name in names}
        widest = dict.fromkeys(names, 8)  # bytes of a cell
        for batch in table.iter_batches(BATCH, use_threads=False):
            for name in names:
                column = batch.column(name)
                widest[name] = max(widest[name], measure_cell(column))
                check_size(source, max(file.metadata.num_rows, len(column)) * sum(widest.values()))
                parts[name].append(flatten(source, name, column))
        return {name: np.concatenate(each or [np.zeros(0)]) for name, each in parts.items()}, facts
    except FormatError:
        raise
    except Exception as error:  # pyarrow raises many types of exceptions on damaged files
        reason = str(error) or type(error).__name__
        raise source.make_error(f"is a damaged Parquet file ({quote(reason, 80)}); save it again.") from error


def check_kind(source: Source, field: Any) -> bool:
    """Return whether a column is text; raise `FormatError` if it is not numbers, flags or text."""
    kinds = load_parquet()[0].types
    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    text = kinds.is_string(kind) or kinds.is_large_string(kind)
    if not (text or kinds.is_floating(kind) or kinds.is_integer(kind) or kinds.is_boolean(kind)):
        what = f"column {quote(field.name)} is of type {quote(str(field.type))}"
        raise source.make_error(f"{what}; numbers, flags and text are read.")
    return bool(text)


def check_size(source: Source, size: int) -> None:
    """Raise `FormatError` if columns have too many bytes."""
    if size > bound_unpacked(len(source.data)):
        at_most = f"at most {bound_unpacked(len(source.data))} of a file of its size are read"
        raise source.make_error(f"its columns have {size} bytes; {at_most}. Split it.")


def check_parquet(source: Source, about: Any) -> None:
    """Raise `FormatError` if the rows or the pages are too large, before the file is decompressed."""
    if about.num_columns > MAX_COLUMNS or min(about.num_rows, about.num_columns) < 0:
        raise source.make_error(f"declares {about.num_rows} rows of {about.num_columns} columns, more than are read.")
    check_size(source, about.num_rows * about.num_columns * 8)
    size = 0
    for group in map(about.row_group, range(about.num_row_groups)):
        for page in (p for k in range(about.num_columns) for p in measure_pages(source.data, group.column(k))):
            size += page
            check_size(source, size)


def measure_cell(column: Any) -> int:
    """Return the bytes of the widest cell of a column as an array of numbers or text; text is a dictionary."""
    if not hasattr(column, "dictionary") or not len(column):
        return 8
    from pyarrow import compute

    longest = compute.max(compute.binary_length(column.dictionary)).as_py() or 1
    return int(4 * longest * -(-len(column.dictionary) // len(column)))


def flatten(source: Source, name: str, column: Any) -> Column:
    """Return a column as an array of numbers, booleans or text."""
    if column.null_count:
        raise source.make_error(f"column {quote(name)} has gaps; every row needs its number.")
    if hasattr(column, "dictionary"):
        words = np.array(column.dictionary.to_pylist() or [""], np.str_)
        return np.asarray(words[column.indices.to_numpy(zero_copy_only=False)])
    return np.asarray(column.to_numpy(zero_copy_only=False))


WRITERS: dict[str, Callable[[Columns, str, Path], None]] = {
    ".csv": write_csv,
    ".npz": write_npz,
    ".parquet": write_parquet,
}
