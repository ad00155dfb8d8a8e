"""Stiffness: which parts of a body move first. Limbs do, then the back, and the whole body last.

A body from a file has no stiffness of its own: a foot that is pulled aside would turn the whole body about it. Such
joints get what the built-in figure has, by their roles; what has a stiffness already keeps it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from poise.model import Model
from poise.rig.handle import Handle

__all__ = ["find_gains", "find_stiffness"]

ROOT_STIFFNESS = 50.0
UPRIGHT_GAIN = 1000.0  # of the rest pose, for turns of the whole body; a joint of stiffness 0 has 1
SPINE_STIFFNESS = dict.fromkeys(("spine_1", "spine_2", "spine_3", "chest"), 20.0)
ROLE_STIFFNESS = {**SPINE_STIFFNESS, "neck": 3.0, "head": 1.0, "clavicle": 5.0}
INSIDE_PELVIS = 0.25  # of the way from the pelvis to a hip: nearer joints belong to the pelvis


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
    """Return how strongly each velocity is drawn to the rest pose, (nv,): stiffer ones more.

    Where a file gives no stiffness, the turns of the whole body are drawn most of all. A straight leg bends by far more
    than the pelvis would turn to come as far down, and a person bends the leg.
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

    Some motion capture has such joints: they sit in the pelvis, carry a hip, and are not part of a limb.
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
