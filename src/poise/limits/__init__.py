"""Rules that are never broken in what a solver returns, one limit a file. Joint ranges hold without being named."""

from poise.kinematics.regions import Ball, Box, Capsule, HalfSpace, Sphere
from poise.limits.acceleration import Acceleration
from poise.limits.clearance import Clearance
from poise.limits.closed import Closed
from poise.limits.cone import Cone
from poise.limits.coupled import Coupled
from poise.limits.limit import Limit
from poise.limits.speed import Speed

__all__ = [
    "Acceleration",
    "Ball",
    "Box",
    "Capsule",
    "Clearance",
    "Closed",
    "Cone",
    "Coupled",
    "HalfSpace",
    "Limit",
    "Speed",
    "Sphere",
]
