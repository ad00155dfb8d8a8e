"""Random transforms: the share decided, the cost of a missed row, false proofs, and lists of all branches.

    python benchmarks/decide.py [--rows 2000] [--false-proofs 200000] [--arms ur5e,panda]

Random transforms lie in the ball around the second joint that contains all positions of the tool. The targets of the
false-proof count are transforms of poses; a third of their joints are within 1e-3 rad of a limit or a quarter turn.
Dimensions of arms that are not built in: xArm 7 and KR 210 from their makers' URDFs, FR3 from Franka's specification
(the Panda's axes, other ranges), Puma 560 from Corke and Armstrong-Helouvry, "A search for consensus
among model parameters", ICRA 1994.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from math import inf, pi, radians

import numpy as np

import poise
from poise.goals import Reach
from poise.reach.bounds import Freedom
from poise.reach.closed_forms import ClosedGoal, find_closed_form

FR3 = (
    (-2.7437, 2.7437),
    (-1.7837, 1.7837),
    (-2.9007, 2.9007),
    (-3.0421, -0.1518),
    (-2.8065, 2.8065),
    (0.5445, 4.5169),
    (-3.0159, 3.0159),
)
XARM7 = (  # position and rotation about x of each joint, and its range
    ((0, 0, 0.267), 0.0, 2 * pi), ((0, 0, 0), -1.5708, (-2.059, 2.0944)), ((0, -0.293, 0), 1.5708, 2 * pi),
    ((0.0525, 0, 0), 1.5708, (-0.19198, 3.927)), ((0.0775, -0.3425, 0), 1.5708, 2 * pi),
    ((0, 0, 0), 1.5708, (-1.69297, pi)),
    ((0.076, 0.097, 0), -1.5708, 2 * pi),
)  # fmt: skip
KR210 = (  # place, axis, range in degrees
    ((0, 0, 0.33), "z", (-185, 185)), ((0.35, 0, 0.42), "y", (-45, 85)), ((0, 0, 1.25), "y", (-210, 65)),
    ((0.96, 0, -0.054), "x", (-350, 350)), ((0.54, 0, 0), "y", (-125, 125)), ((0.193, 0, 0), "x", (-350, 350)),
)  # fmt: skip
PUMA = (
    ((0, 0, 0.672), "z", (-160, 160)), ((0, 0.2435, 0), "y", (-225, 45)), ((0.4318, -0.0934, 0), "y", (-45, 225)),
    ((-0.0203, 0, 0.4331), "z", (-110, 170)), ((0, 0, 0), "y", (-100, 100)), ((0, 0, 0), "z", (-266, 266)),
)  # fmt: skip


def from_axes(name: str, rows: tuple) -> poise.Model:
    """Return an arm from the places, axes and ranges of its joints."""
    builder = poise.ModelBuilder(name)
    parent = None
    for k, (place, axis, (low, high)) in enumerate(rows):
        direction = np.eye(3)["xyz".index(axis)]
        offset = poise.Transform(translation=place)
        builder.add_joint(
            f"j{k + 1}", parent, "revolute", offset=offset, axis=direction, lower=radians(low), upper=radians(high)
        )
        parent = f"j{k + 1}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1))).build()


def xarm7() -> poise.Model:
    """Return the xArm 7."""
    builder = poise.ModelBuilder("xarm7")
    parent = None
    for k, (place, roll, ends) in enumerate(XARM7):
        low, high = ends if isinstance(ends, tuple) else (-ends, ends)
        offset = poise.Transform(poise.Rotation.from_axis_angle((1, 0, 0), roll), place)
        builder.add_joint(f"j{k + 1}", parent, "revolute", offset=offset, lower=low, upper=high)
        parent = f"j{k + 1}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.17))).build()


def fr3() -> poise.Model:
    """Return the Franka Research 3: the Panda's axes with other ranges."""
    panda = poise.load("panda")
    builder = poise.ModelBuilder("fr3")
    at, parent = np.eye(4), None
    chain = panda.family("panda_hand_tcp").chain
    for k, (axis, (low, high)) in enumerate(zip(chain.axes, FR3, strict=True)):
        offset = poise.Transform(translation=axis.p - at[:3, 3])
        builder.add_joint(f"j{k + 1}", parent, "revolute", offset=offset, axis=axis.h, lower=low, upper=high)
        parent, at = f"j{k + 1}", np.eye(4)
        at[:3, 3] = axis.p
    T = chain.T.copy()
    T[:3, 3] -= at[:3, 3]
    return builder.add_frame("tool", parent, poise.Transform.from_matrix(T)).build()


ARMS = {
    "panda": lambda: poise.load("panda"),
    "fr3": fr3,
    "xarm7": xarm7,
    "iiwa14": lambda: poise.load("iiwa14"),
    "ur5e": lambda: poise.load("ur5e"),
    "puma": lambda: from_axes("puma", PUMA),
    "kr210": lambda: from_axes("kr210", KR210),
}


