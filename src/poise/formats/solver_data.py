"""The data with which a program without Python solves for a body: a page, or the npm package.

Python prepares all goals that the handles may have (`poise.rig.catalogue`); the program chooses among them and solves
with the kernels in WebAssembly.
"""

import base64
import gzip
from typing import Any

import numpy as np

from poise.errors import InvalidValue
from poise.goals import Reach
from poise.model import Model
from poise.native import core
from poise.rig import GROUND_LAYER, GoalCatalogue, HandleRoles, Rig
from poise.solvers.proofs import find_tolerances

__all__ = ["describe_solver", "list_joints", "pack"]

MOST_BYTES = 20_000_000  # of a body and its goals


def describe_solver(rig: Rig, q: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return a body, the goals of its handles in each role, and configurations, (frames, nq).

    Raises:
        InvalidValue: The body is too large.
    """
    model, catalogue = rig.model, rig.solvers.make_catalogue()
    body, problem = core.write_body(model.native_body), core.write_problem(catalogue.solver.problem)
    if len(body) + len(problem) > MOST_BYTES:
        raise InvalidValue(f"{model.name!r} has {len(model.frames)} frames, too many to solve without Python.")
    goals = list_goals(catalogue)
    return {
        "metres": model.metres_per_unit,
        "body": pack(body),
        "problem": pack(problem),
        "q": pack(np.ascontiguousarray(q, dtype="<f8").tobytes()),
        "nq": model.nq,
        "length": model.length,
        "layer": GROUND_LAYER * model.length,
        "goals": [describe_goal(catalogue, name) for name in goals],
        "handles": [describe_roles(rig, goals, catalogue, roles) for roles in catalogue.roles],
        "always": [k for k, name in enumerate(goals) if name in catalogue.always or name not in catalogue.solver.goals],
        "standing": [goals.index(name) for name in catalogue.standing],
        "looks": [goals.index(name) for name in catalogue.looks],
        "ranges": list_ranges(model),
    }


def pack(data: bytes) -> str:
    """Return bytes compressed, as base64."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def list_goals(catalogue: GoalCatalogue) -> list[str]:
    """Return the names of all goals in the order of the kernels; closed loops, which come first, have none."""
    names = catalogue.solver.row_names
    loops = len(catalogue.solver.problem.state()["errors"]) - len(names)
    return [*[""] * loops, *names]


def describe_goal(catalogue: GoalCatalogue, name: str) -> dict[str, Any]:
    """Return the label of a goal, its tolerance [m, rad], the ranged joints that move it, and if it is a transform.

    A label is empty if the goal never counts as missed.
    """
    goal, model = catalogue.solver.goals.get(name), catalogue.solver.model
    if goal is None or not goal.counts:
        return {"label": "", "near": [0.0, 0.0], "movers": [], "turns": False}
    role, _, rest = name.partition(" ")
    frames = [frame for name in ("frame", "relative_to") if (frame := getattr(goal, name, None)) is not None]
    above = {joint.name for frame in frames for joint in model.joints_above(frame)}
    movers = [k for k, (joint, *_) in enumerate(list_ranges(model)) if joint in above or not frames]
    turns = isinstance(goal, Reach) and goal.with_rotation
    return {"label": rest or role, "near": list(find_tolerances(model, goal)), "movers": movers, "turns": turns}


def describe_roles(rig: Rig, goals: list[str], catalogue: GoalCatalogue, own: HandleRoles) -> dict[str, Any]:
    """Return a handle, and the indices of its goals in each role."""
    model, handle = rig.model, own.handle
    return {
        **{name: getattr(handle, name) for name in ("name", "kind", "stands", "tool", "mirror")},
        "frame": model.layout.frames.index(model.frame(handle.frame).name),
        "goals": {role: [goals.index(name) for name in names] for role, names in own.goals.items()},
        "loose": [goals.index(name) for names in own.goals.values() for name in names if name.endswith(".flat")],
        "held": own.held,
        "lift": rig.handles.feet[handle.name].lift if handle.stands else 0.0,
        "supports": own.supports,
        "heel": [catalogue.floor[k] for k in own.heel],
        "sole": [catalogue.floor[k] for k in own.sole],
    }


def list_ranges(model: Model) -> list[list[Any]]:
    """Return the name, the index in q and the range of each joint with one coordinate."""
    joints = [joint for joint in model.joints if joint.nv == 1 and not joint.mimic and not joint.locked]
    ranged = [joint for joint in joints if np.isfinite([float(joint.lower), float(joint.upper)]).any()]
    return [[j.name, j.q.start, max(float(j.lower), -1e30), min(float(j.upper), 1e30)] for j in ranged]


def list_joints(model: Model) -> list[dict[str, Any]]:
    """Return the name and kind of each joint, its first coordinate in q, their number and the range of each."""
    return [
        {
            "name": joint.name,
            "kind": joint.kind,
            "first": joint.q.start,
            "count": joint.nq,
            "lower": list_ends(joint.lower, joint.nq),
            "upper": list_ends(joint.upper, joint.nq),
        }
        for joint in model.joints
        if joint.nv and not joint.mimic
    ]


def list_ends(ends: Any, count: int) -> list[float | None]:
    """Return one end of the range of each coordinate of a joint, None without a range."""
    values = np.ravel(ends).tolist()
    return [float(x) if np.isfinite(x) else None for x in values] if len(values) == count else [None] * count
