"""Heuristics as rules of the loop: cyclic coordinate descent joint by joint, and FABRIK stroke by stroke.

Source: DLUT, "Cyclic-Coordinate Descent" and "FABRIK"; CIMAT, "Cyclic Coordinate Descent method"; Wang and Chen (1991);
Aristidou and Lasenby (2011).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.model import Joint, Model
from poise.textbook.arguments import read_array
from poise.textbook.bodies import configuration, forward_kinematics, integrate, path
from poise.textbook.iteration import ccd_angle
from poise.textbook.loop import LoopGoal
from poise.textbook.rotations import Array, axis_rotation, unskew


def ccd_step(
    model: Model, q: ArrayLike, goals: Sequence[LoopGoal], k: int, gain: float = 1.0, *, outside_in: bool = True
) -> Array:
    """Return step ``k`` of cyclic coordinate descent: one joint moves, to its best value for all goals.

    Joint ``k mod n`` of the n on the path moves, the outermost first, or the root first without ``outside_in``; so a
    sweep is n steps of :func:`poise.textbook.loop`, and its trace has every joint's turn. With arm d and target t
    perpendicular to the axis a, and ``E = R_d R^T``::

        hinge   atan2( sum a . (d x t) + a . vex(E - E^T) / 2,  sum d . t + (tr E - a . E a) / 2 )
        slide   sum v . e / sum v . v

    For one position this is :func:`ccd_angle`. A joint with several degrees of freedom is that many joints.

    Raises:
        InvalidValue: no joint moves the goals.
        ShapeMismatch: see :func:`poise.textbook.configuration`.
    """
    here = configuration(model, q)
    columns = list_columns(model, here, goals)
    if not columns:
        raise InvalidValue("no joint moves the frames of the goals.")
    column = columns[(-1 - k if outside_in else k) % len(columns)]
    step, parts = np.zeros(model.nv), [(goal, *goal.linearise(model, here)) for goal in goals]
    rate = max(float(np.linalg.norm(J[3:, column])) for _, _, J in parts)
    if rate > 0.0:
        step[column] = gain * _find_turn(parts, column, rate)
    else:
        slides = [(J[:3, column], (goal.weight[:3] > 0.0) * e[:3]) for goal, e, J in parts]
        size = sum(float(v @ v) for v, _ in slides)
        step[column] = gain * sum(float(v @ e) for v, e in slides) / size if size > 0.0 else 0.0
    return step


def _find_turn(parts: Sequence[tuple[LoopGoal, Array, Array]], column: int, rate: float) -> float:
    """Return the change of a hinge's velocity that is best for all goals; it turns by ``rate`` per unit."""
    across = along = 0.0
    for goal, e, J in [part for part in parts if part[2][3:, column].any()]:  # the goals that it turns
        axis, angle = J[3:, column] / rate, float(np.linalg.norm(e[3:]))
        if goal.weight[:3].any():
            arm = np.cross(J[:3, column], axis) / rate
            target = arm + (goal.weight[:3] > 0.0) * e[:3]
            across, along = across + float(axis @ np.cross(arm, target)), along + float(arm @ target)
        if goal.weight[3] > 0.0:
            E = axis_rotation(e[3:] / (angle or 1.0), angle)
            across, along = across + float(axis @ unskew(E)), along + 0.5 * float(np.trace(E) - axis @ E @ axis)
    return float(np.arctan2(across, along)) / rate


def list_columns(model: Model, q: Array, goals: Sequence[LoopGoal]) -> list[int]:
    """Return the velocities that move the goals' frames, root first."""
    joints = [step.joint for goal in goals for step in path(model, q, goal.frame) if step.joint is not None]
    return sorted({column for joint in joints for column in range(joint.v.start, joint.v.stop)})


def fabrik_step(
    model: Model, q: ArrayLike, goals: Sequence[LoopGoal], sketch: Callable[[str, Array], None] = lambda *_: None
) -> Array:
    """Return one iteration of FABRIK on a chain of hinges: a stroke from the tip, a stroke from the root.

    ::

        backward   p_n = target,   p_i = p_i+1 + d_i (p_i - p_i+1) / |p_i - p_i+1|
        forward    p_0 = root,     p_i+1 = p_i + d_i (p_i+1 - p_i) / |p_i+1 - p_i|

    Then the joints turn one by one, root first, each as near to its new bone as its axis permits. Both strokes are
    given to ``sketch``, so that the trace of :func:`poise.textbook.loop` has them. If the chain lies on the line to its
    target it stays there; bend it first. Source: Aristidou and Lasenby (2011).

    Raises:
        InvalidValue: there are several goals or a rotation, or a joint on the path is not a hinge.
    """
    if len(goals) != 1 or goals[0].weight[3:].any():
        raise InvalidValue("fabrik_step serves one position; poise.methods.FABRIK serves several, and transforms.")
    (goal,), here = goals, configuration(model, q)
    joints = [step.joint for step in path(model, here, goal.frame) if step.joint is not None and step.joint.nv]
    for joint in joints:
        if joint.kind not in ("revolute", "continuous"):
            raise InvalidValue(f"joint {joint.name!r} is {joint.kind}; fabrik_step turns hinges only.")
    points = _find_points(model, here, joints, goal)
    backward = reach_along(points[::-1], goal.target[:3, 3])[::-1]
    forward = reach_along(backward, points[0])
    sketch("backward", backward)
    sketch("forward", forward)
    step = np.zeros(model.nv)
    for i, joint in enumerate(joints):
        now = integrate(model, here, step)
        axis = forward_kinematics(model, now, joint.frame)[:3, :3] @ joint.axis
        places = _find_points(model, now, joints, goal)
        step[joint.v] = ccd_angle(axis, places[i], places[i + 1], forward[i + 1])
    return step


def reach_along(points: ArrayLike, start: ArrayLike) -> Array:
    """Return a chain of points moved so that its first one is at ``start``: one stroke of FABRIK.

    Each next point is on the line from its new predecessor to its old place, at the old distance.
    """
    old, moved = read_array(points, "points", None, 3), [read_array(start, "start", 3)]
    for bone, point in zip(np.linalg.norm(np.diff(old, axis=0), axis=1), old[1:], strict=True):
        away = point - moved[-1]
        far = float(np.linalg.norm(away))
        moved.append(moved[-1] + (bone / far * away if far > 0.0 else (bone, 0.0, 0.0)))
    return np.array(moved)


def _find_points(model: Model, q: Array, joints: Sequence[Joint], goal: LoopGoal) -> Array:
    """Return the positions of the joints and of the goal's point, root first."""
    tip = forward_kinematics(model, q, goal.frame)
    places = [forward_kinematics(model, q, joint.frame)[:3, 3] for joint in joints]
    return np.array([*places, tip[:3, :3] @ goal.point + tip[:3, 3]])
