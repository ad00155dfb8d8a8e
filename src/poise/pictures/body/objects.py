"""Solids drawn with a body: the objects it holds, and static surroundings."""

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.pictures.body.solids import place_object
from poise.pictures.body.surface import Solid
from poise.pictures.bounds import find_floor, outline_core

__all__ = ["find_floor_of", "list_beside", "outline_beside"]


def list_beside(motion: Motion, k: int) -> list[Solid]:
    """List the objects of a motion at frame `k` as solids of the world."""
    return [place_object(each, each.transforms[k]) for each in motion.objects]


def outline_beside(motion: Motion) -> Floats:
    """Return the outermost points of the objects of a motion over time, (n, 3)."""
    return np.concatenate(
        [
            np.zeros((0, 3)),
            *(outline_core(place_object(each), each.transforms).reshape(-1, 3) for each in motion.objects),
        ]
    )


def find_floor_of(motion: Motion) -> float:
    """Return the height of the lowest point of a motion, its objects included."""
    floor, points = find_floor(motion.model, motion.q), outline_beside(motion)
    return min(floor, float(points[:, motion.model.up_axis].min())) if len(points) else floor
