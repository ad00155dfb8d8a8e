"""Exact conversion of models, goals, limits, methods and options to plain values (dict, list, number, text) and back.

A model becomes a dict of its parts, with offsets as seven numbers (quaternion wxyz, then x y z) and absent bounds as
None. Any other object becomes a dict that names its class and has a key for every field:
``{"is": "Reach", "frame": "tool0", "target": [0.4, 0.1, 0.3], ...}``. Arrays become lists. Infinity, which JSON lacks,
becomes ``{"is": "number", "value": "inf"}``.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from poise.errors import FormatError, InvalidValue, PoiseError, name_not_found
from poise.kinematics import Pose
from poise.model import BallRange, Box, Capsule, Cylinder, Mesh, Mimic, Model, ModelBuilder, Object, Path, Sphere
from poise.model.derive import list_specs, with_example_poses, with_subject
from poise.model.spec import FrameSpec, JointSpec
from poise.spatial import Rotation, Transform

__all__ = ["decode_place", "decode_value", "dump_model", "encode_field", "encode_model", "encode_value", "parse_model"]

GEOMETRIES = {kind.__name__.lower(): kind for kind in (Sphere, Capsule, Cylinder, Box, Mesh)}
MAX_PARTS = 20_000
MAX_NUMBER = 1e100  # its square is finite
SAME_NUMBER = 1e-14  # relative and absolute difference caused by a second normalisation

Classes = Mapping[str, Any]  # the allowed classes of values, by name


# ------------------------------------------------------------------------------------------------ models


def dump_model(model: Model) -> str:
    """Return the model as JSON text."""
    return json.dumps(encode_model(model), ensure_ascii=False, allow_nan=False)


def encode_model(model: Model) -> dict[str, Any]:
    """Return the model as plain values."""
    return {
        "name": model.name,
        "source": model.source,
        "notes": list(model.file_notes),
        "up": model.up,
        "units": model.units,
        "parts": [encode_joint(s) if isinstance(s, JointSpec) else encode_frame(s) for s in list_specs(model)],
        "shapes": [encode_shape(shape) for shape in model.shapes],
        "poses": {name: np.asarray(q).tolist() for name, q in model.poses.items()},
        "roles": {role: frame or None for role, frame in model.attachments.roles},
        "disabled_pairs": encode_field(model.attachments.disabled_pairs),
        "example_poses": None if model.example_poses is None else model.example_poses.tolist(),
        "closures": [encode_fields(loop) for loop in model.closures],
        "subject": None if model.subject is None else encode_model(model.subject),
    }


def encode_frame(spec: FrameSpec) -> dict[str, Any]:
    """Return a frame as plain values."""
    values = encode_fields(spec)
    if spec.listed:
        del values["listed"]
    return {"frame": values.pop("name"), **values}


def encode_joint(spec: JointSpec) -> dict[str, Any]:
    """Return a joint as plain values; infinite bounds become None."""
    values = encode_fields(spec)
    values |= {key: None for key in ("effort", "velocity") if math.isinf(values[key])}
    bounds = {key: [x if math.isfinite(x) else None for x in values[key]] for key in ("lower", "upper")}
    return {"joint": spec.name, **values, **bounds}


def encode_shape(shape: Any) -> dict[str, Any]:
    """Return a shape as plain values, with the name of its geometry."""
    values = {"kind": type(shape.shape).__name__.lower(), "frame": shape.frame, "offset": encode_field(shape.offset)}
    size = {key: encode_field(value) for key, value in shape.shape.sizes.items()}
    return values | {"use": shape.use, "color": encode_field(shape.color), "size": size}


def encode_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that its constructor accepts, as plain values."""
    return {field.name: encode_field(getattr(value, field.name)) for field in fields(value) if field.init}


def encode_field(value: Any) -> Any:
    """Return one field of a part of a model as a plain value."""
    if isinstance(value, Transform):
        return [*value.rotation.wxyz.tolist(), *value.translation.tolist()]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (tuple, Mimic)):
        return list(value)
    return encode_fields(value) if is_dataclass(value) else value


