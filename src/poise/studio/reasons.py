"""The kinds of failure for somebody who meets one for the first time: what it is, what to do, where to read on."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PAGE", "REASONS", "Reason", "reason_of"]

PAGE = "docs/failures.md"


@dataclass(frozen=True, slots=True)
class Reason:
    """One kind of failure.

    Attributes:
        signs: Words of `why()` that tell it from the others.
        section: Its heading in the failure gallery.
        advice: What it is, and what to do in the studio.
    """

    signs: tuple[str, ...]
    section: str
    advice: str


REASONS = (
    Reason(
        ("Proved out of reach",),
        "Unreachable",
        "No pose of this body gets there. Bring the handle nearer, or click a pinned (blue) one to let it go.",
    ),
    Reason(
        (" touches ", "closer than"),
        "Something in the way",
        "One part stops at another. Go around it, or let parts touch (Solver tab).",
    ),
    Reason(
        ("gives way", "in conflict"),
        "Goals in each other's way",
        "What is pinned comes first, then what you drag. Click a pinned (blue) handle to let it go.",
    ),
    Reason(
        ("Limits hold it back",),
        "Limit trap",
        "Joints stand at the end of their range (violet). Come from another side, or let other parts follow.",
    ),
    Reason(
        ("local minimum", "The branch ends here"),
        "Local minimum",
        "No small step from here helps. Pull the handle another way round, or press Reset and try again.",
    ),
    Reason(
        ("steps ran out", "One call moves", "still on its way"),
        "Over-damped",
        "It is still on its way: wait, or choose less damping or another method (Solver tab).",
    ),
)


def reason_of(why: str) -> Reason | None:
    """The kind of failure that `why()` tells of."""
    return next((reason for reason in REASONS if any(sign in why for sign in reason.signs)), None)