def in_the_ball(model: poise.Model, frame: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random transforms in the ball around the second joint that contains the tool."""
    center = model.family(frame).chain.axes[1].p
    reach = np.linalg.norm(model.fk(model.random(rng, 20000), frame)[:, :3, 3] - center, axis=1).max()
    T = np.tile(np.eye(4), (n, 1, 1))
    x = rng.normal(size=(n, 3))
    T[:, :3, 3] = center + reach * rng.random((n, 1)) ** (1 / 3) * x / np.linalg.norm(x, axis=1)[:, None]
    T[:, :3, :3] = np.stack([poise.Rotation(q).matrix for q in rng.normal(size=(n, 4))])
    return T


def near_edges(model: poise.Model, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return poses, a third of their joints at an edge."""
    q = model.random(rng, n)
    low, high = np.maximum(model.lower, -pi), np.minimum(model.upper, pi)
    edge = np.where(rng.random(q.shape) < 0.5, low + 1e-3 * rng.random(q.shape), high - 1e-3 * rng.random(q.shape))
    quarter = np.clip(pi / 2 * rng.integers(-2, 3, q.shape) + 1e-3 * rng.normal(size=q.shape), model.lower, model.upper)
    choice = rng.random(q.shape)
    return np.where(choice < 1 / 6, edge, np.where(choice < 1 / 3, quarter, q))


def best_time(call: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of a few calls [s]."""
    best = inf
    for _ in range(repeats):
        begun = time.process_time()
        call()
        best = min(best, time.process_time() - begun)
    return best


def measure(name: str, rows: int, proofs: int) -> None:
    """Print the figures of one arm."""
    model = ARMS[name]()
    frame = model.frames[-1]
    rng = np.random.default_rng(0)
    goal = Reach(frame, np.eye(4))
    T, own = in_the_ball(model, frame, rng, rows), model.fk(model.random(rng, rows), frame)
    batch = poise.solve_batch(model, goal, T, threads=1)
    share = {str(status): n / rows for status, n in batch.counts.items()}
    mixed = best_time(lambda: poise.solve_batch(model, goal, T, threads=1)) / rows
    reachable = best_time(lambda: poise.solve_batch(model, goal, own, threads=1)) / rows
    closed = find_closed_form(model, goal.rows(model), Freedom(np.ones(model.nv, dtype=bool).tobytes(), True))
    assert isinstance(closed, ClosedGoal)
    ask = closed.form.decide
    missed = T[~batch.reached]
    once = best_time(lambda: ask(missed[:, :3, :3].copy(), missed[:, :3, 3].copy(), 1e-4, 1e-3, 1000)) / max(
        1, len(missed)
    )
    wrong = 0
    for _ in range(0, proofs, 20000):
        sure = model.fk(near_edges(model, rng, 20000), frame)
        wrong += int((ask(sure[:, :3, :3].copy(), sure[:, :3, 3].copy(), 0.0, 0.0, 1000)[:, 0] == 0).sum())
    several = [Reach(frame, T) for T in own[:100]]
    calls = [
        1e6 * best_time(lambda: [f(goal) for goal in several]) / len(several)  # noqa: B023
        for f in (
            lambda goal: poise.solve(model, goal),
            lambda goal: poise.solve_all(model, goal),
            lambda goal: len(poise.solve_all(model, goal)),
        )
    ]
    most = 8 if closed.free is None else 128
    listed = best_time(lambda: poise.solve_batch(model, goal, own, threads=1, solutions=most)) / rows
    print(
        f"{name:8} {share.get('reached', 0):8.2%} {share.get('unreachable', 0):8.2%} {share.get('stalled', 0):8.2%} "
        f"{1e6 * mixed:9.1f} {1e6 * reachable:9.1f} {1e6 * once:9.1f} {wrong:6d} / {proofs:<9d} {1e6 * listed:8.1f} "
        f"{calls[0]:8.1f} {calls[1]:10.1f} {calls[2]:10.1f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--false-proofs", type=int, default=200000)
    parser.add_argument("--arms", default=",".join(ARMS))
    given = parser.parse_args()
    print(f"{platform.machine()}, one core, CPU time; microseconds; listed: solve_batch(solutions=8; 7 joints: 128)")
    print("solve, solve_all: one call on one target; its list: the call, its arcs, and every pose (16 along each arc)")
    print(
        f"{'arm':8} {'reached':>8} {'proved':>8} {'open':>8} {'mixed row':>9} {'reachable':>9} {'decision':>9} "
        f"{'false proofs':>18} {'listed':>8} {'solve':>8} {'solve_all':>10} {'its list':>10}"
    )
    for name in given.arms.split(","):
        measure(name, given.rows, given.false_proofs)


if __name__ == "__main__":
    main()
