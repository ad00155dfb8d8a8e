"""A body as a stick figure on flat axes: lines between frames, dots at joints, crosses at targets.

A body that moves in the xy plane is drawn from above. Any other is seen through a `Camera` without perspective, with
its shadow on the floor, which shows the depth that a flat picture cannot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.kinematics import Pose
from poise.model import Model
from poise.model.plane import is_planar

__all__ = ["Camera", "draw_labels", "draw_pose", "draw_targets", "find_angles", "find_lengths"]


SHADOW = "#e4e4e4"
TARGET = "#D55E00"


@dataclass(frozen=True, slots=True)
class Camera:
    """An orthographic camera.

    Attributes:
        azimuth: The direction of the camera around the body [rad]; 0 looks along -x.
        elevation: The angle of the camera above the horizon [rad]; pi / 2 looks straight down.
        up: The up axis, "x", "y" or "z"; by default that of the drawn body.
        floor: The height of the floor, on which shadows fall [m]; "lowest": that of the lowest point; None: no shadows.
    """

    azimuth: float = math.radians(-55)
    elevation: float = math.radians(22)
    up: str | None = None
    floor: float | str | None = "lowest"

    @classmethod
    def look_down(cls) -> Camera:
        """Return a camera that looks straight down, x to the right and y up, for arms that move in the xy plane."""
        return cls(-math.pi / 2, math.pi / 2, "z", None)

    def on(self, model: Model) -> Camera:
        """Return the camera with the body's up axis, unless `up` is set."""
        return self if self.up is not None else replace(self, up=model.up)

    def project(self, points: ArrayLike) -> Floats:
        """Project points of the world (..., 3) to the picture (..., 2)."""
        sa, ca = math.sin(self.azimuth), math.cos(self.azimuth)
        se, ce = math.sin(self.elevation), math.cos(self.elevation)
        out: Floats = self.turn_upright(points) @ np.array([[-sa, -se * ca], [ca, -se * sa], [0.0, ce]])
        return out

    def measure_depth(self, points: ArrayLike) -> Floats:
        """Return the distance of points behind the origin, along the line of sight [m]."""
        sa, ca = math.sin(self.azimuth), math.cos(self.azimuth)
        se, ce = math.sin(self.elevation), math.cos(self.elevation)
        out: Floats = -self.turn_upright(points) @ np.array([ce * ca, ce * sa, se])
        return out

    def turn_upright(self, points: ArrayLike) -> Floats:
        """Permute the axes of points so that z is up: with y up, (x, y, z) becomes (z, x, y)."""
        first = ("xyz".index(self.up or "z") + 1) % 3
        out: Floats = np.asarray(points, dtype=np.float64)[..., [first, (first + 1) % 3, (first + 2) % 3]]
        return out

    def cast_shadow(self, points: ArrayLike) -> Floats:
        """Return the shadows of points, in the picture."""
        on_floor = np.array(points, dtype=np.float64)
        on_floor[..., "xyz".index(self.up or "z")] = self.floor if isinstance(self.floor, (int, float)) else 0.0
        return self.project(on_floor)


def find_bones(model: Model) -> list[tuple[int, int]]:
    """Return the pairs of parent and child frames that lines connect."""
    place = {name: k for k, name in enumerate(model.frames)}
    parents = [(model.frame(name).parent, k) for name, k in place.items()]
    return [(place[parent], k) for parent, k in parents if parent is not None]


def find_angles(model: Model, q: Floats) -> list[tuple[Floats, float]]:
    """Return the position of each rotating joint [m], and its angle [rad]."""
    places = model.fk(q)[:, :3, 3]
    turning = [j for j in model.joints if j.nv == 1 and not j.mimic and model.turns[j.v.start]]
    return [(places[model.frames.index(joint.frame)], float(q[joint.q.start])) for joint in turning]


def find_lengths(model: Model, q: Floats | None = None) -> list[tuple[Floats, Floats, float]]:
    """Return both ends and the length of each bone [m], without bones of length zero."""
    places = model.fk(np.array(model.rest) if q is None else q)[:, :3, 3]
    ends = [(places[a], places[b], float(np.linalg.norm(places[a] - places[b]))) for a, b in find_bones(model)]
    return [end for end in ends if end[2] > 1e-6 * model.length]


def draw_labels(axes: Any, pose: Pose, camera: Camera) -> None:
    """Label joints with their angles and bones with their lengths."""
    style = {"textcoords": "offset points", "ha": "center", "va": "center", "zorder": 6}
    style["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    for place, angle in find_angles(pose.model, pose.q):
        text = f"{math.degrees(angle):.0f}\N{DEGREE SIGN}"
        axes.annotate(text, camera.project(place), (0, -13), fontsize=9, **style)
    for a, b, length in find_lengths(pose.model, pose.q):
        start, end = camera.project(a), camera.project(b)
        across = np.array([start[1] - end[1], end[0] - start[0]]) / max(float(np.linalg.norm(end - start)), 1e-12)
        axes.annotate(f"{length:.3g} m", (start + end) / 2, tuple(13 * across), fontsize=8, color="#777777", **style)


def draw_pose(axes: Any, pose: Pose, camera: Camera, *, color: str, ghost: bool = False) -> None:
    """Draw the bones and joints of a pose, and its shadow on the floor; a ghost has pale bones only."""
    points: Floats = pose.model.fk(pose.q)[:, :3, 3]
    lines = find_bones(pose.model)
    if camera.floor is not None and not ghost:
        draw_lines(axes, camera.cast_shadow(points), lines, color=SHADOW, linewidth=5, zorder=1)
    thick = 2.0 if is_planar(pose.model) else 1.0  # a planar arm, not the bones of a figure
    width, alpha = (1.6 * thick, 0.35) if ghost else (3.2 * thick, 1.0)
    draw_lines(axes, camera.project(points), lines, color=color, linewidth=width, alpha=alpha, zorder=2 if ghost else 3)
    if not ghost:
        moving = [pose.model.frames.index(joint.frame) for joint in pose.model.joints if joint.nv]
        x, y = camera.project(points[moving]).T
        axes.plot(
            x, y, "o", markersize=5.5 * thick**0.5, color="white", markeredgecolor=color, markeredgewidth=1.5, zorder=4
        )


def draw_lines(axes: Any, flat: Floats, lines: Sequence[tuple[int, int]], **style: Any) -> None:
    """Draw lines between points of the picture, as one path with gaps."""
    path = np.full((3 * len(lines), 2), np.nan)
    path[0::3], path[1::3] = flat[[a for a, _ in lines]], flat[[b for _, b in lines]]
    axes.plot(*path.T, solid_capstyle="round", **style)


def draw_targets(axes: Any, targets: Sequence[ArrayLike], camera: Camera) -> None:
    """Draw a cross at each target, and a plumb line if the camera has a floor."""
    for target in targets:
        x, y = camera.project(target)
        if camera.floor is not None:
            below = camera.cast_shadow(target)
            axes.plot([x, below[0]], [y, below[1]], ":", color=TARGET, linewidth=1, zorder=1)
        axes.plot(x, y, "x", color=TARGET, markersize=9, markeredgewidth=2.4, zorder=5)
