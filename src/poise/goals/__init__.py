"""Goals, one class per file, each imported on first use."""

from typing import TYPE_CHECKING

from poise.lazy import load_lazily

if TYPE_CHECKING:
    from poise.goals.align import Align as Align
    from poise.goals.angle import Angle as Angle
    from poise.goals.balance import Balance as Balance
    from poise.goals.center_of_mass import CenterOfMass as CenterOfMass
    from poise.goals.custom import Custom as Custom
    from poise.goals.distance import Distance as Distance
    from poise.goals.goal import Goal as Goal
    from poise.goals.grasp import Grasp as Grasp
    from poise.goals.inside import Inside as Inside
    from poise.goals.look_at import LookAt as LookAt
    from poise.goals.on_line import OnLine as OnLine
    from poise.goals.on_plane import OnPlane as OnPlane
    from poise.goals.orient import Orient as Orient
    from poise.goals.postures.comfort import Comfort as Comfort
    from poise.goals.postures.mid_range import MidRange as MidRange
    from poise.goals.postures.rest import Rest as Rest
    from poise.goals.postures.style import Style as Style
    from poise.goals.range import Range as Range
    from poise.goals.reach import Reach as Reach
    from poise.goals.relative import Relative as Relative
    from poise.kinematics.regions import Ball as Ball
    from poise.kinematics.regions import Box as Box
    from poise.kinematics.regions import HalfSpace as HalfSpace
else:
    __getattr__, __dir__, __all__ = load_lazily(
        __name__,
        {
            ".align": "Align",
            ".angle": "Angle",
            ".balance": "Balance",
            ".center_of_mass": "CenterOfMass",
            ".postures.comfort": "Comfort",
            ".custom": "Custom",
            ".distance": "Distance",
            ".goal": "Goal",
            ".grasp": "Grasp",
            ".inside": "Inside",
            ".look_at": "LookAt",
            ".postures.mid_range": "MidRange",
            ".on_line": "OnLine",
            ".on_plane": "OnPlane",
            ".orient": "Orient",
            ".range": "Range",
            ".reach": "Reach",
            ".relative": "Relative",
            ".postures.rest": "Rest",
            ".postures.style": "Style",
            "poise.kinematics.regions": "Ball Box HalfSpace",
        },
    )
