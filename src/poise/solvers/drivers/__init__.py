"""The drivers of methods that run in Python instead of in the kernels alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from poise.goals import Goal, Rest
from poise.model import Model
from poise.native import core
from poise.solvers.options import Options
from poise.solvers.table import make_limit_table, make_native_table

if TYPE_CHECKING:
    from poise.methods import Scipy, Sequential

__all__ = ["prepare", "prepare_limits"]


def prepare(model: Model, goals: Mapping[str, Goal], options: Options) -> Any:
    """Return a native solver, or a Python driver with the same interface."""
    if options.method.name == "sequential":
        from poise.solvers.drivers.sequential import PartByPart

        return PartByPart(model, goals, options, cast("Sequential", options.method))
    if options.method.name == "scipy":
        from poise.solvers.drivers.blackbox import BlackBox

        return BlackBox(model, goals, options, cast("Scipy", options.method))
    if any(isinstance(goal, Rest) and goal.curved for goal in goals.values()):
        from poise.solvers.drivers.curved_posture import CurvedPosture

        return CurvedPosture(model, goals, options)
    return core.Solver(model.native_body, make_native_table(model, goals, options))


def prepare_limits(native: Any, model: Model, goals: Mapping[str, Goal], options: Options) -> Any:
    """Return another solver of a prepared problem, with the regions of other options."""
    if isinstance(native, core.Solver) and options.limit_handling != "off":
        return core.Solver(native, model.native_body, make_limit_table(model, options))
    return prepare(model, goals, options)
