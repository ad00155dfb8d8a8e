"""Denavit-Hartenberg tables: serial arms from a CSV file or a list of rows.

Both conventions chain ``A_1 A_2 ... A_n``, with the joint's own q added to theta (revolute) or to d (prismatic):

| convention | one row | [source] |
|---|---|---|
| standard (classical, distal) | ``Rz(theta) Tz(d) Tx(a) Rx(alpha)`` | Denavit and Hartenberg 1955; Spong |
| modified (proximal) | ``Tx(a) Rx(alpha) Tz(d) Rz(theta)``, a and alpha of the link before | Craig, section 3.4 |

A file has a line with column names, separated by commas, semicolons, tabs or blanks: ``a, alpha, d, theta`` in any
order, and optionally ``joint`` and ``link`` (names), ``type`` (revolute, prismatic, fixed, or R, P, F), ``lower``,
``upper``, ``mass``. Angles are in radians, or in degrees if the column is called ``alpha_deg`` or ``theta [deg]``;
``pi/2`` is allowed. In theta or d, a name such as ``q3`` marks the joint variable. A comment gives the convention,
``# convention: modified``; a table without one is read as standard, with a warning.
"""

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, InvalidValue, PoiseError
from poise.files.source import Source, parse_number, quote, quote_names
from poise.formats.options import ReadOptions
from poise.formats.units import add_free_root, adjust_model
from poise.model import Model, ModelBuilder
from poise.models.dh import make_link, turn_about_z

__all__ = ["NAME", "SUFFIXES", "from_table", "looks_like", "read_model"]

NAME = "DH table"
SUFFIXES = (".csv", ".dh")
MAX_ROWS = 10_000
MAX_BYTES = 1 << 24
LONGEST = 60  # longer cells are not matched against patterns
CONVENTIONS = {"standard": "standard", "classical": "standard", "distal": "standard"} | dict.fromkeys(
    ("modified", "proximal", "craig", "mdh"), "modified"
)
KINDS = {"": "revolute", "revolute": "revolute", "r": "revolute", "0": "revolute", "continuous": "continuous"} | {
    **dict.fromkeys(("prismatic", "p", "1"), "prismatic"),
    **dict.fromkeys(("fixed", "f"), "fixed"),
}
COLUMNS = {
    **{"a": "a", "r": "a", "alpha": "alpha", "\u03b1": "alpha", "d": "d", "theta": "theta", "\u03b8": "theta"},
    **{"offset": "theta", "joint": "joint", "name": "joint", "link": "link", "frame": "link", "type": "type"},
    **{"kind": "type", "sigma": "type", "lower": "lower", "min": "lower", "upper": "upper", "max": "upper"},
    **{"mass": "mass"},
}
ORDER = ("a", "alpha", "d", "theta")

_PI = re.compile(r"([+-]?)\s*(?:([0-9.]+)\s*\*?\s*)?(?:pi|\u03c0)(?:\s*/\s*([0-9.]+))?", re.IGNORECASE)
_VARIABLE = re.compile(r"(?:q|theta|\u03b8|d)_?[0-9]*\*?|\*|var", re.IGNORECASE)
_HEADING = re.compile(r"([^\s_\[(]+)[\s_]*[\[(]?\s*([a-z\u00b0]*)\s*[\])]?", re.IGNORECASE)
UNITS = {"": 1.0, "rad": 1.0, "radians": 1.0, "m": 1.0, "mm": 1e-3} | dict.fromkeys(
    ("deg", "degrees", "\u00b0"), math.pi / 180.0
)


def looks_like(head: bytes) -> bool:
    """Return whether a file begins with the column names of a DH table."""
    text = head.decode("utf-8-sig", "replace")
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    cells = re.split(r"[,;\t]", first) if re.search(r"[,;\t]", first) else first.split()
    return {"a", "alpha", "d"} <= {read_heading(cell)[0] for cell in cells}


