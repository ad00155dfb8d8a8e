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
CAPSULE = np.dtype([("primitive", "i4"), ("", "i4"), ("ends", "f8", (2, 3)), ("radius", "f8")])  # CapsuleData<double>
FAR = 20.0  # body lengths


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
        frame = frames[goals[0]["frame"]]
        fixed = len(goals) == 1 and goals[0]["op"] == POSE and goals[0]["base"] < 0 and min(goals[0]["weight"]) > 0
        call["goal_primitive"] = frame["primitive"] if fixed else -1
        call["deep"] = -2.0 * (metres + radians * self.measure_lever(frame))
        if single and self.is_far():
            call["certain"] = False
        return call, arrays

    def measure_lever(self, frame: dict[str, Any]) -> float:
        """Return the largest distance between a frame and a surface that its link carries [m]."""
        capsules = np.frombuffer(core.clearance_of(self.native, False)[0]["capsules"], CAPSULE)
        own = capsules[capsules["primitive"] == frame["primitive"]]
        far = np.linalg.norm(own["ends"] - np.array(frame["p"]), axis=-1).max(axis=1, initial=0.0) + own["radius"]
        return float(max(far, default=0.0))

    def is_far(self) -> bool:
        """Return whether the body stands so far from the origin that float cannot tell whether a pose is clear."""
        roots = [p["p"] for p in self.body["primitives"] if p["parent"] < 0]
        return max((float(np.linalg.norm(p)) for p in roots), default=0.0) > FAR * float(self.body["scale"])

    def upload(self, xp: Any, single: bool) -> tuple[Any, list[Any]]:
        """Put the arrays on the current device, and return the kernels' argument and these arrays."""
        call, arrays = self.prepare(single)
        held = [xp.asarray(np.frombuffer(data or bytes(8), np.uint8)) for data in arrays.values()]
        for name, array in zip(arrays, held, strict=True):
            call[name] = array.data.ptr
        return call, held
