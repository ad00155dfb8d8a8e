"""cuRobo's own problem of inverse kinematics: a Franka Panda above a table, clear of the table and of itself.

    git clone https://github.com/NVlabs/curobo
    python benchmarks/curobo.py --curobo curobo [--sizes 100 10000 1000000] [--device cpu|gpu]

As in its `benchmark/ik_benchmark.py`: its URDF and sphere file, its table, targets from random configurations that are
clear, and no start. Its documentation publishes 2.73 ms for 100 targets (36,700 a second, 100 % reached, 5 mm; the
graphics card is not stated). "false" counts answers in collision by the float64 gap, or off their target.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise.arrays import Floats
from poise.batch import BatchSolver
from poise.goals import Reach
from poise.limits import Box, Clearance

TOOL = "panda_hand"
TOLERANCES = {"5 mm, 0.05 rad": (5e-3, 5e-2), "0.1 mm, 1 mrad": (1e-4, 1e-3)}
TABLE = Clearance(world=[Box((0.0, 0.0, -0.2), (4.0, 4.0, 0.2), name="table")])  # collision_table.yml


def draw_clear(model: poise.Model, count: int) -> Floats:
    """Return random configurations that are clear of the table and of the body."""
    rng, found = np.random.default_rng(2), np.empty((0, model.nq))
    while len(found) < count:
        q = model.random(rng, count)
        found = np.concatenate([found, q[TABLE.measure_gap(model, q) > 0.0]])
    return found[:count]


def time_calls(solve: Callable[[], Any], wait: Callable[[], None], times: int = 5) -> tuple[Any, float]:
    """Return the result of a call, and the median wall time of several."""
    solve()  # compiles
    seconds = []
    for _ in range(times):
        wait()
        begun = time.perf_counter()
        result = solve()
        wait()
        seconds.append(time.perf_counter() - begun)
    return result, float(np.median(seconds))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curobo", type=Path, required=True, help="a checkout of github.com/NVlabs/curobo")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 10_000])
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    given = parser.parse_args()
    content = given.curobo / "curobo" / "content"
    urdf = content / "assets" / "robot" / "franka_description" / "franka_panda.urdf"
    model = poise.load(str(urdf)).with_spheres(content / "configs" / "robot" / "franka.yml")
    send, fetch, wait = np.asarray, np.asarray, lambda: None
    if given.device == "gpu":
        import cupy as cp

        send, fetch, wait = cp.asarray, cp.asnumpy, cp.cuda.get_current_stream().synchronize
    q = draw_clear(model, max(given.sizes))
    print(f"{platform.machine()}, {given.device}; {len(TABLE.capsules(model))} spheres")
    print(f"{'tolerance':16}{'targets':>9}{'ms':>11}{'a second':>13}{'reached %':>11}{'false':>7}")
    for name, tolerance in TOLERANCES.items():
        solver = BatchSolver(model, Reach(TOOL, np.eye(4), tolerance=tolerance), limits=[TABLE])
        for size in given.sizes:
            targets = model.fk(q[:size], TOOL)
            batch, seconds = time_calls(partial(solver.solve, send(targets)), wait)
            reached, found = fetch(batch.reached), fetch(batch.q).astype(float)
            T = model.fk(found, TOOL)
            far = np.linalg.norm(T[:, :3, 3] - targets[:, :3, 3], axis=1)
            cosine = 0.5 * (np.einsum("nij,nij->n", T[:, :3, :3], targets[:, :3, :3]) - 1.0)
            turned = np.arccos(np.clip(cosine, -1.0, 1.0))
            off = (far > 1.01 * tolerance[0]) | (turned > 1.01 * tolerance[1])
            false = reached & (off | (TABLE.measure_gap(model, found) < 0.0))
            print(
                f"{name:16}{size:>9,}{1e3 * seconds:>11.3f}{size / seconds:>13,.0f}{100 * reached.mean():>11.2f}"
                f"{false.sum():>7}",
                flush=True,
            )


if __name__ == "__main__":
    main()
