"""Reach: move a frame, or a point of it, to a position or pose.

    residual  r = [p_target - p;  log(R_target R^T)]      metres (in units of L) and radians, world axes
    Jacobian  J = [linear; angular] rows of the frame's world Jacobian at the point

Uneven rotation weights are along the target's own axes (see Orient). A 3-vector sets the position alone; a Range as a
coordinate accepts anything between two values, and its row is the distance to the closer one. With `relative_to`, the
target is given in that frame and moves with it; uneven position weights and ranges are then along that frame's axes
(for a transform: along its own axes):

    residual  r = R_target^T (p_target - p)

A planar body takes 2 numbers; its plane gives the third (see flat.py).

Source: Rabbani, A recipe to cook Jacobian, section 3.3 (orientation error R_d R_e^T).
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.flat import fill_place, find_third
from poise.goals.goal import POSE, POSITION, Goal, GoalRows, pack_target, read_numbers, read_weights
from poise.goals.range import Range, pack_place, read_place
from poise.keywords import refuse_unknown
from poise.kinematics.regions import LARGEST, read_position
from poise.model import Model
from poise.spatial import Transform, as_transform

__all__ = ["OverTime", "Reach"]


WEIGHT = (
    "Importance among goals of the same priority: one number; or 3, along the x, y and z axes of the world (of the "
    "frame that the target is given in); or for a transform 6, the last 3 about the target's own axes. 0 leaves a "
    "component free. The cost is sum |w r|^2, with r in units of the body's length L and in radians."
)


MANY = (
    "For many targets, use solve_batch, or make a Solver once and call solver.solve(start, {name: target}); for those "
    "of the frames of a motion, use poise.motion.track."
)

Third = Callable[[], tuple[int, float]]  # index and value of the coordinate normal to the plane


class OverTime:
    """Targets for the frames of a motion: points (frames, 3) or transforms (frames, 4, 4), for `poise.motion.track`.

    Points of a planar body may be pairs, (frames, 2).

    Attributes:
        values: The targets, read-only.
    """

    __slots__ = ("values",)

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = read_numbers(values, "target", "give points (frames, 3) or transforms (frames, 4, 4)")
        self.values.setflags(write=False)

    def __repr__(self) -> str:
        return f"<{len(self.values)} targets over time>"


@dataclass(frozen=True, eq=False)
class Reach(Goal, words={"weight": WEIGHT}):
    """Move a frame to a position, or to a position and rotation.

    Attributes:
        frame: The frame to move; any link, site or joint.
        target: Three numbers [m], each of which may be a Range; or a Transform, a 4x4 matrix or an SE3-like object. A
            planar body takes two numbers: the coordinates in its plane, (x, y) if its joints rotate about z. None for a
            point that comes later: `solver.solve(start, {name: target})`.
        point: A point of the frame, in its own coordinates [m]; by default its origin.
        relative_to: The frame in which the target is given; by default the world.
    """

    frame: str
    target: Any = None
    _: KW_ONLY
    point: ArrayLike | None = None
    relative_to: str | None = None

    default_name = "reach"

    def __post_init__(self) -> None:
        self.check_common()
        if self.target is not None:
            object.__setattr__(self, "target", read_target(self.target))
        if type(self.weight) is not float:
            read_weights(self.weight, 0, 6 if self.with_rotation else 3, "Reach")
        if self.point is not None:
            object.__setattr__(self, "point", np.array(read_position(self.point, "Reach: point")))
            self.point.setflags(write=False)  # type: ignore[union-attr]

    @property
    def with_rotation(self) -> bool:
        """Whether the target includes a rotation."""
        if isinstance(self.target, OverTime):
            return self.target.values.ndim == 3
        return isinstance(self.target, Transform)

    @property
    def ranged(self) -> bool:
        """Whether a coordinate is a Range."""
        return isinstance(self.target, tuple)

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        if isinstance(self.target, OverTime):
            refuse_shape(self.target.values.shape)
        count = 6 if self.with_rotation else 3
        weight = read_weights(self.weight, 0, count, "Reach")
        even = type(self.weight) is float
        third = partial(find_third, model, self.frame, self.point, self.relative_to)
        return GoalRows(
            op=POSE if self.with_rotation else POSITION,
            frame=self.frame,
            base=self.relative_to,
            point=np.zeros(3) if self.point is None else np.array(self.point, dtype=np.float64),
            weight=weight,
            target=pack_target(None, None) if self.target is None else self._pack(third, self.target),
            exact=self.with_rotation and not even and len(set(weight[3:].tolist())) > 1,
            convert=partial(self._convert, third),
            local=self.relative_to is not None and (self.ranged or len(set(weight[:3].tolist())) > 1),
            ranged=self.ranged,
            size=count,
            third=third if count == 3 else None,
        )

    def _convert(self, third: Third, target: Any) -> NDArray[np.float64]:
        read = read_target(target)
        if isinstance(read, Transform) != self.with_rotation:
            wanted = "a transform" if self.with_rotation else "a point"
            first = (
                f" For transforms that come later type Reach({self.frame!r}, Transform())."
                if self.target is None
                else ""
            )
            raise ShapeMismatch(
                f"goal on {self.frame!r}: it was made for {wanted}; the new target must be one too.{first}"
            )
        return self._pack(third, read)

    def _pack(self, third: Third, read: Any) -> NDArray[np.float64]:
        """Return the packed form of a parsed target."""
        if not isinstance(read, Transform) and len(read) == 2:
            read = fill_place(read, *third())
        if self.ranged:
            return pack_place(read, ranged=True)
        if isinstance(read, tuple):
            raise ShapeMismatch(
                f"goal on {self.frame!r}: it was made for a point without ranges; the new target must be one too."
            )
        return pack_transform(read)


Reach.__init__ = refuse_unknown(Reach.__init__)  # type: ignore[method-assign]


def read_target(target: Any) -> Any:
    """Return a point (3,), coordinates with a Range among them, one Transform, or targets over time.

    A point may be a pair (2,); the plane of the body gives the third number.
    """
    if type(target) is np.ndarray and is_over_time(target.shape):
        return OverTime(target)
    if isinstance(target, (tuple, list)) and any(isinstance(part, Range) for part in target):
        return read_place(target, "target", fewest=2)
    if type(target) is np.ndarray and target.shape == (4, 4):
        transform = as_transform(target, "target")
        check_lengths(transform.translation, "target")
        return transform
    if isinstance(target, (tuple, list, np.ndarray)):
        array = read_numbers(target, "target", "give 3 numbers [m], a Transform or a 4x4 matrix")
        if array.shape in ((3,), (2,)):
            check_lengths(array, "target")
            array.setflags(write=False)
            return array
        refuse_shape(array.shape)
    transform = as_transform(target, "target")
    refuse_shape((*transform.translation.shape[:-1], 4, 4))
    check_lengths(transform.translation, "target")
    return transform


def is_over_time(shape: tuple[int, ...]) -> bool:
    """Return whether a shape is that of transforms (frames, 4, 4) or points (frames, 3 or 2), but not (3, 3)."""
    return shape[1:] == (4, 4) or (len(shape) == 2 and (shape[1] == 2 or shape[1] == 3 != shape[0]))


def refuse_shape(shape: tuple[int, ...]) -> None:
    """Raise `ShapeMismatch` for arrays that are neither a point nor a transform, with the call to type."""
    if shape in ((3,), (4, 4)):
        return
    hint = MANY
    if shape == (3, 3):
        hint = f"A rotation alone is Orient(frame, rotation); with a place it is Transform(rotation, place). {hint}"
    if shape == (7,):
        xyzw = "Transform(Rotation.from_xyzw(xyzw), xyz)"
        hint = f"For a place and a quaternion type Transform(wxyz, xyz), or {xyzw} where the real part comes last."
    raise ShapeMismatch(f"target has shape {shape}; give 3 numbers [m] or one 4x4 transform. {hint}")


def check_lengths(values: NDArray[np.float64], what: str) -> None:
    """Raise `InvalidValue` for numbers that are not finite or whose squares overflow."""
    if not all(abs(x) < LARGEST for x in values.tolist()):
        raise InvalidValue(f"{what} is {values.tolist()}; every number must be finite (and below {LARGEST:g}).")


def pack_transform(target: NDArray[np.float64] | Transform) -> NDArray[np.float64]:
    """Return the packed target (12,)."""
    if isinstance(target, Transform):
        return pack_target(target.rotation.matrix, target.translation)
    return pack_target(None, target)
