"""Poses to fifty digits: Newton's method on a chain's product of turns and slides.

A pose that a search found to 1e-9 may or may not be near an exact one. Here it is refined to the exact pose with all
joints, by the shortest step; a joint that ends beyond its range is then fixed at the end of it. The remaining errors
are integers in units of 2^-192, and the step that removes them is computed in doubles: each round gains about
eight digits, regardless of the rounding of the step. Sines are mpmath's. The target's rotation is made
orthonormal first, since its numbers are rounded.
"""

from collections.abc import Sequence

import numpy as np
from mpmath import mp, mpf

from poise.model.chain import Axis, Chain

BITS = 192
ONE = 1 << BITS
DONE = ONE // 10**40  # largest error of an exact pose
SAME = mpf(10) ** -20  # exact poses that differ by less are the same
LONGEST = 0.1  # of a step [rad, m]
ROUNDS = 60

Vector = list
Target = tuple[list[Vector], Vector]  # the columns of the rotation, and the position


def fix(x: float | mpf) -> int:
    """Return a number in units of 2^-192."""
    return int(mp.nint(mp.ldexp(mpf(x), BITS)))


def dot(a: Vector, b: Vector) -> int:
    """Return a . b."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) >> BITS


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return [
        (a[1] * b[2] - a[2] * b[1]) >> BITS,
        (a[2] * b[0] - a[0] * b[2]) >> BITS,
        (a[0] * b[1] - a[1] * b[0]) >> BITS,
    ]


def make_orthonormal(R: np.ndarray) -> list[Vector]:
    """Return the columns of the nearest rotation, by Newton's iteration R <- (3 R - R R^T R) / 2."""
    M = mp.matrix(R.tolist())
    for _ in range(6):
        M = (3 * M - M * M.T * M) / 2
    return [[fix(M[i, k]) for i in range(3)] for k in range(3)]


def read_target(T: np.ndarray) -> Target:
    """Return a transform in fifty digits."""
    mp.prec = BITS
    return make_orthonormal(T[:3, :3]), [fix(float(x)) for x in T[:3, 3]]


def turn(h: Vector, s: int, c: int, x: Vector) -> Vector:
    """Return x turned about the unit vector h."""
    w, along = cross(h, x), dot(h, x) * (ONE - c) >> BITS
    return [(c * x[i] + s * w[i] + along * h[i]) >> BITS for i in range(3)]


