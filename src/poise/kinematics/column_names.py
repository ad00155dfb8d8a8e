"""Column names for the numbers of q.

| joint | columns |
|---|---|
| revolute, continuous, prismatic, screw | ``elbow`` |
| universal | ``neck.angle1 neck.angle2`` |
| euler | ``head.ry head.rx head.rz``, in its order; ``.rx .ry .rx2`` if an axis is repeated |
| planar | ``base.x base.y base.angle`` |
| translation3 | ``hips.x hips.y hips.z`` |
| ball | ``hip.qw hip.qx hip.qy hip.qz`` |
| free | ``pelvis.x pelvis.y pelvis.z pelvis.qw pelvis.qx pelvis.qy pelvis.qz`` |

Units are metres and radians, as in q. A name that is already taken gets a number: ``time#2``.
"""

from collections.abc import Sequence

from poise.model import Joint, Model

__all__ = ["LABELS", "RESERVED", "make_unique", "name_columns", "name_velocities"]

RESERVED = ("time", "fps", "reached", "status", "steps", "searches", "seconds")
"""Columns that are not joints."""

LABELS = ("error.", "contact.", "velocity.", "balance.")
"""Beginnings of the names of further columns that are not joints."""

_QUATERNION = ("qw", "qx", "qy", "qz")


def name_columns(model: Model) -> list[str]:
    """Return one name for each number of q, in order."""
    return make_unique([name for joint in model.joints if joint.nq for name in name_joint_columns(joint)], RESERVED)


def name_velocities(model: Model) -> list[str]:
    """Return the name of every velocity: that of its joint, numbered if the joint has several."""
    names = [""] * model.nv
    for joint in model.joints:
        for k in range(joint.nv if not joint.mimic else 0):
            names[joint.v.start + k] = joint.name if joint.nv == 1 else f"{joint.name}.{k + 1}"
    return names


def name_joint_columns(joint: Joint) -> list[str]:
    """Return the column names of one joint."""
    plain = [joint.name_coordinate(k) for k in range(len(joint.coordinates))]
    return [*plain, *(f"{joint.name}.{part}" for part in _QUATERNION if joint.quaternion)]


def make_unique(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return the names, with a number appended to repeated ones."""
    seen, out = set(taken), []
    for name in names:
        free, number = name, 2
        while free in seen:
            free, number = f"{name}#{number}", number + 1
        seen.add(free)
        out.append(free)
    return out
