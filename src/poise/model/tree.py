"""Tree: read-only queries on a model, shared by `Model` and the modules that describe it."""

from collections.abc import Mapping
from typing import Protocol

from poise.arrays import Floats
from poise.model.geometry.shapes import Shape
from poise.model.joints.joint import Frame, Joint
from poise.model.layout import Layout

__all__ = ["Tree"]


class Tree(Protocol):
    """The interface of `Model` for modules that `poise.model.model` imports. The attributes are those of `Model`."""

    name: str
    nq: int
    nv: int
    frames: tuple[str, ...]
    joints: tuple[Joint, ...]
    rest: Floats
    lower: Floats
    upper: Floats
    mass: float
    shapes: tuple[Shape, ...]
    poses: Mapping[str, Floats]
    units: str
    layout: Layout

    def joint(self, name: str | Joint) -> Joint:
        """Return the joint with this name."""

    def frame(self, name: str | Frame) -> Frame:
        """Return the frame with this name."""
