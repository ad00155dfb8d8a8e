"""Batches on a GPU: `python benchmarks/gpu.py`.

Targets are tool frames of random poses inside the ranges, made by the DH tables of robots.py; every search starts in
the rest pose. An answer counts if that same FK, in float64, finds it within 1e-4 m, 1e-3 rad and the ranges; a
wrong `reached` is counted as false. "kernels" is the device's own time between two events, "call" the wall
clock from the Python call to the device being idle. Medians, after warming up. "mixed" are random transforms in the
ball around the second joint that contains all positions of the tool: about half of them are out of reach; "false"
counts proofs among as many transforms of poses, a third of whose joints are at a range's edge or at a quarter turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from decide import near_edges
from g1 import ENDS, SPREAD, STANCE
from g1 import TOLERANCE as WHOLE_TOLERANCE
from gpu_peers import PEERS
from robots import ARMS, TOLERANCE, Arm, model_of

import poise
from poise.batch import BatchSolver
from poise.goals import Reach
from poise.limits import Box, Clearance, Cylinder
from poise.solvers import Status

SIZES = (100, 1000, 10_000, 100_000, 1_000_000, 4_000_000, 8_000_000)
SINGLES = 200
FINE = (1e-9, 1e-9)  # [m, rad]
HEAD = (
    f"{'':16}{'targets':>9}{'kernels ms':>12}{'call ms':>10}{'million/s':>11}{'verified %':>12}{'false':>7}{'steps':>8}"
)
MOST_CHECKED = 100_000


def verify(arm: Arm, q: Any, targets: Any) -> Any:
    """Return which answers are correct, by independent forward kinematics."""
    T = arm.fk(q)
    metres = np.linalg.norm(T[:, :3, 3] - targets[:, :3, 3], axis=1)
    turned = np.einsum("bij,bkj->bik", targets[:, :3, :3], T[:, :3, :3])
    sine = np.linalg.norm(turned - np.swapaxes(turned, 1, 2), axis=(1, 2)) / np.sqrt(8)
    angle = np.arctan2(sine, (np.trace(turned, axis1=1, axis2=2) - 1) / 2)
    held = (q >= np.asarray(arm.lower) - 1e-7).all(axis=1) & (q <= np.asarray(arm.upper) + 1e-7).all(axis=1)
    return (metres <= TOLERANCE[0] * 1.0001) & (angle <= TOLERANCE[1] * 1.0001) & held


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Return the milliseconds on the device and of the whole call, and the last answer."""
    import cupy as cp

    device, walls, answer = [], [], call()
    for _ in range(repeats):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        cp.cuda.Device().synchronize()
        clock = time.perf_counter()
        begin.record()
        answer = call()
        end.record()
        end.synchronize()
        walls.append(1e3 * (time.perf_counter() - clock))
        device.append(cp.cuda.get_elapsed_time(begin, end))
    return float(np.median(device)), float(np.median(walls)), answer


def targets_of(arm: Arm, count: int) -> Any:
    """Return tool frames of random poses, in parts, to limit the host's memory."""
    rng = np.random.default_rng(0)
    parts = [min(200_000, count - k) for k in range(0, count, 200_000)]
    return np.concatenate([arm.fk(rng.uniform(arm.lower, arm.upper, (n, len(arm.rows)))) for n in parts])


def run_arm(arm: Arm, sizes: tuple[int, ...]) -> None:
    """Print the table of one arm."""
    import cupy as cp

    model, tool = model_of(arm)
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))
    clock = time.perf_counter()
    solver.solve(cp.asarray(arm.fk(arm.middle)[None], dtype=cp.float32))
    print(f"{arm.name}: first call {time.perf_counter() - clock:.1f} s, compiling unless the cache has it", flush=True)
    host = targets_of(arm, max(sizes))
    device = cp.asarray(host, dtype=cp.float32)
    singles = [timed(lambda k=k: solver.solve(device[k : k + 1]), 3)[:2] for k in range(min(SINGLES, len(device)))]
    for what, at in (("median", 50), ("worst", 100)):
        kernels, call = np.percentile(singles, at, axis=0)
        print(f"{arm.name + ', ' + what:16}{1:>9}{kernels:>12.3f}{call:>10.3f}", flush=True)
    for size in sizes:
        part = device[:size]
        kernels, call, batch = timed(lambda part=part: solver.solve(part), 20 if size <= 100_000 else 5)
        few = slice(0, MOST_CHECKED)
        good = verify(arm, batch.q[few].get().astype(np.float64), host[:size][few])
        false = int((batch.reached[few].get() & ~good).sum())
        line = f"{arm.name:16}{size:>9}{kernels:>12.3f}{call:>10.3f}{size / kernels / 1e3:>11.2f}"
        print(f"{line}{100 * good.mean():>12.3f}{false:>7}{float(batch.steps.mean()):>8.2f}", flush=True)


