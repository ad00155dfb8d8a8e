"""Export of any body as a bare skeleton: a node for each frame, and skins that list the moving ones as bones.

A bone and its locked translation joint are merged into one node, as they were when read.

glTF is y-up: a z-up body is rotated, and the original axis is recorded in `asset.extras.poise.up`, so that the body is
restored on reading.
"""

import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from poise.arrays import Floats
from poise.errors import INDEX_NAME, FormatWarning
from poise.formats.gltf.body import TURN_UP
from poise.formats.gltf.document import Object
from poise.formats.gltf.draft import GltfDraft
from poise.formats.losses import list_losses
from poise.formats.units import warn_of_units
from poise.model import Joint, Model
from poise.spatial import Rotation, Transform

__all__ = ["find_node_parents", "make_bare_skeleton", "warn_of_lost_values"]


def make_bare_skeleton(model: Model, q: Floats) -> tuple[GltfDraft, list[tuple[int, str]]]:
    """Return the skeleton in configuration q, and the moving nodes with the names of their frames."""
    above = find_node_parents(model)
    names = list(above)
    number = {name: i for i, name in enumerate(names)}
    parents = [-1 if parent is None else number[parent] for parent in above.values()]
    worlds = model.fk(q)[[k for k, name in enumerate(model.frames) if name in above]]
    turn_up = np.eye(4)
    turn_up[:3, :3] = TURN_UP["z" if model.up == "z" else "y"].T
    worlds = turn_up @ worlds
    nodes = [make_node(name, worlds, i, parents[i]) for i, name in enumerate(names)]
    for i, parent in enumerate(parents):
        if parent >= 0:
            nodes[parent].setdefault("children", []).append(i)
    joints = [number[joint.frame] for joint in model.joints if joint.kind != "fixed" and joint.frame in above]
    roots = [i for i, parent in enumerate(parents) if parent < 0]
    parts = GltfDraft(
        {
            "asset": {"version": "2.0", "generator": name_generator(), "extras": {"poise": write_extras(model)}},
            "scene": 0,
            "scenes": [{"name": model.name, "nodes": roots}],
            "nodes": nodes,
        }
    )
    add_skins(parts, joints, parents, worlds)
    growing = [i for i, name in enumerate(names) if i not in joints and is_below_scale(model, name)]
    return parts, [(i, names[i]) for i in (*joints, *growing)]


def is_below_scale(model: Model, frame: str) -> bool:
    """Return whether the offset of a frame changes with a uniform_scale joint above it."""
    return any(joint.kind == "uniform_scale" for joint in model.joints_above(frame))


def find_node_parents(model: Model) -> dict[str, str | None]:
    """Return the frames that become nodes, each with the frame of its parent node."""
    below: dict[str | None, list[str]] = {}
    for name in model.frames:
        below.setdefault(model.frame(name).parent, []).append(name)
    carriers = {joint.frame for joint in model.joints if carries_a_bone(model, joint, below.get(joint.frame, []))}
    out: dict[str, str | None] = {}
    for name in model.frames:
        parent = model.frame(name).parent
        while parent in carriers:
            parent = model.frame(str(parent)).parent
        if name not in carriers:
            out[name] = parent
    return out


def carries_a_bone(model: Model, joint: Joint, below: list[str]) -> bool:
    """Return whether a joint is only the locked translation of a single bone."""
    if not joint.locked or joint.kind not in ("translation3", "prismatic") or len(below) != 1:
        return False
    bone = model.frame(below[0])
    return bone.joint is not None and bone.offset == Transform.identity()


def write_extras(model: Model) -> Object:
    """Return values that glTF has no field for; issue a warning if lengths are not in metres."""
    if model.units == "m":
        return {"up": model.up}
    warnings.warn(f"{model.name}: {warn_of_units(model, 'glTF')}", FormatWarning, stacklevel=7)
    return {"up": model.up, "units": model.units}


def make_node(name: str, worlds: Floats, i: int, parent: int) -> Object:
    """Return a frame as a node, relative to its parent."""
    here = worlds[i]
    if parent >= 0:
        back = worlds[parent][:3, :3].T
        turn, shift = back @ here[:3, :3], back @ (here[:3, 3] - worlds[parent][:3, 3])
    else:
        turn, shift = here[:3, :3], here[:3, 3]
    wxyz = Rotation.from_matrix(turn).wxyz
    return {"name": name, "translation": shift.tolist(), "rotation": wxyz[[1, 2, 3, 0]].tolist()}


def add_skins(parts: GltfDraft, joints: list[int], parents: list[int], worlds: Floats) -> None:
    """Add a skin for each tree that has joints: readers convert the joints of a skin to bones."""
    trees: dict[int, list[int]] = {}
    for i in joints:
        top = i
        while parents[top] >= 0:
            top = parents[top]
        trees.setdefault(top, []).append(i)
    for bones in trees.values():
        inverse = np.linalg.inv(worlds[bones]).swapaxes(1, 2)
        inverse[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
        matrices = parts.add_accessor(np.asarray(inverse.reshape(-1, 16), np.float64), "MAT4")
        parts.append("skins", {"joints": bones, "inverseBindMatrices": matrices})


def warn_of_lost_values(model: Model) -> None:
    """Issue a warning for values that glTF cannot store, such as ranges and masses."""
    lost = list_losses(model)
    if any(joint.kind not in ("fixed", "ball", "free") and not joint.locked for joint in model.joints):
        lost.insert(0, "the kinds of joints (all come back as ball joints)")
    if lost:
        warnings.warn(
            f"glTF holds the skeleton and not {', '.join(lost)} of {model.name!r}.", FormatWarning, stacklevel=5
        )


def name_generator() -> str:
    """Return the name of the program that writes the file."""
    try:
        return f"Poise {version(INDEX_NAME)}"
    except PackageNotFoundError:  # a checkout that is not installed
        return "Poise"
