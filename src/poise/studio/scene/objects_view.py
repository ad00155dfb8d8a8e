"""The objects of a motion in the scene, held or static. They move with the clip."""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.model import Object
from poise.pictures.body.solids import place_object
from poise.pictures.mesh_picture import make_thing
from poise.spatial import Rotation
from poise.studio.scene.node_moves import Movers
from poise.studio.scene.scenery import Scenery

__all__ = ["ObjectsView", "sample_object"]

LEAST_VISIBLE_MOVE = 1e-6  # rotations [rad], and translations relative to model length, too small to be visible


class ObjectsView:
    """The objects of the open clip.

    Attributes:
        shown: The objects in the scene.
        nodes: Their nodes.
    """

    def __init__(self, scenery: Scenery) -> None:
        self._scenery = scenery
        self.shown: tuple[Object, ...] = ()
        self.nodes: list[Any] = []
        self._movers = Movers((), fine=LEAST_VISIBLE_MOVE, length=1.0)
        self._made = 0
        scenery.player.changed.append(lambda what: self.change() if what == "motion" else None)

    def change(self) -> None:
        """Show the objects of another clip; those of an edited clip are kept."""
        motion = self._scenery.player.motion
        things = () if motion is None else motion.objects
        if self._scenery.is_stopped() or describe_all(things) == describe_all(self.shown):
            self.shown = things
            return
        with self._scenery.server.atomic():
            for node in self.nodes:
                node.remove()
            self._made += 1
            self.shown, self.nodes = things, [self._add(k, each) for k, each in enumerate(things)]
            self._movers = Movers(self.nodes, fine=LEAST_VISIBLE_MOVE, length=self._scenery.model.length)
            self.follow()

    def follow(self) -> None:
        """Move all objects to the current time of the clip."""
        motion = self._scenery.player.motion
        if motion is not None and self.nodes and len(motion.objects) == len(self.nodes):
            places = [sample_object(motion, each, self._scenery.player.seconds) for each in motion.objects]
            self._movers.show(np.array(places))

    def _add(self, k: int, thing: Object) -> Any:
        """Add an object to the scene."""
        piece = make_thing(place_object(thing))
        red, green, blue, opacity = thing.color
        return self._scenery.server.scene.add_mesh_simple(
            f"/objects_{self._made}/{k}",
            piece.patch.vertices,
            piece.patch.triangles,
            color=(round(255 * red), round(255 * green), round(255 * blue)),
            opacity=None if opacity >= 1.0 else opacity,
            cast_shadow=opacity >= 1.0,
            receive_shadow=True,
        )


def describe_all(things: tuple[Object, ...]) -> list[tuple[Any, ...]]:
    """Return the appearance of objects, without their paths."""
    return [(each.name, each.shape, each.color) for each in things]


def sample_object(motion: Motion, thing: Object, seconds: float) -> Floats:
    """Return the transform of an object at a time [s], interpolated between two frames, (4, 4)."""
    at = min(max(seconds * motion.fps, 0.0), len(motion) - 1.0)
    low = int(at + 1e-9)
    T: Floats = thing.transforms[low]
    if at - low < 1e-9 or low + 1 >= len(motion):
        return T
    out, after, share = np.array(T), thing.transforms[low + 1], at - low
    out[:3, 3] += share * (after[:3, 3] - T[:3, 3])  # linear translation and slerp, as for a free joint
    out[:3, :3] = Rotation.from_matrix(T[:3, :3]).slerp(Rotation.from_matrix(after[:3, :3]), share).matrix
    return out
