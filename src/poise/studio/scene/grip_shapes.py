"""Shapes of handles: bubbles around hands and feet, a halo over the head, a belt around the hips, diamonds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.limits.capsules import body_capsules
from poise.model import Model
from poise.rig import Handle
from poise.spatial import Rotation

__all__ = ["UNIT", "GripShape", "shape_grip"]

Triangles = tuple[NDArray[np.float32], NDArray[np.uint32]]

UNIT = 0.04  # unit of grips, relative to body size


@dataclass(frozen=True, slots=True, eq=False)
class GripShape:
    """The shape of a handle."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    offset: Floats
    opacity: float


def shape_grip(model: Model, handle: Handle, q: Floats, size: float) -> GripShape:
    """Return the shape of a handle: a bubble, a halo, a belt or a diamond.

    Bubbles are around hands and feet, the halo over the head, the belt around the pelvis, diamonds at knees and elbows.
    """
    T = model.fk(q, handle.frame)
    unit = UNIT * size
    up = model.up_direction
    front = np.roll(up, 1)
    inside = T[:3, :3].T
    if handle.kind == "body" and "hip_l" in model.roles:
        hips = [model.fk(q, model.roles[side])[:3, 3] for side in ("hip_l", "hip_r")]
        wide = float(np.linalg.norm(hips[0] - hips[1]))
        middle = inside @ (np.mean(hips, axis=0) + 0.22 * wide * up - T[:3, 3])
        vertices, faces = make_ring(1.12 * wide, 0.2 * unit)
        return GripShape((vertices @ (inside @ turn_upright(up)).T).astype(np.float32), faces, middle, 0.9)
    if handle.kind == "gaze" and "head_top" in model.roles:
        top = model.fk(q, model.roles["head_top"])[:3, 3]
        vertices, faces = make_ring(1.25 * unit, 0.2 * unit)
        offset = inside @ (top + 0.75 * unit * up - T[:3, 3])
        return GripShape((vertices @ (inside @ turn_upright(up)).T).astype(np.float32), faces, offset, 0.9)
    if handle.kind == "pole":
        ahead = front if handle.name.startswith("knee") else -front
        vertices, faces = make_diamond(0.55 * unit)
        return GripShape(vertices, faces, inside @ (1.75 * unit * ahead), 0.9)
    person = handle.name.startswith(("hand_", "foot_"))
    radius = (
        1.3 * unit if person else min(1.3 * unit, max(1.9 * measure_thickness(model, handle.frame, unit), 0.45 * unit))
    )
    vertices, faces = make_ball(radius)
    lift = 0.55 * unit if handle.name.startswith("foot_") else 0.0
    return GripShape(vertices, faces, inside @ (lift * up), 0.5)


def measure_thickness(model: Model, frame: str, default: float) -> float:
    """Return the radius of the body at a frame [m]."""
    parts = find_rigid_parts(model)
    near = [c.radius for c in body_capsules(model) if parts[c.frame] == parts[frame]]
    return max(near, default=default)


def turn_upright(up: Floats) -> Floats:
    """Return the rotation that takes z to `up`, (3, 3)."""
    return np.asarray(Rotation.between((0.0, 0.0, 1.0), up).matrix)


def make_ring(around: float, thick: float) -> Triangles:
    """Return a torus about z."""
    n, m = 64, 16
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    r = around + thick * np.cos(v)
    vertices = np.stack([r * np.cos(u), r * np.sin(u), thick * np.sin(v)], axis=-1).reshape(-1, 3)
    return vertices.astype(np.float32), wrap_grid(n, m)


def make_ball(radius: float) -> Triangles:
    """Return a sphere of even triangles."""
    import trimesh

    made = trimesh.creation.icosphere(subdivisions=3, radius=radius)
    return np.asarray(made.vertices, dtype=np.float32), np.asarray(made.faces, dtype=np.uint32)


def make_diamond(radius: float) -> Triangles:
    """Return an octahedron whose faces share no vertices, so that its edges are sharp."""
    tips = radius * np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1.3], [0, 0, -1.3]])
    faces = [(k, (k + 1) % 4, 4) for k in range(4)] + [((k + 1) % 4, k, 5) for k in range(4)]
    vertices = tips[np.array(faces).reshape(-1)]
    return vertices.astype(np.float32), np.arange(24, dtype=np.uint32).reshape(-1, 3)


def wrap_grid(n: int, m: int) -> NDArray[np.uint32]:
    """Return the triangles of a grid of n by m points that wraps around both ways."""
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b = i * m + j, ((i + 1) % n) * m + j
    c, d = ((i + 1) % n) * m + (j + 1) % m, i * m + (j + 1) % m
    quads = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    return quads.astype(np.uint32)
