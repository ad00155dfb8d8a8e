"""`poise race`: compare all methods on one problem set."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import poise
from poise.cli.console import (
    PAGES,
    PICTURES,
    Body,
    check_out,
    complete_method,
    report_errors,
    report_written,
    show_progress,
)
from poise.errors import InvalidValue
from poise.methods import names
from poise.pages import show
from poise.pages.drag import pack_module
from poise.pictures import plot
from poise.solvers.race import Race, race

__all__ = ["race_command"]


def race_command(
    model: Body = "panda",
    frame: Annotated[str | None, typer.Option(help="The frame; default: the last one.")] = None,
    problems: Annotated[int, typer.Option(min=1, help="Number of targets.")] = 100,
    rotation: Annotated[bool, typer.Option(help="Targets include the rotation.")] = False,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Race only this method; may be repeated.", autocompletion=complete_method),
    ] = None,
    max_steps: Annotated[int, typer.Option(min=1, help="Maximum number of steps per search.")] = 1000,
    restarts: Annotated[int, typer.Option(min=0, help="Number of restarts after a failed search.")] = 0,
    seed: Annotated[int, typer.Option(help="The random seed of the targets.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the error curves (png, pdf, svg), or a page that plays the race (html).")
    ] = None,
    drag: Annotated[bool, typer.Option("--drag", help="On the page, targets can be dragged; it solves again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare all methods on one problem set: success, steps, microseconds, arithmetic per step."""
    with report_errors("race"):
        if drag and not (out is not None and is_page(out)):
            raise InvalidValue("--drag needs a page to write, such as --out race.html.")
        if drag:
            pack_module()  # raises if the kernels are missing, before the race is run
        if out is not None:
            check_out(out, others=(*PAGES, *PICTURES))
        body = poise.load(model)
        options = {"problems": problems, "rotation": rotation, "max_steps": max_steps, "restarts": restarts}
        result = race_all(
            body, frame, method or [name for name in names() if name != "auto"], {**options, "seed": seed}
        )
    if as_json:
        typer.echo(json.dumps(list_figures(result), indent=2))
    else:
        print_race(result)
    if out is not None:
        with report_errors("race"):
            write(result, out, drag)


def print_race(result: Race) -> None:
    """Print the table, and the methods that do not support the problem."""
    console = Console()
    console.print(make_table(result))
    for racer in result.racers:
        if racer.refused:
            line = f"[bold]{racer.method}[/bold] is not supported: {escape(racer.refused)}"
            console.print(line, highlight=False, soft_wrap=True)


def race_all(model: poise.Model, frame: str | None, methods: list[str], options: dict[str, Any]) -> Race:
    """Run one method after the other, with a progress bar on a terminal."""
    runs = []
    with show_progress("racing") as progress:
        for k, name in enumerate(methods):
            progress(k, len(methods), f"racing {name}")
            runs.append(race(model, frame, methods=[name], **options))
    return Race(runs[0].model, runs[0].frame, runs[0].problems, tuple(racer for run in runs for racer in run.racers))


def is_page(out: Path) -> bool:
    """Return whether the file is a page rather than a picture."""
    return out.suffix.lower() in PAGES


def write(result: Race, out: Path, drag: bool) -> None:
    """Write the race as a page (.html) or a picture."""
    if is_page(out):
        show(result, out, drag=drag)
    else:
        plot(result, out)
    report_written(out)


def list_figures(result: Race) -> dict[str, Any]:
    """Return the race as plain values."""
    keys = ("method", "reached", "steps", "searches", "microseconds", "arithmetic", "refused")
    rows = [{key: getattr(racer, key) for key in keys} for racer in result.racers]
    return {"model": result.model, "frame": result.frame, "problems": result.problems, "racers": rows}


def make_table(result: Race) -> Table:
    """Return the race as a table for the terminal."""
    table = Table(title=escape(f"{result.problems} targets for {result.frame} of {result.model}"), title_justify="left")
    table.add_column("method", style="bold")
    for column in ("reached", "steps", "searches", "us", "mult/step"):
        table.add_column(column, justify="right")
    for r in result.racers:
        if r.refused:
            continue
        count = "" if r.arithmetic is None else str(r.arithmetic)
        row = (f"{100 * r.reached:.2f}%", f"{r.steps:.1f}", f"{r.searches:.2f}", f"{r.microseconds:.1f}", count)
        table.add_row(r.method, *row)
    return table
