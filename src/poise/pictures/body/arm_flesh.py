"""The shape of an arm without meshes: housings at its joints, and links that run where their masses are.

A link between the axes of two joints is drawn along its own axis z up to the height h of its centre of mass, across to
the next joint, and along z again: the upper arm of a UR is beside its shoulder, not in line with it. Links become
thinner from the base to the tool; a hinge has a housing along its axis, unless it twists the link before it and carries
a link of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.limits.skeleton import BodyCapsule
from poise.model import Joint, Model
from poise.model.geometry.solids import make_triple
from poise.model.plane import is_planar
from poise.pictures.body.surface import RoundCone

__all__ = ["is_arm", "is_chain", "shape_arm"]

MOST_JOINTS = 10  # a snake has more
THINNEST, THICKEST = 0.7, 1.25  # radius of a link, relative to the median of all
HOUSING, LONG = 1.12, 0.8  # radius and half length of a housing, relative to the radius of the link before it
TWIST_COSINE = 0.9  # between a hinge that twists a link and the link


def is_chain(model: Model) -> bool:
    """Return whether every part carries at most one joint."""
    parts = find_rigid_parts(model)
    carried = [parts[joint.parent] for joint in model.joints if joint.kind != "fixed"]
    return len(carried) == len(set(carried))


def is_arm(model: Model) -> bool:
    """Return whether a body is an arm of a few hinges on a fixed base, outside a plane."""
    moving = [joint for joint in model.joints if joint.nv]
    hinges = all(joint.kind == "revolute" for joint in moving)
    return hinges and 1 < len(moving) <= MOST_JOINTS and is_chain(model) and not is_planar(model)


def shape_arm(model: Model, capsules: Sequence[BodyCapsule]) -> Iterator[tuple[str, RoundCone]]:
    """Yield the links and the housings of an arm, each with its frame."""
    bones = [capsule for capsule in capsules if capsule.a != capsule.b]
    usual = float(np.median([capsule.radius for capsule in bones])) if bones else 0.0
    radii = sorted((float(np.clip(c.radius, THINNEST * usual, THICKEST * usual)) for c in bones), reverse=True)
    joints = {joint.frame: joint for joint in model.joints if joint.nv}
    world = dict(zip(model.frames, model.fk(model.rest), strict=True))
    linked = {capsule.frame for capsule in bones}
    before, thick = np.zeros(3), max(radii, default=0.0)
    for frame in model.frames:
        if frame in joints:
            axis = find_axis(joints[frame])
            if frame not in linked or abs(float(before @ world[frame][:3, :3] @ axis)) < TWIST_COSINE:
                side, round_by = LONG * thick * axis, HOUSING * thick
                yield frame, RoundCone(make_triple(-side), make_triple(side), round_by, round_by)
        for capsule, radius in zip(bones, radii, strict=True):
            if capsule.frame == frame:
                along = np.subtract(capsule.b, capsule.a)
                before, thick = world[frame][:3, :3] @ along / np.linalg.norm(along), radius
    for capsule, radius in zip(bones, radii, strict=True):
        for start, end in pairwise(route_link(model, joints.get(capsule.frame), capsule, radius)):
            if not np.allclose(start, end):
                yield capsule.frame, RoundCone(make_triple(start), make_triple(end), radius, radius)


def find_axis(joint: Joint) -> Floats:
    """Return the axis of a hinge, a unit vector."""
    return np.array(joint.axis, dtype=np.float64)


def route_link(model: Model, joint: Joint | None, capsule: BodyCapsule, radius: float) -> list[Floats]:
    """List the points of a link: along its axis to the height of its mass, across, and along again."""
    a, b = np.array(capsule.a), np.array(capsule.b)
    if joint is None:
        return [a, b]
    axis, frame = find_axis(joint), model.frame(capsule.frame)
    rise = float((b - a) @ axis)
    low, high, height = min(0.0, rise), max(0.0, rise), float((frame.center - a) @ axis)
    if low - radius < height < high + radius:  # the tube covers it
        height = min(max(height, low), high)
    return [a, a + height * axis, b + (height - rise) * axis, b]