def run_fine(arm: Arm, count: int) -> None:
    """Print the same targets refined in double, to tolerances beyond the precision of float."""
    import cupy as cp

    model, tool = model_of(arm)
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=FINE), dtype="float64")
    device = cp.asarray(targets_of(arm, count))
    kernels, call, batch = timed(lambda: solver.solve(device), 5)
    line = f"{arm.name + ', fine':16}{count:>9}{kernels:>12.3f}{call:>10.3f}{count / kernels / 1e3:>11.2f}"
    print(f"{line}{100 * float(batch.reached.mean()):>12.3f}{'':7}{float(batch.steps.mean()):>8.2f}", flush=True)


def draw_in_the_ball(model: poise.Model, frame: str, rng: np.random.Generator, count: int) -> Any:
    """Return random transforms in the ball around the second joint that contains the tool."""
    center = model.family(frame).chain.axes[1].p
    reach = np.linalg.norm(model.fk(model.random(rng, 20_000), frame)[:, :3, 3] - center, axis=1).max()
    way, turn = rng.normal(size=(count, 3)), rng.normal(size=(count, 4))
    way *= reach * rng.random((count, 1)) ** (1 / 3) / np.linalg.norm(way, axis=1)[:, None]
    w, x, y, z = (turn / np.linalg.norm(turn, axis=1)[:, None]).T
    T = np.zeros((count, 4, 4))
    T[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1)
    T[:, 1, :3] = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1)
    T[:, 2, :3] = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    T[:, :3, 3], T[:, 3, 3] = center + way, 1.0
    return T


def run_mixed(arm: Arm, sizes: tuple[int, ...]) -> None:
    """Print the rate, the share decided and the false proofs of random transforms."""
    import cupy as cp

    model, tool = model_of(arm)
    solver, rng = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE)), np.random.default_rng(3)
    part = draw_in_the_ball(model, tool, rng, min(1_000_000, max(sizes)))
    sure = model.fk(near_edges(model, rng, len(part)), tool)
    false = solver.solve(cp.asarray(sure, dtype=cp.float32)).counts.get(Status.UNREACHABLE, 0)
    for size in sizes:
        device = cp.asarray(np.resize(part, (size, 4, 4)), dtype=cp.float32)
        kernels, call, batch = timed(lambda device=device: solver.solve(device), 5)
        share = {status: n / size for status, n in batch.counts.items()}
        reached, proved = share.get(Status.REACHED, 0.0), share.get(Status.UNREACHABLE, 0.0)
        line = f"{arm.name + ', mixed':16}{size:>9}{kernels:>12.3f}{call:>10.3f}{size / kernels / 1e3:>11.2f}"
        print(f"{line}  reached {reached:.2%}, proved {proved:.2%}, open {1 - reached - proved:.3%}", flush=True)
    print(f"{arm.name + ', mixed':16}{len(sure):>9} transforms of poses: {false} proved out of reach", flush=True)


def scatter(count: int) -> list[Box | Cylinder]:
    """Return boxes and cylinders around an arm, none of them at its base."""
    rng, world = np.random.default_rng(5), []
    while len(world) < count:
        center = rng.uniform((-0.8, -0.8, 0.0), (0.8, 0.8, 1.0))
        if np.hypot(*center[:2]) < 0.3:
            continue
        up = np.array((0, 0, 0.1))
        box = len(world) % 2 == 1
        world.append(Box(center, rng.uniform(0.05, 0.2, 3)) if box else Cylinder(center - up, center + up, 0.05))
    return world


def run_clearance(arm: Arm, count: int) -> None:
    """Print the rate among 20 obstacles, and the answers that are not clear."""
    import cupy as cp

    model, tool = model_of(arm)
    limit = Clearance(distance=0.005, world=scatter(20))
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), limits=[limit])
    device = cp.asarray(targets_of(arm, count))
    kernels, call, batch = timed(lambda: solver.solve(device), 3)
    reached = batch.reached.get()
    gaps = limit.measure_gap(model, batch.q.get().astype(np.float64)[reached])
    line = f"{arm.name + ', clear':16}{count:>9}{kernels:>12.3f}{call:>10.3f}{count / kernels / 1e3:>11.2f}"
    false = int((gaps <= limit.distance).sum())
    print(f"{line}{100 * reached.mean():>12.3f}  {false} of them in collision", flush=True)


