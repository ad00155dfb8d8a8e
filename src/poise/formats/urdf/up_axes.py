"""The up axis of a robot's DAE files: applied, or ignored if the vertices are already in the link's axes.

A DAE file states its up axis. For some robots it must be applied, or the links are scattered (iCub); for others it must
be ignored (Unitree's H2). Viewers differ. We decide for the whole robot, because its links touch one another at the
joints. The gap of a choice is

    sum over links, over the joints on a link, of the distance from the joint to the nearest bounding box of a mesh,

in the rest pose; the joints on a link are its own origin and those of its child frames. The axis is applied, in all
files of the robot, if that makes the gap clearly smaller. Files that state Z need no rotation.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.formats.meshes.cache import MeshCache, place_mesh
from poise.formats.meshes.reader import MeshFile
from poise.model import Mesh, Model
from poise.model.geometry.shapes import Shape
from poise.model.memo import MemoSlot

__all__ = ["describe_reading", "find_turn"]


CLEAR_RATIO = 0.7  # the axis is applied if it reduces the gap below this ratio
SMALL_GAP = 0.01  # relative to the body's length: smaller differences of gaps are ignored
TURNS = {
    "x": np.array([[0.0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]),
    "y": np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
    "z": np.eye(4),
}
"""From the axes of a file to those of which z is up, for each axis that a file may say is up."""


@dataclass(frozen=True, slots=True)
class AxisReading:
    """The decision whether the stated up axes of a robot's files are applied.

    Attributes:
        applied: Whether the stated axes are applied.
        passed: The gap with the axes ignored [m].
        turned: The gap with the axes applied [m].
        matters: Whether the two gaps differ significantly.
        axes: The up axes stated by the files.
    """

    applied: bool = False
    passed: float = 0.0
    turned: float = 0.0
    matters: bool = False
    axes: str = ""


READING = MemoSlot[AxisReading]("up axes of the mesh files")


def find_turn(model: Model, shelf: MeshCache, file: MeshFile) -> Floats:
    """Return the rotation of a file's vertices, applied before scale and placement, (4, 4)."""
    if file.up == "z":
        return TURNS["z"]
    return TURNS[file.up if find_reading(model, shelf).applied else "z"]


def find_reading(model: Model, shelf: MeshCache) -> AxisReading:
    """Return the decision on the up axes of a robot's files; computed once."""
    return model.memo.get(READING, lambda: choose_reading(model, shelf))


def describe_reading(model: Model, shelf: MeshCache) -> list[str]:
    """Return a note on the decision; empty if all files are z-up, or the gaps do not differ significantly."""
    reading = find_reading(model, shelf) if shelf.up_axes - {"z"} else AxisReading()
    if not reading.matters:
        return []
    gaps = sorted((reading.passed, reading.turned))
    done = "they were turned so" if reading.applied else "that was ignored"
    why = f"the links then lie at their joints (gaps of {gaps[0]:.2g} m in all; else {gaps[1]:.2g} m)"
    return [f"its DAE files say that {reading.axes} is up: {done}, because {why}"]


def choose_reading(model: Model, shelf: MeshCache) -> AxisReading:
    """Return the decision with the smaller gap, from visual meshes or otherwise from collision meshes."""
    for use in ("visual", "collision"):
        shapes = [shape for shape in model.shapes if isinstance(shape.shape, Mesh)]
        links = open_links(shelf, [shape for shape in shapes if (shape.use == "collision") == (use == "collision")])
        if links:
            passed, turned = (measure_gaps(model, links, applied) for applied in (False, True))
            matters = abs(passed - turned) > SMALL_GAP * model.length
            axes = sorted({file.up.upper() for meshes in links.values() for _, file in meshes if file.up != "z"})
            return AxisReading(matters and turned < CLEAR_RATIO * passed, passed, turned, matters, " or ".join(axes))
    return AxisReading()


def open_links(shelf: MeshCache, shapes: list[Shape]) -> dict[str, list[tuple[Shape, MeshFile]]]:
    """Return the meshes of all links that have a file with an up axis other than z."""
    turned = [s for s in shapes if is_dae(s) and (file := shelf.open(s)) is not None and file.up != "z"]
    found: dict[str, list[tuple[Shape, MeshFile]]] = {shape.frame: [] for shape in turned}
    for shape in shapes:
        file = shelf.open(shape) if shape.frame in found else None
        if file is not None:
            found[shape.frame].append((shape, file))
    return found


def is_dae(shape: Shape) -> bool:
    """Return whether a mesh is a DAE: the only format whose up axis is stated but not applied by its reader."""
    return isinstance(shape.shape, Mesh) and shape.shape.path.lower().endswith(".dae")


def measure_gaps(model: Model, links: dict[str, list[tuple[Shape, MeshFile]]], applied: bool) -> float:
    """Return the total distance between the joints on some links and the meshes of those links [m]."""
    T = dict(zip(model.frames, model.fk(model.rest), strict=True))
    gap = 0.0
    for link, meshes in links.items():
        hung = [name for name in model.frames if model.ancestors(name)[1:2] == [link]]
        places = np.array([T[name][:3, 3] for name in (link, *hung)])
        joints = (places - T[link][:3, 3]) @ T[link][:3, :3]
        far = [measure_distances(shape, file, joints, applied) for shape, file in meshes]
        gap += float(np.min(far, axis=0).sum())
    return gap


def measure_distances(shape: Shape, file: MeshFile, points: Floats, applied: bool) -> Floats:
    """Return the distances of points in a link's frame from the bounding box of a mesh [m]."""
    matrix = place_mesh(shape) @ TURNS[file.up if applied else "z"]
    vertices = np.concatenate([np.asarray(patch.vertices, np.float64) for patch in file.patches])
    into = np.linalg.pinv(matrix)
    inside = points @ into[:3, :3].T + into[:3, 3]
    nearest = np.clip(inside, vertices.min(axis=0), vertices.max(axis=0))
    out: Floats = np.linalg.norm(nearest @ matrix[:3, :3].T + matrix[:3, 3] - points, axis=1)
    return out
