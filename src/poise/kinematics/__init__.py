"""Poses, motions, what a pose can do, and regions of the world around it."""

from poise.kinematics.manipulability import Manipulability, manipulability
from poise.kinematics.motion import Motion
from poise.kinematics.pose import Pose
from poise.kinematics.regions import Ball, Box, Capsule, HalfSpace, Region, Sphere

__all__ = [
    "Ball",
    "Box",
    "Capsule",
    "HalfSpace",
    "Manipulability",
    "Motion",
    "Pose",
    "Region",
    "Sphere",
    "manipulability",
]
