"""The numbers of a small arm on a page that solves: Jacobian, singular values, and the first step of each method."""

import base64
from typing import Any

import numpy as np

from poise.errors import PoiseError
from poise.goals import Reach
from poise.model.plane import is_planar
from poise.native import core
from poise.rig import Rig
from poise.solvers import Solver

__all__ = ["pack_lesson"]

LARGEST = 8  # velocities of an arm whose Jacobian is readable
METHODS = ("transpose", "pseudoinverse", "dls", "sdls", "lm", "ccd", "fabrik")


def pack_lesson(rig: Rig) -> dict[str, Any] | None:
    """Return the data of a lesson: the first end handle and a problem per method; None for bodies with many joints."""
    model = rig.model
    ends = [handle for handle in rig.handles.values() if handle.kind == "end"]
    if not ends or model.nv > LARGEST or model.nq != model.nv:
        return None
    place = np.array(model.fk(rig.q, ends[0].frame)[:3, 3])
    goal, rows = Reach(ends[0].frame, place, name="end"), 2 if is_planar(model) else 3
    problems = {}
    for method in METHODS:
        try:
            problem = Solver(model, goal, method=method, restarts=0).problem
        except PoiseError:  # the method does not support this body
            continue
        problem.restart(rig.q, {"end": place})
        problems[method] = base64.b64encode(core.write_problem(problem)).decode("ascii")
    joints = [f"{joint.name}.{k}" if joint.nv > 1 else joint.name for joint in model.joints for k in range(joint.nv)]
    unit = "m/rad" if not model.slides.any() else "m per rad or m"
    return {"handle": ends[0].name, "rows": rows, "joints": joints, "unit": unit, "problems": problems}
