"""Move a whole body through the world by its root, without changing its other joints.

    T_world_root' = G T_world_root

The root is a `free` joint, or a `translation3` joint with a `ball` or `euler` joint as its child, as in BVH files.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.kinematics.samples import TURNS_FREELY, name_angles
from poise.model import Joint, Model
from poise.spatial import Rotation

__all__ = ["Root", "carry", "find_root", "level_motion"]


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """The root joints, which move a body through the world.

    Attributes:
        slide: The joint whose first three coordinates are the position.
        turn: The joint with the rotation; the same joint if it is free.
        base: Pose of the slide's base in the world, (4, 4): the parent nodes of a character often have rotated axes.
    """

    slide: Joint
    turn: Joint
    base: Floats

    @property
    def frame(self) -> str:
        """The frame that the root moves."""
        return self.turn.frame


def find_root(model: Model, frame: str | None = None) -> Root | None:
    """Return the root joints of the body, or None if it is fixed or only parts of it move.

    If a file contains more than one body, `frame` selects the body that contains it. If several roots are above it, as
    in files with a node for the whole scene, the closest is used.
    """
    if frame is not None:
        ways = model.joints_above(frame)
        return next((root for i in range(len(ways)) if (root := read_root(model, ways[i:])) is not None), None)
    first = find_first(model)
    if len(first) != 1:
        return None
    second = [joint for joint in model.joints if joint.nq and joint.parent == first[0].frame]
    return read_root(model, [*second, *first] if len(second) == 1 and first[0].kind != "free" else first)


def read_root(model: Model, ways: list[Joint]) -> Root | None:
    """Return the root formed by the first of these joints, given from a frame up to the world, or None."""
    turn = ways[0]
    slide = ways[1] if turn.kind in TURNS_FREELY and len(ways) > 1 else turn
    together = slide is turn or (slide.kind == "translation3" and turn.parent == slide.frame)
    if turn.mimic or slide.mimic or not together or (slide is turn and turn.kind != "free"):
        return None
    base = np.eye(4) if slide.parent is None else np.array(model.fk(model.rest, slide.parent))
    return Root(slide, turn, base @ slide.offset.matrix)


def find_first(model: Model) -> list[Joint]:
    """List the root joints, excluding props (objects that carry no joint of the body)."""
    above = {joint.name: model.joints_above(joint.frame) for joint in model.joints if joint.nq}
    first = [joint for joint in model.joints if joint.nq and len(above[joint.name]) == 1]
    carrying = {ways[-1].name for ways in above.values() if len(ways) > 1 and not is_loose(ways)}
    return [joint for joint in first if joint.name in carrying] if len(first) > 1 else first


def is_loose(ways: list[Joint]) -> bool:
    """Return whether joints, given from a frame up, only place an object: a translation, then a rotation."""
    return len(ways) == 2 and ways[1].kind == "translation3" and ways[0].kind in TURNS_FREELY


def carry(root: Root, q: Floats, motion: Floats) -> Floats:
    """Return configurations (frames, nq) of the body moved by a rigid motion of the world, (4, 4)."""
    out = np.array(q)
    base = root.base
    G = np.linalg.inv(base) @ motion @ base
    at = slice(root.slide.q.start, root.slide.q.start + 3)
    between = np.eye(4) if root.slide is root.turn else root.turn.offset.matrix
    offset = between[:3, 3]
    out[:, at] = (q[:, at] + offset) @ G[:3, :3].T + G[:3, 3] - offset
    turn = Rotation.from_matrix(between[:3, :3].T @ G[:3, :3] @ between[:3, :3])
    if root.turn.quaternion:
        quaternion = slice(root.turn.q.stop - 4, root.turn.q.stop)
        out[:, quaternion] = (turn @ Rotation(q[:, quaternion])).wxyz
    else:
        turned = turn @ Rotation.from_euler(root.turn.order, q[:, root.turn.q])
        out[:, root.turn.q] = name_angles(turned, root.turn.order, q[:, root.turn.q])
    return out


def level_motion(start: Floats, end: Floats, up: Floats) -> Floats:
    """Return the motion over the ground, (4, 4), that brings transform `start` above `end`, with the same heading.

    It rotates about `up` and translates perpendicular to it: heights do not change.
    """
    turn = end[:3, :3] @ start[:3, :3].T
    w, vector = np.split(Rotation.from_matrix(turn).wxyz, [1])
    twist = np.concatenate([w, (vector @ up) * up])
    out = np.eye(4)
    if np.linalg.norm(twist) > 1e-9:  # otherwise upside down: any heading is equally good
        out[:3, :3] = Rotation(twist).matrix
    shift = end[:3, 3] - out[:3, :3] @ start[:3, 3]
    out[:3, 3] = shift - (shift @ up) * up
    return out
