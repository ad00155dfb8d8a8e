"""Poses, motions, and what a pose can do."""

from poise.kinematics.manipulability import Manipulability, manipulability
from poise.kinematics.motion import Motion
from poise.kinematics.pose import Pose

__all__ = ["Manipulability", "Motion", "Pose", "manipulability"]
