"""The solver shelf: one method a file, each with its settings, its source, and what it serves."""

from __future__ import annotations

from poise.errors import InvalidValue, name_not_found
from poise.methods.lm import LM
from poise.methods.method import Method

__all__ = ["LM", "Method", "by_name", "names"]

_SHELF: dict[str, type[Method]] = {"auto": LM, "lm": LM}


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
    if not isinstance(method, str):
        raise InvalidValue(f"method must be a name or a poise.methods object, not {method!r}.")
    if method not in _SHELF:
        raise name_not_found("method", method, _SHELF)
    return _SHELF[method]()
