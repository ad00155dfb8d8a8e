"""Specs: the validated joints and frames of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import InvalidModel, InvalidValue, ShapeMismatch
from poise.model.curves.path import read_path
from poise.model.joints.joint import BallRange, JointFields, Mimic
from poise.model.joints.kinds import EULER_ORDERS, KINDS
from poise.model.joints.stretch import check_kind, check_length, fill_bounds
from poise.spatial import Transform, as_transform

__all__ = ["DRIVE", "FrameSpec", "JointSpec"]

DRIVE = ("effort", "velocity", "damping", "friction", "armature")


@dataclass(frozen=True, slots=True, eq=False)
class FrameSpec:
    """A frame as declared; one that is not `listed` has a name, but no row in `fk(q)`."""

    name: str
    parent: str | None
    offset: Transform
    mass: float
    center: Floats
    inertia: Floats
    listed: bool = True

    @classmethod
    def make(cls, name: str, parent: Any, offset: Any, **solid: Any) -> FrameSpec:
        """Return the frame, with mass, center and inertia. Raises an error that names the invalid argument."""
        where = f"frame {name!r}"
        return cls(
            check_name(name, "frame"),
            read_parent(parent, where),
            check_offset(offset, where),
            check_mass(solid.get("mass", 0.0), where),
            read_vector(solid.get("center", (0.0, 0.0, 0.0)), 3, f"{where}: center"),
            check_inertia(solid.get("inertia"), where),
        )

    def key(self) -> tuple[Any, ...]:
        """Return the content as a tuple that can be compared."""
        return make_key(self)


@dataclass(frozen=True, slots=True, eq=False)
class JointSpec(JointFields):
    """A joint as declared. Bounds, rest and axes are read-only arrays."""

    def key(self) -> tuple[Any, ...]:
        """Return the content as a tuple that can be compared."""
        return make_key(self)

    @classmethod
    def make(cls, name: str, parent: Any, kind: str, **given: Any) -> JointSpec:
        """Return the joint; arguments as in `ModelBuilder.add_joint`. Raises an error that names the invalid one."""
        check_name(name, "joint")
        where, get = f"joint {name!r}", given.get
        check_kind(kind, where)
        curve = read_path(kind, get("path"), where)
        low, high = read_bounds(kind, *fill_bounds(kind, get("lower"), get("upper"), curve, where), where)
        follows = check_mimic(get("mimic"), kind, where)
        return cls(
            name=name,
            parent=read_parent(parent, where),
            kind=kind,
            frame=check_name(name if get("frame") is None else get("frame"), "frame"),
            offset=check_offset(get("offset"), where),
            axis=check_axis(kind, get("axis"), where),
            axis2=check_axis2(kind, get("axis"), get("axis2"), where),
            order=check_order(kind, get("order"), where),
            pitch=check_pitch(kind, get("pitch"), where),
            lower=low,
            upper=high,
            rest=check_rest(kind, get("rest"), low, high, where),
            mimic=follows,
            mass=check_mass(get("mass", 0.0), where),
            center=read_vector(get("center", (0.0, 0.0, 0.0)), 3, f"{where}: center"),
            inertia=check_inertia(get("inertia"), where),
            stiffness=check_not_negative(get("stiffness", 0.0), f"{where}: stiffness"),
            cone=check_cone(kind, get("cone"), where),
            locked=check_locked(get("locked", False), kind, follows, where),
            length=check_length(kind, get("length"), where),
            path=curve,
            **{key: check_drive(key, given[key], where) for key in DRIVE if get(key) is not None},
        )


def make_key(spec: FrameSpec | JointSpec) -> tuple[Any, ...]:
    """Return the fields of a spec as a tuple that can be compared, without negative zeros."""
    values = (getattr(spec, each.name) for each in fields(spec))
    return tuple((value + 0.0).tobytes() if isinstance(value, np.ndarray) else value for value in values)


# ------------------------------------------------------------------------------------------------ checks


def freeze(array: NDArray[np.float64]) -> Floats:
    """Make an array read-only, and return it."""
    array.setflags(write=False)
    return array


def read_vector(values: ArrayLike, size: int, what: str) -> Floats:
    """Return `size` finite numbers as a new read-only array."""
    array = read_floats(values, size, what)
    if array.ndim == 0 and size == 1:
        array = array.reshape(1)
    if array.shape != (size,):
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be {size} numbers.")
    if not np.isfinite(array).all():
        raise InvalidValue(f"{what} is {array.tolist()}; every number must be finite.")
    return freeze(array)


def read_floats(values: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    """Return a new array of any shape; `size` is only for the error message."""
    try:
        array = np.array(values)
        if array.dtype.kind in "fiubO":  # complex numbers would lose their imaginary part
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidValue(f"{what} must be {size} number{'s' * (size != 1)}, not {values!r}.")


def read_number(value: Any, what: str) -> float:
    """Return a finite number."""
    return float(read_vector(value, 1, what)[0])


def check_name(name: Any, what: str) -> str:
    if not isinstance(name, str) or not name:
        article = "an" if what[0] in "aeiou" else "a"
        raise InvalidModel(f"{article} {what}'s name must be a non-empty string, not {name!r}.")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidModel(f"a {what}'s name must be whole characters, not {name!r}, which has half of one.")
    return name


def read_parent(parent: Any, where: str) -> str | None:
    if parent is None or (isinstance(parent, str) and parent):
        return parent
    name = getattr(parent, "name", None)
    if isinstance(name, str) and name:
        return name
    raise InvalidModel(f"{where}: parent must be the name of a frame or joint, or None for the world, not {parent!r}.")


def check_offset(offset: Any, where: str) -> Transform:
    if offset is None:
        return Transform.identity()
    transform = as_transform(offset, f"{where}: offset")
    if transform.translation.shape != (3,):
        raise ShapeMismatch(f"{where}: offset must be one transform, not {transform.translation.shape[:-1]} of them.")
    return transform


def check_not_negative(value: Any, what: str) -> float:
    x = read_number(value, what)
    if x < 0:
        raise InvalidValue(f"{what} is {x}; it must be zero or more.")
    return x


def check_mass(mass: Any, where: str) -> float:
    return check_not_negative(mass, f"{where}: mass")


def check_inertia(inertia: ArrayLike | None, where: str) -> Floats:
    """Return a symmetric matrix; three numbers are its diagonal, and None is zero."""
    array = read_floats(np.zeros(3) if inertia is None else inertia, 9, f"{where}: inertia")
    matrix = np.diag(array) if array.shape == (3,) else array
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, 1e-9, 0.0):
        raise InvalidValue(f"{where}: inertia is {array.tolist()}; it must be 3 moments or a symmetric 3x3 matrix.")
    return freeze((matrix + matrix.T) / 2)


def check_drive(name: str, value: Any, where: str) -> float:
    """Return a number about a joint's drive; effort and velocity may be infinite, but not zero."""
    if name not in ("effort", "velocity"):
        return check_not_negative(value, f"{where}: {name}")
    if not (number := float(read_floats(value, 1, f"{where}: {name}"))) > 0.0:
        raise InvalidValue(f"{where}: {name} is {number}; it must be above zero, or None if it is unknown.")
    return number


