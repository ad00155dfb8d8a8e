"""`poise solve`: pose a body from the shell.

A goal is a frame and numbers, `--reach hand_l 0.4 1.2 0.3`. Typer does not support repeated options with several
values, so they are joined by commas before parsing; the form with commas is accepted as well.
"""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from typer.core import TyperCommand

import poise
from poise.cli.console import (
    PAGES,
    PICTURES,
    Body,
    check_out,
    complete_method,
    report_errors,
    report_written,
    write_as_options,
)
from poise.errors import InvalidValue, name_not_found
from poise.goals import Balance, LookAt, Reach, Rest
from poise.goals.goal import Goal
from poise.kinematics import Pose
from poise.limits import Clearance
from poise.model import Model
from poise.model.plane import find_normal
from poise.solvers.solution import Solution
from poise.solvers.table import name_goals
from poise.spatial import Rotation, Transform

__all__ = ["GoalCommand", "solve_command"]

SEVERAL = ("--reach", "--look-at", "--weight", "--priority")
REACHED, MISSED = 0, 1

Numbers = list[float]


class GoalCommand(TyperCommand):
    """A command that accepts goals written with spaces."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the words of each goal, then parse."""
        return super().parse_args(ctx, join_numbers(args))


def join_numbers(args: list[str]) -> list[str]:
    """Turn `--reach hand 1 2 3` into `--reach hand,1,2,3`; non-numeric words are kept for the error message."""
    out: list[str] = []
    gathering = False
    for k, arg in enumerate(args):
        if gathering and (is_number(arg) or lacks_number(out[-1], arg)):
            out[-1] += f",{arg}"
            continue
        gathering = k > 0 and args[k - 1] in SEVERAL
        out.append(arg)
    return out


def lacks_number(goal: str, arg: str) -> bool:
    """Return whether a word follows a goal that has no numbers yet, so that it is reported as an invalid number."""
    given = goal.split(",")[1:]
    return len(given) < 3 and not any(map(is_number, given)) and not arg.startswith("-")


