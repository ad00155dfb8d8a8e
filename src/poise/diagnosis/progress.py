"""Progress of further calls from an answer, in continuous mode and with time steps."""

import numpy as np
from numpy.typing import NDArray

from poise.diagnosis.linear import linearise
from poise.diagnosis.misses import is_missed
from poise.solvers.options import CONTINUOUS_SPAN
from poise.solvers.solution import Solution

__all__ = ["can_go_on"]

MOST_CALLS = 20  # calls that are made to test the progress
NOWHERE = 1e-9  # rad, or relative to L: a call that moves less has stopped


def can_go_on(solution: Solution) -> bool:
    """Return whether further calls in continuous mode, or further time steps, come nearer from this pose.

    Calls are made as the caller would make them, at most MOST_CALLS, until one reaches the goals, reduces the cost by a
    thousandth, or stops moving. If calls may only move a little, a proportional decrease is enough.
    """
    twin, at, model = solution.copy_solver(), linearise(solution), solution.model
    missed = [[name for name in goals if is_missed(solution, name)] for goals in at.levels]

    def costs(r: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([sum(float(np.sum(r[at.spans[name]] ** 2)) for name in goals) for goals in missed])

    before, q, velocity, moved = costs(at.r), solution.q, solution.velocity, 0.0
    unit = np.where(~model.slides, 1.0, model.length)
    for _ in range(MOST_CALLS):
        timeless = velocity is None
        again = twin.solve(q) if timeless else twin.step(q, solution.time_step, solution.targets, velocity=velocity)
        led = float(np.abs(model.difference(q, again.q) / unit).max(initial=0.0))
        moved += led
        share = min(1.0, moved / CONTINUOUS_SPAN)
        nearer = costs(twin.linearise(again.q)[1]) < (1.0 - 1e-3 * share) * before
        if again.reached or (share == 1.0 and nearer.any()):
            return True
        if led < NOWHERE:
            break
        q, velocity = again.q, again.velocity
    return bool(nearer.any())