def read_unit(axis: ArrayLike, what: str) -> Floats:
    """Return a unit vector, exact for the axes x, y and z."""
    if isinstance(axis, str):
        raise InvalidValue(f"{what} must be 3 numbers, not {axis!r}; type (0, 0, 1) for z.")
    a = read_vector(axis, 3, what)
    largest = float(np.abs(a).max())
    if largest == 0.0:
        raise InvalidValue(f"{what} is zero; it must point somewhere, such as (0, 0, 1).")
    a = a / largest  # avoids overflow and underflow of the length
    return freeze(a / np.linalg.norm(a))


def check_axis(kind: str, axis: ArrayLike | None, where: str) -> Floats:
    default = KINDS[kind].axis
    if default is None:
        if axis is not None:
            raise InvalidValue(f"{where}: a {kind} joint has no axis; leave it out.")
        return freeze(np.zeros(3))
    return read_unit(default if axis is None else axis, f"{where}: axis")


def check_axis2(kind: str, axis: ArrayLike | None, axis2: ArrayLike | None, where: str) -> Floats:
    if kind != "universal":
        if axis2 is not None:
            raise InvalidValue(f"{where}: only a universal joint has axis2, not a {kind} one; leave it out.")
        return freeze(np.zeros(3))
    second = read_unit((0.0, 1.0, 0.0) if axis2 is None else axis2, f"{where}: axis2")
    if np.linalg.norm(np.cross(check_axis(kind, axis, where), second)) < 1e-9:
        raise InvalidValue(f"{where}: axis and axis2 are parallel; a universal joint needs two different axes.")
    return second


def check_order(kind: str, order: str | None, where: str) -> str:
    if kind != "euler":
        if order is not None:
            raise InvalidValue(f"{where}: only an euler joint has an order, not a {kind} one; leave it out.")
        return ""
    upper = "" if order is None else str(order).upper()
    if upper not in EULER_ORDERS:
        raise InvalidValue(f"{where}: order is {order!r}; it must be one of {', '.join(EULER_ORDERS)}.")
    return upper


def check_pitch(kind: str, pitch: float | None, where: str) -> float:
    if kind != "screw":
        if pitch is not None:
            raise InvalidValue(f"{where}: only a screw joint has a pitch, not a {kind} one; leave it out.")
        return 0.0
    if pitch is None:
        raise InvalidValue(f"{where}: a screw joint needs pitch= [metres per radian].")
    return read_number(pitch, f"{where}: pitch")


def read_bounds(kind: str, lower: ArrayLike | None, upper: ArrayLike | None, where: str) -> tuple[Floats, Floats]:
    facts = KINDS[kind]
    if not facts.limited and not (lower is None and upper is None):
        instead = " Use kind 'revolute' for a range." if kind == "continuous" else ""
        raise InvalidValue(f"{where}: a {kind} joint has no range; leave lower and upper out.{instead}")
    low = read_bound(lower, facts.nv, -np.inf, f"{where}: lower")
    high = read_bound(upper, facts.nv, np.inf, f"{where}: upper")
    if (low > high).any():
        i = int(np.argmax(low > high))
        raise InvalidValue(f"{where}: lower {low[i]} is above upper {high[i]}; swap them.")
    return low, high


