"""solve_all for chains without a closed form.

The poses come from reach/chain_poses.py: those of six rotations in general position with a count that proves nearly
every list complete, those of two parallel hinges (reach/two_links.py), and guesses near a family. The solver's own
search checks and refines each on the model itself. Lengths are relative to the chain's own, so that an arm of any size
has the same list.
"""

from dataclasses import dataclass

import numpy as np

from poise.answers.answers import Answers, BranchArc, Excluded
from poise.answers.lazy_poses import PoseQuery, Poses
from poise.arrays import Floats
from poise.native import core
from poise.reach.chain_poses import ChainPoses
from poise.reach.closed_forms import read_values
from poise.reach.goal_chains import GoalChain
from poise.solvers.solution import Solution

__all__ = ["GeneralChainQuery"]


@dataclass(frozen=True, eq=False, slots=True)
class GeneralChainQuery(PoseQuery):
    """IK of a chain without a closed form: its guesses, and the number of values of held joints."""

    guesses: ChainPoses
    samples: int

    @property
    def T(self) -> Floats:
        """The target, (1, 4, 4)."""
        return self.guesses.place(self.target)

    def list_answers(self) -> Answers:
        """Return the answers, computed on first access."""
        guesses = self.guesses
        if guesses.family.free is None:
            return Answers(guesses.family, self.list_branches, tuple, self.exclude, None, self.again)
        at = None if guesses.free is None else self.solve_at
        return Answers(guesses.family, self.list_along, self.find_arcs, tuple, at, self.again)

    def list_given(self, values: Floats, guessed: bool = False, complete: bool = False) -> tuple[Poses, bool]:
        """Return the answers among joint values (k, joints), nearest to the start first, and whether they are all.

        Args:
            values: The joint values.
            guessed: Whether a search must find the pose.
            complete: Whether the values are those of all poses.
        """
        given, axes, reading = np.ascontiguousarray(values), self.guesses.listed, self.guesses.reading
        found = self.solver.use_problem(
            self.key,
            lambda native: native.list_given(axes, reading, self.start, self.target, given, guessed, complete),
        )
        return self.pose(found), found.complete

    # -------------------------------------------------------------------------------------------- six joints

    def list_branches(self) -> tuple[Poses, bool]:
        """Return the poses inside the ranges, and whether these are certainly all."""
        if not self.guesses.is_exact:
            return self.list_given(self.guesses.find(self.T)[1], guessed=True)
        _, values, (complete,) = self.guesses.find_poses(self.T, np.zeros(1))
        return self.list_given(values, False, complete)

    def exclude(self) -> tuple[Excluded, ...]:
        """Return the poses outside the ranges, smallest excess first."""
        guesses, out = self.guesses, []
        values = (guesses.find_poses(self.T, np.zeros(1), False) if guesses.is_exact else guesses.find(self.T))[1]
        units = np.array([guesses.unit if axis.slides else 1.0 for axis in guesses.axes])
        lower, upper = np.array([(axis.lower, axis.upper) for axis in guesses.axes]).T
        at = read_values(guesses.axes, guesses.read(values, self.start))
        for number, excess in enumerate(np.maximum(lower - at, at - upper)):
            k = int((excess / units).argmax())
            if excess[k] / units[k] > core.AT_LIMIT:
                out.append(Excluded(number, guesses.axes[k].joint, float(excess[k]), guesses.axes[k].slides))
        return tuple(sorted(out, key=lambda one: one.excess))

    # -------------------------------------------------------------------------------------------- seven joints

    def find_arcs(self) -> tuple[BranchArc, ...]:
        """Return the intervals of the free joint, from the nearest chain of the family; none for general joints."""
        free = self.guesses.free
        return () if free is None else tuple(BranchArc.read(arc, free) for arc in self.guesses.find_arcs(self.T[0]))

    def list_along(self) -> tuple[Poses, bool]:
        """Return poses along every arc, or over the whole range, and whether there is certainly none."""
        guesses = self.guesses
        along = (
            guesses.find_along(self.T, self.start, self.samples) if isinstance(guesses, GoalChain) else self.sample()
        )
        poses, _ = self.list_given(along, not guesses.is_exact)
        return poses, not len(poses) and bool(guesses.exclude(self.T, (0.0, 0.0))[0])

    def sample(self) -> Floats:
        """Return joint values at values of the free joint (k, joints), the one of the start first."""
        guesses, free = self.guesses, self.guesses.free
        assert free is not None
        near = guesses.read(read_values(guesses.axes, self.start)[None], self.start)
        own = float(near[0, free.q])  # whole turns away, if that is inside
        spread = ((self.guesses.spread(self.samples) - free.bias) / free.gain).tolist()
        arcs = self.find_arcs()
        if self.guesses.is_general:
            at = [own] if free.lower <= free.gain * own + free.bias <= free.upper else []
        else:
            at = [min(max(own, arc.low), arc.high) for arc in arcs]
            spread = [x for x in spread if any(arc.low <= x <= arc.high for arc in arcs)]
        values = free.gain * np.unique([*at, *spread]) + free.bias
        return self.guesses.find(self.T, values)[1]

    def solve_at(self, angle: float) -> list[Solution]:
        """Return one solution for each branch with the free joint fixed at a value."""
        free = self.guesses.free
        assert free is not None
        value = free.gain * angle + free.bias
        if not free.lower <= value <= free.upper:
            return []
        exact, at = self.guesses.is_exact, angle if isinstance(self.guesses, GoalChain) else value
        _, values, *_ = (self.guesses.find_poses if exact else self.guesses.find)(self.T, np.array([at]))
        return list(self.list_given(values, not exact)[0])
