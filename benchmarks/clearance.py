"""Poses among obstacles: the goals of MotionBenchMaker, 700 problems each for Panda and UR5.

    git clone https://github.com/KavrakiLab/vamp
    python benchmarks/clearance.py --vamp vamp [--robots panda ur5] [--each 100] [--rows 20000] [--meshes]
    python benchmarks/clearance.py --trunks DIR [--each 100]

The robots are the spherized ones of VAMP (`resources/panda`, `resources/ur5`), the problems its `problems.tar.bz2`. A
goal is the pose of the tool in the problem's own goal configuration; the start is the problem's. One prepared Solver
solves all of them, and its world changes from problem to problem (`Solver.with_world`). Times are CPU times. Pairs of
links that may touch are those of the SRDF files next to the robots, which the judge reads independently (`read_pairs`);
pairs that collide in every configuration, which no answer could avoid, are printed and left out.

"false" counts answers that an independent check finds in collision or off their goal: `Judge` reads the URDF
independently and measures spheres against boxes, cylinders and one another in NumPy. "coal" counts the answers that
coal (pip install coal) finds in collision, with the same spheres at the places of `Judge`. "blocked" are goals whose
own configuration collides in these spheres.

With `--meshes` the bodies are those of `poise.fit_spheres` from the URDF files with meshes, and coal judges every
answer by the meshes themselves, against the obstacles and one another.

With `--trunks` the robots are those of example-robot-data (pip install example-robot-data; DIR is cmeel.prefix/share
next to it) whose trunk carries several links: Baxter, PR2 and Talos, with their SRDF files. A goal is the place of a
hand in a random configuration of its arm, without obstacles; coal judges every answer by the shapes of the URDF.
"pairs" are those of the SRDF that can collide.
"""

from __future__ import annotations

import argparse
import platform
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from clearance_judge import (
    Judge,
    MeshJudge,
    Problem,
    leave_out_blocking,
    make_rotation,
    measure_by_coal,
    read_pairs,
)

import poise
from poise.arrays import Floats
from poise.batch import BatchSolver
from poise.goals import Reach
from poise.limits import Box, Clearance, Cylinder

TIPS = {"panda": "panda_hand", "ur5": "tool0"}
TRUNKS = {  # URDF, SRDF, hand
    "baxter": ("baxter_description/urdf/baxter", "baxter_description/srdf/baxter_manipulation", "left_gripper"),
    "pr2": ("pr2_description/urdf/pr2", "pr2_description/srdf/pr2", "r_wrist_roll_link"),
    "talos": ("talos_data/robots/talos_full_v2", "talos_data/srdf/talos", "arm_left_7_link"),
}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TOUCH = 1e-9  # m
COAL_TOUCH = 1e-6  # m: the tolerance of its distances


def read_problems(path: Path, each: int) -> Iterator[Problem]:
    """Yield the first problems of every scene of an archive."""
    with tarfile.open(path) as archive:  # in its own order: seeking would unpack it again
        files = {member.name: found.read() for member in archive if (found := archive.extractfile(member))}
    taken: dict[str, int] = {}
    for name in sorted(name for name in files if "request" in name):
        scene = Path(name).parent.name
        taken[scene] = taken.get(scene, 0) + 1
        if taken[scene] <= each:
            request, world = (yaml.load(files[n], LOADER) for n in (name, name.replace("request", "scene")))
            yield make_problem(scene, request, world)


def make_problem(scene: str, request: Any, world: Any) -> Problem:
    """Return a problem from MoveIt's messages."""
    state = request["start_state"]["joint_state"]
    wanted = request["goal_constraints"][0]["joint_constraints"]
    solids = [
        (
            shape["type"],
            shape["dimensions"],
            make_rotation(pose["orientation"]),
            np.array(pose["position"], dtype=float),
        )
        for thing in world["world"]["collision_objects"]
        for shape, pose in zip(thing["primitives"], thing["primitive_poses"], strict=True)
    ]
    start = dict(zip(state["name"], state["position"], strict=True))
    return Problem(scene, start, start | {c["joint_name"]: c["position"] for c in wanted}, solids)


def make_region(kind: str, size: list[float], R: Floats, p: Floats) -> Box | Cylinder:
    """Return an obstacle as a region."""
    if kind == "box":
        return Box(p, size, R)
    half = 0.5 * size[0] * R[:, 2]
    return Cylinder(p - half, p + half, size[1])


def make_configuration(model: poise.Model, angles: dict[str, float]) -> Floats:
    """Return q of named angles; other joints stay at rest."""
    q = np.array(model.rest)
    for joint in model.joints:
        if joint.nq == 1 and joint.name in angles:
            q[joint.q] = angles[joint.name]
    return q


