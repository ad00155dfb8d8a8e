"""Links: connect each hook of a lower package to its implementation in a higher one, see `poise.hooks`.

Every package is imported when its hook is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from poise.anatomy.contacts import POINT_READER, PointReader
from poise.goals.postures.style import RETARGETER, Retargeter
from poise.methods import OVER, OverSolver
from poise.model import Model
from poise.model.derive import SPHERE_READER
from poise.notebook import CELL_WRITER, CellWriter
from poise.solvers.solution import DIAGNOSIS, Diagnosis

__all__ = ["import_cells", "import_diagnosis", "import_over", "import_points", "import_retargeting", "import_spheres"]


@DIAGNOSIS.link
def import_diagnosis() -> Diagnosis:
    """Import the diagnosis of a `Solution`."""
    from poise import diagnosis

    return diagnosis


@POINT_READER.link
def import_points() -> PointReader:
    """Import the reader of mesh points, for contact points."""
    from poise.formats.meshes.points import read_points

    return read_points


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
