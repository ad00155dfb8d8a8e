"""The solvers of a rig: their factory, the rest pose, and the current problem."""

from typing import Any

from poise.kinematics import Pose
from poise.rig.arguments import check_maker, read_rest
from poise.rig.catalogue import GoalCatalogue, make_catalogue
from poise.rig.frames import Frames
from poise.rig.history import RigHistory
from poise.rig.solver_factory import RigProblem, SolverMaker

__all__ = ["RigSolvers"]


class RigSolvers:
    """The solver settings of a rig.

    Args:
        frames: The frames of the rig.
        history: The snapshots of the rig.
    """

    def __init__(self, frames: Frames, history: RigHistory) -> None:
        self._frames, self._history = frames, history

    @property
    def problem(self) -> RigProblem:
        """The current problem: goals, limits, frozen joints, and the targets of the next frame."""
        return self._frames.make_problem(self._history.now)

    def make_catalogue(self) -> GoalCatalogue:
        """Return all goals that the handles may have as one prepared problem, for programs without Python."""
        return make_catalogue(self._frames.problems, self._history.now)

    @property
    def rest(self) -> Pose | None:
        """The pose to which free parts return; set it as the argument `rest` of a Rig."""
        rest = self._frames.problems.rest
        return None if rest is None else Pose(self._frames.model, rest.find_wanted(self._frames.model))

    @rest.setter
    def rest(self, rest: Any) -> None:
        frames, model = self._frames, self._frames.model
        posture = read_rest(rest, model, self._history.now.q, frames.problems.feet)
        home = frames.home if posture is None else posture.find_wanted(model)
        frames.problems.change(rest=posture)
        frames.home = home

    @property
    def make_solver(self) -> SolverMaker:
        """The function that makes the solvers; setting it recreates them from the next frame on."""
        return self._frames.problems.maker

    @make_solver.setter
    def make_solver(self, maker: SolverMaker) -> None:
        self._frames.problems.change(maker=check_maker(maker))