def name_angles(model: poise.Model, q: Floats, others: dict[str, float]) -> dict[str, float]:
    """Return the named angles of q."""
    return others | {joint.name: float(q[joint.q][0]) for joint in model.joints if joint.nq == 1}


def measure_robot(folder: Path, robot: str, each: int, rows: int) -> None:
    """Print the figures of one robot."""
    urdf = folder / f"{robot}_spherized.urdf"
    model, judge, tip = poise.load(str(urdf), srdf=str(folder / f"{robot}.srdf")), Judge(urdf), TIPS[robot]
    limit = Clearance(world=[Box((9, 9, 9), (1, 1, 1))])
    pairs = leave_out_blocking(judge, read_pairs(urdf, folder / f"{robot}.srdf"), np.random.default_rng(0))
    solver = poise.Solver(model, Reach(tip, np.eye(4)), limits=[limit])
    solver.solve()  # prepares the closed form
    found = false = blocked = 0
    by_coal: int | None = 0
    changes, times, worlds = [], [], []
    for problem in read_problems(folder / "problems.tar.bz2", each):
        start, goal = (make_configuration(model, angles) for angles in (problem.start, problem.goal))
        world, T = [make_region(*solid) for solid in problem.solids], model.fk(goal, tip)
        begun = time.process_time()
        here = solver.with_world(world)
        changed = time.process_time()
        answer = here.solve(start, {solver.row_names[0]: T})
        times.append(time.process_time() - changed)
        changes.append(changed - begun)
        worlds.append(world)
        clear = judge.measure(name_angles(model, answer.q, problem.start), pairs, problem) >= -TOUCH
        close = np.allclose(judge.place(tip, name_angles(model, answer.q, problem.start)), T, atol=1e-3)
        found += answer.reached
        false += answer.reached and not (clear and close)
        if answer.reached:
            spheres = judge.place_spheres(name_angles(model, answer.q, problem.start))
            gap = measure_by_coal(spheres, pairs, problem)
            by_coal = None if gap is None or by_coal is None else by_coal + (gap < -COAL_TOUCH)
        own = judge.measure(problem.goal, pairs, problem)
        blocked += own < 0.0
    ms, change = 1e3 * np.array(times), 1e3 * float(np.median(changes))
    p99 = float(np.percentile(ms, 99))
    counts = "".join(f"{number:>9}" for number in (len(ms), found, blocked, false, "-" if by_coal is None else by_coal))
    spent = "".join(f"{number:>9.3f}" for number in (np.median(ms), p99, ms.max(), change))
    rates = "".join(f"{rate:>9,.0f}" for rate in measure_rates(model, tip, worlds[::each], rows))
    print(f"{robot:8}{counts}{spent}{rates}", flush=True)


def measure_meshes(folder: Path, robot: str, each: int) -> None:
    """Print the figures of a body from `fit_spheres`, judged by its meshes."""
    urdf, tip = folder / f"{robot}.urdf", TIPS[robot]
    begun = time.process_time()
    model = poise.fit_spheres(poise.load(str(urdf), srdf=str(folder / f"{robot}.srdf")), error=0.01)
    fitted, judge = time.process_time() - begun, MeshJudge(urdf)
    limit = Clearance(world=[Box((9, 9, 9), (1, 1, 1))])
    pairs = leave_out_blocking(judge, read_pairs(urdf, folder / f"{robot}.srdf"), np.random.default_rng(0))
    solver = poise.Solver(model, Reach(tip, np.eye(4)), limits=[limit])
    solver.solve()
    found = false = blocked = 0
    times = []
    for problem in read_problems(folder / "problems.tar.bz2", each):
        start, goal = (make_configuration(model, angles) for angles in (problem.start, problem.goal))
        world = [make_region(*solid) for solid in problem.solids]
        here = solver.with_world(world)
        begun = time.process_time()
        answer = here.solve(start, {solver.row_names[0]: model.fk(goal, tip)})
        times.append(time.process_time() - begun)
        found += answer.reached
        false += answer.reached and judge.collides(name_angles(model, answer.q, problem.start), pairs, problem)
        blocked += Clearance(world=world).measure_gap(model, goal) < 0.0
    ms = 1e3 * np.array(times)
    spent = "".join(f"{number:>9.3f}" for number in (np.median(ms), np.percentile(ms, 99), ms.max()))
    print(f"{robot:8}{len(ms):>9}{found:>9}{blocked:>9}{false:>9}{spent}{fitted:>9.1f}", flush=True)


