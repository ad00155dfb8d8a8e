"""A clearance on a GPU: its surfaces and regions in device memory, and the passes after the search.

The kernels are in `kernels/loop/gpu_clearance.h`. Neither the surfaces nor the world are part of their source, so that
a changed world needs no compilation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from poise.native import core

__all__ = ["DeviceClearance"]

POSE = core.GoalOp.POSE.value


@dataclass(eq=False)
class DeviceClearance:
    """The clearance of a prepared problem.

    Attributes:
        native: The prepared solver, with the clearance as its only limit.
    """

    native: Any

    @cached_property
    def body(self) -> dict[str, Any]:
        """The body that carries the surfaces, in double."""
        return core.problem_of(self.native, False)

    def prepare(self, single: bool) -> tuple[Any, dict[str, bytes]]:
        """Return the kernels' argument, in float or in double, and the arrays whose addresses it lacks."""
        arrays, numbers = core.clearance_of(self.native, single)
        layout: Any = core.clearance_call(single)
        call: Any = np.zeros(1, np.dtype(layout))
        for name, value in numbers.items():
            call[name] = value
        goals, frames = self.body["goals"], self.body["frames"]
        metres, radians = goals[0]["tolerance"]
        alone = len(goals) == 1 and goals[0]["op"] == POSE and goals[0]["base"] < 0
        call["goal_primitive"] = frames[goals[0]["frame"]]["primitive"] if alone else -1
        call["deep"] = -2.0 * (metres + radians * float(self.body["scale"]))
        return call, arrays

    def upload(self, xp: Any, single: bool) -> tuple[Any, list[Any]]:
        """Put the arrays on the current device, and return the kernels' argument and these arrays."""
        call, arrays = self.prepare(single)
        held = [xp.asarray(np.frombuffer(data or bytes(8), np.uint8)) for data in arrays.values()]
        for name, array in zip(arrays, held, strict=True):
            call[name] = array.data.ptr
        return call, held
