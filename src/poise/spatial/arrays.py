"""Validation of arguments: convert them to float64 arrays, or raise an error that names the argument."""

import math
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue, ShapeMismatch

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = int | slice | EllipsisType | NDArray[Any] | list[int] | tuple[Any, ...] | None


def read_finite(x: object, tail: tuple[int, ...], name: str) -> Array:
    """Return a new array of finite float64 whose last axes are ``tail``.

    Raises:
        ShapeMismatch: the last axes differ.
        InvalidValue: not real numbers, or not finite.
    """
    return check_finite(check_shape(read_reals(x, name), tail, name), name)


def read_reals(x: object, name: str) -> Array:
    """Return a new float64 array of the values, finite or not."""
    if type(x) is np.ndarray and x.dtype == np.float64:
        return x.copy()
    found = ""
    try:
        array = np.array(x)
        if array.dtype.kind in "fiubO" and x is not None:
            return np.asarray(array, dtype=np.float64, order="C")
    except (OverflowError, TypeError, ValueError) as error:
        found = f" ({error})"
    raise InvalidValue(f"{name} is {_describe(x)}{found}; it must be an array of real numbers.")


def _describe(x: object) -> str:
    return repr(x) if x is None or isinstance(x, str) else f"a {type(x).__name__}"


def check_shape(array: Array, tail: tuple[int, ...], name: str) -> Array:
    """Return the array itself. Raises `ShapeMismatch` unless its last axes are ``tail``."""
    n = len(tail)
    if array.ndim < n or array.shape[array.ndim - n :] != tail:
        wanted = ", ".join(["...", *map(str, tail)])
        raise ShapeMismatch(f"{name} has shape {array.shape}; it must be ({wanted}).")
    return array


def check_finite(array: Array, name: str) -> Array:
    """Return the array itself. Raises `InvalidValue` with the first NaN or infinity and its index."""
    # for small arrays Python is faster than NumPy; a finite sum implies finite numbers
    if array.size <= 16:
        few = array.ravel().tolist()
        if math.isfinite(sum(few)) or all(map(math.isfinite, few)):
            return array
    elif np.isfinite(array).all():
        return array
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    raise InvalidValue(f"{name}{write_index(index)} is {array[index]}; every number must be finite.")


def are_near(a: Array, b: Array, most: float) -> bool:
    """Return whether all differences are at most ``most``; NaN counts as larger."""
    if a.ndim == 1:  # faster for small arrays
        return all(abs(x - y) <= most for x, y in zip(a.tolist(), b.tolist(), strict=True))
    return bool((np.abs(a - b) <= most).all())


def write_index(index: tuple[int, ...]) -> str:
    """Return an index as Python source; empty for a single value."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def find_common_shape(a: tuple[int, ...], b: tuple[int, ...], names: str) -> tuple[int, ...]:
    """Return the common leading axes of two arrays, by NumPy's rules.

    Raises:
        ShapeMismatch: they do not broadcast together.
    """
    if a == b:
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        message = f"{names} have leading axes {a} and {b}, which do not broadcast together."
        raise ShapeMismatch(message) from None


def join_rows(a: Array, b: Array, names: str) -> Array:
    """Concatenate the last axes of ``a`` and ``b``, with leading axes broadcast, for kernels with two arguments."""
    lead = find_common_shape(a.shape[:-1], b.shape[:-1], names)
    split = a.shape[-1]
    rows = np.zeros((*lead, split + b.shape[-1]))
    rows[..., :split] = a
    rows[..., split:] = b
    return rows


def complete_index(index: Index) -> tuple[Any, ...]:
    """Return an index over the leading axes, extended to keep the last axis whole."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(part is Ellipsis for part in parts):
        return (*parts, slice(None))
    return (*parts, Ellipsis, slice(None))


def write_array(array: Array) -> str:
    """Return an array formatted for a repr: six digits, long batches abbreviated."""
    shown = array + 0.0  # without negative zeros
    return np.array2string(shown, precision=6, separator=", ", suppress_small=True, threshold=32, edgeitems=2)
