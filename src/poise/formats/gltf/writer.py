"""The writer of poses and motions into a character's own file; only nodes change, and one clip is added.

The pose is computed from the body's frames: for the transform ``T`` of a frame relative to its parent,
``[Y R G, A t] = T`` (see `body`) gives the node's rotation ``R = Y^T T G^T`` and translation ``t = A^-1 T``. Nodes in
the file's own pose are left unchanged, byte for byte.
"""

import re
from pathlib import Path

import numpy as np

from poise.arrays import Floats
from poise.errors import FormatError
from poise.files.source import Source
from poise.formats.gltf.body import TURN_UP, NodeJoint
from poise.formats.gltf.document import Object
from poise.formats.gltf.draft import GltfDraft, write_parts
from poise.formats.gltf.reader import Character, read_body
from poise.formats.gltf.skeleton import find_node_parents, make_bare_skeleton, warn_of_lost_values
from poise.formats.gltf.things import Moved, add_things
from poise.formats.options import ReadOptions
from poise.formats.quaternions import steady_signs
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model import Object as Thing
from poise.spatial import Rotation

__all__ = ["add_clip", "write_model", "write_motion", "write_pose"]

SUFFIXES = (".gltf", ".glb", ".vrm")
SLIDING = ("free", "shifted")  # kinds of joints whose translation may change
SAME = 1e-9  # a smaller change of a rotation, or of a translation relative to the body, is ignored
OFF = 1e-5  # tolerance of bone lengths, relative to the body


def write_model(model: Model, target: Path, *, like: str | None = None) -> None:
    """Write the body in its rest pose: into the character's own file if it has one, otherwise as a bare skeleton."""
    character = find_own_file(model, like)
    if character is None:
        warn_of_lost_values(model)
    write(model, model.rest[None], None, target, character)


def write_pose(pose: Pose, target: Path, *, like: str | None = None) -> None:
    """Write the pose into the nodes of the character.

    Args:
        pose: The pose.
        target: The file to write.
        like: The character's file; by default the file of the body; "" for a bare skeleton.
    """
    write(pose.model, pose.q[None], None, target, find_own_file(pose.model, like))


def write_motion(motion: Motion, target: Path, *, like: str | None = None) -> None:
    """Write the motion as the first clip of the character's file; the other clips follow."""
    if not len(motion):
        raise FormatError("a motion without frames cannot be written; glTF clips have at least one key.")
    write(motion.model, motion.q, motion.fps, target, find_own_file(motion.model, like), motion.objects)


def find_own_file(model: Model, like: str | None) -> str | None:
    """Return the file of the character, or None for a bare skeleton."""
    if like is None:
        return model.source if model.source.lower().endswith(SUFFIXES) else None
    return like or None


def write(
    model: Model,
    q: Floats,
    fps: float | None,
    target: Path,
    character: str | None,
    things: tuple[Thing, ...] = (),
) -> None:
    """Write the file: a pose if fps is None, otherwise a motion with its objects."""
    if character is None:
        parts, joints = make_bare_skeleton(model, q[0] if fps is None else model.rest)
        if fps is not None:
            above = find_node_parents(model)
            moved = [find_joint_motion(model, q, name, above[name], i) for i, name in joints]
            add_clip(parts, moved + add_things(parts, model, things), len(q), fps, Path(model.source).stem)
        return write_parts(parts, target)
    body = read_body(open_character(character), ReadOptions(up="y"))
    parts = GltfDraft(body.document.json, body.document)
    moved = find_node_motions(body, model, q)
    if fps is None:
        set_nodes(parts, body, moved)
    else:
        replace_matrices(parts, body, [i for i, _, _ in moved])
        size = 1.0 if not things else find_size(body, [limb for limb in body.limbs if limb.name in model.frames], model)
        add_clip(parts, moved + add_things(parts, model, things, size), len(q), fps, Path(model.source).stem)
    write_parts(parts, target)
    return None


def open_character(character: str) -> Source:
    """Open the character's own file."""
    try:
        return Source.open(character)
    except FormatError as error:
        hint = "give the character's file as like=, or like='' for a bare skeleton."
        raise FormatError(f"the body came from {character!r}, which {error.message} To write it, {hint}") from None


# ------------------------------------------------------------------------------------------------ frames to nodes


