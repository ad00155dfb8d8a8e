"""Batches on a GPU: `python benchmarks/gpu.py [arms bodies maps peers] [--device cpu]`.

arms    targets are tool frames of random poses inside the ranges, made by the DH tables of shared/robots.py; every
        search starts in the rest pose. An answer counts if that same FK, in float64, finds it within 1e-4 m, 1e-3 rad
        and the ranges; a wrong `reached` is counted as false. "kernels" is the device's own time between two events,
        "call" the wall clock from the Python call to the device being idle. Medians, after warming up. "one" is one
        target, median and worst. "mixed" are random transforms in the ball around the second joint that contains all
        positions of the tool: about half of them are out of reach; "false" counts proofs among as many transforms of
        poses, a third of whose joints are at a range's edge or at a quarter turn. "fine" are targets refined in double,
        to tolerances beyond the precision of float; "clear" are targets among 20 obstacles, "false" those in collision.
bodies  whole bodies with goals for hands and feet; `--g1` adds the Unitree G1
maps    reach maps: the time of a map, and its undecided share. "asked" counts the poses that distance bounds do not
        exclude; the rate counts all. On a GPU the default is 5 cm, 200 directions and 12 turns; on a CPU a coarser map,
        whose rate predicts the time of the fine one.
peers   PyRoki and pytorch_kinematics on 1,000 targets, on the device that they have

With `--device cpu` only maps and peers run.
"""

import os
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from shared.closed_arms import draw_around, near_edges
from shared.command import Options, Part, Table, run_command
from shared.g1 import ENDS, SPREAD, STANCE
from shared.g1 import TOLERANCE as WHOLE_TOLERANCE
from shared.gpu_peers import PEERS
from shared.robots import ARMS, TOLERANCE, Arm, draw_targets, model_of

import poise
from poise.batch import BatchSolver
from poise.goals import Reach
from poise.limits import Box, Clearance, Cylinder
from poise.solvers import Status

SIZES = (100, 1000, 10_000, 100_000, 1_000_000, 4_000_000, 8_000_000)
SINGLES = 200
FINE = (1e-9, 1e-9)  # [m, rad]
MOST_CHECKED, MOST_MIXED = 100_000, 1_000_000
TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}
MAPS = {"gpu": (0.05, 200, 12), "cpu": (0.15, 40, 3)}  # metres, directions, turns
COLUMNS = (":20", "targets:9", "kernels ms:12.3f", "call ms:10.3f", "million/s:11.2f", "verified %:12.3f", "false:7")
OPTIONS: Options = {
    "device": ("gpu", "where it runs", ("gpu", "cpu")),
    "arms": (["panda"], "names of arms, of the batches and of the peers", ARMS),
    "sizes": (SIZES, "sizes of the batches"),
    "bodies": (200_000, "whole bodies"),
    "g1": (Path, "the Unitree G1's URDF, such as that of example-robot-data"),
    "maps": (["panda"], "names of the arms of the maps", TIPS),
    "spacing": (float, "metres between the places of a map"),
    "directions": (int, "directions at each place"),
    "turns": (int, "turns about each direction"),
    "out": (Path, "file for the last map (NPZ)"),
}


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


def print_device() -> None:
    """Print the card and the versions of what runs on it."""
    import cupy as cp

    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cp.__version__}, CUDA {cp.cuda.runtime.runtimeGetVersion()}")


def add_row(table: Table, name: str, count: int, run: tuple[float, float, Any], *found: Any) -> None:
    """Print a row: times, rate, and what was found."""
    kernels, call, _ = run
    table.add(name, count, kernels, call, count / kernels / 1e3, *found)


# ------------------------------------------------------------------------------------------------ arms


def measure_arms(given: Namespace) -> None:
    """Print the table of batches of arms."""
    print_device()
    for name in given.arms:
        arm, most = ARMS[name], min(1_000_000, max(given.sizes))
        table = measure_arm(arm, given.sizes)
        measure_mixed(table, arm, [size for size in given.sizes if size >= 100_000] or [max(given.sizes)])
        measure_fine(table, arm, most)
        measure_clear(table, arm, most)


