"""TargetStream: the target of one goal over time, without jumps.

One rule bridges all gaps: the target that the body follows moves towards the last good target, at most at
`target_speed`. A target that is missing, late or not finite adds nothing, so the last good one holds; a target that
jumps is approached in a straight line.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.goal import POSE, POSITION, ROTATION, GoalRows
from poise.model import Model
from poise.motion.live.clutch import Clutch
from poise.spatial import Rotation, Transform, as_transform

__all__ = ["ABSENT", "TargetStream", "read_place", "takes_places"]

SHAPES = {POSITION: ((2,), (3,), (4, 4)), ROTATION: ((3, 3), (4,)), POSE: ((4, 4),)}
ABSENT: Any = type("Absent", (), {})()  # a goal that the targets of a step do not name


class TargetStream:
    """The target of one goal that places a frame: a Reach, Relative or Orient.

    Attributes:
        clutch: The engaged controller, or None.
        released: Whether targets are ignored.
        gap: Why the newest target is bridged, or "".
    """

    def __init__(self, model: Model, rows: GoalRows, speed: tuple[float, float]) -> None:
        self.model, self.rows = model, rows
        self.speed = speed[0] / model.metres_per_unit, speed[1]

    def reset(self, q: Floats) -> None:
        """Begin again at a pose of the body."""
        self.used = self.good = self.find_place(q)
        self.clutch: Clutch | None = None
        self.released, self.streamed, self.age, self.gap = False, False, 0.0, ""

    def hold(self, q: Floats) -> None:
        """Hold the place of the frame in a pose."""
        self.used = self.good = self.find_place(q)
        self.age, self.gap = 0.0, ""
        if self.clutch is not None:
            self.clutch = replace(self.clutch, begin=None, home=self.good)

    @property
    def idle(self) -> bool:
        """Whether no target moves it."""
        return self.released or not (self.streamed or self.clutch)

    @property
    def target(self) -> Floats:
        """The target to follow now, for the solver."""
        if self.rows.op == POSITION:
            return self.used[9:]
        turn = self.used[:9].reshape(3, 3)
        if self.rows.op == ROTATION:
            return turn
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = turn, self.used[9:]
        return out

    def find_place(self, q: Floats) -> Floats:
        """Return the place of the goal's frame in a pose, in the coordinates of its targets."""
        assert self.rows.frame is not None
        T = self.model.fk(q, self.rows.frame)
        R, p = T[:3, :3], T[:3, :3] @ self.rows.point + T[:3, 3]
        if self.rows.base is not None:
            base = self.model.fk(q, self.rows.base)
            R, p = base[:3, :3].T @ R, base[:3, :3].T @ (p - base[:3, 3])
        return np.concatenate([R.ravel(), p])

    def advance(self, place: Any, dt: float, late: float) -> None:
        """Move the target to follow by one time step.

        Args:
            place: The place of the newest target, None if it was lost, or ABSENT.
            dt: The length of the step [s].
            late: The age above which a target is late [s].
        """
        self.gap, self.age = "", self.age + dt
        if self.released:
            return
        if place is None:
            self.gap = "was lost"
        elif place is not ABSENT:
            if self.clutch is not None and self.clutch.begin is None:
                self.clutch = replace(self.clutch, begin=place)
            self.good = self.clutch.map(place) if self.clutch else place
            self.streamed, self.age = True, 0.0
        elif self.streamed and self.age > late:
            self.gap = "is late"
        jumped = self.approach(dt)
        self.gap = self.gap or jumped

    def approach(self, dt: float) -> str:
        """Move towards the last good target; return why it does not get there, or ""."""
        way = self.good[9:] - self.used[9:]
        far, used, jumps = float(np.linalg.norm(way)), np.array(self.good), []
        if self.rows.op != ROTATION and far > self.speed[0] * dt:
            used[9:] = self.used[9:] + way * (self.speed[0] * dt / far)
            jumps.append(f"{far * self.model.metres_per_unit:.3g} m")
        most = min(self.speed[1] * dt, np.pi)
        chord = float(np.linalg.norm(self.good[:9] - self.used[:9]))  # of the angle: 2 sqrt(2) sin(angle / 2)
        if self.rows.op != POSITION and chord > 8.0**0.5 * math.sin(0.5 * most):
            before, after = (Rotation.from_matrix(each[:9].reshape(3, 3)) for each in (self.used, self.good))
            angle = float((before.inverse() @ after).angle)
            used[:9] = before.slerp(after, min(1.0, most / angle)).matrix.ravel()
            jumps.append(f"{angle:.3g} rad")
        self.used = used
        return f"is {' and '.join(jumps)} away" if jumps else ""


def takes_places(rows: GoalRows) -> bool:
    """Return whether the targets of a goal are places of a frame."""
    return rows.op in SHAPES and not rows.ranged


def read_place(rows: GoalRows, name: str, target: Any) -> Floats | None:
    """Return the place of a target or a controller, packed, or None if it is missing or not finite.

    Raises:
        ShapeMismatch: The target has another shape than those of the goal.
        InvalidValue: The target is not a place; the message names the goal.
    """
    if is_lost(rows, target):
        return None
    try:
        if rows.op == POSITION and (isinstance(target, Transform) or is_matrix(target)):
            target = np.array(as_transform(target).translation)
        return np.asarray(rows.convert(target))
    except (InvalidValue, ShapeMismatch) as error:
        raise type(error)(f"target of goal {name!r}: {error}") from None


def is_matrix(target: Any) -> bool:
    """Return whether a target is a 4x4 array."""
    try:
        return bool(np.shape(target) == (4, 4))
    except ValueError:  # rows of different lengths
        return False


def is_lost(rows: GoalRows, target: Any) -> bool:
    """Return whether a target is missing, or has the right shape and a number that is not finite."""
    if target is None:
        return True
    try:
        values = np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return values.shape in SHAPES.get(rows.op, (values.shape,)) and not np.isfinite(values).all()
