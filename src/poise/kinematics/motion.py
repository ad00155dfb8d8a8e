"""Motion: poses over time with a frame rate."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidValue
from poise.kinematics.drawn import Drawn
from poise.kinematics.pose import Floats, Pose, check_configuration
from poise.model import Model

__all__ = ["Motion"]


class Motion(Drawn):
    """A model moving; frozen.

    Attributes:
        model: The body.
        q: Configurations, read-only, (frames, nq).
        fps: Frames per second.
    """

    __slots__ = ("fps", "model", "q")

    model: Model
    q: Floats
    fps: float

    def __init__(self, model: Model, q: ArrayLike, fps: float = 30.0) -> None:
        object.__setattr__(self, "q", check_configuration(model, q, 2))
        object.__setattr__(self, "model", model)
        if not (isinstance(fps, Real) and np.isfinite(fps) and fps > 0):
            raise InvalidValue(f"fps is {fps!r}; it must be a positive number.")
        object.__setattr__(self, "fps", float(fps))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Motion is frozen: {name!r} cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Motion is frozen: {name!r} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Motion, (self.model, self.q, self.fps)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Motion):
            return NotImplemented
        return self.model == other.model and self.fps == other.fps and bool(np.array_equal(self.q, other.q))

    def __hash__(self) -> int:
        return hash((self.model, self.fps, len(self)))

    @property
    def times(self) -> Floats:
        """When each frame is [s], (frames,), from zero."""
        return np.arange(len(self.q)) / self.fps

    def __len__(self) -> int:
        return len(self.q)

    @overload
    def __getitem__(self, index: int) -> Pose: ...
    @overload
    def __getitem__(self, index: slice) -> Motion: ...
    def __getitem__(self, index: int | slice) -> Pose | Motion:
        """The pose at a frame, or the motion over a slice of frames."""
        if isinstance(index, slice):
            return Motion(self.model, self.q[index], self.fps / abs(index.step or 1))
        return Pose(self.model, self.q[index])

    def __iter__(self) -> Iterator[Pose]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<Motion of {self.model.name!r}: {len(self)} frames at {self.fps:g} fps>"
