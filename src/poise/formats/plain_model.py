"""A model in plain words: nested lists, mappings, numbers and text, from which the same model is built again.

Tables carry it along, so that a motion in a file needs no other file. Numbers keep their bits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import FormatError, PoiseError
from poise.model import BallRange, Box, Capsule, Cylinder, Mesh, Model, ModelBuilder, Path, Sphere
from poise.model.spec import FrameSpec, JointSpec, freeze
from poise.spatial import Rotation, Transform

__all__ = ["describe_model", "read_description"]

GEOMETRIES = {kind.__name__.lower(): kind for kind in (Sphere, Capsule, Cylinder, Box, Mesh)}
MOST_PARTS = 20_000
LARGEST = 1e100


def describe_model(model: Model) -> str:
    """Return the model as JSON."""
    specs = model._layout.specs
    return json.dumps(
        {
            "name": model.name,
            "source": model.source,
            "notes": list(model.notes),
            "up": model.up,
            "units": model.units,
            "parts": [describe_joint(s) if isinstance(s, JointSpec) else describe_frame(s) for s in specs],
            "shapes": [describe_shape(shape) for shape in model.shapes],
            "poses": {name: np.asarray(q).tolist() for name, q in model.poses.items()},
            "roles": dict(model.roles),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def describe_frame(spec: FrameSpec) -> dict[str, Any]:
    """Return a frame; `offset` is a quaternion wxyz and a translation."""
    words = {"frame": spec.name, "parent": spec.parent, "offset": describe_transform(spec.offset)}
    return words | {"mass": spec.mass, "center": spec.center.tolist()}


def describe_joint(spec: JointSpec) -> dict[str, Any]:
    """Return a joint; a bound is None if there is none."""
    words: dict[str, Any] = {"joint": spec.name}
    for item in fields(spec):
        value = getattr(spec, item.name)
        if item.name in ("lower", "upper"):
            value = [x if np.isfinite(x) else None for x in value.tolist()]
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        elif isinstance(value, Transform):
            value = describe_transform(value)
        elif item.name == "mimic" and value is not None:
            value = list(value)
        elif isinstance(value, BallRange):
            value = asdict(value)
        elif isinstance(value, Path):
            value = describe_path(value)
        words[item.name] = value
    return words


def describe_path(path: Path) -> dict[str, Any]:
    """Return a curve as it was given."""
    given = (item.name for item in fields(path) if item.init)
    return {name: value.tolist() if isinstance(value := getattr(path, name), np.ndarray) else value for name in given}


def describe_shape(shape: Any) -> dict[str, Any]:
    """Return a solid with the name of its kind."""
    kind = type(shape.shape).__name__.lower()
    words = {"kind": kind, "frame": shape.frame, "offset": describe_transform(shape.offset)}
    return words | {"use": shape.use, "color": shape.color, "size": shape.shape.sizes}


def describe_transform(transform: Transform) -> list[float]:
    """Return seven numbers: quaternion wxyz, then x y z."""
    return [*transform.rotation.wxyz.tolist(), *transform.translation.tolist()]


# ------------------------------------------------------------------------------------------------ and back


def read_description(text: str) -> Model:
    """Return the model of a description.

    Raises:
        FormatError: The text describes none.
    """
    try:
        words = json.loads(text, parse_constant=refuse_number, parse_float=read_sane, parse_int=read_sane)
        if not isinstance(words, Mapping) or len(words["parts"]) > MOST_PARTS:
            raise FormatError("its description of the model is not a mapping, or has too many parts.")
        return rebuild(words)
    except FormatError:
        raise
    except (PoiseError, TypeError, ValueError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise FormatError(f"its description of the model makes no model: {error}") from error


def read_sane(word: str) -> float:
    """Return a number whose square is one too."""
    number = float(word)
    if abs(number) > LARGEST:
        raise ValueError(f"{word[:40]} is too large")
    return number


def refuse_number(word: str) -> float:
    """Refuse NaN and infinity: JSON has neither."""
    raise ValueError(f"{word} is not a number")


def rebuild(words: Mapping[str, Any]) -> Model:
    """Return the model, through the builder's own checks."""
    builder = ModelBuilder(words["name"])
    builder.source = str(words["source"])
    builder.notes = [str(note) for note in words["notes"]]
    builder.up, builder.units = words["up"], words["units"]
    builder._extend(read_joint(part) if "joint" in part else read_frame(part) for part in words["parts"])
    for shape in words["shapes"]:
        geometry = GEOMETRIES[shape["kind"]](**shape["size"])
        offset = read_transform(shape["offset"])
        builder.add_shape(shape["frame"], geometry, offset=offset, use=shape["use"], color=shape["color"])
    for name, q in words["poses"].items():
        builder.add_pose(name, q)
    for role, frame in words["roles"].items():
        builder.add_role(role, frame)
    return builder.build()


def read_frame(words: Mapping[str, Any]) -> FrameSpec:
    """Return a frame."""
    offset = read_transform(words["offset"])
    return FrameSpec.make(words["frame"], words["parent"], offset, words["mass"], words["center"])


def read_joint(words: Mapping[str, Any]) -> JointSpec:
    """Return a joint; axes and rest keep the bits that a second normalisation would change."""
    kind = words["kind"]
    cone = words.get("cone")
    spec = JointSpec.make(
        words["name"],
        words["parent"],
        kind,
        frame=words["frame"],
        offset=read_transform(words["offset"]),
        axis=words["axis"] if any(words["axis"]) else None,
        axis2=words["axis2"] if any(words["axis2"]) else None,
        order=words["order"] or None,
        pitch=words["pitch"] if kind == "screw" else None,
        lower=read_bound(words["lower"], -np.inf),
        upper=read_bound(words["upper"], np.inf),
        rest=words["rest"],
        mimic=words["mimic"],
        mass=words["mass"],
        center=words["center"],
        stiffness=words["stiffness"],
        cone=None if cone is None else BallRange(**cone),
        locked=words.get("locked", False),
        length=(words.get("length") or None) if kind == "scale" else None,
        path=None if words.get("path") is None else Path(**words["path"]),
    )
    return replace(
        spec,
        axis=keep_bits(spec.axis, words["axis"]),
        axis2=keep_bits(spec.axis2, words["axis2"]),
        rest=keep_bits(spec.rest, words["rest"]),
    )


def keep_bits(found: NDArray[np.float64], written: Any) -> NDArray[np.float64]:
    """Return the numbers as written, if they mean the same."""
    given = np.array(written, np.float64)
    return freeze(given) if given.shape == found.shape and np.allclose(given, found, 1e-14, 1e-14) else found


def read_bound(values: Any, nothing: float) -> list[float] | None:
    """Return bounds with infinities, or None if there are none at all."""
    if all(value is None for value in values):
        return None
    return [nothing if value is None else value for value in values]


def read_transform(words: Any) -> Transform:
    """Return the transform of seven numbers: quaternion wxyz, then x y z."""
    numbers = np.array(words, np.float64)
    if numbers.shape != (7,):
        raise ValueError("an offset is seven numbers")
    return Transform(Rotation(numbers[:4]), numbers[4:])
