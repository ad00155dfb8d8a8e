"""Help with failures for beginners: the kind, the remedy, and the section of the docs."""

from dataclasses import dataclass

from poise.solvers.report.explanation import Cause, CauseKind, Explanation

__all__ = ["PAGE", "REASONS", "Reason", "find_reason"]

PAGE = "docs/failures.md"


@dataclass(frozen=True, slots=True)
class Reason:
    """A kind of failure.

    Attributes:
        kinds: The kinds of causes it covers.
        section: The heading in the failure gallery.
        advice: An explanation, and the remedy in the studio.
        limit: The kind of limit the cause must involve, or "" for any.
    """

    kinds: tuple[CauseKind, ...]
    section: str
    advice: str
    limit: str = ""

    def covers(self, cause: Cause) -> bool:
        """Return whether this kind of failure covers a cause."""
        return cause.kind in self.kinds and (not self.limit or any(x.kind == self.limit for x in cause.limits))


REASONS = (
    Reason(
        (CauseKind.PROVED, CauseKind.NO_BRANCH),
        "Unreachable",
        "No pose of this body reaches the target. Bring the handle nearer, or click a pinned (blue) one to release it.",
    ),
    Reason(
        (CauseKind.LIMITS, CauseKind.BROKEN_LIMIT),
        "Obstacles",
        "One part stops at another. Go around it, or let parts touch (Solver tab).",
        limit="clearance",
    ),
    Reason(
        (CauseKind.GIVES_WAY, CauseKind.CONFLICT),
        "Conflicting goals",
        "Pins come first, then the dragged handle. Click a pinned (blue) handle to release it.",
    ),
    Reason(
        (CauseKind.LIMITS,),
        "Limit trap",
        "Joints are at their limits (violet). Come from another side, or let other parts follow.",
    ),
    Reason(
        (CauseKind.LOCAL_MINIMUM, CauseKind.BRANCH_ENDS),
        "Local minimum",
        "No small step from here helps. Pull the handle another way round, or press Reset and try again.",
    ),
    Reason(
        (CauseKind.OUT_OF_STEPS, CauseKind.ON_ITS_WAY),
        "Over-damped",
        "It is still moving: wait, or choose less damping or another method (Solver tab).",
    ),
)


def find_reason(explanation: Explanation) -> Reason | None:
    """Return the kind of failure of an explanation, or None."""
    return next((reason for reason in REASONS if any(map(reason.covers, explanation.causes))), None)
