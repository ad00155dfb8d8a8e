"""Answers: every pose of a transform."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import degrees, isfinite
from numbers import Real
from typing import TYPE_CHECKING, overload

from poise.errors import InvalidValue

if TYPE_CHECKING:
    from poise.model.family import Family
    from poise.solvers.solution import Solution

__all__ = ["Answers", "BranchArc", "Excluded"]


@dataclass(frozen=True, slots=True)
class BranchArc:
    """An interval of the free joint in which one branch keeps every joint inside its range.

    Attributes:
        branch: Number of the branch, 0 to 7. joint: The free joint. low: Where the arc begins [rad or m]. high: Where
            it ends. slides: Whether these are lengths.
    """

    branch: int
    joint: str
    low: float
    high: float
    slides: bool = False

    @property
    def width(self) -> float:
        """How wide it is [rad or m]."""
        return self.high - self.low

    def __str__(self) -> str:
        ends = (f"{self.low:.4f}", f"{self.high:.4f} m")
        if not self.slides:
            ends = (f"{degrees(self.low):.2f}", f"{degrees(self.high):.2f} degrees")
        return f"branch {self.branch}: {self.joint} from {ends[0]} to {ends[1]}"


@dataclass(frozen=True, slots=True)
class Excluded:
    """A branch that exists but lies outside the ranges.

    Attributes:
        branch: Its number. joint: The joint that is farthest outside. excess: By how much [rad or m]. slides: Whether
            that is a length. at: Value of the free joint at which it is least; None of six joints. free_slides: Whether
            that is a length.
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
    """The poses of a transform inside the limits, nearest to the start first.

    Six joints: every branch once; poses that differ by whole turns of a joint are one, the one nearest to the start.
    Seven joints: of each arc its nearest pose, and samples along it.

    Attributes:
        family: Which closed form listed them.
        arcs: Every interval of the free joint, for each branch, that keeps all joints inside; none of six joints.
        complete: Whether it is proved that every branch, or every arc, is listed. False if two branches are so close,
            or a joint is so close to its limit, that rounding decides, and if there may be a pose farther than
            1e-4 rad (1e-5 of the chain's length where the free joint slides) from all arcs.
        excluded: The branches that exist but lie outside the ranges.

    Arcs and poses are computed on first access and kept. A pickle holds the query, which is repeated.
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

    def __reduce__(self) -> tuple[Callable[..., Answers], tuple[object, ...]]:
        if self._again is None:
            raise TypeError("these answers cannot be computed again; pickle those of solve_all.")
        return self._again

    @cached_property
    def _listed(self) -> tuple[Sequence[Solution], bool]:
        return self._listing()

    @property
    def _solutions(self) -> Sequence[Solution]:
        return self._listed[0]

    @property
    def complete(self) -> bool:
        """Whether it is proved that every branch, or every arc, is listed."""
        return self._listed[1]

    @cached_property
    def arcs(self) -> tuple[BranchArc, ...]:
        """Every interval of the free joint, for each branch, that keeps all joints inside; none of six joints."""
        return self._arcs()

    @property
    def excluded(self) -> tuple[Excluded, ...]:
        """The branches that exist but lie outside the ranges, the nearest to being inside first."""
        return self._excluded()

    def at(self, angle: float) -> list[Solution]:
        """Return one solution for each branch that is inside the ranges with the free joint at a value [rad or m].

        Args:
            angle: Of the free joint; chains of six joints have none.

        Raises:
            InvalidValue: The chain has no free joint, or the value is not finite.
        """
        if self._at is None:
            raise InvalidValue(
                "at() needs a free joint, and a chain of six joints has none; the answers are all there is."
            )
        if not isinstance(angle, Real) or not isfinite(angle):
            raise InvalidValue(f"at(): angle is {angle!r}; give one finite number, of {self.family.free!r} [rad or m].")
        return self._at(float(angle))

    def why(self) -> str:
        """Return why the list is empty: which joint excludes which branch and by how much; "" if it is not."""
        if self._solutions:
            return ""
        excluded = self.excluded
        if not excluded and not self.complete:
            return "No branch was found, and it is not proved that none exists."
        if not excluded:
            return "No branch exists: whatever the joint limits, the chain cannot bring its frame there."
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
        arcs = f", {len(self.arcs)} arcs" if self.family.free else ""
        return f"<Answers: {len(self)}{arcs}, {'complete' if self.complete else 'perhaps not all'}>"

    def __str__(self) -> str:
        from poise.answers.text import table

        return table(self)
