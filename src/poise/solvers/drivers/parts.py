"""The parts of a body, from its tree: root, spine and limbs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.model import Model
from poise.model.joints.joint import Joint

__all__ = ["BodyParts", "find_parts"]


@dataclass(frozen=True)
class BodyParts:
    """Joint names of each part; empty if the body has no such part.

    Attributes:
        root: The joints above the whole body.
        spine: The joints between the root and the limbs.
        limbs: One entry for each limb with a goal frame.
    """

    root: tuple[str, ...]
    spine: tuple[str, ...]
    limbs: tuple[tuple[str, ...], ...]


def find_parts(model: Model, frames: Sequence[str], moves: NDArray[np.bool_]) -> BodyParts:
    """Find the parts of a body for goals on these frames.

    A limb is the path from the frame towards the root, up to the first branching frame. Of the joints above all limbs,
    those before the first branch are the root and the others the spine.
    """
    joints_under: dict[str | None, list[Joint]] = {}
    for joint in model.joints:
        joints_under.setdefault(_find_carrier(model, joint.parent), []).append(joint)
    limbs: dict[tuple[str, ...], None] = {}
    above: dict[str, bool] = {}  # joints above limbs, and whether they come before the first branch
    for frame in frames:
        way = [joint for joint in model.joints_above(frame) if joint.nv]
        branched = [len(joints_under.get(_find_carrier(model, joint.parent), ())) > 1 for joint in way]
        end = branched.index(True) + 1 if True in branched else len(way)
        limbs[tuple(joint.name for joint in reversed(way[:end]))] = None
        for k in range(end, len(way)):
            above[way[k].name] = not any(branched[k:])
    taken = {name for limb in limbs for name in limb}
    free = {joint.name for joint in model.joints if joint.nv and moves[joint.v].any() and not joint.mimic}
    order = [joint.name for joint in model.joints if joint.name in free & above.keys() - taken]
    kept = [tuple(name for name in limb if name in free) for limb in limbs]
    return BodyParts(
        root=tuple(name for name in order if above[name]),
        spine=tuple(name for name in order if not above[name]),
        limbs=tuple(limb for limb in kept if limb),
    )


def _find_carrier(model: Model, frame: str | None) -> str | None:
    """Return the frame of the nearest movable joint above this one: frames on one rigid part count as one."""
    above = [] if frame is None else model.joints_above(frame)
    return next((joint.frame for joint in above if joint.nv), None)
