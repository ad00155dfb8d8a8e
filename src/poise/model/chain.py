"""Chains: the path from the world to a frame as a product of exponentials.

With every joint of the path at zero, each joint has an axis in the world: a direction h and a point p. The pose of the
frame is then E1(v1) ... En(vn) M, where E is the rotation by v about its axis (or the translation by v along it), and M
is the pose of the frame at zero (Brockett 1984). Fixed and locked joints are merged into the axes. Mimic and flipped
joints read their coordinate through a gain and a bias, v = gain q + bias.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import cos, inf, isfinite, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model.curves.path import carry_alone
from poise.model.joints.kinds import Primitive
from poise.model.joints.primitives import make_kernel_table
from poise.model.tree import Tree

__all__ = ["Axis", "Chain", "cross", "find_chain", "find_readings", "measure_cross"]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A rotation or slide axis, given with all joints at zero.

    Attributes:
        joint: Name of the joint.
        h: Unit direction, in the world.
        p: A point on the axis [m].
        slides: Whether it slides; otherwise it rotates.
        lower: Lower bound [rad or m]; -inf if unbounded.
        upper: Upper bound [rad or m]; inf if unbounded.
        q: Index of its coordinate in q.
        gain: v = gain q + bias.
        bias: See gain.
    """

    joint: str
    h: Floats
    p: Floats
    slides: bool
    lower: float
    upper: float
    q: int
    gain: float
    bias: float

    def flip(self) -> Axis:
        """Return the axis of the inverse motion."""
        return replace(self, h=-self.h)

    @property
    def ends(self) -> tuple[float, float]:
        """The range. The open end of a rotation with one bound is placed a thousand turns away."""
        if self.slides or isfinite(self.lower) == isfinite(self.upper):
            return self.lower, self.upper
        far = 2000.0 * np.pi
        return (self.lower, self.lower + far) if isfinite(self.lower) else (self.upper - far, self.upper)

    @property
    def middle(self) -> float:
        """The middle of the range, or 0 if a bound is infinite."""
        lower, upper = self.ends
        return 0.5 * (lower + upper) if isfinite(lower) and isfinite(upper) else 0.0

    @property
    def half(self) -> float:
        """Half the width of the range, or infinity if a bound is infinite."""
        lower, upper = self.ends
        return 0.5 * (upper - lower) if isfinite(lower) and isfinite(upper) else inf

    def from_axis(self, point: Floats) -> float:
        """Return the distance of a point from the axis [m]."""
        return measure_cross(self.h, point - self.p)


def cross(a: list[float], b: list[float]) -> list[float]:
    """Return the cross product of two vectors; NumPy's own takes twenty times as long."""
    (ax, ay, az), (bx, by, bz) = a, b
    return [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]


