"""Why goals were missed, in words and numbers, and what to relax first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.solvers.binding import ActiveLimit, active_limits, broken_limits
from poise.solvers.conditioning import conditioning, direction_of
from poise.solvers.conflict import conflict_texts, in_the_way
from poise.solvers.linear import linearise
from poise.solvers.options import CONTINUOUS_SPAN
from poise.solvers.proof import Proof, find_proof, is_missed
from poise.solvers.relax import Relaxation, Trials, candidates, fresh, helpful, is_local, of_effort
from poise.solvers.rules import timed
from poise.solvers.show import length_text
from poise.solvers.status import Status
from poise.solvers.words import (
    accepting_text,
    angle_text,
    count,
    error_text,
    limit_text,
    missed_text,
    part_text,
    value_name,
    value_text,
    vector_text,
)

if TYPE_CHECKING:
    from poise.solvers.solution import Solution

__all__ = ["explain"]

WEAK = 1e-3  # of the strongest multiplier: a limit that hardly holds anything back
MOST_LISTED = 4
MOST_CALLS = 20  # that are made to see whether the branch leads on
NOWHERE = 1e-9  # radians, or of L: such a call leads nowhere
UNPROVED = "That no pose inside the limits reaches it is not proved: another search (restarts=, seed=) might find one."
OTHER_UNIT = 20.0  # times the farthest that can be: such a target was hardly meant in metres


def explain(solution: Solution) -> str:
    """A few plain sentences, one a line: what was missed, why, and what to relax first."""
    if solution.reached:
        return reached_text(solution)
    limits, trials, broken = strong_limits(solution), Trials(solution), list(broken_limits(solution))
    named = {(limit.kind, limit.name, limit.side) for limit in broken}
    kept = [limit for limit in limits if (limit.kind, limit.name, limit.side) not in named]
    goes_on = is_local(solution) and can_go_on(solution)
    missed = "; ".join(missed_text(solution, name) for name in solution.errors if is_missed(solution, name))
    opening = f"{missed}." if missed else "Every goal is within its tolerance."
    parts = (broken_text(solution, broken), cause(solution, kept, trials, goes_on), exempt_text(solution))
    told = [line for part in parts for line in part]
    return "\n".join([opening, *told, *relief(solution, limits, trials, goes_on)])


def reached_text(solution: Solution) -> str:
    """That all is well, and how well."""
    worst = ", ".join(f"{name!r} to {error_text(solution, name)}" for name in solution.errors)
    searches = f" after {solution.searches} searches" if solution.searches > 1 else ""
    return f"Every goal is reached{searches}: {worst}."


# ------------------------------------------------------------------------------------------------ causes


def cause(solution: Solution, limits: Sequence[ActiveLimit], trials: Trials, goes_on: bool) -> Iterator[str]:
    """Why the search could not do better, the surest reason first."""
    if solution.proof is not None:
        yield proof_text(solution, solution.proof)
        yield from locked_text(solution, solution.proof)
        return
    if solution.status is Status.OUT_OF_TIME:
        yield f"Time ran out after {solution.steps} steps ({solution.seconds * 1e6:.0f} us)."
        return
    if solution.status is Status.OUT_OF_STEPS:
        limit = solution._solver._options.max_steps
        yield f"The steps ran out: {solution.steps} in {count(solution.searches, 'search', 'searches')} of {limit}."
    if solution.velocity is not None:
        if goes_on:
            yield step_text(solution)
            return
        yield "The branch ends here: no more steps in time from this pose come nearer."
    elif solution._solver._options.mode == "continuous":
        if goes_on:
            yield f"One call moves each joint by at most {span_text(solution)}: call again from this pose."
            return
        yield "The branch ends here, and continuous mode never jumps to another."
    if limits:
        more = len(limits) - MOST_LISTED
        told = "; ".join(limit_text(solution, limit) for limit in limits[:MOST_LISTED])
        strongest = " (the strongest first)" if len(limits) > 1 else ""
        yield f"Limits hold it back{strongest}: {told}{f'; and {more} more' if more > 0 else ''}."
    conflicts = list(conflict_texts(solution, linearise(solution), trials))
    yield from conflicts
    missed = any(is_missed(solution, name) for name in solution.errors)
    if missed and not limits and not conflicts and solution.status is Status.STALLED:
        yield minimum_text(solution)


def proof_text(solution: Solution, proof: Proof) -> str:
    """The proof in words, and whether the limits are part of it."""
    far = proof.distance > proof.farthest
    bound, distance = length_text(proof.farthest if far else proof.nearest, 4), length_text(proof.distance, 4)
    most = "at most" if far else "at least"
    ranges = "" if solution._solver._options.limit_handling == "off" else within_limits(solution, proof)
    gap = f"{length_text(proof.excess)} too {'far' if far else 'close'}"
    unit = " Lengths are in metres: were millimetres meant?" if proof.distance > OTHER_UNIT * proof.farthest > 0 else ""
    if proof.kind == "pair":
        one, other = proof.goals
        return (
            f"Proved out of reach: the targets of {one!r} and {other!r} are {distance} apart, and the body "
            f"between them spans {most} {bound}{ranges}: {gap}.{unit}{gives_way(solution, one, other)}"
        )
    center = vector_text(np.zeros(3) if proof.center is None else proof.center)
    base = solution._rows()[proof.goals[0]].base
    still = f"of {base!r}" if base else "which cannot move"
    what = f"{proof.goals[0]!r}" if proof.kind == "point" else "the last joint"
    where = "the target" if proof.kind == "point" else f"with this rotation of {proof.goals[0]!r} the last joint"
    return (
        f"Proved out of reach: {where} is {distance} from the point {center}, {still}, and {what} can be "
        f"{most} {bound} from it{ranges}: {gap}.{unit}"
    )


def locked_text(solution: Solution, proof: Proof) -> Iterator[str]:
    """The bones between the points of a proof whose lengths a file may change and a solve does not."""
    named = solution._solver._options.joints or ()
    rows = [solution._rows()[name] for name in proof.goals]
    ends = {row.frame for row in rows} | {row.base for row in rows if len(rows) == 1}
    way = [joint for frame in sorted(filter(None, ends)) for joint in solution.model.joints_above(frame)]
    locked = [joint.name for joint in way if joint.locked and way.count(joint) == 1 and joint.name not in named]
    if locked:
        more = f" and {len(locked) - MOST_LISTED} more" if len(locked) > MOST_LISTED else ""
        names = ", ".join(map(repr, locked[:MOST_LISTED])) + more
        yield f"Bones keep the lengths of the start: {names} would slide only if joints= named them."


def gives_way(solution: Solution, one: str, other: str) -> str:
    """Which of two goals is served first, if they differ in that."""
    goals = solution._solver.goals
    first, last = sorted((one, other), key=lambda name: int(goals[name].priority))
    if goals[first].priority == goals[last].priority:
        return ""
    return f" {last!r} gives way, since {first!r} is served first."


def within_limits(solution: Solution, proof: Proof) -> str:
    """Says that the bound is the limits' doing, where without them it would not hold."""
    bare = find_proof(solution, limited=False)
    return "" if bare is not None and bare.goals == proof.goals else " inside the joint limits"


