"""Handles: the frames that move a body, from its roles or otherwise its end frames."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.rig.ends import find_machine_ends, is_machine, moves_freely

__all__ = [
    "GROUND_LAYER",
    "KINDS",
    "Handle",
    "find_handles",
    "has_free_base",
    "is_on_ground",
    "list_end_frames",
    "make_handle",
]

KINDS = ("end", "body", "gaze", "pole")

FOOT_WORDS = ("foot", "toe", "heel", "hoof", "paw", "sole")  # words in the names of feet
GROUND_LAYER = 0.03  # relative to L: a frame less than this above the lowest one is on the ground

# handle, kind, and its possible roles, the best first
FROM_ROLES = (
    *((f"hand_{side}", "end", (f"hand_{side}", f"wrist_{side}")) for side in "lr"),
    *((f"foot_{side}", "end", (f"foot_{side}", f"ankle_{side}")) for side in "lr"),
    ("head", "gaze", ("head",)),
    ("pelvis", "body", ("pelvis",)),
    *((f"elbow_{side}", "pole", (f"elbow_{side}",)) for side in "lr"),
    *((f"knee_{side}", "pole", (f"knee_{side}",)) for side in "lr"),
    *((f"foot_{side}", "end", (f"foot_{side}", f"ankle_{side}")) for side in ("fl", "fr", "hl", "hr")),
)


@dataclass(frozen=True, slots=True)
class Handle:
    """A frame that moves the body.

    Attributes:
        name: The name of the handle.
        frame: The frame that it moves.
        kind: "end" (a hand, a foot, a tip), "body" (the pelvis), "gaze" (the head) or "pole" (an elbow, a knee).
        limb: The limb that it belongs to, or None.
        mirror: The handle on the other side of the body, or None.
        stands: Whether it is a foot: by its name, such as foot or paw, or as an end on the ground in the rest pose of a
            body with a free base.
        tool: Whether it is the tool of a machine, which keeps its rotation when dragged by a point: an end that is not
            a foot, with at least six velocities above it that do not move the whole body.
    """

    name: str
    frame: str
    kind: str
    limb: str | None = None
    mirror: str | None = None
    stands: bool = False
    tool: bool = False


def find_handles(model: Model) -> dict[str, Handle]:
    """Return the handles of a body, without their limbs: from its roles, otherwise from its root and its end frames."""
    found: dict[str, Handle] = {}
    for name, kind, roles in FROM_ROLES:
        frame = next((model.roles[role] for role in roles if role in model.roles), None)
        if frame is not None:
            found[name] = make_handle(model, name, frame, kind)
    if not any(handle.kind == "end" for handle in found.values()):
        for frame in find_machine_ends(model) if is_machine(model) else list_end_frames(model):
            if frame not in {handle.frame for handle in found.values()}:
                found[frame] = make_handle(model, frame, frame, "end")
        parts = find_rigid_parts(model)
        free = (joint for joint in model.joints if joint.kind == "free")
        root = next((joint.frame for joint in free if parts[joint.parent] is None), None)
        if root is not None and root not in found and "pelvis" not in found:
            found[root] = make_handle(model, root, root, "body")
    return found


def make_handle(model: Model, name: str, frame: str, kind: str) -> Handle:
    """Make a handle, and determine whether it is a foot or a tool."""
    named = any(word in text.lower() for text in (name, frame) for word in FOOT_WORDS)
    stands = kind == "end" and (named or (has_free_base(model) and is_on_ground(model, np.array(model.rest), frame)))
    tool = kind == "end" and not stands and is_machine(model) and moves_freely(model, frame)
    return Handle(name, frame, kind, stands=stands, tool=tool)


def has_free_base(model: Model) -> bool:
    """Return whether the whole body can move in the world."""
    parts = find_rigid_parts(model)
    return any(joint.kind in ("free", "translation3") and parts[joint.parent] is None for joint in model.joints)


def is_on_ground(model: Model, q: NDArray[np.float64], frame: str) -> bool:
    """Return whether a frame is at the height of the lowest one."""
    heights, own = model.fk(q)[:, model.up_axis, 3], model.fk(q, frame)[model.up_axis, 3]
    return bool(own < float(heights.min()) + GROUND_LAYER * model.length)


def list_end_frames(model: Model) -> list[str]:
    """List the movable frames without children."""
    parents, parts = {model.frame(name).parent for name in model.frames}, find_rigid_parts(model)
    return [name for name in model.frames if name not in parents and parts[name] is not None]
