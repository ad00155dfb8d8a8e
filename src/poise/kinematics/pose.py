"""Pose: one whole-body configuration, a model and its q."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch, UnitWarning
from poise.keywords import NotHere, refuse_unknown
from poise.model import Frame, Model
from poise.model.degrees import doubt_start
from poise.notebook import NotebookCell
from poise.spatial import Transform
from poise.spatial.arrays import read_reals

__all__ = ["Pose", "check_configuration", "check_model"]


def check_model(model: object) -> None:
    """Raise `ModelMismatch` for anything but a Model, with the call to type."""
    if not isinstance(model, Model):
        hint = f"; type: poise.load({model!r})" if isinstance(model, str) else "; the model comes first"
        raise ModelMismatch(f"model must be a poise.Model, not {type(model).__name__}{hint}.")


def check_configuration(model: Model, q: ArrayLike | None, ndim: int) -> Floats:
    """Return a read-only copy of q with unit quaternions; `ndim` axes, the last of length nq."""
    check_model(model)
    if isinstance(q, str):
        known = ", ".join(map(repr, model.poses)) or "none"
        raise InvalidValue(f"q is {q!r}; for a named pose type model.poses[name]; {model.name!r} has: {known}.")
    if isinstance(q, Mapping):
        raise InvalidValue(f"q is a {type(q).__name__}; for some joints by name type Pose(model).replace(values).")
    given = read_reals(q, "q")
    if given.ndim != ndim:
        wanted = f"({model.nq},)" if ndim == 1 else f"(frames, {model.nq})"
        raise ShapeMismatch(f"q has shape {given.shape}; it must be {wanted}.")
    if model.nq == model.nv == given.shape[-1] and np.isfinite(given).all():  # no quaternions
        given.setflags(write=False)
        return given
    unit = model.integrate(given, np.zeros(model.nv))
    out = np.where(np.abs(unit - given) <= 1e-15, given, unit)  # unit quaternions are kept bit for bit
    out.setflags(write=False)
    return out


class Pose(NotebookCell):
    """A model in one configuration; frozen.

    Attributes:
        model: The body.
        q: Its configuration, read-only, (nq,).
    """

    __slots__ = ("model", "q")

    model: Model
    q: Floats
    joints = joint_angles = angles = qpos = NotHere("pose.q, or pose.q[model.joint(name).q] for one joint")
    __getitem__ = NotHere("pose.position(frame), pose.transform(frame), or pose.q[model.joint(name).q]")

    @refuse_unknown
    def __init__(self, model: Model, q: ArrayLike | None = None) -> None:
        if q is None and isinstance(model, Model):
            q = model.rest
        object.__setattr__(self, "q", check_configuration(model, q, 1))
        object.__setattr__(self, "model", model)

    @classmethod
    def from_valid(cls, model: Model, q: Floats) -> Pose:
        """Return a pose of a configuration with unit quaternions; the array is not copied."""
        self = object.__new__(cls)
        q.setflags(write=False)
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "model", model)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Pose is frozen: {name!r} cannot be set. Use replace().")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Pose is frozen: {name!r} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Pose, (self.model, self.q)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return self.model == other.model and bool(np.array_equal(self.q, other.q))

    def __hash__(self) -> int:
        return hash((self.model, self.q.tobytes()))

    def transform(self, frame: str | Frame) -> Transform:
        """Return T_world_frame."""
        return Transform.from_matrix(self.model.fk(self.q, frame))

    def position(self, frame: str | Frame) -> Floats:
        """Return the position of the frame's origin in the world [m], (3,)."""
        return np.array(self.model.fk(self.q, frame)[:3, 3])

    def plain_values(self) -> dict[str, Any]:
        """Return the pose as plain values, for JSON: the name of the body, q, and the values of each joint."""
        joints = {j.name: self.q[j.q].tolist() for j in self.model.joints if j.nq and not j.mimic}
        return {"poise": "pose", "model": self.model.name, "q": self.q.tolist(), "joints": joints}

    @refuse_unknown
    def replace(self, joints: Mapping[str, ArrayLike]) -> Pose:
        """Return the pose with some joints set: name to a number, or to all coordinates of the joint.

        Raises:
            NameNotFound: The model has no such joint.
            InvalidValue: The joint follows another one, or is fixed.
        """
        if not isinstance(joints, Mapping):
            raise InvalidValue(f"joints must be a mapping such as {{'elbow': 0.5}}, not {joints!r}.")
        q = self.q.copy()
        for name, value in joints.items():
            joint = self.model.joint(name)
            if joint.mimic:
                raise InvalidValue(f"joint {joint.name!r} follows {joint.mimic.joint!r}; set that one instead.")
            if not joint.nq:
                raise InvalidValue(f"joint {joint.name!r} is fixed; it has no value to set.")
            values = read_reals(value, f"joint {joint.name!r}").reshape(-1)
            if values.shape != (joint.nq,):
                raise ShapeMismatch(f"joint {joint.name!r} has {joint.nq} numbers in q, not {values.size}.")
            q[joint.q] = values
            for doubt in doubt_start([joint], q):
                warnings.warn(doubt, UnitWarning, stacklevel=2)
        return Pose(self.model, q)

    def __repr__(self) -> str:
        return f"<Pose of {self.model.name!r}: q = {np.array2string(self.q, precision=4, threshold=12)}>"