def find_node_motions(body: Character, model: Model, q: Floats) -> list[Moved]:
    """Return the nodes that differ from the file's pose.

    Raises:
        FormatError: The body does not match the file: no common frame, or other bone lengths.
    """
    known = set(model.frames)
    limbs = [limb for limb in body.limbs if limb.name in known and is_parent_known(body, limb, known)]
    if not limbs:
        raise FormatError(
            f"the frames of model {model.name!r} are none of the nodes of {body.document.source.path!r}; give its own"
            " file as like=, or like='' for a bare skeleton."
        )
    turn_up = TURN_UP["z"] if model.up == "z" else TURN_UP["y"]
    size = find_size(body, limbs, model)
    length = max(float(np.abs(limb.above @ limb.node.translation).max()) for limb in body.limbs) or 1.0
    out: list[Moved] = []
    for limb in limbs:
        turn, shift = find_file_motion(body, limb, model, q, turn_up, size)
        rotation = limb.before.T @ turn @ limb.after.T
        strayed = float(np.abs(shift - limb.above @ limb.node.translation).max())
        if limb.kind not in SLIDING and strayed > OFF * length:
            raise FormatError(
                f"frame {limb.name!r} is {strayed:.3g} from where {body.document.source.path!r} has it on its parent,"
                f" and its node only turns there; is model {model.name!r} the body of that file?"
            )
        turns = float(np.abs(rotation - limb.node.turn).max()) > SAME
        slides = limb.kind in SLIDING and strayed > SAME * length and abs(np.linalg.det(limb.above)) > 1e-30
        translation = shift @ np.linalg.inv(limb.above).T if slides else None
        if turns or slides:
            out.append((limb.node.index, rotation if turns else None, translation))
    return out


def is_parent_known(body: Character, limb: NodeJoint, known: set[str]) -> bool:
    """Return whether the parent of a node is among the known frames, or the node is a root."""
    return limb.node.parent < 0 or body.limbs[limb.node.parent].name in known


def find_file_motion(
    body: Character, limb: NodeJoint, model: Model, q: Floats, turn_up: Floats, size: float
) -> tuple[Floats, Floats]:
    """Return the rotations and translations of a joint relative to its parent, in the file's axes and unit."""
    here = model.fk(q, limb.name)
    if limb.node.parent < 0:
        turn, shift = turn_up.T @ here[:, :3, :3], here[:, :3, 3] @ turn_up
    else:
        turn, shift = make_relative(model.fk(q, body.limbs[limb.node.parent].name), here)
    return np.asarray(turn), np.asarray(shift / size)


def make_relative(parent: Floats, here: Floats) -> tuple[Floats, Floats]:
    """Return the rotations and translations of frames relative to their parents."""
    back = parent[:, :3, :3].swapaxes(1, 2)
    return back @ here[:, :3, :3], np.einsum("fij,fj->fi", back, here[:, :3, 3] - parent[:, :3, 3])


def find_joint_motion(model: Model, q: Floats, name: str, parent: str | None, i: int) -> Moved:
    """Return the motion of node i for a joint of any body; None for components that do not move."""
    turns, shifts = find_local_motion(model, q, name, parent)
    turn, shift = find_local_motion(model, model.rest[None], name, parent)
    turning = np.abs(turns - turn).max() > SAME
    sliding = np.abs(shifts - shift).max() > SAME * model.length
    return i, turns if turning else None, shifts if sliding else None


def find_local_motion(model: Model, q: Floats, name: str, parent: str | None) -> tuple[Floats, Floats]:
    """Return the motion of a frame relative to its parent; for a root, in the world with y up."""
    here = model.fk(q, name)
    if parent is not None:
        return make_relative(model.fk(q, parent), here)
    turn_up = TURN_UP["z"] if model.up == "z" else TURN_UP["y"]
    return turn_up.T @ here[:, :3, :3], here[:, :3, 3] @ turn_up


def find_size(body: Character, limbs: list[NodeJoint], model: Model) -> float:
    """Return the scale of the model: the ratio of its bone lengths to the file's."""
    ratios = []
    for limb in limbs:
        own = float(np.linalg.norm(limb.above @ limb.node.translation))
        if limb.node.parent >= 0 and limb.kind not in SLIDING and own > 0:
            _, shift = find_file_motion(body, limb, model, model.rest[None], np.eye(3), 1.0)
            ratios.append(float(np.linalg.norm(shift)) / own)
    size = float(np.median(ratios)) if ratios else 1.0
    return 1.0 if abs(size - 1.0) < 1e-9 or size == 0.0 else size


