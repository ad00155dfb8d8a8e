"""Goals, limits, methods and options in plain values: what JSON can hold, and back, to the last bit.

An object becomes a mapping that says what it is: ``{"is": "Reach", "frame": "tool0", "target": [0.4, 0.1, 0.3], ...}``,
with a key for every field of its class. Arrays become lists; infinity, which JSON has not, becomes
``{"is": "number", "value": "inf"}``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from poise import goals, limits, methods, motion
from poise.errors import FormatError, InvalidValue, PoiseError, name_not_found
from poise.goals import Custom
from poise.kinematics import Pose, regions
from poise.model import Model, Object
from poise.model.geometry import solids
from poise.spatial import Rotation, Transform

__all__ = ["read_plain", "write_plain"]

ROOMS = (goals, limits, methods, regions, motion, solids)


def write_plain(value: Any, where: str) -> Any:
    """Return a value as JSON can hold it.

    Args:
        value: A number, text, an array, a goal, a limit, a method, or lists and mappings of them.
        where: Whose it is, for the error.

    Raises:
        InvalidValue: No file can hold it: a function, an object of an unknown class.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"is": "number", "value": str(float(value))}
    if isinstance(value, np.ndarray):
        return write_plain(value.tolist(), where)
    if isinstance(value, (list, tuple, frozenset, set)):
        ordered = sorted(value) if isinstance(value, (frozenset, set)) else value
        return [write_plain(each, where) for each in ordered]
    if isinstance(value, Mapping):
        return {str(key): write_plain(each, f"{where}[{key!r}]") for key, each in value.items()}
    return write_object(value, where)


def write_object(value: Any, where: str) -> dict[str, Any]:
    """Return an object by its fields, and what it is."""
    kind = type(value).__name__
    if isinstance(value, Transform):
        return {"is": kind, "wxyz": value.rotation.wxyz.tolist(), "xyz": value.translation.tolist()}
    if isinstance(value, Rotation):
        return {"is": kind, "wxyz": value.wxyz.tolist()}
    if isinstance(value, Pose):
        return {"is": kind, "q": value.q.tolist()}
    if isinstance(value, Object):
        own = {"shape": value.shape, "transform": value.transforms, "name": value.name, "fps": value.fps}
        return {"is": kind, **write_plain({**own, "color": value.color}, where)}
    if isinstance(value, Custom):
        raise InvalidValue(f"{where} is a Custom goal: a function cannot be saved with a job. Use poise.solve_batch.")
    if not is_dataclass(value) or isinstance(value, type) or find_class(kind) is not type(value):
        raise InvalidValue(
            f"{where} is {value!r}, which cannot be saved with a job: give numbers, text, goals, limits."
        )
    own = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {"is": kind, **{name: write_plain(each, f"{where}.{name}") for name, each in own.items()}}


def find_class(name: str) -> Any:
    """Return the goal, limit, method or region of this name; None if there is none."""
    for room in ROOMS:
        if name in room.__all__ and isinstance(found := getattr(room, name), type):
            return found
    return None


# ------------------------------------------------------------------------------------------------ and back


def read_plain(value: Any, model: Model | None) -> Any:
    """Return what `write_plain` wrote.

    Args:
        value: From JSON.
        model: The body that poses among the values are of.

    Raises:
        FormatError: It says that it is something which it cannot be.
    """
    if isinstance(value, list):
        return [read_plain(each, model) for each in value]
    if not isinstance(value, dict):
        return value
    if "is" not in value:
        return {key: read_plain(each, model) for key, each in value.items()}
    given = {key: read_plain(each, model) for key, each in value.items() if key != "is"}
    try:
        return read_object(str(value["is"]), given, model)
    except FormatError:
        raise
    except (PoiseError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"its {value['is']} cannot be read: {error}") from None


def read_object(kind: str, given: dict[str, Any], model: Model | None) -> Any:
    """Return the object of a class by its name; rotations keep the bits that a second normalisation would change."""
    if kind == "number":
        return float(given["value"])
    if kind == "Rotation":
        return keep_rotation(given["wxyz"])
    if kind == "Transform":
        return Transform(keep_rotation(given["wxyz"]), np.array(given["xyz"], np.float64))
    if kind == "Pose":
        if model is None:
            raise FormatError("it has a Pose and no body.")
        return Pose(model, given["q"])
    if kind == "Object":
        others = {key: given[key] for key in ("name", "fps", "color")}
        return Object(given["shape"], np.array(given["transform"], np.float64), **others)
    found = find_class(kind)
    if found is None or not is_dataclass(found):
        known = [name for room in ROOMS for name in room.__all__ if is_dataclass(getattr(room, name))]
        raise FormatError(str(name_not_found("goal, limit or method", kind, known)))
    if found is motion.Mapping:
        given = {key: tuple(each) if isinstance(each, list) else each for key, each in given.items()}
    return keep_bits(found(**given), given)


def keep_bits(made: Any, given: dict[str, Any]) -> Any:
    """Return an object with the numbers as written, where making it has normalised them once more."""
    for name, written in given.items():
        now = getattr(made, name, None)
        if isinstance(written, list) and isinstance(now, (np.ndarray, tuple)):
            try:
                numbers, own = np.array(written, np.float64), np.asarray(now, np.float64)
            except (TypeError, ValueError):
                continue
            if own.shape == numbers.shape and np.allclose(own, numbers, 1e-14, 1e-14):
                numbers.setflags(write=False)
                object.__setattr__(made, name, numbers if isinstance(now, np.ndarray) else tuple(numbers.tolist()))
    return made


def keep_rotation(wxyz: Any) -> Rotation:
    """Return a rotation with the numbers as written, if they are a unit quaternion."""
    given = np.array(wxyz, np.float64)
    found = Rotation(given)
    return Rotation._wrap(given) if np.allclose(found.wxyz, given, 0.0, 1e-14) else found
