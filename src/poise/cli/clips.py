"""`poise lock`, `quality`, `track`: whole clips from the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

import poise
from poise import motion
from poise.cli.files import Clip, For, Scale, Up, load_one_motion, read_options
from poise.cli.words import Body, report_complaints, say_written
from poise.errors import FormatError
from poise.goals import Reach
from poise.spatial import Rotation

__all__ = [
    "WITH_SKIN",
    "AsJson",
    "File",
    "lock_command",
    "print_quality",
    "quality_command",
    "show_progress",
    "track_command",
]

File = Annotated[str, typer.Argument(help="A file with a motion: BVH, glTF, VRM, a table.")]
Ledger = Annotated[Path | None, typer.Option(help="Contacts to hold, as a JSON file; found unless given.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
WITH_SKIN = (".glb", ".gltf", ".vrm")


def lock_command(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the locked clip goes.")],
    contacts: Ledger = None,
    ground: Annotated[float | None, typer.Option(help="The height of the ground [m]; found unless given.")] = None,
    smooth: Annotated[float, typer.Option(help="Over how many tenths of a second a correction spreads.")] = 1.0,
    save_contacts: Annotated[Path | None, typer.Option(help="Write the contacts that hold, as JSON.")] = None,
    scale: Scale = "1",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    as_json: AsJson = False,
) -> None:
    """Hold the feet of a clip exactly where they stand: no slip, no float, no sink."""
    with report_complaints("lock"), show_progress("locking") as progress:
        given = load_one_motion(file, read_options(base="fixed", scale=scale, up=up), clip, model)
        ledger = "auto" if contacts is None else motion.Contacts.load(contacts)
        track = motion.lock(given, ledger, ground, smooth=smooth, progress=progress)
        poise.save(track, out, like=file if Path(file).suffix in WITH_SKIN and out.suffix in WITH_SKIN else None)
        if save_contacts is not None:
            poise.save(track.contacts, save_contacts)
    say_written(out)
    print_quality({"before": motion.quality(given, contacts=track.contacts), "after": track.quality}, as_json)
    if not as_json:
        typer.echo(track.why())


def quality_command(
    file: File,
    source: Annotated[str | None, typer.Option(help="What it was made from: contacts are found there.")] = None,
    contacts: Ledger = None,
    scale: Scale = "1",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    as_json: AsJson = False,
) -> None:
    """Say how good a clip is: slip, drift, float, sink, steps, jerk, limits."""
    with report_complaints("quality"):
        chosen = read_options(base="fixed", scale=scale, up=up)
        given = load_one_motion(file, chosen, clip, model)
        first = None if source is None else load_one_motion(source, chosen, None, model)
        ledger = None if contacts is None else motion.Contacts.load(contacts)
        found = motion.quality(given, first, ledger)
    print_quality({Path(file).name: found}, as_json)


def track_command(
    model: Body,
    path: Annotated[Path, typer.Argument(help="A CSV with columns x y z, and qw qx qy qz where rotations count.")],
    frame: Annotated[str, typer.Option(help="The frame that follows the path.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the motion goes: CSV, BVH, GLB, NPZ.")],
    fps: Annotated[float, typer.Option(help="Rows a second.")] = 30.0,
    mode: Annotated[str, typer.Option(help="clip: all rows at once; online: one after the other.")] = "clip",
    as_json: AsJson = False,
) -> None:
    """Follow a path with a frame of a body. Ends with 1 where a row is missed."""
    with report_complaints("track"), show_progress("tracking") as progress:
        targets = read_path(path)
        track = motion.track(poise.load(model), Reach(frame, targets), fps=fps, mode=mode, progress=progress)
        poise.save(track, out)
    say_written(out)
    print_quality({frame: track.quality}, as_json)
    if not as_json:
        typer.echo(track.why())
    if not track.reached.all():
        raise typer.Exit(1)


def read_path(path: Path) -> NDArray[np.float64]:
    """Read points (rows, 3), or transforms (rows, 4, 4) where the file has quaternions."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except UnicodeDecodeError as error:
        raise FormatError(f"is not text: {error}.", str(path)) from None
    names = [name.strip() for name in (rows[0] if rows else {})]
    wanted = ["x", "y", "z"] + (["qw", "qx", "qy", "qz"] if "qw" in names else [])
    if not rows or any(name not in names for name in wanted):
        told = ", ".join(names) if names else "none"
        raise FormatError(f"must have columns {', '.join(wanted)} and a row; it has: {told}.", str(path))
    values = np.empty((len(rows), len(wanted)))
    for line, row in enumerate(rows, 2):
        clean = {str(name).strip(): text for name, text in row.items()}
        try:
            values[line - 2] = [float(clean[name] or "nan") for name in wanted]
        except (TypeError, ValueError):
            raise FormatError("has something that is not a number.", str(path), line) from None
        if not np.isfinite(values[line - 2]).all():
            raise FormatError("has a number missing, or one that is not finite.", str(path), line)
    if len(wanted) == 3:
        return values
    out = np.tile(np.eye(4), (len(rows), 1, 1))
    out[:, :3, :3], out[:, :3, 3] = Rotation(values[:, 3:]).matrix, values[:, :3]
    return out


def print_quality(found: dict[str, motion.Quality], as_json: bool) -> None:
    """Print what was measured, as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps({name: each.to_dict() for name, each in found.items()}, indent=2))
        return
    for name, each in found.items():
        typer.echo(f"{name}\n{each}\n")


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal while frames are solved."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total} frames"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
