"""`poise retarget`: retarget one motion, or a folder of them, onto another body."""

from pathlib import Path
from typing import Annotated

import typer

import poise
from poise import motion
from poise.cli.clips import WITH_SKIN, AddPath, AsJson, print_quality
from poise.cli.console import check_out, report_errors, report_written, show_progress, write_as_options
from poise.cli.files import Clip, KeepRest, RobotStyle, Scale, Up, load_one_motion, read_options
from poise.cli.job import Threads, retarget_folder
from poise.errors import FormatError, InvalidValue
from poise.formats.registry import knows_suffix
from poise.limits import Clearance

__all__ = ["retarget_command"]


def retarget_command(
    file: Annotated[str, typer.Argument(help="A motion (BVH, glTF, FBX, USD, AMASS, a table), or a folder of them.")],
    model: Annotated[str, typer.Argument(help="The target body: a file, or the name of a built-in body.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file for the motion: CSV, NPZ, BVH, GLB; or a folder.")],
    style: RobotStyle = None,
    mapping: Annotated[
        Path | None, typer.Option(help="A mapping of body parts, as a JSON file; found by default.")
    ] = None,
    save_mapping: Annotated[Path | None, typer.Option(help="Write the mapping as JSON.")] = None,
    person: Annotated[
        str | None, typer.Option(help="Choose one of several people in the file by its root frame.")
    ] = None,
    mode: Annotated[str, typer.Option(help="clip: all frames at once; online: one after the other.")] = "clip",
    page: Annotated[bool, typer.Option("--page", help="Write a page with source and result side by side.")] = False,
    scale: Scale = "auto",
    up: Up = None,
    clip: Clip = None,
    keep_rest: KeepRest = False,
    add_path: AddPath = False,
    clearance: Annotated[
        float | None,
        typer.Option(help="Keep capsules around the parts of the body this far apart [m], in place of convex hulls."),
    ] = None,
    no_clearance: Annotated[bool, typer.Option("--no-clearance", help="Let parts of the body collide.")] = False,
    fps: Annotated[float | None, typer.Option(help="The frame rate of the result; default: that of the clip.")] = None,
    suffix: Annotated[
        str | None, typer.Option(help="For a folder: the suffix of the files to write; default: .csv, or the style's.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Retarget a motion onto another body: finds matching parts, scale, floor and contacts.

    A folder is retargeted clip by clip, as a job that can be killed and resumed.
    """
    with report_errors("retarget"):
        if no_clearance and clearance is not None:
            raise InvalidValue("--clearance and --no-clearance exclude each other; give one of them.")
        check_outputs(file, out, style, save_mapping)
    if Path(file).is_dir():
        reject_clip_options(page, mode, person)
        distance = False if no_clearance else clearance
        choices = {"suffix": suffix, "style": style, "up": up, "clearance": distance, "fps": fps}
        retarget_folder(file, model, out, choices, mapping, scale, threads, as_json)
        return
    with report_errors("retarget"), show_progress("solving", "frames") as progress:
        given = load_one_motion(file, read_options(base="fixed", scale=scale, up=up), clip, None, keep_rest)
        given = given if fps is None else given.resampled(fps)
        given = motion.add_path(given) if add_path else given
        body = poise.load(model, base="free")
        parts = None if mapping is None else motion.Mapping.load(mapping)
        if person is not None and parts is not None:
            raise InvalidValue("--person and --mapping both choose frames; give one of them.")
        if person is not None:
            parts = motion.Mapping.between(given.model, body, person)
        apart, rules = not no_clearance, [] if clearance is None else [Clearance(distance=clearance)]
        carried = motion.retarget(
            given, body, parts, mode=mode, limits=rules, clearance=apart, keep_rest=keep_rest, progress=progress
        )
        own = model if Path(model).suffix in WITH_SKIN and out.suffix in WITH_SKIN else None
        poise.save(carried.motion, out, style=style, like=own)
        if save_mapping is not None:
            poise.save(carried.mapping, save_mapping)
        if page:
            poise.show(carried, out.with_suffix(".html"), browser=False)
    report_written(out)
    if page:
        report_written(out.with_suffix(".html"))
    if not as_json:
        typer.echo(f"{carried.mapping}\n")
    print_quality({out.name: carried.quality}, as_json)
    if not as_json:
        typer.echo(write_as_options(carried.why(), "retarget"))


def check_outputs(file: str, out: Path, style: str | None, mapping: Path | None) -> None:
    """Raise an error if the results cannot be written, before the work begins."""
    if Path(file).is_dir() and (out.is_file() or knows_suffix(out.suffix.lower())):
        raise FormatError(f"is not a folder, but {file} is one: give a folder, such as --out {out.stem}/.", str(out))
    if not Path(file).is_dir():
        check_out(out, "write_motion", style=style)
    if mapping is not None:
        check_out(mapping, "write_values")


def reject_clip_options(page: bool, mode: str, person: str | None) -> None:
    """Raise `InvalidValue` for options that apply to a single motion only."""
    with report_errors("retarget"):
        for name, given in (("--page", page), ("--mode", mode != "clip"), ("--person", person)):
            if given:
                raise InvalidValue(f"{name} is for one motion; give a file in place of a folder.")
