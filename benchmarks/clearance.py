"""Poses clear of obstacles and of the body itself.

    git clone https://github.com/KavrakiLab/vamp
    git clone https://github.com/NVlabs/curobo
    python benchmarks/clearance.py spheres meshes --vamp vamp [--robots panda ur5] [--each 100] [--rows 20000]
    python benchmarks/clearance.py trunks --trunks DIR [--each 100]
    python benchmarks/clearance.py curobo --curobo curobo [--sizes 100 10000 1000000] [--device gpu]

Times are CPU milliseconds unless noted. Pairs of links that may touch are those of the SRDF files next to the robots,
which the judge reads independently (`read_pairs`); pairs that collide in every configuration, which no answer could
avoid, are printed and left out. "false" counts answers that an independent check finds in collision
or off their goal, "blocked" goals whose own configuration collides.

spheres  the goals of MotionBenchMaker, 700 problems each for Panda and UR5, with the spherized robots of VAMP
         (`resources/panda`, `resources/ur5`; the problems are its `problems.tar.bz2`). A goal is the pose of the tool
         in the problem's own goal configuration; the start is the problem's. One prepared Solver solves all of them,
         and its world changes from problem to problem (`Solver.with_world`). `Judge` reads the URDF independently and
         measures spheres against boxes, cylinders and one another in NumPy. "coal" counts the answers that coal
         (pip install coal) finds in collision, with the same spheres at the places of `Judge`. "clear/s" and "any/s"
         are rows per CPU second in batches of targets with a clear pose, and of any configurations' targets.
meshes   the same with the bodies of `poise.fit_spheres` from the URDF files with meshes; coal judges every answer by
         the meshes themselves, against the obstacles and one another, and "blocked" is measured with the spheres
trunks   the robots of example-robot-data (pip install example-robot-data; DIR is cmeel.prefix/share next to it) whose
         trunk carries several links: Baxter, PR2 and Talos, with their SRDF files. A goal is the place of a hand in a
         random configuration of its arm, without obstacles; coal judges every answer by the shapes of the URDF.
         "pairs" are those of the SRDF that can collide.
curobo   cuRobo's own problem of inverse kinematics, as in its `benchmark/ik_benchmark.py`: its Franka and sphere file,
         above its table, targets from random configurations that are clear, and no start. Its documentation publishes
         2.73 ms for 100 targets (36,700 a second, 100 % reached, 5 mm; the graphics card is not stated). Wall-clock
         time; "false" is by the float64 gap.
"""

import tarfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from shared.clearance_judge import (
    Judge,
    MeshJudge,
    Problem,
    leave_out_blocking,
    make_rotation,
    measure_by_coal,
    read_pairs,
)
from shared.command import Options, Part, Table, run_command, summarise

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
TOOL = "panda_hand"
TOLERANCES = {"5 mm, 0.05 rad": (5e-3, 5e-2), "0.1 mm, 1 mrad": (1e-4, 1e-3)}
TABLE = Clearance(world=[Box((0.0, 0.0, -0.2), (4.0, 4.0, 0.2), name="table")])  # collision_table.yml
COUNTS = ("robot:8", "goals:9", "found:9", "blocked:9", "false:9")
TIMES = ("median:9.3f", "p99:9.3f", "worst:9.3f")
OPTIONS: Options = {
    "vamp": (Path, "a checkout of github.com/KavrakiLab/vamp"),
    "trunks": (Path, "the folder that contains example-robot-data"),
    "curobo": (Path, "a checkout of github.com/NVlabs/curobo"),
    "robots": (list(TIPS), "names of VAMP's robots", TIPS),
    "each": (100, "problems of each scene, or goals of each robot"),
    "rows": (20_000, "rows of the batches"),
    "sizes": ([100, 10_000], "sizes of cuRobo's batches"),
    "device": ("cpu", "where cuRobo's problem runs", ("cpu", "gpu")),
}


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


# ------------------------------------------------------------------------------------------------ MotionBenchMaker


@dataclass
class Tally:
    """What became of the goals: the counts, and the CPU times of solves and of changes of world [s]."""

    found: int = 0
    blocked: int = 0
    false: int = 0
    times: list[float] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    worlds: list[Any] = field(default_factory=list)
    answers: list[tuple[dict[str, float], Problem]] = field(default_factory=list)  # those reached

    def list_counts(self) -> tuple[int, int, int, int]:
        """Return goals, found, blocked, false."""
        return len(self.times), self.found, self.blocked, self.false


