"""Motions, poses and solutions as tables: CSV, NPZ, Parquet. One row per frame, one column per number of q.

`poise.kinematics.column_names` names the columns. A motion has ``time`` [s] first; a solution has its results after the
pose: ``reached status steps searches seconds``, and ``error.<goal>.m`` and ``error.<goal>.rad``; a solved clip has its
labels, ``contact.<point>``, ``velocity.<joint>`` and ``balance.m``. Nothing is rounded.
NPZ and Parquet include the model, as JSON (`poise.formats.plain_values`); for CSV it must be given
(``load_motion(path, model=model)``), unless the columns match a built-in body. On reading, columns may be in any
order.

NPZ has ``poise`` (a JSON text: kind, fps, model), ``columns``, ``q`` (frames, nq), and the other columns under their
names. An archive with only ``q``, and optionally ``fps``, is read for a given model, with a warning. Parquet has the
same text as metadata under the key ``poise``. Rows without names are read in the layout of robots
(`poise.formats.tables.robot_csv`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise import models
from poise.errors import FormatError, PoiseError
from poise.files.source import Source, quote, quote_names
from poise.formats.options import ReadOptions
from poise.formats.plain_values import dump_model, parse_model
from poise.formats.tables import containers, robot_csv
from poise.kinematics import Motion, Pose
from poise.kinematics.column_names import LABELS, RESERVED, make_unique, name_columns
from poise.model import Model

__all__ = [
    "NAME",
    "SUFFIXES",
    "Table",
    "looks_like",
    "read_motion",
    "read_table",
    "write_motion",
    "write_pose",
    "write_solution",
    "write_track",
]

NAME = "table"
SUFFIXES = (".csv", ".npz", ".parquet")
DEFAULT_FPS = 30.0
ROUNDED = 0.2  # of a step: smaller deviations from even times are rounding; larger ones mean missing frames

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory.

    Attributes:
        columns: The columns by name, all of one length.
        facts: The metadata: "kind" ("motion", "pose" or "solution"), "fps", and "model" (its description).
    """

    columns: dict[str, Column]
    facts: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like a table written by Poise."""
    if head.startswith(b"PAR1"):
        return True
    if head.startswith(b"PK\x03\x04"):
        return any(name in head for name in (b"poise.npy", b"q.npy", b"root_pos.npy"))
    return head.lstrip(b'\xef\xbb\xbf"')[:4] == b"time"


# ------------------------------------------------------------------------------------------------ writing


def write_track(track: Any, target: Path) -> None:
    """Write a solved clip: its motion, and its labels for training (`track.label_frames()`) as further columns."""
    write_motion(track.motion, target, track.label_frames())


def write_motion(motion: Motion, target: Path, labels: Mapping[str, Column] | None = None) -> None:
    """Write every frame of a motion as a row."""
    columns: dict[str, Column] = {"time": motion.times}
    if target.suffix.lower() == ".csv" and find_rate(motion.times) != motion.fps:
        columns["fps"] = np.full(len(motion), motion.fps)
    columns |= make_q_columns(motion.model, motion.q)
    given = dict(labels or {})
    columns |= dict(zip(make_unique(list(given), tuple(columns)), given.values(), strict=True))
    write(Table(columns, {"kind": "motion", "fps": motion.fps, "model": dump_model(motion.model)}), target)


def write_pose(pose: Pose, target: Path) -> None:
    """Write a pose as a table of one row."""
    facts = {"kind": "pose", "model": dump_model(pose.model)}
    write(Table(make_q_columns(pose.model, pose.q[None]), facts), target)


def write_solution(solution: Any, target: Path) -> None:
    """Write a solution, or a batch of solutions: poses, errors and status.

    The object is accessed by its attributes: `model`, `q`, `reached`, `status`, `steps`, `searches`, `seconds`,
    `errors`.
    """
    q = np.atleast_2d(np.asarray(solution.q, np.float64))
    columns = make_q_columns(solution.model, q)
    for name in RESERVED[2:]:
        if (value := getattr(solution, name, None)) is not None:
            columns[name] = np.array([str(x) for x in np.atleast_1d(value)] if name == "status" else value).reshape(-1)
    for goal, (metres, radians) in (getattr(solution, "errors", None) or {}).items():
        columns[f"error.{goal}.m"] = np.atleast_1d(np.asarray(metres, np.float64))
        columns[f"error.{goal}.rad"] = np.atleast_1d(np.asarray(radians, np.float64))
    write(Table(columns, {"kind": "solution", "model": dump_model(solution.model)}), target)


def make_q_columns(model: Model, q: NDArray[np.float64]) -> dict[str, Column]:
    """Return the columns of configurations (rows, nq)."""
    return {name: q[:, i] for i, name in enumerate(name_columns(model))}


def write(table: Table, target: Path) -> None:
    """Write a table in the format given by the suffix."""
    containers.WRITERS[target.suffix.lower()](table.columns, json.dumps(table.facts, ensure_ascii=False), target)


# ------------------------------------------------------------------------------------------------ reading


def read_table(path: str | Path) -> Table:
    """Read a table as stored: columns of numbers, booleans or text.

    Raises:
        FormatError: The file is not a table, or is damaged.
    """
    return open_table(Source.open(path))


def open_table(source: Source) -> Table:
    """Parse the table of an opened file; its content determines the format, since the suffix may be wrong."""
    columns, text = containers.choose_reader(source)(source)
    facts: Any = {}
    if text:
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            facts = None
    if not isinstance(facts, dict):
        raise source.make_error("its metadata under 'poise' is not a JSON object.")
    return Table(columns, facts)


def read_motion(source: Source, options: ReadOptions) -> Motion:
    """Read the rows of a table as a motion; also accepts tables of poses and solutions.

    Raises:
        FormatError: The file is not a table, a column is missing or not numeric, or the model is unknown.
    """
    if options.scale not in (1.0, "auto") or options.clip is not None:
        raise source.make_error("is a table of joint values, to which scale= and clip= do not apply; leave them out.")
    table = open_table(source)
    if not len(table):
        raise source.make_error("has no rows.")
    model = choose_model(source, table, options)
    table = with_names(source, name_rows(source, table, model), model)
    if options.up not in (None, model.up):
        raise source.make_error(f"is a table for a model with {model.up} up; up={options.up!r} does not apply.")
    names = name_columns(model)
    others = [name for name in table.columns if name not in set(names) and not is_known(name)]
    if others:
        source.note_oddity(f"columns {quote_names(others)} are not joints of model {model.name!r}; they were left out")
    q = [read_numbers(source, table, name) for name in names]
    fps = read_fps(source, table)
    try:
        return Motion(model, np.stack(q, axis=1) if q else np.zeros((len(table), 0)), fps)
    except PoiseError as error:
        raise source.make_error(f"makes no motion of {model.name!r}: {error}") from error


def name_rows(source: Source, table: Table, model: Model) -> Table:
    """Return the table; rows in the layout of Unitree or GMR are converted to named columns of q."""
    if table.facts.get("style") != "unitree":
        return table
    counted = [name for name in table.columns if not is_known(name)]
    if not robot_csv.has_free_root(model):
        if len(counted) == model.nq + 7:
            raise source.make_error(
                f"has {len(counted)} numbers a frame, 7 of them for a root; {model.name!r} has no free root: load the "
                "body with base='free'."
            )
        return table
    q = robot_csv.read_rows(source, np.stack([read_numbers(source, table, name) for name in counted], axis=1), model)
    kept = {name: column for name, column in table.columns.items() if is_known(name)}
    return Table(kept | make_q_columns(model, q), table.facts)


def with_names(source: Source, table: Table, model: Model) -> Table:
    """Return the table with the model's column names if its columns are only numbered."""
    names, counted = name_columns(model), [str(i) for i in range(model.nq)]
    if (
        {name for name in table.columns if not is_known(name)} != set(counted)
        or not counted
        or set(names) & set(counted)
    ):
        return table
    source.note_oddity(
        f"does not name its {len(names)} columns; they were taken for the q of model {model.name!r}, in order"
    )
    new = dict(zip(counted, names, strict=True))
    return Table({new.get(name, name): column for name, column in table.columns.items()}, table.facts)


