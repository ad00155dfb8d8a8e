"""The solver shelf: one method a file, each with its settings, its source, and what it serves."""

from __future__ import annotations

from poise.errors import InvalidValue, name_not_found
from poise.methods.ccd import CCD
from poise.methods.dls import DLS
from poise.methods.fabrik import FABRIK
from poise.methods.gradient import Gradient
from poise.methods.halley import Halley
from poise.methods.inverse import Inverse
from poise.methods.lm import LM
from poise.methods.method import Method
from poise.methods.pseudoinverse import Pseudoinverse
from poise.methods.qr import QR
from poise.methods.scipy import Scipy
from poise.methods.sdls import SDLS
from poise.methods.sequential import Sequential
from poise.methods.svd import SVD
from poise.methods.transpose import Transpose
from poise.methods.two_bone import TwoBone

__all__ = [
    "CCD",
    "DLS",
    "FABRIK",
    "LM",
    "QR",
    "SDLS",
    "SVD",
    "Gradient",
    "Halley",
    "Inverse",
    "Method",
    "Pseudoinverse",
    "Scipy",
    "Sequential",
    "Transpose",
    "TwoBone",
    "by_name",
    "names",
]

_RULES = (Transpose, Gradient, Inverse, Pseudoinverse, SVD, QR, DLS, SDLS, LM, Halley)
_SWEEPS = (CCD, FABRIK, TwoBone, Sequential)
_SHELF: dict[str, type[Method]] = {"auto": LM, **{method.name: method for method in _RULES + _SWEEPS}}


def names() -> tuple[str, ...]:
    """The names that `method=` accepts."""
    return tuple(_SHELF)


def by_name(method: str | Method) -> Method:
    """The method: itself, or the one of that name with its default settings.

    Raises:
        NameNotFound: No method has this name.
    """
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method):
        raise InvalidValue(f"method is a class; write {method.__name__}() for its default settings.")
    if not isinstance(method, str):
        raise InvalidValue(f"method must be a name or a poise.methods object, not {method!r}.")
    if method not in _SHELF:
        raise name_not_found("method", method, _SHELF)
    return _SHELF[method]()
