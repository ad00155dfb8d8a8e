"""The reasons why a body does not balance: the position of its centre of mass relative to its feet, and active limits.

Dragged handles have a higher priority than balance, so they may be reached in a pose that is not balanced. The centre
of mass is described in the body's own directions,

    behind, ahead     along f, the direction of the planted feet
    left, right       along u x f, u being up

by the larger of the two components.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.diagnosis.hull import measure_excess
from poise.diagnosis.misses import is_missed
from poise.rig.reasons import Stop, find_stops, group_stops, say_stops
from poise.rig.snapshot import HandleGoal
from poise.rig.standing.stance import Feet
from poise.solvers import Solution
from poise.solvers.report.show import say_length

__all__ = ["Fall", "find_fall", "say_why"]

BALANCE = "balance"  # the name of a rig's goal
AGREED = "All targets are reached"


@dataclass(frozen=True, slots=True)
class Fall:
    """A body that does not balance.

    Attributes:
        metres: The distance of its centre of mass from the support [m].
        way: The direction: "behind", "ahead of", "left of", "right of" or "next to".
        pulled: The handles with a target, which have a higher priority than balance.
        stops: The active limits, strongest first.
    """

    metres: float
    way: str
    pulled: tuple[str, ...]
    stops: tuple[Stop, ...]


def find_fall(solution: Solution | None, places: Mapping[str, HandleGoal], feet: Feet) -> Fall | None:
    """Return the imbalance of a frame's pose; None if it is balanced, or without a balance goal."""
    if solution is None or BALANCE not in solution.errors or not is_missed(solution, BALANCE):
        return None
    away = measure_excess(solution, solution.list_rows()[BALANCE])
    planted = [name for name, goal in places.items() if goal.kind in ("plant", "pin") and name in feet.names]
    pulled = tuple(name for name, goal in places.items() if goal.kind == "reach")
    way = name_way(away, find_front(solution.q, feet, planted), solution.model.up_direction)
    return Fall(solution.errors[BALANCE][0], way, pulled, find_stops(solution))


def find_front(q: Floats, feet: Feet, planted: list[str]) -> Floats:
    """Return the mean forward direction of some feet in a pose; zero if they are points."""
    sides = [feet[name].find_side(q) for name in planted if feet[name].side is not None]
    out: Floats = np.cross(np.sum(sides, axis=0), feet.model.up_direction) if sides else np.zeros(3)
    return out


def name_way(away: Floats, ahead: Floats, up: Floats) -> str:
    """Return the direction of a vector relative to the body's forward direction, in words."""
    if not np.linalg.norm(ahead) > 0.0:
        return "next to"
    along, across = float(away @ ahead), float(away @ np.cross(up, ahead))
    if abs(along) >= abs(across):
        return "ahead of" if along > 0.0 else "behind"
    return "left of" if across > 0.0 else "right of"


def say_why(misses: str, fall: Fall | None, units: str) -> str:
    """Return the text of the misses and of the imbalance."""
    if fall is None:
        return misses
    far = f"its centre of mass is {say_length(fall.metres, units=units)} {fall.way} its feet"
    if not misses.startswith(AGREED):
        return f"{misses}\nThe body is not balanced either: {far}."
    reasons = [say_stops(group) for group in group_stops(fall.stops)]
    text = f"{AGREED}, but the body is not balanced: {far}"
    text += f", and {', '.join(reasons)}." if reasons else "."
    if fall.pulled:
        text += f" Drags have priority over balance: drag {' and '.join(fall.pulled)} elsewhere, or less far."
    return text
