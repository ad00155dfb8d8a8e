"""Benchmark kinematics from Python, compared with Pinocchio in one run: `python benchmarks/kinematics.py`.

Each call is timed through the public API, with its fresh output array. Both libraries take turns and the best of many
turns counts, so that noise hits both. Bodies are rebuilt joint by joint in Pinocchio, as in the tests.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise import native

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
try:
    import pinocchio as pin

    from pinocchio_body import PinocchioBody
except ImportError:
    pin = None

BODIES = {"panda": "panda_hand", "humanoid": "hand_l"}
BATCH = 10_000
LENGTHS = (10, 30, 100, 300, 1000, 3000)
TURNS, SLICE = 100, 0.004  # turns each, and seconds of one turn

Call = Callable[[], Any]


def best_of(*calls: Call, turns: int = TURNS) -> list[float]:
    """Return the microseconds per call of each, the best of alternating turns."""
    counts = [max(1, int(SLICE / max(seconds(call, 3), 1e-7))) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(turns):
        for i, (call, count) in enumerate(zip(calls, counts, strict=True)):
            best[i] = min(best[i], seconds(call, count))
    return [1e6 * b for b in best]


def seconds(call: Call, count: int) -> float:
    """Return the seconds per call over `count` calls."""
    turns = range(count)
    start = time.perf_counter()
    for _ in turns:
        call()
    return (time.perf_counter() - start) / count


def machine() -> str:
    """Return a description of the machine."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    return f"{platform.system()} {platform.machine()}, {name}"


def header() -> str:
    """Return the machine and versions."""
    theirs = f"Pinocchio {pin.__version__}" if pin else "Pinocchio is not installed (pip install 'poise[peers]')"
    return (
        f"{machine()}\nPython {platform.python_version()}, numpy {np.__version__}, poise {poise.__version__} "
        f"at level {native.level()}, {theirs}\n"
    )


def peers(model: poise.Model, q: Any, frame: str) -> tuple[Call, Call]:
    """Return the same two functions of Pinocchio, after checking that their results agree."""
    body = PinocchioBody(model)
    m, data, index, there = body.model, body.data, body.model.getFrameId(frame), body.q_there(q)

    def fk() -> Any:
        pin.forwardKinematics(m, data, there)
        return pin.updateFramePlacement(m, data, index).homogeneous

    def jacobian() -> Any:
        return pin.computeFrameJacobian(m, data, there, index, pin.LOCAL_WORLD_ALIGNED)

    np.testing.assert_allclose(fk(), model.fk(q, frame), atol=1e-12)
    np.testing.assert_allclose(jacobian() @ body.rates(q), model.jacobian(q, frame), atol=1e-12)
    return fk, jacobian


def beside(name: str, frame: str) -> None:
    """Print two rows: one configuration at a time, compared with Pinocchio; and 10,000 at a time."""
    model = poise.load(name)
    many = model.random(np.random.default_rng(0), BATCH)
    q = many[0].copy()
    calls = {"fk": model.fk, "jacobian": model.jacobian}
    theirs = peers(model, q, frame) if pin else (None, None)
    for (label, ours), peer in zip(calls.items(), theirs, strict=True):
        single, batch, *other = best_of(partial(ours, q, frame), partial(ours, many, frame), *([peer] if peer else []))
        row = f"{name + ' ' + label:22}{single:9.3f}"
        row += f"{other[0]:11.3f}{other[0] / single:7.2f}x" if other else f"{'-':>11}{'-':>8}"
        print(f"{row}{batch / BATCH:14.4f}{single * BATCH / batch:13.1f}x")


def chain(count: int) -> poise.Model:
    """Return a chain of hinges about x, y, z in turn."""
    builder = poise.ModelBuilder("chain")
    for i in range(count):
        parent = f"j{i - 1}" if i else None
        builder.add_joint(f"j{i}", parent, "revolute", axis=np.eye(3)[i % 3], offset=(0.1, 0, 0.02))
    return builder.build()


def grows(count: int) -> None:
    """Print a row of the table of chains: the cost of `count` joints, and per joint."""
    start = time.perf_counter()
    model = chain(count)
    build = 1e3 * (time.perf_counter() - start)
    q, tip = model.random(np.random.default_rng(0)), f"j{count - 1}"
    fk, jacobian = best_of(partial(model.fk, q, tip), partial(model.jacobian, q, tip), turns=25)
    each = [1e3 * fk / count, 1e3 * jacobian / count]
    print(f"{count:16}{fk:10.2f}{each[0]:10.1f}{jacobian:13.2f}{each[1]:10.1f}{build:10.1f}")


def main() -> None:
    print(header())
    print(f"{'us per item':22}{'poise':>9}{'pinocchio':>11}{'ratio':>8}{f'batch {BATCH}':>14}{'single/batch':>14}")
    for name, frame in BODIES.items():
        beside(name, frame)
    print("ratio: speed relative to Pinocchio; single/batch: speed relative to single calls\n")
    print(f"{'chain of joints':>16}{'fk us':>10}{'ns/joint':>10}{'jacobian us':>13}{'ns/joint':>10}{'build ms':>10}")
    for count in LENGTHS:
        grows(count)


if __name__ == "__main__":
    main()
