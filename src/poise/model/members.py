"""Make the joints, the frames and the length of a model from its layout."""

from collections.abc import Iterable
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from poise.model.joints.joint import Frame, Joint
from poise.model.joints.kinds import KINDS
from poise.model.layout import Layout, is_listed
from poise.model.spec import JointSpec

__all__ = ["freeze_flags", "list_ranged", "make_frames", "make_joints", "measure_length"]


def make_joints(layout: Layout) -> tuple[Joint, ...]:
    """Return all joints, in the order in which they were declared."""
    rows = zip(layout.specs, layout.parents, strict=True)
    return tuple(make_joint(spec, parent, layout) for spec, parent in rows if isinstance(spec, JointSpec))


def make_joint(spec: JointSpec, parent: int, layout: Layout) -> Joint:
    """Return a joint with its slices of q and v; a leader's bounds include those of its followers."""
    v, one = layout.v_slices[spec.name], KINDS[spec.kind].nv == 1
    mimic = layout.mimics.get(spec.name)
    lower = spec.lower if mimic else layout.lower[v]
    upper = spec.upper if mimic else layout.upper[v]
    own = {
        "parent": None if parent < 0 else layout.frames[parent],
        "lower": float(lower[0]) if one else lower,
        "upper": float(upper[0]) if one else upper,
        "mimic": mimic,
    }
    declared = {each.name: getattr(spec, each.name) for each in fields(spec)}
    return Joint(**declared | own, q=layout.q_slices[spec.name], v=v)


def make_frames(layout: Layout) -> dict[str, Frame]:
    """Return all frames by name."""
    out = {}
    for spec, name, parent in zip(layout.specs, layout.frames, layout.parents, strict=True):
        joint = spec.name if isinstance(spec, JointSpec) else None
        above = None if parent < 0 else layout.frames[parent]
        out[name] = Frame(name, above, joint, spec.offset, spec.mass, spec.center, spec.inertia, is_listed(spec))
    return out


def measure_length(layout: Layout) -> float:
    """Return L, the length of the longest path from the root along offsets and slides [m]; 1 if all are zero.

    A slide counts with its largest value, a locked slide with its rest value, and a path with the largest distance of
    its points from the joint.
    """
    reach: dict[int, float] = {-1: 0.0}
    last = len(layout.listed)
    for i in (i for i in layout.order if i < last):
        spec = layout.specs[i]
        step = float(np.linalg.norm(spec.offset.translation))
        if isinstance(spec, JointSpec) and spec.path is not None:
            step += float(np.linalg.norm(spec.path.points, axis=1).max())
        elif isinstance(spec, JointSpec) and spec.length:
            step += spec.length * float(spec.rest[0] if spec.locked else spec.upper[0])
        elif isinstance(spec, JointSpec) and only_slides(spec.kind):
            ends = np.abs(spec.rest) if spec.locked else np.maximum(np.abs(spec.lower), np.abs(spec.upper))
            step += float(np.linalg.norm(ends[np.isfinite(ends)]))
        reach[i] = reach[layout.parents[i]] + step
    longest = max(reach.values())
    return longest if longest > 0.0 else 1.0


def only_slides(kind: str) -> bool:
    """Return whether a joint of this kind slides and does not rotate."""
    facts = KINDS[kind]
    return bool(facts.slides) and all(facts.slides)


def freeze_flags(flags: Iterable[bool]) -> NDArray[np.bool_]:
    """Return the flags as a read-only array."""
    out = np.array(list(flags), dtype=bool)
    out.setflags(write=False)
    return out


def list_ranged(joints: Iterable[Joint]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of all coordinates except quaternions in q, and of their velocities in v."""
    plain = [joint for joint in joints if joint.nv and not joint.quaternion]
    numbers = [k for joint in plain for k in range(joint.q.start, joint.q.stop)]
    velocities = [k for joint in plain for k in range(joint.v.start, joint.v.stop)]
    return np.array(numbers, dtype=np.intp), np.array(velocities, dtype=np.intp)
