"""Scale joints: bones of variable length, parts that grow, and why shear is not supported.

A scale joint moves its frame along its axis by `length` times its coordinate: the frame is the far end of a bone, and
the coordinate is the bone's length divided by `length`. It moves its descendants and deforms nothing: every transform
of a body stays rigid. To stretch a limb, give each of its bones a scale joint.

A uniform_scale joint multiplies all lengths below it by its coordinate: offsets, bones, slides and curves. Frames stay
rigid, and points in a frame's own axes keep their distance from it.

A shear, or a scale of the descendants along one axis, would make transforms that are not rigid: rotations of the
descendants would no longer be rotations, distances and angles there would depend on position, and rotation errors,
twists and the Jacobian's angular rows would have no meaning.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InvalidModel, InvalidValue, NameNotFound, name_not_found
from poise.model.curves.path import Path
from poise.model.joints.kinds import KINDS

__all__ = ["check_kind", "check_length", "fill_bounds"]

OTHER_NAMES = {
    **dict.fromkeys(("hinge", "rotary", "rotational", "r"), "revolute"),
    **dict.fromkeys(("slide", "slider", "linear", "p"), "prismatic"),
    **dict.fromkeys(("spherical", "ball_joint"), "ball"),
    **dict.fromkeys(("floating", "freeflyer", "root"), "free"),
}  # kinds in other libraries
SHORTEST, LONGEST = 0.5, 2.0  # default range of a scale joint, in multiples of its length


def check_kind(kind: Any, where: str) -> None:
    """Raise an error for an unknown kind of joint; explain why shear is not supported."""
    if isinstance(kind, str) and kind.lower() in ("shear", "shearing"):
        raise InvalidModel(
            f"{where}: shear joints are not supported, because the frames below would not be rigid. For a bone that "
            "lengthens use kind 'scale', for a part that grows 'uniform_scale', for one that leans 'universal'. "
            "poise.textbook.AffineJoint has points under a shear."
        )
    if not isinstance(kind, str) or kind not in KINDS:
        if meant := OTHER_NAMES.get(str(kind).lower()):
            raise NameNotFound(f"no joint kind is called {kind!r}. Did you mean {meant!r}?", str(kind), tuple(KINDS))
        raise name_not_found("joint kind", str(kind), KINDS)


def check_length(kind: str, length: Any, where: str) -> float:
    """Return the length of a scale joint's bone [m], or 0 for other kinds."""
    if kind != "scale":
        if length is not None:
            raise InvalidValue(f"{where}: only a scale joint has a length, not a {kind} one; leave it out.")
        return 0.0
    if length is None:
        raise InvalidValue(f"{where}: a scale joint needs length=, the bone's length where its coordinate is 1 [m].")
    try:
        out = float(length)
    except (TypeError, ValueError):
        out = 0.0
    if not 0.0 < out < np.inf:
        raise InvalidValue(f"{where}: length is {length!r}; it must be above zero [m].")
    return out


def fill_bounds(
    kind: str, lower: ArrayLike | None, upper: ArrayLike | None, path: Path | None, where: str
) -> tuple[ArrayLike | None, ArrayLike | None]:
    """Return the range of a joint; the default is the curve of an open path, or half to twice for a scale."""
    if kind in ("scale", "uniform_scale"):
        low, high = SHORTEST if lower is None else lower, LONGEST if upper is None else upper
        if np.size(low) == 1 and np.isreal(low) and not np.asarray(low, dtype=object).ravel()[0] > 0.0:
            raise InvalidValue(f"{where}: lower is {low}; lengths stay above zero, so it must be above zero.")
        return low, high
    if path is None or path.closed:
        return lower, upper
    for name, bound in (("lower", lower), ("upper", upper)):
        if bound is not None and np.size(bound) == 1:
            value = np.asarray(bound, dtype=np.float64).ravel()[0]
            if np.isfinite(value) and not 0.0 <= value <= path.length:
                raise InvalidValue(f"{where}: {name} is {value:g}; its curve goes from 0 to {path.length:.6g}.")
    return 0.0 if lower is None else lower, path.length if upper is None else upper
