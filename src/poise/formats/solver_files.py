"""Solver files: a body with its goals for the npm package `poise-ik`, which solves in JavaScript.

JSON: ``{"poise": "solver", "version": 1, "library": version of Poise, "name": ..., "up": ..., "frames": [names],
"joints": [...]}``, and the data with which a page solves (`solver_data.py`). The bytes of the body and of its goals
have the layout of the kernels, so the package must have the version of the Poise that wrote the file.
"""

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from poise.kinematics import Pose
from poise.model import Model

if TYPE_CHECKING:
    from poise.rig import Rig

__all__ = ["HOLDS_EVERY_JOINT", "NAME", "SUFFIXES", "looks_like", "write_model", "write_pose", "write_rig"]

NAME = "a solver for JavaScript"
SUFFIXES = (".ik",)
HOLDS_EVERY_JOINT = True
VERSION = 1
KIND = re.compile(rb'"poise"\s*:\s*"solver"')


def looks_like(head: bytes) -> bool:
    """Return whether a file begins like one written here."""
    return head.lstrip()[:1] == b"{" and KIND.search(head) is not None


def write_model(model: Model, target: Path) -> None:
    """Write a body in its rest pose; feet on the ground are planted."""
    write_pose(Pose(model), target)


def write_pose(pose: Pose, target: Path) -> None:
    """Write a body in a pose; feet on the ground are planted."""
    from poise.rig import Rig

    rig = Rig(pose.model, pose.q)
    rig.plant()
    write_rig(rig, target)


def write_rig(rig: "Rig", target: Path) -> None:
    """Write a body with its handles, pins and planted feet."""
    from poise.formats.solver_data import describe_solver, list_joints

    model = rig.model
    values = {
        "poise": "solver",
        "version": VERSION,
        "library": sys.modules["poise"].__version__,  # bundled programs have no metadata
        "name": model.name,
        "up": model.up,
        "frames": list(model.frames),
        "joints": list_joints(model),
        "frozen": sorted({*rig.state.frozen, *(joint.name for joint in model.joints if joint.locked)}),
        **describe_solver(rig, rig.q[None]),
    }
    target.write_text(json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False), encoding="utf-8")
