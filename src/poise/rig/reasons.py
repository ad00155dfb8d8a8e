"""The reasons why handles miss their targets: active limits, as data and in words.

`solution.explanation` reports goals, limits and searches; an animator needs the joint that is at its limit.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.anatomy import roles as find_roles
from poise.diagnosis.misses import is_missed
from poise.model import Model
from poise.names import find_side
from poise.rig.snapshot import HandleGoal
from poise.solvers import Solution
from poise.solvers.report.findings import ActiveLimit
from poise.solvers.report.show import say_length

__all__ = ["Miss", "Stop", "find_misses", "find_stops", "group_stops", "say_misses", "say_stops"]

LEAST_MULTIPLIER = 0.05  # relative to the strongest limit: weaker ones are not reported
SAME_JOINT_DISTANCE = 0.05  # relative to L: joints closer to each other are reported as one
SIDES = {"l": "left", "r": "right", "fl": "left fore", "fr": "right fore", "hl": "left hind", "hr": "right hind"}
PARTS = ("ankle", "knee", "hip", "ball", "spine", "chest", "neck", "head", "clavicle", "shoulder", "elbow", "forearm")
BENDS = frozenset({"ankle", "knee", "elbow", "wrist", "spine", "neck", "ball", "toes"})
WORDS = {"ball": "toes", "clavicle": "collarbone", "spine_1": "back", "spine_2": "back", "chest": "upper back"}


@dataclass(frozen=True, slots=True)
class Stop:
    """An active limit, described as a part of the body.

    Attributes:
        part: The part of the body in words, such as "ankle"; the name of a joint or frame without a role.
        side: "left", "right", or empty.
        kind: "range" of a joint, "floor", or another kind of limit.
        degrees: The joint limit [deg], for a rotating joint.
        limit: The active limit.
    """

    part: str
    side: str
    kind: str
    degrees: float | None
    limit: ActiveLimit


@dataclass(frozen=True, slots=True)
class Miss:
    """A handle that is not at its target.

    Attributes:
        handle: The handle.
        metres: The position error [m].
        radians: The rotation error [rad].
        stops: The active limits, strongest first.
        pinned: The pinned feet, whose heels could rise if they were planted.
        text: The same data in words.
    """

    handle: str
    metres: float
    radians: float
    stops: tuple[Stop, ...]
    pinned: tuple[str, ...] = ()
    text: str = ""


def find_misses(solution: Solution, places: Mapping[str, HandleGoal], feet: Iterable[str]) -> tuple[Miss, ...]:
    """Return the handles of a frame that are not at their targets, with the reasons.

    Args:
        solution: The solution of the frame.
        places: Goals by handle.
        feet: The handles that are feet.
    """
    missed = [name for name in places if name in solution.errors and is_missed(solution, name)]
    if not missed:
        return ()
    stops = find_stops(solution)
    pinned = tuple(name for name in feet if name in places and places[name].kind == "pin")
    held = pinned if any(stop.part == "ankle" for stop in stops) else ()
    misses = [Miss(name, *solution.errors[name], stops, held) for name in missed]
    return tuple(replace(miss, text=say_miss(miss)) for miss in misses)


def find_stops(solution: Solution) -> tuple[Stop, ...]:
    """Return the active limits of a body as parts of it, strongest first."""
    strongest = max((limit.multiplier for limit in solution.active_limits), default=0.0)
    limits = [x for x in solution.active_limits if x.multiplier > LEAST_MULTIPLIER * strongest and not x.exempt]
    return tuple(name_stop(solution.model, limit) for limit in limits)


def name_stop(model: Model, limit: ActiveLimit) -> Stop:
    """Return a limit as a part of the body."""
    frame = model.joint(limit.joint).frame if limit.joint else (limit.between or ("",))[0]
    played = list_played(model, frame)
    role = min(played, key=lambda role: (not role.startswith(PARTS), role), default="")
    part, _, side = role.rpartition("_") if role.rpartition("_")[2] in SIDES else (role, "", "")
    turns = limit.kind == "range" and bool(model.turns[limit.velocity])
    degrees = math.degrees(limit.value) if turns else None
    if limit.kind == "floor":  # any point of it: the foot is reported
        return Stop("foot", SIDES.get(side or find_side(frame), ""), limit.kind, None, limit)
    return Stop(WORDS.get(part, part) or repr(frame), SIDES.get(side, ""), limit.kind, degrees, limit)


def list_played(model: Model, frame: str) -> list[str]:
    """Return the roles of a frame: those of the file, otherwise those found from the body.

    A machine's ankle has several joints in one place, only one of which has the role; the others are assigned to it.
    """
    stated = [role for role, own in model.roles.items() if own == frame]
    if stated or frame not in model.frames:
        return stated
    known = {role: own for role, own in find_roles(model).items() if role.startswith(PARTS)}
    at = {own: model.fk(model.rest, own)[:3, 3] for own in {*known.values(), frame}}
    far = {own: float(np.linalg.norm(place - at[frame])) for own, place in at.items() if own in known.values()}
    in_line = [own for own in far if frame in model.ancestors(own) or own in model.ancestors(frame)]
    nearest = min(in_line, key=lambda own: far[own], default="")
    near = nearest and far[nearest] < SAME_JOINT_DISTANCE * model.length
    return [role for role, own in known.items() if own == nearest] if near else []


def say_misses(misses: Sequence[Miss]) -> str:
    """Return the text of all misses, one line for each handle."""
    return "\n".join(miss.text for miss in misses) or "All targets are reached."


def say_miss(miss: Miss) -> str:
    """Return the text of a miss."""
    turned = f" and {math.degrees(miss.radians):.0f} degrees" if miss.radians > 1e-3 else ""
    text = f"{miss.handle} is {say_length(miss.metres)}{turned} away from its target"
    reasons = [say_stops(group) for group in group_stops(miss.stops)]
    text += f": {', '.join(reasons)}." if reasons else ": the target is out of reach."
    if miss.pinned:
        text += " If the feet were planted instead of pinned, the heels could rise."
    return text


def group_stops(stops: Sequence[Stop]) -> list[list[Stop]]:
    """Group the stops of one part and kind, of both sides."""
    groups: dict[tuple[str, str], list[Stop]] = {}
    for stop in stops:
        groups.setdefault((stop.part, stop.kind), []).append(stop)
    return list(groups.values())


def say_stops(group: Sequence[Stop]) -> str:
    """Return the text of stops of one kind."""
    first, sides = group[0], sorted({stop.side for stop in group if stop.side})
    if first.kind == "floor":
        return f"{say_part(first.part, sides, 'is', 'are')} on the floor"
    if first.kind != "range":
        return f"the limit {(first.limit.limit or first.kind)!r} restricts {first.part}"
    verb = "bent" if first.part in BENDS else "rotated" if first.degrees is not None else "extended"
    end = "" if first.degrees is None else f" ({abs(first.degrees):.0f} degrees)"
    limit = "its limit" if len(sides) < 2 else "their limits"
    return f"{say_part(first.part, sides, 'is', 'are')} {verb} to {limit}{end}"


def say_part(part: str, sides: Sequence[str], one: str, many: str) -> str:
    """Return the parts with their sides, and the matching verb."""
    if len(sides) < 2:
        return f"the {f'{sides[0]} ' if sides else ''}{part} {one}"
    return f"the {', '.join(sides[:-1])} and the {sides[-1]} {part} {many}"
