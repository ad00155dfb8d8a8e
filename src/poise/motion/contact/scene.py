"""Scene: the surfaces around a body, and the ground below a point. A floor at height 0 belongs to every scene.

The ground below a point is the highest surface that the point is above or inside of. A surface up to STEP_SHARE of the
body's length above the point counts as well, because a foot on a thin stair may begin below it; a table top does not.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from poise.arrays import Floats, Ints
from poise.errors import InvalidValue, show_value
from poise.kinematics.height_map import HeightMap
from poise.kinematics.regions import Box, HalfSpace
from poise.model import Model
from poise.motion.contact.region_shapes import Obstacle, find_extent, measure_gap

__all__ = ["Scene", "read_scene"]

STEP_SHARE = 0.15  # of the body's length: height above a point up to which a surface is still its ground
LEAST_UP = 1.0 - 1e-6  # cosine of the angle between the up directions of a height map and of the model
OVERLAP_M = 1e-4  # a way out of a region that ends deeper inside another one is not a way out


class Scene:
    """Regions of the world around a body, with a floor at height 0.

    Attributes:
        regions: The floor, then the given regions.
        up: The up direction.
        length: The length of the body [m].
        step: The height above a point up to which a surface is still its ground [m].

    Args:
        regions: The regions.
        model: The body.
    """

    def __init__(self, regions: tuple[Obstacle, ...], model: Model) -> None:
        self.up = model.up_direction
        self.length = model.length
        self.step = STEP_SHARE * model.length
        self.regions: tuple[Obstacle, ...] = (
            HalfSpace((0.0, 0.0, 0.0), self.up, name="the floor"),
            *(sink_base(region, self.up, self.length) for region in regions),
        )

    def find_ground(self, places: Floats) -> Floats:
        """Return the height of the ground below places (..., 3), (...) [m]."""
        heights, out = places @ self.up, np.zeros(places.shape[:-1])
        for region in self.regions[1:]:
            low, high = find_extent(region, places, self.up)
            out = np.where(np.minimum(low, high - self.step) <= heights, np.maximum(out, high), out)
        return out

    def measure_gaps(self, places: Floats) -> tuple[Floats, Floats, Ints]:
        """Return the gap of places (..., 3) from the nearest region, its gradient, and the index of the region.

        Inside, the gradient is the way out: to the nearest face, or up if that face is inside another region.
        """
        found = [measure_gap(region, places) for region in self.regions]
        each = np.stack([gap for gap, _ in found])
        nearest = np.argmin(each, axis=0)
        gaps = np.take_along_axis(each, nearest[None], axis=0)[0]
        normals = np.take_along_axis(np.stack([way for _, way in found]), nearest[None, ..., None], axis=0)[0]
        deep = np.flatnonzero(gaps.ravel() < 0.0)
        if len(deep):
            gaps, normals = gaps.copy(), normals.copy()
            self._turn_up(places.reshape(-1, 3), deep, nearest.ravel(), gaps.reshape(-1), normals.reshape(-1, 3))
        return gaps, normals, nearest

    def _turn_up(self, places: Floats, deep: Ints, nearest: Ints, gaps: Floats, normals: Floats) -> None:
        """Replace ways out that end in another region by the way up; changes `gaps` and `normals`."""
        out = places[deep] - gaps[deep, None] * normals[deep]
        blocked = np.zeros(len(deep), dtype=bool)
        for k, region in enumerate(self.regions):
            blocked |= (nearest[deep] != k) & (measure_gap(region, out)[0] < -OVERLAP_M)
        at = deep[blocked]
        gaps[at] = places[at] @ self.up - self.find_ground(places[at])
        normals[at] = self.up

    def name(self, index: int) -> str:
        """Return the name of a region, or its kind."""
        region = self.regions[index]
        return region.name or type(region).__name__


def sink_base(region: Obstacle, up: Floats, depth: float) -> Obstacle:
    """Return a region; an upright box on the floor reaches down by `depth` [m] more: nothing is pushed out below it."""
    if not isinstance(region, Box):
        return region
    axis = int(np.argmax(np.abs(up @ region.matrix)))
    size, center = np.array(region.size), np.array(region.center)
    if abs(float(up @ region.matrix[:, axis])) < LEAST_UP or center @ up - 0.5 * size[axis] > OVERLAP_M:
        return region
    size[axis] += depth
    return Box(center - 0.5 * depth * up, size, region.rotation, name=region.name)


def read_scene(given: Any, model: Model) -> Scene | None:
    """Return the scene of a retargeting, or None if it is empty.

    Raises:
        InvalidValue: An item is not a region, or a height map has another up direction than the model.
    """
    items = (given,) if isinstance(given, Obstacle) else tuple(given) if isinstance(given, Iterable) else None
    if items is None or isinstance(given, str) or not all(isinstance(item, Obstacle) for item in items):
        raise InvalidValue(
            f"scene is {show_value(given)}; it must be a list of Box, HeightMap, HalfSpace, Sphere, Capsule, Cylinder."
        )
    for item in items:
        if isinstance(item, HeightMap) and float(item.up @ model.up_direction) < LEAST_UP:
            axis = "xyz"[int(np.argmax(model.up_direction))]
            raise InvalidValue(
                f"scene: {item.name or item!r} does not face up in the world of {model.name!r}, whose up is {axis}; "
                f"type HeightMap(..., up={axis!r})."
            )
    return Scene(items, model) if items else None
