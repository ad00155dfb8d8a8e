"""The built-in bodies: ``poise.load("humanoid")`` without a file.

`names` lists them, `build` builds one. Each body is in its own file, imported on first use; its docstring names the
published source of its dimensions.

Conventions. Arms and the snake stand on z = 0 with z up, as in their makers' drawings. Figures (humanoid, hand,
quadruped) are y-up: they face +z and have their left side at +x.
"""

from functools import cache
from importlib import import_module
from typing import cast

from poise.errors import name_not_found
from poise.model import Model

__all__ = ["build", "names"]

# body -> the module with its function
_HOMES = {
    "planar2": "planar",
    "planar3": "planar",
    "tree30": "tree30",
    "humanoid": "humanoid",
    "hand": "hand",
    "hand_l": "hand",
    "quadruped": "quadruped",
    "panda": "panda",
    "ur5e": "ur5e",
    "iiwa14": "iiwa14",
    "so101": "so101",
    "snake100": "snake100",
}


def names() -> tuple[str, ...]:
    """Return the names that `build` (and ``poise.load``) accept."""
    return tuple(_HOMES)


def build(name: str) -> Model:
    """Return the built-in body with this name; models are frozen, so every call returns the same object.

    Raises:
        NameNotFound: no built-in body has this name.
    """
    if name not in _HOMES:
        raise name_not_found("built-in body", name, _HOMES)
    return _build(name)


@cache
def _build(name: str) -> Model:
    module = import_module(f"{__name__}.{_HOMES[name]}")
    return cast(Model, getattr(module, name)())