class ExactChain:
    """A chain in fifty digits."""

    def __init__(self, chain: Chain) -> None:
        mp.prec = BITS
        self.axes: Sequence[Axis] = chain.axes
        self.h = []
        for axis in chain.axes:
            h = mp.matrix(axis.h.tolist())
            self.h.append([fix(x) for x in h / mp.norm(h)])
        self.p = [[fix(float(x)) for x in axis.p] for axis in chain.axes]
        self.slides = [axis.slides for axis in chain.axes]
        self.columns, self.p0 = make_orthonormal(chain.T[:3, :3]), [fix(float(x)) for x in chain.T[:3, 3]]
        self.ends = [(mpf(axis.lower), mpf(axis.upper)) for axis in chain.axes]

    def place(self, values: Vector) -> Target:
        """Return the transform of the frame."""
        columns, p = self.columns, self.p0
        for h, at, slides, v in zip(
            reversed(self.h), reversed(self.p), reversed(self.slides), reversed(values), strict=True
        ):
            if slides:
                p = [x + (fix(v) * y >> BITS) for x, y in zip(p, h, strict=True)]
                continue
            cosine, sine = mp.cos_sin(v)
            s, c = fix(sine), fix(cosine)
            columns = [turn(h, s, c, column) for column in columns]
            p = [x + y for x, y in zip(turn(h, s, c, [x - y for x, y in zip(p, at, strict=True)]), at, strict=True)]
        return columns, p

    def differentiate(self, values: Vector) -> np.ndarray:
        """Return the Jacobian (6, n) of the frame's place and rotation, in the world's axes, in doubles."""
        R, p = np.eye(3), np.zeros(3)
        axes = []
        for axis, v in zip(self.axes, values, strict=True):
            h, at = R @ axis.h, R @ axis.p + p
            axes.append((h, at))
            if axis.slides:
                p = p + float(v) * h
                continue
            K = np.cross(np.eye(3), h)
            R = (np.eye(3) + np.sin(float(v)) * K + (1.0 - np.cos(float(v))) * K @ K) @ R
            p = at - R @ axis.p
        end = R @ np.array([float(x) for x in self.p0]) / ONE + p
        rows = [
            [*h, 0.0, 0.0, 0.0] if axis.slides else [*np.cross(h, end - at), *h]
            for axis, (h, at) in zip(self.axes, axes, strict=True)
        ]
        return np.array(rows).T

    def measure(self, values: Vector, target: Target) -> list[int]:
        """Return the remaining error: the vector to the target's position, and the sines of the rotation to its own."""
        columns, p = self.place(values)
        turns = [0, 0, 0]
        for a, b in zip(columns, target[0], strict=True):
            turns = [x + y for x, y in zip(turns, cross(a, b), strict=True)]
        return [a - b for a, b in zip(target[1], p, strict=True)] + [x // 2 for x in turns]

    def polish(self, values: Sequence[float], target: Target, held: Sequence[int] = ()) -> Vector | None:
        """Return the exact pose to which Newton's method converges, or None."""
        x = [mpf(v) for v in values]
        moved = [k for k in range(len(x)) if k not in held]
        for _ in range(ROUNDS):
            left = self.measure(x, target)
            size = max(abs(e) for e in left)
            if size < DONE:
                return x
            J = self.differentiate(x)[:, moved]
            step = np.linalg.lstsq(J, np.array([e / size for e in left]), rcond=1e-15)[0]
            unit = min(mp.ldexp(size, -BITS), LONGEST / float(np.abs(step).max()))
            for k, d in zip(moved, step, strict=True):
                x[k] += unit * mpf(float(d))
        return None

    def measure_excesses(self, values: Vector) -> list[mpf]:
        """Return the distance of each joint outside its range, up to whole turns; not positive inside."""
        out = []
        for v, (low, high), slides in zip(values, self.ends, self.slides, strict=True):
            if slides or not (mp.isfinite(low) and mp.isfinite(high)):
                out.append(max(low - v, v - high))
                continue
            off = v - (low + high) / 2
            off -= 2 * mp.pi * mp.nint(off / (2 * mp.pi))
            out.append(abs(off) - (high - low) / 2)
        return out

    def bring_inside(self, values: Sequence[float], target: Target) -> list[Vector]:
        """Return the exact pose of some values if it is inside; otherwise those with one joint fixed at its end."""
        found = self.polish(values, target)
        if found is None:
            return []
        outside = [k for k, e in enumerate(self.measure_excesses(found)) if e > 0]
        if not outside:
            return [found]
        out = []
        for k in outside if len(self.axes) > 6 else ():
            start = list(found)
            start[k] = self.find_end(k, found[k])
            again = self.polish(start, target, (k,))
            if again is not None and all(e <= 0 for j, e in enumerate(self.measure_excesses(again)) if j != k):
                out.append(again)
        return out

    def find_end(self, k: int, value: mpf) -> mpf:
        """Return the end of a joint's range nearest to a value, shifted to the same turn."""
        ends = [end for end in self.ends[k] if mp.isfinite(end)]
        turn = mpf(0) if self.slides[k] else 2 * mp.pi
        return min((end + n * turn for end in ends for n in (-1, 0, 1)), key=lambda end: abs(end - value))


def differ(a: Vector, b: Vector, slides: Sequence[bool]) -> mpf:
    """Return the distance of two poses, up to whole turns."""
    most = mpf(0)
    for x, y, slide in zip(a, b, slides, strict=True):
        d = x - y
        most = max(most, abs(d if slide else d - 2 * mp.pi * mp.nint(d / (2 * mp.pi))))
    return most