def is_number(text: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def make_goal_option(help_text: str, shape: str) -> Any:
    """Return a Typer option that may be repeated."""
    return typer.Option(help=help_text, metavar=shape, show_default=False)


def solve_command(
    model: Body,
    reach: Annotated[
        list[str] | None,
        make_goal_option(
            "Bring a frame to a place, in metres (X Y of a planar body); with a quaternion, turn it too.",
            "FRAME X Y Z [QW QX QY QZ]",
        ),
    ] = None,
    look_at: Annotated[list[str] | None, make_goal_option("Point a frame's z axis at a place.", "FRAME X Y Z")] = None,
    pin: Annotated[list[str] | None, make_goal_option("Keep frames where they start.", "FRAME[,FRAME...]")] = None,
    balance: Annotated[
        list[str] | None, make_goal_option("Keep the centre of mass over these frames.", "FRAME[,FRAME...]")
    ] = None,
    rest: Annotated[bool, typer.Option(help="Use the remaining freedom to stay close to the rest pose.")] = True,
    weight: Annotated[list[str] | None, make_goal_option("A goal's weight.", "GOAL NUMBER")] = None,
    priority: Annotated[list[str] | None, make_goal_option("A goal's level; 0 comes first.", "GOAL LEVEL")] = None,
    clearance: Annotated[bool, typer.Option("--clearance", help="Avoid self-collisions.")] = False,
    start: Annotated[str | None, typer.Option(help="A named pose of the model, or a JSON file from --out.")] = None,
    method: Annotated[str, typer.Option(help="The solver method.", autocompletion=complete_method)] = "auto",
    mode: Annotated[str, typer.Option(help="nearest, repeatable or continuous.")] = "nearest",
    max_steps: Annotated[int, typer.Option(min=1, help="Maximum number of steps per search.")] = 200,
    restarts: Annotated[str, typer.Option(help="Number of restarts after a failed search, or auto.")] = "auto",
    seed: Annotated[int, typer.Option(help="The random seed of the restarts.")] = 0,
    base: Annotated[str, typer.Option(help="fixed, or free: add a free root joint (6 DOF).")] = "fixed",
    out: Annotated[
        list[Path] | None,
        typer.Option(help="Write the pose: json, png, pdf, svg, html, glb, bvh, csv, npz; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Find a pose that meets goals. Exit code 0 if all goals are reached, 1 if not, 2 for wrong usage."""
    with report_errors("solve"):
        for path in out or ():
            check_out(path, "write_pose", (*PAGES, *PICTURES))
        body = poise.load(model, base=base)
        q = read_start(body, start)
        places = (3,) if find_normal(body) is None else (2, 3)  # counts of coordinates of a position
        goals = [
            *(make_reach(read_numbers(text, "--reach", *places, 7)) for text in reach or ()),
            *(LookAt(name, xyz) for name, xyz in (read_numbers(text, "--look-at", 3) for text in look_at or ())),
            *(Reach(frame, body.fk(q, frame)) for frame in split_names(pin)),
            *([Balance(split_names(balance))] if balance else []),
        ]
        if not goals:
            raise InvalidValue("no goal is given. Type: poise solve humanoid --reach hand_l 0.4 1.2 0.3")
        named = adjust_goals(goals, read_settings(weight, "--weight"), read_settings(priority, "--priority"))
        options: dict[str, Any] = {"method": method, "mode": mode, "max_steps": max_steps, "seed": seed}
        options["restarts"] = int(restarts) if restarts.isdecimal() else restarts
        options["limits"] = [Clearance()] if clearance else ()
        options["record"] = any(path.suffix.lower() in PAGES for path in out or ())
        solution = poise.solve(body, [*named, *([Rest()] if rest else [])], q, **options)
        for path in out or ():
            write(solution, path)
    if as_json:
        typer.echo(json.dumps(solution.plain_values(), indent=2))
    else:
        typer.echo(str(solution))
        typer.echo(write_numbers(solution.pose))
        if not solution.reached:
            typer.echo(f"\n{write_as_options(solution.why(), 'solve')}")
    raise typer.Exit(REACHED if solution.reached else MISSED)


# ------------------------------------------------------------------------------------------------ parsing of goals


def read_numbers(text: str, option: str, *counts: int) -> tuple[str, Numbers]:
    """Parse a frame and its numbers; `counts` lists the allowed numbers of values."""
    name, *rest = text.split(",")
    if not name or len(rest) not in counts or not all(map(is_number, rest)):
        shape = {1: "a number", 2: "X Y", 3: "X Y Z [m]", 7: "X Y Z QW QX QY QZ (a quaternion)"}
        wanted = " or ".join(shape[count] for count in counts)
        raise InvalidValue(f"{option} {text.replace(',', ' ')}: give a name and {wanted}.")
    return name, [float(part) for part in rest]


def make_reach(given: tuple[str, Numbers]) -> Reach:
    """Return a Reach for a position (two numbers for a planar body), or for a position and a quaternion (wxyz)."""
    name, values = given
    if len(values) <= 3:
        return Reach(name, values)
    return Reach(name, Transform(Rotation(values[3:]), values[:3]))


def split_names(several: list[str] | None) -> list[str]:
    """Return the names of an option that was repeated or has commas."""
    return [name for text in several or () for name in text.split(",") if name]


def read_settings(several: list[str] | None, option: str) -> dict[str, float]:
    """Return the value of each goal, by its name."""
    return {name: values[0] for name, values in (read_numbers(text, option, 1) for text in several or ())}


def adjust_goals(goals: list[Goal], weights: dict[str, float], levels: dict[str, float]) -> list[Goal]:
    """Return the goals with the given weights and priorities, by the goals' names in a solution."""
    names = list(name_goals(goals))
    for name in (*weights, *levels):
        if name not in names:
            raise name_not_found("goal", name, names)
    out = []
    for name, goal in zip(names, goals, strict=True):
        level = levels.get(name, goal.priority)
        if level != int(level):
            raise InvalidValue(f"--priority {name} {level:g}: a level is 0, 1, 2, ...")
        out.append(replace(goal, name=name, weight=weights.get(name, goal.weight), priority=int(level)))
    return out


def read_start(model: Model, start: str | None) -> Any:
    """Return the start configuration: the rest pose, a named pose, or the pose of a JSON file."""
    if start is None:
        return np.array(model.rest)
    if start in model.poses:
        return np.array(model.poses[start])
    path = Path(start)
    if not path.is_file():
        known = ", ".join(map(repr, model.poses)) or "none"
        raise InvalidValue(
            f"--start {start}: there is no such file, nor such a pose of {model.name!r} (it has: {known}). "
            "--out pose.json writes a pose."
        )
    try:
        values = json.loads(path.read_text("utf-8"))
        q, joints = values.get("q"), values.get("joints")
        if q is None and joints is None:
            raise KeyError(path)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidValue(f"{start} holds no pose; --out pose.json writes one, and so does the studio.") from None
    return poise.Pose(model).replace(joints).q if q is None else poise.Pose(model, q).q


# ------------------------------------------------------------------------------------------------ output


def write(solution: Solution, path: Path) -> None:
    """Write the pose in the format given by the suffix."""
    suffix = path.suffix.lower()
    if suffix in PAGES:
        poise.show(solution, path)
    elif suffix in PICTURES:
        poise.plot(solution, path)
    else:
        poise.save(solution, path)
    report_written(path)


def write_numbers(pose: Pose) -> str:
    """Return q as text that can be pasted, and its angles in degrees by coordinate name."""
    numbers = ", ".join(f"{x:.6g}" for x in pose.q)
    turning = [
        (joint.name_coordinate(k), float(pose.q[joint.q.start + k]))
        for joint in pose.model.joints
        for k, coordinate in enumerate(joint.coordinates if joint.nq else ())
        if coordinate.unit == "rad"
    ]
    degrees = ", ".join(f"{name} {math.degrees(angle):.1f}" for name, angle in turning)
    return f"q = [{numbers}]" + (f"\ndegrees: {degrees}" if degrees else "")
