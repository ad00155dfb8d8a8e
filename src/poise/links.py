"""Links: connect each hook of a lower package to its implementation in a higher one, see `poise.hooks`.

Every package is imported when its hook is first used.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from poise.goals.postures.style import RETARGETER, STYLE_FILES
from poise.methods import OVER
from poise.model.derive import SPHERE_READER
from poise.model.geometry.surfaces import LOOK_READER, SURFACE_READER
from poise.notebook import CELL_WRITER
from poise.solvers.solution import DIAGNOSIS

__all__ = ["import_later"]


def import_later(module: str, name: str = "") -> Callable[[], Any]:
    """Return a function that imports a module, or a value that it defines."""

    def load() -> Any:
        found = import_module(module)
        return getattr(found, name) if name else found

    return load


DIAGNOSIS.link(import_later("poise.diagnosis"))
SURFACE_READER.link(import_later("poise.formats.meshes.surfaces", "MeshSurfaces"))
LOOK_READER.link(import_later("poise.formats.meshes.looks", "find_look"))
STYLE_FILES.link(import_later("poise.formats.styles"))
SPHERE_READER.link(import_later("poise.formats.curobo", "with_spheres"))
RETARGETER.link(import_later("poise.motion", "retarget"))
OVER.link(import_later("poise.solvers.over", "solve_over"))
CELL_WRITER.link(import_later("poise.pages.notebook", "write_cell"))
