"""Arrows that move a handle along one axis. They start outside the grip, which stays free for dragging.

The arrows of viser's gizmo start at its centre, with a wide margin for the mouse: they would catch many drags of the
grip and restrict them to one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.studio.puppet import Puppet
from poise.studio.scene.grip_shapes import UNIT

if TYPE_CHECKING:
    import viser

__all__ = ["add_arrows", "find_outward_signs", "make_arrow", "project_on_axis"]


FIRST, LAST = 1.75, 4.0  # distance from the centre of the handle, in units of a grip: a bubble's radius is 1.3
COLORS = ((235, 52, 92), (38, 176, 96), (44, 118, 240))  # x, y, z


def find_outward_signs(model: Model, frame: str, q: Floats, unit: float) -> Floats:
    """Return 1 for each axis of a frame, or -1 if the axis points into the limb that carries it.

    With this sign, the arrow of an axis points out of the limb.
    """
    T = model.fk(q, frame)
    for above in model.ancestors(frame)[1:]:
        way = T[:3, :3].T @ (model.fk(q, above)[:3, 3] - T[:3, 3])
        far = float(np.linalg.norm(way))
        if far > unit:
            return np.where(way > 0.6 * far, -1.0, 1.0)
    return np.ones(3)


def make_arrow(axis: int, unit: float, sign: float = 1.0) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return the vertices and triangles of an arrow along one axis, or against it."""
    n = 24
    turn = 2 * np.pi * np.arange(n) / n
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    profile = [(0.0, FIRST), (0.1, FIRST), (0.1, LAST - 0.75), (0.28, LAST - 0.75), (0.0, LAST)]
    rings = [np.column_stack([r * circle, np.full(n, z)]) for r, z in profile]
    vertices = unit * np.concatenate(rings)
    k, j = np.meshgrid(np.arange(len(profile) - 1), np.arange(n), indexing="ij")
    a, b = k * n + j, k * n + (j + 1) % n
    faces = np.stack([a, b, b + n, a, b + n, a + n], axis=-1).reshape(-1, 3)
    vertices[:, 1:] *= sign  # half a turn about x, which keeps the orientation of the faces
    return np.roll(vertices, axis + 1, axis=1).astype(np.float32), faces.astype(np.uint32)


def add_arrows(
    client: viser.ClientHandle, above: str, puppet: Puppet, frame: str, pull: Callable[[int, Any], None]
) -> None:
    """Add three arrows under a node of one viewer's scene; `pull` is called with the index of the dragged one."""
    unit = UNIT * puppet.size
    signs = find_outward_signs(puppet.model, frame, puppet.q, unit)
    for axis, color in enumerate(COLORS):
        vertices, faces = make_arrow(axis, unit, float(signs[axis]))
        node = client.scene.add_mesh_simple(
            f"{above}/{'xyz'[axis]}", vertices, faces, color=color, cast_shadow=False, receive_shadow=False
        )

        async def on_drag(event: Any, axis: int = axis) -> None:
            pull(axis, event)

        node.on_drag("left")(on_drag)


def project_on_axis(origin: Floats, axis: Floats, eye: Floats, seen: Floats) -> float:
    """Return the position along an axis (a unit vector through `origin`) that is closest to a view ray [m].

    The ray leads from `eye` through `seen`, d = (seen - eye) / |seen - eye|, and the two lines are closest at
    s = (axis - (axis . d) d) . (eye - origin) / (1 - (axis . d)^2). Returns 0 if the axis is along the ray.
    """
    d = (seen - eye) / np.linalg.norm(seen - eye)
    across = axis - (axis @ d) * d
    size = float(across @ across)
    return float(across @ (eye - origin)) / size if size > 1e-3 else 0.0
