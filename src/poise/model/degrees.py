"""Detection of angles that look like degrees instead of radians.

A bound of a rotating joint is doubtful if it is more than two turns (4 pi), at most two turns in degrees (720), and not
a whole multiple of a quarter turn, the usual way to write several turns: 6.28, 1e16 and 10 * pi are accepted silently.
A start value is doubtful if, in addition, it lies more than half a turn outside its joint's range. Continuous joints
are not checked.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from poise.model.joints.joint import BallRange, Joint

__all__ = ["advise_radians", "doubt_bounds", "doubt_cone", "doubt_start", "is_doubtful"]

FEWEST, MOST = 4 * math.pi, 720.0
TURNS = {
    "revolute": (0,),
    "universal": (0, 1),
    "euler": (0, 1, 2),
    "planar": (2,),
}  # indices of the angles of each kind


def is_doubtful(angle: float) -> bool:
    """Return whether a number looks like degrees: more than two turns as radians, at most two as degrees."""
    quarters = abs(angle) / (math.pi / 2)
    return FEWEST < abs(angle) <= MOST and abs(quarters - round(quarters)) > 1e-4 * quarters


def advise_radians(angle: float) -> str:
    """Return advice on converting this angle to radians."""
    return f"angles are in radians; for {angle:g} degrees type math.radians({angle:g}), for an array np.deg2rad(...)"


def doubt_bounds(kind: str, lower: Iterable[float], upper: Iterable[float], where: str) -> Iterator[str]:
    """Yield a warning for each bound of a joint that looks like degrees."""
    for side, values in (("lower", list(lower)), ("upper", list(upper))):
        for k in TURNS.get(kind, ()):
            if is_doubtful(values[k]):
                turns = abs(values[k]) / (2 * math.pi)
                yield f"{where}: {side} is {values[k]:g}, {turns:.1f} turns; {advise_radians(values[k])}."


def doubt_cone(cone: BallRange | None, where: str) -> Iterator[str]:
    """Yield a warning for each angle of a ball joint's range that is more than a full turn."""
    given = {} if cone is None else {"swing": cone.swing, "twist": cone.twist, "angle": cone.angle}
    for name, value in given.items():
        angles: Any = [] if value is None else np.atleast_1d(np.asarray(value, dtype=np.float64)).tolist()
        for angle in angles:
            if 2 * math.pi < abs(angle) < math.inf:
                yield f"{where}: {name} is {angle:g}, more than a turn; {advise_radians(angle)}."


def doubt_start(joints: Iterable[Joint], q: Any) -> Iterator[str]:
    """Yield a warning for the first number of a configuration that looks like degrees."""
    for joint in joints:
        for k in TURNS.get(joint.kind, ()) if joint.nq else ():
            value = float(q[joint.q.start + k])
            low, high = float(np.atleast_1d(joint.lower)[k]), float(np.atleast_1d(joint.upper)[k])
            if is_doubtful(value) and not low - math.pi <= value <= high + math.pi:
                yield f"start: joint {joint.name!r} is at {value:g}, outside its range; {advise_radians(value)}."
                return
