"""`poise.plot`: a picture of any Poise object, with matplotlib and without a display."""

import io
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from poise.batch import ReachMap
from poise.diagnosis import Singularities
from poise.errors import AS_THINGS, InvalidValue, show_value
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.plane import is_planar
from poise.motion import Track
from poise.pictures.body.objects import find_floor_of, list_beside
from poise.pictures.body.stick import Camera
from poise.pictures.front import stand_before
from poise.pictures.goal_errors import draw_goal_errors
from poise.pictures.lesson_plots import draw_arrows, draw_blocks, draw_chain, draw_descent, draw_gains
from poise.pictures.loop_plots import draw_overlays, draw_steps, draw_trace, read_frames
from poise.pictures.maps.picture import draw_map
from poise.pictures.marks import find_marks
from poise.pictures.movie import is_movie, write_movie
from poise.pictures.plots import (
    draw_curves,
    draw_race,
    draw_scene,
    make_figure,
    save_figure,
    trace_goals,
    trace_solutions,
)
from poise.solvers.race import Race
from poise.solvers.solution import Solution
from poise.textbook import Descent, GainStudy, JacobianBlocks, LoopTrace, TransformChain

__all__ = ["Picture", "plot"]

STRIP = 6  # poses of a motion in a strip
LAYOUTS = ("auto", "overlay", "steps", "arrows")
OVERLAID = 5  # poses of a singular family, over one another


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A drawn figure; notebooks display it.

    Attributes:
        figure: The matplotlib figure, which may be changed.
    """

    figure: Any

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture atomically; the extension selects the format: png, pdf, svg, jpg."""
        return save_figure(self.figure, path)

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=110)
        return out.getvalue()


def plot(
    thing: Any,
    path: str | PathLike[str] | None = None,
    *,
    title: str = "",
    camera: Camera | None = None,
    style: str = "auto",
    layout: str = "auto",
    steps: Collection[int] | None = None,
) -> Picture:
    """Draw a picture of a body and its goals.

    Args:
        thing: A `Solution` (the body, its goals, and their errors, over the steps if the solve was
            recorded), a `Pose`, a `Model` (at rest), a `Motion` or `Track` (as a strip), a `Race`, a `ReachMap`,
            `Singularities` (poses of each family), a `LoopTrace` (its frames over one another and its errors), or a
            dict of solutions or traces by name (their errors over the steps). Of the
            textbook also `JacobianBlocks`, `TransformChain`, `GainStudy` and `Descent`.
        path: The file to write, if any: png, pdf, svg. A `Motion`, or the search of a recorded `Solution`, can be
            written as gif or mp4.
        title: A line above the picture.
        camera: The camera; its up axis is that of the body by default.
        style: "body", "stick", or "auto": sticks for planar bodies.
        layout: Of a motion, a trace, a recorded solution, or a dict of them: "overlay" draws all frames over one
            another and writes their number, "steps" draws steps side by side. Of `JacobianBlocks`: "arrows" draws the
            body, its joints in the colours of their blocks, and each column as an arrow.
        steps: Of the layout "steps": the numbers of the steps to draw, from 1; by default the first seven and the last.

    Returns:
        The picture: `.save(path)`, `.figure` for matplotlib, and an image in a notebook.

    Raises:
        InvalidValue: `thing` cannot be drawn, or the style or layout is unknown.
        MissingExtra: matplotlib, or for an MP4 imageio-ffmpeg, is not installed.
    """
    if path is not None and is_movie(path):
        return Picture(write_movie(thing, path, title=title, camera=camera, style=style))
    look = {"camera": camera, "style": style}
    made = draw_layout(thing, look, layout, steps)
    if title:
        made.suptitle(title, x=0.02, ha="left", fontsize=12)
    picture = Picture(made)
    if path is not None:
        picture.save(path)
    return picture


def draw_layout(thing: Any, look: dict[str, Any], layout: str, steps: Collection[int] | None = None) -> Any:
    """Draw an object in a layout, and return the figure."""
    if layout not in LAYOUTS:
        raise InvalidValue(f"layout is {layout!r}; it must be one of {', '.join(map(repr, LAYOUTS))}.")
    if layout == "auto":
        return draw_thing(thing, look)
    if layout == "arrows":
        return draw_arrows(thing, look)
    named = thing if isinstance(thing, dict) and thing else {"": thing.motion if isinstance(thing, Track) else thing}
    stacks = {str(name): read_frames(part) for name, part in named.items()}
    return draw_overlays(stacks, look) if layout == "overlay" else draw_steps(stacks, look, steps)


