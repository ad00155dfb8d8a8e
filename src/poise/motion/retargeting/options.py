"""Read and check the arguments of retargeting, for whole clips and streams alike."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch, show_value
from poise.kinematics import Motion, Pose
from poise.kinematics.motion import check_motion
from poise.model import Joint, Model
from poise.motion.contact.ledger import Contacts
from poise.spatial.arrays import read_reals

__all__ = [
    "check_bodies",
    "check_clip",
    "check_contacts",
    "check_progress",
    "check_switch",
    "read_frame",
    "read_joints",
]

LARGEST_NUMBER = 1e9  # m, rad: largest number of a pose; beyond it positions are not exact to a millimetre


def check_bodies(source: object, model: object) -> None:
    """Raise unless both are models; the message suggests a call."""
    for what, body in (("source", source), ("model", model)):
        if not isinstance(body, Model):
            hint = f"; type: poise.load({body!r})" if isinstance(body, str) else ""
            raise ModelMismatch(f"{what} must be a poise.Model, not {type(body).__name__}{hint}.")


def check_clip(clip: Motion, mode: object) -> None:
    """Raise unless the clip is a motion with frames and finite numbers, and the mode is known."""
    check_motion(clip)
    if not isinstance(mode, str) or mode not in ("clip", "online"):
        raise InvalidValue(f"mode is {show_value(mode)}; it must be 'clip' or 'online'.")
    refuse_far(clip.q, "clip")


def check_contacts(given: object, mode: str) -> None:
    """Raise unless contacts are "auto" or, for a whole clip, given."""
    if isinstance(given, Contacts):
        if mode == "online":
            raise InvalidValue("contacts= are given for a whole clip; a stream finds its own: contacts='auto'.")
    elif not isinstance(given, str) or given != "auto":
        raise InvalidValue(
            f"contacts is {show_value(given)}; it must be 'auto' or Contacts, as poise.motion.contacts finds them."
        )


def check_progress(given: object) -> None:
    """Raise unless it is None or callable."""
    if given is not None and not callable(given):
        raise InvalidValue(
            f"progress is {show_value(given)}; it must be a function of the frames that are done, and all."
        )


def check_switch(given: object, what: str) -> None:
    """Raise unless an option is True or False."""
    if not isinstance(given, (bool, np.bool_)):
        raise InvalidValue(f"{what} is {show_value(given)}; it must be True or False.")


def read_joints(given: Any) -> list[str] | None:
    """Return the names of joints, or None if `given` is None."""
    if given is None:
        return None
    if isinstance(given, str):
        raise InvalidValue(f"joints must be a list of joint names, not {given!r}; write joints=[{given!r}].")
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InvalidValue(f"joints is {show_value(given)}; it must be a list of joint names, or None for all of them.")
    names = [each.name if isinstance(each, Joint) else each for each in given]
    for name in names:
        if not isinstance(name, str):
            raise InvalidValue(
                f"joints has {show_value(name)}; it must be a list of joint names, or None for all of them."
            )
    return names


def read_frame(given: object, source: Model) -> Floats:
    """Return the configuration of one frame of a stream.

    Raises:
        ModelMismatch: The frame is a pose of another body.
        ShapeMismatch: The frame is not a configuration of this body.
        InvalidValue: The frame has a value that is not a finite number, or is too large.
    """
    if isinstance(given, Pose) and given.model is not source and given.model != source:
        raise ModelMismatch(
            f"frame is a pose of model {given.model.name!r}, not of {source.name!r}; where its numbers mean the same, "
            "type live.step(pose.q)."
        )
    try:
        q = read_reals(given.q if isinstance(given, Pose) else given, "frame")
    except OverflowError:
        raise InvalidValue(f"frame is {show_value(given)}; it must be an array of real numbers.") from None
    if q.shape != (source.nq,):
        raise ShapeMismatch(f"frame has shape {q.shape}; a pose of {source.name!r} has ({source.nq},).")
    refuse_far(q, "frame")
    return q


def refuse_far(q: Floats, what: str) -> None:
    """Raise if a number of a configuration is not finite or too large."""
    most = float(np.abs(q).max(initial=0.0))
    if most <= LARGEST_NUMBER:
        return
    if not np.isfinite(most):
        raise InvalidValue(f"{what} has a number that is not finite.")
    raise InvalidValue(f"{what} has a number of {most:.3g}; metres and radians are at most {LARGEST_NUMBER:g}.")
