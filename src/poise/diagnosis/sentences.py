"""The sentences of `why()`, one function for each kind of cause and remedy.

A sentence only states the numbers of its record. The words for goals and limits are in words.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from poise.diagnosis.misses import read_tolerances
from poise.diagnosis.relax import is_local
from poise.diagnosis.words import (
    name_value,
    say_angle,
    say_count,
    say_error,
    say_errors,
    say_joint_value,
    say_limit,
    say_needed_tolerance,
    say_part,
    say_size,
    say_vector,
)
from poise.solvers.limit_tables import find_timed
from poise.solvers.report.explanation import Cause, CauseKind, WayOut, WayOutKind
from poise.solvers.report.findings import ActiveLimit, Conditioning
from poise.solvers.solution import Solution

__all__ = ["CAUSES", "WAYS_OUT", "say_cause", "say_reached", "say_ways_out"]

MOST_LISTED = 4
OTHER_UNIT = 20.0  # times the farthest possible distance: beyond it, the target is probably not in metres
FRESH = 'in a fresh solve (mode="nearest")'
WITHIN = "Every goal is within its tolerance."
UNPROVED = (
    "It is not proved that no pose inside the limits reaches it: another search (restarts=, seed=) might find one."
)


def say_reached(solution: Solution) -> str:
    """Return the sentence for a solution that reached all goals, with the errors."""
    worst = ", ".join(f"{name!r} to {say_error(solution, name)}" for name in solution.errors)
    searches = f" after {solution.searches} searches" if solution.searches > 1 else ""
    return f"Every goal is reached{searches}: {worst}."


def say_cause(solution: Solution, cause: Cause) -> str:
    """Return the sentence for a cause."""
    return CAUSES[cause.kind](solution, cause)


def say_ways_out(solution: Solution, ways: Sequence[WayOut]) -> tuple[WayOut, ...]:
    """Return the remedies with their sentences, the first to relax at the front."""
    out: list[WayOut] = []
    for way in ways:
        text = WAYS_OUT[way.kind](solution, way)
        if way.kind not in WHOLE:
            reached = f"{say_fresh(solution, way)}it would be reached " if way.tried else ""
            text = f"{'Or' if out else 'Relax first:'} {reached}{text}{say_value(solution, way)}."
        out.append(replace(way, text=text))
    return tuple(out)


# ------------------------------------------------------------------------------------------------ causes


def say_broken(solution: Solution, cause: Cause) -> str:
    """State that a limit has been violated since the start."""
    (limit,) = cause.limits
    below = limit.side == "lower"
    if limit.kind == "closed":
        apart = say_size(solution, limit.value)
        return f"The loop {limit.limit!r} is still open, by {apart}: start from a pose where it is closed."
    if limit.kind == "clearance":
        one, other = limit.between
        return f"{limit.limit!r} has been violated since the start: {one} and {other} are too close."
    if limit.kind == "cone":
        verb = {"swing": "swung", "twist": "twisted"}.get(limit.part, "turned")
        return f"{limit.joint!r} has been {verb} beyond its cone since the start: {say_angle(limit.value)}."
    if limit.kind != "range":
        bound = f"{limit.value:.4g}, {'below' if below else 'above'} the bound {limit.end:.4g}"
        return f"{limit.limit!r} has been violated since the start: {name_value(limit)} is {bound}."
    where = f"{say_joint_value(solution, limit, limit.value)}, not {say_joint_value(solution, limit, limit.end)}"
    side = f"{'below' if below else 'above'} its {limit.side} limit"
    return f"{limit.joint!r}{say_part(solution, limit)} has been {side} since the start: {where}."


def say_proof(solution: Solution, cause: Cause) -> str:
    """State a proof, and whether the joint limits are part of it."""
    numbers = cause.numbers
    far = numbers["distance"] > numbers["farthest"]
    bound = say_size(solution, numbers["farthest" if far else "nearest"], 4)
    distance, most = say_size(solution, numbers["distance"], 4), "at most" if far else "at least"
    ranges = " inside the joint limits" if numbers["limited"] else ""
    gap = f"{say_size(solution, numbers['excess'])} too {'far' if far else 'close'}"
    odd = is_other_unit(solution, numbers["distance"], numbers["farthest"])
    unit = " Lengths are in metres: were millimetres meant?" if odd else ""
    if cause.vector is None:
        one, other = cause.goals
        return (
            f"Proved out of reach: the targets of {one!r} and {other!r} are {distance} apart, and the body "
            f"between them spans {most} {bound}{ranges}: {gap}.{unit}{say_first(solution, one, other)}"
        )
    (goal,) = cause.goals
    base = solution.list_rows()[goal].base
    still = f"of {base!r}" if base else "which cannot move"
    pivot = bool(numbers["pivot"])
    where = f"with this rotation of {goal!r} the last joint" if pivot else "the target"
    return (
        f"Proved out of reach: {where} is {distance} from the point {say_vector(np.array(cause.vector))}, {still}, "
        f"and {'the last joint' if pivot else repr(goal)} can be {most} {bound} from it{ranges}: {gap}.{unit}"
    )


def is_other_unit(solution: Solution, distance: float, farthest: float) -> bool:
    """Return whether a target is so far away that it was probably not given in metres."""
    return distance > OTHER_UNIT * max(farthest, solution.model.length) and solution.model.units == "m"


def say_first(solution: Solution, one: str, other: str) -> str:
    """State which of two goals has the higher priority; empty if it is the same."""
    goals = solution.solver.goals
    first, last = sorted((one, other), key=lambda name: int(goals[name].priority))
    if goals[first].priority == goals[last].priority:
        return ""
    return f" {last!r} has a lower priority than {first!r}."


def say_locked(_: Solution, cause: Cause) -> str:
    """List the bones that keep their lengths."""
    return f"Bone lengths are locked: {name_a_few(cause.joints)} may slide only if named in joints=."


def say_late(_: Solution, cause: Cause) -> str:
    """State that time ran out."""
    return f"Time ran out after {cause.numbers['steps']:.0f} steps ({cause.numbers['seconds'] * 1e6:.0f} us)."


def say_steps(_: Solution, cause: Cause) -> str:
    """State that the steps ran out."""
    steps, most = cause.numbers["steps"], cause.numbers["max_steps"]
    searches = say_count(int(cause.numbers["searches"]), "search", "searches")
    if steps < most:  # of one part of the solve, such as a level, or gains too small to go on for
        return f"The search stopped while it still improved: {steps:.0f} steps in {searches} with max_steps={most:.0f}."
    return f"The steps ran out: {steps:.0f} in {searches} with max_steps={most:.0f}."


def say_progress(solution: Solution, cause: Cause) -> str:
    """State that further calls, or further time steps, come nearer."""
    numbers = cause.numbers
    span = f"at most {numbers['span']:g} rad"
    if "dt" not in numbers:
        return f"One call moves each joint by {span}: call again from this pose."
    kinds = [kind.lower() for kind in find_timed(solution.solver.options.limits)]
    bound = f"the limits of {' and '.join(kinds)}" if kinds else f"{span} for each joint"
    way = f"one time step within {bound}: step again from this pose"
    turned = f", in which a joint turned by up to {numbers['turned']:.3g} rad" if numbers["turned"] > 0 else ""
    return f"The target is not reached yet. This is {way} (dt is {numbers['dt']:g} s{turned})."


def say_branch(solution: Solution, _: Cause) -> str:
    """State that no small motion comes nearer."""
    if solution.velocity is not None:
        return "The branch ends here: further time steps from this pose come no nearer."
    return "The branch ends here, and continuous mode never jumps to another."


def say_limits(solution: Solution, cause: Cause) -> str:
    """List the limits that restrict the goals."""
    more = len(cause.limits) - MOST_LISTED
    told = "; ".join(say_limit(solution, limit) for limit in cause.limits[:MOST_LISTED])
    strongest = " (the strongest first)" if len(cause.limits) > 1 else ""
    return f"Restricted by limits{strongest}: {told}{f'; and {more} more' if more > 0 else ''}."


def say_conflict(solution: Solution, cause: Cause) -> str:
    """State that two goals of one priority are in conflict, and the cost of each to the other."""
    one, other = cause.goals
    told = "; ".join(filter(None, (say_gain(solution, cause, *pair) for pair in ((one, other), (other, one)))))
    pair = f"{one!r} and {other!r} are in conflict"
    return f"{pair}: a step towards one leads away from the other{told and ': '}{told}."


def say_giving(solution: Solution, cause: Cause) -> str:
    """State that a goal has a lower priority than another one, and the cost."""
    name, other = cause.goals
    return f"{name!r} has a lower priority than {other!r}: {say_gain(solution, cause, name, other)}."


def say_gain(solution: Solution, cause: Cause, name: str, without: str) -> str:
    """State the gain of a goal if another one is dropped; empty without a gain."""
    if f"{name}.metres" not in cause.numbers:
        return ""
    after = cause.numbers[f"{name}.metres"], cause.numbers[f"{name}.radians"]
    fresh = f"{FRESH} " if is_local(solution) else ""
    if all(left <= most for left, most in zip(after, read_tolerances(solution, name), strict=True)):
        return f"{fresh}without {without!r}, {name!r} would be reached"
    missed = f"{name!r} would be missed by {say_errors(solution, name, after)} instead of {say_error(solution, name)}"
    return f"{fresh}without {without!r}, {missed}"


def say_minimum(_: Solution, cause: Cause) -> str:
    """State that the solve is in a local minimum, with the direction of the remaining error."""
    tried = say_count(int(cause.numbers["searches"]), "search", "searches")
    return f"Stalled in a local minimum in {tried}: {say_left(cause)}, and no small step reduces it."


def say_stuck(_: Solution, cause: Cause) -> str:
    """State that no joint reduces the remaining error."""
    return f"No joint can move it: {say_left(cause)}."


def say_left(cause: Cause) -> str:
    """State the remaining error of a goal, and its direction if it is a vector."""
    left = f"the remaining error of {cause.goals[0]!r}"
    if cause.vector is None:
        return f"{left} is constant"
    verb = "points along" if cause.motion == "move" else "is a rotation about"
    return f"{left} {verb} {say_vector(np.array(cause.vector))}"


def say_singular(_: Solution, cause: Cause) -> str:
    """State the direction in which the pose cannot move."""
    vector = np.zeros(3) if cause.vector is None else np.array(cause.vector)
    never = cause.kind is CauseKind.NEVER_MOVES
    lost = Conditioning(np.zeros(0), np.inf, cause.goals[0], cause.motion, vector, never)
    return f"{lost.text[0].upper()}{lost.text[1:]}." if never else f"The pose is singular: {lost.text}."


def say_no_branch(solution: Solution, cause: Cause) -> str:
    """State that every branch of a chain's closed form is excluded."""
    (goal,) = cause.goals
    frame = str(solution.list_rows()[goal].frame)
    family = solution.model.family(frame)
    return (
        f"Proved out of reach: no pose inside the joint limits brings {goal!r} within its tolerances; every branch of "
        f"the chain to {frame!r} ({family.name}) is excluded. solve_all(model, goal).why() lists the joints."
    )


