"""Contacts: the points on which a part of the body stands.

The contacts of a support such as a foot are its own origin and the points that are lowest in the rest pose (within 1 %
of the body's length L) on the same rigid part and on the parts connected to it by one joint (the toes of a foot).
Candidates are frames, and the corners and ends of collision solids.
"""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_place, find_rigid_parts, list_child_parts
from poise.model import Model
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Geometry, Sphere
from poise.model.memo import keep_with_model

__all__ = ["Contact", "find_contacts", "find_supports"]

Contact = tuple[str, Floats]

LAYER = 0.01  # of L: largest height of a contact above the lowest point
SAME = 1e-6  # of L: closer points count as one


@keep_with_model
def find_supports(model: Model, support: tuple[Any, ...]) -> tuple[Contact, ...]:
    """Return the contacts of frames and of (frame, point) pairs; the result is cached."""
    found: list[Contact] = []
    for part in support:
        if isinstance(part, tuple):
            found.append((model.frame(part[0]).name, np.array(part[1])))
        else:
            found.extend(find_contacts(model, part))
    return tuple(drop_repeated(model, found))


def find_contacts(model: Model, support: str) -> list[Contact]:
    """Return the contact points of a support: frames and points on them."""
    frame = model.frame(support).name
    parts = find_rigid_parts(model)
    below = list_child_parts(model, parts[frame])
    near = [name for name in model.frames if parts[name] == parts[frame] or parts[name] in below]
    candidates = [(name, np.zeros(3)) for name in near] + list(list_corners(model, set(near)))
    heights = [float(find_place(model, contact) @ model.up_direction) for contact in candidates]
    ground = min(heights) + LAYER * model.length
    lowest = [contact for contact, height in zip(candidates, heights, strict=True) if height <= ground]
    return drop_repeated(model, [(frame, np.zeros(3)), *lowest])


def drop_repeated(model: Model, contacts: Iterable[Contact]) -> list[Contact]:
    """Return the contacts without those that coincide with an earlier one."""
    found: list[Contact] = []
    places: list[Floats] = []
    for contact in contacts:
        at = find_place(model, contact)
        if all(np.linalg.norm(at - other) > SAME * model.length for other in places):
            found.append(contact)
            places.append(at)
    return found


def list_corners(model: Model, frames: set[str]) -> Iterable[Contact]:
    """Yield the corners and ends of the collision solids of some frames, in those frames."""
    for shape in model.shapes:
        if shape.frame in frames and shape.use in ("both", "collision"):
            for point in find_ends(shape.shape):
                yield shape.frame, np.asarray(shape.offset.apply(point))


def find_ends(solid: Geometry) -> Iterable[Floats]:
    """Return the candidate contacts of a solid: corners of a box, ends of a capsule, rim of a cylinder."""
    if isinstance(solid, Box):
        signs = itertools.product((-0.5, 0.5), repeat=3)
        return [np.array(sign) * np.array(solid.size) for sign in signs]
    if isinstance(solid, Sphere):
        return [np.zeros(3)]
    if isinstance(solid, Capsule):
        return [np.array([0.0, 0.0, end * solid.length]) for end in (-0.5, 0.5)]
    if isinstance(solid, Cylinder):
        turns = np.arange(4) * (np.pi / 2)
        rim = [(solid.radius * np.cos(turn), solid.radius * np.sin(turn)) for turn in turns]
        return [np.array([x, y, end * solid.length]) for x, y in rim for end in (-0.5, 0.5)]
    return []
