"""Answers: the list of all poses that reach a transform."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import degrees, isfinite
from numbers import Real
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from poise.answers.lazy_poses import Poses
from poise.arrays import Floats
from poise.errors import InvalidValue

if TYPE_CHECKING:
    from poise.model.chain import Axis
    from poise.model.family import Family
    from poise.native import core
    from poise.solvers.solution import Solution

__all__ = ["Answers", "BranchArc", "Excluded"]


@dataclass(frozen=True, slots=True)
class BranchArc:
    """An interval of the free joint in which one branch keeps every joint inside its range.

    Attributes:
        branch: Number of the branch, 0 to 7.
        joint: The free joint.
        low: The lower end of the arc [rad or m].
        high: The upper end [rad or m].
        slides: Whether the free joint is prismatic, and the ends are in metres.
    """

    branch: int
    joint: str
    low: float
    high: float
    slides: bool = False

    @classmethod
    def read(cls, arc: core.Arc, free: Axis) -> BranchArc:
        """Return an arc of the kernels in units of the free joint's q."""
        low, high = sorted((end - free.bias) / free.gain for end in (arc.low, arc.high))
        return cls(arc.branch, free.joint, low, high, free.slides)

    @property
    def width(self) -> float:
        """The width of the arc [rad or m]."""
        return self.high - self.low

    def __str__(self) -> str:
        ends = (f"{self.low:.4f}", f"{self.high:.4f} m")
        if not self.slides:
            ends = (f"{degrees(self.low):.2f}", f"{degrees(self.high):.2f} degrees")
        return f"branch {self.branch}: {self.joint} from {ends[0]} to {ends[1]}"


@dataclass(frozen=True, slots=True)
class Excluded:
    """A branch that exists but lies outside the joint ranges.

    Attributes:
        branch: Number of the branch.
        joint: The joint farthest outside its range.
        excess: Its distance outside the range [rad or m].
        slides: Whether the excess is in metres.
        at: Value of the free joint with the least excess; None for six joints.
        free_slides: Whether `at` is in metres.
    """

    branch: int
    joint: str
    excess: float
    slides: bool
    at: float | None = None
    free_slides: bool = False

    def __str__(self) -> str:
        by = f"{self.excess:.4g} m" if self.slides else f"{degrees(self.excess):.3g} degrees"
        text = f"branch {self.branch}: {self.joint!r} is outside its range by {by}"
        if self.at is None:
            return text
        at = f"{self.at:.4g} m" if self.free_slides else f"{degrees(self.at):.1f} degrees"
        return f"{text} at best, with the free joint at {at}"