def measure_arm(arm: Arm, sizes: Sequence[int]) -> Table:
    """Print the rows of one arm."""
    import cupy as cp

    model, tool = model_of(arm)
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE))
    clock = time.perf_counter()
    solver.solve(cp.asarray(arm.fk(arm.middle)[None], dtype=cp.float32))
    print(f"{arm.name}: first call {time.perf_counter() - clock:.1f} s, compiling unless the cache has it", flush=True)
    table = Table(*COLUMNS, "steps:8.2f")
    host = draw_targets(arm, max(sizes))
    device = cp.asarray(host, dtype=cp.float32)
    singles = [timed(lambda k=k: solver.solve(device[k : k + 1]), 3)[:2] for k in range(min(SINGLES, len(device)))]
    for what, at in (("median", 50), ("worst", 100)):
        table.add(f"{arm.name}, one, {what}", 1, *np.percentile(singles, at, axis=0))
    for size in sizes:
        run = timed(partial(solver.solve, device[:size]), 20 if size <= 100_000 else 5)
        few, batch = slice(0, MOST_CHECKED), run[2]
        good = arm.serve(batch.q[few].get().astype(np.float64), host[:size][few], single=True)
        false = int((batch.reached[few].get() & ~good).sum())
        add_row(table, arm.name, size, run, 100 * good.mean(), false, float(batch.steps.mean()))
    return table


def measure_mixed(table: Table, arm: Arm, sizes: Sequence[int]) -> None:
    """Print the rate, the share decided and the false proofs of random transforms."""
    import cupy as cp

    model, tool = model_of(arm)
    solver, rng = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE)), np.random.default_rng(3)
    part = draw_around(model, tool, rng, min(MOST_MIXED, max(sizes)))
    sure = model.fk(near_edges(model, rng, len(part)), tool)
    false = solver.solve(cp.asarray(sure, dtype=cp.float32)).counts.get(Status.UNREACHABLE, 0)
    for size in sizes:
        run = timed(partial(solver.solve, cp.asarray(np.resize(part, (size, 4, 4)), dtype=cp.float32)), 5)
        reached, proved = (run[2].counts.get(word, 0) / size for word in (Status.REACHED, Status.UNREACHABLE))
        add_row(table, f"{arm.name}, mixed", size, run, None, false)
        print(f"    reached {reached:.2%}, proved {proved:.2%}, open {1 - reached - proved:.3%}", flush=True)


def measure_fine(table: Table, arm: Arm, count: int) -> None:
    """Print the same targets refined in double, to tolerances beyond the precision of float."""
    import cupy as cp

    model, tool = model_of(arm)
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=FINE), dtype="float64")
    run = timed(partial(solver.solve, cp.asarray(draw_targets(arm, count))), 5)
    found = 100 * float(run[2].reached.mean()), None, float(run[2].steps.mean())
    add_row(table, f"{arm.name}, fine", count, run, *found)


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


def measure_clear(table: Table, arm: Arm, count: int) -> None:
    """Print the rate among 20 obstacles, and the answers that are not clear."""
    import cupy as cp

    model, tool = model_of(arm)
    limit = Clearance(distance=0.005, world=scatter(20))
    solver = BatchSolver(model, Reach(tool, np.eye(4), tolerance=TOLERANCE), limits=[limit])
    run = timed(partial(solver.solve, cp.asarray(draw_targets(arm, count))), 3)
    reached = run[2].reached.get()
    gaps = limit.measure_gap(model, run[2].q.get().astype(np.float64)[reached])
    add_row(table, f"{arm.name}, clear", count, run, 100 * reached.mean(), int((gaps <= limit.distance).sum()))


# ------------------------------------------------------------------------------------------------ bodies


def measure_bodies(given: Namespace) -> None:
    """Print the table of whole bodies; targets are those of configurations near the start, or random."""
    print_device()
    table, count, rng = Table(*COLUMNS, "steps:8.2f"), given.bodies, np.random.default_rng(3)
    humanoid, arm = poise.load("humanoid"), chain(24)
    ends, start = ("hand_l", "hand_r", "foot_l", "foot_r"), np.array(humanoid.rest)
    measure_body(table, "humanoid", humanoid, ends, start, draw_near(humanoid, start, count))
    measure_body(table, "24 joints", arm, ("tool",), np.array(arm.rest), arm.random(rng, count), TOLERANCE)
    if given.g1 is not None:
        model, start = load_g1(given.g1)
        measure_body(table, "Unitree G1", model, ENDS, start, draw_near(model, start, count))
        measure_body(table, "G1, random", model, ENDS, start, model.random(np.random.default_rng(2), count))


