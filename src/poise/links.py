"""Links: connect each hook of a lower package to its implementation in a higher one, see `poise.hooks`.

Every package is imported when its hook is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from poise.goals.postures.style import RETARGETER, STYLE_FILES, Retargeter, StyleFiles
from poise.methods import OVER, OverSolver
from poise.model import Model
from poise.model.derive import SPHERE_READER
from poise.model.geometry.looks import Look
from poise.model.geometry.surfaces import LOOK_READER, SURFACE_READER, MakeReader
from poise.notebook import CELL_WRITER, CellWriter
from poise.solvers.solution import DIAGNOSIS, Diagnosis

__all__ = [
    "import_cells",
    "import_diagnosis",
    "import_looks",
    "import_over",
    "import_retargeting",
    "import_spheres",
    "import_styles",
    "import_surfaces",
]


@DIAGNOSIS.link
def import_diagnosis() -> Diagnosis:
    """Import the diagnosis of a `Solution`."""
    from poise import diagnosis

    return diagnosis


@SURFACE_READER.link
def import_surfaces() -> MakeReader:
    """Import the reader of the surfaces of meshes, for collision bodies and contact points."""
    from poise.formats.meshes.surfaces import MeshSurfaces

    return MeshSurfaces


@LOOK_READER.link
def import_looks() -> Callable[[Model], Look]:
    """Import the reader of the appearance of bodies, for pictures."""
    from poise.formats.meshes.looks import find_look

    return find_look


@STYLE_FILES.link
def import_styles() -> StyleFiles:
    """Import the reader and writer of styles."""
    from poise.formats import styles

    return styles


@SPHERE_READER.link
def import_spheres() -> Callable[[Model, str | PathLike[str]], Model]:
    """Import the reader of cuRobo's spheres, for `Model.with_spheres`."""
    from poise.formats.curobo import with_spheres

    return with_spheres


@RETARGETER.link
def import_retargeting() -> Retargeter:
    """Import the retargeting of clips from other bodies, for `Style.fit`."""
    from poise.motion import retarget

    return lambda clip, model: retarget(clip, model).motion


@OVER.link
def import_over() -> OverSolver:
    """Import the solver of `poise.methods.over`."""
    from poise.solvers.over import solve_over

    return solve_over


@CELL_WRITER.link
def import_cells() -> CellWriter:
    """Import the writer of notebook cells."""
    from poise.pages.notebook import write_cell

    return write_cell
