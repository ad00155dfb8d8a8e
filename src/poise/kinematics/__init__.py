"""Poses, motions, mirror images, manipulability, and regions of the world."""

from poise.kinematics.manipulability import Manipulability, manipulability
from poise.kinematics.mirror import Mirror
from poise.kinematics.motion import Motion
from poise.kinematics.pose import Pose
from poise.kinematics.regions import Ball, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, PointCloud, Region, Sphere
from poise.kinematics.sides import find_partner_joint, pair_frames
from poise.kinematics.together import MotionWithObjects

__all__ = [
    "Ball",
    "Box",
    "Capsule",
    "ConvexMesh",
    "Cylinder",
    "HalfSpace",
    "Manipulability",
    "Mirror",
    "Motion",
    "MotionWithObjects",
    "PointCloud",
    "Pose",
    "Region",
    "Sphere",
    "find_partner_joint",
    "manipulability",
    "pair_frames",
]