def measure_body(
    table: Table,
    name: str,
    model: poise.Model,
    ends: tuple[str, ...],
    start: Any,
    q: Any,
    tolerance: tuple[float, float] = WHOLE_TOLERANCE,
) -> None:
    """Print the row of a body with pose goals; targets are those of the configurations `q`."""
    import cupy as cp

    targets = {end: cp.asarray(model.fk(q, end), dtype=cp.float32) for end in ends}
    solver = BatchSolver(model, [Reach(end, np.eye(4), tolerance=tolerance) for end in ends])
    run = timed(partial(solver.solve, targets, cp.asarray(start)), 3)
    add_row(table, name, len(q), run, 100 * float(run[2].reached.mean()), None, float(run[2].steps.mean()))


def draw_near(model: poise.Model, start: Any, count: int) -> Any:
    """Return configurations near `start`: every joint is turned a little."""
    turns = np.random.default_rng(1).normal(scale=SPREAD, size=(count, model.nv))
    return model.clamp(model.integrate(start, turns))


def chain(joints: int) -> poise.Model:
    """Return an arm of hinges about x, y and z in turn, 5 cm apart."""
    builder, parent = poise.ModelBuilder("chain"), None
    for i in range(joints):
        axis = np.eye(3)[i % 3]
        builder.add_joint(f"joint{i}", parent, "revolute", offset=(0.05, 0, 0), axis=axis, lower=-2.0, upper=2.0)
        parent = f"joint{i}"
    builder.add_frame("tool", parent, (0.05, 0, 0))
    return builder.build()


def load_g1(path: Path) -> tuple[poise.Model, Any]:
    """Return the Unitree G1 from its URDF, and its bent stance."""
    model = poise.load(path, base="free")
    start = np.array(model.rest)
    for joint in model.joints:
        part = joint.name.removeprefix("left_").removeprefix("right_").removesuffix("_joint")
        if joint.kind != "free" and part in STANCE:
            start[joint.q] = STANCE[part]
    return model, start


# ------------------------------------------------------------------------------------------------ maps and peers


def measure_maps(given: Namespace) -> None:
    """Print the table of reach maps."""
    spacing, directions, turns = (
        value or usual
        for value, usual in zip((given.spacing, given.directions, given.turns), MAPS[given.device], strict=True)
    )
    where = "a GPU" if given.device == "gpu" else f"{len(os.sched_getaffinity(0))} cores"
    print(f"{where}: {100 * spacing:g} cm, {directions} directions x {turns} turns")
    shares = ("reached:9.2%", "proved:9.2%", "open:9.3%", "of asked:9.3%")
    table = Table("arm:8", "poses:13,", "asked:13,", *shares, "s:8.2f", "million/s:11.3f")
    for name in given.maps:
        seen, model = [0], poise.load(name)
        make = partial(poise.reach_map, model, TIPS[name], device=given.device)
        if given.device == "gpu":  # kernels are compiled once, and kept on the disk
            make(0.2, directions, turns)
        begun = time.perf_counter()
        found = make(spacing, directions, turns, progress=lambda _, total, seen=seen: seen.__setitem__(0, total))
        took = time.perf_counter() - begun
        share = [float(x.mean(dtype="f8")) for x in (found.reached, found.proved, found.undecided)]
        open_share = share[2] * found.poses / max(1, seen[0])
        table.add(name, found.poses, seen[0], *share, open_share, took, found.poses / took / 1e6)
    if given.out is not None:
        poise.save(found, given.out)


def measure_peers(given: Namespace) -> None:
    """Solve the same targets with the installed peers."""
    table, count = Table(":20", "targets:9", "ms:10.1f", "million/s:11.4f", "verified %:12.3f"), 1000
    for arm in map(ARMS.__getitem__, given.arms):
        targets = draw_targets(arm, min(count, max(given.sizes)))
        for name, solve in PEERS.items():
            solve(arm, targets)  # warms it up
            answer = solve(arm, targets)
            if answer is not None:
                seconds, q = answer
                rate = len(targets) / seconds / 1e6
                good = arm.serve(q, targets, single=True)
                table.add(name, len(targets), 1e3 * seconds, rate, 100 * good.mean())


def skip_on_cpu(work: Callable[[Namespace], None], given: Namespace) -> None:
    """Run a part that needs a GPU."""
    if given.device == "cpu":
        print("left out: it needs a GPU")
    else:
        work(given)


if __name__ == "__main__":
    run_command(
        __doc__,
        {
            "arms": Part(partial(skip_on_cpu, measure_arms)),
            "bodies": Part(partial(skip_on_cpu, measure_bodies)),
            "maps": Part(measure_maps),
            "peers": Part(measure_peers),
        },
        OPTIONS,
        ["pytorch_kinematics", "pyroki", "jax", "torch"],
    )
