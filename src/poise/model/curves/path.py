"""Path: the curve of a path joint, and the orientation of the frame on it.

The joint's coordinate is the arc length from the start of the curve [m]. The curve goes through points, in the joint's
own axes (those of the world if the joint has no parent): a natural cubic spline, or a polyline with optional rounded
corners. The frame either keeps its axes or follows the curve, with one of its axes along the tangent.

The curve is stored as a table of cubic polynomials in the arc length (`model/curves/table.py`), so that kinematics and
derivatives belong to the same curve. Its speed differs from one metre per metre by at most `EXACT`, and the axis of a
frame that follows differs from the tangent by at most `EXACT` radians.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.model.curves.segments import join_lines, make_spline
from poise.model.curves.table import EXACT, find_box, make_pieces, measure_speed_error
from poise.model.joints.kinds import Primitive
from poise.native import Body

__all__ = ["EXACT", "Path", "read_path"]

SHAPES = ("spline", "polyline")
MOST_POINTS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A curve through points for a joint of kind "path".

    Attributes:
        points: (n, 3), two or more, in the joint's own axes [m].
        shape: "spline": a natural cubic spline through the points, periodic if closed. "polyline": straight lines
            between the points.
        closed: Whether it returns to the first point. A joint on a closed curve is unbounded unless given a range.
        follow: Whether the frame turns with the curve, `forward` along the tangent; otherwise it keeps its axes.
        forward: The axis of the frame that points along the tangent.
        up: Direction that the frame's z axis (y if `forward` is z) stays as close to as possible, as on a train. None:
            a rotation-minimising frame (Wang et al. 2008); on a closed curve the remaining rotation is spread evenly.
        corner: Radius of the rounded corners of a polyline [m]. With 0 they are sharp: at a corner the derivative is
            that of the line which begins there, and the frame cannot follow.
        length: Length of the curve [m].
        pieces: The kernel table, (m, 29).
    """

    points: Any
    shape: str = "spline"
    closed: bool = False
    follow: bool = True
    forward: tuple[float, ...] = (1.0, 0.0, 0.0)
    up: tuple[float, ...] | None = None
    corner: float = 0.0
    length: float = field(init=False)
    pieces: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise InvalidValue(f"Path: shape is {self.shape!r}; it must be 'spline' or 'polyline'.")
        for name in ("closed", "follow"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InvalidValue(f"Path: {name} is {getattr(self, name)!r}; it must be True or False.")
            object.__setattr__(self, name, bool(getattr(self, name)))
        points = read_points(self.points, self.closed)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "forward", read_direction(self.forward, "forward"))
        object.__setattr__(self, "up", None if self.up is None else read_direction(self.up, "up"))
        object.__setattr__(self, "corner", self._read_corner())
        scale = float(np.abs(points - points[0]).max())
        if self.shape == "spline":
            segments = make_spline(points, self.closed)
        else:
            segments = join_lines(points, self.closed, self.corner, self.follow)
        turn = (np.array(self.forward), None if self.up is None else np.array(self.up)) if self.follow else None
        pieces, length = make_pieces(segments, scale, turn, self.closed)
        pieces.setflags(write=False)
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "length", length)

    def _read_corner(self) -> float:
        try:
            corner = float(self.corner)
        except (TypeError, ValueError):
            corner = -1.0
        if not 0.0 <= corner < np.inf:
            raise InvalidValue(f"Path: corner is {self.corner!r}; it must be a radius in metres, or 0.")
        if corner and self.shape != "polyline":
            raise InvalidValue("Path: only a polyline has corners to be rounded; leave corner out.")
        return corner

    def transform(self, x: ArrayLike) -> Floats:
        """Return the pose of the frame at arc length `x` [m], in the joint's own axes, ``(..., 4, 4)``."""
        at = np.asarray(x, dtype=np.float64)
        out: Floats = carry_alone(self.pieces, self.length, self.closed).fk(at[..., None], "frame")
        return out

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Corners of a bounding box of the curve, along the joint's own axes [m]."""
        return find_box(self.pieces, self.length)

    @property
    def speed_error(self) -> float:
        """Largest deviation of the speed along the curve from one metre per metre."""
        return measure_speed_error(self.pieces, self.length)

    def resize(self, factor: float) -> Path:
        """Return the curve with its lengths multiplied by `factor`."""
        return Path(
            self.points * factor,
            self.shape,
            self.closed,
            self.follow,
            self.forward,
            self.up,
            self.corner * factor,
        )

    def key(self) -> tuple[Any, ...]:
        """Return the content as a tuple that can be compared."""
        rest = self.shape, self.closed, self.follow, self.forward, self.up, self.corner
        return ((self.points + 0.0).tobytes(), *rest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


def carry_alone(pieces: Floats, length: float, closed: bool) -> Body:
    """Return a body with a single path joint and its frame."""
    eye = np.eye(3)[None]
    return Body(
        {
            "nq": 1,
            "nv": 1,
            "ints": [[int(Primitive.PATH), -1, 1, 0, 0]],
            "numbers": np.array([[1.0, 0.0, 0.0]]),
            "R": eye,
            "p": np.zeros((1, 3)),
            "curves": [(pieces, length, closed)],
            "curve_index": [0],
            "mass": np.zeros((2, 4)),
            "frame_primitive": [0],
            "frame_R": eye,
            "frame_p": np.zeros((1, 3)),
            "frame_names": ["frame"],
            "aliases": [],
            "coordinates": [[0, 0, 0]],
        }
    )


def read_points(points: ArrayLike, closed: bool) -> Floats:
    """Return the points as a read-only array; drop the repeated first point of a closed curve."""
    try:
        out = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(f"Path: points must be rows of three numbers, not {points!r}.") from None
    if out.ndim != 2 or out.shape[1] != 3:
        raise ShapeMismatch(f"Path: points has shape {out.shape}; it must be (n, 3).")
    if not np.isfinite(out).all() or np.abs(out).max(initial=0.0) > 1e100:
        raise InvalidValue("Path: every number of points must be finite, and below 1e100.")
    if closed and len(out) > 1 and np.array_equal(out[0], out[-1]):
        out = out[:-1]
    least = 3 if closed else 2
    if not least <= len(out) <= MOST_POINTS:
        kind = "a closed" if closed else "an open"
        raise InvalidValue(f"Path: {kind} curve needs {least} to {MOST_POINTS} points, not {len(out)}.")
    steps = np.linalg.norm(np.diff(out, axis=0, append=out[:1] if closed else out[-1:] + 1.0), axis=1)
    if (steps == 0.0).any():
        k = int(np.argmin(steps))
        raise InvalidValue(f"Path: points {k} and {(k + 1) % len(out)} are the same; leave one out.")
    out.setflags(write=False)
    return out


def read_direction(value: Any, name: str) -> tuple[float, float, float]:
    """Return three numbers as a unit vector."""
    try:
        out = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        out = np.zeros(0)
    length = float(np.linalg.norm(out)) if out.shape == (3,) else 0.0
    if not 1e-100 < length < 1e100:
        raise InvalidValue(f"Path: {name} is {value!r}; it must be three numbers that are not all zero.")
    x, y, z = (out if abs(length - 1.0) < 1e-15 else out / length).tolist()
    return x, y, z


def read_path(kind: str, path: Any, where: str) -> Path | None:
    """Return the curve of a path joint, or None for other kinds; points alone mean a spline."""
    if kind != "path":
        if path is not None:
            raise InvalidValue(f"{where}: only a path joint has a path, not a {kind} one; leave it out.")
        return None
    if path is None:
        raise InvalidValue(f"{where}: a path joint needs path=, points (n, 3) or a poise.model.Path.")
    try:
        return path if isinstance(path, Path) else Path(path)
    except (InvalidValue, ShapeMismatch) as error:
        raise type(error)(f"{where}: {error}") from None