def from_table(
    rows: Iterable[Sequence[float] | Mapping[str, Any]],
    *,
    convention: str = "standard",
    name: str = "arm",
    degrees: bool = False,
) -> Model:
    """Return an arm from a list of rows.

    Frames are ``base`` and ``link1`` to ``linkN``, the frames of the table; joints are ``joint1`` to ``jointN``.

    Args:
        rows: For each joint (a, alpha, d, theta), or a mapping with those keys and optionally joint, link, type,
            lower, upper, mass.
        convention: "standard" or "modified".
        name: The model's name.
        degrees: Whether alpha, theta and the ranges of revolute joints are in degrees.

    Raises:
        InvalidValue: A row is invalid.

    Examples:
        >>> arm = from_table([(0.5, 0, 0, 0), (0.4, 0, 0, 0)])
        >>> arm.fk([0, 0], "link2")[0, 3]
        0.9
    """
    if str(convention).lower() not in CONVENTIONS:
        raise InvalidValue(f"convention is {convention!r}; it must be 'standard' or 'modified'.")
    builder = ModelBuilder(name)
    builder.add_frame("base")
    parent = "base"
    for i, row in enumerate(rows, 1):
        parent = add_row(builder, parent, i, as_mapping(row, i), CONVENTIONS[convention.lower()], degrees)
    if parent == "base":
        raise InvalidValue("the table has no rows; an arm needs at least one.")
    return builder.build()


def as_mapping(row: Any, i: int) -> Mapping[str, Any]:
    """Return a row as a mapping from column names to values."""
    if isinstance(row, Mapping):
        unknown = [key for key in row if key not in set(COLUMNS.values())]
        if unknown:
            raise InvalidValue(
                f"row {i} has {quote_names(map(str, unknown))}; it may have {', '.join(set(COLUMNS.values()))}."
            )
        return row
    try:
        values = [float(value) for value in row]
    except (TypeError, ValueError):
        values = []
    if len(values) != 4:
        raise InvalidValue(f"row {i} is {row!r}; it must be (a, alpha, d, theta), or a mapping with those keys.")
    return dict(zip(ORDER, values, strict=True))


def add_row(builder: ModelBuilder, parent: str, i: int, row: Mapping[str, Any], convention: str, degrees: bool) -> str:
    """Add one joint and the frame of its link; return the name of that frame."""
    turn = math.pi / 180.0 if degrees else 1.0
    a, alpha, d, theta = (check_finite(row.get(key, 0.0), f"row {i}: {key}") for key in ORDER)
    alpha, theta = alpha * turn, theta * turn
    kind = KINDS.get(str(row.get("type", "")).strip().lower(), "")
    if not kind:
        raise InvalidValue(f"row {i}: type is {row['type']!r}; it must be revolute, prismatic or fixed.")
    unit = turn if kind == "revolute" else 1.0
    bounds: dict[str, Any] = {}
    for side in ("lower", "upper"):
        if row.get(side) is not None and kind in ("revolute", "prismatic"):
            bounds[side] = check_finite(row[side], f"row {i}: {side}") * unit
    joint, link = str(row.get("joint") or f"joint{i}"), str(row.get("link") or f"link{i}")
    mass = check_finite(row.get("mass", 0.0), f"row {i}: mass")
    axis_part: NDArray[np.float64] = turn_about_z(theta, d)
    if convention == "modified":
        offset = make_link(a, alpha, 0.0) @ axis_part
        builder.add_joint(joint, parent, kind, frame=link, offset=offset, mass=mass, **bounds)
        return link
    rest_of_link = make_link(a, alpha, 0.0)
    builder.add_joint(joint, parent, kind, offset=axis_part, **bounds)
    builder.add_frame(link, joint, rest_of_link, mass=mass)
    return link


def check_finite(value: Any, what: str) -> float:
    """Return the value as a float; raise `InvalidValue` if it is not a number, or exceeds 1e9."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not abs(number) <= 1e9:
        raise InvalidValue(f"{what} is {value!r}; it must be a number.")
    return number


# ------------------------------------------------------------------------------------------------ files


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read an arm from a CSV file.

    Raises:
        FormatError: Column names are missing, a cell is not a number, or the table has too many rows.
    """
    from pathlib import Path

    if len(source.data) > MAX_BYTES:
        raise source.make_error(f"has {len(source.data)} bytes; a DH table has at most {MAX_BYTES}.")
    lines = source.read_text().splitlines()
    convention = read_statement(lines, "convention", source)
    if convention is None:
        source.note_oddity(
            "does not state its convention; it was read as standard. Write: # convention: standard (or modified)"
        )
    elif convention not in CONVENTIONS:
        raise source.make_error(f"its convention is {quote(convention)}; it must be standard or modified.")
    rows = read_rows(source, lines)
    name = read_statement(lines, "name", source) or Path(source.path).stem or "arm"
    try:
        model = from_table(rows, convention=convention or "standard", name=name)
        if options.base == "free":
            model = add_free_root(model)
    except FormatError:
        raise
    except PoiseError as error:
        raise source.make_error(str(error)) from error
    named = Model(model.name, model.layout.specs, source=source.path, notes=source.notes, attached=model.attachments)
    return adjust_model(named, options, source)