def is_known(name: str) -> bool:
    """Return whether a column is not a joint coordinate."""
    return not name or name in RESERVED or name.startswith(LABELS)


def read_numbers(source: Source, table: Table, name: str) -> NDArray[np.float64]:
    """Return a column of finite numbers."""
    if name not in table.columns:
        advice = "Name its columns after the joints, or give another body: model=poise.load('robot.urdf')."
        raise source.make_error(f"has no column {quote(name)}; it has {quote_names(table.columns)}. {advice}")
    column = table.columns[name]
    if column.dtype.kind not in "fiu" or not np.isfinite(column).all():
        raise source.make_error(f"column {quote(name)} holds something that is not a number.")
    return column.astype(np.float64)


def choose_model(source: Source, table: Table, options: ReadOptions) -> Model:
    """Return the given model, the model in the file, or the built-in body with these columns."""
    if isinstance(options.model, Model):
        return options.model
    if isinstance(text := table.facts.get("model"), str):
        try:
            return parse_model(text)
        except FormatError as error:
            raise source.make_error(error.message) from error
    columns = [name for name in table.columns if not is_known(name)]
    known = {name: set(name_columns(models.build(name))) for name in models.names()}
    near = min(known, key=lambda name: len(known[name].symmetric_difference(columns)))
    other = sorted(known[near].symmetric_difference(columns))
    if columns and not other:
        source.note(f"the columns are those of the built-in body {near!r}")
        return models.build(near)
    what = f"has the columns {quote_names(columns)}"
    if table.facts.get("style") == "unitree":
        what = f"has {len(columns)} numbers a frame and no names, as Unitree and GMR write motions"
    elif len(other) < len(columns):
        what += f"; those of the built-in body {near!r} differ in {quote_names(other)}"
    raise source.make_error(f"{what}. It does not say which body it is for: give model=poise.load('robot.urdf').")


