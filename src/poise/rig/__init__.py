"""Rig: pose a body with handles that are pinned, dragged, aimed and released, frame by frame."""

from poise.rig.catalogue import GoalCatalogue, HandleRoles
from poise.rig.handle import GROUND_LAYER, Handle, has_free_base
from poise.rig.limbs.limb import Limb
from poise.rig.reasons import Miss, Stop
from poise.rig.rig import Rig
from poise.rig.solver_factory import RigProblem, make_solver

__all__ = [
    "GROUND_LAYER",
    "GoalCatalogue",
    "Handle",
    "HandleRoles",
    "Limb",
    "Miss",
    "Rig",
    "RigProblem",
    "Stop",
    "has_free_base",
    "make_solver",
]
