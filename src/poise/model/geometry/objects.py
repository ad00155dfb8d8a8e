"""Object: a prop, such as a box in two hands, on a given path.

    T_world_object[t]     pose of the object at frame t; constant for an object that does not move

Its shape is in its own axes: a box around the origin, a capsule or cylinder along z, unless the shape has a placement.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.model.geometry.shapes import Box, Capsule, Cylinder, Mesh, Sphere, check_color
from poise.model.spec import freeze
from poise.spatial import Rotation, as_transform
from poise.spatial.arrays import read_finite

__all__ = ["Object"]

Solid = Box | Capsule | Cylinder | Sphere
COLOR = (0.85, 0.62, 0.36, 1.0)
MEAN_SPEED, MEAN_TURN = 0.4, 1.0  # m/s, rad/s: of an object that hands move
DEFAULT_FPS = 30.0
FACES = ("+x", "-x", "+y", "-y", "+z", "-z")


class Object:
    """A prop that moves along a given path and can be held by hands; frozen.

    Args:
        shape: A Box, Sphere, Capsule or Cylinder of `poise.model`; its own placement, if any, is in the axes of the
            object.
        transform: Its pose: a transform, (4, 4); or one per frame, (frames, 4, 4); or a `Motion` of a body, whose
            `frame` it follows.
        name: Its name in errors, `why()` and files; by default its kind ("box").
        fps: Frame rate of the path; by default that of the motion, or of the caller.
        color: Red, green, blue and optional opacity, 0 to 1.
        frame: The frame to follow if the path is a `Motion`; by default the last one.

    Attributes:
        shape: The solid.
        transforms: Its poses, read-only, (4, 4) or (frames, 4, 4).
        name: Its name.
        fps: Frames per second, or None if not given.
        color: Red, green, blue, opacity.

    Raises:
        InvalidValue: The shape cannot be held, or a number is invalid.
        ShapeMismatch: The path is neither a transform nor a sequence of transforms.
    """

    __slots__ = ("color", "fps", "name", "shape", "transforms")

    shape: Solid
    transforms: Floats
    name: str
    fps: float | None
    color: tuple[float, float, float, float]

    def __init__(
        self,
        shape: Solid,
        transform: Any,
        *,
        name: str | None = None,
        fps: float | None = None,
        color: Any = None,
        frame: str | None = None,
    ) -> None:
        if isinstance(shape, Mesh):
            raise InvalidValue("Object: shape is a Mesh, which is never opened; give the Box around it.")
        if not isinstance(shape, Solid):
            raise InvalidValue(f"Object: shape is {shape!r}; it must be a Box, Sphere, Capsule or Cylinder.")
        path, rate = read_path(transform, fps, frame)
        for slot, value in {
            "shape": shape,
            "transforms": freeze(np.array(path)),
            "name": type(shape).__name__.lower() if name is None else read_name(name),
            "fps": rate,
            "color": COLOR if color is None else check_color(color, "Object"),
        }.items():
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Object is frozen: {name!r} cannot be set; make another one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an Object is frozen: {name!r} cannot be deleted; make another one.")

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (self.shape, self.transforms, self.name, self.fps, self.color)

    @property
    def frames(self) -> int | None:
        """The number of frames of its path, or None if it does not move."""
        return None if self.transforms.ndim == 2 else len(self.transforms)

    @property
    def offset(self) -> Floats:
        """The pose of its solid in the object's own axes, (4, 4)."""
        own = getattr(self.shape, "placement", None)
        return np.eye(4) if own is None else np.array(own.matrix)

    @property
    def half(self) -> Floats:
        """Half the extent of its solid along the solid's axes [m], (3,)."""
        return measure_half(self.shape)

    def follow(self, frames: int) -> Floats:
        """Return its pose at each frame, (frames, 4, 4).

        Raises:
            ShapeMismatch: Its path has another number of frames.
        """
        if self.frames is None:
            return np.repeat(self.transforms[None], frames, axis=0)
        if self.frames != frames:
            raise ShapeMismatch(f"the path of {self.name!r} has {self.frames} frames, but {frames} are needed.")
        return np.array(self.transforms)

    def measure_distance(self, point: Any) -> float:
        """Return the signed distance of a point, in the object's own axes, from its surface [m]; negative inside.

        Raises:
            ShapeMismatch: The point does not have three numbers.
            InvalidValue: The point is not numeric or not finite.
        """
        p, T = read_finite(point, (3,), "point"), self.offset
        if p.shape != (3,):
            raise ShapeMismatch(f"point has shape {p.shape}; it must be (3,), one place.")
        return measure_distance(self.shape, T[:3, :3].T @ (p - T[:3, 3]))

    def move(self, transform: Any) -> Object:
        """Return the same object at another pose, or along another path."""
        return Object(self.shape, transform, name=self.name, fps=self.fps, color=self.color)

    def move_through(self, transforms: Any, *, seconds: float | None = None, fps: float | None = None) -> Object:
        """Return the same object on a path from its pose, or the end of its path, through other poses.

        It moves straight and turns the shortest way, and rests at each pose: the share s of a stretch at the part p
        of its time is s = 10 p^3 - 15 p^4 + 6 p^5, the motion with the least jerk.

        Args:
            transforms: One pose (4, 4) or several (k, 4, 4), in this order.
            seconds: The duration; by default stretches have mean speeds of at most 0.4 m/s and 1 rad/s. A pose
                where it already is, with a duration, is a pause.
            fps: The frame rate; by default that of its path, otherwise 30.

        Raises:
            InvalidValue: A number is invalid.
            ShapeMismatch: The poses are not transforms.
        """
        rate = check_positive(fps if fps is not None else self.fps or DEFAULT_FPS, "Object: fps")
        before = self.transforms.reshape(-1, 4, 4)
        stops = np.concatenate([before[-1:], read_path(transforms, None, None)[0].reshape(-1, 4, 4)])
        times = np.array([measure_stretch(a, b) for a, b in pairwise(stops)])
        if seconds is not None:
            shares = times / times.sum() if times.any() else np.full(len(times), 1.0 / len(times))
            times = check_positive(seconds, "Object: seconds") * shares
        counts = np.maximum(np.rint(times * rate).astype(int), 1)
        made = [join_poses(a, b, n) for a, b, n in zip(stops[:-1], stops[1:], counts, strict=True)]
        return Object(self.shape, np.concatenate([before, *made]), name=self.name, fps=rate, color=self.color)

    def find_face(self, face: str) -> tuple[Floats, Floats]:
        """Return the centre of a face of its solid, "+x" to "-z", and its outward normal, in its own axes, (3,).

        Raises:
            InvalidValue: The object has no such face.
        """
        if face not in FACES:
            raise InvalidValue(f"{self.name!r} has no face {face!r}; it has {', '.join(FACES)}.")
        out = (1.0 if face[0] == "+" else -1.0) * np.eye(3)["xyz".index(face[1])]
        T = self.offset
        return T[:3, :3] @ (out * self.half) + T[:3, 3], T[:3, :3] @ out

    def __repr__(self) -> str:
        path = "still" if self.frames is None else f"{self.frames} frames"
        return f"<Object {self.name!r}: {type(self.shape).__name__}, {path}>"


