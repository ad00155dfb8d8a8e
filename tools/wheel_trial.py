"""Check a wheel: import, forward kinematics, Jacobians, 1,000 solves. Needs only Poise and NumPy.

    python tools/wheel_trial.py           # prints one line of JSON; fails on errors

The figures are CPU times: comparable with those of another wheel on the same machine, meaningless under an emulator.
"""

import json
import platform
import sys
import time
from collections.abc import Callable

import numpy as np

import poise
from poise import native
from poise.goals import Reach

FRAME, SOLVES, STEP = "panda_hand_tcp", 1000, 1e-6


def check_kinematics(model: poise.Model, rng: np.random.Generator) -> None:
    """Check that rotations are orthogonal, rows are independent, and Jacobians match finite differences."""
    q = model.random(rng, 50)
    T, J = model.fk(q, FRAME), model.jacobian(q, FRAME)
    R = T[:, :3, :3]
    assert np.allclose(R @ np.swapaxes(R, 1, 2), np.eye(3), atol=1e-12)
    assert all(np.allclose(model.fk(row, FRAME), one, atol=1e-13) for row, one in zip(q, T, strict=True))
    for i in range(model.nv):
        d = np.eye(model.nv)[i] * STEP
        ahead, behind = (model.fk(model.integrate(q, sign * d), FRAME) for sign in (1, -1))
        assert np.allclose((ahead - behind)[:, :3, 3] / (2 * STEP), J[:, :3, i], atol=1e-7)
        turn = (ahead - behind)[:, :3, :3] @ np.swapaxes(R, 1, 2) / (2 * STEP)
        assert np.allclose(turn[:, [2, 0, 1], [1, 2, 0]], J[:, 3:, i], atol=1e-7)


def check_answers(model: poise.Model, q: np.ndarray, reached: np.ndarray, targets: np.ndarray) -> None:
    """Check that 99.9 % of the answers reach their targets, and all are within the limits."""
    assert reached.sum() >= 0.999 * len(targets)
    miss = np.linalg.norm(model.fk(q, FRAME)[:, :3, 3] - targets[:, :3, 3], axis=1)
    assert (miss[reached] < 2e-4).all()
    assert ((q >= model.lower) & (q <= model.upper)).all()


def find_least_time(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the minimum CPU time per solve over some rounds [us]."""
    spent = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return round(1e6 * min(spent) / SOLVES, 2)


def main() -> None:
    """Check, measure and print the figures."""
    model = poise.load("panda")
    rng = np.random.default_rng(7)
    check_kinematics(model, rng)
    targets = model.fk(model.random(rng, SOLVES), FRAME)
    solver = poise.Solver(model, [Reach(FRAME, targets[0], name="hand")])
    found = [solver.solve(targets={"hand": target}) for target in targets]
    check_answers(model, np.array([s.q for s in found]), np.array([s.reached for s in found]), targets)
    rows = poise.solve_batch(model, [Reach(FRAME, targets[0], name="hand")], targets)
    check_answers(model, np.asarray(rows.q), np.asarray(rows.reached), targets)
    facts = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "numpy": np.__version__,
        "poise": poise.__version__,
        "module": str(native.core.__file__).rpartition("/")[2],
        "level": native.level(),
        "reached": f"{int(np.sum([s.reached for s in found]))} of {SOLVES}",
        "us_a_solve": find_least_time(lambda: [solver.solve(targets={"hand": target}) for target in targets]),
        "us_a_row": find_least_time(lambda: poise.solve_batch(model, [Reach(FRAME, targets[0], name="hand")], targets)),
        "us_a_fk": find_least_time(lambda: [model.fk(model.rest, FRAME) for _ in range(SOLVES)]),
    }
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
