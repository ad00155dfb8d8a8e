"""What a rig asks of a solver, and who makes the solver.

A rig prepares one solver for each set of goals that its handles have. `make_solver` makes the usual one; whoever wants
another method, other weights or other options gives the rig a function of his own.
"""

from __future__ import annotations

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
    """What a rig asks for at one moment.

    Attributes:
        model: The body.
        goals: The goals, each on its level and with its name: a pin or a reach has the name of its handle.
        limits: The limits beyond the body's own.
        frozen: The joints that do not move.
        targets: Goal name to the target of the next frame; the goals themselves hold none yet.
        stiffness: How little each velocity moves, (nv,): the whole body last; None for the model's own.
    """

    model: Model
    goals: tuple[Goal, ...]
    limits: Sequence[Limit] | Limit = ()
    frozen: frozenset[str] = frozenset()
    targets: Mapping[str, Any] = field(default_factory=dict)
    stiffness: NDArray[np.float64] | None = None

    @property
    def joints(self) -> list[str] | None:
        """The joints that may move; None where all of them may."""
        if not self.frozen:
            return None
        free = (j.name for j in self.model.joints if j.nv and not j.mimic and not j.locked)
        return [name for name in free if name not in self.frozen]


SolverMaker = Callable[[RigProblem], Solver]


def make_solver(problem: RigProblem) -> Solver:
    """Make the usual solver of a rig: strict levels, and a pose that goes on from the one before."""
    return Solver(
        problem.model,
        list(problem.goals),
        limits=problem.limits,
        joints=problem.joints,
        stiffness=problem.stiffness,
        mode="continuous",
    )
