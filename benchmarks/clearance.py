"""Poses among obstacles: the goals of MotionBenchMaker, 700 problems each for Panda and UR5.

    git clone https://github.com/KavrakiLab/vamp
    python benchmarks/clearance.py --vamp vamp [--robots panda ur5] [--each 100] [--rows 20000] [--meshes]
    python benchmarks/clearance.py --trunks DIR [--each 100]

The robots are the spherized ones of VAMP (`resources/panda`, `resources/ur5`), the problems its `problems.tar.bz2`. A
goal is the pose of the tool in the problem's own goal configuration; the start is the problem's. One prepared Solver
solves all of them, and its world changes from problem to problem (`Solver.with_world`). Times are CPU times. Pairs of
links that may touch are those of the SRDF files next to the robots, which the judge reads independently (`read_pairs`).

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
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

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


class Problem(NamedTuple):
    """One problem: its scene, start and goal configuration, and its obstacles as (type, sizes, R, position)."""

    scene: str
    start: dict[str, float]
    goal: dict[str, float]
    solids: list[tuple[str, list[float], Floats, Floats]]


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


def make_rotation(xyzw: list[float]) -> Floats:
    """Return the matrix of a quaternion."""
    x, y, z, w = np.array(xyzw) / np.linalg.norm(xyzw)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + 2 * w * K + 2 * K @ K)


def make_region(kind: str, size: list[float], R: Floats, p: Floats) -> Box | Cylinder:
    """Return an obstacle as a region."""
    if kind == "box":
        return Box(p, size, R)
    half = 0.5 * size[0] * R[:, 2]
    return Cylinder(p - half, p + half, size[1])


class Judge:
    """Spheres and joints of a URDF, read without Poise."""

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        self.joints = {find(joint, "child").get("link"): joint for joint in root.findall("joint")}
        self.spheres = {
            str(link.get("name")): [
                (read_origin(solid)[:3, 3], float(find(solid, "geometry/sphere").get("radius", "")))
                for solid in link.findall("collision")
            ]
            for link in root.iter("link")
        }

    def place(self, link: str, angles: dict[str, float]) -> Floats:
        """Return the transform of a link."""
        joint = self.joints.get(link)
        if joint is None:
            return np.eye(4)
        T = self.place(find(joint, "parent").get("link", ""), angles) @ read_origin(joint)
        value = self.read_value(joint, angles)
        if joint.get("type") in ("revolute", "continuous", "prismatic"):
            axis = np.array([float(x) for x in find(joint, "axis").get("xyz", "").split()])
            move = np.eye(4)
            if joint.get("type") == "prismatic":
                move[:3, 3] = value * axis
            else:
                move[:3, :3] = make_rotation([*(np.sin(value / 2) * axis), np.cos(value / 2)])
            T = T @ move
        return np.asarray(T)

    def read_value(self, joint: ET.Element, angles: dict[str, float]) -> float:
        """Return the value of a joint, or that which it mimics."""
        mimic = joint.find("mimic")
        if mimic is None:
            return angles.get(joint.get("name", ""), 0.0)
        ratio, offset = float(mimic.get("multiplier", "1")), float(mimic.get("offset", "0"))
        return ratio * angles.get(mimic.get("joint", ""), 0.0) + offset

    def place_spheres(self, angles: dict[str, float]) -> dict[str, tuple[Floats, Floats]]:
        """Return the centers and radii of the spheres of every link [m]."""
        at: dict[str, tuple[Floats, Floats]] = {}
        for link, spheres in self.spheres.items():
            if spheres:
                T, centers = self.place(link, angles), np.array([c for c, _ in spheres])
                at[link] = (centers @ T[:3, :3].T + T[:3, 3], np.array([r for _, r in spheres]))
        return at

    def measure(self, angles: dict[str, float], pairs: set[frozenset[str]], problem: Problem) -> float:
        """Return the smallest gap of a configuration [m]."""
        at, least = self.place_spheres(angles), np.inf
        for one, other in (sorted(pair) for pair in pairs):
            (a, ra), (b, rb) = at[one], at[other]
            apart = np.linalg.norm(a[:, None] - b[None], axis=-1) - ra[:, None] - rb[None]
            least = min(least, float(apart.min()))
        for link, (centers, radius) in at.items():
            if any(link in pair for pair in pairs):  # links that move
                for solid in problem.solids:
                    least = min(least, float((measure_solid(solid, centers) - radius).min()))
        return least


def read_pairs(urdf: Path, srdf: Path) -> set[frozenset[str]]:
    """Return the pairs of links that can collide, as MoveIt reads them; links that no joint parts are left out."""
    robot, told = ET.parse(urdf).getroot(), ET.parse(srdf).getroot()
    part = {str(link.get("name")): str(link.get("name")) for link in robot.findall("link")}
    for joint in robot.findall("joint"):
        if joint.get("type") == "fixed":
            old, new = (part[find(joint, end).get("link", "")] for end in ("child", "parent"))
            part = {name: new if own == old else own for name, own in part.items()}
    rows = {
        tag: {frozenset((row.get("link1", ""), row.get("link2", ""))) for row in told.findall(f"{tag}_collisions")}
        for tag in ("disable", "enable")
    }
    silent = {row.get("link", "") for row in told.findall("disable_default_collisions")}
    solid = [str(link.get("name")) for link in robot.findall("link") if link.find("collision") is not None]
    apart = {frozenset((a, b)) for a, b in combinations(solid, 2) if part[a] != part[b]}
    return {pair for pair in apart - rows["disable"] if pair in rows["enable"] or not pair & silent}


def measure_by_coal(at: dict[str, tuple[Floats, Floats]], pairs: set[frozenset[str]], problem: Problem) -> float | None:
    """Return the smallest gap between spheres and solids by coal [m]; None if it is not installed."""
    try:
        import coal
    except ImportError:
        return None

    def gap(one: tuple[Any, Any], other: tuple[Any, Any]) -> float:
        return float(coal.distance(*one, *other, coal.DistanceRequest(), coal.DistanceResult()))

    links = {
        link: [(coal.Sphere(r), coal.Transform3s(np.eye(3), c)) for c, r in zip(*spheres, strict=True)]
        for link, spheres in at.items()
    }
    solids = [
        (coal.Box(*size) if kind == "box" else coal.Cylinder(size[1], size[0]), coal.Transform3s(R, p))
        for kind, size, R, p in problem.solids
    ]
    gaps = [gap(a, b) for pair in pairs for one, other in (sorted(pair),) for a in links[one] for b in links[other]]
    moving = [sphere for link, spheres in links.items() if any(link in pair for pair in pairs) for sphere in spheres]
    return min(*gaps, *(gap(sphere, solid) for sphere in moving for solid in solids))


def measure_solid(solid: tuple[str, list[float], Floats, Floats], points: Floats) -> Floats:
    """Return the signed distance of points from a box or a cylinder."""
    kind, size, R, p = solid
    local = (points - p) @ R
    if kind == "box":
        over = np.abs(local) - 0.5 * np.array(size)
    else:
        over = np.stack([np.hypot(local[:, 0], local[:, 1]) - size[1], np.abs(local[:, 2]) - 0.5 * size[0]], axis=1)
    inside = np.minimum(over.max(axis=1), 0.0)
    return np.asarray(np.linalg.norm(np.maximum(over, 0.0), axis=1) + inside)


def find(element: ET.Element, path: str) -> ET.Element:
    """Return the element at a path below another one."""
    found = element.find(path)
    if found is None:
        raise SystemExit(f"<{element.tag}> has no {path}.")
    return found


def read_origin(element: ET.Element) -> Floats:
    """Return the <origin> of an element as a matrix."""
    T, origin = np.eye(4), element.find("origin")
    if origin is not None:
        T[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
        for axis, angle in zip(
            np.eye(3)[::-1], [float(x) for x in origin.get("rpy", "0 0 0").split()][::-1], strict=True
        ):
            T[:3, :3] = T[:3, :3] @ make_rotation([*(np.sin(angle / 2) * axis), np.cos(angle / 2)])
    return T


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
    pairs = read_pairs(urdf, folder / f"{robot}.srdf")
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


class MeshJudge(Judge):
    """Collision meshes and joints of a URDF, read without Poise."""

    def __init__(self, path: Path, packages: Path | None = None) -> None:
        root = ET.parse(path).getroot()
        self.joints = {find(joint, "child").get("link"): joint for joint in root.findall("joint")}
        self.meshes: dict[str, list[tuple[Any, Floats]]] = {}
        for link in root.iter("link"):
            for solid in link.findall("collision"):
                shape = self.read_shape(find(solid, "geometry"), packages or path.parent)
                self.meshes.setdefault(str(link.get("name")), []).append((shape, read_origin(solid)))

    def read_shape(self, geometry: ET.Element, folder: Path) -> Any:
        """Return a mesh, box, cylinder or sphere of coal."""
        import coal

        kind, given = geometry[0].tag, geometry[0].attrib
        if kind == "box":
            return coal.Box(*(float(x) for x in given["size"].split()))
        if kind == "cylinder":
            return coal.Cylinder(float(given["radius"]), float(given["length"]))
        if kind == "sphere":
            return coal.Sphere(float(given["radius"]))
        file = folder / given["filename"].removeprefix("package://").lstrip("/")
        scale = np.array([float(x) for x in given.get("scale", "1 1 1").split()])
        return coal.MeshLoader(coal.NODE_TYPE.BV_OBBRSS).load(str(file), scale)

    def collides(self, angles: dict[str, float], pairs: set[frozenset[str]], problem: Problem) -> bool:
        """Return whether a mesh of a moving link meets an obstacle or another mesh."""
        import coal

        def meet(one: tuple[Any, Floats], other: tuple[Any, Floats]) -> bool:
            places = [coal.Transform3s(T[:3, :3], T[:3, 3]) for _, T in (one, other)]
            request, result = coal.CollisionRequest(), coal.CollisionResult()
            return bool(coal.collide(one[0], places[0], other[0], places[1], request, result))

        at = {name: [(shape, self.place(name, angles) @ T) for shape, T in own] for name, own in self.meshes.items()}
        solids = []
        for kind, size, R, p in problem.solids:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = R, p
            solids.append((coal.Box(*size) if kind == "box" else coal.Cylinder(size[1], size[0]), T))
        moving = [mesh for name, own in at.items() if any(name in pair for pair in pairs) for mesh in own]
        both = [(a, b) for pair in pairs for one, other in (sorted(pair),) for a in at[one] for b in at[other]]
        return any(meet(a, b) for a, b in (*both, *((mesh, solid) for mesh in moving for solid in solids)))


def measure_meshes(folder: Path, robot: str, each: int) -> None:
    """Print the figures of a body from `fit_spheres`, judged by its meshes."""
    urdf, tip = folder / f"{robot}.urdf", TIPS[robot]
    begun = time.process_time()
    model = poise.fit_spheres(poise.load(str(urdf), srdf=str(folder / f"{robot}.srdf")), error=0.01)
    fitted, judge = time.process_time() - begun, MeshJudge(urdf)
    limit = Clearance(world=[Box((9, 9, 9), (1, 1, 1))])
    pairs = read_pairs(urdf, folder / f"{robot}.srdf")
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
    judge, pairs, none = MeshJudge(urdf_path, share), read_pairs(urdf_path, srdf_path), Problem("", {}, {}, [])
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
