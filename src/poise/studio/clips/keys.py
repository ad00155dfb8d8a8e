"""Keys: a pose made by hand at one frame of a clip, and the goals that move the clip there.

Independent of the browser.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.goals import Goal, Orient, Reach, Rest
from poise.kinematics import Motion, Pose
from poise.kinematics.parts import find_rigid_parts
from poise.model import Joint, Model
from poise.motion import Contact, Contacts
from poise.solvers import solve
from poise.studio.puppet import Puppet

__all__ = ["PoseKey", "ask_key", "is_loose", "is_same", "make_key"]


SAME_POSE = 1e-6  # [rad, m] smaller differences count as the same pose
KEY_TOLERANCE = 1e-9  # [m] for the contacts and handles of a key


@dataclass(frozen=True, eq=False)
class PoseKey:
    """A pose made by hand at one frame.

    Attributes:
        frame: The frame of the clip.
        pose: The pose as it was shown, (nq,).
        goals: Goals at the dragged or pinned handles; none if joints were turned instead.
        feet: Frames of the feet that were moved by hand: their contacts around this frame are released.
        names: The names of the moved handles or joints.
    """

    frame: int
    pose: Floats
    goals: tuple[Goal, ...] = ()
    feet: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()


def is_same(model: Model, q0: Floats, q1: Floats) -> bool:
    """Return whether two poses are equal within `SAME_POSE`."""
    return bool(np.abs(model.difference(q0, q1)).max(initial=0.0) < SAME_POSE)


def make_key(puppet: Puppet, before: Floats, frame: int) -> PoseKey | None:
    """Return a key of the changes made by hand at a frame, or None if there are no changes.

    Args:
        puppet: The body in its current pose.
        before: The pose of the clip, (nq,).
        frame: The frame of the clip.
    """
    model, q = puppet.model, puppet.q
    if is_same(model, before, q):
        return None
    moved = list_moved(puppet, before)
    if not moved:
        turned = tuple(joint.name for joint in list_turned(model, before, q))
        return PoseKey(frame, q.copy(), names=turned)
    feet = frozenset(puppet.handles[name].frame for name in moved if puppet.handles[name].stands)
    return PoseKey(frame, q.copy(), tuple(ask_handle(puppet, name) for name in moved), feet, tuple(moved))


def list_moved(puppet: Puppet, before: Floats) -> list[str]:
    """List the handles that were dragged or pinned and differ from their transform in the clip."""
    out = []
    for name, handle in puppet.handles.items():
        target = puppet.find_target(name)
        if target is not None and (name in puppet.pulled or name in puppet.pins):
            change = np.abs(puppet.transform(name) - puppet.model.fk(before, handle.frame))
            if (change[:3, 3] if target.ndim == 1 else change).max() > SAME_POSE:
                out.append(name)
    return out


def ask_handle(puppet: Puppet, name: str) -> Goal:
    """Return the goal that keeps a handle in place: its position, and its rotation if that has a target."""
    T, target = puppet.transform(name), puppet.find_target(name)
    whole = target is not None and target.ndim == 2
    return Reach(puppet.handles[name].frame, T if whole else T[:3, 3], name=name, priority=1, tolerance=KEY_TOLERANCE)


# ---------------------------------------------------------------------------------------------- for the clip


def ask_key(clip: Motion, key: PoseKey, standing: Contacts) -> list[Goal]:
    """List the goals of a key: every changed joint in the pose of the key, with contacts held exactly."""
    before = clip.q[key.frame]
    q = settle_pose(clip, key, standing)
    return [ask_joint(Pose(clip.model, q), joint) for joint in list_turned(clip.model, before, q)]


def settle_pose(clip: Motion, key: PoseKey, standing: Contacts) -> Floats:
    """Return the pose of a key: contacts held exactly, then its handles, then the pose as it was shown."""
    model, before = clip.model, clip.q[key.frame]
    goals: list[Goal] = [
        Reach(c.frame, place_point(model, before, c), point=c.point, name=f"contact {k}", tolerance=KEY_TOLERANCE)
        for k, c in enumerate(standing.list_at(key.frame))
    ]
    return solve(model, [*goals, *key.goals, Rest(key.pose)], key.pose, restarts=0).q if goals else key.pose


def place_point(model: Model, q: Floats, contact: Contact) -> Floats:
    """Return the position of a contact's point in a pose [m]."""
    out: Floats = (model.fk(q, contact.frame) @ np.append(contact.point, 1.0))[:3]
    return out


def list_turned(model: Model, before: Floats, q: Floats) -> Iterator[Joint]:
    """Yield the joints that differ between two poses."""
    change = np.abs(model.difference(before, q))
    for joint in model.joints:
        if joint.nv and not joint.mimic and change[joint.v].max() > SAME_POSE:
            yield joint


def ask_joint(pose: Pose, joint: Joint) -> Goal:
    """Return the goal that keeps one joint in place, relative to its parent."""
    T = pose.transform(joint.frame).matrix
    if joint.parent is None:
        return Reach(joint.frame, T, name=joint.name)
    between = np.linalg.inv(pose.transform(joint.parent).matrix) @ T
    if not all(joint.turns):
        return Reach(joint.frame, between, relative_to=joint.parent, name=joint.name)
    return Orient(joint.frame, between[:3, :3], relative_to=joint.parent, name=joint.name)


def is_one_foot(model: Model, one: str, other: str) -> bool:
    """Return whether one of two frames is in the other's rigid part or in a part above it."""
    part = find_rigid_parts(model)
    above = [{part[frame] for frame in model.ancestors(name)} for name in (one, other)]
    return part[other] in above[0] or part[one] in above[1]


def is_loose(clip: Motion, contact: Contact, key: PoseKey) -> bool:
    """Return whether a key moves the point of a contact: its foot was dragged, or joints were turned."""
    if not contact.start <= key.frame < contact.end:
        return False
    if any(is_one_foot(clip.model, contact.frame, frame) for frame in key.feet):
        return True
    if key.goals:
        return False
    ends = [place_point(clip.model, q, contact) for q in (clip.q[key.frame], key.pose)]
    return bool(np.abs(ends[1] - ends[0]).max() > SAME_POSE)
