"""Remedies as numbers: at most two that were tried with success, and the tolerance that accepts the pose."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from poise.diagnosis.conflict import find_blockers
from poise.diagnosis.linear import linearise
from poise.diagnosis.misses import is_missed
from poise.diagnosis.relax import Relaxation, Trials, find_helpful, is_local, propose, propose_effort
from poise.diagnosis.sentences import is_other_unit
from poise.diagnosis.touched_limits import find_collisions
from poise.reach.proof import Proof
from poise.solvers.report.explanation import WayOut, WayOutKind
from poise.solvers.report.findings import ActiveLimit
from poise.solvers.solution import Solution
from poise.solvers.status import Status

__all__ = ["find_ways_out"]

Found = tuple[Relaxation, NDArray[np.float64]]
EFFORT = {WayOutKind.MORE_STEPS: "max_steps", WayOutKind.MORE_SEARCHES: "restarts", WayOutKind.OTHER_SEED: "seed"}


def find_ways_out(solution: Solution, limits: Sequence[ActiveLimit], trials: Trials, goes_on: bool) -> Iterator[WayOut]:
    """Yield at most two remedies that were tried with success, and the tolerance that would accept the pose."""
    missed = tuple(name for name in solution.errors if is_missed(solution, name))
    if not missed:
        return
    proof = solution.proof
    paired = proof is not None and proof.kind == "pair"  # prefer moving targets closer to dropping one
    goes_on = goes_on and proof is None
    tried = propose_effort(solution) if goes_on else propose(solution, limits, may_go(solution))
    skip = goes_on and solution.velocity is not None  # further steps are enough
    found = [] if skip else list(islice(find_helpful(trials, tried), 1 if paired else 2))
    ways = list(state_ways(solution, found))
    if paired or not (ways or goes_on):
        yield move_target(proof)
    yield from ways
    searched = any(option in ("restarts", "seed") for one, _ in found for option, _ in one.options)
    unsure = proof is None and not searched and not is_local(solution)
    if unsure and any(blames_limits(solution, *one) for one in found) and not is_decided(solution):
        yield WayOut(WayOutKind.UNPROVED)
    if proof is None or not is_other_unit(solution, proof.distance, proof.farthest):
        yield WayOut(WayOutKind.TOLERANCE, missed)


def is_decided(solution: Solution) -> bool:
    """Return whether another search is useless: proved unreachable, or all branches of a complete list collide."""
    if solution.status is Status.IN_COLLISION:
        return find_collisions(solution).spacing == 0.0
    return solution.status is Status.UNREACHABLE


def state_ways(solution: Solution, found: Iterable[Found]) -> Iterator[WayOut]:
    """Yield the remedies that were tried with success."""
    told = False
    for relaxation, q in found:
        inside = bool(relaxation.ranges) and not relaxation.options and keeps_ranges(solution, relaxation, q)
        if inside and told:
            continue
        told = True
        if inside:
            yield WayOut(WayOutKind.OTHER_SEARCH, tried=True)
            continue
        numbers = list_figures(solution, relaxation, q)
        yield WayOut(relaxation.kind, relaxation.about, relaxation.limits, numbers, tried=True)
        if relaxation.kind is WayOutKind.FRESH_SOLVE:
            return  # no limit or goal is the cause


def list_figures(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> dict[str, float]:
    """Return the option of a remedy, or the value of the joint that it frees."""
    if relaxation.kind in EFFORT:
        name = EFFORT[relaxation.kind]
        return {name: float(dict(relaxation.options)[name])}
    if len(relaxation.ranges) == 1 and not relaxation.options:
        return {"value": find_value(solution, relaxation.ranges[0], q)}
    return {}


def blames_limits(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> bool:
    """Return whether a relaxation helped by dropping limits, so that limits are only a likely cause."""
    dropped = any(option == "limits" for option, _ in relaxation.options)
    return dropped or bool(relaxation.ranges and not keeps_ranges(solution, relaxation, q))


def keeps_ranges(solution: Solution, relaxation: Relaxation, q: NDArray[np.float64]) -> bool:
    """Return whether a pose found without some joint ranges still satisfies them."""
    low, high = solution.model.lower, solution.model.upper
    return all(low[x.velocity] <= find_value(solution, x, q) <= high[x.velocity] for x in relaxation.ranges)


def find_value(solution: Solution, limit: ActiveLimit, q: NDArray[np.float64]) -> float:
    """Return the value of a limit's joint in a pose."""
    joint = solution.model.joint(limit.joint)
    return float(q[joint.q.start + limit.velocity - joint.v.start])


def may_go(solution: Solution) -> list[str]:
    """Return the goals worth dropping, most conflicting first."""
    names = solution.solver.row_names
    before = [name for _, above in find_blockers(solution, linearise(solution)) for name in above]
    missed = [name for name in names if is_missed(solution, name)]
    served = [name for name in names if name not in missed]
    others = [*served, *(missed if len(missed) > 1 else ())]  # dropping the only missed goal would always help
    return list(dict.fromkeys([*before, *others]))


def move_target(proof: Proof | None) -> WayOut:
    """Return the advice to move a target, if no single relaxation helped or two targets are too far apart."""
    if proof is None:
        return WayOut(WayOutKind.MOVE_TARGET)
    return WayOut(WayOutKind.MOVE_TARGET, proof.goals, numbers={"metres": float(proof.excess)})
