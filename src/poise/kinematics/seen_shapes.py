"""The shapes that a body is drawn with. Nothing here opens a file."""

import numpy as np

from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.model.geometry.shapes import Shape

__all__ = ["has_own_look", "has_visual", "list_seen", "shows_body"]

SHOWN_SHARE = 0.25  # of the joint positions that need shapes, for a body to be drawn by its collision shapes
MIN_PLACES = 4  # joint positions; a body with fewer is drawn by any shapes
SAME_PLACE = 1e-3  # relative to L: joints closer than this share a position


def has_own_look(model: Model) -> bool:
    """Return whether the body's file describes its appearance; opens no mesh."""
    return model.attachments.look is not None


def has_visual(model: Model) -> bool:
    """Return whether the file has any visual shape."""
    return any(shape.use != "collision" for shape in model.shapes)


def list_seen(model: Model) -> list[Shape]:
    """Return the shapes to draw a body with: visual ones, or collision shapes if they cover enough of the body."""
    if has_visual(model):
        return [shape for shape in model.shapes if shape.use != "collision"]
    return list(model.shapes) if shows_body(model, list(model.shapes)) else []


def shows_body(model: Model, shapes: list[Shape]) -> bool:
    """Return whether shapes cover enough of a body's moving parts to recognise it.

    Joints at the same position, such as those of a hip, count once.
    """
    places: dict[tuple[float, ...], bool] = {}
    parts, T = find_rigid_parts(model), model.fk(model.rest)
    served = {parts[shape.frame] for shape in shapes}
    for joint in (joint for joint in model.joints if joint.nv and not joint.locked):
        place = tuple(np.round(T[model.frames.index(joint.frame)][:3, 3] / (SAME_PLACE * model.length or 1.0)).tolist())
        places[place] = places.get(place, False) or parts[joint.frame] in served
    return len(places) < MIN_PLACES or sum(places.values()) >= SHOWN_SHARE * len(places)
