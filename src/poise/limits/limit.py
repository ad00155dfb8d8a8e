"""Limit: a rule. It has no weight and no priority, and is never broken in what a solver returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from poise.errors import InvalidValue

__all__ = ["Limit", "name_limits"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What all limits have.

    Attributes:
        name: What it is called in `solution.active_limits` and in `why()`.
    """

    name: str = ""

    def settle(self, default: str, **values: Any) -> None:
        """Writes checked values, and the name, into a limit that is being made."""
        if not isinstance(self.name, str):
            raise InvalidValue(f"{type(self).__name__}: name must be a string, not {self.name!r}.")
        for key, value in {**values, "name": self.name or default}.items():
            object.__setattr__(self, key, value)


def name_limits(limits: Any) -> dict[str, Limit]:
    """Limits by name; those of the same name are numbered.

    Raises:
        InvalidValue: Something else is among them.
    """
    given = [limits] if isinstance(limits, Limit) else limits
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidValue(f"limits must be a list of limits such as Clearance(...), not {limits!r}.")
    named: dict[str, Limit] = {}
    for limit in given:
        if not isinstance(limit, Limit):
            raise InvalidValue(f"limits must be a list of limits such as Clearance(...), not {limit!r}.")
        name, number = limit.name, 2
        while name in named:
            name, number = f"{limit.name}#{number}", number + 1
        named[name] = limit
    return named
