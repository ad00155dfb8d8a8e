"""Pose: one whole-body configuration, a model and its q."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch
from poise.model import Frame, Model
from poise.spatial import Transform

__all__ = ["Pose", "checked_configuration"]

Floats = NDArray[np.float64]


def checked_configuration(model: Model, q: ArrayLike, ndim: int) -> Floats:
    """A read-only copy of q with quaternions made unit; `ndim` axes, the last of length nq."""
    if not isinstance(model, Model):
        raise ModelMismatch(f"model must be a poise.Model, not {type(model).__name__}.")
    if np.ndim(q) != ndim:
        wanted = f"({model.nq},)" if ndim == 1 else f"(frames, {model.nq})"
        raise ShapeMismatch(f"q has shape {np.shape(q)}; it must be {wanted}.")
    out = np.array(model.integrate(np.asarray(q, dtype=np.float64), np.zeros(model.nv)))
    out.setflags(write=False)
    return out


class Pose:
    """A model standing in one configuration; frozen.

    Attributes:
        model: The body.
        q: Its configuration, read-only, (nq,).
    """

    __slots__ = ("model", "q")

    model: Model
    q: Floats

    def __init__(self, model: Model, q: ArrayLike | None = None) -> None:
        object.__setattr__(self, "q", checked_configuration(model, model.rest if q is None else q, 1))
        object.__setattr__(self, "model", model)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Pose is frozen: {name!r} cannot be set. Use replace().")

    def __reduce__(self) -> tuple[Any, ...]:
        return Pose, (self.model, self.q)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return self.model == other.model and bool(np.array_equal(self.q, other.q))

    def __hash__(self) -> int:
        return hash((self.model, self.q.tobytes()))

    def transform(self, frame: str | Frame) -> Transform:
        """T_world_frame."""
        return Transform.from_matrix(self.model.fk(self.q, frame))

    def position(self, frame: str | Frame) -> Floats:
        """Where the frame's origin is in the world [m], (3,)."""
        return np.array(self.model.fk(self.q, frame)[:3, 3])

    def replace(self, joints: Mapping[str, ArrayLike]) -> Pose:
        """The pose with some joints set: name to a number, or to as many as the joint has in q.

        Raises:
            NameNotFound: There is no such joint.
            InvalidValue: The joint follows another one, or is fixed.
        """
        q = self.q.copy()
        for name, value in joints.items():
            joint = self.model.joint(name)
            if joint.mimic:
                raise InvalidValue(f"joint {joint.name!r} follows {joint.mimic.joint!r}; set that one instead.")
            if not joint.nq:
                raise InvalidValue(f"joint {joint.name!r} is fixed; it has no value to set.")
            values = np.asarray(value, dtype=np.float64).reshape(-1)
            if values.shape != (joint.nq,):
                raise ShapeMismatch(f"joint {joint.name!r} has {joint.nq} numbers in q, not {values.size}.")
            q[joint.q] = values
        return Pose(self.model, q)

    def __repr__(self) -> str:
        return f"<Pose of {self.model.name!r}: q = {np.array2string(self.q, precision=4, threshold=12)}>"
