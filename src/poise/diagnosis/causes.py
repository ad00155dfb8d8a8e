"""The reasons for missed goals, as numbers: the most certain first."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from poise.arrays import Floats
from poise.diagnosis.active_limits import describe_limit, find_active_limits
from poise.diagnosis.conflict import find_conflicts
from poise.diagnosis.linear import linearise
from poise.diagnosis.misses import find_proof, is_missed
from poise.diagnosis.relax import Trials, has_used_steps
from poise.diagnosis.singular_directions import describe_rows, find_conditioning
from poise.diagnosis.touched_limits import find_collisions
from poise.reach.proof import Proof
from poise.solvers.options import CONTINUOUS_SPAN
from poise.solvers.report.explanation import Cause, CauseKind, Vector
from poise.solvers.report.findings import ActiveLimit
from poise.solvers.solution import Solution
from poise.solvers.status import Status

__all__ = ["find_causes", "find_strong"]

WEAK = 1e-3  # relative to the largest multiplier: a limit with hardly any effect


def find_causes(
    solution: Solution,
    strong: Sequence[ActiveLimit],
    broken: Sequence[ActiveLimit],
    trials: Trials,
    goes_on: bool,
) -> Iterator[Cause]:
    """Yield every reason why goals were missed.

    Args:
        solution: The solution that missed them.
        strong: The limits that restrict the goals.
        broken: The limits that the solution violates.
        trials: Solver of relaxed problems.
        goes_on: Whether further calls come nearer.
    """
    named = {(limit.kind, limit.name, limit.side) for limit in broken}
    kept = tuple(limit for limit in strong if (limit.kind, limit.name, limit.side) not in named)
    for limit in broken:
        yield Cause(CauseKind.BROKEN_LIMIT, limits=(limit,), numbers={"value": limit.value})
    yield from find_stops(solution, kept, trials, goes_on)
    exempt = tuple(limit for limit in find_active_limits(solution) if limit.exempt)
    if exempt and solution.solver.options.limit_handling != "off":
        yield Cause(CauseKind.EXEMPT, limits=exempt)


def find_stops(solution: Solution, limits: tuple[ActiveLimit, ...], trials: Trials, goes_on: bool) -> Iterator[Cause]:
    """Yield the reasons why the search stopped."""
    if solution.proof is not None:
        yield state_proof(solution, solution.proof)
        yield from find_locked(solution, solution.proof)
        return
    if solution.status is Status.UNREACHABLE:
        yield Cause(CauseKind.NO_BRANCH, tuple(name for name in solution.errors if is_missed(solution, name))[:1])
    if solution.status is Status.IN_COLLISION:
        yield state_collisions(solution)
        return
    yield from find_short(solution)
    if solution.status is Status.OUT_OF_TIME:
        return
    if solution.velocity is not None or solution.solver.options.mode == "continuous":
        yield state_progress(solution) if goes_on else Cause(CauseKind.BRANCH_ENDS)
        if goes_on:
            return
    if limits:
        yield Cause(CauseKind.LIMITS, limits=limits)
    conflicts = list(find_conflicts(solution, linearise(solution), trials))
    yield from conflicts
    missed = any(is_missed(solution, name) for name in solution.errors)
    if missed and not limits and not conflicts and solution.status is Status.STALLED:
        yield from find_minimum(solution)


def state_collisions(solution: Solution) -> Cause:
    """Return the collisions of every branch as a cause."""
    found = find_collisions(solution)
    limits = tuple(describe_limit(contact) for contact in found.contacts)
    numbers = {"branches": float(len(limits)), "poses": float(found.poses), "spacing": found.spacing}
    return Cause(CauseKind.IN_COLLISION, tuple(solution.errors)[:1], limits, numbers=numbers)


def find_short(solution: Solution) -> Iterator[Cause]:
    """Yield a cause if time or steps ran out."""
    numbers = {"steps": float(solution.steps), "searches": float(solution.searches)}
    if solution.status is Status.OUT_OF_TIME:
        yield Cause(CauseKind.OUT_OF_TIME, numbers={**numbers, "seconds": solution.seconds})
    if has_used_steps(solution):
        most = float(solution.solver.options.max_steps)
        yield Cause(CauseKind.OUT_OF_STEPS, numbers={**numbers, "max_steps": most})


def state_proof(solution: Solution, proof: Proof) -> Cause:
    """Return a proof as a cause, with flags for joint limits and for the last joint."""
    bare = find_proof(solution, limited=False)
    limited = solution.solver.options.limit_handling != "off" and (bare is None or bare.goals != proof.goals)
    names = ("distance", "nearest", "farthest", "excess", "slack")
    numbers = {name: float(getattr(proof, name)) for name in names}
    numbers |= {"limited": float(limited), "pivot": float(proof.kind == "pivot")}
    center = None if proof.center is None else as_vector(proof.center)
    return Cause(CauseKind.PROVED, proof.goals, numbers=numbers, vector=center)


def find_locked(solution: Solution, proof: Proof) -> Iterator[Cause]:
    """Yield the locked bones with variable length between the points of a proof."""
    named = solution.solver.options.joints or ()
    rows = [solution.list_rows()[name] for name in proof.goals]
    ends = {row.frame for row in rows} | {row.base for row in rows if len(rows) == 1}
    way = list(chain.from_iterable(solution.model.joints_above(frame) for frame in sorted(filter(None, ends))))
    bones = [joint for joint in way if joint.locked and not solution.model.turns[joint.v].any()]
    locked = [joint.name for joint in bones if way.count(joint) == 1 and joint.name not in named]
    if locked:
        yield Cause(CauseKind.LOCKED_BONES, proof.goals, joints=tuple(locked))


def state_progress(solution: Solution) -> Cause:
    """Return the largest motion per call or time step, and the actual one of a time step."""
    given = solution.solver.options.step_limit
    numbers = {"span": float(CONTINUOUS_SPAN if given is None else given)}
    if solution.velocity is not None:
        turned = np.abs(solution.velocity[solution.model.turns]) * solution.time_step
        numbers |= {"dt": float(solution.time_step), "turned": float(turned.max(initial=0.0))}
    return Cause(CauseKind.ON_ITS_WAY, numbers=numbers)


def find_minimum(solution: Solution) -> Iterator[Cause]:
    """Yield a local minimum: the direction of the remaining error, and the directions in which the body cannot move."""
    at, weakest = linearise(solution), find_conditioning(solution)
    name = max(at.spans, key=lambda key: float(np.linalg.norm(at.r[at.spans[key]])))
    motion, direction = describe_rows(solution, solution.list_rows()[name], at.r[at.spans[name]])
    kind = CauseKind.LOCAL_MINIMUM if weakest.goal else CauseKind.NO_JOINT_MOVES
    numbers = {"searches": float(solution.searches)}
    yield Cause(kind, (name,), numbers=numbers, vector=as_direction(motion, direction), motion=motion)
    if weakest.goal and (weakest.singular or weakest.never):
        lost = CauseKind.NEVER_MOVES if weakest.never else CauseKind.SINGULAR
        vector = as_direction(weakest.kind, weakest.direction)
        ratio = {"ratio": 1.0 / float(weakest.condition)}  # of the smallest singular value to the largest
        yield Cause(lost, (weakest.goal,), numbers=ratio, vector=vector, motion=weakest.kind)


def find_strong(solution: Solution) -> list[ActiveLimit]:
    """Return the limits that significantly restrict the goals, strongest first."""
    limits = [limit for limit in find_active_limits(solution) if not limit.exempt and limit.multiplier > 0]
    return [limit for limit in limits if limit.multiplier > WEAK * limits[0].multiplier]


def as_direction(motion: str, vector: Floats) -> Vector | None:
    """Return a direction, or None for a goal without a vector."""
    return None if motion == "change" else as_vector(vector)


def as_vector(vector: Floats) -> Vector:
    """Return a vector as a tuple."""
    x, y, z = vector.tolist()
    return x, y, z
