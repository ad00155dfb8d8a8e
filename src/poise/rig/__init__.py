"""Rig: the animator's door. Handles to pin, drag, aim and release; the body follows from frame to frame."""

from poise.rig.handles import Handle
from poise.rig.limbs.limb import Limb
from poise.rig.reasons import Miss, Stop
from poise.rig.rig import Rig
from poise.rig.solver_factory import RigProblem, make_solver

__all__ = ["Handle", "Limb", "Miss", "Rig", "RigProblem", "Stop", "make_solver"]
