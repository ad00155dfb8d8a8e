"""Pictures of loops: the frames of a motion over one another, a search step by step, and the errors of traces."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.channels import name_channels
from poise.model.plane import is_planar
from poise.pictures.body.stick import Camera
from poise.pictures.front import stand_before
from poise.pictures.marks import find_marks
from poise.pictures.plots import COLORS, draw_curves, draw_scene, make_figure, trace_goals
from poise.solvers.solution import Solution
from poise.textbook import LoopTrace

__all__ = ["draw_overlays", "draw_steps", "draw_trace", "read_frames"]

Step: TypeAlias = tuple[int, str, Any]  # the number of the pose before it, a label, and the points of a sketch or None
MOST_PANELS = 8  # steps that are drawn side by side, unless they are chosen


@dataclass(frozen=True, slots=True, eq=False)
class FrameStack:
    """The frames of a motion, of a loop or of a recorded search.

    Attributes:
        model: The body.
        q: The configurations, (frames, nq).
        targets: The targets [m], (n, 3).
        sketches: The number of the frame, a label and points (n, 3) of lines to draw.
    """

    model: Model
    q: Floats
    targets: Sequence[Floats] = ()
    sketches: Sequence[tuple[int, str, Floats]] = ()


def read_frames(thing: Any) -> FrameStack:
    """Return the frames of a `LoopTrace`, a `Motion` or a recorded `Solution`.

    Raises:
        InvalidValue: It has no frames.
    """
    if isinstance(thing, LoopTrace):
        targets = [goal.target[:3, 3] for goal in thing.goals if goal.weight[:3].any()]
        return FrameStack(thing.model, thing.poses, targets, thing.sketches)
    if isinstance(thing, Motion) and len(thing):
        return FrameStack(thing.model, thing.q)
    if isinstance(thing, Solution) and thing.history is not None:
        targets = [mark.points[0] for mark in find_marks(thing) if mark.kind == "place"]
        return FrameStack(thing.model, thing.history.split_sweeps(), targets)
    raise InvalidValue(f"{thing!r} has no frames; give a LoopTrace, a Motion, or a Solution solved with record=True.")


def draw_trace(trace: LoopTrace, look: dict[str, Any]) -> Any:
    """Draw all frames of a loop over one another, next to its errors."""
    made, (left, right) = make_figure(8.6, 4.2, panels=2, widths=(1.0, 1.15))
    draw_overlay(left, read_frames(trace), look)
    draw_curves(right, dict(trace_goals(trace)))
    right.set_title(trace.reason, loc="left", fontsize=10, color="#666666")
    return made


def draw_overlays(stacks: Mapping[str, FrameStack], look: dict[str, Any]) -> Any:
    """Draw the frames of each stack over one another, in panels of one scale."""
    made, panels = make_figure(3.6 * len(stacks) + 0.4, 3.8, panels=len(stacks))
    for axes, (name, stack) in zip(np.atleast_1d(panels), stacks.items(), strict=True):
        draw_overlay(axes, stack, look)
        axes.set_title(name, loc="left", fontsize=10)
    share_window(np.atleast_1d(panels))
    return made


def draw_overlay(axes: Any, stack: FrameStack, look: dict[str, Any]) -> None:
    """Draw all frames over one another, the last one on top, with their number below."""
    poses = [Pose(stack.model, q) for q in stack.q]
    draw_scene(axes, poses[-1], ghosts=poses[:-1], targets=stack.targets, **choose_sticks(stack.model, look))
    for pale, line in zip(np.linspace(0.15, 0.5, max(len(poses) - 1, 1)), axes.lines, strict=False):
        line.set(alpha=pale, linewidth=1.6)
    axes.set_xlabel(f"Total: {len(poses)} frames", fontsize=10)
    if not is_planar(stack.model):
        axes.set_axis_on()
        axes.set(xticks=[], yticks=[])


def draw_steps(stacks: Mapping[str, FrameStack], look: dict[str, Any], chosen: Collection[int] | None = None) -> Any:
    """Draw steps side by side: each stroke that was sketched, or else the pose before and after the step.

    Without `chosen` numbers of steps, counted from 1, these are the first ones, and the last one, which arrives.
    """
    found = {name: list_steps(stack) for name, stack in stacks.items()}
    if chosen is not None:
        found = {name: [step for step in every if step[0] + 1 in chosen] for name, every in found.items()}
    else:
        found = {name: skip_equal(every, 0.01 * stacks[name].model.length) for name, every in found.items()}
        found = {name: [*every[: MOST_PANELS - 1], *every[MOST_PANELS - 1 :][-1:]] for name, every in found.items()}
    steps = [(stacks[name], *step) for name, every in found.items() for step in every]
    if not steps:
        raise InvalidValue("there is no step to draw: the first pose is the last, or no step has a number of steps=.")
    made, panels = make_figure(1.9 * len(steps) + 0.4, 2.6, panels=len(steps))
    for axes, (stack, k, label, points) in zip(np.atleast_1d(panels), steps, strict=True):
        before, after = (Pose(stack.model, q) for q in stack.q[k : k + 2])
        options = choose_sticks(stack.model, look)
        if points is None:
            draw_scene(axes, after, ghosts=[before], targets=stack.targets, **options)
        else:
            draw_scene(axes, before, targets=stack.targets, color="#bbbbbb", **options)
            flat = options["camera"].project(points)
            axes.plot(*flat.T, "o-", color=COLORS[0], linewidth=2.4, markersize=4, zorder=6)
        axes.set_title(label, loc="left", fontsize=9)
        axes.set(xticks=[], yticks=[])
    share_window(np.atleast_1d(panels))
    return made


def skip_equal(steps: list[Step], size: float) -> list[Step]:
    """Return the steps without strokes that are within `size` [m] of the one two before, but with the last one."""
    pairs = zip(steps, [*steps[:2], *steps], strict=False)
    return [s for s, old in pairs if s is steps[-1] or s is old or s[2] is None or np.abs(s[2] - old[2]).max() > size]


def list_steps(stack: FrameStack) -> list[Step]:
    """Return the steps of a stack: the number of the pose before it, a label, and the points of a sketch or None."""
    if stack.sketches:
        return [(k, f"{k + 1}: {label}", points) for k, label, points in stack.sketches]
    names = [name for joint in stack.model.joints if joint.nv for name in name_channels(joint)]
    moves = [np.flatnonzero(np.abs(stack.model.difference(*pair)) > 1e-12) for pair in pairwise(stack.q)]
    return [(k, f"{k + 1}: {names[at[0]]}" if len(at) == 1 else f"step {k + 1}", None) for k, at in enumerate(moves)]


def share_window(panels: Any) -> None:
    """Give all panels the limits that contain every one."""
    for axis in ("x", "y"):
        ends = np.array([getattr(axes, f"get_{axis}lim")() for axes in panels])
        for axes in panels:
            getattr(axes, f"set_{axis}lim")(ends[:, 0].min(), ends[:, 1].max())


def choose_sticks(model: Model, look: dict[str, Any]) -> dict[str, Any]:
    """Return the look with sticks unless another style is chosen, and no floor: shadows of many poses would mix."""
    camera = look["camera"] or (Camera.look_down() if is_planar(model) else stand_before(model))
    style = "stick" if look["style"] == "auto" else look["style"]
    return {"camera": replace(camera.on(model), floor=None), "style": style}
