"""Pictures of the textbook: a Jacobian in blocks, a chain of transforms in two views, and gains."""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Pose
from poise.pictures.body.stick import Camera
from poise.pictures.loop_plots import choose_sticks
from poise.pictures.plots import COLORS, draw_scene, make_figure
from poise.textbook import Descent, GainStudy, JacobianBlocks, TransformChain

__all__ = ["draw_arrows", "draw_blocks", "draw_chain", "draw_descent", "draw_gains"]

OFF_PATH = "#e6e6e6"
MOST_NUMBERS = 12  # columns of a Jacobian whose numbers are written


def draw_blocks(blocks: JacobianBlocks) -> Any:
    """Draw a Jacobian as coloured blocks: one colour for each joint, one shade for each column, grey off the path."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    m, n = blocks.matrix.shape
    made, axes = make_figure(max(0.3 * n + 1.4, 4.0), 0.34 * m + 1.7)
    keys, tones = choose_tones(blocks)
    for column, (key, tone) in enumerate(zip(keys, tones, strict=True)):
        shown = tone != OFF_PATH
        color, shade = np.array(to_rgb(tone)), (0.35 + 0.15 * (column - keys.index(key))) * shown
        for row, value in enumerate(blocks.matrix[:, column]):
            fill = color + (1.0 - color) * (0.9 if value == 0.0 and shown else shade)
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=fill, edgecolor="white", linewidth=1.0))
            if n <= MOST_NUMBERS:
                axes.text(column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center", fontsize=7)
    for edge in [k for k in range(1, n) if blocks.joints[k] != blocks.joints[k - 1]]:
        axes.axvline(edge, color="#555555", linewidth=0.8)
    axes.set(xlim=(0, n), ylim=(m, 0), aspect="equal")
    axes.set_xticks(np.arange(n) + 0.5, blocks.columns, rotation=90, fontsize=8)
    axes.set_yticks(np.arange(m) + 0.5, blocks.rows, fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return made


def choose_tones(blocks: JacobianBlocks) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the block of each column, at most three wide, and its colour: grey off the path."""
    keys = [(joint, (k - blocks.joints.index(joint)) // 3) for k, joint in enumerate(blocks.joints)]
    shown = list(dict.fromkeys(key for key in keys if blocks.on_path[key[0]]))
    return keys, [COLORS[shown.index(key) % len(COLORS)] if key in shown else OFF_PATH for key in keys]


def draw_arrows(blocks: JacobianBlocks, look: dict[str, Any]) -> Any:
    """Draw the body, its joints in the colours of their blocks, and the linear part of each column as an arrow.

    Joints off the path are grey. An arrow starts at the frame; the longest one is a quarter of the body long.
    """
    if not isinstance(blocks, JacobianBlocks) or blocks.rows[0] != f"{blocks.frames[0]} x":
        raise InvalidValue('layout="arrows" draws textbook.find_blocks(model, q, frame), with linear rows.')
    made, axes = make_figure(5.6, 5.2)
    model, options = blocks.model, choose_sticks(blocks.model, look)
    draw_scene(axes, Pose(model, blocks.q), color="#bbbbbb", **options)
    places, moving = model.fk(blocks.q)[:, :3, 3], [joint for joint in model.joints if joint.nv]
    tones, each = choose_tones(blocks)[1], len(blocks.rows) // len(blocks.frames)
    for frame in blocks.frames:
        above = places[[model.frames.index(name) for name in model.ancestors(frame)]]
        axes.plot(*options["camera"].project(above).T, color="#555555", linewidth=3.6, zorder=5)
    size = 0.25 * model.length / max(float(np.linalg.norm(blocks.matrix[:3], axis=0).max()), 1e-12)
    for column, (joint, tone) in enumerate(zip(blocks.joints, tones, strict=True)):
        spot = options["camera"].project(places[model.frames.index(moving[joint].frame)])
        name = moving[joint].name if blocks.on_path[joint] and tone != tones[column - 1] else None
        axes.plot(*spot, "o", color=tone, markersize=9, markeredgecolor="#555555", zorder=6, label=name)
        for k, frame in enumerate(blocks.frames):
            begin = places[model.frames.index(model.frame(frame).name)]
            ends = options["camera"].project([begin, begin + size * blocks.matrix[each * k : each * k + 3, column]])
            if np.ptp(ends, axis=0).max() > 1e-9 * model.length:
                arrow = {"arrowstyle": "-|>", "color": tone, "linewidth": 1.8, "shrinkA": 0.0, "shrinkB": 0.0}
                axes.annotate("", ends[1], ends[0], arrowprops=arrow, zorder=7)
                axes.update_datalim(ends)
    axes.autoscale_view()
    axes.legend(frameon=False, fontsize=8, title="on the path", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made


def draw_descent(descent: Descent) -> Any:
    """Draw the curve f, the goal as a line, and the steps of a descent: along a tangent, then up or down to f."""
    made, axes = make_figure(6.0, 4.0)
    path = np.array(descent.path)
    values = np.array([float(descent.f(x)) for x in path])
    room = 0.2 * max(float(np.ptp(path)), 1e-6)
    line = np.linspace(path.min() - room, path.max() + room, 300)
    axes.plot(line, [float(descent.f(x)) for x in line], color=COLORS[0], linewidth=1.8, label="f(x)")
    axes.axhline(descent.goal, color=COLORS[1], linewidth=1.2, linestyle="--", label=f"goal = {descent.goal:g}")
    hit = values + descent.beta * (descent.goal - values)  # where the tangent ends
    axes.plot(np.repeat(path, 2)[1:], np.stack([values, hit], axis=1).ravel()[:-1], color="#888888", linewidth=1.0)
    axes.plot(path, values, "o", color="#444444", markersize=5, label=f"{len(path) - 1} steps")
    axes.set(xlabel="x", ylabel="f(x)")
    axes.legend(frameon=False, fontsize=9)
    return made


def draw_chain(chain: TransformChain, look: dict[str, Any]) -> Any:
    """Draw a chain of transforms factor by factor: above in the global view, below in the body's view."""
    if not len(chain.factors):
        raise InvalidValue("the chain has no factors: the frame stays at the world's origin.")
    count, whole = len(chain.factors), chain.list_body_views()[-1]
    made, _ = make_figure(1.8 * count + 0.6, 4.4)
    made.clear()
    panels = made.subplots(2, count, squeeze=False, sharex=True, sharey=True)
    flat = np.allclose(chain.factors[:, 2], (0.0, 0.0, 1.0, 0.0))
    camera = look["camera"] or (Camera.look_down() if flat else Camera(up="z", floor=None))
    views = {"global": (chain.list_global_views(), chain.labels[::-1]), "body": (chain.list_body_views(), chain.labels)}
    for row, (name, (stages, labels)) in zip(panels, views.items(), strict=True):
        for axes, frames, label in zip(row, stages, labels, strict=True):
            axes.plot(*camera.project(whole[:, :3, 3]).T, "o-", color="#dddddd", linewidth=2.0, markersize=3.5)
            draw_frames(axes, frames, camera, 0.2 * float(np.ptp(whole[:, :3, 3], axis=0).max()))
            axes.set_title(label, loc="left", fontsize=8)
            axes.set(aspect="equal", xticks=[], yticks=[])
        row[0].set_ylabel(f"{name} view", fontsize=10)
    return made


def draw_frames(axes: Any, frames: Floats, camera: Camera, size: float) -> None:
    """Draw the line through the origins of frames, and the x and y axes of the last one."""
    axes.plot(*camera.project(frames[:, :3, 3]).T, "o-", color=COLORS[0], linewidth=2.0, markersize=3.5)
    for axis, tone in ((0, COLORS[1]), (1, COLORS[2])):
        ends = np.stack([frames[-1, :3, 3], frames[-1, :3, 3] + size * frames[-1, :3, axis]])
        axes.plot(*camera.project(ends).T, color=tone, linewidth=2.0)


def draw_gains(study: GainStudy) -> Any:
    """Draw the factor of the error in one step against the gain, with the start of the oscillation of each rule."""
    made, axes = make_figure(7.4, 4.2)
    for k, (name, rates) in enumerate(study.rates.items()):
        color, start = COLORS[k % len(COLORS)], study.oscillates[name]
        words = "never" if start is None else f"from {start:.2f}"
        axes.plot(study.gains, rates, color=color, linewidth=1.8, label=f"{name}: {words}")
        if start is not None:
            axes.plot(start, np.interp(start, study.gains, rates), "o", color=color, markersize=7, zorder=5)
    axes.axhline(1.0, color="#888888", linewidth=1.0, linestyle="--")
    axes.text(study.gains[0], 1.01, "does not converge", fontsize=8, color="#666666", va="bottom")
    axes.set(xlabel="gain on the error", ylabel="factor of the error in one step", ylim=(0.0, 1.4))
    axes.legend(frameon=False, fontsize=9, title="oscillates (dot)", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made
