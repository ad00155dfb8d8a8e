"""`poise demo`: a figure reaches with both hands, looks at a ball and balances; writes a picture and a page."""

from __future__ import annotations

import json
import math
import os
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import poise
from poise.cli.console import report_errors
from poise.errors import FormatError, MissingExtra
from poise.goals import Balance, LookAt, Reach, Rest
from poise.goals.goal import Goal
from poise.model import Model
from poise.pictures import Camera
from poise.solvers.solution import Solution

__all__ = ["demo_command", "follow", "make_goals"]

BALL = (0.38, 1.35, 0.42)
RAIL = (-0.34, 0.98, 0.32)
FEET = ("foot_l", "foot_r")
FRAMES, FPS = 150, 30
NEXT = "poise studio"
VIEW = Camera(azimuth=math.radians(-48), elevation=math.radians(13))


def demo_command(
    out: Annotated[Path, typer.Option(help="The folder for the picture and the page.")] = Path(),
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer and the files as JSON.")] = False,
    then: Annotated[str, typer.Option(hidden=True, help="The command to suggest at the end.")] = NEXT,
) -> None:
    """Pose the built-in humanoid: two hands, a gaze, feet pinned, balance. Writes a picture and a page."""
    with report_errors("demo"):
        if out.exists() and not out.is_dir():
            raise FormatError("is a file; give a folder for the picture and the page.", str(out))
        model = poise.load("humanoid")
        solution = poise.solve(model, make_goals(model))
        out.mkdir(parents=True, exist_ok=True)
        console = Console(stderr=True)
        with console.status("drawing the picture"):
            picture, missing = draw(solution, out / "poise_demo.png")
        with console.status("following the ball"):
            title = "Hands, eyes, feet and balance at once"
            options: dict[str, Any] = {"title": title, "camera": VIEW, "browser": show and has_browser()}
            page = poise.show(follow(model), out / "poise_demo.html", **options)
    if as_json:
        files = {"picture": None if picture is None else str(picture), "page": str(page.path), "next": then}
        typer.echo(json.dumps({**solution.plain_values(), **files}, indent=2))
    else:
        typer.echo(f"{solution}\n")
        typer.echo(f"picture  {picture if picture is not None else missing}")
        typer.echo(f"page     {page.path}  (one file, plays in any browser, offline)")
        typer.echo(f"\nNow drag it yourself, in the browser:\n\n    {then}\n")
    raise typer.Exit(0 if solution.reached else 1)


def make_goals(model: Model) -> list[Goal]:
    """Return the demo's goals: left hand at a ball, right hand on a rail, eyes on the ball, feet pinned, balance."""
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in FEET]
    return [
        Reach("hand_l", BALL),
        Reach("hand_r", RAIL),
        LookAt("eyes", BALL),
        *feet,
        Balance(FEET, margin=0.02),
        Rest(),
    ]


def follow(model: Model) -> list[Solution]:
    """Move the ball once around a figure of eight; each frame starts from the previous one."""
    solver = poise.Solver(model, make_goals(model), mode="continuous", step_limit=0.2)
    found, q = [], np.array(poise.solve(model, make_goals(model)).q)
    for turn in np.linspace(0.0, 2.0 * np.pi, FRAMES):
        ball = np.add(BALL, (-0.22 * np.sin(turn), 0.22 * np.sin(2 * turn), 0.04 * (np.cos(turn) - 1.0)))
        found.append(solver.solve(q, {"hand_l": ball, "eyes": ball}))
        q = found[-1].q
    return found


def draw(solution: Solution, path: Path) -> tuple[Path | None, str]:
    """Draw the picture; return its path, or None and the command that installs the missing package."""
    try:
        poise.plot(solution, path, camera=VIEW)
    except MissingExtra as missing:
        return None, str(missing)
    return path, ""


def has_browser() -> bool:
    """Return whether a browser can be opened."""
    try:
        return bool(webbrowser.get()) and os.environ.get("BROWSER") != ""
    except webbrowser.Error:
        return False
