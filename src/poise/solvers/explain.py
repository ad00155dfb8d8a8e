"""Why goals were missed, in words and numbers, and what to relax first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.goals.goal import ROTATION
from poise.solvers.binding import ActiveLimit, active_limits, conditioning, free_columns, linearise
from poise.solvers.proof import Proof, find_proof, tolerance
from poise.solvers.relax import Relaxation, helpful
from poise.solvers.show import length_text
from poise.solvers.status import Status
from poise.solvers.table import CONTINUOUS_SPAN

if TYPE_CHECKING:
    from poise.solvers.solution import Solution

__all__ = ["explain"]

WEAK = 1e-3  # of the strongest multiplier: a limit that hardly holds anything back
OPPOSED = -0.5  # cosine between two goals' pulls from which on they are against each other
MOST_LISTED = 4


def explain(solution: Solution) -> str:
    """A few plain sentences, one a line: what was missed, why, and what to relax first."""
    if solution.reached:
        return reached_text(solution)
    limits = strong_limits(solution)
    lines = [missed_text(solution), *cause(solution, limits), *exempt_text(solution), *relief(solution, limits)]
    return "\n".join(lines)


def reached_text(solution: Solution) -> str:
    """That all is well, and how well."""
    worst = ", ".join(f"{name!r} to {error_text(solution, name)}" for name in solution.errors)
    searches = f" after {solution.searches} searches" if solution.searches > 1 else ""
    return f"Every goal is reached{searches}: {worst}."


def missed_text(solution: Solution) -> str:
    """Which goals are missed, by how much, and what was allowed."""
    missed = [name for name in solution.errors if is_missed(solution, name)]
    parts = [f"{name!r} is missed by {error_text(solution, name, allowed=True)}" for name in missed]
    return "; ".join(parts) + "."


def is_missed(solution: Solution, name: str) -> bool:
    """Whether a goal is outside its tolerance."""
    metres, radians = solution.errors[name]
    allowed = tolerance(solution, name)
    return metres > allowed[0] or radians > allowed[1]


def error_text(solution: Solution, name: str, *, allowed: bool = False) -> str:
    """A goal's errors; with what is allowed, only those that are too large."""
    (metres, radians), bounds = solution.errors[name], tolerance(solution, name)
    row = solution._rows()[name]
    out = []
    if row.op != ROTATION and not (allowed and metres <= bounds[0]):
        out.append(length_text(metres) + (f" (allowed: {length_text(bounds[0])})" if allowed else ""))
    if (row.weight[3:] > 0).any() and not (allowed and radians <= bounds[1]):
        out.append(angle_text(radians) + (f" (allowed: {bounds[1]:.3g} rad)" if allowed else ""))
    return " and ".join(out)


# ------------------------------------------------------------------------------------------------ causes


def cause(solution: Solution, limits: Sequence[ActiveLimit]) -> Iterator[str]:
    """Why the search could not do better, the surest reason first."""
    if solution.proof is not None:
        yield proof_text(solution, solution.proof)
        return
    if solution.status is Status.OUT_OF_TIME:
        yield f"Time ran out after {solution.steps} steps ({solution.seconds * 1e6:.0f} us)."
        return
    if solution.status is Status.OUT_OF_STEPS:
        limit = solution._solver._options.max_steps
        yield f"The steps ran out: {solution.steps} in {count(solution.searches, 'search', 'searches')} of {limit}."
    if solution._solver._options.mode == "continuous":
        more = can_go_on(solution)
        if more:
            yield f"One call moves each joint by at most {span_text(solution)}: call again from this pose."
            return
        yield "The branch ends here, and continuous mode never jumps to another."
    if limits:
        yield "Limits hold it back: " + "; ".join(limit_text(solution, limit) for limit in limits[:MOST_LISTED]) + "."
    conflicts = list(conflict_texts(solution))
    yield from conflicts
    if not limits and not conflicts and solution.status is Status.STALLED:
        yield minimum_text(solution)


def proof_text(solution: Solution, proof: Proof) -> str:
    """The proof in words, and whether the limits are part of it."""
    far = proof.distance > proof.farthest
    bound, distance = length_text(proof.farthest if far else proof.nearest, 4), length_text(proof.distance, 4)
    most = "at most" if far else "at least"
    ranges = "" if solution._solver._options.limit_handling == "off" else within_limits(solution, proof)
    gap = f"{length_text(proof.excess)} too {'far' if far else 'close'}"
    if proof.kind == "pair":
        one, other = proof.goals
        return (
            f"Proved out of reach: the targets of {one!r} and {other!r} are {distance} apart, and the body "
            f"between them spans {most} {bound}{ranges}: {gap}."
        )
    center = vector_text(np.zeros(3) if proof.center is None else proof.center)
    base = solution._rows()[proof.goals[0]].base
    still = f"of {base!r}" if base else "which cannot move"
    what = f"{proof.goals[0]!r}" if proof.kind == "point" else "the last joint"
    where = "the target" if proof.kind == "point" else f"with this rotation of {proof.goals[0]!r} the last joint"
    return (
        f"Proved out of reach: {where} is {distance} from the point {center}, {still}, and {what} can be "
        f"{most} {bound} from it{ranges}: {gap}."
    )


def within_limits(solution: Solution, proof: Proof) -> str:
    """Says that the bound is the limits' doing, where without them it would not hold."""
    bare = find_proof(solution, limited=False)
    return "" if bare is not None and bare.goals == proof.goals else " inside the joint limits"


