"""Stiffness of a rig: limbs move first, then the back, and the whole body last.

A body from a file has no stiffness: a foot pulled sideways would rotate the whole body about it. Such joints get the
stiffness of the built-in figure, by their roles; joints with a stiffness keep it.
"""

import numpy as np
from numpy.typing import NDArray

from poise.model import Model
from poise.rig.handle import Handle

__all__ = ["find_gains", "find_stiffness"]

ROOT_STIFFNESS = 50.0
UPRIGHT_GAIN = 1000.0  # gain of the rest pose for rotations of the whole body; a joint of stiffness 0 has gain 1
SPINE_STIFFNESS = dict.fromkeys(("spine_1", "spine_2", "spine_3", "chest"), 20.0)
ROLE_STIFFNESS = {**SPINE_STIFFNESS, "neck": 3.0, "head": 1.0, "clavicle": 5.0}
INSIDE_PELVIS = 0.25  # of the distance from the pelvis to a hip: nearer joints belong to the pelvis


def find_stiffness(model: Model, handles: dict[str, Handle]) -> NDArray[np.float64]:
    """Return the stiffness of each velocity, (nv,)."""
    out = np.array(model.stiffness)
    wanted = dict.fromkeys(find_trunk(model, handles), ROOT_STIFFNESS)
    for role, frame in model.roles.items():
        value = ROLE_STIFFNESS.get(role.removesuffix("_l").removesuffix("_r"))
        if value is not None:
            wanted.setdefault(frame, value)
    for frame, value in wanted.items():
        name = model.frame(frame).joint
        if name is not None and not model.joint(name).mimic and not out[model.joint(name).v].any():
            out[model.joint(name).v] = value
    return out


def find_gains(model: Model, handles: dict[str, Handle]) -> NDArray[np.float64]:
    """Return the gain of the rest pose for each velocity, (nv,): larger for stiffer joints.

    Without stiffness from a file, rotations of the whole body get the largest gain. Otherwise the pelvis would rotate
    to come down, since a straight leg has to bend by a larger angle, as a person's does.
    """
    out = 1.0 + find_stiffness(model, handles)
    for frame in find_trunk(model, handles):
        name = model.frame(frame).joint
        if name is not None and not model.joint(name).mimic:
            v = model.joint(name).v
            out[v] = np.where(~model.turns[v] | (np.asarray(model.stiffness)[v] > 0.0), out[v], UPRIGHT_GAIN)
    return out


def find_trunk(model: Model, handles: dict[str, Handle]) -> list[str]:
    """Return the frames whose joints move the whole body, and those of joints inside the pelvis.

    Some motion capture has such joints: they are in the pelvis, above a hip, and not part of a limb.
    """
    body = next((handle.frame for handle in handles.values() if handle.kind == "body"), None)
    if body is None:
        return []
    out = list(model.ancestors(body))
    for hip in (model.roles[role] for role in ("hip_l", "hip_r") if role in model.roles):
        between = model.ancestors(hip)[1:]
        for frame in between[: between.index(body)] if body in between else ():
            at, near, far = (model.fk(model.rest, name)[:3, 3] for name in (frame, body, hip))
            if np.linalg.norm(at - near) <= INSIDE_PELVIS * np.linalg.norm(far - near):
                out.append(frame)
    return out
