"""Limits, one class per file: constraints that a solution never violates. Joint ranges always apply.

Each class is imported on first use.
"""

from typing import TYPE_CHECKING

from poise.lazy import load_lazily

if TYPE_CHECKING:
    from poise.kinematics.height_map import HeightMap as HeightMap
    from poise.kinematics.regions import Ball as Ball
    from poise.kinematics.regions import Box as Box
    from poise.kinematics.regions import Capsule as Capsule
    from poise.kinematics.regions import ConvexMesh as ConvexMesh
    from poise.kinematics.regions import Cylinder as Cylinder
    from poise.kinematics.regions import HalfSpace as HalfSpace
    from poise.kinematics.regions import PointCloud as PointCloud
    from poise.kinematics.regions import Sphere as Sphere
    from poise.limits.acceleration import Acceleration as Acceleration
    from poise.limits.clearance import Clearance as Clearance
    from poise.limits.closed import Closed as Closed
    from poise.limits.cone import Cone as Cone
    from poise.limits.coupled import Coupled as Coupled
    from poise.limits.limit import Limit as Limit
    from poise.limits.speed import Speed as Speed
else:
    __getattr__, __dir__, __all__ = load_lazily(
        __name__,
        {
            "poise.kinematics.height_map": "HeightMap",
            "poise.kinematics.regions": "Ball Box Capsule ConvexMesh Cylinder HalfSpace PointCloud Sphere",
            ".acceleration": "Acceleration",
            ".clearance": "Clearance",
            ".closed": "Closed",
            ".cone": "Cone",
            ".coupled": "Coupled",
            ".limit": "Limit",
            ".speed": "Speed",
        },
    )
