"""Convert the segments of a curve to the kernel table: cubic polynomials in the arc length.

Every segment is cut into pieces. On a piece, position and quaternion are cubic Hermite polynomials that match the
curve's position, unit tangent, rotation and rate of rotation at both ends. Pieces are halved until the speed is one
metre per metre, and the frame's axis along the tangent, within `EXACT`.

A frame that follows the tangent t of a curve with curvature vector k = dt/ds rotates at the rate

    w = t x k + a t                 [rad/m]

where `a` is its roll rate: zero for a rotation-minimising frame (computed by double reflection: Wang, Juettler, Zheng
and Liu, Computation of rotation minimizing frames, 2008), or the rate that keeps it upright.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.model.curves.segments import Segment, list_breaks
from poise.spatial import Rotation

__all__ = ["EXACT", "find_box", "make_pieces", "measure_speed_error"]

Turn = tuple[Floats, Floats | None]
EXACT = 1e-6  # metres per metre, rad
MOST_HALVINGS = 11
MOST_PIECES = 100_000
INSIDE = np.arange(1, 8) / 8.0  # sample points of a piece
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(slots=True, eq=False)
class Trace:
    """The two ends of each piece, (m, 2, 3) each: position, unit tangent, curvature; and arc lengths (m + 1,)."""

    place: Floats
    tangent: Floats
    bend: Floats
    arc: Floats
    segment: NDArray[np.intp]


def make_pieces(segments: Sequence[Segment], scale: float, turn: Turn | None, closed: bool) -> tuple[Floats, float]:
    """Return the table (m, 29), and the length of the curve [m].

    Args:
        segments: The curve.
        scale: Its size [m].
        turn: The forward axis of the frame and the up direction, or None if the frame does not rotate.
        closed: Whether the curve is closed.
    """
    counts = np.array(list_breaks(segments))
    for _ in range(MOST_HALVINGS):
        trace = follow_curve(segments, counts, scale)
        if turn is None:
            Q, Q_rate = np.zeros((len(trace.place), 2, 4)), np.zeros((len(trace.place), 2, 4))
            Q[..., 0] = 1.0
        else:
            Q, Q_rate = turn_along(trace, *turn, closed)
        pieces = join_ends(trace, Q, Q_rate)
        off = measure_errors(pieces, trace.arc, None if turn is None else turn[0]) > EXACT
        if not off.any():
            return pieces, float(trace.arc[-1])
        counts[np.unique(trace.segment[off])] *= 2
        if counts.sum() > MOST_PIECES:
            break
    k = int(trace.segment[int(np.argmax(off))])
    raise InvalidValue(f"Path: the curve turns too sharply behind point {k}; move the points there apart.")


def follow_curve(segments: Sequence[Segment], counts: NDArray[np.intp], scale: float) -> Trace:
    """Return the ends of all pieces."""
    places: list[Floats] = []
    tangents: list[Floats] = []
    bends: list[Floats] = []
    steps: list[Floats] = []
    for i, (segment, count) in enumerate(zip(segments, counts, strict=True)):
        u = np.linspace(0.0, 1.0, count + 1)
        at, d1, d2 = segment.read(u)
        speed = np.linalg.norm(d1, axis=1, keepdims=True)
        middle, half = (u[:-1] + u[1:]) / 2.0, 0.5 / count
        inner = np.linalg.norm(segment.read((middle[:, None] + half * NODES).ravel())[1], axis=1)
        if min(speed.min(), inner.min()) < 1e-6 * scale / max(len(segments), 1):
            raise InvalidValue(f"Path: the curve stops and turns back behind point {i}; move the points there apart.")
        even = np.full(count, float(speed[0, 0]) / count)  # exact length for straight segments
        steps.append(even if segment.straight else half * (inner.reshape(count, -1) @ WEIGHTS))
        tangent = d1 / speed
        bend = (d2 - tangent * np.sum(d2 * tangent, axis=1, keepdims=True)) / speed**2
        for out, values in ((places, at), (tangents, tangent), (bends, bend)):
            out.append(np.stack([values[:-1], values[1:]], axis=1))
    arc = np.concatenate([[0.0], np.cumsum(np.concatenate(steps))])
    which = np.repeat(np.arange(len(segments)), counts)
    return Trace(np.concatenate(places), np.concatenate(tangents), np.concatenate(bends), arc, which)


# ------------------------------------------------------------------------------------------------ the frame


def turn_along(trace: Trace, forward: Floats, up: Floats | None, closed: bool) -> tuple[Floats, Floats]:
    """Return the quaternions at the ends of all pieces, and their rates, (m, 2, 4) each."""
    if up is None:
        R, roll = carry_frame(trace, forward, closed)
    else:
        R, roll = keep_upright(trace, forward, up)
    rate = np.cross(trace.tangent, trace.bend) + roll[..., None] * trace.tangent
    Q = np.array(Rotation.from_matrix(R).wxyz)
    flips = np.sign(np.sum(Q[:, 0] * Q[:, 1], axis=1))
    Q[:, 1] *= np.where(flips == 0.0, 1.0, flips)[:, None]
    Q_rate = np.empty_like(Q)  # (0, w) Q / 2
    Q_rate[..., 0] = -0.5 * np.sum(rate * Q[..., 1:], axis=-1)
    Q_rate[..., 1:] = 0.5 * (Q[..., :1] * rate + np.cross(rate, Q[..., 1:]))
    return Q, Q_rate


def carry_frame(trace: Trace, forward: Floats, closed: bool) -> tuple[Floats, Floats]:
    """Return rotation-minimising rotations, (m, 2, 3, 3), and their roll rates [rad/m]."""
    m = len(trace.place)
    R = np.empty((m, 2, 3, 3))
    at = np.array(Rotation.between(forward, trace.tangent[0, 0]).matrix)
    for i, turn in enumerate(reflect_twice(trace)):
        R[i, 0] = at
        R[i, 1] = at = turn @ at
    roll = np.zeros((m, 2))
    if closed:
        t = trace.tangent[0, 0]
        side = np.cross(t, np.eye(3)[int(np.argmin(np.abs(t)))])
        left = R[0, 0].T @ side
        arrived = at @ left
        angle = float(np.arctan2(np.cross(arrived, side) @ t, arrived @ side))
        share = np.stack([trace.arc[:-1], trace.arc[1:]], axis=1) / trace.arc[-1]
        R = np.array(Rotation.from_vector(angle * share[..., None] * trace.tangent).matrix) @ R
        roll += angle / trace.arc[-1]
    return R, roll


def reflect_twice(trace: Trace) -> Floats:
    """Return the rotation of the frame along each piece, by double reflection: first its ends, then its tangents."""
    first = reflect_across(trace.place[:, 1] - trace.place[:, 0])
    second = reflect_across(trace.tangent[:, 1] - np.einsum("mij,mj->mi", first, trace.tangent[:, 0]))
    out: Floats = second @ first
    return out


def reflect_across(normals: Floats) -> Floats:
    """Return reflections across planes with the given normals, (m, 3, 3)."""
    n = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    out: Floats = np.eye(3) - 2.0 * n[:, :, None] * n[:, None, :]
    return out


def keep_upright(trace: Trace, forward: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Return rotations with the z axis (y if `forward` is z) closest to `up`, and their roll rates [rad/m]."""
    t, k = trace.tangent, trace.bend
    side = np.cross(up, t)
    size = np.linalg.norm(side, axis=-1, keepdims=True)
    if size.min() < 1e-3:
        raise InvalidValue("Path: the curve runs along up somewhere, where upright is undefined; leave up out.")
    y = side / size
    y_rate = np.cross(up, k) / size
    y_rate = y_rate - y * np.sum(y * y_rate, axis=-1, keepdims=True)
    z = np.cross(t, y)
    own = np.eye(3)[2] if abs(forward[2]) < 0.9 else np.eye(3)[1]
    own = own - forward * float(forward @ own)
    own /= np.linalg.norm(own)
    basis = np.stack([forward, np.cross(own, forward), own], axis=1)
    return np.stack([t, y, z], axis=-1) @ basis.T, np.sum(y_rate * z, axis=-1)