class Answers(Sequence["Solution"]):
    """The poses of a target inside the limits, nearest to the start first.

    Six joints, or two parallel hinges: every branch once. Of poses that differ by whole turns, only the one nearest to
    the start is listed, unless `turns` was requested. Seven joints: the nearest pose of each arc, and samples along it;
    of general joints, which have no arcs, every branch at values of the joints that are held. That is complete only
    if it is empty.

    Attributes:
        family: The family of the chain.
        arcs: Every interval of the free joint, for each branch, that keeps all joints inside; empty for six joints.
        complete: Whether the list is proved to contain every branch, or every arc. False if two branches are so close,
            or a joint is so close to its limit, that rounding decides, and if there may be a pose farther than 1e-4 rad
            (1e-5 of the chain's length if the free joint slides) from all arcs.
        excluded: The branches that exist but lie outside the joint ranges.
        q: The configurations of all poses in one array; much faster to read than the solutions.

    Arcs and poses are computed on first access and cached. A pickle contains the query, which is repeated on loading.
    """

    def __init__(
        self,
        family: Family,
        listing: Callable[[], tuple[Sequence[Solution], bool]],
        arcs: Callable[[], tuple[BranchArc, ...]],
        excluded: Callable[[], tuple[Excluded, ...]],
        at: Callable[[float], list[Solution]] | None,
        again: tuple[Callable[..., Answers], tuple[object, ...]] | None = None,
    ) -> None:
        self.family = family
        self._listing = listing
        self._arcs = arcs
        self._excluded = excluded
        self._at = at
        self._again = again
        self._every: Sequence[Solution] = ()  # those that were filtered

    def __reduce__(self) -> tuple[Callable[..., Answers], tuple[object, ...]]:
        if self._again is None:
            raise TypeError("these answers cannot be computed again; pickle those of solve_all.")
        return self._again

    def change(self, change: Callable[[Floats], Floats]) -> Answers:
        """Return the same answers with other poses, (k, nq), computed by a function on first access."""

        def list_changed() -> tuple[Sequence[Solution], bool]:
            poses = self._solutions
            assert isinstance(poses, Poses)
            return Poses(poses.solve, change(poses.q), poses.solver), self.complete

        again = (Answers.change, (self, change))
        return Answers(self.family, list_changed, self._arcs, self._excluded, self._at, again)

    def filter(self, keep: Callable[[Floats], NDArray[np.bool_]]) -> Answers:
        """Return the answers that a function of poses, (k, nq), keeps; on arcs there may be others between them."""

        def list_kept() -> tuple[Sequence[Solution], bool]:
            kept = self.change(lambda q: q[keep(q)])._solutions
            return kept, self.complete and not (self.family.free and len(self))

        def keep_at(angle: float) -> list[Solution]:
            return [one for one in self.at(angle) if keep(one.q[None])[0]]

        at = None if self._at is None else keep_at
        out = Answers(self.family, list_kept, self._arcs, self._excluded, at, (Answers.filter, (self, keep)))
        out._every = self
        return out

    @cached_property
    def _listed(self) -> tuple[Sequence[Solution], bool]:
        return self._listing()

    @property
    def _solutions(self) -> Sequence[Solution]:
        return self._listed[0]

    @property
    def complete(self) -> bool:
        """Whether the list is proved to contain every branch, or every arc."""
        return self._listed[1]

    @cached_property
    def arcs(self) -> tuple[BranchArc, ...]:
        """Every interval of the free joint, for each branch, that keeps all joints inside; empty for six joints."""
        return self._arcs()

    @property
    def excluded(self) -> tuple[Excluded, ...]:
        """The branches that exist but lie outside the joint ranges, smallest excess first."""
        return self._excluded()

    @property
    def q(self) -> Floats:
        """The configurations of all poses, (k, nq), in the order of the list."""
        poses = self._solutions
        if isinstance(poses, Poses) and (poses.solver is not None or not len(poses)):
            return poses.q.copy()
        return np.array([one.q for one in poses]) if len(poses) else np.zeros((0, 0))

    def at(self, angle: float) -> list[Solution]:
        """Return one solution for each branch that is inside the ranges with the free joint at a value [rad or m].

        Args:
            angle: The value of the only free joint.

        Raises:
            InvalidValue: The chain has no free joint, or the value is not finite.
        """
        if self._at is None:
            raise InvalidValue(
                "at() needs one free joint, and this chain has none or several; samples= sets the number of answers."
            )
        if not isinstance(angle, Real) or not isfinite(angle):
            raise InvalidValue(f"at(): angle is {angle!r}; give one finite number, of {self.family.free!r} [rad or m].")
        return self._at(float(angle))

    def why(self) -> str:
        """Return the reason for an empty list: the joint that excludes each branch, and its excess. "" if not empty."""
        if self._solutions:
            return ""
        if len(self._every):
            return f"None of the {len(self._every)} poses that reach the transform keeps the limits."
        excluded = self.excluded
        if not excluded and not self.complete:
            return "No branch was found, and it is not proved that none exists."
        if not excluded and self.family.free and self.family.six is None:
            return "No pose inside the joint limits reaches this transform."
        if not excluded:
            return "No branch exists: the chain cannot reach this transform, even without joint limits."
        found = "" if self.complete else " that was found"
        return f"Every branch{found} is outside the joint limits.\n" + "\n".join(f"  {one}" for one in excluded)

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, index: int | slice) -> Solution | tuple[Solution, ...]:
        return tuple(self._solutions[index]) if isinstance(index, slice) else self._solutions[index]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self._solutions)

    def __len__(self) -> int:
        return len(self._solutions)

    def __repr__(self) -> str:
        arcs = f", {len(self.arcs)} arcs" if self.arcs else ""
        return f"<Answers: {len(self)}{arcs}, {'complete' if self.complete else 'perhaps not all'}>"

    def __str__(self) -> str:
        from poise.answers.text import table

        return table(self)
