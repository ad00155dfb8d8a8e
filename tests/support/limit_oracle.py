"""Violations of limits, computed in NumPy as an oracle. It shares no code with the kernels.

Positive numbers are violations (radians; metres over the body's length); zero or less means satisfied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

import poise
from poise.arrays import Floats
from poise.limits import (
    Box,
    Capsule,
    Clearance,
    Closed,
    ConvexMesh,
    Coupled,
    Cylinder,
    HalfSpace,
    Limit,
    PointCloud,
    Sphere,
)
from poise.limits.cone import find_cones
from poise.model.joints.joint import BallRange


def ranges_broken(model: poise.Model, q: Floats) -> float:
    """Return the violations of joint ranges, except for quaternions."""
    worst = -np.inf
    for joint in model.joints:
        if joint.nv and joint.nq == joint.nv and not joint.mimic:
            x = q[joint.q]
            worst = max(worst, float(np.maximum(model.lower[joint.v] - x, x - model.upper[joint.v]).max()))
    return worst


def quaternion_product(a: Floats, b: Floats) -> Floats:
    """Return Hamilton's product, wxyz."""
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def rotation_vector(q: Floats) -> Floats:
    """Return the log of a unit quaternion, of the shorter rotation."""
    q = -q if q[0] < 0 else q
    size = float(np.linalg.norm(q[1:]))
    return np.zeros(3) if size == 0.0 else 2.0 * np.arctan2(size, q[0]) * q[1:] / size


def cone_broken(cone: BallRange, q: Floats) -> float:
    """Return the violations of swing, twist and angle of a ball joint."""
    q = -q if q[0] < 0 else q
    axis = np.asarray(cone.axis, dtype=np.float64)
    worst = -np.inf
    half = np.arctan2(q[1:] @ axis, q[0])
    if cone.twist is not None:
        worst = max(worst, cone.twist[0] - 2 * half, 2 * half - cone.twist[1])
    if cone.angle is not None:
        worst = max(worst, float(np.linalg.norm(rotation_vector(q))) - cone.angle)
    if cone.swing is not None:
        back = np.concatenate([[np.cos(half)], -np.sin(half) * axis])
        s = rotation_vector(quaternion_product(q, back))
        flat = np.eye(3)[0 if abs(axis[0]) < 0.9 else 1]
        first = flat - axis * (flat @ axis)
        first /= np.linalg.norm(first)
        a, b = np.broadcast_to(cone.swing, (2,))
        worst = max(worst, (np.hypot(s @ first / a, s @ np.cross(axis, first) / b) - 1.0) * min(a, b))
    return float(worst)


def box_distance(box: Box, points: Floats) -> Floats:
    """Return the signed distances of points (..., 3) from a box."""
    over = np.abs((points - np.array(box.center)) @ box.matrix) - np.array(box.size) / 2
    return np.asarray(np.linalg.norm(np.maximum(over, 0.0), axis=-1) + np.minimum(over.max(axis=-1), 0.0))


def cylinder_distance(cylinder: Cylinder, points: Floats) -> Floats:
    """Signed distance of points (..., 3) from a cylinder."""
    start, end = np.array(cylinder.start), np.array(cylinder.end)
    axis = (end - start) / np.linalg.norm(end - start)
    off = points - (start + end) / 2
    along = off @ axis
    beside = np.linalg.norm(off - along[..., None] * axis, axis=-1) - cylinder.radius
    over = np.stack([beside, np.abs(along) - cylinder.length / 2], axis=-1)
    return np.asarray(np.linalg.norm(np.maximum(over, 0.0), axis=-1) + np.minimum(over.max(axis=-1), 0.0))


def least_along(a: Floats, b: Floats, distance: Callable[[Floats], Floats]) -> float:
    """Return the minimum of a convex function of points along a segment, by refining a grid."""
    low, high = 0.0, 1.0
    value = np.inf
    for _ in range(12):
        s = np.linspace(low, high, 41)
        values = distance(a + s[:, None] * (b - a))
        k = int(values.argmin())
        value = min(value, float(values[k]))
        low, high = s[max(k - 1, 0)], s[min(k + 1, 40)]
    return value


def from_segment(start: Floats, end: Floats, points: Floats) -> Floats:
    """Return the distances of points from a segment."""
    along = end - start
    size = float(along @ along)
    s = np.clip((points - start) @ along / size, 0.0, 1.0) if size > 0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - start - s[:, None] * along, axis=-1))


@lru_cache(maxsize=16)
def make_hull(vertices: bytes) -> Any:
    """Return SciPy's hull of points."""
    from scipy.spatial import ConvexHull

    return ConvexHull(np.frombuffer(vertices).reshape(-1, 3))


def hull_distance(vertices: Floats, points: Floats) -> Floats:
    """Return the signed distances of points (n, 3) from the convex hull of vertices, by SciPy's Qhull."""
    hull = make_hull(vertices.tobytes())
    heights = points @ hull.equations[:, :3].T + hull.equations[:, 3]
    feet = points[:, None] - heights[..., None] * hull.equations[:, :3]
    a, b, c = (vertices[hull.simplices[:, k]] for k in range(3))
    # the foot is in a triangle if the three that it makes with the sides have the same area together
    parts = [np.linalg.norm(np.cross(p - feet, q - feet), axis=-1) for p, q in ((a, b), (b, c), (c, a))]
    inside = sum(parts) <= np.linalg.norm(np.cross(b - a, c - a), axis=-1) * (1.0 + 1e-9)
    edges = [from_segments(p, q, points) for p, q in ((a, b), (b, c), (c, a))]
    outside = np.min([np.where(inside, np.abs(heights), np.inf), *edges], axis=(0, 2))
    return np.asarray(np.where(heights.max(axis=1) > 0.0, outside, heights.max(axis=1)))


