"""The body: joints, frames, the frozen model and its builder; the shapes on it."""

from poise.model.builder import ModelBuilder
from poise.model.joint import BallRange, Frame, Joint, Mimic
from poise.model.kinds import EULER_ORDERS, KINDS, Coordinate
from poise.model.model import Model
from poise.model.objects import Object
from poise.model.path import Path
from poise.model.shapes import Shape
from poise.model.solids import Box, Capsule, Cylinder, Mesh, Sphere

__all__ = [
    "EULER_ORDERS",
    "KINDS",
    "BallRange",
    "Box",
    "Capsule",
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
