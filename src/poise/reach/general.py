"""All branches of a general six-revolute chain, from the eigenvalues of a 24 x 24 matrix.

The chain is a product of rotations, A = E1 ... E6, with a given A. E6 leaves the point c and the direction l of the
sixth axis unchanged, so both sides of E3 E4 E5 (c, l) = E2^-1 E1^-1 A (c, l) are known. With p and l measured from a
point of the second axis, p, l, p . p, p . l, p x l and (p . p) l - 2 (p . l) p are fourteen numbers that are linear in
1, sine and cosine of each joint. So L (1, s3, c3) (1, s4, c4) (1, s5, c5) = Q (1, s1, c1) (1, s2, c2): L depends on the
chain, Q on the target. Six combinations do not contain joints 1 and 2. With x = tan(v / 2), these six and their
products with x4 are twelve equations in the twelve products x4^0..3 x5^0..2, quadratic in x3: the values of x3 with
determinant 0 are eigenvalues, at most 16 of them real.

Raghavan and Roth, "Inverse kinematics of the general 6R manipulator and related linkages", J. Mechanical Design 115,
1993; the eigenproblem: Manocha and Canny, "Efficient inverse kinematics for general 6R manipulators", IEEE Trans.
Robotics and Automation 10, 1994.

If axes are parallel or intersect, the twelve equations may be dependent, and rounding decides. The reversed chain is
another problem with the same poses, and a chain with axes moved by 1e-4 has nearly the same: of these four variants,
those are used that find poses of the chain itself. The results are close to poses, and a search must follow. All
branches are probably found, but this is not proved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats, Indices
from poise.model.chain import Axis
from poise.model.family import span

__all__ = ["GeneralSix"]

Complexes = NDArray[np.complex128]
ANGLES = np.array([0.0, 2.0, -2.0]) * np.pi / 3.0
FROM_VALUES = np.linalg.inv(np.stack([np.ones(3), np.sin(ANGLES), np.cos(ANGLES)], axis=1))
TO_POWERS = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, -1.0]])  # powers of x: 1, sine, cosine times 1 + x^2
ORIGINS = np.array([0.3, 0.7, 1.1])  # rad, of joints 3, 4 and 5: the tangent is infinite half a turn from there
NUDGED = 1e-6  # perturbation of target transforms; a search follows
MOVED = 1e-4  # perturbation of the axes of the moved variants
PROBES = 32
CLOSE = 0.05  # rad: a pose this near to the true one counts as found
IMAGINARY = 0.1  # an eigenvalue with a smaller imaginary part may be real


class GeneralSix:
    """Guesses of the poses of six revolute joints, from the roots of a polynomial.

    Args:
        axes: The axes, innermost first.
        T: The transform of the frame with all joints at zero.
    """

    def __init__(self, axes: Sequence[Axis], T: Floats) -> None:
        unit = span(axes, T[:3, 3]) or 1.0
        h, p = np.array([axis.h for axis in axes]), np.array([axis.p for axis in axes]) / unit
        self._unit, self._zero, self._nudge = unit, np.linalg.inv(T), make_nudge(NUDGED)
        rng = np.random.default_rng(0)
        moved = h + MOVED * rng.normal(size=h.shape)
        moved /= np.linalg.norm(moved, axis=1)[:, None]
        shifted = p + 0.3 * MOVED * rng.normal(size=p.shape)
        ways = [Way(h, p, False), Way(h, p, True), Way(moved, shifted, False), Way(moved, shifted, True)]
        own = rng.uniform(-np.pi, np.pi, (PROBES, 6))
        self._ways = choose_ways(ways, own, place(h, p, own))

    def find(self, T: Floats) -> tuple[Indices, Floats]:
        """Return guesses for transforms (n, 4, 4): the index of the transform (k,), and joint values (k, 6)."""
        B = T @ self._zero
        B[:, :3, 3] /= self._unit
        B = self._nudge @ B  # axis-aligned transforms may make the equations degenerate
        found = [way.find(B) for way in self._ways]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found])


def make_nudge(size: float) -> Floats:
    """Return a small motion in a generic direction."""
    out = np.eye(4)
    out[:3, :3] = rotate(np.array([0.48, -0.31, 0.82]) / np.linalg.norm([0.48, -0.31, 0.82]), np.array(size))
    out[:3, 3] = size * np.array([0.37, 0.61, -0.7])
    return out


class Way:
    """One elimination: of a chain, or of the reversed chain."""

    def __init__(self, h: Floats, p: Floats, backwards: bool) -> None:
        self.backwards = backwards
        self.h, self.p = (-h[::-1], p[::-1]) if backwards else (h, p)
        at = np.stack(np.meshgrid(*(ANGLES + origin for origin in ORIGINS), indexing="ij"), axis=-1)
        x, v = np.broadcast_to(self.p[5], (3, 3, 3, 3)), np.broadcast_to(self.h[5], (3, 3, 3, 3))
        for k in (4, 3, 2):
            R = rotate(self.h[k], at[..., k - 2])
            x, v = apply(R, x - self.p[k]) + self.p[k], apply(R, v)
        values = make_fourteen(x - self.p[1], v)
        self.left = values.reshape(27, 14).T @ np.kron(np.kron(FROM_VALUES, FROM_VALUES), FROM_VALUES).T

    def find(self, B: Floats) -> tuple[Indices, Floats]:
        """Return guesses for products (n, 4, 4): the index of the product (k,), and joint values (k, 6)."""
        A: Floats = np.asarray(np.linalg.inv(B), dtype=np.float64) if self.backwards else B
        Q = self.expand_right(A)
        found, vectors = solve_pencils(*self.eliminate(Q))
        rows, columns = np.nonzero(np.abs(found.imag) <= IMAGINARY * (1.0 + np.abs(found)))
        x3 = found[rows, columns].real
        v = vectors[rows, :, columns]
        v = np.where((np.abs(x3) > 1.0)[:, None], v[:, 12:], v[:, :12])
        largest = v[np.arange(len(v)), np.abs(v).argmax(axis=1)]
        m = (v / largest[:, None]).real.reshape(-1, 4, 3)
        turns = [2.0 * np.arctan(x3), read_angle(m[:, :3], m[:, 1:]), read_angle(m[:, :, :2], m[:, :, 1:])]
        values = np.zeros((len(rows), 6))
        values[:, 2:5] = np.stack(turns, axis=1) + ORIGINS
        bases = [np.stack([np.ones_like(t), np.sin(t), np.cos(t)], axis=1) for t in turns]
        products = (bases[0][:, :, None, None] * bases[1][:, None, :, None] * bases[2][:, None, None, :]).reshape(
            -1, 27
        )
        left = products @ self.left.T - Q[rows, :, 0]
        inverse: Floats = np.asarray(np.linalg.pinv(Q[:, :, 1:]), dtype=np.float64)
        b = apply(inverse[rows], left)  # coefficients of 1, s2, c2, s1, s1 s2, s1 c2, c1, ... without the first
        values[:, 0], values[:, 1] = np.arctan2(b[:, 2], b[:, 5]), np.arctan2(b[:, 0], b[:, 1])
        values[:, 5] = self.find_last(A[rows], values)
        return rows, values[:, ::-1] if self.backwards else values

    def expand_right(self, A: Floats) -> Floats:
        """Return Q (n, 14, 9)."""
        h, p = self.h, self.p
        x, v = A[:, :3, :3] @ p[5] + A[:, :3, 3], A[:, :3, :3] @ h[5]
        x, v = x[:, None], v[:, None]
        for k in (0, 1):
            R = rotate(h[k], -ANGLES)
            x, v = apply(R, x - p[k]) + p[k], apply(R, v)
            x, v = (x, v) if k else (x[:, :, None], v[:, :, None])
        values = make_fourteen(x - p[1], v)
        return values.reshape(-1, 9, 14).transpose(0, 2, 1) @ np.kron(FROM_VALUES, FROM_VALUES).T

    def eliminate(self, Q: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the twelve equations, (n, 12, 12) for each power of x3."""
        n = len(Q)
        free = np.linalg.qr(Q[:, :, 1:], mode="complete")[0][:, :, 8:].transpose(0, 2, 1)
        S = free @ self.left
        S[:, :, 0] -= (free @ Q[:, :, :1])[:, :, 0]
        powers = (S @ np.kron(np.kron(TO_POWERS, TO_POWERS), TO_POWERS)).reshape(n, 6, 3, 9)
        out = np.zeros((3, n, 12, 12))
        out[:, :, :6, :9] = out[:, :, 6:, 3:] = powers.transpose(2, 0, 1, 3)
        return out[0], out[1], out[2]

    def find_last(self, A: Floats, values: Floats) -> Floats:
        """Return the sixth joint from the remaining rotation after the others."""
        R = A[:, :3, :3]
        for k in range(5):
            R = rotate(self.h[k], -values[:, k]) @ R
        h = self.h[5]
        sines = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1) @ h
        return np.asarray(np.arctan2(sines, np.trace(R, axis1=1, axis2=2) - h @ apply(R, h).T))


