"""Motions of robots as others write them.

    "unitree"   CSV without a head: x y z, quaternion x y z w, then the joints in the file's order; a row a frame
    "gmr"       NPZ: fps, root_pos (frames, 3), root_rot (frames, 4, xyzw), dof_pos (frames, joints)

GMR itself writes a pickle with the same names: `pickle.dump(dict(np.load("dance.npz")), file)` makes one of ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, InvalidValue
from poise.kinematics import Motion
from poise.kinematics.carrying import find_root
from poise.spatial import Rotation

__all__ = ["STYLES", "write_style"]

STYLES = {"unitree": ".csv", "gmr": ".npz"}


def write_style(motion: Any, target: Path, path: str, style: str) -> None:
    """Write the motion of a robot in one of the styles.

    Raises:
        InvalidValue: The style is unknown, or this is not the motion of a body with a free joint at its root.
        FormatError: The style is written to files of another suffix.
    """
    if style not in STYLES:
        raise InvalidValue(f"style is {style!r}; it must be one of {', '.join(map(repr, STYLES))}.")
    if not isinstance(motion, Motion):
        raise InvalidValue(f"style={style!r} is for motions, not for a {type(motion).__name__}.")
    if Path(path).suffix.lower() != STYLES[style]:
        raise FormatError(f"style={style!r} is written to {STYLES[style]} files: change the suffix.", path)
    place, turn, joints = split_root(motion)
    if style == "unitree":
        np.savetxt(target, np.concatenate([place, turn, joints], axis=1), fmt="%.9g", delimiter=",")
        return
    with target.open("wb") as file:
        np.savez(file, fps=motion.fps, root_pos=place, root_rot=turn, dof_pos=joints)


def split_root(motion: Motion) -> tuple[NDArray[np.float64], ...]:
    """Return the root's place and quaternion xyzw in the world, and the other numbers of q."""
    root = find_root(motion.model)
    if root is None or root.slide.kind != "free":
        raise InvalidValue(f"model {motion.model.name!r} has no free joint at its root, which this style is about.")
    base = Rotation.from_matrix(root.base[:3, :3])
    at = root.slide.q
    place = motion.q[:, at.start : at.start + 3] @ root.base[:3, :3].T + root.base[:3, 3]
    wxyz = motion.q[:, at.start + 3 : at.stop]
    turned = (base @ Rotation(wxyz)).wxyz
    others = np.delete(motion.q, np.r_[at], axis=1)
    return place, turned[:, [1, 2, 3, 0]], others