def solve_problems(
    model: poise.Model,
    tip: str,
    problems: Iterator[Problem],
    judge: Judge,
    collides: Callable[[dict[str, float], Problem], bool],
    is_blocked: Callable[[Problem, Any, Floats], bool],
) -> Tally:
    """Solve every problem in its world, and judge the answers."""
    solver = poise.Solver(model, Reach(tip, np.eye(4)), limits=[Clearance(world=[Box((9, 9, 9), (1, 1, 1))])])
    solver.solve()  # prepares the closed form
    out = Tally()
    for problem in problems:
        start, goal = (make_configuration(model, angles) for angles in (problem.start, problem.goal))
        world, T = [make_region(*solid) for solid in problem.solids], model.fk(goal, tip)
        begun = time.process_time()
        here = solver.with_world(world)
        changed = time.process_time()
        answer = here.solve(start, {solver.row_names[0]: T})
        out.times.append(time.process_time() - changed)
        out.changes.append(changed - begun)
        out.worlds.append(world)
        out.blocked += is_blocked(problem, world, goal)
        if answer.reached:
            angles = name_angles(model, answer.q, problem.start)
            close = np.allclose(judge.place(tip, angles), T, atol=1e-3)
            out.found += 1
            out.false += bool(collides(angles, problem) or not close)
            out.answers.append((angles, problem))
    return out


def measure_spheres(given: Namespace) -> None:
    """Print the table of VAMP's spherized robots."""
    table = Table(*COUNTS, "coal:9", *TIMES, "change:9.3f", "clear/s:9,.0f", "any/s:9,.0f")
    for robot in given.robots:
        folder, tip = given.vamp / "resources" / robot, TIPS[robot]
        urdf, srdf = folder / f"{robot}_spherized.urdf", folder / f"{robot}.srdf"
        model, judge = poise.load(str(urdf), srdf=str(srdf)), Judge(urdf)
        pairs = leave_out_blocking(judge, read_pairs(urdf, srdf), np.random.default_rng(0))

        def collides(angles: dict[str, float], problem: Problem, judge: Judge = judge, pairs: Any = pairs) -> bool:
            return judge.measure(angles, pairs, problem) < -TOUCH

        problems = read_problems(folder / "problems.tar.bz2", given.each)
        blocked = lambda problem, _world, _goal, collides=collides: collides(problem.goal, problem)  # noqa: E731
        tally = solve_problems(model, tip, problems, judge, collides, blocked)
        gaps = [measure_by_coal(judge.place_spheres(angles), pairs, problem) for angles, problem in tally.answers]
        by_coal = None if None in gaps else sum(gap < -COAL_TOUCH for gap in gaps if gap is not None)
        change = 1e3 * float(np.median(tally.changes))
        rates = measure_rates(model, tip, tally.worlds[:: given.each], given.rows)
        table.add(robot, *tally.list_counts(), by_coal, *summarise(tally.times), change, *rates)


def measure_meshes(given: Namespace) -> None:
    """Print the table of bodies from `fit_spheres`, judged by their meshes."""
    table = Table(*COUNTS, *TIMES, "fit, s:9.1f")
    for robot in given.robots:
        folder = given.vamp / "resources" / robot
        urdf, srdf = folder / f"{robot}.urdf", folder / f"{robot}.srdf"
        begun = time.process_time()
        model = poise.fit_spheres(poise.load(str(urdf), srdf=str(srdf)), error=0.01)
        fitted, judge = time.process_time() - begun, MeshJudge(urdf)
        pairs = leave_out_blocking(judge, read_pairs(urdf, srdf), np.random.default_rng(0))

        def collides(angles: dict[str, float], problem: Problem, judge: MeshJudge = judge, pairs: Any = pairs) -> bool:
            return judge.collides(angles, pairs, problem)

        def is_blocked(_: Problem, world: Any, goal: Floats, model: poise.Model = model) -> bool:
            return bool(Clearance(world=world).measure_gap(model, goal) < 0.0)

        problems = read_problems(folder / "problems.tar.bz2", given.each)
        tally = solve_problems(model, TIPS[robot], problems, judge, collides, is_blocked)
        table.add(robot, *tally.list_counts(), *summarise(tally.times), fitted)


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


# ------------------------------------------------------------------------------------------------ trunks


