"""Skins: the joints of a mesh and its bind pose; and the humanoid bones of a VRM.

In the bind pose, joint j is at the inverse of its inverse bind matrix, ``B_j = M_j^-1``, in mesh space. Only
``B_parent^-1 B_j`` matters between two joints, so that mesh space cancels.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.formats.gltf.accessors import UNPACK, find_unknown_packing, read_accessor
from poise.formats.gltf.document import Document

__all__ = ["SkinJoints", "read_bones", "read_skins"]


@dataclass(frozen=True, slots=True)
class SkinJoints:
    """The joints of a mesh.

    Attributes:
        joints: The indices of their nodes.
        bind: The bind matrices, (joints, 4, 4), or None if the file has none.
    """

    joints: tuple[int, ...]
    bind: Floats | None


def read_skins(document: Document) -> list[SkinJoints]:
    """Read and check all skins."""
    return [read_skin(document, i) for i in range(len(document.read_items("skins")))]


def read_skin(document: Document, i: int) -> SkinJoints:
    """Read one skin."""
    where, item = f"skins[{i}]", document.read_items("skins")[i]
    given = document.read_list(item.get("joints"), f"{where}.joints")
    if not given:
        raise document.fail(f"{where}.joints", "is empty; a skin has at least one joint.")
    joints = tuple(document.read_index(node, "nodes", f"{where}.joints[{k}]") for k, node in enumerate(given))
    if len(set(joints)) < len(joints):
        document.note_oddity("a joint is listed twice in its skin", f"{where}.joints")
    if "skeleton" in item:
        document.read_index(item["skeleton"], "nodes", f"{where}.skeleton")
    if "inverseBindMatrices" not in item:
        return SkinJoints(joints, None)
    at = f"{where}.inverseBindMatrices"
    matrices = document.read_index(item["inverseBindMatrices"], "accessors", at)
    if packed := find_unknown_packing(document, matrices):
        document.note_oddity(f"packed by {packed}, so the bind pose was left out; {UNPACK}", at)
        return SkinJoints(joints, None)
    inverse = read_accessor(document, matrices, "MAT4", at)
    if len(inverse) < len(joints):
        raise document.fail(at, f"are {len(inverse)}; the skin has {len(joints)} joints.")
    return SkinJoints(joints, invert_binding(document, inverse[: len(joints)].reshape(-1, 4, 4).swapaxes(1, 2), at))


def invert_binding(document: Document, inverse: Floats, where: str) -> Floats | None:
    """Return the bind matrices, or None if a matrix is singular."""
    lengths = np.linalg.norm(inverse[:, :3, :3], axis=(1, 2))
    with np.errstate(all="ignore"):
        sound = np.abs(np.linalg.det(inverse[:, :3, :3] / np.maximum(lengths, 1e-300)[:, None, None])) > 1e-9
    if not sound.all():
        document.note_oddity("a matrix has no inverse; the bind pose was left out", f"{where}[{int(np.argmin(sound))}]")
        return None
    if np.abs(inverse[:, 3] - (0, 0, 0, 1)).max() > 1e-4:
        document.note_oddity("the last row of a matrix is not 0 0 0 1; it was read as if it were", where)
    affine = inverse.copy()
    affine[:, 3] = (0, 0, 0, 1)
    with np.errstate(all="ignore"):
        matrices = np.linalg.inv(affine)
    return np.asarray(matrices, np.float64) if np.isfinite(matrices).all() else None


def read_bones(document: Document) -> dict[str, int]:
    """Read the humanoid bones of a VRM: node indices by bone name (``leftUpperArm``); empty for other files.

    VRM 0.x has a list, ``extensions.VRM.humanoid.humanBones = [{"bone": "hips", "node": 3}, ...]``. VRM 1.0 has an
    object, ``extensions.VRMC_vrm.humanoid.humanBones = {"hips": {"node": 3}, ...}``; so do its motions (``.vrma``)
    under ``VRMC_vrm_animation``.
    """
    extensions = document.read_object(document.json, "extensions", "the file")
    bones: dict[str, int] = {}
    newer = next((name for name in ("VRMC_vrm", "VRMC_vrm_animation") if name in extensions), None)
    if newer is not None:
        where = f"extensions.{newer}"
        humanoid = document.read_object(document.read_object(extensions, newer, "extensions"), "humanoid", where)
        where += ".humanoid.humanBones"
        for name, bone in document.read_object(humanoid, "humanBones", where.rpartition(".")[0]).items():
            if not isinstance(bone, dict):
                raise document.fail(f"{where}.{name}", "must be an object with a node.")
            bones[name] = document.read_index(bone.get("node"), "nodes", f"{where}.{name}.node")
    elif "VRM" in extensions:
        where = "extensions.VRM"
        humanoid = document.read_object(document.read_object(extensions, "VRM", "extensions"), "humanoid", where)
        for k, bone in enumerate(document.read_objects(humanoid, "humanBones", f"{where}.humanoid")):
            at = f"{where}.humanoid.humanBones[{k}]"
            given = bone.get("bone")
            if not isinstance(given, str):
                raise document.fail(f"{at}.bone", "must be the name of a bone.")
            if bone.get("node") == -1:  # some exporters list missing bones
                continue
            if given in bones:
                document.note_oddity("a bone is named twice; the first one counts", at)
            bones.setdefault(given, document.read_index(bone.get("node"), "nodes", f"{at}.node"))
    return bones
