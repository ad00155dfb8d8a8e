"""Body models of SMPL, SMPL+H and SMPL-X (NPZ), which users get from their makers: the skeleton, in any shape.

A file has ``v_template`` (vertices, 3), ``shapedirs`` (vertices, 3, directions), ``J_regressor`` (joints, vertices) and
``kintree_table`` (2, joints). With the coefficients b of a person, the joints are at
``J = J_regressor (v_template + shapedirs b)`` [m], y up; each is a ball joint, the root is free. The mesh is not read.
Sources: Loper et al., "SMPL", SIGGRAPH Asia 2015; Romero et al., "Embodied Hands" (SMPL+H), SIGGRAPH Asia 2017;
Pavlakos et al., "Expressive Body Capture" (SMPL-X), CVPR 2019.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.files.arrays import read_arrays
from poise.files.source import Source, quote_names
from poise.formats.options import ReadOptions
from poise.formats.roles import give_roles
from poise.formats.units import adjust_model
from poise.model import Model, ModelBuilder

__all__ = ["JOINTS", "NAME", "SUFFIXES", "build", "looks_like", "read_model", "read_reals"]

NAME = "SMPL"
SUFFIXES = (".npz",)
ARRAYS = ("v_template", "shapedirs", "J_regressor", "kintree_table")
MEMBERS = (b"v_template.npy", b"shapedirs.npy", b"posedirs.npy", b"J_regressor", b"kintree_table.npy", b"hands_mean")
"""Names that archives of the three models may begin with."""

BODY = (
    *("pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle"),
    *("spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder"),
    *("right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist"),
)
FACE = ("jaw", "left_eye_smplhf", "right_eye_smplhf")
FINGERS = tuple(
    f"{side}_{finger}{k}"
    for side in ("left", "right")
    for finger in ("index", "middle", "pinky", "ring", "thumb")
    for k in (1, 2, 3)
)
JOINTS = {
    22: BODY,
    24: (*BODY, "left_hand", "right_hand"),
    52: (*BODY, *FINGERS),
    55: (*BODY, *FACE, *FINGERS),
}
"""The names of the joints of SMPL (24), SMPL+H (52) and SMPL-X (55), and of clips without hands (22)."""

SHAPES = {20: 10, 400: 300}  # directions of SMPL-X that are the body's shape; the others are the face's


def looks_like(head: bytes) -> bool:
    """Return whether an archive begins with an array of a body model."""
    return head.startswith(b"PK\x03\x04") and any(name in head for name in MEMBERS)


def read_model(source: Source, options: ReadOptions) -> Model:
    """Read the skeleton of the mean shape.

    Raises:
        FormatError: The file is not an archive of this kind, or an array is missing or has a wrong shape.
    """
    return build(source, options, np.zeros(0))


def build(source: Source, options: ReadOptions, betas: Floats) -> Model:
    """Return the skeleton with the coefficients of a person's shape."""
    arrays = read_arrays(source, ARRAYS)
    if missing := [name for name in ARRAYS if name not in arrays]:
        raise source.make_error(
            f"has no {quote_names(missing)}; a body is read from the NPZ of SMPL, SMPL+H or SMPL-X, and a motion by "
            "poise.load_motion."
        )
    parents = read_parents(source, arrays["kintree_table"])
    names = JOINTS[len(parents)]
    places = find_joints(source, arrays, len(parents), betas)
    builder = ModelBuilder(Path(source.path).stem or "body")
    builder.source, builder.up = source.path, "y"
    builder.add_joint(names[0], None, "free", rest=[*places[0], 1.0, 0.0, 0.0, 0.0])
    for i, parent in enumerate(parents[1:].tolist(), 1):
        builder.add_joint(names[i], names[parent], "ball", offset=places[i] - places[parent])
    source.note("in metres, y is up, as in SMPL; the mesh is not read")
    options = replace(options, scale=1.0) if options.scale == "auto" else options
    return give_roles(adjust_model(builder.build(), options, source), source)


def read_parents(source: Source, table: NDArray[Any]) -> NDArray[np.int64]:
    """Return the parent of each joint, -1 for the root."""
    if table.dtype.kind not in "iu" or table.ndim != 2 or len(table) != 2 or table.shape[1] not in (24, 52, 55):
        raise source.make_error(f"kintree_table is {table.shape}; it must be 2 rows of 24, 52 or 55 joints.")
    if ((table[0, 1:] < 0) | (table[0, 1:] >= np.arange(1, table.shape[1]))).any():
        raise source.make_error("kintree_table has a joint before its parent.")
    return np.array([-1, *table[0, 1:].tolist()], np.int64)


def find_joints(source: Source, arrays: dict[str, NDArray[Any]], joints: int, betas: Floats) -> Floats:
    """Return the places of the joints (joints, 3) [m]."""
    template, ways, regressor = (read_reals(source, name, arrays[name]) for name in ARRAYS[:3])
    count = len(template) if template.ndim else 0
    if template.shape != (count, 3) or ways.ndim != 3 or ways.shape[:2] != (count, 3):
        raise source.make_error(f"v_template {template.shape} and shapedirs {ways.shape} do not go together.")
    if regressor.shape != (joints, count):
        raise source.make_error(f"J_regressor is {regressor.shape}; it must be {(joints, count)}.")
    most = int(ways.shape[2])
    used = min(len(betas), SHAPES.get(most, most) if joints == 55 else most)
    if betas[used:].any():
        source.note(f"the body has {used} directions of shape; {len(betas) - used} coefficients more are left out")
    return np.asarray(regressor @ (template + ways[..., :used] @ betas[:used]))


def read_reals(source: Source, name: str, array: NDArray[Any]) -> Floats:
    """Return an array as doubles; raise `FormatError` if a number is not finite or exceeds 1e6."""
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise source.make_error(f"array {name!r} holds something that is not a number.")
    out = array.astype(np.float64)
    if np.abs(out).max(initial=0.0) > 1e6:
        raise source.make_error(f"array {name!r} holds {np.abs(out).max():g}, which is neither radians nor metres.")
    return out
