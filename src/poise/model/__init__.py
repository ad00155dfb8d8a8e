"""The body: joints, frames, the frozen model and its builder."""

from poise.model.builder import ModelBuilder
from poise.model.joint import EULER_ORDERS, KINDS, Frame, Joint, Mimic
from poise.model.model import Model

__all__ = ["EULER_ORDERS", "KINDS", "Frame", "Joint", "Mimic", "Model", "ModelBuilder"]