def say_collisions(solution: Solution, cause: Cause) -> str:
    """State that every branch is in collision: with what, and how deep."""
    (goal,), count, spacing = cause.goals, len(cause.limits), cause.numbers["spacing"]
    told = "; ".join(say_depth(solution, limit) for limit in cause.limits[:MOST_LISTED])
    more = f"; and {count - MOST_LISTED} more" if count > MOST_LISTED else ""
    each = "the only branch is" if count == 1 else f"{count} branches, each"
    text = f"In collision wherever {goal!r} is reached: {each} in collision. The least deep first: {told}{more}."
    if not spacing:
        return text
    free = f"{int(cause.numbers['poses'])} poses were tested, {say_angle(spacing)} of the free joint apart"
    return f"{text} Poses between the tested ones might be clear: {free}."


def say_depth(solution: Solution, limit: ActiveLimit) -> str:
    """Name the two surfaces of a contact, and its depth below the required gap."""
    one, other = limit.between
    return f"{one} with {other} by {say_size(solution, limit.end - limit.value)}"


def say_exempt(_: Solution, cause: Cause) -> str:
    """List the joints outside their range that the solver may not move."""
    names = ", ".join(repr(limit.name) for limit in cause.limits[:MOST_LISTED])
    return f"Outside their range, and not in joints=: {names}."


