"""Rules that are never broken in what a solver returns, one limit a file. Joint ranges hold without being named.

Each loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poise.kinematics.regions import Ball, Box, Capsule, HalfSpace, Sphere
    from poise.limits.acceleration import Acceleration
    from poise.limits.clearance import Clearance
    from poise.limits.closed import Closed
    from poise.limits.cone import Cone
    from poise.limits.coupled import Coupled
    from poise.limits.limit import Limit
    from poise.limits.speed import Speed

_HOMES = {
    "Ball": "poise.kinematics.regions",
    "Box": "poise.kinematics.regions",
    "Capsule": "poise.kinematics.regions",
    "HalfSpace": "poise.kinematics.regions",
    "Sphere": "poise.kinematics.regions",
    "Acceleration": "poise.limits.acceleration",
    "Clearance": "poise.limits.clearance",
    "Closed": "poise.limits.closed",
    "Cone": "poise.limits.cone",
    "Coupled": "poise.limits.coupled",
    "Limit": "poise.limits.limit",
    "Speed": "poise.limits.speed",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