# ------------------------------------------------------------------------------------------------ changes to the file


def set_nodes(parts: GltfDraft, body: Character, moved: list[Moved]) -> None:
    """Write the first frame into the nodes."""
    replace_matrices(parts, body, [i for i, _, _ in moved])
    nodes = list(parts.json["nodes"])
    for i, turns, shifts in moved:
        node = dict(nodes[i])
        if turns is not None:
            node["rotation"] = convert_to_xyzw(turns)[0].tolist()
        if shifts is not None:
            node["translation"] = shifts[0].tolist()
        nodes[i] = node
    parts.json["nodes"] = nodes


def replace_matrices(parts: GltfDraft, body: Character, moved: list[int]) -> None:
    """Replace the matrices of nodes by translation, rotation and scale, which can be animated."""
    nodes = list(parts.json["nodes"])
    for i in moved:
        if "matrix" in nodes[i]:
            node, stretch = body.limbs[i].node, body.limbs[i].node.stretch
            if np.abs(stretch - np.diag(np.diag(stretch))).max() > 1e-4 * np.abs(stretch).max():
                raise FormatError(f"nodes[{i}].matrix of {body.document.source.path!r} shears; it cannot be posed.")
            kept = {key: value for key, value in nodes[i].items() if key != "matrix"}
            nodes[i] = kept | {
                "translation": node.translation.tolist(),
                "rotation": convert_to_xyzw(node.turn[None])[0].tolist(),
                "scale": np.diag(stretch).tolist(),
            }
    parts.json["nodes"] = nodes


def add_clip(parts: GltfDraft, moved: list[Moved], frames: int, fps: float, file: str) -> None:
    """Add the motion as the first clip, with one key per frame and LINEAR interpolation, and at least one channel.

    `file` is the name of the file that the body was read from, without its extension.
    """
    if all(turns is None and shifts is None for _, turns, shifts in moved):
        held = parts.json["nodes"][0].get("rotation", [0.0, 0.0, 0.0, 1.0])
        moved = [(0, np.repeat(Rotation.from_xyzw(held).matrix[None], frames, axis=0), None)]
    times = parts.add_accessor((np.arange(frames) / fps)[:, None], "SCALAR", bounds=True)
    channels: list[Object] = []
    samplers: list[Object] = []
    for i, turns, shifts in moved:
        for path, values in (("rotation", turns), ("translation", shifts)):
            if values is None:
                continue
            rows, kind = (convert_to_xyzw(values), "VEC4") if path == "rotation" else (values, "VEC3")
            samplers.append({"input": times, "interpolation": "LINEAR", "output": parts.add_accessor(rows, kind)})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": i, "path": path}})
    name = name_clip(parts, (frames - 1) / fps, 0.5 / fps, file)
    clip = {"name": name, "channels": channels, "samplers": samplers, "extras": {"poise": {"fps": fps}}}
    parts.append("animations", clip, first=True)


def name_clip(parts: GltfDraft, seconds: float, tolerance: float, file: str) -> str:
    """Return a new name for a motion: after the clip of the file that has its duration, or after the file, or "poise".

    An unnamed clip has the name of its file.
    """
    clips = parts.json.get("animations", [])
    like = [item for item in clips if abs(measure_clip(parts, item) - seconds) < tolerance]
    stem = str(like[0].get("name") or file if like else "").removesuffix(" (edited)")
    stem = "" if re.fullmatch(r"poise(_\d+)?", stem) else stem
    names, k = {item.get("name") for item in clips}, 1
    name = first = f"{stem} (edited)" if stem else "poise" if clips else file or "poise"
    while name in names:
        k += 1
        name = f"{stem} (edited {k})" if stem else f"{first}_{k}"
    return name


def measure_clip(parts: GltfDraft, clip: Object) -> float:
    """Return the duration of a clip by the bounds of its key times [s]."""
    keys = [parts.json["accessors"][sampler["input"]] for sampler in clip.get("samplers", [])]
    ends = [(key["min"][0], key["max"][0]) for key in keys if key.get("min") and key.get("max")]
    return max(high for _, high in ends) - min(low for low, _ in ends) if ends else -1.0


def convert_to_xyzw(turns: Floats) -> Floats:
    """Return rotations over the frames as quaternions xyzw with continuous signs."""
    return np.asarray(steady_signs(Rotation.from_matrix(turns).wxyz)[:, [1, 2, 3, 0]])