def measure_cross(a: Floats, b: Floats) -> float:
    """Return the length of the cross product of two vectors."""
    x, y, z = cross(a.tolist(), b.tolist())
    return sqrt(x * x + y * y + z * z)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The moving axes from the world to a frame, base first, and the pose of the frame with all axes at zero.

    Attributes:
        axes: The axes. T: T_world_frame at zero. odd: Why the path is not a chain of rotations and slides, or "".
        twice: Why these are not independent, or "".
        still: Whether the chain also contains joints that are held at the values of the configuration.
    """

    axes: tuple[Axis, ...]
    T: Floats
    odd: str = ""
    twice: str = ""
    still: bool = False


def find_chain(
    model: Tree, frame: str, moves: NDArray[np.bool_], q: Floats, *, limited: bool = True, table: object = None
) -> Chain:
    """Return the chain to a frame.

    Args:
        model: The body.
        frame: Name of the frame.
        moves: Whether each degree of freedom may change, (nv,).
        q: Configuration with the values of the other joints.
        limited: Whether joint limits apply.
        table: The kernel table of the model, if it was computed before.
    """
    rows = make_kernel_table(model.layout) if table is None else table
    assert isinstance(rows, dict)
    index = rows["frame_names"].index(model.frame(frame).name)
    way = find_way(rows, index)
    names = coordinate_names(model)
    T, odd, twice, still = np.eye(4), "", "", False
    axes: list[Axis] = []
    for i in way:
        kind, _, _, q_at, v_at = rows["ints"][i]
        gain, bias, pitch = map(float, rows["numbers"][i])
        T = T @ placement(rows["R"][i], rows["p"][i])
        if kind == Primitive.SCALE:
            odd = odd or f"joint {names[q_at]!r} scales the lengths below it"
            continue
        single = kind in (Primitive.TURN, Primitive.SLIDE, Primitive.SCREW)
        if not (moves[v_at] and gain != 0.0):
            still = still or gain != 0.0
            if kind == Primitive.PATH:
                curve = carry_alone(*rows["curves"][rows["curve_index"][i]])
                T = T @ curve.fk(np.array([gain * q[q_at] + bias]), "frame")
                continue
            T = T @ motion(kind, q[q_at : q_at + 4] if not single else np.array([gain * q[q_at] + bias]), pitch)
            continue
        if kind not in (Primitive.TURN, Primitive.SLIDE):
            odd = odd or f"joint {names[q_at]!r} is not a single rotation or translation"
            continue
        if any(axis.q == q_at for axis in axes):
            twice = twice or f"joint {names[q_at]!r} moves it at two places (a mimic joint)"
        ends = (gain * model.lower[v_at] + bias, gain * model.upper[v_at] + bias) if limited else (-inf, inf)
        low, high = float(min(ends)), float(max(ends))
        axes.append(
            Axis(names[q_at], T[:3, 2].copy(), T[:3, 3].copy(), kind == Primitive.SLIDE, low, high, q_at, gain, bias)
        )
    return Chain(tuple(axes), T @ placement(rows["frame_R"][index], rows["frame_p"][index]), odd, twice, still)


def find_way(rows: dict[str, Any], frame: int) -> list[int]:
    """Return the indices of the primitives from the world to a frame in the kernel table, base first."""
    at = rows["frame_primitive"][frame]
    way: list[int] = []
    while at >= 0:
        way.append(at)
        at = rows["ints"][at][1]
    return way[::-1]


def find_readings(model: Tree, frame: str) -> dict[int, int]:
    """Return the indices in q that a frame depends on, each with the index of its velocity."""
    rows = make_kernel_table(model.layout)
    way = (rows["ints"][i] for i in find_way(rows, rows["frame_names"].index(model.frame(frame).name)))
    widths = {Primitive.BALL: 4, Primitive.SLIDE3: 3}
    return {q_at + k: v_at for kind, _, _, q_at, v_at in way for k in range(widths.get(Primitive(kind), 1))}


def coordinate_names(model: Tree) -> dict[int, str]:
    """Return the joint name of each index in q."""
    return {i: joint.name for joint in model.joints if joint.nv for i in range(joint.q.start, joint.q.stop)}


def placement(R: Floats, p: Floats) -> Floats:
    """Return the 4x4 matrix of a rotation and a position."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, p
    return out


def motion(kind: int, values: Floats, pitch: float) -> Floats:
    """Return the matrix of a primitive at fixed values."""
    from poise.spatial import Rotation

    if kind == Primitive.BALL:
        return placement(Rotation(values).matrix, np.zeros(3))
    if kind == Primitive.SLIDE3:
        return placement(np.eye(3), values[:3])
    v = float(values[0])
    out = np.eye(4)
    if kind != Primitive.SLIDE:
        out[:2, :2] = [[cos(v), -sin(v)], [sin(v), cos(v)]]
    out[2, 3] = {Primitive.TURN: 0.0, Primitive.SLIDE: v}.get(Primitive(kind), pitch * v)
    return out