def choose_ways(ways: Sequence[Way], own: Floats, B: Floats) -> list[Way]:
    """Return a variant of the chain itself that finds all probe poses, or else two or more variants."""
    missed = [~finds(way, own, B) for way in ways]
    first, second, *_ = sorted(range(len(ways)), key=lambda k: int(missed[k].sum()))
    if first < 2 and not missed[first].any():
        return [ways[first]]
    chosen, left = [ways[first], ways[second]], missed[first] & missed[second]
    for k, way in enumerate(ways):
        if (left & missed[k]).sum() < left.sum():
            chosen.append(way)
            left = left & missed[k]
    return chosen


def finds(way: Way, own: Floats, B: Floats) -> NDArray[np.bool_]:
    """Return a mask of the products for which a variant finds the original pose."""
    rows, values = way.find(B)
    off = values - own[rows]
    near = np.abs(off - 2.0 * np.pi * np.round(off / (2.0 * np.pi))).max(axis=1) < CLOSE
    out = np.zeros(len(B), dtype=bool)
    out[rows[near]] = True
    return out


def solve_pencils(constant: Floats, linear: Floats, square: Floats) -> tuple[Complexes, Complexes]:
    """Solve (constant + linear x + square x^2) v = 0: return x (n, 24), and (v, x v) in columns (n, 24, 24)."""
    C = np.zeros((len(square), 24, 24))
    C[:, :12, 12:] = np.eye(12)
    C[:, 12:] = -divide(np.concatenate([constant, linear], axis=2), square)
    found, vectors = np.linalg.eig(C)
    return found.astype(complex), vectors.astype(complex)


