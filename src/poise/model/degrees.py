"""Angles that look like degrees, where radians are meant.

A bound of a turning joint is doubted where it is more than two turns (4 pi) and at most two turns in degrees (720), and
no whole multiple of a quarter turn, which is how people write several turns: 6.28, 1e16 and 10 * pi are taken without a
word. A number of a start is doubted where, besides, it lies more than half a turn outside its joint's range; joints
that turn for ever have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from poise.model.joint import BallRange, Joint

__all__ = ["doubted_bounds", "doubted_cone", "doubted_start", "is_doubtful", "what_to_type"]

FEWEST, MOST = 4 * math.pi, 720.0
TURNS = {
    "revolute": (0,),
    "universal": (0, 1),
    "euler": (0, 1, 2),
    "planar": (2,),
}  # which of a kind's numbers are angles


def is_doubtful(angle: float) -> bool:
    """Whether a number looks like degrees: more than two turns as radians, at most two as degrees."""
    quarters = abs(angle) / (math.pi / 2)
    return FEWEST < abs(angle) <= MOST and abs(quarters - round(quarters)) > 1e-4 * quarters


def what_to_type(angle: float) -> str:
    """The advice for one such number."""
    return f"angles are in radians; for {angle:g} degrees type math.radians({angle:g}), for an array np.deg2rad(...)"


def doubted_bounds(kind: str, lower: Iterable[float], upper: Iterable[float], where: str) -> Iterator[str]:
    """Words about the bounds of a joint that look like degrees."""
    for side, values in (("lower", list(lower)), ("upper", list(upper))):
        for k in TURNS.get(kind, ()):
            if is_doubtful(values[k]):
                turns = abs(values[k]) / (2 * math.pi)
                yield f"{where}: {side} is {values[k]:g}, {turns:.1f} turns; {what_to_type(values[k])}."


def doubted_cone(cone: BallRange | None, where: str) -> Iterator[str]:
    """Words about the angles of a ball joint's range that are more than a turn, which no such angle can be."""
    given = {} if cone is None else {"swing": cone.swing, "twist": cone.twist, "angle": cone.angle}
    for name, value in given.items():
        angles: Any = [] if value is None else np.atleast_1d(np.asarray(value, dtype=np.float64)).tolist()
        for angle in angles:
            if 2 * math.pi < abs(angle) < math.inf:
                yield f"{where}: {name} is {angle:g}, more than a turn; {what_to_type(angle)}."


def doubted_start(joints: Iterable[Joint], q: Any) -> Iterator[str]:
    """Words about the numbers of a configuration that look like degrees: at most one."""
    for joint in joints:
        for k in TURNS.get(joint.kind, ()) if joint.nq else ():
            value = float(q[joint.q.start + k])
            low, high = float(np.atleast_1d(joint.lower)[k]), float(np.atleast_1d(joint.upper)[k])
            if is_doubtful(value) and not low - math.pi <= value <= high + math.pi:
                yield f"start: joint {joint.name!r} is at {value:g}, outside its range; {what_to_type(value)}."
                return