def from_segments(start: Floats, end: Floats, points: Floats) -> Floats:
    """Return the distances of points (n, 3) from segments (m, 3), (n, m)."""
    along, away = end - start, points[:, None] - start
    s = np.clip((away * along).sum(axis=-1) / np.maximum((along * along).sum(axis=-1), 1e-300), 0.0, 1.0)
    return np.asarray(np.linalg.norm(away - s[..., None] * along, axis=-1))


def region_distance(region: object, a: Floats, b: Floats) -> float:
    """Return the distance of a segment from a region of the world."""
    if isinstance(region, HalfSpace):
        return float(min(np.dot(region.normal, p) - np.dot(region.normal, region.point) for p in (a, b)))
    if isinstance(region, Sphere):
        return float(from_segment(a, b, np.array([region.center]))[0]) - region.radius
    if isinstance(region, Box):
        return least_along(a, b, lambda p: box_distance(region, p))
    if isinstance(region, Cylinder):
        return least_along(a, b, lambda p: cylinder_distance(region, p))
    if isinstance(region, ConvexMesh):
        return least_along(a, b, lambda p: hull_distance(region.vertices, p))
    if isinstance(region, PointCloud):
        return min(float(from_segment(a, b, point[None])[0]) for point in region.points) - region.radius
    assert isinstance(region, Capsule)
    start, end = np.array(region.start), np.array(region.end)
    return least_along(a, b, lambda p: from_segment(start, end, p)) - region.radius


def clearance_gaps(model: poise.Model, limit: Clearance, q: Floats) -> Iterator[float]:
    """Return the gaps of pairs, and of moving capsules and regions [m], minus the required distance."""
    capsules = limit.capsules(model)
    placed = []
    for capsule in capsules:
        T = model.fk(q, capsule.frame)
        placed.append([T[:3, :3] @ np.array(end) + T[:3, 3] for end in (capsule.a, capsule.b)])
    for i, j in limit.index_pairs(model):
        start, end = placed[j]
        apart = least_along(placed[i][0], placed[i][1], partial(from_segment, start, end))
        yield apart - capsules[i].radius - capsules[j].radius - limit.distance
    still = {frame for frame, part in poise.kinematics.parts.find_rigid_parts(model).items() if part is None}
    for capsule, ends in zip(capsules, placed, strict=True):
        if model.frame(capsule.frame).name in still:
            continue
        for region in limit.world:
            yield region_distance(region, *ends) - capsule.radius - limit.distance


def loop_broken(model: poise.Model, limit: Closed, q: Floats) -> tuple[float, float]:
    """Return the opening of a loop, in body lengths and radians."""
    T = np.linalg.inv(model.fk(q, limit.other)) @ model.fk(q, limit.frame)
    row = limit.row(model)
    apart = T[:3, :3] @ row.point + T[:3, 3] - row.target[9:]
    R = T[:3, :3] @ row.target[:9].reshape(3, 3).T
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    turn = float(np.arctan2(np.linalg.norm(skew), (np.trace(R) - 1) / 2)) if row.turns else 0.0
    return float(np.linalg.norm(apart)) / model.length, turn


def limits_broken(model: poise.Model, limits: Iterable[Limit], q: Floats) -> dict[str, float]:
    """Return the violation of each limit; of loops beyond 1e-9."""
    limits = tuple(limits)
    out = {"ranges": ranges_broken(model, q)}
    for name, cone in find_cones(model, limits).items():
        out[f"cone {name}"] = cone_broken(cone, q[model.joint(name).q])
    for k, limit in enumerate(limits):
        if isinstance(limit, Coupled):
            row = limit.row(model)
            value = float(row.coefficients @ q[row.q_index])
            out[f"{k} {limit.name}"] = max(row.lower - value, value - row.upper)
        elif isinstance(limit, Clearance):
            out[f"{k} {limit.name}"] = -min(clearance_gaps(model, limit, q), default=np.inf) / model.length
        elif isinstance(limit, Closed):
            out[f"{k} {limit.name}"] = max(loop_broken(model, limit, q)) - 1e-9
    return out


def start_at_ends(model: poise.Model, rng: np.random.Generator) -> Floats:
    """Return a random pose with about half of the bounded joints at an end of their range."""
    q = model.random(rng)
    for joint in model.joints:
        if joint.nv and not joint.quaternion and not joint.mimic:
            ends = np.where(rng.random(joint.nv) < 0.5, model.lower[joint.v], model.upper[joint.v])
            q[joint.q] = np.where(np.isfinite(ends) & (rng.random() < 0.5), ends, q[joint.q])
    return q


def check_rates(
    model: poise.Model, q: Floats, dt: float, speed: float, acceleration: float, at_rest: bool = True
) -> None:
    """Check ranges, speeds and accelerations by differences of the poses; by default a body starts at rest."""
    rounding = 8.0 * np.finfo(float).eps * max(1.0, np.abs(q).max())  # of a second difference
    v = model.difference(q[:-1], q[1:])
    changes = np.diff(np.vstack([np.zeros((1, model.nv)), v]) if at_rest else v, axis=0)
    assert np.abs(v).max() <= speed * dt + rounding
    assert np.abs(changes).max() <= acceleration * dt**2 + rounding
    for joint in model.joints:
        if joint.nv and not joint.quaternion and not joint.mimic:
            assert (q[:, joint.q] >= model.lower[joint.v]).all()
            assert (q[:, joint.q] <= model.upper[joint.v]).all()
