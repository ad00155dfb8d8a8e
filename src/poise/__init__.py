"""Poise: inverse kinematics for anything with joints, characters and robots.

    import poise

    model = poise.load("humanoid")
    T_world_hand = model.fk(model.rest, "hand_l")

Names are imported on first use, so `import poise` is fast and needs only NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from poise.hooks import link_with
from poise.lazy import load_lazily

__version__ = "0.2.0"

ROOMS = (
    *("anatomy", "answers", "batch", "diagnosis", "errors", "formats", "goals", "kinematics", "limits", "methods"),
    *("model", "models", "motion", "pages", "pictures", "rig", "scale", "solvers", "spatial", "studio", "textbook"),
)
SEARCHED = (  # for a name that poise itself does not have
    *("goals", "limits", "methods", "model", "kinematics", "solvers", "answers", "batch", "errors", "textbook"),
)
SPOKEN = {  # names that other libraries have, or that are deeper in this one
    **dict.fromkeys(("ik", "inverse_kinematics", "solve_ik", "compute_ik"), "poise.solve(model, goals)"),
    **dict.fromkeys(("fk", "forward_kinematics"), "model.fk(q, frame)"),
    **dict.fromkeys(("robot", "load_robot", "load_urdf", "load_model"), "poise.load(path)"),
    **dict.fromkeys(("load_bvh", "load_clip", "animation"), "poise.load_motion(path)"),
    "studio": "poise.studio.Studio(thing)",
}


def link_hooks() -> None:
    """Load the links of all hooks."""
    from poise import links

    del links  # loaded for its effect


def find_elsewhere(name: str) -> str:
    """Return which package has the name, or its equivalent, in words; empty if there is none."""
    if name.lower() in SPOKEN:
        return f"type {SPOKEN[name.lower()]}; "
    for room in () if name.startswith("_") else SEARCHED:
        if name in importlib.import_module(f"poise.{room}").__all__:
            return f"type poise.{room}.{name}, or: from poise.{room} import {name}. In poise itself "
    return ""


link_with(link_hooks)

if TYPE_CHECKING:
    from poise import anatomy as anatomy
    from poise import answers as answers
    from poise import batch as batch
    from poise import diagnosis as diagnosis
    from poise import errors as errors
    from poise import formats as formats
    from poise import goals as goals
    from poise import kinematics as kinematics
    from poise import limits as limits
    from poise import methods as methods
    from poise import model as model
    from poise import models as models
    from poise import motion as motion
    from poise import pages as pages
    from poise import pictures as pictures
    from poise import rig as rig
    from poise import scale as scale
    from poise import solvers as solvers
    from poise import spatial as spatial
    from poise import studio as studio
    from poise import textbook as textbook
    from poise.anatomy import roles as roles
    from poise.answers import Answers as Answers
    from poise.answers import solve_all as solve_all
    from poise.batch import BatchSolution as BatchSolution
    from poise.batch import ReachMap as ReachMap
    from poise.batch import base_map as base_map
    from poise.batch import reach_map as reach_map
    from poise.batch import solve_batch as solve_batch
    from poise.diagnosis import find_singularities as find_singularities
    from poise.errors import PoiseError as PoiseError
    from poise.formats import load as load
    from poise.formats import load_motion as load_motion
    from poise.formats import save as save
    from poise.goals import Grasp as Grasp
    from poise.kinematics import Motion as Motion
    from poise.kinematics import Pose as Pose
    from poise.limits.spheres import fit_spheres as fit_spheres
    from poise.model import Frame as Frame
    from poise.model import Joint as Joint
    from poise.model import Model as Model
    from poise.model import ModelBuilder as ModelBuilder
    from poise.model import Object as Object
    from poise.motion import Mapping as Mapping
    from poise.motion import hand_points as hand_points
    from poise.motion import retarget as retarget
    from poise.native import get_cmake_dir as get_cmake_dir
    from poise.pages import show as show
    from poise.pictures import plot as plot
    from poise.rig import Rig as Rig
    from poise.solvers import Solution as Solution
    from poise.solvers import Solver as Solver
    from poise.solvers import Status as Status
    from poise.solvers import solve as solve
    from poise.spatial import Rotation as Rotation
    from poise.spatial import Transform as Transform
else:
    __getattr__, __dir__, __all__ = load_lazily(
        __name__,
        {
            ".anatomy": "roles",
            ".answers": "Answers solve_all",
            ".batch": "BatchSolution ReachMap base_map reach_map solve_batch",
            ".diagnosis": "find_singularities",
            ".errors": "PoiseError",
            ".formats": "load load_motion save",
            ".goals": "Grasp",
            ".kinematics": "Motion Pose",
            ".limits.spheres": "fit_spheres",
            ".model": "Frame Joint Model ModelBuilder Object",
            ".motion": "Mapping hand_points retarget",
            ".native": "get_cmake_dir",
            ".pages": "show",
            ".pictures": "plot",
            ".rig": "Rig",
            ".solvers": "Solution Solver Status solve",
            ".spatial": "Rotation Transform",
        },
        also=ROOMS,
        explain=find_elsewhere,
    )
