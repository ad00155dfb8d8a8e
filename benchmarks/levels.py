"""A strict step compared with a chain of dense QPs: `python benchmarks/levels.py` (DAQP is optional: pip install daqp).

The built-in humanoid with its feet pinned, a hand reaching, gaze and balance, each on a level of its own. Poise's
figure is the time of a whole solve in continuous mode over its steps: kinematics, rows, all levels with their bounds,
corrections and acceptance. DAQP's is only the solving of one step: for each level a QP over its rows (whose Jacobians
are made beforehand), with the levels above as equalities and the joint bounds, called through its Python binding.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import poise
from poise.goals import Balance, LookAt, Reach

FRAMES = 400
DAMPING = 1e-6


def problem() -> tuple[poise.Solver, Any, Any]:
    model = poise.load("humanoid")
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    hand = model.fk(model.rest, "hand_r")[:3, 3]
    goals = [
        *feet,
        Reach("hand_r", hand, priority=1),
        LookAt("eyes", hand, priority=2),
        Balance(["foot_l", "foot_r"], priority=3),
    ]
    return poise.Solver(model, goals, mode="continuous"), model, hand


def drag() -> tuple[float, list[Any]]:
    """Return the microseconds per step of Poise, and the linearised levels of every frame."""
    solver, model, hand = problem()
    q, seconds, steps, linear = np.array(model.rest), 0.0, 0, []
    for k in range(FRAMES):
        a = 2 * np.pi * k / 200
        way = (0.1 * np.sin(a) + 0.05, 0.25 + 0.15 * np.cos(a), 0.25 + 0.1 * np.sin(2 * a))
        at = hand + np.array(way)
        solution = solver.solve(q, {"hand_r": at, "eyes": at})
        seconds, steps = seconds + solution.seconds, steps + solution.steps
        J, r, _ = solver.problem.rows_jacobian(q)
        linear.append((np.array(J), np.array(r)))
        q = solution.q
    return 1e6 * seconds / steps, linear


def chain(daqp: Any, J: Any, r: Any, spans: list[slice]) -> Any:
    """Solve one step with one QP per level."""
    n = J.shape[1]
    x, above, level_values = np.zeros(n), np.zeros((0, n)), np.zeros(0)
    low, high = np.full(n, -0.2), np.full(n, 0.2)
    for span in spans:
        A, b = J[span], r[span]
        H, f = 2 * (A.T @ A + DAMPING * np.eye(n)), -2 * A.T @ b
        upper = np.concatenate([high, level_values])
        lower = np.concatenate([low, level_values])
        sense = np.concatenate([np.zeros(n), np.full(len(level_values), 5)]).astype(np.int32)
        found = daqp.solve(H, f, np.ascontiguousarray(above), upper, lower, sense)
        x = found[0]
        above = np.vstack([above, A])
        level_values = above @ x
    return x


def main() -> None:
    own, linear = drag()
    print(f"Poise: {own:.1f} us a step, everything included")
    try:
        import daqp
    except ImportError:
        print("DAQP is not installed: pip install daqp")
        return
    spans = [slice(0, 12), slice(12, 15), slice(15, 18), slice(18, len(linear[0][1]))]
    times = []
    for J, r in linear:
        begun = time.perf_counter()
        chain(daqp, J, r, spans)
        times.append(time.perf_counter() - begun)
    chained = 1e6 * float(np.median(times))
    print(f"DAQP, a QP a level: {chained:.1f} us a step, {chained / own:.1f} times Poise's")


if __name__ == "__main__":
    main()
