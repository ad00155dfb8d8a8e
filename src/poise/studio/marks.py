"""How goals look: a mark for each place that a solution was asked for, green where it was reached.

Reaches are points, gazes are lines from the eye, a balance is the outline of its supports and the centre of mass over
it. Goals without a place of their own (angles, distances, postures) have no mark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import ANGULAR, BALANCE, COM, LOOK, POSE, POSITION, GoalRows
from poise.model import Model
from poise.solvers.solution import Solution

__all__ = ["MISSED", "REACHED", "Mark", "goal_marks", "hull_outline"]

Floats = NDArray[np.float64]

REACHED = "#009E73"
MISSED = "#D55E00"


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A goal to be drawn.

    Attributes:
        name: The goal's name.
        kind: "place", "gaze", "mass" or "support".
        reached: Whether it was.
        points: "place": target, and where the frame is; "gaze": eye and target; "mass": centre of mass, and what is
            below it on the supports; "support": the outline, corner by corner. In the world [m], (n, 3).
        frame: The frame that reaches or looks, else None.
        axes: Of a place that fixes the rotation too: the target's rotation, (3, 3).
        axis: Of a gaze: the frame's axis that looks.
    """

    name: str
    kind: str
    reached: bool
    points: Floats
    frame: str | None = None
    axes: Floats | None = None
    axis: Floats | None = None

    @property
    def color(self) -> str:
        """Green or red, each readable beside the other."""
        return REACHED if self.reached else MISSED


def goal_marks(solution: Solution) -> list[Mark]:
    """The marks of a solution's goals, in its pose."""
    marks: list[Mark] = []
    for name, rows in solution._rows().items():
        served = within(solution, name, rows)
        if rows.op in (POSITION, POSE) and not rows.ranged and (rows.weight[:3] > 0).all():
            marks.append(place_mark(solution, name, rows, served))
        elif rows.op == LOOK:
            eye, target = frame_point(solution, rows.frame, rows.point), target_point(solution, rows)
            marks.append(Mark(name, "gaze", served, np.stack([eye, target]), rows.frame, axis=rows.axis))
        elif rows.op == COM:
            mass = solution.model.center_of_mass(solution.q)
            marks.append(Mark(name, "mass", served, np.stack([mass, mass])))
        elif rows.op == BALANCE:
            marks += balance_marks(solution, name, rows, served)
    return marks


def within(solution: Solution, name: str, rows: GoalRows) -> bool:
    """Whether a goal is within its tolerance."""
    allowed = solution._solver.goals[name].tolerances(solution.model, rows.op in ANGULAR)
    metres, radians = solution.errors[name]
    return metres <= allowed[0] and radians <= allowed[1]


def frame_point(solution: Solution, frame: str | None, point: Floats) -> Floats:
    """A point of a frame in the world; of no frame, the point itself."""
    if frame is None:
        return point
    T: Floats = solution.model.fk(solution.q, frame)
    out: Floats = T[:3, :3] @ point + T[:3, 3]
    return out


def target_point(solution: Solution, rows: GoalRows) -> Floats:
    """Where a goal's target is in the world."""
    return frame_point(solution, rows.base, np.array(rows.target[9:12]))


def place_mark(solution: Solution, name: str, rows: GoalRows, served: bool) -> Mark:
    """A point, or a point with a cross of axes."""
    points = np.stack([target_point(solution, rows), frame_point(solution, rows.frame, rows.point)])
    axes = None
    if rows.op == POSE:
        carried = np.eye(3) if rows.base is None else solution.model.fk(solution.q, rows.base)[:3, :3]
        axes = carried @ np.array(rows.target[:9]).reshape(3, 3)
    return Mark(name, "place", served, points, rows.frame, axes)


def balance_marks(solution: Solution, name: str, rows: GoalRows, served: bool) -> list[Mark]:
    """The outline of the supports on the ground, and the centre of mass above it."""
    up = up_axis(solution.model)
    contacts = np.array([frame_point(solution, frame, point) for frame, point in rows.points])
    ground = float(contacts[:, up].min())
    outline = hull_outline(contacts, up, ground)
    mass = solution.model.center_of_mass(solution.q)
    below = np.array(mass)
    below[up] = ground
    return [Mark(name, "support", served, outline), Mark(name, "mass", served, np.stack([mass, below]))]


def up_axis(model: Model) -> int:
    """Which coordinate is height."""
    return model.up_axis


def hull_outline(points: Floats, up: int, height: float) -> Floats:
    """The corners of the convex hull of points seen along `up`, at one height, (n, 3)."""
    flat = np.delete(points, up, axis=1)
    corners = flat[convex_hull(flat)]
    return np.insert(corners, up, height, axis=1)


def convex_hull(flat: Floats) -> list[int]:
    """Indices of the hull's corners, counter-clockwise (Andrew's monotone chain)."""
    order = sorted(range(len(flat)), key=lambda k: (flat[k, 0], flat[k, 1]))
    hull: list[int] = []
    for chain in (order, order[::-1]):
        start = len(hull)
        for k in chain:
            while len(hull) - start >= 2 and turn(flat[hull[-2]], flat[hull[-1]], flat[k]) <= 0:
                hull.pop()
            hull.append(k)
        hull.pop()
    return hull or order[:1]


def turn(a: Floats, b: Floats, c: Floats) -> float:
    """Twice the signed area of a triangle."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
