"""Former names and positions of arguments, accepted for one release with a DeprecationWarning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from poise.errors import UnknownArgument

__all__ = ["accept_former"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def accept_former(*order: str, **names: str) -> Callable[[_Function], _Function]:
    """Return a decorator that makes a function accept former calls.

    Args:
        order: The arguments that used to be positional, by their current names.
        names: Former names of arguments and their current names, such as `ground="floor"`.
    """

    def decorate(function: _Function) -> _Function:
        count = sum(p.kind is not p.KEYWORD_ONLY for p in signature(function).parameters.values())

        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            kept = args if len(args) > len(order) else args[:count]
            moved = list(zip(order[count:], args[len(kept) :], strict=False))
            moved += [(name, given.pop(former)) for former, name in names.items() if former in given]
            for name, value in moved:
                if name in given:
                    raise UnknownArgument(f"{function.__name__}() got {name!r} twice; give {name}= once, by its name.")
                given[name] = value
            if moved:
                typed = ", ".join(f"{name}=..." for name, _ in moved)
                message = f"{function.__name__}(): this former call is deprecated; type {typed}"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*kept, **given)

        return call  # type: ignore[return-value]

    return decorate
