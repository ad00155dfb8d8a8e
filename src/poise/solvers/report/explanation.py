"""Explanation: the reasons for missed goals and possible remedies, as data. `Solution.why` returns its text.

`poise.diagnosis` computes it: the numbers in causes.py and relief.py, the sentences in sentences.py.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from poise.solvers.report.findings import ActiveLimit

__all__ = ["Cause", "CauseKind", "Explanation", "Missed", "WayOut", "WayOutKind"]

Vector = tuple[float, float, float]


class CauseKind(Enum):
    """The kind of a reason for missed goals.

    Attributes:
        BROKEN_LIMIT: The start violated a limit, and the solve has not returned inside it.
        PROVED: A distance that the body cannot have: no pose inside the limits reaches the goals.
        NO_BRANCH: Geometry or joint ranges exclude every branch of a chain: no pose reaches the goal.
        IN_COLLISION: Every branch of a chain that reaches the goal is in collision. `limits` has the deepest contact of
            each branch, the least deep branch first; "spacing" in `numbers` is the distance of two tested values of a
            free joint [rad, m], 0 without a free joint, where the branches are all poses.
        LOCKED_BONES: Bones that keep their length because `joints=` does not list them.
        OUT_OF_TIME: `time_limit` ended the search.
        OUT_OF_STEPS: `max_steps` ended the search.
        ON_ITS_WAY: The motion per call or time step is limited; the next call comes nearer.
        BRANCH_ENDS: No small motion reduces the error, and this mode never jumps to another branch.
        LIMITS: Active limits that prevent the goals.
        CONFLICT: Two goals of one priority with opposite gradients.
        GIVES_WAY: A goal yields to one of higher priority.
        LOCAL_MINIMUM: No small step reduces the error.
        NO_JOINT_MOVES: No movable joint changes the goal's error.
        SINGULAR: A direction in which the pose cannot move; reported with the local minimum.
        NEVER_MOVES: A direction in which no pose can move, such as out of a planar arm's plane; also reported there.
        EXEMPT: Joints outside their range that `joints=` excludes.
    """

    BROKEN_LIMIT = "broken limit"
    PROVED = "proved out of reach"
    NO_BRANCH = "no branch"
    IN_COLLISION = "in collision"
    LOCKED_BONES = "locked bones"
    OUT_OF_TIME = "out of time"
    OUT_OF_STEPS = "out of steps"
    ON_ITS_WAY = "on its way"
    BRANCH_ENDS = "branch ends"
    LIMITS = "limits"
    CONFLICT = "conflict"
    GIVES_WAY = "gives way"
    LOCAL_MINIMUM = "local minimum"
    NO_JOINT_MOVES = "no joint moves"
    SINGULAR = "singular"
    NEVER_MOVES = "never moves"
    EXEMPT = "exempt"


LOST = (CauseKind.SINGULAR, CauseKind.NEVER_MOVES)


class WayOutKind(Enum):
    """The kind of a remedy.

    Attributes:
        FRESH_SOLVE: A solve with `mode="nearest"`, which may leave this branch.
        MORE_TIME: A larger `time_limit`.
        MORE_STEPS: A larger `max_steps`.
        MORE_SEARCHES: More `restarts`.
        OTHER_SEED: Another `seed`.
        OTHER_SEARCH: Another search, since a pose inside all limits exists.
        WITHOUT_RANGE: A solve without one end of a joint's range.
        WITHOUT_LIMIT: A solve without one of `limits=`.
        WITHOUT_LIMITS: A solve without all active limits.
        ALL_JOINTS: A solve without `joints=`.
        POSITION_ALONE: The position of a goal without its rotation.
        WITHOUT_GOAL: A solve without one of the goals.
        MOVE_TARGET: Another target, or two targets closer to each other.
        UNPROVED: Another search may help, since the goals are not proved out of reach.
        TOLERANCE: A larger tolerance accepts the pose as it is; see `Missed.accepted`.
    """

    FRESH_SOLVE = "fresh solve"
    MORE_TIME = "more time"
    MORE_STEPS = "more steps"
    MORE_SEARCHES = "more searches"
    OTHER_SEED = "other seed"
    OTHER_SEARCH = "other search"
    WITHOUT_RANGE = "without range"
    WITHOUT_LIMIT = "without limit"
    WITHOUT_LIMITS = "without limits"
    ALL_JOINTS = "all joints"
    POSITION_ALONE = "position alone"
    WITHOUT_GOAL = "without goal"
    MOVE_TARGET = "move target"
    UNPROVED = "unproved"
    TOLERANCE = "tolerance"


@dataclass(frozen=True, slots=True)
class Missed:
    """A goal outside its tolerance.

    Attributes:
        goal: The name of the goal.
        metres: The remaining position error [m].
        radians: The remaining rotation error [rad].
        allowed: The tolerances [m, rad].
        text: The same data in words.
    """

    goal: str
    metres: float
    radians: float
    allowed: tuple[float, float]
    text: str = ""

    @property
    def accepted(self) -> tuple[float, float]:
        """The smallest tolerances that accept the pose as it is [m, rad]."""
        return max(self.metres, self.allowed[0]), max(self.radians, self.allowed[1])


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why goals were missed.

    Attributes:
        kind: The kind of the reason.
        goals: Names of the goals concerned.
        limits: The limits concerned, strongest first.
        joints: Names of the joints concerned.
        numbers: Values by name, in metres, radians and seconds. For a conflict, "<goal>.metres" and "<goal>.radians":
            the error of that goal without the other. For a proof, "limited" and "pivot", 1 or 0: whether the joint
            ranges are part of it, and whether it concerns the last joint before the goal's frame.
        vector: For a proof, the point from which its distance is measured; otherwise the direction of the remaining
            error, or the direction in which a singular pose cannot move, or None.
        motion: "move" or "turn" if `vector` is a direction; "change" for goals without a vector.
        text: The same data in words.
    """

    kind: CauseKind
    goals: tuple[str, ...] = ()
    limits: tuple[ActiveLimit, ...] = ()
    joints: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    vector: Vector | None = None
    motion: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class WayOut:
    """One remedy.

    Attributes:
        kind: The kind of the remedy.
        goals: Names of the goals concerned.
        limits: The limits concerned.
        numbers: Values by name: "max_steps", "restarts", "seed"; "value", the value of a freed joint [rad, m];
            "metres", the least distance by which to move a target.
        tried: Whether a solve with this remedy reached all remaining goals.
        text: The same data in words.
    """

    kind: WayOutKind
    goals: tuple[str, ...] = ()
    limits: tuple[ActiveLimit, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    tried: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons for missed goals and possible remedies; `Solution.why` returns its `str`.

    Attributes:
        missed: The goals outside their tolerances.
        causes: The reasons, the most certain first.
        ways_out: The remedies, the best one first.
        summary: The first line of the text: the missed goals, or that all were reached.
        notes: The assumptions of the limits, such as the pairs that a `Clearance` leaves out.
    """

    missed: tuple[Missed, ...]
    causes: tuple[Cause, ...]
    ways_out: tuple[WayOut, ...]
    summary: str
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Cause | WayOut, ...]:
        """Causes and remedies, in the order of the text."""
        return (*self.causes, *self.ways_out)

    def plain_values(self) -> dict[str, Any]:
        """Return all fields as numbers, text and lists, ready for JSON."""
        return {
            "summary": self.summary,
            "missed": [asdict(goal) for goal in self.missed],
            "causes": convert_records(self.causes),
            "ways_out": convert_records(self.ways_out),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def __str__(self) -> str:
        out = self.summary
        for part in self.parts:
            out += f"{' ' if part.kind in LOST else chr(10)}{part.text}"  # appended to the line of the local minimum
        return "\n".join([out, *self.notes])


def convert_records(records: Iterable[Cause | WayOut]) -> list[dict[str, Any]]:
    """Return records with their kinds as text and their limits by name, without empty fields."""
    out = []
    for record in records:
        limits = [convert_limit(limit) for limit in record.limits]
        values = {**asdict(record), "kind": record.kind.value, "limits": limits}
        out.append({name: value for name, value in values.items() if value not in ((), [], {}, "", None)})
    return out


def convert_limit(limit: ActiveLimit) -> dict[str, Any]:
    """Return a limit with its name, without internal indices."""
    fields = ("kind", "side", "value", "multiplier", "exempt")
    return {"name": limit.name, **{name: getattr(limit, name) for name in fields}}
