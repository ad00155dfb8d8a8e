"""The judges of `clearance.py`: robots, pairs of links and gaps, read and measured without Poise."""

import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.arrays import Floats

__all__ = ["Judge", "MeshJudge", "Problem", "leave_out_blocking", "make_rotation", "measure_by_coal", "read_pairs"]

POSES = 200  # random ones, in which pairs that block every pose are found


class Problem(NamedTuple):
    """One problem: its scene, start and goal configuration, and its obstacles as (type, sizes, R, position)."""

    scene: str
    start: dict[str, float]
    goal: dict[str, float]
    solids: list[tuple[str, list[float], Floats, Floats]]


def make_rotation(xyzw: list[float]) -> Floats:
    """Return the matrix of a quaternion."""
    x, y, z, w = np.array(xyzw) / np.linalg.norm(xyzw)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + 2 * w * K + 2 * K @ K)


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

    def list_ranges(self) -> dict[str, tuple[float, float]]:
        """Return the range of each joint that moves; (-pi, pi) if it has none."""
        out = {}
        for joint in self.joints.values():
            limit = joint.find("limit")
            if joint.get("type") != "fixed" and joint.find("mimic") is None:
                given = {} if limit is None or joint.get("type") == "continuous" else limit.attrib
                out[joint.get("name", "")] = float(given.get("lower", -np.pi)), float(given.get("upper", np.pi))
        return out

    def place_spheres(self, angles: dict[str, float]) -> dict[str, tuple[Floats, Floats]]:
        """Return the centers and radii of the spheres of every link [m]."""
        at: dict[str, tuple[Floats, Floats]] = {}
        for link, spheres in self.spheres.items():
            if spheres:
                T, centers = self.place(link, angles), np.array([c for c, _ in spheres])
                at[link] = (centers @ T[:3, :3].T + T[:3, 3], np.array([r for _, r in spheres]))
        return at

    def collides(self, angles: dict[str, float], pairs: set[frozenset[str]], problem: Problem) -> bool:
        """Return whether a sphere of a moving link meets an obstacle or another sphere."""
        return self.measure(angles, pairs, problem) < 0.0

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
    robot, rules = ET.parse(urdf).getroot(), ET.parse(srdf).getroot()
    part = {str(link.get("name")): str(link.get("name")) for link in robot.findall("link")}
    for joint in robot.findall("joint"):
        if joint.get("type") == "fixed":
            old, new = (part[find(joint, end).get("link", "")] for end in ("child", "parent"))
            part = {name: new if own == old else own for name, own in part.items()}
    rows = {
        tag: {frozenset((row.get("link1", ""), row.get("link2", ""))) for row in rules.findall(f"{tag}_collisions")}
        for tag in ("disable", "enable")
    }
    silent = {row.get("link", "") for row in rules.findall("disable_default_collisions")}
    solid = [str(link.get("name")) for link in robot.findall("link") if link.find("collision") is not None]
    apart = {frozenset((a, b)) for a, b in combinations(solid, 2) if part[a] != part[b]}
    return {pair for pair in apart - rows["disable"] if pair in rows["enable"] or not pair & silent}


def leave_out_blocking(judge: Judge, pairs: set[frozenset[str]], rng: np.random.Generator) -> set[frozenset[str]]:
    """Return the pairs that do not collide in all random configurations; an SRDF that keeps the others blocks them all.

    They are printed: the SRDF of VAMP's UR5 has no row for its force sensor and the wrist that carries it.
    """
    empty, blocking = Problem("", {}, {}, []), set(pairs)
    for _ in range(POSES):
        angles = {name: rng.uniform(*bounds) for name, bounds in judge.list_ranges().items()}
        blocking = {pair for pair in blocking if judge.collides(angles, {pair}, empty)}
        if not blocking:
            break
    for pair in sorted(map(sorted, blocking)):
        print(f"{' and '.join(pair)} collide in every configuration, and are left out", flush=True)
    return pairs - blocking


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
