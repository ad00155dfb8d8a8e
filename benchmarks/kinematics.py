"""Benchmark kinematics from Python, compared with Pinocchio in one run: `python benchmarks/kinematics.py`.

Each call is timed through the public API, with its fresh output array. Both libraries take turns and the best of many
turns counts, so that noise hits both. Bodies are rebuilt joint by joint in Pinocchio, as in the tests.
"""

import time
from argparse import Namespace
from functools import partial
from typing import Any

import numpy as np
from shared.command import Call, Part, Table, best_of, run_command

import poise

try:
    import pinocchio as pin

    from pinocchio_body import PinocchioBody
except ImportError:
    pin = None

BODIES = {"panda": "panda_hand", "humanoid": "hand_l"}
BATCH = 10_000
LENGTHS = (10, 30, 100, 300, 1000, 3000)


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


def compare(_: Namespace) -> None:
    """Print one configuration at a time, compared with Pinocchio; and 10,000 at a time.

    ratio: speed relative to Pinocchio; single/batch: speed relative to single calls.
    """
    columns = ("poise:9.3f", "pinocchio:11.3f", "ratio:8.2f", f"batch {BATCH}:14.4f", "single/batch:14.1f")
    table = Table("us per item:22", *columns)
    for name, frame in BODIES.items():
        model = poise.load(name)
        many = model.random(np.random.default_rng(0), BATCH)
        q = many[0].copy()
        theirs = peers(model, q, frame) if pin else (None, None)
        for ours, peer in zip((model.fk, model.jacobian), theirs, strict=True):
            calls = [partial(ours, q, frame), partial(ours, many, frame), *([peer] if peer else [])]
            single, batch, *other = best_of(*calls)
            both = (other[0], other[0] / single) if other else (None, None)
            table.add(f"{name} {ours.__name__}", single, *both, batch / BATCH, single * BATCH / batch)


def chain(count: int) -> poise.Model:
    """Return a chain of hinges about x, y, z in turn."""
    builder = poise.ModelBuilder("chain")
    for i in range(count):
        parent = f"j{i - 1}" if i else None
        builder.add_joint(f"j{i}", parent, "revolute", axis=np.eye(3)[i % 3], offset=(0.1, 0, 0.02))
    return builder.build()


def grow(_: Namespace) -> None:
    """Print the table of chains: the cost of all joints, and per joint."""
    each = ("fk us:10.2f", "ns/joint:10.1f", "jacobian us:13.2f", "ns/joint:10.1f", "build ms:10.1f")
    table = Table("chain of joints:16", *each)
    for count in LENGTHS:
        start = time.perf_counter()
        model = chain(count)
        build = 1e3 * (time.perf_counter() - start)
        q, tip = model.random(np.random.default_rng(0)), f"j{count - 1}"
        fk, jacobian = best_of(partial(model.fk, q, tip), partial(model.jacobian, q, tip), turns=25)
        table.add(str(count), fk, 1e3 * fk / count, jacobian, 1e3 * jacobian / count, build)


if __name__ == "__main__":
    run_command(__doc__, {"bodies": Part(compare), "chains": Part(grow)}, {}, ["pin"])
