"""Robot motions in the layouts of Unitree and GMR; those of trainers are in `poise.formats.tables.trainers`.

    "unitree"   CSV: x y z, quaternion x y z w, then the joints in the model's order; one row per frame. The first
                line has the names and begins with #; NumPy skips it.
    "gmr"       NPZ: fps, root_pos (frames, 3), root_rot (frames, 4, xyzw), dof_pos (frames, joints), joint_names

Neither layout names the robot, and the first has no frame rate. GMR itself writes a pickle with the same names:
`pickle.dump(dict(np.load("dance.npz")), file)` converts one of our files.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, InvalidValue
from poise.files.source import Source
from poise.formats.tables.trainers import TRAINERS, write_for_trainer
from poise.kinematics import Motion
from poise.kinematics.carriers import Root, find_root
from poise.kinematics.column_names import name_columns
from poise.model import Model
from poise.spatial import Rotation

__all__ = ["STYLES", "has_free_root", "read_rows", "write_style"]

STYLES = {"unitree": ".csv", "gmr": ".npz", **TRAINERS}
ROOT_NAMES = ("x", "y", "z", "qx", "qy", "qz", "qw")
UNIT = 1e-2  # tolerance of a quaternion's length: files are rounded


def write_style(motion: Any, target: Path, path: str, style: str) -> None:
    """Write the motion of a robot in one of the layouts.

    Raises:
        InvalidValue: The style is unknown, or the object is not a motion of a body with a free root joint.
        FormatError: The style requires another suffix.
    """
    check_style(style, path)
    if not isinstance(motion, Motion):
        raise InvalidValue(f"style={style!r} is for motions, not for a {type(motion).__name__}.")
    root = find_free_root(motion.model)
    if root is None:
        raise InvalidValue(
            f"model {motion.model.name!r} has no free joint at its root, which this style needs; load it with "
            "base='free'."
        )
    if style in TRAINERS:
        write_for_trainer(motion, root, target, path, style)
        return
    place, turn, joints = split_root(motion, root)
    names = name_others(motion.model)
    if style == "unitree":
        rows, head = np.concatenate([place, turn, joints], axis=1), ",".join([*ROOT_NAMES, *names])
        np.savetxt(target, rows, fmt="%.9g", delimiter=",", header=head, encoding="utf-8")
        return
    with target.open("wb") as file:
        np.savez(file, fps=motion.fps, root_pos=place, root_rot=turn, dof_pos=joints, joint_names=np.array(names))


def check_style(style: str, path: str) -> None:
    """Raise an error for an unknown layout, or a file with another suffix than its own."""
    if style not in STYLES:
        raise InvalidValue(f"style is {style!r}; it must be one of {', '.join(map(repr, STYLES))}.")
    if Path(path).suffix.lower() != STYLES[style]:
        raise FormatError(f"style={style!r} is written to {STYLES[style]} files: change the suffix.", path)


def name_others(model: Model) -> list[str]:
    """Return the names of the numbers of q that do not belong to the free root, in order, on one line each."""
    root = find_free_root(model)
    assert root is not None
    names = np.delete(np.array(name_columns(model)), np.r_[root.slide.q])
    return [" ".join(name.split()).replace(",", " ") for name in names.tolist()]


def split_root(motion: Motion, root: Root) -> tuple[NDArray[np.float64], ...]:
    """Return the root's position and quaternion xyzw in the world, and the other numbers of q."""
    base = Rotation.from_matrix(root.base[:3, :3])
    at = root.slide.q
    place = motion.q[:, at.start : at.start + 3] @ root.base[:3, :3].T + root.base[:3, 3]
    wxyz = motion.q[:, at.start + 3 : at.stop]
    turned = (base @ Rotation(wxyz)).wxyz
    others = np.delete(motion.q, np.r_[at], axis=1)
    return place, turned[:, [1, 2, 3, 0]], others


def find_free_root(model: Model) -> Root | None:
    """Return the free root joint of a body, or None."""
    root = find_root(model)
    return root if root is not None and root.slide.kind == "free" else None


def has_free_root(model: Model) -> bool:
    """Return whether a body has the free root that these layouts need."""
    return find_free_root(model) is not None


def read_rows(source: Source, rows: NDArray[np.float64], model: Model) -> NDArray[np.float64]:
    """Convert rows (root position in the world, quaternion xyzw, joints) to q, (frames, nq).

    Raises:
        FormatError: The number of joints does not match, or a quaternion is not of unit length.
    """
    root = find_free_root(model)
    assert root is not None
    if rows.shape[1] != model.nq:
        raise source.make_error(
            f"has {rows.shape[1]} numbers a frame; model {model.name!r} needs {model.nq}: 3 of the root's place, its "
            f"quaternion x y z w, and {model.nq - 7} of its joints."
        )
    length = np.linalg.norm(rows[:, 3:7], axis=1)
    if (off := np.abs(length - 1.0) > UNIT).any():
        raise source.make_error(
            f"the quaternion of frame {int(np.argmax(off))} (its numbers 4 to 7, x y z w) has length "
            f"{length[np.argmax(off)]:.3g}; it must be 1."
        )
    at, base = root.slide.q, Rotation.from_matrix(root.base[:3, :3])
    q = np.empty_like(rows)
    q[:, at.start : at.start + 3] = (rows[:, :3] - root.base[:3, 3]) @ root.base[:3, :3]
    q[:, at.start + 3 : at.stop] = (base.inverse() @ Rotation(rows[:, [6, 3, 4, 5]] / length[:, None])).wxyz
    q[:, np.delete(np.arange(model.nq), np.r_[at])] = rows[:, 7:]
    return q
