"""Violations of limits, computed in NumPy as an oracle. It shares no code with the kernels.

Positive numbers are violations (radians; metres over the body's length); zero or less means satisfied.
"""

from collections.abc import Callable, Iterable
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


def measure_outside(model: poise.Model, q: Floats) -> Floats:
    """Return how far each velocity's coordinate lies outside its range; 0 for quaternions."""
    out = np.zeros(model.nv)
    for joint in model.joints:
        if joint.nv and joint.nq == joint.nv:
            x = q[joint.q]
            out[joint.v] = np.maximum(0, np.maximum(model.lower[joint.v] - x, x - model.upper[joint.v]))
    return out


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
    outside = np.linalg.norm(off - along[..., None] * axis, axis=-1) - cylinder.radius
    over = np.stack([outside, np.abs(along) - cylinder.length / 2], axis=-1)
    return np.asarray(np.linalg.norm(np.maximum(over, 0.0), axis=-1) + np.minimum(over.max(axis=-1), 0.0))


def least_along(a: Floats, b: Floats, distance: Callable[[Floats], Floats]) -> Floats:
    """Return the minima of a convex function of points along segments (n, 3), by refining a grid on each.

    `distance` takes points (n, k, 3), k on each segment.
    """
    rows, grid = np.arange(len(a)), np.linspace(0.0, 1.0, 41)
    low, high, value = np.zeros(len(a)), np.ones(len(a)), np.full(len(a), np.inf)
    for _ in range(12):
        s = low[:, None] + (high - low)[:, None] * grid
        values = distance(a[:, None] + s[..., None] * (b - a)[:, None])
        k = values.argmin(axis=1)
        value = np.minimum(value, values[rows, k])
        low, high = s[rows, np.maximum(k - 1, 0)], s[rows, np.minimum(k + 1, 40)]
    return value


def from_segment(start: Floats, end: Floats, points: Floats) -> Floats:
    """Return the distances of points (..., 3) from a segment, or from segments of the same shape."""
    along, away = end - start, points - start
    s = np.clip((away * along).sum(axis=-1) / np.maximum((along * along).sum(axis=-1), 1e-300), 0.0, 1.0)
    return np.asarray(np.linalg.norm(away - s[..., None] * along, axis=-1))


@lru_cache(maxsize=16)
def make_hull(vertices: bytes) -> Any:
    """Return SciPy's hull of points."""
    from scipy.spatial import ConvexHull

    return ConvexHull(np.frombuffer(vertices).reshape(-1, 3))


def hull_distance(vertices: Floats, points: Floats) -> Floats:
    """Return the signed distances of points (..., 3) from the convex hull of vertices, by SciPy's Qhull."""
    hull = make_hull(vertices.tobytes())
    heights = points @ hull.equations[:, :3].T + hull.equations[:, 3]
    feet = points[..., None, :] - heights[..., None] * hull.equations[:, :3]
    a, b, c = (vertices[hull.simplices[:, k]] for k in range(3))
    # the foot is in a triangle if the three that it makes with the sides have the same area together
    parts = [np.linalg.norm(np.cross(p - feet, q - feet), axis=-1) for p, q in ((a, b), (b, c), (c, a))]
    inside = sum(parts) <= np.linalg.norm(np.cross(b - a, c - a), axis=-1) * (1.0 + 1e-9)
    edges = [from_segment(p, q, points[..., None, :]) for p, q in ((a, b), (b, c), (c, a))]
    outside = np.min([np.where(inside, np.abs(heights), np.inf), *edges], axis=(0, -1))
    return np.asarray(np.where(heights.max(axis=-1) > 0.0, outside, heights.max(axis=-1)))


def region_distance(region: object, a: Floats, b: Floats) -> Floats:
    """Return the distances of segments (n, 3) from a region of the world."""
    if isinstance(region, HalfSpace):
        normal = np.array(region.normal, np.float64)
        return np.minimum(a @ normal, b @ normal) - float(normal @ region.point)
    if isinstance(region, Sphere):
        return from_segment(a, b, np.array(region.center)) - region.radius
    if isinstance(region, Box):
        return least_along(a, b, partial(box_distance, region))
    if isinstance(region, Cylinder):
        return least_along(a, b, partial(cylinder_distance, region))
    if isinstance(region, ConvexMesh):
        return least_along(a, b, partial(hull_distance, region.vertices))
    if isinstance(region, PointCloud):
        return np.asarray(from_segment(a[:, None], b[:, None], region.points).min(axis=1) - region.radius)
    assert isinstance(region, Capsule)
    return least_along(a, b, partial(from_segment, np.array(region.start), np.array(region.end))) - region.radius


def clearance_gaps(model: poise.Model, limit: Clearance, q: Floats) -> Floats:
    """Return the gaps of pairs, and of moving capsules and regions [m], minus the required distance."""
    capsules = limit.capsules(model)
    T = np.array([model.fk(q, capsule.frame) for capsule in capsules]).reshape(-1, 4, 4)
    a, b = (
        np.einsum("nij,nj->ni", T[:, :3, :3], np.array(ends).reshape(-1, 3)) + T[:, :3, 3]
        for ends in ([capsule.a for capsule in capsules], [capsule.b for capsule in capsules])
    )
    radius = np.array([capsule.radius for capsule in capsules])
    i, j = np.array(list(limit.index_pairs(model)), int).reshape(-1, 2).T
    apart = least_along(a[i], b[i], partial(from_segment, a[j][:, None], b[j][:, None]))
    still = {frame for frame, part in poise.kinematics.parts.find_rigid_parts(model).items() if part is None}
    moving = np.array([model.frame(capsule.frame).name not in still for capsule in capsules], bool)
    free = [region_distance(region, a[moving], b[moving]) - radius[moving] for region in limit.world]
    return np.concatenate([apart - radius[i] - radius[j], *free]) - limit.distance


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