def measure_trunks(given: Namespace) -> None:
    """Print the table of robots whose trunk carries several links, judged by the shapes of their URDF."""
    table = Table(*COUNTS, *TIMES, "pairs:9")
    for robot, (*files, tip) in TRUNKS.items():
        folder = given.trunks / "example-robot-data" / "robots"
        urdf, srdf = (folder / f"{name}.{kind}" for name, kind in zip(files, ("urdf", "srdf"), strict=True))
        model = poise.load(urdf, package_path=[str(given.trunks)], srdf=srdf)
        judge, none = MeshJudge(urdf, given.trunks), Problem("", {}, {}, [])
        pairs = leave_out_blocking(judge, read_pairs(urdf, srdf), np.random.default_rng(0))
        arm = [joint for joint in model.joints_above(tip) if joint.nq == 1][-7:]
        rng, tally = np.random.default_rng(0), Tally()
        for _ in range(given.each):
            q = np.array(model.rest)
            for joint in arm:
                q[joint.q] = model.random(rng)[joint.q]
            begun = time.process_time()
            answer = poise.solve(model, Reach(tip, model.fk(q, tip)[:3, 3]), limits=[Clearance()])
            tally.times.append(time.process_time() - begun)
            tally.found += answer.reached
            tally.false += answer.reached and judge.collides(name_angles(model, answer.q, {}), pairs, none)
            tally.blocked += judge.collides(name_angles(model, q, {}), pairs, none)
        table.add(robot, *tally.list_counts(), *summarise(tally.times[1:]), len(pairs))  # the first prepares the body


# ------------------------------------------------------------------------------------------------ cuRobo


def draw_clear(model: poise.Model, count: int) -> Floats:
    """Return random configurations that are clear of the table and of the body."""
    rng, found = np.random.default_rng(2), np.empty((0, model.nq))
    while len(found) < count:
        q = model.random(rng, count)
        found = np.concatenate([found, q[TABLE.measure_gap(model, q) > 0.0]])
    return found[:count]


def time_waiting(solve: Callable[[], Any], wait: Callable[[], None], times: int = 5) -> tuple[Any, float]:
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


def measure_curobo(given: Namespace) -> None:
    """Print the table of cuRobo's problem."""
    content = given.curobo / "curobo" / "content"
    urdf = content / "assets" / "robot" / "franka_description" / "franka_panda.urdf"
    model = poise.load(str(urdf)).with_spheres(content / "configs" / "robot" / "franka.yml")
    send, fetch, wait = np.asarray, np.asarray, lambda: None
    if given.device == "gpu":
        import cupy as cp

        send, fetch, wait = cp.asarray, cp.asnumpy, cp.cuda.get_current_stream().synchronize
    q = draw_clear(model, max(given.sizes))
    print(f"{given.device}; {len(TABLE.capsules(model))} spheres")
    table = Table("tolerance:16", "targets:9,", "ms:11.3f", "a second:13,.0f", "reached %:11.2f", "false:7")
    for name, tolerance in TOLERANCES.items():
        solver = BatchSolver(model, Reach(TOOL, np.eye(4), tolerance=tolerance), limits=[TABLE])
        for size in given.sizes:
            targets = model.fk(q[:size], TOOL)
            batch, seconds = time_waiting(partial(solver.solve, send(targets)), wait)
            reached, found = fetch(batch.reached), fetch(batch.q).astype(float)
            T = model.fk(found, TOOL)
            far = np.linalg.norm(T[:, :3, 3] - targets[:, :3, 3], axis=1)
            cosine = 0.5 * (np.einsum("nij,nij->n", T[:, :3, :3], targets[:, :3, :3]) - 1.0)
            turned = np.arccos(np.clip(cosine, -1.0, 1.0))
            off = (far > 1.01 * tolerance[0]) | (turned > 1.01 * tolerance[1])
            false = reached & (off | (TABLE.measure_gap(model, found) < 0.0))
            table.add(name, size, 1e3 * seconds, size / seconds, 100 * reached.mean(), int(false.sum()))


if __name__ == "__main__":
    parts = {
        "spheres": Part(measure_spheres, "vamp"),
        "meshes": Part(measure_meshes, "vamp"),
        "trunks": Part(measure_trunks, "trunks"),
        "curobo": Part(measure_curobo, "curobo"),
    }
    run_command(__doc__, parts, OPTIONS, ["coal", "cupy"])
