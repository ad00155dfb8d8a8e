"""A clearance on a GPU: its surfaces and regions in device memory, and where they are in each row.

The kernels are in `kernels/loop/gpu_clearance.h` and `gpu_places.h`. Neither the surfaces nor the world are part of
their source, so that a changed world needs no compilation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from poise.native import core

__all__ = ["DeviceClearance", "PlacedWorld"]

POSE = core.GoalOp.POSE.value
CAPSULE = np.dtype([("primitive", "i4"), ("", "i4"), ("ends", "f8", (2, 3)), ("radius", "f8")])  # CapsuleData<double>
PLACES = np.dtype(  # DevicePlaces
    [("data", "u8"), ("stride", "i8"), ("single", "i4"), ("first", "i4"), ("last", "i4"), ("", "i4")]
)
FAR = 20.0  # body lengths
Solid = tuple[Sequence[float], Sequence[float], float]  # both ends and the radius of a capsule


@dataclass(frozen=True)
class PlacedWorld:
    """Where the base and the regions of each row are, on the device.

    Attributes:
        places: Transforms of the base, or None, then those of regions: arrays and the strides between rows.
        groups: The index in `places` of each region, in the kernels' order; 0 for a region without its own place.
    """

    places: tuple[tuple[Any, int] | None, ...]
    groups: tuple[int, ...]

    def write(self, first: int) -> Any:
        """Return the kernels' argument for a batch from row `first`."""
        out, end = np.zeros(len(self.places), PLACES), 0
        for k, rows in enumerate(self.places):
            out[k]["first"], end = end, end + self.groups.count(k)
            out[k]["last"] = end
            if rows is not None:
                array, out[k]["stride"] = rows
                out[k]["data"] = array.data.ptr + first * rows[1] * array.itemsize
                out[k]["single"] = array.itemsize == 4
        return out


@dataclass(eq=False)
class DeviceClearance:
    """The clearance of a prepared problem.

    Attributes:
        native: The prepared solver, with the clearance as its only limit.
        fixed: The capsules that no joint moves, in the axes of the base, and last a ball on top of the base's origin.
    """

    native: Any
    fixed: Sequence[Solid] = ()

    @cached_property
    def body(self) -> dict[str, Any]:
        """The body that carries the surfaces, in double."""
        return core.problem_of(self.native, False)

    @cached_property
    def has_clouds(self) -> bool:
        """Whether a region is a point cloud or a convex mesh."""
        return bool(core.clearance_of(self.native, False)[0]["obstacles"])

    def prepare(self, single: bool, groups: tuple[int, ...] = ()) -> tuple[Any, dict[str, bytes]]:
        """Return the kernels' argument, in float or in double, and the arrays whose addresses it lacks.

        Regions are in the order of their groups (PlacedWorld). Only the argument in double has the fixed capsules.
        """
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
        call["far"] = FAR * float(self.body["scale"])
        if single and self.is_far():
            call["certain"] = False
        count = len(arrays["balls"]) // (16 if single else 32)
        for name in ("regions", "balls") if groups else ():
            rows = np.frombuffer(arrays[name], np.uint8).reshape(count, -1)
            arrays[name] = rows[np.argsort(groups, kind="stable")].tobytes()
        call["n_places"], arrays["places"] = 1, PlacedWorld((None,), (0,) * count).write(0).tobytes()
        if not single:
            fixed = np.array([(-1, 0, ends, radius) for *ends, radius in self.fixed], CAPSULE)
            call["fixed"] = len(arrays["capsules"]) // CAPSULE.itemsize
            call["above"] = call["fixed"] + max(0, len(fixed) - 1)
            arrays["capsules"] += fixed.tobytes()
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

    def upload(self, xp: Any, single: bool, groups: tuple[int, ...] = ()) -> tuple[Any, list[Any]]:
        """Put the arrays on the current device, and return the kernels' argument and these arrays."""
        call, arrays = self.prepare(single, groups)
        numbers = xp.asarray(np.frombuffer(arrays.pop("numbers") or bytes(8), np.uint8))
        arrays["obstacles"] = place_obstacles(arrays["obstacles"], numbers.data.ptr)
        held = [xp.asarray(np.frombuffer(data or bytes(8), np.uint8)) for data in arrays.values()]
        for name, array in zip(arrays, held, strict=True):
            call[name] = array.data.ptr
        return call, [numbers, *held]


def place_obstacles(obstacles: bytes, address: int) -> bytes:
    """Return obstacles with the addresses of their points, boxes and faces, which are given from an address."""
    words = np.frombuffer(obstacles, np.uint64).reshape(-1, 8).copy()
    words[:, [0, 2, 6]] += np.uint64(address)
    return words.tobytes()