def measure_stretch(a: Floats, b: Floats) -> float:
    """Return the default duration of a stretch between two poses [s]."""
    turn = Rotation.from_matrix(a[:3, :3].T @ b[:3, :3])
    return float(max(np.linalg.norm(b[:3, 3] - a[:3, 3]) / MEAN_SPEED, np.linalg.norm(turn.log()) / MEAN_TURN))


def join_poses(a: Floats, b: Floats, frames: int) -> Floats:
    """Return a path from rest at one pose to rest at another, without the first, (frames, 4, 4)."""
    p = np.arange(1, frames + 1) / frames
    s = p**3 * (10.0 - 15.0 * p + 6.0 * p**2)
    out = np.tile(np.eye(4), (frames, 1, 1))
    out[:, :3, 3] = a[:3, 3] + s[:, None] * (b[:3, 3] - a[:3, 3])
    first, last = Rotation.from_matrix(a[:3, :3]), Rotation.from_matrix(b[:3, :3])
    out[:, :3, :3] = first.slerp(last, s).matrix
    return out


def measure_half(shape: Solid) -> Floats:
    """Return half the extent of a solid along its own axes [m]."""
    if isinstance(shape, Box):
        return 0.5 * np.array(shape.size)
    around = shape.radius
    along = around if isinstance(shape, Sphere) else shape.length / 2 + (around if isinstance(shape, Capsule) else 0.0)
    return np.array([around, around, along])


def measure_distance(shape: Solid, p: Floats) -> float:
    """Return the signed distance of a point, in the axes of a solid, from its surface [m]; negative inside."""
    if isinstance(shape, Box):
        over = np.abs(p) - measure_half(shape)
    elif isinstance(shape, Cylinder):
        over = np.array([np.hypot(p[0], p[1]) - shape.radius, abs(p[2]) - shape.length / 2])
    else:
        half = 0.0 if isinstance(shape, Sphere) else shape.length / 2
        return float(np.linalg.norm(p - np.array([0.0, 0.0, np.clip(p[2], -half, half)])) - shape.radius)
    return float(np.linalg.norm(np.maximum(over, 0.0)) + min(float(over.max()), 0.0))


def read_name(name: Any) -> str:
    """Return the name of an object. Raises `InvalidValue` for anything but non-empty text."""
    if not isinstance(name, str) or not name:
        raise InvalidValue(f"Object: name is {name!r}; it must be text that is not empty.")
    return name


def read_path(given: Any, fps: Any, frame: str | None) -> tuple[NDArray[np.float64], float | None]:
    """Return a path as (4, 4) or (frames, 4, 4), and its frame rate if one is known."""
    model, q = getattr(given, "model", None), getattr(given, "q", None)
    if model is not None and q is not None:
        fps = getattr(given, "fps", None) if fps is None else fps
        given = model.fk(q, model.frames[-1] if frame is None else frame)
    elif frame is not None:
        raise InvalidValue(f"Object: frame is {frame!r}, but the path is not a Motion, which has frames; leave it out.")
    path = np.asarray(as_transform(given, "Object: transform").matrix, dtype=np.float64)
    if isinstance(given, np.ndarray) and given.shape == path.shape:
        path = np.asarray(given, dtype=np.float64)  # it was checked; keep it bit for bit
    if path.ndim not in (2, 3) or not path.size:
        raise ShapeMismatch(
            f"Object: transform has shape {path.shape}; give one transform (4, 4), or one a frame (frames, 4, 4)."
        )
    return path, None if fps is None else check_positive(fps, "Object: fps")


def remake(shape: Solid, transforms: Floats, name: str, fps: float | None, color: Any) -> Object:
    """Return an object from its pickle."""
    return Object(shape, transforms, name=name, fps=fps, color=color)