def read_statement(lines: Sequence[str], what: str, source: Source) -> str | None:
    """Return the value of a comment such as ``# convention: modified``, or None."""
    found = [
        line.partition(":")[2].strip()
        for line in lines[:1000]
        if line.lstrip().startswith("#") and line.lstrip("# \t").lower().startswith(f"{what}:")
    ]
    if len(set(found)) > 1:
        raise source.make_error(f"states its {what} twice: {quote_names(found)}; keep one.")
    return (found[0].lower() if what == "convention" else found[0]) if found else None


def read_rows(source: Source, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Read the rows below the line of column names."""
    kept = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    if len(kept) > MAX_ROWS:
        raise source.make_error(f"has {len(kept)} rows; at most {MAX_ROWS} are read.")
    if len(kept) < 2:
        raise source.make_error("has no rows; write a line with the columns' names, then one line a joint.")
    first, names = kept[0]
    mark = max(",;\t", key=names.count)
    mark = mark if mark in names else " "
    columns = read_columns(source, split(names, mark), first)
    return [read_row(source, split(line, mark), columns, i) for i, line in kept[1:]]


def split(line: str, mark: str) -> list[str]:
    """Return the cells of a line; a blank separator matches any number of blanks."""
    if mark == " ":
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark))]
    except csv.Error:
        return line.split(mark)


def read_heading(cell: str) -> tuple[str, float]:
    """Return the column of a heading ("" if unknown), and the factor of its unit to radians or metres."""
    match = _HEADING.fullmatch(cell.strip()) if len(cell) < LONGEST else None
    if match is None or match[2].lower() not in UNITS:
        return "", 1.0
    return COLUMNS.get(match[1].lower(), ""), UNITS[match[2].lower()]


def read_columns(source: Source, cells: Sequence[str], line: int) -> list[tuple[str, float]]:
    """Return the column and unit of each heading; unknown columns are ignored with a note."""
    columns = [read_heading(cell) for cell in cells]
    known = [name for name, _ in columns if name]
    absent = [key for key in ("a", "alpha", "d") if key not in known]
    if absent:
        raise source.make_error(
            f"its first line names no column {quote_names(absent)}; it needs a, alpha, d and theta.", line
        )
    if len(set(known)) < len(known):
        raise source.make_error(f"its first line names a column twice: {quote_names(known)}.", line)
    for cell, (name, _) in zip(cells, columns, strict=True):
        if not name:
            source.note_oddity(f"the column {quote(cell)} is not a column of a DH table; it was ignored", line)
    return columns


def read_row(source: Source, cells: Sequence[str], columns: Sequence[tuple[str, float]], line: int) -> dict[str, Any]:
    """Read one row, converted to radians and metres."""
    if len(cells) > len(columns) and not any(cells[len(columns) :]):
        cells = cells[: len(columns)]
    if len(cells) != len(columns):
        raise source.make_error(f"has {len(cells)} cells where the first line names {len(columns)}.", line)
    row: dict[str, Any] = {}
    for cell, (name, unit) in zip(cells, columns, strict=True):
        if name in ("joint", "link", "type"):
            row[name] = cell
        elif name in ("theta", "d") and len(cell) < LONGEST and _VARIABLE.fullmatch(cell):
            row.setdefault("type", "prismatic" if name == "d" else "revolute")
        elif name and cell:
            row[name] = read_cell(source, cell, name, unit, line)
    if row.get("type", "") == "":
        row.pop("type", None)
    return row


def read_cell(source: Source, cell: str, name: str, unit: float, line: int) -> float:
    """Parse a number or a multiple of pi, and convert it to radians or metres."""
    if (
        len(cell) < LONGEST
        and (match := _PI.fullmatch(cell)) is not None
        and name in ("alpha", "theta", "lower", "upper")
    ):
        times = parse_number(match[2] or "1", name, source, line)
        parts = parse_number(match[3] or "1", name, source, line)
        if parts == 0.0:
            raise source.make_error(f"{name} is {quote(cell)}, which divides by zero.", line)
        return (-1.0 if match[1] == "-" else 1.0) * times * math.pi / parts
    return parse_number(cell, name, source, line) * unit
