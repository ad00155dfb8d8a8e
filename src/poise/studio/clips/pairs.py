"""Body part pairs of a retargeted clip, edited by hand, and the placement of the two bodies."""

from dataclasses import replace

import numpy as np

from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.kinematics.carriers import find_root
from poise.kinematics.parts import find_rigid_parts, pick_frame
from poise.model import Model
from poise.motion import Mapping, Pair
from poise.pictures.body.flesh import Color
from poise.spatial import Rotation

__all__ = ["choose_color", "find_role", "list_ends", "mend_pair", "place_beside"]


TRUNK_COLOR: Color = (122, 111, 208)
LIMB_COLORS: dict[tuple[bool, str], Color] = {  # by whether it is an arm, and by side
    (True, "l"): (26, 157, 146),
    (True, "r"): (217, 130, 43),
    (False, "l"): (96, 164, 62),
    (False, "r"): (201, 86, 146),
}
ARM = ("clavicle", "shoulder", "elbow", "wrist", "hand")
LEAST_TRAVEL = 0.3  # relative to body size: shorter paths count as staying in place
BODY_GAP = 0.45  # between the bodies, relative to the sum of their sizes


def choose_color(role: str) -> Color:
    """Return the colour of a body part's limb."""
    part, _, side = role.rpartition("_")
    return LIMB_COLORS.get((part in ARM, side), TRUNK_COLOR) if part else TRUNK_COLOR


def find_role(mapping: Mapping, model: Model, frame: str, *, source: bool) -> str | None:
    """Return the mapped role that a frame of one of the bodies belongs to, or None.

    Args:
        mapping: The pairs of corresponding frames.
        model: The body.
        frame: A frame of it, such as the one that was clicked.
        source: Whether `model` is the source of the motion rather than the target.
    """
    rigid = find_rigid_parts(model)
    own = {rigid[pair.source if source else pair.target]: pair.role for pair in mapping}
    return next((own[rigid[name]] for name in model.ancestors(frame) if rigid[name] in own), None)


def mend_pair(mapping: Mapping, bodies: tuple[Model, Model], frames: tuple[str, str]) -> Mapping:
    """Return the mapping in which the two clicked parts are a pair.

    Args:
        mapping: The pairs of corresponding frames.
        bodies: The source and the target of the motion.
        frames: The clicked frame of each body.

    Raises:
        InvalidValue: Neither frame belongs to a mapped part.
    """
    source, target = (body.frame(frame).name for body, frame in zip(bodies, frames, strict=True))
    exact = {frame: role for role, frame in find_roles(bodies[0]).items()}
    role = next((pair.role for pair in mapping if pair.source == source), None)
    if role is None and exact.get(source) in mapping.missing:  # a part found in one body only
        return add_pair(mapping, Pair(str(exact[source]), source, target))
    role = role or find_role(mapping, bodies[0], source, source=True)
    if role is not None:
        return mapping.replace(role, target=target)
    role = find_role(mapping, bodies[1], target, source=False)
    if role is None:
        raise InvalidValue(f"neither {source} nor {target} is a retargeted part; try the one next to it.")
    return mapping.replace(role, source=source)


def add_pair(mapping: Mapping, pair: Pair) -> Mapping:
    """Return the mapping with another pair."""
    missing = tuple(role for role in mapping.missing if role != pair.role)
    return replace(mapping, pairs=(*mapping.pairs, pair), missing=missing)


def list_ends(mapping: Mapping, bodies: tuple[Model, Model], places: tuple[Floats, Floats]) -> Floats:
    """Return the positions of the two frames of each pair, (pairs, 2, 3) [m].

    Args:
        mapping: The pairs of corresponding frames.
        bodies: Both bodies.
        places: The displayed transforms of all frames of each body, (frames, 4, 4).
    """
    out = np.zeros((len(mapping), 2, 3))
    for k, pair in enumerate(mapping):
        for side, frame in enumerate((pair.source, pair.target)):
            out[k, side] = pick_frame(bodies[side], frame, places[side])[:3, 3]
    return out


def place_beside(clip: Motion, carried: Motion, floors: tuple[float, float], size: float) -> Floats:
    """Return the transform that places a retargeted motion next to its source, upright, on the same floor, (4, 4).

    Args:
        clip: The source motion.
        carried: The retargeted motion.
        floors: The height of the ground in both worlds [m].
        size: The sum of the body sizes [m].
    """
    up = clip.model.up_direction
    T = np.eye(4)
    T[:3, :3] = Rotation.between(carried.model.up_direction, up).matrix
    theirs, ours = find_path(clip), find_path(carried) @ T[:3, :3].T
    shift = theirs[0] - ours[0] + BODY_GAP * size * find_across(clip.model, theirs, size)
    T[:3, 3] = shift - (shift @ up) * up + (floors[0] - floors[1]) * up
    return T


def find_path(clip: Motion) -> Floats:
    """Return the path of a body's root, or of its first frame if the base is fixed, (frames, 3) [m]."""
    root = find_root(clip.model)
    return clip.positions(clip.model.frames[0] if root is None else root.frame)


def find_across(model: Model, path: Floats, size: float) -> Floats:
    """Return the horizontal direction across a body's path, or across its front if it stays in place; a unit vector."""
    up: Floats = model.up_direction
    way = path[-1] - path[0]
    way = way - (way @ up) * up
    far = float(np.linalg.norm(way))
    ahead = way / far if far > LEAST_TRAVEL * size else np.roll(up, 1)
    out: Floats = np.cross(up, ahead)
    return out
