"""Links: which room fills each hook of a room below, see `poise.hooks`.

Every room is imported when its hook is used, and not before.
"""

from __future__ import annotations

from poise.anatomy.contacts import POINT_READER, PointReader
from poise.goals.postures.style import RETARGETER, Retargeter
from poise.methods import OVER, OverSolver
from poise.notebook import CELL_WRITER, CellWriter
from poise.solvers.solution import DIAGNOSIS, Diagnosis

__all__ = ["import_cells", "import_diagnosis", "import_over", "import_points", "import_retargeting"]


@DIAGNOSIS.link
def import_diagnosis() -> Diagnosis:
    """Import the explanations of a `Solution`."""
    from poise import diagnosis

    return diagnosis


@POINT_READER.link
def import_points() -> PointReader:
    """Import the reader of the meshes that contact points are found on."""
    from poise.formats.meshes.points import read_points

    return read_points


@RETARGETER.link
def import_retargeting() -> Retargeter:
    """Import the retargeting of clips that `Style.fit` gets from other bodies."""
    from poise.motion import retarget

    return lambda clip, model: retarget(clip, model).motion


@OVER.link
def import_over() -> OverSolver:
    """Import the solver behind `poise.methods.over`."""
    from poise.solvers.over import solve_over

    return solve_over


@CELL_WRITER.link
def import_cells() -> CellWriter:
    """Import the pages that notebook cells show."""
    from poise.pages.notebook import write_cell

    return write_cell
