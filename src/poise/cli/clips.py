"""`poise lock`, `poise quality` and `poise track`: commands that work on whole clips."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import poise
from poise import motion
from poise.cli.console import Body, check_out, report_errors, report_written, show_progress
from poise.cli.files import Clip, For, KeepRest, Up, load_one_motion, read_options
from poise.cli.waypoints import read_path
from poise.formats.units import UNIT_NAMES, scale_motion
from poise.goals import Reach
from poise.model import Model

__all__ = [
    "WITH_SKIN",
    "AddPath",
    "AsJson",
    "File",
    "lock_command",
    "print_quality",
    "quality_command",
    "track_command",
]

File = Annotated[str, typer.Argument(help="A file with a motion: BVH, glTF, VRM, FBX, USD, AMASS, a table.")]
Ledger = Annotated[Path | None, typer.Option(help="Contacts to lock, as a JSON file; detected by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
AddPath = Annotated[bool, typer.Option("--add-path", help="Move a walk on the spot over the ground.")]
Unit = Annotated[str, typer.Option("--scale", help="Metres per unit of the file; auto detects them.")]
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
    add_path: AddPath = False,
    scale: Unit = "auto",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    keep_rest: KeepRest = False,
    as_json: AsJson = False,
) -> None:
    """Lock the feet of a clip to the ground: no sliding, floating or sinking. The file keeps its unit."""
    with report_errors("lock"), show_progress("locking", "frames") as progress:
        check_out(out, "write_motion")
        if save_contacts is not None:
            check_out(save_contacts, "write_values")
        chosen = read_measuring(scale, up)
        given = load_one_motion(file, chosen, clip, model, keep_rest)
        given = motion.add_path(given) if add_path else given
        ledger = "auto" if contacts is None else motion.Contacts.load(contacts)
        height = None if floor is None else floor / given.model.metres_per_unit
        track = motion.lock(given, ledger, floor=height, smooth=smooth, progress=progress)
        with_skin = Path(file).suffix in WITH_SKIN and out.suffix in WITH_SKIN
        kept = track.motion if with_skin else scale_motion(track.motion, 1.0 / chosen["scale"])
        poise.save(kept, out, like=file if with_skin else None)
        if save_contacts is not None:
            poise.save(track.contacts, save_contacts)
    report_written(out)
    report_unit(file, given.model)
    print_quality({"before": motion.quality(given, contacts=track.demanded), "after": track.quality}, as_json)
    if not as_json:
        typer.echo(track.why())


def quality_command(
    file: File,
    source: Annotated[str | None, typer.Option(help="The original clip, whose contacts are used.")] = None,
    contacts: Ledger = None,
    scale: Unit = "auto",
    up: Up = None,
    clip: Clip = None,
    model: For = None,
    keep_rest: KeepRest = False,
    as_json: AsJson = False,
) -> None:
    """Measure the quality of a clip: foot slip, drift, float, sink, steps, jerk, limits."""
    with report_errors("quality"):
        chosen = read_measuring(scale, up)
        given = load_one_motion(file, chosen, clip, model, keep_rest)
        first = None if source is None else load_one_motion(source, chosen, None, model, keep_rest)
        ledger = None if contacts is None else motion.Contacts.load(contacts)
        found = motion.quality(given, first, contacts=ledger)
    report_unit(file, given.model)
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
        check_out(out, "write_motion")
        targets = read_path(path)
        track = motion.track(poise.load(model), Reach(frame, targets), fps=fps, mode=mode, progress=progress)
        poise.save(track, out)
    report_written(out)
    print_quality({frame: track.quality}, as_json)
    if not as_json:
        typer.echo(track.why())
    if not track.reached.all():
        raise typer.Exit(1)


def read_measuring(scale: str, up: str | None) -> dict[str, Any]:
    """Return the options of `poise.load_motion`; "auto" keeps the numbers of a file, whose unit its reader detects."""
    return read_options(base="fixed", scale="1" if scale == "auto" else scale, up=up)


def report_unit(file: str, model: Model) -> None:
    """Print the unit of a file on stderr, if it is not the metre."""
    if model.units != "m":
        unit = UNIT_NAMES.get(model.units, model.units)
        typer.echo(f"{Path(file).name} is in {unit}, 1 unit = {model.metres_per_unit:g} m", err=True)


def print_quality(found: dict[str, motion.Quality], as_json: bool) -> None:
    """Print the measurements as one table, a column for each clip, or as JSON."""
    if as_json:
        typer.echo(json.dumps({name: each.to_dict() for name, each in found.items()}, indent=2))
        return
    tables = {name: each.list_lines() for name, each in found.items()}
    widths = {name: max(len(name), *map(len, lines.values())) + 3 for name, lines in tables.items()}
    typer.echo(f"{'':10}{''.join(f'{name:<{width}}' for name, width in widths.items())}".rstrip())
    for what in dict.fromkeys(what for lines in tables.values() for what in lines):
        cells = "".join(f"{lines.get(what, ''):<{widths[name]}}" for name, lines in tables.items())
        typer.echo(f"{what:<10}{cells}".rstrip())
    typer.echo()
    if any(each.spot_speed for each in found.values()):
        typer.echo("poise lock and poise retarget move a walk on the spot over the ground with --add-path", err=True)
