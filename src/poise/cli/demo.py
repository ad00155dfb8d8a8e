"""`poise demo`: a figure reaches with both hands, looks at a ball and balances; writes a picture and a page."""

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
from poise.model import Capsule, Model, Object, Sphere
from poise.pictures import Camera, Picture
from poise.pictures.body.solids import place_object
from poise.pictures.body.surface import Solid
from poise.pictures.picture import draw_solution
from poise.solvers.solution import Solution

__all__ = ["demo_command", "follow", "list_things", "make_goals"]

BALL, BALL_RADIUS = (0.30, 1.30, 0.42), 0.06  # m
RAIL, RAIL_RADIUS = (-0.42, 1.00, 0.25), 0.02  # m; the rail runs past the figure, along z
PALM = 0.02  # m, from the middle of the hand to its palm
FEET = ("foot_l", "foot_r")
FRAMES, FPS = 150, 30
NEXT = "poise studio"
VIEW = Camera(azimuth=math.radians(-20), elevation=math.radians(13))


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
        Picture(draw_solution(solution, {"camera": VIEW, "beside": list_things()})).save(path)
    except MissingExtra as missing:
        return None, str(missing)
    return path, ""


def list_things() -> list[Solid]:
    """List the ball in front of the left hand, and the rail with its posts under the right hand."""
    x, y, z = np.add(RAIL, (0.0, -RAIL_RADIUS - PALM, 0.0)).tolist()
    ends = [(x, y, z - 0.35), (x, y, z + 0.35)]
    bars = [(ends[0], ends[1]), *((end, (end[0], 0.0, end[2])) for end in ends)]
    ball = Object(Sphere(np.add(BALL, (0.0, 0.0, BALL_RADIUS)), BALL_RADIUS), np.eye(4), color=(0.95, 0.55, 0.2))
    rail = [Object(Capsule(a, b, RAIL_RADIUS), np.eye(4), color=(0.62, 0.5, 0.38)) for a, b in bars]
    return [place_object(each, np.eye(4)) for each in (ball, *rail)]


def has_browser() -> bool:
    """Return whether a browser can be opened."""
    try:
        return bool(webbrowser.get()) and os.environ.get("BROWSER") != ""
    except webbrowser.Error:
        return False
