"""Which handles stand on the ground: what should stay where it is when a body is first taken hold of."""

from __future__ import annotations

from collections.abc import Mapping

from poise.kinematics import Pose
from poise.rig import Handle

__all__ = ["standing"]


def standing(pose: Pose, handles: Mapping[str, Handle]) -> list[str]:
    """Ends that touch the ground under a body with a free base."""
    model = pose.model
    if not any(joint.kind == "free" for joint in model.joints):
        return []
    height = model.fk(pose.q)[:, model.up_axis, 3]
    low = float(height.min())
    ends = [handle for handle in handles.values() if handle.kind == "end"]
    return [h.name for h in ends if height[model.frames.index(h.frame)] < low + 0.03 * model.length]