def read_bound(values: ArrayLike | None, size: int, default: float, what: str) -> Floats:
    if values is None:
        return freeze(np.full(size, default))
    array = read_floats(values, size, what)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.shape != (size,):
        raise ShapeMismatch(f"{what} has shape {array.shape}; it must be {size} number{'s' * (size != 1)}.")
    if np.isnan(array).any() or (array == -default).any():
        raise InvalidValue(f"{what} is {array.tolist()}; use None or {default} where there is no bound.")
    return freeze(array)


def check_rest(kind: str, rest: ArrayLike | None, low: Floats, high: Floats, where: str) -> Floats:
    facts = KINDS[kind]
    if rest is None:
        return freeze(make_identity(kind) if facts.quaternion else np.clip(make_identity(kind), low, high))
    values = read_vector(rest, facts.nq, f"{where}: rest")
    if facts.quaternion:
        turn = values[-4:]
        length = float(np.linalg.norm(turn))
        if length < 1e-6:
            raise InvalidValue(f"{where}: rest has a quaternion of length {length}; it must be about 1 (w x y z).")
        return freeze(np.concatenate([values[:-4], turn / length]))
    if (values < low).any() or (values > high).any():
        raise InvalidValue(f"{where}: rest {values.tolist()} is outside [{low.tolist()}, {high.tolist()}].")
    return values


def make_identity(kind: str) -> NDArray[np.float64]:
    """Return the joint's coordinates at zero displacement."""
    q = np.full(KINDS[kind].nq, KINDS[kind].neutral)
    if KINDS[kind].quaternion:
        q[-4] = 1.0
    return q


def check_mimic(mimic: Mimic | Sequence[Any] | None, kind: str, where: str) -> Mimic | None:
    if mimic is None:
        return None
    if KINDS[kind].nv != 1:
        raise InvalidModel(f"{where}: only joints with one degree of freedom can mimic, not a {kind} one.")
    parts = (mimic,) if isinstance(mimic, str) else tuple(mimic) if isinstance(mimic, (Sequence, Mimic)) else ()
    if not 1 <= len(parts) <= 3:
        raise InvalidModel(f"{where}: mimic must be (joint, ratio, offset), not {mimic!r}.")
    leader = getattr(parts[0], "name", parts[0])
    if not isinstance(leader, str):
        raise InvalidModel(f"{where}: mimic must begin with a joint's name, not {parts[0]!r}.")
    ratio = read_number(parts[1], f"{where}: mimic ratio") if len(parts) > 1 else 1.0
    offset = read_number(parts[2], f"{where}: mimic offset") if len(parts) > 2 else 0.0
    return Mimic(leader, ratio, offset)


def check_cone(kind: str, cone: Any, where: str) -> BallRange | None:
    """Return a ball joint's range with checked angles and a unit axis."""
    if cone is None:
        return None
    if kind != "ball" or not isinstance(cone, BallRange):
        raise InvalidValue(f"{where}: cone must be a BallRange, on a ball joint only; not {cone!r} on a {kind} one.")
    twist = None if cone.twist is None else tuple(read_vector(cone.twist, 2, f"{where}: twist").tolist())
    if twist is not None and twist[0] > twist[1]:
        raise InvalidValue(f"{where}: twist goes from {twist[0]} to {twist[1]}; swap them.")
    swing = cone.swing
    if isinstance(swing, Sequence | np.ndarray) and np.ndim(swing):
        x, y = read_vector(swing, 2, f"{where}: swing")
        swing = read_half_turn(x, f"{where}: swing"), read_half_turn(y, f"{where}: swing")
    elif swing is not None:
        swing = read_half_turn(swing, f"{where}: swing")
    angle = None if cone.angle is None else read_half_turn(cone.angle, f"{where}: angle")
    return BallRange(swing, twist, tuple(read_unit(cone.axis, f"{where}: cone axis").tolist()), angle)


def check_locked(locked: Any, kind: str, follows: Mimic | None, where: str) -> bool:
    """Return whether the joint is locked. Raises for a joint without a coordinate of its own."""
    if not isinstance(locked, (bool, np.bool_)):
        raise InvalidValue(f"{where}: locked is {locked!r}; it must be True or False.")
    if locked and KINDS[kind].nv == 0:
        raise InvalidValue(f"{where}: a {kind} joint does not move; leave locked out.")
    if locked and follows is not None:
        raise InvalidModel(f"{where}: it follows {follows.joint!r}; give that one locked=True instead.")
    return bool(locked)


def read_half_turn(value: Any, what: str) -> float:
    """Return an angle from 0 to pi [rad]; larger angles become pi."""
    return min(check_not_negative(value, what), float(np.pi))