def can_go_on(solution: Solution) -> bool:
    """Whether another call in continuous mode, from this pose, comes nearer."""
    again = solution._twin().solve(solution.q)
    before, after = (float(np.sum(np.square(list(errors.values())))) for errors in (solution.errors, again.errors))
    return again.reached or after < 0.999 * before


def span_text(solution: Solution) -> str:
    """The most that a joint may move in one call of continuous mode."""
    given = solution._solver._options.step_limit
    return f"{CONTINUOUS_SPAN if given is None else given:g} rad"


def strong_limits(solution: Solution) -> list[ActiveLimit]:
    """The limits that really hold the goals back, the strongest first."""
    limits = [limit for limit in active_limits(solution) if not limit.exempt and limit.multiplier > 0]
    return [limit for limit in limits if limit.multiplier > WEAK * limits[0].multiplier]


def limit_text(solution: Solution, limit: ActiveLimit) -> str:
    """A limit, where it is and how strongly it holds."""
    value = value_text(solution, limit, limit.value)
    return f"{limit.name!r} is at its {limit.side} limit, {value} (multiplier {limit.multiplier:.2g})"


def exempt_text(solution: Solution) -> Iterator[str]:
    """Joints outside their range that the solver was not allowed to move."""
    exempt = [limit for limit in active_limits(solution) if limit.exempt]
    if exempt and solution._solver._options.limit_handling != "off":
        names = ", ".join(repr(limit.name) for limit in exempt[:MOST_LISTED])
        yield f"Outside their range, and not in joints=: {names}."


def conflict_texts(solution: Solution) -> Iterator[str]:
    """Pairs of missed goals whose pulls on the joints oppose each other."""
    at = linearise(solution)
    free = free_columns(solution, at)
    missed = [name for name in at.spans if is_missed(solution, name)]
    pulls = {name: at.J[at.spans[name]][:, free].T @ at.r[at.spans[name]] for name in missed}
    for one, other in combinations(missed, 2):
        a, b = pulls[one], pulls[other]
        size = float(np.linalg.norm(a) * np.linalg.norm(b))
        if size > 0 and float(a @ b) < OPPOSED * size:
            yield f"{one!r} and {other!r} are in conflict: a step towards one leads away from the other."


def minimum_text(solution: Solution) -> str:
    """A local minimum: where the rest of the error points and what the body cannot do there."""
    at, weakest = linearise(solution), conditioning(solution)
    name = max(at.spans, key=lambda key: float(np.linalg.norm(at.r[at.spans[key]])))
    rest = at.r[at.spans[name]]
    part = rest[:3] if np.linalg.norm(rest[:3]) >= np.linalg.norm(rest[3:]) else rest[3:]
    size = float(np.linalg.norm(part))
    away = f"what is left of {name!r} points along {vector_text(part / size)}, and no small step makes it less"
    singular = f" The pose is singular: {weakest.text}." if weakest.singular else ""
    tried = count(solution.searches, "search", "searches")
    return f"Stalled in a local minimum in {tried}: {away}.{singular}"


# ------------------------------------------------------------------------------------------------ what to relax


def relief(solution: Solution, limits: Sequence[ActiveLimit]) -> Iterator[str]:
    """What was tried and helped, at most two ways, and the tolerance that would accept the pose."""
    found = list(islice(helpful(solution, limits), 2))
    for k, (relaxation, q) in enumerate(found):
        start = "Relax first: it" if k == 0 else "Or it"
        yield f"{start} would be reached {relaxation.text}{taken(solution, relaxation, q)}."
    if not found:
        yield move_target(solution)
    tolerances = [f"{name!r} {error_text(solution, name)}" for name in solution.errors if is_missed(solution, name)]
    yield f"This pose would be accepted with a tolerance of {', '.join(tolerances)}."


def taken(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> str:
    """Where the freed joint went, if one was freed."""
    if len(relaxation.limits) != 1:
        return ""
    limit = relaxation.limits[0]
    joint = solution.model.joint(limit.joint)
    value = float(q[joint.q.start + limit.velocity - joint.v.start])
    return f" (it would go to {value_text(solution, limit, value)})"


def move_target(solution: Solution) -> str:
    """Advice where no single relaxation helped."""
    proof = solution.proof
    if proof is None:
        return "Relax first: no single limit, goal or option that was tried is enough; move the target."
    far, by = proof.distance > proof.farthest, length_text(proof.excess)
    if proof.kind == "pair":
        return f"Relax first: bring the two targets {by} {'closer together' if far else 'farther apart'}."
    return f"Relax first: move the target of {proof.goals[0]!r} {by} {'closer' if far else 'away'}."


# ------------------------------------------------------------------------------------------------ words


def value_text(solution: Solution, limit: ActiveLimit, value: float) -> str:
    """A joint's value with its unit."""
    joint = solution.model.joint(limit.joint)
    slides = joint.kind in ("prismatic", "translation3") or (joint.kind == "planar" and limit.part != "angle")
    return f"{value:.4g} m" if slides else angle_text(value)


def angle_text(radians: float) -> str:
    """An angle in radians and degrees."""
    return f"{radians:.3g} rad ({math.degrees(radians):.3g} deg)"


def vector_text(v: NDArray[np.float64]) -> str:
    """Three numbers, short."""
    x, y, z = np.round(v, 3) + 0.0
    return f"({x:g}, {y:g}, {z:g})"


def count(n: int, one: str, many: str) -> str:
    """How many, in words that agree."""
    return f"{n} {one if n == 1 else many}"
