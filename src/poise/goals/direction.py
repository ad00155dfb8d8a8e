"""Parse directions: a letter such as "z" or "-y", or three numbers of any nonzero length."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Triple
from poise.errors import InvalidValue
from poise.kinematics.regions import make_triple, read_position
from poise.model.spec import read_unit

__all__ = ["LETTERS", "place_on_frame", "read_axis", "read_point"]

LETTERS = {
    sign + letter: tuple(float(x) for x in factor * np.eye(3)[k])
    for sign, factor in (("", 1.0), ("+", 1.0), ("-", -1.0))
    for k, letter in enumerate("xyz")
}


def read_axis(axis: Any, what: str) -> Triple:
    """Return a unit vector."""
    if isinstance(axis, str):
        if axis.lower() not in LETTERS:
            raise InvalidValue(f"{what} is {axis!r}; give a letter such as 'z' or '-y', or 3 numbers.")
        return make_triple(np.array(LETTERS[axis.lower()]))
    return make_triple(read_unit(axis, what))


def read_point(point: Any, what: str) -> Triple | None:
    """Return a point of a frame; None means its origin."""
    return None if point is None else read_position(point, what)


def place_on_frame(point: Triple | None) -> NDArray[np.float64]:
    """Return the point as an array; zeros for a frame's origin."""
    return np.zeros(3) if point is None else np.array(point)
