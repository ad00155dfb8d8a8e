"""Collisions of the parts that no joint moves, for a body whose base is placed row by row.

In a given world such parts do not count: no pose moves them. Where the base is placed, they do: a pedestal or a chassis
must not stand in an obstacle. Regions that do not rise above the base's origin are excepted: it stands on them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.batch.obstacles import PlacedRegion, invert
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.regions import Region
from poise.limits import Clearance, Limit
from poise.limits.skeleton import BodyCapsule
from poise.limits.support_points import PointClearance
from poise.model import Model, ModelBuilder
from poise.model.geometry.solids import make_triple
from poise.spatial import Rotation

__all__ = ["find_blocked_bases"]

Bools = NDArray[np.bool_]
BASE = "base"
STANDING = 1e-3  # m: largest height above the base's origin of a region that the base stands on
FAR = 100.0  # m: radius of a ball that stands for the half-space above the base; 5 mm higher at 1 m from its axis


def find_blocked_bases(
    model: Model, limits: Sequence[Limit], regions: Sequence[PlacedRegion], lead: tuple[int, ...]
) -> Bools:
    """Return whether the base of each row is in collision, (B,).

    Args:
        model: The body.
        limits: The limits of the problem.
        regions: All regions of the limits, placed as seen from the base.
        lead: The leading axes of the batch.
    """
    blocked = np.zeros(lead, dtype=np.bool_)
    for k, limit in enumerate(limit for limit in limits if isinstance(limit, Clearance)):
        parts = FixedParts(model, limit)
        own = [region for region in regions if region.clearance == k and parts.capsules]
        for rows in {id(region.rows): region.rows for region in own}.values():
            world = [region.solid for region in own if region.rows is rows]
            blocked |= parts.find_collisions(world, find_base_poses(rows.array))
    return blocked


def find_base_poses(T_base_region: Floats) -> Floats:
    """Return the poses of the base in the axes of a region as q of a free joint, (..., 7)."""
    lost = np.isnan(T_base_region).any(axis=(-1, -2), keepdims=True)
    T = invert(np.where(lost, np.eye(4), T_base_region))
    return np.concatenate([T[..., :3, 3], Rotation.from_matrix(T[..., :3, :3]).wxyz], axis=-1)


class FixedParts:
    """The fixed parts of a body as a body of their own, on a free joint.

    Args:
        model: The body.
        limit: The clearance of its parts.
    """

    def __init__(self, model: Model, limit: Clearance) -> None:
        self.body = ModelBuilder(model.name).add_joint(BASE, None, "free").build()
        self.distance = limit.distance
        parts = find_rigid_parts(model)
        fixed = [each for each in limit.capsules(model) if parts[model.frame(each.frame).name] is None]
        self.capsules = tuple(place_capsule(each, model.fk(model.rest, each.frame)) for each in fixed)
        top = make_triple(FAR * model.up_direction)
        self.above = (BodyCapsule(BASE, top, top, FAR),)

    def find_collisions(self, world: Sequence[Region], q: Floats) -> Bools:
        """Return the poses in which a part is in collision with a region that it does not stand on, (...)."""
        first = q.reshape(-1, 7)[:1]
        solids = [each for each in world if not (self.stands_on(each, first).all() and self.stands_on(each, q).all())]
        hit = np.asarray(self.measure(self.capsules, solids, q) < self.distance)
        some = q[hit]
        deep = np.zeros(len(some), dtype=np.bool_)
        for each in solids:
            deep |= (self.measure(self.capsules, [each], some) < self.distance) & ~self.stands_on(each, some)
        hit[hit] = deep
        return hit

    def stands_on(self, region: Region, q: Floats) -> Bools:
        """Return the poses of the base above a region, (...)."""
        return np.asarray(self.measure(self.above, [region], q) >= -STANDING)

    def measure(self, capsules: tuple[BodyCapsule, ...], world: Sequence[Region], q: Floats) -> Floats:
        """Return the smallest gaps between some capsules and regions [m], (...); infinite without regions."""
        if not world or not q.size:
            return np.full(q.shape[:-1], np.inf)
        return PointClearance([], 0.0, world, points=capsules).measure_gap(self.body, q)


def place_capsule(capsule: BodyCapsule, T: Floats) -> BodyCapsule:
    """Return a capsule in the axes of the base; `T` places its frame there."""
    a, b = (make_triple(T[:3, :3] @ end + T[:3, 3]) for end in (capsule.a, capsule.b))
    return BodyCapsule(BASE, a, b, capsule.radius)
