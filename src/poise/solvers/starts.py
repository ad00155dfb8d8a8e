"""The start of a search, as given by a user."""

from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import ModelMismatch, ShapeMismatch
from poise.kinematics import Motion, Pose
from poise.model import Model
from poise.model.compare import name_mismatch
from poise.spatial.arrays import check_finite, read_reals

__all__ = ["read_start"]


def read_start(model: Model, start: Any, frames: int | None = None, what: str = "start") -> Floats:
    """Return a copy of a start, (nq,), or one per frame, (frames, nq) (default: the rest pose).

    Raises:
        ModelMismatch: The start belongs to another body.
        ShapeMismatch: The start is neither one configuration nor, for a clip, one per frame.
    """
    if start is None and frames is None:
        return np.array(model.rest)
    if isinstance(start, (Pose, Motion)) and start.model is not model and start.model != model:
        raise ModelMismatch(f"{what} is {name_mismatch(start.model, model)}.")
    given = model.rest if start is None else start.q if isinstance(start, (Pose, Motion)) else start
    q = check_finite(read_reals(given, what), what)
    if q.shape == (model.nq,) or (frames is not None and q.shape == (frames, model.nq)):
        return np.array(q if frames is None else np.broadcast_to(q, (frames, model.nq)), dtype=np.float64)
    wanted = f"({model.nq},), one configuration" if frames is None else f"({model.nq},) or ({frames}, {model.nq})"
    raise ShapeMismatch(f"{what} has shape {q.shape}; it must be {wanted}.")
