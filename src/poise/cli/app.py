"""The verbs. Typer and Rich are loaded here and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import poise
from poise.cli.files import convert_command, info_command
from poise.errors import PoiseError
from poise.solvers.race import Race, race
from poise.studio.plots import plot_race

__all__ = ["app"]

app = typer.Typer(
    name="poise",
    help="Inverse kinematics for anything with joints.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def shared() -> None:
    """Inverse kinematics for anything with joints."""


app.command("info", epilog="Examples: poise info robot.urdf | poise info walk.bvh | poise info humanoid --json")(
    info_command
)
app.command("convert", epilog="Examples: poise convert robot.urdf.xacro robot.urdf | poise convert walk.bvh walk.csv")(
    convert_command
)


@app.command(
    "race",
    epilog="Examples: poise race | poise race panda --rotation --problems 1000 | poise race snake100 --out race.png",
)
def race_command(
    model: Annotated[str, typer.Argument(help="A built-in body.")] = "panda",
    frame: Annotated[str | None, typer.Option(help="The frame that reaches; the last one unless given.")] = None,
    problems: Annotated[int, typer.Option(min=1, help="How many targets.")] = 100,
    rotation: Annotated[bool, typer.Option(help="Targets fix the rotation too.")] = False,
    method: Annotated[list[str] | None, typer.Option(help="Race only this method; may be repeated.")] = None,
    max_steps: Annotated[int, typer.Option(min=1, help="Most steps in one search.")] = 1000,
    restarts: Annotated[int, typer.Option(min=0, help="More searches after a failed one.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the error curves as a picture.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Race all methods on one problem set: success, steps, microseconds, arithmetic per step."""
    try:
        body = poise.load(model)
        result = race(
            body,
            frame,
            methods=method,
            problems=problems,
            rotation=rotation,
            max_steps=max_steps,
            restarts=restarts,
        )
        picture = plot_race(result, out) if out is not None else None
    except PoiseError as error:
        typer.echo(f"poise race: {error}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps(figures(result), indent=2))
    else:
        console = Console()
        console.print(race_table(result))
        for racer in result.racers:
            if racer.refused:
                console.print(
                    f"[bold]{racer.method}[/bold] does not race: {racer.refused}", highlight=False, soft_wrap=True
                )
    if picture is not None:
        typer.echo(f"wrote {picture}", err=True)


def figures(result: Race) -> dict[str, Any]:
    """The race in plain numbers."""
    keys = ("method", "reached", "steps", "searches", "microseconds", "arithmetic", "refused")
    rows = [{key: getattr(racer, key) for key in keys} for racer in result.racers]
    return {"model": result.model, "frame": result.frame, "problems": result.problems, "racers": rows}


def race_table(result: Race) -> Table:
    """The race as a table for the terminal."""
    table = Table(title=f"{result.problems} targets for {result.frame} of {result.model}", title_justify="left")
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
