"""Limbs: a root, a middle that bends, an end; and which way the middle points.

    u = (C - A) / |C - A|                 the line of the limb, from its root A to its end C
    b = B - A, less its part along u      where the middle B points
    n = b x u                             the normal of the plane in which it bends

A hinge in the middle carries its own normal, also where the limb is straight; for other joints it is the bone above the
middle that is turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.rig.handles import Handle

__all__ = ["Limb", "find_limbs", "limb_for"]

SIDES = {"arm": ("l", "r"), "leg": ("l", "r", "fl", "fr", "hl", "hr")}
NAMES = {"arm": ("shoulder", "elbow", ("wrist", "hand"), "hand"), "leg": ("hip", "knee", ("ankle", "foot"), "foot")}


@dataclass(frozen=True, slots=True)
class Limb:
    """A limb of the body.

    Attributes:
        name: What it is called: arm_l, leg_r, or its end handle's name.
        root: The frame at its root, such as the shoulder.
        middle: The frame that bends, such as the elbow; None where it has none.
        end: The frame at its end, such as the wrist.
        handle: The handle that moves it.
        joints: All joints from its root outwards.
        hinge: The normal of the plane of bending in the middle frame's axes; None where the middle is no hinge.
        bone: Where the middle has no hinge: the frame above it, and the direction from there to the middle.
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
    """The limbs: of the roles where there are, else of the chains that end in a handle."""
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
    forks = branches(model)
    taken = {limb.handle for limb in found.values()}
    for held in handles.values():
        if held.kind == "end" and held.name not in taken:
            limb = limb_of_chain(model, held, forks)
            if limb is not None:
                found[limb.name] = limb
    return found


def limb_of_chain(model: Model, handle: Handle, forks: Mapping[str | None, int]) -> Limb | None:
    """The limb of an end frame: the chain above it up to where the body branches."""
    chain = [handle.frame]
    while (parent := model.frame(chain[-1]).parent) is not None and forks[parent] < 2:
        chain.append(parent)
    own = [name for name in reversed(chain) if joint_moves(model, name) and not is_free(model, name)]
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


def limb_for(model: Model, handle: Handle) -> Limb | None:
    """The limb of a handle that was added."""
    return limb_of_chain(model, handle, branches(model))


def make_limb(model: Model, name: str, root: str, middle: str | None, end: str, handle: str) -> Limb:
    """A limb with its way of bending."""
    joints = tuple(
        joint.name for joint in model.joints if joint.nv and not joint.mimic and root in model.ancestors(joint.frame)
    )
    hinge = None if middle is None else hinge_normal(model, root, middle, end)
    bone = None if middle is None or hinge is not None else bone_above(model, middle)
    if hinge is None and bone is None:
        middle = None
    return Limb(name, root, middle, end, handle, joints, hinge, bone)


def hinge_normal(model: Model, root: str, middle: str, end: str) -> tuple[float, float, float] | None:
    """The hinge's axis, turned so that it is the normal of the bent limb; None where the middle is no hinge."""
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
    return triple(axis * np.sign(along))


def bone_above(model: Model, middle: str) -> tuple[str, tuple[float, float, float]] | None:
    """The first frame above the middle that is elsewhere, and the direction from there to the middle."""
    at = model.fk(model.rest, middle)[:3, 3]
    for above in model.ancestors(middle)[1:]:
        T = model.fk(model.rest, above)
        offset = T[:3, :3].T @ (at - T[:3, 3])
        if np.linalg.norm(offset) > 1e-6 * model.length:
            return above, triple(offset / np.linalg.norm(offset))
    return None


def branches(model: Model) -> dict[str | None, int]:
    """How many of the parts that hang on each frame can move, or have something in them that can."""
    moves = {name: joint_moves(model, name) for name in model.frames}
    for name in model.frames:
        for above in model.ancestors(name)[1:] if moves[name] else ():
            moves[above] = True
    out: dict[str | None, int] = {}
    for name in model.frames:
        parent = model.frame(name).parent
        out[parent] = out.get(parent, 0) + moves[name]
    return out


def joint_moves(model: Model, frame: str) -> bool:
    """Whether a joint moves the frame."""
    name = model.frame(frame).joint
    return name is not None and model.joint(name).kind != "fixed"


def is_free(model: Model, frame: str) -> bool:
    """Whether the frame floats."""
    name = model.frame(frame).joint
    return name is not None and model.joint(name).kind == "free"


def triple(x: Floats) -> tuple[float, float, float]:
    """Three plain numbers."""
    return float(x[0]), float(x[1]), float(x[2])