# ------------------------------------------------------------------------------------------------ time


def read_fps(source: Source, table: Table) -> float:
    """Return the frame rate stated by the file, or computed from its times [1/s]."""
    stated: Any = table.facts.get("fps")
    if stated is None and "fps" in table.columns:
        column = read_numbers(source, table, "fps")
        if (column != column[0]).any():
            raise source.make_error("column 'fps' changes from row to row; a motion has one rate.")
        stated = float(column[0])
    if stated is not None:
        if isinstance(stated, bool) or not isinstance(stated, (int, float)) or not 0.0 < stated < 1e300:
            raise source.make_error(f"fps is {quote(str(stated))}; it must be a positive number.")
        return float(stated)
    if len(table) > 1 and "time" in table.columns:
        times = read_numbers(source, table, "time")
        steps = np.diff(times)
        even = np.linspace(times[0], times[-1], len(times))
        if not (steps > 0.0).all() or np.abs(times - even).max() > ROUNDED * steps.mean():
            raise source.make_error(
                "column 'time' does not rise by even steps; a motion has one rate. Resample it first."
            )
        if np.ptp(steps) > 1e-3 * steps.mean():
            source.note_oddity(
                f"column 'time' rises by {steps.min():.6g} to {steps.max():.6g} s; it was read as even steps"
            )
        return find_rate(times)
    if len(table) > 1:
        source.note_oddity(f"has neither 'time' nor 'fps'; {DEFAULT_FPS:g} frames per second were assumed")
    return DEFAULT_FPS


def find_rate(times: NDArray[np.float64]) -> float:
    """Return the frame rate of even times [1/s]; if possible, the shortest number that reproduces them exactly."""
    count = len(times)
    if count < 2 or not times[-1] > times[0]:
        return 0.0
    fps = (count - 1) / float(times[-1] - times[0])
    near = [float(f"{fps:.{digits}g}") for digits in (4, 6, 9, 12, 15)]
    near += [fps, float(np.nextafter(fps, 0.0)), float(np.nextafter(fps, np.inf))]
    frames = np.arange(count)
    return next((rate for rate in near if np.array_equal(frames / rate, times - times[0])), fps)