def divide(right: Floats, square: Floats) -> Floats:
    """Return X with square X = right; singular matrices are perturbed at rounding level."""
    noise = np.random.default_rng(0).normal(size=square.shape[1:])
    try:
        size = np.abs(square).max(axis=(1, 2), keepdims=True)
        return np.asarray(np.linalg.solve(square + 1e-16 * size * noise, right))
    except np.linalg.LinAlgError:  # the perturbation may vanish in rounding and leave a zero pivot
        U, s, Vt = np.linalg.svd(square)
        least = 1e-16 * np.maximum(s[:, :1], np.abs(right).max(axis=(1, 2))[:, None])
        return np.asarray(Vt.transpose(0, 2, 1) @ (U.transpose(0, 2, 1) @ right / np.maximum(s, least)[:, :, None]))


def read_angle(low: Floats, high: Floats) -> Floats:
    """Return 2 atan x from numbers and x times these; x may be nearly infinite."""
    aa, ab, bb = (low * low).sum(axis=(1, 2)), (low * high).sum(axis=(1, 2)), (high * high).sum(axis=(1, 2))
    return np.asarray(2.0 * np.where(aa >= bb, np.arctan2(ab, aa), np.arctan2(bb, ab)))


def make_fourteen(p: Floats, v: Floats) -> Floats:
    """Return p, v, p . p, p . v, p x v, (p . p) v - 2 (p . v) p, (..., 14)."""
    pp, pv = (p * p).sum(axis=-1, keepdims=True), (p * v).sum(axis=-1, keepdims=True)
    return np.concatenate([p, v, pp, pv, np.cross(p, v), pp * v - 2.0 * pv * p], axis=-1)


def rotate(h: Floats, angle: Floats) -> Floats:
    """Return rotations about a unit vector, (..., 3, 3)."""
    x, y, z = h
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    a = np.asarray(angle)[..., None, None]
    return np.asarray(np.eye(3) + np.sin(a) * K + (1.0 - np.cos(a)) * (K @ K))


def apply(R: Floats, x: Floats) -> Floats:
    """Return R x, broadcast over leading axes."""
    return np.asarray((R @ x[..., None])[..., 0])


def place(h: Floats, p: Floats, values: Floats) -> Floats:
    """Return the products of rotations (n, 4, 4)."""
    out = np.tile(np.eye(4), (len(values), 1, 1))
    for k in reversed(range(6)):
        R = rotate(h[k], values[:, k])
        out[:, :3, :3], out[:, :3, 3] = R @ out[:, :3, :3], apply(R, out[:, :3, 3] - p[k]) + p[k]
    return out
