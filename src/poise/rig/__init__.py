"""Rig: pose a body with handles that are pinned, dragged, aimed and released, frame by frame."""

from poise.rig.handle import Handle
from poise.rig.limbs.limb import Limb
from poise.rig.reasons import Miss, Stop
from poise.rig.rig import Rig
from poise.rig.solver_factory import RigProblem, make_solver

__all__ = ["Handle", "Limb", "Miss", "Rig", "RigProblem", "Stop", "make_solver"]
