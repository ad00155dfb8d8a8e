"""What a body can be asked for, one goal a file."""

from poise.goals.align import Align
from poise.goals.angle import Angle
from poise.goals.balance import Balance
from poise.goals.center_of_mass import CenterOfMass
from poise.goals.custom import Custom
from poise.goals.distance import Distance
from poise.goals.goal import Goal
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
from poise.kinematics.regions import Ball, Box, HalfSpace

__all__ = [
    "Align",
    "Angle",
    "Balance",
    "Ball",
    "Box",
    "CenterOfMass",
    "Custom",
    "Distance",
    "Goal",
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
]