CAUSES: dict[CauseKind, Callable[[Solution, Cause], str]] = {
    CauseKind.BROKEN_LIMIT: say_broken,
    CauseKind.PROVED: say_proof,
    CauseKind.NO_BRANCH: say_no_branch,
    CauseKind.IN_COLLISION: say_collisions,
    CauseKind.LOCKED_BONES: say_locked,
    CauseKind.OUT_OF_TIME: say_late,
    CauseKind.OUT_OF_STEPS: say_steps,
    CauseKind.ON_ITS_WAY: say_progress,
    CauseKind.BRANCH_ENDS: say_branch,
    CauseKind.LIMITS: say_limits,
    CauseKind.CONFLICT: say_conflict,
    CauseKind.GIVES_WAY: say_giving,
    CauseKind.LOCAL_MINIMUM: say_minimum,
    CauseKind.NO_JOINT_MOVES: say_stuck,
    CauseKind.SINGULAR: say_singular,
    CauseKind.NEVER_MOVES: say_singular,
    CauseKind.EXEMPT: say_exempt,
}


# ------------------------------------------------------------------------------------------------ ways out


def say_move(solution: Solution, way: WayOut) -> str:
    """Advise to move a target, or two of them."""
    proof = solution.proof
    if proof is None:
        return "no single limit, goal or option that was tried is enough; move the target"
    far, by = proof.distance > proof.farthest, say_size(solution, way.numbers["metres"])
    if is_other_unit(solution, proof.distance, proof.farthest):
        return "give the target in metres: divide millimetres by 1000"
    if len(way.goals) == 2:
        one, other = way.goals
        return (
            f"bring the targets of {one!r} and {other!r} at least {by} {'closer together' if far else 'farther apart'}"
        )
    return f"move the target of {way.goals[0]!r} at least {by} {'closer' if far else 'away'}"


