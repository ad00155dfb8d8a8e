"""Grasp: keep a hand fixed to an object while the object moves along its path.

    residual  that of Reach(hand, T_world_object[t] T_object_hand) at every frame t     metres (in units of L), radians

`during` limits it to a part of the path. For a single pose the object must not move; `poise.motion.track` follows the
whole path. Source: Yamane, Kuffner and Hodgins, Synthesizing animations of human manipulation tasks, 2004 (hands follow
the path of an object).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch
from poise.goals.goal import Goal, GoalRows, read_numbers
from poise.goals.reach import Reach
from poise.model import Model, Object
from poise.model.geometry.objects import FACES
from poise.model.joints.joint import Frame, Joint, get_name
from poise.spatial import Transform, as_transform

__all__ = ["Grasp"]


@dataclass(frozen=True, eq=False)
class Grasp(Goal):
    """Keep a hand fixed to an object.

    Attributes:
        hand: The hand: a frame, a joint, or a role such as "hand_l".
        object: The object that it holds; see `poise.Object`.
        where: The grip, in the object's axes: a transform (position and rotation); three numbers (position alone); a
            face of the object, "+x" to "-z", with the palm flat on it and free to spin; or None: the contact of the
            hand at the start, otherwise the palm on the face nearest to the hand's own side.
        during: When the hand holds the object, from and to [s]; by default always. Two grasps of one hand at
            different times are a regrasp.
    """

    hand: str
    object: Object
    where: Any = None
    during: Any = None

    default_name = "grasp"

    def __post_init__(self) -> None:
        self.check_common()
        if np.ndim(self.weight):
            raise InvalidValue(f"Grasp: weight has {np.size(self.weight)} numbers; give one: a hand holds as a whole.")
        if not isinstance(self.hand, (str, Joint, Frame)) or not self.hand:
            raise InvalidValue(f"Grasp: hand is {self.hand!r}; it must be the name of a frame, a joint or a role.")
        object.__setattr__(self, "hand", get_name(self.hand))
        if not isinstance(self.object, Object):
            told = "an object that moves along its path: poise.Object(Box(size), transforms)"
            raise InvalidValue(f"Grasp: object is {self.object!r}; it must be {told}.")
        object.__setattr__(self, "where", read_where(self.where, self.object))
        object.__setattr__(self, "during", read_interval(self.during))

    @property
    def frame(self) -> str:
        """The hand, under the attribute name of other goals."""
        return self.hand

    def list_held(self, frames: int, fps: float) -> NDArray[np.bool_]:
        """Flag the frames in which the hand holds the object, (frames,).

        Raises:
            InvalidValue: There are none.
        """
        first, last = (0.0, np.inf) if self.during is None else self.during
        seconds = np.arange(frames) / fps
        held: NDArray[np.bool_] = (seconds >= first - 1e-9) & (seconds <= last + 1e-9)
        if not held.any():
            raise InvalidValue(f"Grasp: during is {self.during}; the motion has {frames / fps:.3g} s.")
        return held

    def reach(self, model: Model) -> Reach:
        """Return the goal for a single pose, with an object that does not move.

        Raises:
            InvalidValue: The object moves, or the grip depends on a motion.
        """
        if self.object.frames is not None:
            raise InvalidValue(
                f"Grasp: {self.object.name!r} moves over {self.object.frames} frames, and a pose is one; type "
                "poise.motion.track(model, [Grasp(...)]), or give the object one transform."
            )
        if self.where is None or isinstance(self.where, str):
            raise InvalidValue(
                f"Grasp: where is {self.where!r}, which only poise.motion.track can determine; for one pose give a "
                "transform or three numbers, in the axes of the object."
            )
        there = as_transform(self.object.transforms)
        target = there @ self.where if isinstance(self.where, Transform) else there.apply(self.where)
        return Reach(
            self.hand,
            target,
            weight=self.weight,
            priority=self.priority,
            name=self.name,
            tolerance=self.tolerance,
        )

    def rows(self, model: Model) -> GoalRows:
        """Return the goal for the kernels; see `Goal.rows`."""
        return replace(self.reach(model).rows(model))


def read_interval(during: Any) -> tuple[float, float] | None:
    """Return two times [s] or None. Raises `InvalidValue` for anything else."""
    if during is None:
        return None
    numbers = read_numbers(during, "Grasp: during", "give two numbers [s]")
    if numbers.shape != (2,) or not 0.0 <= numbers[0] <= numbers[1]:
        raise InvalidValue(f"Grasp: during is {during!r}; give two times [s], such as (0.5, 2.0).")
    return float(numbers[0]), float(numbers[1])


def read_where(where: Any, held: Object) -> Transform | NDArray[np.float64] | str | None:
    """Return a transform, a point (3,), a face or None. Raises `InvalidValue` for anything else."""
    if where is None:
        return None
    if isinstance(where, str):
        if where not in FACES:
            raise InvalidValue(f"Grasp: where is {where!r}; the faces of {held.name!r} are {', '.join(FACES)}.")
        return where
    if (
        isinstance(where, (tuple, list, np.ndarray))
        and len(where) == 3
        and all(np.isscalar(number) for number in where)
    ):
        point = read_numbers(where, "Grasp: where", "give three numbers [m]")
        if not np.isfinite(point).all():
            raise InvalidValue(f"Grasp: where is {where!r}; every number must be finite.")
        point.setflags(write=False)
        return point
    found = as_transform(where, "Grasp: where")
    if found.shape != ():
        raise ShapeMismatch(f"Grasp: where is {found.shape} transforms; give one: the hand stays where it is.")
    return found
