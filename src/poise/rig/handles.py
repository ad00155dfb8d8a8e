"""Handles: the places by which a body is held. From its roles where it has them, else its end frames."""

from __future__ import annotations

from dataclasses import dataclass

from poise.model import Model

__all__ = ["KINDS", "Handle", "end_frames", "find_handles"]

KINDS = ("end", "body", "gaze", "pole")

# handle, kind, and the roles that can carry it, the best first
FROM_ROLES = (
    *((f"hand_{side}", "end", (f"hand_{side}", f"wrist_{side}")) for side in "lr"),
    *((f"foot_{side}", "end", (f"foot_{side}", f"ankle_{side}")) for side in "lr"),
    ("head", "gaze", ("head",)),
    ("pelvis", "body", ("pelvis",)),
    *((f"elbow_{side}", "pole", (f"elbow_{side}",)) for side in "lr"),
    *((f"knee_{side}", "pole", (f"knee_{side}",)) for side in "lr"),
)


@dataclass(frozen=True, slots=True)
class Handle:
    """A place by which the body is held.

    Attributes:
        name: What it is called.
        frame: The frame that it moves.
        kind: "end" (a hand, a foot, a tip), "body" (the pelvis), "gaze" (the head) or "pole" (an elbow, a knee).
        limb: The limb that it belongs to, or None.
        mirror: The handle on the other side of the body, or None.
    """

    name: str
    frame: str
    kind: str
    limb: str | None = None
    mirror: str | None = None


def find_handles(model: Model) -> dict[str, Handle]:
    """The handles of a body, without their limbs: those of its roles, else its root and its end frames."""
    found: dict[str, Handle] = {}
    for name, kind, roles in FROM_ROLES:
        frame = next((model.roles[role] for role in roles if role in model.roles), None)
        if frame is not None:
            found[name] = Handle(name, frame, kind)
    if not any(handle.kind == "end" for handle in found.values()):
        for frame in end_frames(model):
            if frame not in {handle.frame for handle in found.values()}:
                found[frame] = Handle(frame, frame, "end")
        root = next((joint.frame for joint in model.joints if joint.kind == "free" and joint.parent is None), None)
        if root is not None and root not in found and "pelvis" not in found:
            found[root] = Handle(root, root, "body")
    return found


def end_frames(model: Model) -> list[str]:
    """Frames that nothing hangs on."""
    parents = {model.frame(name).parent for name in model.frames}
    return [name for name in model.frames if name not in parents]
