"""Marks of goals: one for each target of a solution, green if it is reached.

Reach goals are points, gaze goals are lines from the eye, a balance goal is its support polygon and the centre of mass
above it. Goals without a position (angles, distances, postures) have no mark.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.goals.goal import ANGULAR, BALANCE, COM, LOOK, POSE, POSITION, GoalRows
from poise.model.geometry.convex_hull import find_ring
from poise.solvers.solution import Solution

__all__ = ["MISSED", "REACHED", "GoalMark", "find_marks", "outline_hull"]


REACHED = "#009E73"
MISSED = "#D55E00"


@dataclass(frozen=True, slots=True, eq=False)
class GoalMark:
    """The drawing of a goal.

    Attributes:
        name: The goal's name.
        kind: "place", "gaze", "mass" or "support".
        reached: Whether the goal is within its tolerance.
        points: "place": target and position of the frame; "gaze": eye and target; "mass": centre of mass and its
            projection on the supports; "support": the corners of the polygon. In the world [m], (n, 3).
        frame: The frame that reaches or looks, or None.
        axes: The target's rotation, (3, 3), for a place with a rotation; otherwise None.
        axis: The frame's gaze axis, for a gaze; otherwise None.
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
        """The colour: green if reached, else red."""
        return REACHED if self.reached else MISSED


def find_marks(solution: Solution) -> list[GoalMark]:
    """Return the marks of a solution's goals, in its pose."""
    marks: list[GoalMark] = []
    for name, rows in solution.list_rows().items():
        served = is_within(solution, name, rows)
        if rows.op in (POSITION, POSE) and not rows.ranged and (rows.weight[:3] > 0).all():
            marks.append(mark_place(solution, name, rows, served))
        elif rows.op == LOOK:
            eye, target = place_point(solution, rows.frame, rows.point), place_target(solution, rows)
            marks.append(GoalMark(name, "gaze", served, np.stack([eye, target]), rows.frame, axis=rows.axis))
        elif rows.op == COM:
            mass = solution.model.center_of_mass(solution.q)
            marks.append(GoalMark(name, "mass", served, np.stack([mass, mass])))
        elif rows.op == BALANCE:
            marks += mark_balance(solution, name, rows, served)
    return marks


def is_within(solution: Solution, name: str, rows: GoalRows) -> bool:
    """Return whether a goal is within its tolerance."""
    allowed = solution.solver.goals[name].tolerances(solution.model, rows.op in ANGULAR)
    metres, radians = solution.errors[name]
    return metres <= allowed[0] and radians <= allowed[1]


def place_point(solution: Solution, frame: str | None, point: Floats) -> Floats:
    """Return a point of a frame in the world; the point itself if `frame` is None."""
    if frame is None:
        return point
    T: Floats = solution.model.fk(solution.q, frame)
    out: Floats = T[:3, :3] @ point + T[:3, 3]
    return out


def place_target(solution: Solution, rows: GoalRows) -> Floats:
    """Return the position of a goal's target in the world [m]."""
    return place_point(solution, rows.base, np.array(rows.target[9:12]))


def mark_place(solution: Solution, name: str, rows: GoalRows, served: bool) -> GoalMark:
    """Return the mark of a position target, with axes if the rotation has a target too."""
    points = np.stack([place_target(solution, rows), place_point(solution, rows.frame, rows.point)])
    axes = None
    if rows.op == POSE:
        carried = np.eye(3) if rows.base is None else solution.model.fk(solution.q, rows.base)[:3, :3]
        axes = carried @ np.array(rows.target[:9]).reshape(3, 3)
    return GoalMark(name, "place", served, points, rows.frame, axes)


def mark_balance(solution: Solution, name: str, rows: GoalRows, served: bool) -> list[GoalMark]:
    """Return the marks of the support polygon on the ground and of the centre of mass above it."""
    up = solution.model.up_axis
    contacts = np.array([place_point(solution, frame, point) for frame, point in rows.points])
    ground = float(contacts[:, up].min())
    outline = outline_hull(contacts, up, ground)
    mass = solution.model.center_of_mass(solution.q)
    below = np.array(mass)
    below[up] = ground
    return [GoalMark(name, "support", served, outline), GoalMark(name, "mass", served, np.stack([mass, below]))]


def outline_hull(points: Floats, up: int, height: float) -> Floats:
    """Return the corners of the convex hull of points seen along `up`, at one height, (n, 3)."""
    flat = np.delete(points, up, axis=1)
    corners = flat[find_ring(flat)]
    return np.insert(corners, up, height, axis=1)