def draw_thing(thing: Any, look: dict[str, Any]) -> Any:
    """Draw any supported object, and return the figure."""
    painters: dict[type, Callable[[Any, dict[str, Any]], Any]] = {
        Solution: draw_solution,
        Pose: draw_one,
        Model: lambda model, how: draw_one(Pose(model), how),
        Motion: draw_strip,
        Track: lambda track, how: draw_strip(track.motion, how),
        ReachMap: draw_map,
        Race: lambda race, _: draw_race(race),
        LoopTrace: draw_trace,
        TransformChain: draw_chain,
        JacobianBlocks: lambda blocks, _: draw_blocks(blocks),
        GainStudy: lambda study, _: draw_gains(study),
        Descent: lambda descent, _: draw_descent(descent),
        Singularities: draw_families,
    }
    for kind, painter in painters.items():
        if isinstance(thing, kind):
            return painter(thing, look)
    if isinstance(thing, dict) and thing and all(isinstance(part, (Solution, LoopTrace)) for part in thing.values()):
        made, axes = make_figure()
        draw_curves(axes, dict(trace_solutions(thing)))
        return made
    kinds = ", ".join([*(kind.__name__ for kind in painters), "or a dict of solutions or traces by name"])
    raise InvalidValue(f"plot cannot draw {show_value(thing)}; it draws: {kinds}. {AS_THINGS}")


def draw_one(pose: Pose, look: dict[str, Any]) -> Any:
    """Draw a body without goals."""
    made, axes = make_figure(*(5.0, 4.2) if is_planar(pose.model) else (4.6, 5.0))
    draw_scene(axes, pose, labels=True, **look)
    return made


def draw_solution(solution: Solution, look: dict[str, Any]) -> Any:
    """Draw the body with its goals, next to the history of the errors, or the final errors."""
    made, (left, right) = make_figure(8.6, 4.6, panels=2, widths=(1.0, 1.15))
    flat = is_planar(solution.model)
    targets = [mark.points[0] for mark in find_marks(solution) if mark.kind == "place"] if flat else []
    draw_scene(left, solution.pose, targets=targets, marks=() if flat else find_marks(solution), labels=True, **look)
    if solution.history is not None and len(solution.history) > 1:
        draw_curves(right, dict(trace_goals(solution)))
    else:
        draw_goal_errors(right, solution)
    return made


def draw_strip(motion: Motion, look: dict[str, Any]) -> Any:
    """Draw some poses of a motion, evenly spaced in time, at one scale."""
    count = min(STRIP, len(motion))
    made, panels = make_figure(1.9 * count + 0.6, 3.8, panels=count)
    panels = np.atleast_1d(panels)
    look = look | {"camera": stand_camera(look["camera"], motion)}
    for axes, k in zip(panels, np.linspace(0, len(motion) - 1, count).round().astype(int), strict=True):
        draw_scene(axes, motion[int(k)], beside=list_beside(motion, int(k)), **look)
        axes.set_title(f"{k / motion.fps:.2f} s", fontsize=9, color="#666666")
    share_scale(panels)
    return made


def draw_families(found: Singularities, look: dict[str, Any]) -> Any:
    """Draw some poses of each singular family over one another, the first one darker, at one scale."""
    if not len(found):
        return draw_one(Pose(found.model), look)
    across = min(len(found), STRIP)
    made, panels = make_figure(2.7 * across + 0.6, 3.6, panels=across)
    panels = np.atleast_1d(panels)
    look = look | {"style": "stick" if look["style"] == "auto" else look["style"]}
    for axes, family in zip(panels, found, strict=False):
        first, *others = [Pose(found.model, q) for q in family.samples[:OVERLAID]]
        draw_scene(axes, first, ghosts=others, **look)
        axes.set_title(
            family.condition.replace(" and ", "\nand ").replace("an equation in ", "an equation in\n"), fontsize=8
        )
    share_scale(panels)
    return made


def stand_camera(camera: Camera | None, motion: Motion) -> Camera | None:
    """Return the camera with the floor of the whole clip, if its floor is "lowest"."""
    chosen = camera or (None if is_planar(motion.model) else stand_before(motion.model))
    if chosen is None or chosen.floor != "lowest":
        return camera
    return replace(chosen, floor=find_floor_of(motion))


def share_scale(panels: Any) -> None:
    """Give all panels the same scale and ground line, each centred on its body."""
    sizes = [np.diff([axes.get_xlim(), axes.get_ylim()], axis=1).ravel() for axes in panels]
    width = max(size[0] for size in sizes)
    low, high = min(axes.get_ylim()[0] for axes in panels), max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        middle = sum(axes.get_xlim()) / 2
        axes.set(xlim=(middle - width / 2, middle + width / 2), ylim=(low, high))
