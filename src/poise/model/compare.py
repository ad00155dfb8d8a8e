"""Describe the difference between two models, for error messages about a pose, clip or style of another model."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from poise.model.model import Model

__all__ = ["name_mismatch"]

# in the order of Attachments.key()
ATTACHED = ("shapes", "poses", "roles", "up axis", "units", "example poses", "subject", "disabled pairs", "closures")


def name_mismatch(given: Model, wanted: Model) -> str:
    """Return "of model 'a', not of 'b'"; for two models of the same name, their first difference."""
    if given.name != wanted.name:
        return f"of model {given.name!r}, not of {wanted.name!r}"
    return f"of another model that is named {given.name!r} too: {find_difference(given, wanted)}"


def find_difference(one: Model, other: Model) -> str:
    """Describe the first difference between two models."""
    keys = (one.attachments.key(), other.attachments.key())
    parts = [{spec.name: spec for spec in model.layout.specs} for model in (one, other)]
    for mine, others in (parts, parts[::-1]):
        alone = [name for name in mine if name not in others]
        if alone:
            return f"only one of the two has {alone[0]!r}"
    if list(parts[0]) != list(parts[1]):
        return "their joints and frames are in another order"
    for name, spec in parts[0].items():
        found = find_other_field(spec, parts[1][name])
        if found:
            return f"{name!r} has another {found}"
    found = next((word for word, a, b in zip(ATTACHED, *keys, strict=True) if a != b), "")
    return f"they differ in their {found}" if found else "nothing differs"


def find_other_field(one: Any, other: Any) -> str:
    """Return the first field that differs between two joints or frames, or ""."""
    if type(one) is not type(other):
        return "kind"
    for name in (each.name for each in fields(one)):
        a, b = getattr(one, name), getattr(other, name)
        if not (np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b):
            return str(name)
    return ""
