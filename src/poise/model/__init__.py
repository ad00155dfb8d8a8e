"""The body: joints, frames, shapes, the frozen model and its builder."""

from poise.model.builder import ModelBuilder
from poise.model.closures import Closure
from poise.model.curves.path import Path
from poise.model.geometry.objects import Object
from poise.model.geometry.shapes import Shape
from poise.model.geometry.solids import Box, Capsule, Cylinder, Mesh, Sphere
from poise.model.joints.joint import BallRange, Frame, Joint, Mimic
from poise.model.joints.kinds import EULER_ORDERS, KINDS, Coordinate
from poise.model.model import Model

__all__ = [
    "EULER_ORDERS",
    "KINDS",
    "BallRange",
    "Box",
    "Capsule",
    "Closure",
    "Coordinate",
    "Cylinder",
    "Frame",
    "Joint",
    "Mesh",
    "Mimic",
    "Model",
    "ModelBuilder",
    "Object",
    "Path",
    "Shape",
    "Sphere",
]
