"""Labels of a solved clip for training, frame by frame: contacts, joint velocities, and static balance.

The balance of a frame is the signed distance of the centre of mass c, seen along the up axis, from the edge of the
convex hull of the points p_i in contact, positive inside:

    min over directions u of    max_i u . p_i - u . c

The minimum is at a normal of an edge, which is one of a pair of points, or in the direction from a point to c.
"""

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.kinematics.column_names import make_unique, name_velocities
from poise.motion.contact.ledger import Contacts

__all__ = ["label_frames"]


def label_frames(motion: Motion, contacts: Contacts) -> dict[str, NDArray[Any]]:
    """Return columns by name, each (frames,).

    Columns are `contact.<point>` (whether it is in contact), `velocity.<joint>` (rad/s, or lengths of the body's unit
    per second), and, if the body has mass and touches something, `balance.m` [m], NaN in frames without contacts.
    """
    out: dict[str, NDArray[Any]] = {}
    for contact in contacts:
        flags = out.setdefault(f"contact.{contact.name}", np.zeros(len(motion), dtype=bool))
        flags[contact.start : contact.end] = True
    names, speeds = make_unique(name_velocities(motion.model)), motion.velocities()
    out |= {f"velocity.{name}": speeds[:, k] for k, name in enumerate(names)}
    if motion.model.mass > 0.0 and len(contacts):
        out["balance.m"] = measure_balance(motion, contacts)
    return out


def measure_balance(motion: Motion, contacts: Contacts) -> Floats:
    """Return the distance of the centre of mass from the edge of the support, (frames,) [m]; NaN without contacts."""
    up = motion.model.up_direction
    across = np.linalg.svd(up[None])[2][1:]  # two directions of the floor
    middle = np.asarray(motion.model.center_of_mass(motion.q), np.float64) @ across.T
    paths = {point: motion.positions(*point) @ across.T for point in {(c.frame, c.point) for c in contacts}}
    active: list[list[Any]] = [[] for _ in range(len(motion))]
    for contact in contacts:
        for standing in active[contact.start : contact.end]:
            standing.append((contact.frame, contact.point))
    out = np.full(len(motion), np.nan)
    for standing, run in groupby(range(len(motion)), key=active.__getitem__):
        frames = list(run)
        if standing:
            points = np.stack([paths[point][frames] for point in standing], axis=1)
            out[frames] = measure_inside(points, middle[frames])
    return out * motion.model.metres_per_unit


def measure_inside(points: Floats, middle: Floats) -> Floats:
    """Return the distance of points (frames, 2) from the edge of the hull of others (frames, n, 2), positive inside."""
    ways = points[:, :, None] - points[:, None]
    normals = np.stack([-ways[..., 1], ways[..., 0]], axis=-1).reshape(len(points), -1, 2)
    normals = np.concatenate([normals, middle[:, None] - points], axis=1)
    lengths = np.linalg.norm(normals, axis=2)
    normals = normals / np.maximum(lengths, 1e-12)[..., None]
    beyond = (normals @ points.transpose(0, 2, 1)).max(axis=2) - (normals * middle[:, None]).sum(axis=2)
    inside: Floats = np.where(lengths > 1e-12, beyond, np.inf).min(axis=1)
    return np.where(np.isfinite(inside), inside, 0.0)
