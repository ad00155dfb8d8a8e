"""Poise: inverse kinematics for anything with joints, characters and robots.

    import poise

    model = poise.load("humanoid")
    T_world_hand = model.fk(model.rest, "hand_l")

Names load when they are first used, so that `import poise` is quick and needs numpy alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from poise.hooks import link_with

if TYPE_CHECKING:
    from poise import (
        anatomy,
        answers,
        batch,
        diagnosis,
        errors,
        formats,
        goals,
        kinematics,
        limits,
        methods,
        model,
        models,
        motion,
        pages,
        pictures,
        rig,
        scale,
        solvers,
        spatial,
        studio,
        textbook,
    )
    from poise.anatomy import roles
    from poise.answers import Answers, solve_all
    from poise.batch import BatchSolution, ReachMap, reach_map, solve_batch
    from poise.errors import PoiseError
    from poise.formats import load, load_motion, save
    from poise.goals import Grasp
    from poise.kinematics import Motion, Pose
    from poise.model import Frame, Joint, Model, ModelBuilder, Object
    from poise.motion import Mapping, retarget
    from poise.pages import show
    from poise.pictures import plot
    from poise.rig import Rig
    from poise.solvers import Solution, Solver, Status, solve
    from poise.spatial import Rotation, Transform

__version__ = "0.1.0"


@link_with
def _link_hooks() -> None:
    from poise import links

    del links  # imported for its effect: the hooks are linked


_HOMES = {
    "BatchSolution": "poise.batch",
    "ReachMap": "poise.batch",
    "reach_map": "poise.batch",
    "solve_batch": "poise.batch",
    "Solution": "poise.solvers",
    "Solver": "poise.solvers",
    "Status": "poise.solvers",
    "solve": "poise.solvers",
    "solve_all": "poise.answers",
    "Answers": "poise.answers",
    "Frame": "poise.model",
    "Grasp": "poise.goals",
    "Joint": "poise.model",
    "Model": "poise.model",
    "ModelBuilder": "poise.model",
    "Object": "poise.model",
    "Mapping": "poise.motion",
    "Motion": "poise.kinematics",
    "Pose": "poise.kinematics",
    "PoiseError": "poise.errors",
    "Rig": "poise.rig",
    "Rotation": "poise.spatial",
    "Transform": "poise.spatial",
    "load": "poise.formats",
    "retarget": "poise.motion",
    "load_motion": "poise.formats",
    "plot": "poise.pictures",
    "roles": "poise.anatomy",
    "save": "poise.formats",
    "show": "poise.pages",
}
_ROOMS = (
    *(
        "anatomy",
        "answers",
        "batch",
        "diagnosis",
        "errors",
        "formats",
        "goals",
        "kinematics",
        "limits",
        "methods",
        "model",
    ),
    *("models", "motion", "pages", "pictures", "rig", "scale", "solvers", "spatial", "studio", "textbook"),
)

__all__ = [
    "Answers",
    "BatchSolution",
    "Frame",
    "Grasp",
    "Joint",
    "Mapping",
    "Model",
    "ModelBuilder",
    "Motion",
    "Object",
    "PoiseError",
    "Pose",
    "ReachMap",
    "Rig",
    "Rotation",
    "Solution",
    "Solver",
    "Status",
    "Transform",
    "anatomy",
    "answers",
    "batch",
    "diagnosis",
    "errors",
    "formats",
    "goals",
    "kinematics",
    "limits",
    "load",
    "load_motion",
    "methods",
    "model",
    "models",
    "motion",
    "pages",
    "pictures",
    "plot",
    "reach_map",
    "retarget",
    "rig",
    "roles",
    "save",
    "scale",
    "show",
    "solve",
    "solve_all",
    "solve_batch",
    "solvers",
    "spatial",
    "studio",
    "textbook",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        return importlib.import_module(f"poise.{name}")
    raise AttributeError(
        f"module 'poise' has no attribute {name!r}; {find_elsewhere(name)}it has: {', '.join(__all__)}"
    )


def find_elsewhere(name: str) -> str:
    """Return which package has the name, in words; empty if none has."""
    if name.startswith("_"):
        return ""
    for room in (
        "goals",
        "limits",
        "methods",
        "model",
        "kinematics",
        "solvers",
        "answers",
        "batch",
        "errors",
        "textbook",
    ):
        if name in importlib.import_module(f"poise.{room}").__all__:
            return f"type poise.{room}.{name}, or: from poise.{room} import {name}. In poise itself "
    return ""


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
