"""`poise job`: large jobs on rows or clips, which can be killed and resumed."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any

import typer

from poise.cli.console import report_errors, show_progress
from poise.cli.files import read_options
from poise.motion import Mapping
from poise.scale import Job, Report
from poise.scale.maps import MAP

__all__ = [
    "AsJson",
    "Shard",
    "Threads",
    "print_report",
    "run_command",
    "show_command",
]

File = Annotated[Path, typer.Argument(help="The job file written by poise.save.")]
Shard = Annotated[
    str | None, typer.Option(help="Do only this share of the work, such as 3/64, counted from 0 or from 1.")
]
Threads = Annotated[int | None, typer.Option(help="Number of cores; default: all.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def run_command(
    file: File,
    inputs: Annotated[list[str], typer.Argument(help="Files, a folder or a pattern: Parquet tables, or clips.")],
    out: Annotated[Path, typer.Argument(help="The output folder; one per job.")],
    shard: Shard = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Run the remaining work; can be killed and resumed. Exit code 1 if a clip could not be read."""
    with report_errors("job run"):
        job = Job.load(file)
        with show_progress(job.work) as progress:
            report = job.run(inputs, out, shard=shard, threads=threads, progress=progress)
    print_report(report, as_json)


def show_command(file: File) -> None:
    """Describe a job: its work, body, goals, options and hash."""
    with report_errors("job show"):
        job = Job.load(file)
    values = job.plain_values()
    typer.echo(repr(job))
    for goal in values["goals"]:
        given = (f"{key} {value}" for key, value in goal.items() if key != "is" and value is not None)
        typer.echo(f"  {goal['is']}: {', '.join(given)}")
    for key, value in values["options"].items():
        typer.echo(f"  {key}: {value}")


def retarget_folder(
    folder: str,
    model: str,
    out: Path,
    options: dict[str, Any],
    mapping: Path | None,
    scale: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Retarget a folder of clips onto a body, as a job."""
    with report_errors("retarget"):
        chosen = {**options, "scale": read_options(base="free", scale=scale, up=None)["scale"]}
        if mapping is not None:
            chosen["mapping"] = Mapping.load(mapping)
        job = Job.retarget(model, **{key: value for key, value in chosen.items() if value is not None})
        with show_progress("clips") as progress:
            report = job.run(folder, out, threads=threads, progress=progress)
    print_report(report, as_json)


def run_map_job(job: Job, out: Path, threads: int | None, progress: Callable[[int, int], None]) -> None:
    """Run the job of a map in a temporary folder next to the map; delete the folder when the map is complete."""
    parts = out.with_name(out.name + ".parts")
    job.run(None, parts, threads=threads, progress=progress)
    (parts / MAP).replace(out)
    rmtree(parts)


def print_report(report: Report, as_json: bool) -> None:
    """Print the report of a run; exit with code 1 if an input failed."""
    typer.echo(json.dumps(report.to_dict(), indent=2) if as_json else str(report))
    if report.failed:
        raise typer.Exit(1)