def say_tolerance(solution: Solution, way: WayOut) -> str:
    """List the tolerances that would accept the pose."""
    tolerances = [f"{say_needed_tolerance(solution, name)} for {name!r}" for name in way.goals]
    return f"This pose would be accepted with a tolerance of {', '.join(tolerances)}."


def say_without_limits(_: Solution, way: WayOut) -> str:
    """List the limits that would have to be dropped together."""
    return f"without the limits of {name_a_few(list(dict.fromkeys(limit.limit or limit.name for limit in way.limits)))}"


def say_without_range(_: Solution, way: WayOut) -> str:
    """Name the joint limit that would have to be dropped."""
    return f"without the {way.limits[0].side} limit of {way.limits[0].name!r}"


WAYS_OUT: dict[WayOutKind, Callable[[Solution, WayOut], str]] = {
    WayOutKind.FRESH_SOLVE: lambda *_: f"{FRESH}, which may leave this branch",
    WayOutKind.MORE_TIME: lambda *_: "with more time",
    WayOutKind.MORE_STEPS: lambda _, way: f"with max_steps={way.numbers['max_steps']:.0f}",
    WayOutKind.MORE_SEARCHES: lambda _, way: f"with restarts={way.numbers['restarts']:.0f}",
    WayOutKind.OTHER_SEED: lambda _, way: f"with seed={way.numbers['seed']:.0f}",
    WayOutKind.OTHER_SEARCH: lambda *_: "inside all limits, by another search (restarts=, seed=)",
    WayOutKind.WITHOUT_RANGE: say_without_range,
    WayOutKind.WITHOUT_LIMIT: lambda _, way: f"without the limit {way.limits[0].limit!r}",
    WayOutKind.WITHOUT_LIMITS: say_without_limits,
    WayOutKind.ALL_JOINTS: lambda *_: "if all joints could move",
    WayOutKind.POSITION_ALONE: lambda _, way: f"if {way.goals[0]!r} had no rotation target",
    WayOutKind.WITHOUT_GOAL: lambda _, way: f"without the goal {way.goals[0]!r}",
    WayOutKind.MOVE_TARGET: say_move,
    WayOutKind.UNPROVED: lambda *_: UNPROVED,
    WayOutKind.TOLERANCE: say_tolerance,
}
WHOLE = (WayOutKind.UNPROVED, WayOutKind.TOLERANCE)  # complete sentences


def say_fresh(solution: Solution, way: WayOut) -> str:
    """State that a remedy was tried in a fresh solve, unless its own text says so."""
    return f"{FRESH} " if is_local(solution) and way.kind is not WayOutKind.FRESH_SOLVE else ""


def say_value(solution: Solution, way: WayOut) -> str:
    """State the value of a freed joint."""
    ranges: list[ActiveLimit] = [limit for limit in way.limits if limit.kind == "range"]
    if "value" not in way.numbers:
        return ""
    return f" (it would go to {say_joint_value(solution, ranges[0], way.numbers['value'])})"


def name_a_few(names: Sequence[str]) -> str:
    """Return a few names, and the number of the others."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(map(repr, names[:MOST_LISTED])) + more
