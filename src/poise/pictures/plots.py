"""Plots with matplotlib, without a display."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import INDEX_NAME, FormatError, InvalidValue, MissingExtra
from poise.files.paths import convert_path
from poise.files.target import replace_file
from poise.kinematics import Pose
from poise.model import Model
from poise.model.geometry.looks import Piece
from poise.model.plane import is_planar
from poise.pictures.body.clay import BODY, GHOST, draw_clay, draw_marks
from poise.pictures.body.flesh import find_flesh
from poise.pictures.body.pieces import find_pieces, make_piece, report_missing
from poise.pictures.body.solids import find_solids
from poise.pictures.body.stick import Camera, draw_labels, draw_pose, draw_targets
from poise.pictures.body.surface import Solid
from poise.pictures.bounds import find_floor
from poise.pictures.front import stand_before
from poise.pictures.marks import GoalMark
from poise.pictures.mesh_picture import draw_meshes
from poise.solvers.race import Race
from poise.solvers.solution import Solution
from poise.textbook import LoopTrace

__all__ = ["make_figure", "plot_history", "plot_pose", "plot_race", "save_figure"]

# distinct in hue and in lightness, readable on white and in grey (Okabe and Ito's palette)
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
DASHES = ("-", "--", ":")
LEAST = 1e-12  # errors of zero are drawn as this [m or rad]
PICTURES = ("png", "pdf", "svg", "jpg")
MOST_LABELS = 8  # joints of a planar arm at most to label with angles
STYLES = ("auto", "body", "stick")


def make_figure(
    width: float = 7.0, height: float = 4.2, panels: int = 1, widths: Sequence[float] | None = None
) -> tuple[Any, Any]:
    """Return a new figure and its axes (one, or an array of `panels` side by side), drawn without a display.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra(f"pictures need matplotlib. Type: pip install '{INDEX_NAME}[studio]'") from None
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    every = made.subplots(1, panels, squeeze=False, width_ratios=widths)[0]
    for axes in every:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    return made, every[0] if panels == 1 else every


def save_figure(made: Any, path: str | PathLike[str]) -> Path:
    """Write the picture atomically, through a temporary file.

    Raises:
        FormatError: The extension is not that of a picture, or the path cannot be written.
    """
    text = convert_path(path)
    ending = Path(text).suffix[1:].lower()
    known = made.canvas.get_supported_filetypes()
    if ending and ending not in known:
        raise FormatError(
            f"is not a picture; use the suffix {', '.join('.' + name for name in PICTURES)}. For an animation use .gif "
            f"or .mp4, or a page: poise.show(thing, {str(Path(text).with_suffix('.html'))!r}).",
            text,
        )
    with replace_file(text) as rough:
        made.savefig(rough, dpi=160, format=rough.suffix[1:].lower() or "png")
    return Path(text)


def plot_race(race: Race, path: str | PathLike[str]) -> Path:
    """Draw the error curves of a race: mean error against step, both logarithmic."""
    return save_figure(draw_race(race), path)


