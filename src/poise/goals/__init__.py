"""What a body can be asked for, one goal a file.

Each loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poise.goals.align import Align
    from poise.goals.angle import Angle
    from poise.goals.balance import Balance
    from poise.goals.center_of_mass import CenterOfMass
    from poise.goals.comfort import Comfort
    from poise.goals.custom import Custom
    from poise.goals.distance import Distance
    from poise.goals.goal import Goal
    from poise.goals.grasp import Grasp
    from poise.goals.inside import Inside
    from poise.goals.look_at import LookAt
    from poise.goals.mid_range import MidRange
    from poise.goals.on_line import OnLine
    from poise.goals.on_plane import OnPlane
    from poise.goals.orient import Orient
    from poise.goals.range import Range
    from poise.goals.reach import Reach
    from poise.goals.relative import Relative
    from poise.goals.rest import Rest
    from poise.goals.style import Style
    from poise.kinematics.regions import Ball, Box, HalfSpace

_HOMES = {
    "Align": "poise.goals.align",
    "Angle": "poise.goals.angle",
    "Balance": "poise.goals.balance",
    "CenterOfMass": "poise.goals.center_of_mass",
    "Comfort": "poise.goals.comfort",
    "Custom": "poise.goals.custom",
    "Distance": "poise.goals.distance",
    "Goal": "poise.goals.goal",
    "Grasp": "poise.goals.grasp",
    "Inside": "poise.goals.inside",
    "LookAt": "poise.goals.look_at",
    "MidRange": "poise.goals.mid_range",
    "OnLine": "poise.goals.on_line",
    "OnPlane": "poise.goals.on_plane",
    "Orient": "poise.goals.orient",
    "Range": "poise.goals.range",
    "Reach": "poise.goals.reach",
    "Relative": "poise.goals.relative",
    "Rest": "poise.goals.rest",
    "Style": "poise.goals.style",
    "Ball": "poise.kinematics.regions",
    "Box": "poise.kinematics.regions",
    "HalfSpace": "poise.kinematics.regions",
}

__all__ = [
    "Align",
    "Angle",
    "Balance",
    "Ball",
    "Box",
    "CenterOfMass",
    "Comfort",
    "Custom",
    "Distance",
    "Goal",
    "Grasp",
    "HalfSpace",
    "Inside",
    "LookAt",
    "MidRange",
    "OnLine",
    "OnPlane",
    "Orient",
    "Range",
    "Reach",
    "Relative",
    "Rest",
    "Style",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
