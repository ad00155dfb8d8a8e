"""Directions in which the body cannot move from an answer, with the joints that no limit blocks."""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.diagnosis.active_limits import find_active_limits
from poise.diagnosis.linear import Linearisation, linearise, span_rows
from poise.goals.goal import ALIGN, ANGULAR, COM, LOOK, POSE, POSITION, ROTATION, GoalRows
from poise.solvers.report.attainable import find_attainable, linearise_widely
from poise.solvers.report.findings import Conditioning
from poise.solvers.solution import Solution

__all__ = ["find_conditioning", "find_directions", "find_free_motion"]

PLAIN = (POSITION, ROTATION, POSE, COM)  # goals whose rows are components of a vector


def find_conditioning(solution: Solution) -> Conditioning:
    """Return the singular values and the weakest direction at the answer, over free joints and active rows."""
    at = linearise(solution)
    free = find_free_motion(solution, at)
    everywhere = linearise_widely(solution.model, solution.copy_solver().problem, solution.q)
    bases = {
        name: keep_attainable(find_directions(solution, at, name, row), everywhere, at, name)
        for name, row in solution.list_rows().items()
    }
    rows = sum(base.shape[1] for base in bases.values())
    if rows == 0 or free.shape[1] == 0:
        return Conditioning(np.zeros(rows), np.inf, "", "", np.zeros(3))
    J = np.concatenate([base.T @ at.J[at.spans[name]] for name, base in bases.items()]) @ free
    u, values, _ = np.linalg.svd(J, full_matrices=True)
    values = np.pad(values, (0, max(0, rows - len(values))))[:rows]
    name, part = find_dominant(bases, u[:, rows - 1])
    kind, direction = describe_rows(solution, solution.list_rows()[name], part)
    least = float(values[-1])
    reach = find_attainable(everywhere, at.spans[name])
    never = bool(np.linalg.norm(reach.T @ part) < 1e-6)
    return Conditioning(values, float(values[0]) / least if least > 0 else np.inf, name, kind, direction, never)


def find_free_motion(solution: Solution, at: Linearisation) -> Floats:
    """Return velocity directions, one per column, that no limit or closed loop blocks."""
    held = [limit for limit in find_active_limits(solution) if limit.multiplier > 0]
    stuck = {limit.velocity for limit in held if limit.kind == "range"}
    columns = np.array([int(v) not in stuck for v in at.velocities], dtype=bool)
    indices = [limit.rule for limit in held if limit.kind in ("cone", "clearance", "coupled")]
    blocked = np.concatenate([at.closed, at.normals[indices]])
    free = np.eye(len(columns))[:, columns]
    taken = span_rows(blocked @ free)
    if taken.shape[1] == 0:
        return free
    left = np.linalg.svd(taken, full_matrices=True)[0][:, taken.shape[1] :]
    return np.asarray(free @ left)


def find_directions(solution: Solution, at: Linearisation, name: str, row: GoalRows) -> Floats:
    """Return the active directions among a goal's rows, one per column."""
    size = row.size
    if row.op in PLAIN:
        weight = {POSE: row.weight, ROTATION: row.weight[3:]}.get(row.op, row.weight[:3])
        counts = weight > 0
        if row.ranged:  # rows inside their range are inactive
            counts &= find_asking_rows(at, name)
        return np.eye(size)[:, counts]
    if row.op in (ALIGN, LOOK):  # turning about the axis itself changes nothing
        assert row.frame is not None
        axis = solution.model.fk(solution.q, row.frame)[:3, :3] @ row.axis
        return np.asarray(np.linalg.svd(axis[:, None], full_matrices=True)[0][:, 1:])
    return np.eye(size)[:, find_asking_rows(at, name)]


def keep_attainable(base: Floats, everywhere: list[Floats], at: Linearisation, name: str) -> Floats:
    """Return the directions in which the body can move in some pose, or has an error."""
    rows = at.spans[name]
    attainable = base.T @ np.column_stack([find_attainable(everywhere, rows), at.r[rows]])
    u, values, _ = np.linalg.svd(attainable, full_matrices=False)
    return np.asarray(base @ u[:, values > 1e-9])


def find_asking_rows(at: Linearisation, name: str) -> NDArray[np.bool_]:
    """Return a mask of the active rows of a goal: those with an error, or that a joint changes."""
    moved = np.abs(at.J[at.spans[name]]).max(axis=1, initial=0.0) > 0
    return np.asarray(moved | (at.r[at.spans[name]] != 0))


def find_dominant(bases: dict[str, Floats], direction: Floats) -> tuple[str, Floats]:
    """Return the goal with the largest part of a direction among all rows, and that part."""
    best, first = ("", np.zeros(0)), 0
    for name, base in bases.items():
        part = base @ direction[first : first + base.shape[1]]
        first += base.shape[1]
        if not best[0] or np.linalg.norm(part) > np.linalg.norm(best[1]) + 1e-12:
            best = (name, part)
    return best


def describe_rows(solution: Solution, row: GoalRows, part: Floats) -> tuple[str, Floats]:
    """Return the kind and the world direction of a goal's rows."""
    if row.op not in (*PLAIN, ALIGN, LOOK):
        return "change", np.zeros(3)
    linear, angular = (part[:3], part[3:]) if row.op == POSE else (part, part)
    turns = row.op in ANGULAR or (row.op == POSE and np.linalg.norm(angular) > np.linalg.norm(linear))
    vector = angular if turns else linear
    if (row.exact and turns) or (row.local and not turns):  # along the target's own axes
        vector = row.target[:9].reshape(3, 3) @ vector
        if row.base is not None:
            vector = solution.model.fk(solution.q, row.base)[:3, :3] @ vector
    size = float(np.linalg.norm(vector))
    return "turn" if turns else "move", vector / size if size > 0 else np.zeros(3)
