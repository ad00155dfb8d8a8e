"""Curve segments: cubic polynomials of a spline, straight lines, and arcs that round a corner.

A segment has a parameter u from 0 to 1 and returns its position and its first and second derivatives by u. The spline
is implemented here because the core depends on NumPy only; the tests compare it with SciPy's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue

__all__ = ["Arc", "Cubic", "Segment", "join_lines", "make_spline"]

STRAIGHT = 1e-9  # rad: smaller turns do not count as corners


@dataclass(frozen=True, slots=True, eq=False)
class Cubic:
    """The polynomial c0 + c1 u + c2 u^2 + c3 u^3, coefficients (4, 3)."""

    coefficients: Floats

    def read(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return position, first and second derivative, each (k, 3)."""
        c0, c1, c2, c3 = self.coefficients
        x = u[:, None]
        return c0 + x * (c1 + x * (c2 + x * c3)), c1 + x * (2 * c2 + x * 3 * c3), 2 * c2 + x * 6 * c3

    @property
    def straight(self) -> bool:
        """Whether it is a straight line with constant speed."""
        return not self.coefficients[2:].any()


@dataclass(frozen=True, slots=True, eq=False)
class Arc:
    """A circular arc: center + radius (first cos a + second sin a), a from 0 to `angle`."""

    center: Floats
    first: Floats
    second: Floats
    radius: float
    angle: float

    def read(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return position, first and second derivative, each (k, 3)."""
        a = (self.angle * u)[:, None]
        out = self.radius * (np.cos(a) * self.first + np.sin(a) * self.second)
        along = self.radius * self.angle * (np.cos(a) * self.second - np.sin(a) * self.first)
        return self.center + out, along, -(self.angle**2) * out

    @property
    def straight(self) -> bool:
        """Whether it is a straight line with constant speed."""
        return False


Segment = Cubic | Arc


def make_line(start: Floats, end: Floats) -> Cubic:
    """Return the straight line between two points."""
    return Cubic(np.stack([start, end - start, np.zeros(3), np.zeros(3)]))


def make_spline(points: Floats, closed: bool) -> list[Segment]:
    """Return the cubic spline through the points, parametrised by chord length: natural, or periodic if closed.

    With h the chord lengths, d the divided differences and M the second derivatives at the points,

        h[i-1] M[i-1] + 2 (h[i-1] + h[i]) M[i] + h[i] M[i+1] = 6 (d[i] - d[i-1])

    Source: de Boor, A Practical Guide to Splines, chapter IV.
    """
    steps = np.diff(points, axis=0, append=points[:1] if closed else points[:0])
    h = np.linalg.norm(steps, axis=1)
    d = steps / h[:, None]
    n = len(points)
    A, b = np.eye(n), np.zeros((n, 3))
    for i in range(0 if closed else 1, n if closed else n - 1):
        row = np.zeros(n)
        row[i] = 2.0 * (h[i - 1] + h[i])
        row[i - 1] += h[i - 1]
        row[(i + 1) % n] += h[i]
        A[i], b[i] = row, 6.0 * (d[i] - d[i - 1])
    M = np.linalg.solve(A, b)
    out: list[Segment] = []
    for i, step in enumerate(h):
        here, ahead = M[i], M[(i + 1) % n]
        slope = d[i] - step * (2.0 * here + ahead) / 6.0
        cubic = [points[i], step * slope, step**2 * here / 2.0, step**2 * (ahead - here) / 6.0]
        out.append(Cubic(np.stack(cubic)))
    return out


def join_lines(points: Floats, closed: bool, radius: float, follow: bool) -> list[Segment]:
    """Return the polyline through the points, with corners rounded to a radius [m]; 0 leaves them sharp."""
    n = len(points)
    ways = np.diff(points, axis=0, append=points[:1] if closed else points[:0])
    lengths = np.linalg.norm(ways, axis=1)
    along = ways / lengths[:, None]
    inner = range(0 if closed else 1, n if closed else n - 1)
    turns = {i: find_turn(along[i - 1], along[i]) for i in inner}
    bent = [i for i in inner if turns[i] > STRAIGHT]
    if not radius:
        if bent and follow:
            raise InvalidValue(
                f"Path: the polyline has a corner at point {bent[0]}, where a frame that follows would jump; give "
                "corner= (a radius in metres) or follow=False."
            )
        return [make_line(points[i], points[i] + ways[i]) for i in range(len(ways))]
    cuts = np.zeros(n)
    for i in bent:
        cuts[i] = radius * np.tan(turns[i] / 2.0) if turns[i] < np.pi - 1e-6 else np.inf
    check_cuts(cuts, lengths, radius)
    out: list[Segment] = []
    for i in range(len(ways)):
        start = points[i] + cuts[i] * along[i]
        end = points[i] + (lengths[i] - cuts[(i + 1) % n]) * along[i]
        if lengths[i] - cuts[i] - cuts[(i + 1) % n] > 1e-12 * lengths[i]:
            out.append(make_line(start, end))
        corner = (i + 1) % n
        if corner in bent:
            out.append(round_corner(end, along[i], along[corner], radius, turns[corner]))
    return out


def find_turn(before: Floats, after: Floats) -> float:
    """Return the angle between two directions [rad]."""
    return float(2.0 * np.arctan2(np.linalg.norm(after - before), np.linalg.norm(after + before)))


def check_cuts(cuts: Floats, lengths: Floats, radius: float) -> None:
    """Raise `InvalidValue` if a line is too short to be rounded at both ends."""
    for i, length in enumerate(lengths):
        used = cuts[i] + cuts[(i + 1) % len(cuts)]
        if used > length * (1.0 + 1e-12):
            least = f"at most {radius * length / used:.3g}" if np.isfinite(used) else "none: the line turns back there"
            raise InvalidValue(
                f"Path: corner is {radius:g}, too large between points {i} and {(i + 1) % len(cuts)}; give {least}."
            )


def round_corner(start: Floats, before: Floats, after: Floats, radius: float, turn: float) -> Arc:
    """Return the arc tangent to two lines; `start` is its point on the first line."""
    inward = after - before * float(before @ after)
    inward /= np.linalg.norm(inward)
    return Arc(start + radius * inward, -inward, before, radius, turn)


def list_breaks(segments: Sequence[Segment]) -> list[int]:
    """Return the minimum number of pieces of each segment."""
    return [1 if segment.straight else 4 for segment in segments]