def measure_trunk(share: Path, robot: str, goals: int) -> None:
    """Print the figures of a robot whose trunk carries several links, judged by the shapes of its URDF."""
    urdf, srdf, tip = TRUNKS[robot]
    urdf_path, srdf_path = (
        share / "example-robot-data/robots" / f"{name}" for name in (f"{urdf}.urdf", f"{srdf}.srdf")
    )
    model = poise.load(urdf_path, package_path=[str(share)], srdf=srdf_path)
    judge, none = MeshJudge(urdf_path, share), Problem("", {}, {}, [])
    pairs = leave_out_blocking(judge, read_pairs(urdf_path, srdf_path), np.random.default_rng(0))
    arm = [joint for joint in model.joints_above(tip) if joint.nq == 1][-7:]
    rng, limit, times = np.random.default_rng(0), Clearance(), list[float]()
    found = false = blocked = 0
    for _ in range(goals):
        q = np.array(model.rest)
        for joint in arm:
            q[joint.q] = model.random(rng)[joint.q]
        begun = time.process_time()
        goal = Reach(tip, model.fk(q, tip)[:3, 3])
        answer = poise.solve(model, goal, limits=[limit])
        times.append(time.process_time() - begun)
        found += answer.reached
        false += answer.reached and judge.collides(name_angles(model, answer.q, {}), pairs, none)
        blocked += judge.collides(name_angles(model, q, {}), pairs, none)
    ms = 1e3 * np.array(times[1:])  # the first one prepares the body
    spent = "".join(f"{number:>9.3f}" for number in (np.median(ms), np.percentile(ms, 99), ms.max()))
    print(f"{robot:8}{goals:>9}{found:>9}{blocked:>9}{false:>9}{spent}{len(pairs):>9}", flush=True)


def measure_rates(model: poise.Model, tip: str, worlds: list[Any], rows: int) -> tuple[float, float]:
    """Return the rows per second of one core, for tool poses of clear and of any configurations in several worlds."""
    took, rng, each = np.zeros(2), np.random.default_rng(0), max(1, rows // len(worlds))
    for world in worlds:
        limit, q = Clearance(world=world), model.random(rng, 5000)
        batch = BatchSolver(model, Reach(tip, np.eye(4)), limits=[limit], threads=1)
        for k, some in enumerate((q[limit.measure_gap(model, q) > 0.0], q)):
            T = np.resize(model.fk(some, tip), (each, 4, 4))
            begun = time.process_time()
            batch.solve(T)
            took[k] += time.process_time() - begun
    clear, mixed = each * len(worlds) / took
    return float(clear), float(mixed)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vamp", type=Path, help="a checkout of github.com/KavrakiLab/vamp")
    parser.add_argument("--robots", nargs="+", default=list(TIPS), choices=list(TIPS))
    parser.add_argument("--each", type=int, default=100, help="problems of each scene")
    parser.add_argument("--rows", type=int, default=20000, help="rows of the batches")
    parser.add_argument("--meshes", action="store_true", help="bodies from fit_spheres, judged by their meshes")
    parser.add_argument("--trunks", type=Path, help="the folder that contains example-robot-data")
    given = parser.parse_args()
    if given.trunks is not None:
        head = ("goals", "found", "blocked", "false", "median", "p99", "worst", "pairs")
        print(f"{platform.machine()}; CPU milliseconds\n{'robot':8}" + "".join(f"{name:>9}" for name in head))
        for robot in TRUNKS:
            measure_trunk(given.trunks, robot, given.each)
        return
    if given.vamp is None:
        parser.error("give --vamp DIR, or --trunks DIR")
    if given.meshes:
        head = ("goals", "found", "blocked", "false", "median", "p99", "worst", "fit, s")
        print(f"{platform.machine()}; CPU milliseconds\n{'robot':8}" + "".join(f"{name:>9}" for name in head))
        for robot in given.robots:
            measure_meshes(given.vamp / "resources" / robot, robot, given.each)
        return
    print(f"{platform.machine()}; CPU milliseconds of one goal in a new world, and of the change of world;")
    print("rows per CPU second in batches of targets with a clear pose, and of any configurations' targets")
    head = ("goals", "found", "blocked", "false", "coal", "median", "p99", "worst", "change", "clear/s", "any/s")
    print(f"{'robot':8}" + "".join(f"{name:>9}" for name in head))
    for robot in given.robots:
        measure_robot(given.vamp / "resources" / robot, robot, given.each, given.rows)


if __name__ == "__main__":
    main()