# ------------------------------------------------------------------------------------------------ polynomials


def join_ends(trace: Trace, Q: Floats, Q_rate: Floats) -> Floats:
    """Return the table: for each piece its starting arc length and seven times four coefficients."""
    value = np.concatenate([trace.place, Q], axis=-1)
    slope = np.concatenate([trace.tangent, Q_rate], axis=-1)
    h = np.diff(trace.arc)[:, None]
    rise = (value[:, 1] - value[:, 0]) / h
    c2 = (3.0 * rise - 2.0 * slope[:, 0] - slope[:, 1]) / h
    c3 = (slope[:, 0] + slope[:, 1] - 2.0 * rise) / h**2
    table = np.stack([value[:, 0], slope[:, 0], c2, c3], axis=-1)
    return np.concatenate([trace.arc[:-1, None], table.reshape(len(h), 28)], axis=1)


def measure_errors(pieces: Floats, arc: Floats, forward: Floats | None) -> Floats:
    """Return the larger of each piece's deviation from unit speed and its frame's deviation from the tangent [rad]."""
    s = np.diff(arc)[:, None, None] * INSIDE[None, :, None]
    c = pieces[:, 1:].reshape(-1, 1, 7, 4)
    slope = c[..., 1] + s * (2.0 * c[..., 2] + s * 3.0 * c[..., 3])
    speed = np.linalg.norm(slope[..., :3], axis=-1)
    off: Floats = np.abs(speed - 1.0).max(axis=1)
    if forward is None:
        return off
    value = c[..., 0] + s * (c[..., 1] + s * (c[..., 2] + s * c[..., 3]))
    looks = Rotation(value[..., 3:]).apply(forward)
    ahead = slope[..., :3] / speed[..., None]
    astray: Floats = np.linalg.norm(looks - ahead, axis=-1).max(axis=1)
    return np.maximum(off, astray)


def measure_speed_error(pieces: Floats, length: float) -> float:
    """Return the largest deviation of the speed of a table from one metre per metre."""
    return float(measure_errors(pieces, np.append(pieces[:, 0], length), None).max())


def find_box(pieces: Floats, length: float) -> tuple[Floats, Floats]:
    """Return the corners of a bounding box of the curve [m], from the Bezier control points of its cubics."""
    c = pieces[:, 1:13].reshape(-1, 3, 4)
    h = np.diff(pieces[:, 0], append=length)[:, None]
    end = c[..., 0] + h * (c[..., 1] + h * (c[..., 2] + h * c[..., 3]))
    slope = c[..., 1] + h * (2.0 * c[..., 2] + h * 3.0 * c[..., 3])
    hull = np.concatenate([c[..., 0], c[..., 0] + h * c[..., 1] / 3.0, end - h * slope / 3.0, end])
    return hull.min(axis=0), hull.max(axis=0)
