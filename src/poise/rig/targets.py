"""Targets of handles: reading, blending by strength, and default axes."""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals.flat import fill_place, find_third
from poise.goals.reach import OverTime
from poise.goals.reach import read_target as read_reach
from poise.model import Model
from poise.names import find_other_side, find_side
from poise.rig.limbs.limb import find_bone_above
from poise.spatial import Rotation, Transform

__all__ = ["ease_gaze", "ease_place", "find_ahead", "find_default_axis", "find_limb_axis", "read_target"]


def read_target(model: Model, frame: str, target: Any) -> Floats:
    """Return a target of a frame as a point (3,) or a transform (4, 4); a planar body accepts a 2D point."""
    if type(target) is np.ndarray and target.shape == (3,) and target.dtype == np.float64 and np.isfinite(target).all():
        return target.copy()
    read = read_reach(target)
    if isinstance(read, (tuple, OverTime)):
        raise InvalidValue("a handle goes to one place or transform; for a Range, use poise.solve with a Reach.")
    if isinstance(read, Transform):
        return np.array(read.matrix)
    return np.array(read if len(read) == 3 else fill_place(read, *find_third(model, frame)))


def ease_place(target: Floats, origin: Floats, share: float) -> Floats:
    """Interpolate from a transform (4, 4) to a target, a point or a transform, by `share`."""
    if target.ndim == 1:
        out: Floats = origin[:3, 3] + share * (target - origin[:3, 3])
        return out
    moved = np.eye(4)
    moved[:3, 3] = origin[:3, 3] + share * (target[:3, 3] - origin[:3, 3])
    turn = (Rotation.from_matrix(target[:3, :3]) @ Rotation.from_matrix(origin[:3, :3]).inverse()).log()
    moved[:3, :3] = Rotation.from_vector(share * turn).matrix @ origin[:3, :3]
    return moved


def ease_gaze(target: Floats, eye: Floats, ahead: Floats, share: float) -> Floats:
    """Return a point to look at, interpolated by `share` from straight `ahead` of the eye to the target."""
    line = target - eye
    distance = float(np.linalg.norm(line))
    if distance == 0.0:
        return target
    mixed = (1.0 - share) * ahead + share * line / distance
    size = float(np.linalg.norm(mixed))
    out: Floats = eye + distance * mixed / size if size > 1e-9 else target
    return out


def find_ahead(model: Model) -> Floats | None:
    """Return the forward direction of the body in the rest pose, from its two sides and up; None without sides."""
    left_ones = [name for name in model.frames if find_side(name) == "l"]
    pairs = [(name, other) for name in left_ones if (other := find_other_side(name, model.frames))]
    at = {name: model.fk(model.rest, name)[:3, 3] for pair in pairs for name in pair}
    across = np.sum([at[left] - at[right] for left, right in pairs], axis=0) if pairs else np.zeros(3)
    ahead = np.cross(across, model.up_direction)
    size = float(np.linalg.norm(ahead))
    return None if size <= 1e-9 * model.length else ahead / size


def find_default_axis(model: Model, frame: str) -> Floats:
    """Return the axis of a frame that points ahead in the rest pose; z if the body has no two sides."""
    ahead = find_ahead(model)
    if ahead is None:
        return np.array([0.0, 0.0, 1.0])
    axis = model.fk(model.rest, frame)[:3, :3].T @ ahead
    near = np.round(axis)
    out: Floats = near if np.abs(axis - near).max() < 0.05 else axis
    return out


def find_limb_axis(model: Model, frame: str) -> Floats:
    """Return the direction of the bone that ends at a frame, in the frame's axes; z if it has no length."""
    bone = find_bone_above(model, frame)
    if bone is not None:
        turn = model.fk(model.rest, frame)[:3, :3].T @ model.fk(model.rest, bone[0])[:3, :3]
        return np.array(turn @ np.array(bone[1]))
    return np.array([0.0, 0.0, 1.0])
