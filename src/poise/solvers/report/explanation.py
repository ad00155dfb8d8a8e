"""Explanation: why goals were missed and what would help, as data; its text is what `Solution.why` says.

`poise.diagnosis` fills it in: the numbers in causes.py and relief.py, the sentences in sentences.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from poise.solvers.report.findings import ActiveLimit

__all__ = ["Cause", "CauseKind", "Explanation", "Missed", "WayOut", "WayOutKind"]

Vector = tuple[float, float, float]


class CauseKind(Enum):
    """What keeps a pose from its goals.

    Attributes:
        BROKEN_LIMIT: A limit that the start broke, and to which no way back was found, or not yet.
        PROVED: A distance that the body cannot have: no pose inside the limits reaches the goals.
        NO_BRANCH: A chain whose every branch is ruled out, by geometry or by a range: no pose reaches the goal.
        LOCKED_BONES: Bones that keep their length, since `joints=` does not name them.
        OUT_OF_TIME: `time_limit` ended the search.
        OUT_OF_STEPS: `max_steps` ended the search.
        ON_ITS_WAY: One call, or one step in time, leads only so far; the next one comes nearer.
        BRANCH_ENDS: No small motion leads on, and this mode never jumps to another branch.
        LIMITS: Limits that hold the goals back.
        CONFLICT: Two goals of one priority whose pulls oppose each other.
        GIVES_WAY: A goal that gives way to one that comes first.
        LOCAL_MINIMUM: No small step makes the error less.
        NO_JOINT_MOVES: No joint that may move changes the goal's error.
        SINGULAR: A direction in which the pose cannot move; reported with the local minimum.
        NEVER_MOVES: A direction in which no pose can move, such as out of a planar arm's plane; reported there, too.
        EXEMPT: Joints outside their range that `joints=` leaves out.
    """

    BROKEN_LIMIT = "broken limit"
    PROVED = "proved out of reach"
    NO_BRANCH = "no branch"
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
    """What would help.

    Attributes:
        FRESH_SOLVE: A solve with `mode="nearest"`, which may leave this branch.
        MORE_TIME: A larger `time_limit`.
        MORE_STEPS: A larger `max_steps`.
        MORE_SEARCHES: More `restarts`.
        OTHER_SEED: Another `seed`.
        OTHER_SEARCH: Another search: there is a pose inside all limits.
        WITHOUT_RANGE: Without one end of a joint's range.
        WITHOUT_LIMIT: Without one of `limits=`.
        WITHOUT_LIMITS: Without all limits that hold the goals back.
        ALL_JOINTS: Without `joints=`.
        POSITION_ALONE: The position of a goal without its rotation.
        WITHOUT_GOAL: Without one of the goals.
        MOVE_TARGET: Another target, or two targets nearer to each other.
        UNPROVED: Perhaps another search: that no pose inside the limits reaches it is not proved.
        TOLERANCE: A larger tolerance accepts the pose as it stands; see `Missed.accepted`.
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
        goal: Its name.
        metres: What is left of its position [m].
        radians: What is left of its rotation [rad].
        allowed: Its tolerances: metres, radians.
        text: The same in words.
    """

    goal: str
    metres: float
    radians: float
    allowed: tuple[float, float]
    text: str = ""

    @property
    def accepted(self) -> tuple[float, float]:
        """The least tolerances that accept the pose as it stands: metres, radians."""
        return max(self.metres, self.allowed[0]), max(self.radians, self.allowed[1])


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why goals were missed.

    Attributes:
        kind: What sort of reason it is.
        goals: Names of the goals that it is about.
        limits: The limits that it is about, the strongest first.
        joints: Names of the joints that it is about.
        numbers: Its figures by name, in metres, radians and seconds. Of a conflict, "<goal>.metres" and
            "<goal>.radians": what would be left of that goal without the other. Of a proof "limited" and "pivot", 1 or
            0: whether the joint ranges are part of it, and whether it is about the last joint before the goal's frame.
        vector: Of a proof the point that its distance is measured from; else the direction in which the rest of a goal
            points, or in which a singular pose cannot move. Otherwise None.
        motion: "move" or "turn" where `vector` is a direction; "change" where a goal is not about a vector.
        text: The same in words.
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
    """One thing that would help.

    Attributes:
        kind: What to do.
        goals: Names of the goals that it is about.
        limits: The limits that it is about.
        numbers: Its figures by name: "max_steps", "restarts", "seed"; "value", where a freed joint would go [rad, m];
            "metres", by how much to move a target at least.
        tried: Whether the problem was solved so, and every goal that is left was reached.
        text: The same in words.
    """

    kind: WayOutKind
    goals: tuple[str, ...] = ()
    limits: tuple[ActiveLimit, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    tried: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why goals were missed and what would help; `str` of it is what `Solution.why` says.

    Attributes:
        missed: The goals that are outside their tolerances.
        causes: Why, the surest reason first.
        ways_out: What would help, what to relax first at the front.
        summary: The first line: what was missed, or that nothing was.
    """

    missed: tuple[Missed, ...]
    causes: tuple[Cause, ...]
    ways_out: tuple[WayOut, ...]
    summary: str

    @property
    def parts(self) -> tuple[Cause | WayOut, ...]:
        """Causes and ways out, in the order of the text."""
        return (*self.causes, *self.ways_out)

    def plain_values(self) -> dict[str, Any]:
        """Return everything in numbers, text and lists, as JSON has it."""
        return {
            "summary": self.summary,
            "missed": [asdict(goal) for goal in self.missed],
            "causes": convert_records(self.causes),
            "ways_out": convert_records(self.ways_out),
        }

    def __str__(self) -> str:
        out = self.summary
        for part in self.parts:
            out += f"{' ' if part.kind in LOST else chr(10)}{part.text}"  # of the minimum, on its line
        return out


def convert_records(records: Iterable[Cause | WayOut]) -> list[dict[str, Any]]:
    """Return records with their kinds as text and their limits by name, without empty fields."""
    out = []
    for record in records:
        limits = [convert_limit(limit) for limit in record.limits]
        values = {**asdict(record), "kind": record.kind.value, "limits": limits}
        out.append({name: value for name, value in values.items() if value not in ((), [], {}, "", None)})
    return out


def convert_limit(limit: ActiveLimit) -> dict[str, Any]:
    """Return a limit by its name, without indices that only have a meaning inside."""
    fields = ("kind", "side", "value", "multiplier", "exempt")
    return {"name": limit.name, **{name: getattr(limit, name) for name in fields}}
