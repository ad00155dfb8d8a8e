"""The motion of a body and of the objects that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.kinematics.motion import Motion
from poise.kinematics.pose import Pose
from poise.model import Model, ModelBuilder, Object
from poise.spatial import Rotation

__all__ = ["MotionWithObjects"]


class MotionWithObjects(Motion):
    """The motion of a body and of objects; frozen. It can be used wherever a `Motion` can.

    Viewers, pictures and glTF files include the objects. Edits of time (slices, `resampled`, `warped`, `reversed`,
    `smoothed`) apply to both; `mirrored`, `joined` and `looped` return the body alone.

    Attributes:
        objects: The objects, each with a transform for every frame.
    """

    __slots__ = ("_objects",)

    _objects: tuple[Object, ...]

    def __init__(self, model: Model, q: ArrayLike, fps: float = 30.0, objects: Iterable[Object] = ()) -> None:
        super().__init__(model, q, fps)
        given = tuple(objects)
        for each in given:
            if not isinstance(each, Object):
                raise InvalidValue(f"objects must be a list of poise.Object, not {each!r}.")
        if len({each.name for each in given}) < len(given):
            raise InvalidValue(f"two objects have the same name: {', '.join(each.name for each in given)}; give name=.")
        count = len(self)
        for each in given:
            if each.frames not in (None, count):
                raise ShapeMismatch(f"object {each.name!r} has {each.frames} frames, the motion {count}.")
        placed = tuple(each if each.frames else each.move(each.follow(count)) for each in given) if count else given
        object.__setattr__(self, "_objects", placed)

    def __reduce__(self) -> tuple[Any, ...]:
        return MotionWithObjects, (self.model, self.q, self.fps, self.objects)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MotionWithObjects):
            return NotImplemented
        same = [a.name == b.name and np.array_equal(a.transforms, b.transforms) for a, b in self._pair(other)]
        return len(self.objects) == len(other.objects) and bool(super().__eq__(other)) and all(same)

    __hash__ = Motion.__hash__

    def _pair(self, other: MotionWithObjects) -> Iterable[tuple[Object, Object]]:
        return zip(self.objects, other.objects, strict=False)

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects, each with a transform for every frame."""
        return self._objects

    @property
    def body(self) -> Motion:
        """The motion of the body alone."""
        return Motion(self.model, self.q, self.fps)

    @overload
    def __getitem__(self, index: int) -> Pose: ...
    @overload
    def __getitem__(self, index: slice) -> MotionWithObjects: ...
    def __getitem__(self, index: int | slice) -> Pose | MotionWithObjects:
        """Return the pose of the body at a frame, or the motion of body and objects over a slice of frames."""
        if not isinstance(index, slice):
            return self.body[index]
        cut = tuple(each.move(each.transforms[index]) for each in self.objects) if len(self.q[index]) else ()
        return MotionWithObjects(self.model, self.q[index], self.fps / abs(index.step or 1), cut)

    def resampled(self, fps: float) -> MotionWithObjects:
        """Return the same motion at another frame rate, over the same duration."""
        return self._edit(lambda motion: motion.resampled(fps))

    def warped(self, times: ArrayLike) -> MotionWithObjects:
        """Return the motion at other times: frame i of the result is this motion at `times[i]` seconds."""
        return self._edit(lambda motion: motion.warped(times))

    def reversed(self) -> MotionWithObjects:
        """Return the motion reversed in time."""
        return self._edit(lambda motion: motion.reversed())

    def smoothed(self, cutoff_hz: float) -> MotionWithObjects:
        """Return the motion low-pass filtered; hands slip a little on the objects."""
        return self._edit(lambda motion: motion.smoothed(cutoff_hz))

    def _edit(self, change: Callable[[Motion], Motion]) -> MotionWithObjects:
        """Apply an edit of time to the body and to each object as a body with one free joint."""
        edited = change(self.body)
        things = [each.move(find_transforms(change(make_motion(each, self.fps)))) for each in self.objects]
        return MotionWithObjects(self.model, edited.q, edited.fps, things)

    def __repr__(self) -> str:
        held = ", ".join(repr(each.name) for each in self.objects)
        return f"<Motion of {self.model.name!r} with {held}: {len(self)} frames at {self.fps:g} fps>"


def make_motion(thing: Object, fps: float) -> Motion:
    """Return the path of an object as the motion of a body with one free joint."""
    body = ModelBuilder(thing.name).add_joint(thing.name, None, "free").build()
    return Motion(body, np.stack([write_coordinates(T) for T in thing.transforms]), fps)


def find_transforms(motion: Motion) -> Floats:
    """Return the path of the first frame of a body, (frames, 4, 4)."""
    return np.asarray(motion.model.fk(motion.q, motion.model.frames[0]))


def write_coordinates(T: Floats) -> Floats:
    """Return a transform as the coordinates of a free joint: position, then quaternion wxyz."""
    return np.concatenate([T[:3, 3], Rotation.from_matrix(T[:3, :3]).wxyz])
