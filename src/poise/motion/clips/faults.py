"""Faults: the visible errors of a motion in each frame, and the parts that have the largest ones.

A fault measures the result: a part is below the floor even if a contact was to be held there. Only a contact that is
lower than the floor by the height of a stair shows that the floor is unknown.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import degrees

import numpy as np

from poise.anatomy import find_edges
from poise.arrays import Floats
from poise.kinematics import Motion
from poise.motion.clips.collisions import find_collisions
from poise.motion.contact.body_floor import measure_heights
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contacts, Place, is_of_foot
from poise.motion.contact.soles import measure_size
from poise.motion.contact.standing_heights import list_swinging

__all__ = ["CLEAR_RAD", "Fault", "FaultCurve", "find_floor_curve", "find_self_curve", "sort_faults", "tell_runs"]

LEAST_STAIR_M = 0.08  # on a body of 1.75 m: a contact that is less below the floor is an error, not a stair
SINK_DEPTH_M = 1e-3  # a part that is less deep is on the floor or on a surface of the scene
CLEAR_M, CLEAR_RAD = 5e-3, np.radians(20.0)  # errors that are clearly seen
WORDS = {
    "floor": ("below the floor", "The body is below the floor"),
    "scene": ("inside the scene", "The body is inside the scene"),
    "itself": ("inside each other", "The body collides with itself"),
    "limbs": ("off the source", "A bone is off the direction of the source"),
}  # by kind


@dataclass(frozen=True, slots=True)
class Fault:
    """The largest visible error of one kind in a motion.

    Attributes:
        kind: "floor", "scene" and "itself" for a depth, "limbs" for the direction of a bone.
        size: The depth [m] or the angle [rad].
        frame: The frame of the motion in which it is largest.
        part: The part of the body, quoted; both parts of a self-collision.
    """

    kind: str
    size: float
    frame: int
    part: str

    @property
    def severity(self) -> float:
        """The size relative to one that is clearly seen: 5 mm or 20 degrees."""
        return float(self.size / (CLEAR_RAD if self.kind == "limbs" else CLEAR_M))

    def __str__(self) -> str:
        return f"{self.part} {tell_size(self.kind, self.size)} {WORDS[self.kind][0]} at frame {self.frame}"


@dataclass(frozen=True, eq=False)
class FaultCurve:
    """An error of one kind in each frame of a motion.

    Attributes:
        kind: The kind, as in `Fault`.
        sizes: The largest error of each frame, (frames,) [m, rad]; 0 or negative without one.
        part: The part with the largest error of all.
    """

    kind: str
    sizes: Floats
    part: str

    def find_fault(self) -> Fault:
        """Return the largest error."""
        worst = int(np.argmax(self.sizes))
        return Fault(self.kind, max(float(self.sizes[worst]), 0.0), worst, self.part)

    def tell(self, fps: float, least: float = SINK_DEPTH_M, advice: str = "") -> list[str]:
        """Return the frames with errors above `least` in words, with the worst one; empty if there are none."""
        above, worst = self.sizes > least, self.find_fault()
        if not above.any():
            return []
        where = f"in {int(above.sum())} of {len(above)} frames ({tell_runs(find_runs(above))})"
        most = f"most at frame {worst.frame} ({worst.frame / fps:.2f} s)"
        by = f"by more than {tell_size(self.kind, least)}"
        return [
            f"{WORDS[self.kind][1]} {by} {where}, {most}, {self.part} by {tell_size(self.kind, worst.size)}{advice}."
        ]


def sort_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return faults, the clearest one first."""
    return tuple(sorted(faults, key=lambda fault: -fault.severity))


def tell_size(kind: str, size: float) -> str:
    """Return the size of an error of a kind [m, rad] in words."""
    return f"{degrees(size):.1f} degrees" if kind == "limbs" else f"{1e3 * size:.2g} mm"


def find_floor_curve(clip: Motion, ledger: Contacts) -> FaultCurve:
    """Measure the depth of the body below the floor, soles included; of soles below their contacts if it is unknown."""
    model, up, ground = clip.model, clip.model.up_direction, find_ground(clip, ledger)
    found = [
        (frame, height - clip.positions(frame, point) @ up)
        for (frame, point), height in find_lowest(clip, ledger, ground).items()
    ]
    body = None if ground is None else measure_heights(clip, ground, soles=True)
    if body is not None:
        found += [(part.frame, -lowest) for part, lowest in zip(body.parts, body.lowest.T, strict=True)]
    depths = np.array([depth for _, depth in found]).reshape(-1, len(clip))
    part = repr(found[int(depths.max(axis=1).argmax())][0]) if len(found) else ""
    return FaultCurve("floor", model.metres_per_unit * depths.max(axis=0, initial=0.0), part)


def find_ground(clip: Motion, ledger: Contacts) -> float | None:
    """Return the height of the floor below a body, or of its lowest stair [m]; None if it is unknown."""
    swinging, lowest = list_swinging(clip.model, ledger)
    if ledger.floor is None or not (swinging or any(map(is_of_foot, ledger))):
        return None
    return ledger.floor if lowest > ledger.floor - LEAST_STAIR_M * measure_size(clip) else lowest


def find_lowest(clip: Motion, ledger: Contacts, ground: float | None) -> dict[tuple[str, Place], float]:
    """Return the lowest height that every point of a sole may have [m]: the ground, or its lowest place if unknown."""
    lowest: dict[tuple[str, Place], float] = {}
    for contact in ledger:
        if contact.place is not None:
            key, height = (contact.frame, contact.point), float(np.array(contact.place) @ clip.model.up_direction)
            lowest[key] = min(lowest.get(key, height), height)
    if ground is None:
        return lowest
    points = {*lowest, *((sole.frame, sole.point) for sole in list_swinging(clip.model, ledger)[0])}
    for edge in find_edges(clip.model).values():
        if (edge.middle.frame, edge.middle.point) in points:
            points |= {(corner.frame, corner.point) for corner in edge.corners}
    return dict.fromkeys(sorted(points), ground)


def find_self_curve(clip: Motion) -> FaultCurve | None:
    """Measure the depth of self-collisions; None if the body has no size."""
    found = find_collisions(clip)
    return None if found is None else FaultCurve("itself", found.depths, " and ".join(map(repr, found.parts)))


def tell_runs(runs: list[tuple[int, int]]) -> str:
    """Return the first runs of frames in words."""
    return ", ".join(f"{a} to {b - 1}" for a, b in runs[:3]) + (", ..." if len(runs) > 3 else "")
