"""Limbs: a root, a bending middle and an end, with the direction of the bend.

    u = (C - A) / |C - A|                 the line of the limb, from its root A to its end C
    b = B - A, less its part along u      the direction of the middle B
    n = b x u                             the normal of the bending plane

A hinge in the middle has a fixed normal, also if the limb is straight; for other joints, the bone above the middle
is rotated.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.model import Model
from poise.model.geometry.solids import make_triple
from poise.rig.handle import Handle

__all__ = ["Limb", "find_added_limb", "find_limbs"]

SIDES = {"arm": ("l", "r"), "leg": ("l", "r", "fl", "fr", "hl", "hr")}
NAMES = {"arm": ("shoulder", "elbow", ("wrist", "hand"), "hand"), "leg": ("hip", "knee", ("ankle", "foot"), "foot")}


@dataclass(frozen=True, slots=True)
class Limb:
    """A limb of the body.

    Attributes:
        name: The name of the limb: arm_l, leg_r, or the name of its end handle.
        root: The frame at its root, such as the shoulder.
        middle: The frame that bends, such as the elbow, or None.
        end: The frame at its end, such as the wrist.
        handle: The handle that moves the limb.
        joints: All joints from its root outwards.
        hinge: The normal of the bending plane in the middle frame's axes; None if the middle is not a hinge.
        bone: If the middle has no hinge, the frame above it, and the direction from there to the middle.
    """

    name: str
    root: str
    middle: str | None
    end: str
    handle: str
    joints: tuple[str, ...]
    hinge: tuple[float, float, float] | None = None
    bone: tuple[str, tuple[float, float, float]] | None = None


def find_limbs(model: Model, handles: Mapping[str, Handle]) -> dict[str, Limb]:
    """Return the limbs from the roles, and from other chains that end in a handle."""
    found: dict[str, Limb] = {}
    for kind, (root, middle, ends, handle) in NAMES.items():
        for side in SIDES[kind]:
            name = f"{kind}_{side}"
            wanted = [f"{root}_{side}", f"{middle}_{side}", *(f"{end}_{side}" for end in ends)]
            frames = [model.roles[role] for role in wanted if role in model.roles]
            if (
                wanted[0] in model.roles
                and wanted[1] in model.roles
                and len(frames) > 2
                and f"{handle}_{side}" in handles
            ):
                found[name] = make_limb(model, name, frames[0], frames[1], frames[2], f"{handle}_{side}")
    forks = count_branches(model)
    taken = {limb.handle for limb in found.values()}
    for held in handles.values():
        if held.kind == "end" and held.name not in taken:
            limb = find_chain_limb(model, held, forks)
            if limb is not None:
                found[limb.name] = limb
    return found


def find_chain_limb(model: Model, handle: Handle, forks: Mapping[str | None, int]) -> Limb | None:
    """Return the limb of an end frame: the chain above it up to the first branch of the body."""
    chain = [handle.frame]
    while (parent := model.frame(chain[-1]).parent) is not None and forks[parent] < 2:
        chain.append(parent)
    own = [name for name in reversed(chain) if has_moving_joint(model, name) and not is_free(model, name)]
    if not own:
        return None
    at = {name: model.fk(model.rest, name)[:3, 3] for name in (*own, handle.frame)}
    root, end = own[0], handle.frame
    sides = {
        name: min(float(np.linalg.norm(at[name] - at[root])), float(np.linalg.norm(at[end] - at[name])))
        for name in own[1:]
    }
    middle = max(sides, key=lambda name: sides[name], default=None)
    if middle is not None and sides[middle] < 1e-3 * model.length:
        middle = None
    return make_limb(model, handle.name, root, middle, end, handle.name)


def find_added_limb(model: Model, handle: Handle) -> Limb | None:
    """Return the limb of an added handle, or None."""
    return find_chain_limb(model, handle, count_branches(model))


def make_limb(model: Model, name: str, root: str, middle: str | None, end: str, handle: str) -> Limb:
    """Make a limb with its hinge normal or the bone above its middle."""
    joints = tuple(
        joint.name for joint in model.joints if joint.nv and not joint.mimic and root in model.ancestors(joint.frame)
    )
    hinge = None if middle is None else find_hinge_normal(model, root, middle, end)
    bone = None if middle is None or hinge is not None else find_bone_above(model, middle)
    if hinge is None and bone is None:
        middle = None
    return Limb(name, root, middle, end, handle, joints, hinge, bone)


def find_hinge_normal(model: Model, root: str, middle: str, end: str) -> tuple[float, float, float] | None:
    """Return the hinge's axis as the normal of the bent limb, or None if the middle is not a hinge."""
    name = model.frame(middle).joint
    joint = None if name is None else model.joint(name)
    if joint is None or joint.kind not in ("revolute", "continuous") or joint.mimic:
        return None
    q = np.array(model.rest)
    low, high = float(joint.lower), float(joint.upper)
    q[joint.q] = 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else q[joint.q] + 0.5
    T_world_middle = model.fk(q, middle)
    a, b, c = model.fk(q, root)[:3, 3], T_world_middle[:3, 3], model.fk(q, end)[:3, 3]
    normal = T_world_middle[:3, :3].T @ np.cross(b - a, c - b)
    axis = np.asarray(joint.axis, dtype=np.float64)
    along = float(normal @ axis)
    if abs(along) < 0.3 * float(np.linalg.norm(normal)) or abs(along) < 1e-9:
        return None
    return make_triple(axis * np.sign(along))


def find_bone_above(model: Model, middle: str) -> tuple[str, tuple[float, float, float]] | None:
    """Return the first frame above the middle with another origin, and the direction from it to the middle."""
    at = model.fk(model.rest, middle)[:3, 3]
    for above in model.ancestors(middle)[1:]:
        T = model.fk(model.rest, above)
        offset = T[:3, :3].T @ (at - T[:3, 3])
        if np.linalg.norm(offset) > 1e-6 * model.length:
            return above, make_triple(offset / np.linalg.norm(offset))
    return None


def count_branches(model: Model) -> dict[str | None, int]:
    """Count the children of each frame that can move or have movable descendants."""
    moves = {name: has_moving_joint(model, name) for name in model.frames}
    for name in model.frames:
        for above in model.ancestors(name)[1:] if moves[name] else ():
            moves[above] = True
    out: dict[str | None, int] = {}
    for name in model.frames:
        parent = model.frame(name).parent
        out[parent] = out.get(parent, 0) + moves[name]
    return out


def has_moving_joint(model: Model, frame: str) -> bool:
    """Return whether a joint moves the frame."""
    name = model.frame(frame).joint
    return name is not None and model.joint(name).kind != "fixed"


def is_free(model: Model, frame: str) -> bool:
    """Return whether the frame has a free joint."""
    name = model.frame(frame).joint
    return name is not None and model.joint(name).kind == "free"