def can_go_on(solution: Solution) -> bool:
    """Whether more calls in continuous mode, or more steps of the same time, from this pose, come nearer.

    They are made, as the caller would make them: until one reaches or a thousandth of the cost is gone, until one leads
    nowhere, or MOST_CALLS of them. Calls that may only move a little need only have come as much nearer.
    """
    twin, at, model = solution._twin(), linearise(solution), solution.model
    missed = [[name for name in goals if is_missed(solution, name)] for goals in at.levels]

    def costs(r: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([sum(float(np.sum(r[at.spans[name]] ** 2)) for name in goals) for goals in missed])

    before, q, velocity, moved = costs(at.r), solution.q, solution.velocity, 0.0
    unit = np.where(~model.slides, 1.0, model.length)
    for _ in range(MOST_CALLS):
        timeless = velocity is None
        again = twin.solve(q) if timeless else twin.step(q, solution._dt, solution._targets, velocity=velocity)
        led = float(np.abs(model.difference(q, again.q) / unit).max(initial=0.0))
        moved += led
        share = min(1.0, moved / CONTINUOUS_SPAN)
        nearer = costs(twin._native.rows_jacobian(again.q)[1]) < (1.0 - 1e-3 * share) * before
        if again.reached or (share == 1.0 and nearer.any()):
            return True
        if led < NOWHERE:
            break
        q, velocity = again.q, again.velocity
    return bool(nearer.any())


def step_text(solution: Solution) -> str:
    """One time step: what bounds how far it leads."""
    kinds = [kind.lower() for kind in timed(solution._solver._options.limits)]
    bound = f"the limits of {' and '.join(kinds)}" if kinds else f"at most {span_text(solution)} for each joint"
    way = f"one step in time, as far as it leads within {bound}: step again from this pose"
    return f"It is still on its way. This is {way} (dt is {solution._dt:g} s{farthest_text(solution)})."


def farthest_text(solution: Solution) -> str:
    """How far the joint that turned farthest went in the step."""
    assert solution.velocity is not None
    turned = np.abs(solution.velocity[~solution.model.slides]) * solution._dt
    return f", in which a joint turned by up to {turned.max():.3g} rad" if turned.max(initial=0.0) > 0 else ""


def broken_text(solution: Solution, broken: Iterable[ActiveLimit]) -> Iterator[str]:
    """Limits that the answer does not keep, because the start did not and no way back was found, or not yet."""
    for limit in broken:
        below = limit.side == "lower"
        if limit.kind == "closed":
            apart = length_text(limit.value)
            yield f"The loop {limit.limit!r} is still open, by {apart}: start from a pose where it is closed."
        elif limit.kind == "clearance":
            one, other = limit.between
            yield f"{one} and {other} are closer than {limit.limit!r} allows since the start, and never come closer."
        elif limit.kind == "cone":
            verb = {"swing": "swung", "twist": "twisted"}.get(limit.part, "turned")
            yield f"{limit.joint!r} is {verb} farther than its cone allows since the start: {angle_text(limit.value)}."
        elif limit.kind == "range":
            where = f"{value_text(solution, limit, limit.value)}, not {value_text(solution, limit, limit.end)}"
            side = f"{'below' if below else 'above'} its {limit.side} limit"
            yield f"{limit.joint!r}{part_text(solution, limit)} is {side} since the start: {where}."
        else:
            side = "below" if below else "above"
            what = f"{value_name(limit)} is {side} what {limit.limit!r} allows since the start"
            yield f"{what}: {limit.value:.4g}, not {limit.end:.4g}."


def span_text(solution: Solution) -> str:
    """The most that a joint may move in one call of continuous mode."""
    given = solution._solver._options.step_limit
    return f"{CONTINUOUS_SPAN if given is None else given:g} rad"


def strong_limits(solution: Solution) -> list[ActiveLimit]:
    """The limits that really hold the goals back, the strongest first."""
    limits = [limit for limit in active_limits(solution) if not limit.exempt and limit.multiplier > 0]
    return [limit for limit in limits if limit.multiplier > WEAK * limits[0].multiplier]


def exempt_text(solution: Solution) -> Iterator[str]:
    """Joints outside their range that the solver was not allowed to move."""
    exempt = [limit for limit in active_limits(solution) if limit.exempt]
    if exempt and solution._solver._options.limit_handling != "off":
        names = ", ".join(repr(limit.name) for limit in exempt[:MOST_LISTED])
        yield f"Outside their range, and not in joints=: {names}."


def minimum_text(solution: Solution) -> str:
    """A local minimum: where the rest of the error points and what the body cannot do there."""
    at, weakest = linearise(solution), conditioning(solution)
    name = max(at.spans, key=lambda key: float(np.linalg.norm(at.r[at.spans[key]])))
    left = f"what is left of {name!r}{where_to(solution, name, at.r[at.spans[name]])}"
    if not weakest.goal:
        return f"No joint can move it: {left}."
    away = f"{left}, and no small step makes it less"
    singular = f" The pose is singular: {weakest.text}." if weakest.singular else ""
    tried = count(solution.searches, "search", "searches")
    return f"Stalled in a local minimum in {tried}: {away}.{singular}"


def where_to(solution: Solution, name: str, rest: NDArray[np.float64]) -> str:
    """Where the rest of a goal points, if it is a vector."""
    kind, direction = direction_of(solution, solution._rows()[name], rest)
    if kind == "change":
        return " stays"
    return f" {'points along' if kind == 'move' else 'is a turn about'} {vector_text(direction)}"


# ------------------------------------------------------------------------------------------------ what to relax


def relief(solution: Solution, limits: Sequence[ActiveLimit], trials: Trials, goes_on: bool) -> Iterator[str]:
    """What was tried and helped, at most two ways, and the tolerance that would accept the pose."""
    missed = [name for name in solution.errors if is_missed(solution, name)]
    if not missed:
        return
    proof = solution.proof
    paired = proof is not None and proof.kind == "pair"  # nearer is nicer than without
    goes_on = goes_on and proof is None
    tried = of_effort(solution) if goes_on else candidates(solution, limits, may_go(solution))
    skip = goes_on and solution.velocity is not None  # more steps are all it needs
    found = [] if skip else list(islice(helpful(trials, tried), 1 if paired else 2))
    ways = ways_out(solution, found)
    if paired or not (ways or goes_on):
        ways.insert(0, move_target(proof))
    for k, way in enumerate(ways):
        yield f"{'Or' if k else 'Relax first:'} {way}."
    searched = any(option in ("restarts", "seed") for one, _ in found for option, _ in one.options)
    unsure = proof is None and not searched and not is_local(solution)
    if unsure and any(blames_limits(solution, *one) for one in found):
        yield UNPROVED
    tolerances = [f"{name!r} {accepting_text(solution, name)}" for name in missed]
    yield f"This pose would be accepted with a tolerance of {', '.join(tolerances)}."


def ways_out(solution: Solution, found: Iterable[tuple[Relaxation, NDArray[np.float64]]]) -> list[str]:
    """What was tried and helped, in words."""
    ways: list[str] = []
    for relaxation, q in found:
        if not (relaxation.limits or relaxation.goals or relaxation.options) and is_local(solution):
            return [f"it would be reached {relaxation.text}"]  # no limit and no goal is to blame
        if relaxation.limits and not relaxation.options and within(solution, relaxation, q):
            if ways:
                continue
            how = "inside all limits, by another search (restarts=, seed=)"
        else:
            how = f"{relaxation.text}{taken(solution, relaxation, q)}"
        ways.append(f"{fresh(solution)}it would be reached {how}")
    return ways


def blames_limits(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> bool:
    """Whether a relaxation helped by leaving limits; that others keep it from the goals is then no more than likely."""
    rules = any(option == "limits" for option, _ in relaxation.options)
    return rules or bool(relaxation.limits and not within(solution, relaxation, q))


def within(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> bool:
    """Whether a pose that was found without some joint ranges keeps them all the same."""
    low, high = solution.model.lower, solution.model.upper
    return all(low[x.velocity] <= value_of(solution, x, q) <= high[x.velocity] for x in relaxation.limits)


def value_of(solution: Solution, limit: ActiveLimit, q: NDArray[np.float64]) -> float:
    """Where a pose has the joint of a limit."""
    joint = solution.model.joint(limit.joint)
    return float(q[joint.q.start + limit.velocity - joint.v.start])


def may_go(solution: Solution) -> list[str]:
    """Goals that may be left out, the ones that take up what the missed ones ask for first."""
    names = solution._solver.row_names
    before = [name for _, above in in_the_way(solution, linearise(solution)) for name in above]
    missed = [name for name in names if is_missed(solution, name)]
    served = [name for name in names if name not in missed]
    others = [*served, *(missed if len(missed) > 1 else ())]  # without the only one that is missed all is well anyway
    return list(dict.fromkeys([*before, *others]))


def taken(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> str:
    """Where the freed joint went, if one was freed."""
    if len(relaxation.limits) != 1 or relaxation.options:
        return ""
    limit = relaxation.limits[0]
    return f" (it would go to {value_text(solution, limit, value_of(solution, limit, q))})"


def move_target(proof: Proof | None) -> str:
    """Advice where no single relaxation helped, or where two targets are too far from each other."""
    if proof is None:
        return "no single limit, goal or option that was tried is enough; move the target"
    far, by = proof.distance > proof.farthest, length_text(proof.excess)
    if proof.kind == "pair":
        one, other = proof.goals
        way = "closer together" if far else "farther apart"
        return f"bring the targets of {one!r} and {other!r} at least {by} {way}"
    return f"move the target of {proof.goals[0]!r} at least {by} {'closer' if far else 'away'}"
