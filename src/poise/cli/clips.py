"""`poise lock`, `poise quality` and `poise track`: commands that work on whole clips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import poise
from poise import motion
from poise.cli.console import Body, report_errors, report_written, show_progress
from poise.cli.files import Clip, For, Scale, Up, load_one_motion, read_options
from poise.cli.waypoints import read_path
from poise.formats.registry import find_writer
from poise.formats.target import check_target
from poise.goals import Reach

__all__ = [
    "WITH_SKIN",
    "AsJson",
    "File",
    "lock_command",
    "print_quality",
    "quality_command",
    "track_command",
]

File = Annotated[str, typer.Argument(help="A file with a motion: BVH, glTF, VRM, a table.")]
Ledger = Annotated[Path | None, typer.Option(help="Contacts to lock, as a JSON file; detected by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
WITH_SKIN = (".glb", ".gltf", ".vrm")


def lock_command(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file for the locked clip.")],
    contacts: Ledger = None,
    floor: Annotated[
        float | None, typer.Option("--floor", "--ground", help="Height of the floor [m]; detected by default.")
    ] = None,
    smooth: Annotated[
        float, typer.Option(help="Width over which corrections are smoothed [tenths of a second].")
    ] = 1.0,
    save_contacts: Annotated[Path | None, typer.Option(help="Write the locked contacts as JSON.")] = None,
    scale: Scale = "1",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    as_json: AsJson = False,
) -> None:
    """Lock the feet of a clip to the ground: no sliding, floating or sinking."""
    with report_errors("lock"), show_progress("locking", "frames") as progress:
        check_out(out)
        given = load_one_motion(file, read_options(base="fixed", scale=scale, up=up), clip, model)
        ledger = "auto" if contacts is None else motion.Contacts.load(contacts)
        track = motion.lock(given, ledger, floor=floor, smooth=smooth, progress=progress)
        poise.save(track, out, like=file if Path(file).suffix in WITH_SKIN and out.suffix in WITH_SKIN else None)
        if save_contacts is not None:
            poise.save(track.contacts, save_contacts)
    report_written(out)
    print_quality({"before": motion.quality(given, contacts=track.contacts), "after": track.quality}, as_json)
    if not as_json:
        typer.echo(track.why())


def quality_command(
    file: File,
    source: Annotated[str | None, typer.Option(help="The original clip, whose contacts are used.")] = None,
    contacts: Ledger = None,
    scale: Scale = "1",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    as_json: AsJson = False,
) -> None:
    """Measure the quality of a clip: foot slip, drift, float, sink, steps, jerk, limits."""
    with report_errors("quality"):
        chosen = read_options(base="fixed", scale=scale, up=up)
        given = load_one_motion(file, chosen, clip, model)
        first = None if source is None else load_one_motion(source, chosen, None, model)
        ledger = None if contacts is None else motion.Contacts.load(contacts)
        found = motion.quality(given, first, contacts=ledger)
    print_quality({Path(file).name: found}, as_json)


def track_command(
    model: Body,
    path: Annotated[Path, typer.Argument(help="A CSV with columns x y z, and optionally qw qx qy qz.")],
    frame: Annotated[str, typer.Option(help="The frame that follows the path.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file for the motion: CSV, BVH, GLB, NPZ.")],
    fps: Annotated[float, typer.Option(help="Rows per second.")] = 30.0,
    mode: Annotated[str, typer.Option(help="clip: all rows at once; online: one after the other.")] = "clip",
    as_json: AsJson = False,
) -> None:
    """Follow a path with a frame of a body. Exit code 1 if a row is missed."""
    with report_errors("track"), show_progress("tracking", "frames") as progress:
        check_out(out)
        targets = read_path(path)
        track = motion.track(poise.load(model), Reach(frame, targets), fps=fps, mode=mode, progress=progress)
        poise.save(track, out)
    report_written(out)
    print_quality({frame: track.quality}, as_json)
    if not as_json:
        typer.echo(track.why())
    if not track.reached.all():
        raise typer.Exit(1)


def check_out(out: Path) -> None:
    """Raise `FormatError` if a motion cannot be written to this file, before the work begins."""
    find_writer(str(out), "write_motion")
    check_target(out)


def print_quality(found: dict[str, motion.Quality], as_json: bool) -> None:
    """Print the measurements as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps({name: each.to_dict() for name, each in found.items()}, indent=2))
        return
    for name, each in found.items():
        typer.echo(f"{name}\n{each}\n")