def run_peers(arm: Arm, count: int) -> None:
    """Solve the same targets with the installed peers."""
    targets = targets_of(arm, count)
    for name, solve in PEERS.items():
        for _ in range(2):  # the first warms it up
            answer = solve(arm, targets)
        if answer is None:
            print(f"{name} is not installed")
            continue
        seconds, q = answer
        line = f"{name[:15]:16}{count:>9}{'':12}{1e3 * seconds:>10.1f}{count / seconds / 1e6:>11.4f}"
        print(f"{line}{100 * verify(arm, q, targets).mean():>12.3f}", flush=True)


def draw_near(model: poise.Model, start: Any, count: int) -> Any:
    """Return configurations near `start`: every joint is turned a little."""
    turns = np.random.default_rng(1).normal(scale=SPREAD, size=(count, model.nv))
    return model.clamp(model.integrate(start, turns))


def run_body(
    name: str, model: poise.Model, ends: tuple[str, ...], start: Any, q: Any, tolerance: Any = WHOLE_TOLERANCE
) -> None:
    """Print the row of a body with pose goals; targets are those of the configurations `q`."""
    import cupy as cp

    count = len(q)
    goals = [Reach(end, np.eye(4), tolerance=tolerance) for end in ends]
    targets = {end: cp.asarray(model.fk(q, end), dtype=cp.float32) for end in ends}
    solver, starts = BatchSolver(model, goals), cp.asarray(start)
    kernels, call, batch = timed(lambda: solver.solve(targets, starts), 3)
    line = f"{name:16}{count:>9}{kernels:>12.3f}{call:>10.3f}{count / kernels / 1e3:>11.2f}"
    print(f"{line}{100 * float(batch.reached.mean()):>12.3f}{'':7}{float(batch.steps.mean()):>8.2f}", flush=True)


def chain(joints: int) -> poise.Model:
    """Return an arm of hinges about x, y and z in turn, 5 cm apart."""
    builder, parent = poise.ModelBuilder("chain"), None
    for i in range(joints):
        axis = np.eye(3)[i % 3]
        builder.add_joint(f"joint{i}", parent, "revolute", offset=(0.05, 0, 0), axis=axis, lower=-2.0, upper=2.0)
        parent = f"joint{i}"
    builder.add_frame("tool", parent, (0.05, 0, 0))
    return builder.build()


def g1(path: str) -> tuple[poise.Model, Any]:
    """Return the Unitree G1 from its URDF, and its bent stance."""
    model = poise.load(path, base="free")
    start = np.array(model.rest)
    for joint in model.joints:
        part = joint.name.removeprefix("left_").removeprefix("right_").removesuffix("_joint")
        if joint.kind != "free" and part in STANCE:
            start[joint.q] = STANCE[part]
    return model, start


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["panda"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--bodies", type=int, default=200_000, help="whole bodies; 0 for none")
    parser.add_argument("--g1", metavar="URDF", help="the Unitree G1's file, such as that of example-robot-data")
    options = parser.parse_args()
    import cupy as cp

    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(
        f"{name}, CuPy {cp.__version__}, CUDA {cp.cuda.runtime.runtimeGetVersion()}, poise {poise.__version__}\n{HEAD}"
    )
    for arm in options.arms:
        run_arm(ARMS[arm], tuple(options.sizes))
        run_mixed(ARMS[arm], tuple(size for size in options.sizes if size >= 100_000) or (max(options.sizes),))
        run_fine(ARMS[arm], min(1_000_000, max(options.sizes)))
        run_clearance(ARMS[arm], min(1_000_000, max(options.sizes)))
        run_peers(ARMS[arm], 1000)
    if options.bodies:
        humanoid = poise.load("humanoid")
        ends = ("hand_l", "hand_r", "foot_l", "foot_r")
        start = np.array(humanoid.rest)
        run_body("humanoid", humanoid, ends, start, draw_near(humanoid, start, options.bodies))
        arm, rng = chain(24), np.random.default_rng(3)
        run_body("24 joints", arm, ("tool",), np.array(arm.rest), arm.random(rng, options.bodies), TOLERANCE)
    if options.bodies and options.g1:
        model, start = g1(options.g1)
        run_body("Unitree G1", model, ENDS, start, draw_near(model, start, options.bodies))
        run_body("G1, random", model, ENDS, start, model.random(np.random.default_rng(2), options.bodies))


if __name__ == "__main__":
    main()
