"""Which machine runs a method: the kernels alone, or a driver that calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poise.goals import Goal
from poise.methods import Scipy, Sequential
from poise.model import Model
from poise.native import core
from poise.solvers.blackbox import BlackBox
from poise.solvers.sequential import PartByPart
from poise.solvers.table import Options, native_table

__all__ = ["prepare"]


def prepare(model: Model, goals: Mapping[str, Goal], options: Options) -> Any:
    """A native solver, or what stands for one where a method drives several."""
    if isinstance(options.method, Sequential):
        return PartByPart(model, goals, options, options.method)
    if isinstance(options.method, Scipy):
        return BlackBox(model, goals, options, options.method)
    return core.Solver(model._body, native_table(model, goals, options))
