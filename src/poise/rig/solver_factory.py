"""The problem of a rig, and the function that makes its solver.

A rig prepares one solver for each set of goals. `make_solver` makes the default one; for another method, other weights
or other options, pass your own function to the rig.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.goals import Goal
from poise.limits import Limit
from poise.model import Model
from poise.solvers import Solver

__all__ = ["RigProblem", "SolverMaker", "make_solver"]


@dataclass(frozen=True, slots=True, eq=False)
class RigProblem:
    """The inverse kinematics problem of a rig at one moment.

    Attributes:
        model: The body.
        goals: The goals with their levels and names; a pin or a reach has the name of its handle.
        limits: The limits in addition to the body's own.
        frozen: The joints that do not move.
        targets: The targets of the next frame by goal name; the goals themselves do not contain them.
        stiffness: The stiffness of each velocity, (nv,), largest for the whole body; None for the model's own.
    """

    model: Model
    goals: tuple[Goal, ...]
    limits: Sequence[Limit] | Limit = ()
    frozen: frozenset[str] = frozenset()
    targets: Mapping[str, Any] = field(default_factory=dict)
    stiffness: NDArray[np.float64] | None = None

    @property
    def joints(self) -> list[str] | None:
        """The joints that may move; None for all."""
        if not self.frozen:
            return None
        free = (j.name for j in self.model.joints if j.nv and not j.mimic and not j.locked)
        return [name for name in free if name not in self.frozen]


SolverMaker = Callable[[RigProblem], Solver]


def make_solver(problem: RigProblem) -> Solver:
    """Make the default solver of a rig: strict levels, in continuous mode."""
    return Solver(
        problem.model,
        list(problem.goals),
        limits=problem.limits,
        joints=problem.joints,
        stiffness=problem.stiffness,
        mode="continuous",
    )
