"""The path file of `poise track`: a CSV with one waypoint per line."""

import csv
from pathlib import Path

import numpy as np

from poise.arrays import Floats
from poise.errors import FormatError, InvalidValue
from poise.spatial import Rotation

__all__ = ["read_path"]

PLACE, TURN = ("x", "y", "z"), ("qw", "qx", "qy", "qz")


def read_path(path: Path) -> Floats:
    """Read positions (rows, 3), or transforms (rows, 4, 4) if the file has quaternions.

    Raises:
        FormatError: A column is missing or duplicated, a row has the wrong number of values, or a value is not finite.
    """
    lines = read_lines(path)
    names = [name.strip() for name in lines[0][1]] if lines else []
    wanted = [*PLACE, *(TURN if "qw" in names else ())]
    if len(lines) < 2 or any(names.count(name) != 1 for name in wanted):
        found = ", ".join(names) if names else "none"
        raise FormatError(f"must have columns {', '.join(wanted)}, each once, and a row; it has: {found}.", str(path))
    places = [names.index(name) for name in wanted]
    values = np.array([read_row(path, line, row, len(names), places) for line, row in lines[1:]])
    if len(wanted) == len(PLACE):
        return values
    out = np.tile(np.eye(4), (len(values), 1, 1))
    out[:, :3, 3] = values[:, :3]
    for k, (line, _) in enumerate(lines[1:]):
        try:
            out[k, :3, :3] = Rotation(values[k, 3:]).matrix
        except InvalidValue as error:
            raise FormatError(str(error), str(path), line) from None
    return out


def read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty lines with their line numbers."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            return [(reader.line_num, row) for row in reader if any(text.strip() for text in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"is not a table of text: {error}.", str(path)) from None
    except OSError as error:
        advice = "Write one: a line x,y,z, then the waypoints [m]."
        raise FormatError(f"cannot be read: {error.strerror}. {advice}", str(path)) from None


def read_row(path: Path, line: int, row: list[str], count: int, places: list[int]) -> Floats:
    """Return the numbers of a line in the columns `places`; other columns may hold anything."""
    if len(row) != count:
        raise FormatError(f"has {len(row)} values where the head has {count}.", str(path), line)
    values = np.empty(len(places))
    for k, place in enumerate(places):
        try:
            values[k] = float(row[place])
        except ValueError:
            raise FormatError(f"{row[place][:40]!r} is not a number.", str(path), line) from None
    if not np.isfinite(values).all():
        raise FormatError("has a number that is not finite.", str(path), line)
    return values
