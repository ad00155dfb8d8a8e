"""The inputs of a job: row groups of Parquet files, or clips. Only the footers of tables are read here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from glob import has_magic, iglob
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from poise.errors import FormatError, InvalidValue
from poise.formats.tables import containers

__all__ = ["Part", "list_inputs", "list_row_groups", "load_parquet", "make_damaged"]

TABLES = (".parquet", ".pq")
CHUNK = 1 << 20

load_parquet = partial(containers.load_parquet, "scale")


@dataclass(frozen=True)
class Part:
    """A part of a job: a clip, a row group of a table, or a piece of a map.

    Attributes:
        name: The input's path relative to the given folder, with forward slashes, such as "walks/a.bvh"; "" for a map.
        path: The input file.
        rows: The number of rows; 1 for a clip.
        group: The index of the row group; None for a whole file.
        first: The index of its first row among all rows of the job.
        columns: The columns of the table.
    """

    name: str
    path: Path
    rows: int = 1
    group: int | None = None
    first: int = 0
    columns: tuple[str, ...] = field(default=(), repr=False)

    @property
    def where(self) -> str:
        """The path of the input, for messages."""
        return str(self.path)

    def fingerprint(self) -> str:
        """Return a hash of the input: of a file, or of the bytes of a row group and of the table's footer.

        Raises:
            FormatError: The file is damaged.
        """
        mark = sha256()
        if self.name:
            try:
                with self.path.open("rb") as file:
                    for first, length in self._find_places(file):
                        file.seek(first)
                        for done in range(0, length, CHUNK):
                            mark.update(file.read(min(CHUNK, length - done)))
            except OSError as error:
                raise FormatError(f"cannot be read: {error.strerror or error}.", self.where) from error
            except (ValueError, IndexError) as error:
                raise make_damaged(self.path, error) from error
        return mark.hexdigest()[:16]

    def _find_places(self, file: Any) -> list[tuple[int, int]]:
        """Return the offsets and lengths of the bytes that the part depends on."""
        size = file.seek(0, 2)
        if self.group is None:
            return [(0, size)]
        group = read_footer(self.path)[0].row_group(self.group)
        file.seek(size - 8)
        footer = int.from_bytes(file.read(4), "little") + 8
        return [*(find_bytes(group.column(k)) for k in range(group.num_columns)), (size - footer, footer)]


def list_inputs(
    given: str | PathLike[str] | Iterable[str | PathLike[str]], suffixes: Sequence[str] = TABLES
) -> list[Part]:
    """List the input files, sorted by name.

    Args:
        given: A file, a folder (searched recursively), a pattern such as "targets/*.parquet", or several of them.
        suffixes: The suffixes of the files to use from a folder.

    Raises:
        FormatError: No file was found.
        InvalidValue: Two files have the same name.
    """
    several = [given] if isinstance(given, (str, PathLike)) else list(given)
    found = [each for one in several for each in find_files(fspath(one), suffixes)]
    if not found:
        raise FormatError(
            f"no file was found: give {' or '.join(suffixes)} files, a folder of them, or a pattern.", str(given)
        )
    by_name: dict[str, Part] = {}
    for each in found:
        other = by_name.setdefault(each.name, each)
        if other.path != each.path:
            raise InvalidValue(
                f"{str(other.path)!r} and {str(each.path)!r} would have the same name: give their folder."
            )
    return [by_name[name] for name in sorted(by_name)]


def find_files(text: str, suffixes: Sequence[str]) -> list[Part]:
    """List the files of one path or pattern, with names relative to its fixed part."""
    if has_magic(text) and not Path(text).exists():
        fixed = Path(*list_fixed_parts(Path(text).parts))
        return [
            Part(Path(p).relative_to(fixed).as_posix(), Path(p))
            for p in iglob(text, recursive=True)  # noqa: PTH207 - a pattern may begin anywhere
            if Path(p).is_file()
        ]
    path = Path(text)
    if path.is_dir():
        inside = (p for p in path.rglob("*") if p.suffix.lower() in suffixes and p.is_file())
        named = ((p.relative_to(path), p) for p in inside)
        return [Part(name.as_posix(), p) for name, p in named if not any(part[0] in "._" for part in name.parts)]
    if not path.exists():
        raise FormatError("is not there.", text)
    return [Part(path.name, path)]


def list_fixed_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the leading components of a pattern that have no wildcard."""
    count = next((k for k, part in enumerate(parts) if has_magic(part)), len(parts))
    return parts[:count]


# ------------------------------------------------------------------------------------------------ tables


def list_row_groups(inputs: Sequence[Part]) -> list[Part]:
    """List the row groups of all tables, in order.

    Raises:
        FormatError: A file is not a Parquet file, or is damaged.
    """
    out: list[Part] = []
    first = 0
    for each in inputs:
        about, columns = read_footer(each.path)
        for group in range(about.num_row_groups):
            rows = about.row_group(group).num_rows
            out.append(replace(each, rows=rows, group=group, first=first, columns=columns))
            first += rows
    return out


def read_footer(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Return the metadata and the column names of a Parquet file."""
    _, door = load_parquet()
    try:
        with door.ParquetFile(path) as file:
            return file.metadata, tuple(file.schema_arrow.names)
    except Exception as error:  # pyarrow raises many types of exceptions on damaged files
        raise make_damaged(path, error) from error


def make_damaged(path: Path, error: Exception) -> FormatError:
    """Return the error for a table that cannot be read."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return FormatError(
        f"is damaged or not a Parquet file ({reason}); write it again, and run the job again.", str(path)
    )


def find_bytes(column: Any) -> tuple[int, int]:
    """Return the byte offset and the length of a column in a row group."""
    first = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    return first, column.total_compressed_size
