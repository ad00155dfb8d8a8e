"""`poise map`: compute the reach map of a frame: reachable positions, and their share of orientations."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import poise
from poise.cli.console import PAGES, PICTURES, Body, check_out, report_errors, report_written, show_progress
from poise.cli.files import Base, Packages, Scale, Tool, Up, load_all, read_options
from poise.cli.job import run_map_job
from poise.errors import FormatError
from poise.scale import Job

__all__ = ["map_command"]


def map_command(
    model: Body,
    out: Annotated[Path, typer.Option("--out", "-o", help="The NPZ file for the map.")],
    frame: Annotated[str | None, typer.Option(help="The frame; default: the last one.")] = None,
    spacing: Annotated[float, typer.Option(help="Edge of a voxel [m].")] = 0.05,
    directions: Annotated[int, typer.Option(help="Directions of the frame's z axis; 0 for positions only.")] = 200,
    turns: Annotated[int, typer.Option(help="Turns about that axis.")] = 12,
    manipulability: Annotated[bool, typer.Option(help="Store the best manipulability of each voxel.")] = False,
    threads: Annotated[int | None, typer.Option(help="Number of threads; default: one per core.")] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Run on a GPU (CuPy).")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw the map as well: PNG, PDF, SVG, or an HTML page.")] = None,
    base: Base = "fixed",
    scale: Scale = "1",
    up: Up = None,
    tool: Tool = None,
    package_path: Packages = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Map the reach of a frame: per voxel, the share of orientations reached, proved out of reach, or undecided.

    It runs as a job that can be killed and resumed, with its parts in a folder next to the map.
    """
    with report_errors("map"):
        if out.suffix != ".npz":
            raise FormatError("a map is saved as arrays: give the path the suffix .npz; --picture draws it.", str(out))
        check_out(out, "write_arrays")
        if picture is not None:
            check_out(picture, others=(*PAGES, *PICTURES))
        options = read_options(base=base, scale=scale, up=up, package_path=package_path)
        body, _ = load_all(model, options, None, None, tool)
        with show_progress("mapping", "poses") as progress:
            job = Job.reach_map(
                body,
                body.frames[-1] if frame is None else frame,
                spacing=spacing,
                directions=directions,
                turns=turns,
                manipulability=manipulability,
                device="gpu" if gpu else "cpu",
            )
            run_map_job(job, out, threads, progress)
        found = poise.ReachMap.load(out, body)
        report_written(out)
        if picture is not None:
            draw(found, picture)
            report_written(picture)
    if as_json:
        shares = {
            name: float(getattr(found, name).mean(dtype=np.float64)) for name in ("reached", "proved", "undecided")
        }
        figures = {"model": found.name, "frame": found.frame, "shape": found.shape, "poses": found.poses}
        typer.echo(json.dumps({**figures, **shares, "volume": found.volume}, indent=2))
    else:
        typer.echo(str(found))


def draw(found: poise.ReachMap, path: Path) -> None:
    """Draw the map as a page (.html) or a picture."""
    if path.suffix.lower() in PAGES:
        poise.show(found, path, browser=False)
    else:
        poise.plot(found, path)