def draw_race(race: Race) -> Any:
    """Draw the error curves of a race, with the measured times and the flops of a step as Rabbani prints them."""
    made, axes = make_figure()
    for k, racer in enumerate(r for r in race.racers if not r.refused and len(r.curve)):
        steps = np.arange(len(racer.curve)) + 1
        style = DASHES[(k // len(COLORS)) % len(DASHES)]
        flops = "" if racer.printed is None else f", {racer.printed} flops"
        words = f"{racer.method}: {racer.microseconds:.0f} \N{MICRO SIGN}s{flops}"
        axes.loglog(steps, racer.curve, style, color=COLORS[k % len(COLORS)], linewidth=1.8, label=words)
    axes.set_xlabel("step")
    axes.set_ylabel("error, geometric mean [m or rad]")
    axes.set_title(f"{race.frame} of {race.model}", loc="left", fontsize=11)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return made


def plot_pose(
    pose: Pose,
    path: str | PathLike[str],
    *,
    ghosts: Sequence[Pose] = (),
    targets: Sequence[ArrayLike] = (),
    camera: Camera | None = None,
    title: str = "",
    style: str = "auto",
) -> Path:
    """Draw a body and its targets; `poise.plot` draws any object, including a solution's goals.

    Args:
        pose: The pose to draw.
        path: The file to write; the extension selects the format.
        ghosts: Other poses, of the same or another body, drawn pale behind it: the start, other solutions.
        targets: Points in the world [m], drawn as crosses.
        camera: The camera; by default planar bodies are seen from above, others from the front, with a shadow.
        title: A line above the picture.
        style: "body", "stick", or "auto": sticks for planar bodies.
    """
    made, axes = make_figure(5.0, 4.2)
    draw_scene(axes, pose, ghosts=ghosts, targets=targets, camera=camera, style=style)
    axes.set_title(title, loc="left", fontsize=11)
    return save_figure(made, path)


def draw_scene(
    axes: Any,
    pose: Pose,
    *,
    ghosts: Sequence[Pose] = (),
    targets: Sequence[ArrayLike] = (),
    marks: Sequence[GoalMark] = (),
    camera: Camera | None = None,
    color: str | None = None,
    style: str = "auto",
    labels: bool = False,
    beside: Sequence[Solid] = (),
    pixel: float = 0.0,
) -> None:
    """Draw a pose, its ghosts, targets, other solids and the goals of a solution, in equal units on both axes.

    See `plot_pose`. `pixel` is the side of the smallest detail the picture shows [m], or 0 if unknown.
    """
    if style not in STYLES:
        raise InvalidValue(f"style is {style!r}; it must be one of {', '.join(map(repr, STYLES))}.")
    flat = is_planar(pose.model)
    view = (camera or (Camera.look_down() if flat else stand_before(pose.model))).on(pose.model)
    if view.floor == "lowest":
        view = replace(view, floor=find_floor(pose.model, pose.q))
    if style == "stick" or (style == "auto" and flat):
        for ghost in ghosts:
            draw_pose(axes, ghost, view, color=color or COLORS[0], ghost=True)
        draw_pose(axes, pose, view, color=color or COLORS[0])
        if labels and flat and len(pose.model.joints) <= MOST_LABELS:
            draw_labels(axes, pose, view)
    else:
        for ghost in ghosts:
            draw_body(axes, ghost, view, color or GHOST, ghost=True)
        draw_body(axes, pose, view, color, beside=beside, pixel=pixel)
    draw_targets(axes, targets, view)
    draw_marks(axes, list(marks), view)
    axes.set_aspect("equal")
    axes.margins(0.1)
    if not flat:
        axes.set_axis_off()


def draw_body(
    axes: Any,
    pose: Pose,
    camera: Camera,
    color: str | None,
    *,
    ghost: bool = False,
    beside: Sequence[Solid] = (),
    pixel: float = 0.0,
) -> None:
    """Draw a pose with the meshes of its file if it has any, otherwise as clay."""
    report_missing(pose.model)
    pieces = find_pieces(pose.model)
    bare = bool(beside) and not pieces  # only an image can draw objects in front of some parts and behind others
    if bare:
        pieces = cover_flesh(pose.model, color or BODY)
    if pieces:
        draw_meshes(axes, pose, pieces, camera, color=color, ghost=ghost, beside=beside, pixel=pixel, closed=bare)
    elif not find_solids(pose.model):  # a body without length, mass and shape
        draw_pose(axes, pose, camera, color=color or COLORS[0], ghost=ghost)
    else:
        draw_clay(axes, pose, camera, color=color or BODY, ghost=ghost)


def cover_flesh(model: Model, color: str) -> tuple[Piece, ...]:
    """Return the flesh of a body without meshes as pieces."""
    from matplotlib.colors import to_rgb

    return tuple(make_piece(part.surface, part.frame, np.eye(4), (*to_rgb(color), 1.0)) for part in find_flesh(model))


def plot_history(solutions: Solution | Mapping[str, Solution], path: str | PathLike[str]) -> Path:
    """Draw the error by step: one curve per goal and unit, or one curve per named solution.

    Raises:
        InvalidValue: A solution has no history; solve with record=True.
    """
    made, axes = make_figure()
    curves = trace_solutions(solutions) if isinstance(solutions, Mapping) else trace_goals(solutions)
    draw_curves(axes, dict(curves))
    return save_figure(made, path)


def draw_curves(axes: Any, curves: Mapping[str, NDArray[np.float64]]) -> None:
    """Draw errors by step, on a logarithmic scale."""
    for k, (label, curve) in enumerate(curves.items()):
        style = DASHES[(k // len(COLORS)) % len(DASHES)]
        axes.semilogy(np.maximum(curve, LEAST), style, color=COLORS[k % len(COLORS)], linewidth=1.8, label=label)
    some = [curve[curve > LEAST].min() for curve in curves.values() if (curve > LEAST).any()]
    if some:
        axes.set_ylim(bottom=max(LEAST, 0.3 * min(some)))  # zero errors are below the picture
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("step")
    axes.set_ylabel("error [m or rad]")
    axes.legend(frameon=False, fontsize=9)


def trace_goals(solution: Solution | LoopTrace) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the errors of every goal by step, in metres and in radians."""
    errors = read_errors(solution)
    names = [goal.name for goal in solution.goals] if isinstance(solution, LoopTrace) else list(solution.errors)
    for k, name in enumerate(names):
        for unit, part in enumerate(("m", "rad")):
            if errors[:, k, unit].any():
                yield f"{name} [{part}]", errors[:, k, unit]


def trace_solutions(solutions: Mapping[str, Solution | LoopTrace]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the largest error of each solution or loop by step."""
    for name, solution in solutions.items():
        yield name, read_errors(solution).max(axis=(1, 2))


def read_errors(solution: Solution | LoopTrace) -> NDArray[np.float64]:
    """Return the errors of a recorded solution or of a loop, (poses, goals, 2)."""
    if isinstance(solution, LoopTrace):
        return solution.errors
    if solution.history is None:
        raise InvalidValue("the solution has no history; solve with record=True.")
    return solution.history.errors