def parse_model(text: str) -> Model:
    """Parse a model from JSON text.

    Raises:
        FormatError: The text does not describe a model.
    """
    try:
        values = json.loads(text, parse_constant=reject_number, parse_float=parse_number, parse_int=parse_number)
        if not isinstance(values, dict) or len(values["parts"]) > MAX_PARTS:
            raise FormatError(f"its description of the model is not a dict, or has more than {MAX_PARTS} parts.")
        return build_model(values)
    except FormatError:
        raise
    except (PoiseError, TypeError, ValueError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise FormatError(f"its description of the model cannot be read: {error}") from error


def parse_number(word: str) -> float:
    """Parse a number; raise `ValueError` if it is too large to be squared."""
    number = float(word)
    if abs(number) > MAX_NUMBER:
        raise ValueError(f"{word[:40]} is too large")
    return number


def reject_number(word: str) -> float:
    """Raise `ValueError` for NaN and infinity, which JSON does not have."""
    raise ValueError(f"{word} is not a number")


def build_model(values: Mapping[str, Any]) -> Model:
    """Build the model described by plain values."""
    builder = ModelBuilder(values["name"])
    builder.source = str(values["source"])
    builder.notes = [str(note) for note in values["notes"]]
    builder.up, builder.units = values["up"], values["units"]
    builder.extend(decode_joint(part) if "joint" in part else decode_frame(part) for part in values["parts"])
    for shape in values["shapes"]:
        geometry, offset = GEOMETRIES[shape["kind"]](**shape["size"]), decode_offset(shape["offset"])
        builder.add_shape(shape["frame"], geometry, offset=offset, use=shape["use"], color=shape["color"])
    for name, q in values["poses"].items():
        builder.add_pose(name, q)
    if values.get("disabled_pairs") is not None:
        builder.disabled_pairs = tuple((str(one), str(other)) for one, other in values["disabled_pairs"])
    for loop in values.get("closures", ()):
        transform = decode_place(loop["transform"])
        builder.add_closure(loop["frame"], loop["other"], transform, point=loop["point"])
    roles = values["roles"].items()
    for role, frame in roles:
        if frame is not None:
            builder.add_role(role, frame)
    model, frames, subject = builder.build(), values.get("example_poses"), values.get("subject")
    denied = {role: None for role, frame in roles if frame is None}
    model = model.with_roles(denied) if denied else model
    model = model if frames is None else with_example_poses(model, frames)
    return model if subject is None else with_subject(model, build_model(subject))


def decode_frame(values: Mapping[str, Any]) -> FrameSpec:
    """Return the frame described by plain values."""
    solid = {key: values.get(key) for key in ("mass", "center", "inertia")}
    spec = FrameSpec.make(values["frame"], values["parent"], decode_offset(values["offset"]), **solid)
    return replace(spec, listed=bool(values.get("listed", True)))


def decode_joint(values: Mapping[str, Any]) -> JointSpec:
    """Return the joint described by plain values; old files lack some fields."""
    kind, cone, path = values["kind"], values.get("cone"), values.get("path")
    given: dict[str, Any] = {field.name: values.get(field.name) for field in fields(JointSpec)} | {
        "offset": decode_offset(values["offset"]),
        "axis": values["axis"] if any(values["axis"]) else None,
        "axis2": values["axis2"] if any(values["axis2"]) else None,
        "order": values["order"] or None,
        "pitch": values["pitch"] if kind == "screw" else None,
        "lower": decode_bound(values["lower"], -np.inf),
        "upper": decode_bound(values["upper"], np.inf),
        "cone": None if cone is None else BallRange(**cone),
        "locked": values.get("locked", False),
        "length": (values.get("length") or None) if kind == "scale" else None,
        "path": None if path is None else Path(**path),
    }
    spec: JointSpec = keep_bits(JointSpec.make(**given), {key: values[key] for key in ("axis", "axis2", "rest")})
    return spec


def decode_bound(values: Any, absent: float) -> list[float] | None:
    """Return bounds with None replaced by infinity, or None if all are absent."""
    return None if all(x is None for x in values) else [absent if x is None else x for x in values]


def decode_place(values: Any) -> Any:
    """Return the transform described by seven numbers; three numbers are a point."""
    return values if len(values) == 3 else decode_offset(values)


def decode_offset(values: Any) -> Transform:
    """Return the transform described by seven numbers."""
    numbers = np.array(values, np.float64)
    if numbers.shape != (7,):
        raise ValueError("an offset must be seven numbers")
    return Transform(decode_rotation(numbers[:4]), numbers[4:])


# ------------------------------------------------------------------------------------------------ other values


def encode_value(value: Any, where: str, classes: Classes) -> Any:
    """Return a value in a form that JSON can store.

    Args:
        value: A number, text, an array, an object of one of `classes`, or lists and dicts of them.
        where: The name of the value in error messages.
        classes: The classes that `decode_value` accepts, by name.

    Raises:
        InvalidValue: The value cannot be saved, such as a function.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"is": "number", "value": str(float(value))}
    if isinstance(value, np.ndarray):
        return encode_value(value.tolist(), where, classes)
    if isinstance(value, (list, tuple, frozenset, set)):
        ordered = sorted(value) if isinstance(value, (frozenset, set)) else value
        return [encode_value(each, where, classes) for each in ordered]
    if isinstance(value, Mapping):
        return {str(key): encode_value(each, f"{where}[{key!r}]", classes) for key, each in value.items()}
    given = list_arguments(value, where, classes)
    return {"is": type(value).__name__} | {
        key: encode_value(each, f"{where}.{key}", classes) for key, each in given.items()
    }


def list_arguments(value: Any, where: str, classes: Classes) -> dict[str, Any]:
    """Return the constructor arguments that reproduce an object."""
    if isinstance(value, Transform):
        return {"wxyz": value.rotation.wxyz, "xyz": value.translation}
    if isinstance(value, Rotation):
        return {"wxyz": value.wxyz}
    if isinstance(value, Pose):
        return {"q": value.q}
    if isinstance(value, Object):
        own = {"shape": value.shape, "transform": value.transforms, "name": value.name}
        return own | {"fps": value.fps, "color": value.color}
    if not is_dataclass(value) or classes.get(type(value).__name__) is not type(value):
        raise InvalidValue(
            f"{where} is {value!r}, which cannot be saved: give numbers, text, goals and limits. "
            "Functions and classes of your own work with poise.solve_batch."
        )
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init and field.compare}


def decode_value(value: Any, classes: Classes, model: Model | None) -> Any:
    """Return the value that `encode_value` encoded.

    Args:
        value: The value from JSON.
        classes: The classes of objects, by name.
        model: The body that poses belong to.

    Raises:
        FormatError: An object's class is unknown, or rejects its fields.
    """
    if isinstance(value, list):
        return [decode_value(each, classes, model) for each in value]
    if not isinstance(value, dict):
        return value
    given = {key: decode_value(each, classes, model) for key, each in value.items() if key != "is"}
    if "is" not in value:
        return given
    try:
        return decode_object(str(value["is"]), given, classes, model)
    except FormatError:
        raise
    except (PoiseError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"its {value['is']} cannot be read: {error}") from None


def decode_object(kind: str, given: dict[str, Any], classes: Classes, model: Model | None) -> Any:
    """Return an object of the class with this name."""
    if kind == "number":
        return float(given["value"])
    if kind == "Rotation":
        return decode_rotation(given["wxyz"])
    if kind == "Transform":
        return Transform(decode_rotation(given["wxyz"]), np.array(given["xyz"], np.float64))
    if kind == "Pose":
        if model is None:
            raise FormatError("has a Pose and no model.")
        return Pose(model, given["q"])
    if kind == "Object":
        others = {key: given[key] for key in ("name", "fps", "color")}
        return Object(given["shape"], np.array(given["transform"], np.float64), **others)
    if kind not in classes:
        raise FormatError(str(name_not_found("goal, limit or method", kind, classes)))
    frozen = {key: tuple(each) if isinstance(each, list) else each for key, each in given.items()}
    return keep_bits(classes[kind](**frozen), given)


def keep_bits(made: Any, given: Mapping[str, Any]) -> Any:
    """Restore the exact numbers of an object if its constructor only normalised them a second time."""
    for name, written in given.items():
        now = getattr(made, name, None)
        names = isinstance(written, list) and any(isinstance(each, str) for each in written)
        if isinstance(written, list) and isinstance(now, (np.ndarray, tuple)) and not names:
            try:
                numbers, own = np.array(written, np.float64), np.asarray(now, np.float64)
            except (TypeError, ValueError):
                continue
            if own.shape == numbers.shape and np.allclose(own, numbers, SAME_NUMBER, SAME_NUMBER):
                numbers.setflags(write=False)
                object.__setattr__(made, name, numbers if isinstance(now, np.ndarray) else tuple(numbers.tolist()))
    return made


def decode_rotation(wxyz: Any) -> Rotation:
    """Return a rotation, with the exact numbers if they are a unit quaternion."""
    given = np.array(wxyz, np.float64)
    found = Rotation(given)
    return Rotation.from_valid(given) if np.allclose(found.wxyz, given, 0.0, SAME_NUMBER) else found
