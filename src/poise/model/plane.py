"""The plane of a planar body: the two world axes along which it moves.

A hinge stays in the plane if its axis is the plane's normal, a slide if it is parallel to the plane; a body is planar
if all of its joints stay in the same plane. Source: Craig, Introduction to Robotics, chapter 3 (planar manipulators).
"""

from collections.abc import Iterator

import numpy as np

from poise.arrays import Floats
from poise.model.joints.kinds import Primitive
from poise.model.memo import keep_with_model
from poise.model.model import Model

__all__ = ["explain_no_plane", "find_normal", "is_planar"]

NEAR = 1e-9
NORMALS = (2, 1, 0)  # z first: a body that slides along x alone moves in the xy plane
PLANES = ("yz", "xz", "xy")  # indexed by their normal


@keep_with_model
def find_normal(model: Model) -> int | None:
    """Return the index of the world axis (0, 1, 2) normal to the body's plane of motion, or None."""
    moves = list(list_motions(model))
    kept = (axis for axis in NORMALS if all(keeps(primitive, n[axis]) for _, primitive, n in moves))
    return next(kept, None)


def explain_no_plane(model: Model) -> str:
    """Name a joint that leaves the plane in which most joints move."""
    moves = list(list_motions(model))
    leaving = {axis: [name for name, kind, n in moves if not keeps(kind, n[axis])] for axis in NORMALS}
    axis = min(NORMALS, key=lambda axis: len(leaving[axis]))
    return f"its joint {leaving[axis][0]!r} leaves the {PLANES[axis]} plane"


def is_planar(model: Model) -> bool:
    """Return whether the body is planar with normal z and flat: all frames at the same height."""
    heights = model.fk(np.array(model.rest))[:, 2, 3]
    return find_normal(model) == 2 and bool(np.ptp(heights) < NEAR)


def list_motions(model: Model) -> Iterator[tuple[str, Primitive, Floats]]:
    """Yield the motions of all joints: the joint name, the primitive, and its axis in the world."""
    T = model.fk(np.array(model.rest))
    for joint in model.joints:
        R = T[model.frames.index(joint.frame), :3, :3]
        for primitive, axis in joint.motions:
            yield joint.name, primitive, R @ axis


def keeps(primitive: Primitive, along: float) -> bool:
    """Return whether a motion stays in the plane, given the component of its axis along the normal."""
    if primitive is Primitive.SCALE:  # all frames are in the plane, and so is the centre of the scale
        return True
    turns, slides = primitive is Primitive.TURN, primitive is Primitive.SLIDE
    return (turns and abs(along) > 1 - NEAR) or (slides and abs(along) < NEAR)
