"""Why a handle misses its target: the limits that hold the body back, as data and in words.

`solution.explanation` reports goals, limits and searches; an animator wants to know which joint is at its limit.
"""

from __future__ import annotations

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

LEAST_MULTIPLIER = 0.05  # of the strongest limit: weaker ones are not reported
SAME_JOINT_DISTANCE = 0.05  # of L: joints nearer to one another are reported as one
SIDES = {"l": "left", "r": "right", "fl": "left fore", "fr": "right fore", "hl": "left hind", "hr": "right hind"}
PARTS = ("ankle", "knee", "hip", "ball", "spine", "chest", "neck", "head", "clavicle", "shoulder", "elbow", "forearm")
BENDS = frozenset({"ankle", "knee", "elbow", "wrist", "spine", "neck", "ball", "toes"})
WORDS = {"ball": "toes", "clavicle": "collarbone", "spine_1": "back", "spine_2": "back", "chest": "upper back"}


@dataclass(frozen=True, slots=True)
class Stop:
    """A limit that holds a handle back, as a part of the body.

    Attributes:
        part: The part of the body in words, such as "ankle"; the name of a joint or frame where it has no role.
        side: "left", "right", or empty.
        kind: "range" of a joint, "floor", or another kind of limit.
        degrees: The end of a joint's range, for a joint that turns.
        limit: The limit that it stands at.
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
        metres: Its position error.
        radians: Its rotation error.
        stops: The limits that hold it back, strongest first.
        pinned: The feet that are pinned, whose heels could rise if they were planted.
        text: The same in words.
    """

    handle: str
    metres: float
    radians: float
    stops: tuple[Stop, ...]
    pinned: tuple[str, ...] = ()
    text: str = ""


def find_misses(solution: Solution, places: Mapping[str, HandleGoal], feet: Iterable[str]) -> tuple[Miss, ...]:
    """Return the handles of a frame that are not at their targets, and why.

    Args:
        solution: The solution of the frame.
        places: Goal by handle.
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
    """Return the limits that hold a body back, as parts of it, the strongest first."""
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
    if limit.kind == "floor":  # whatever of it touches: the foot does
        return Stop("foot", SIDES.get(side or find_side(frame), ""), limit.kind, None, limit)
    return Stop(WORDS.get(part, part) or repr(frame), SIDES.get(side, ""), limit.kind, degrees, limit)


def list_played(model: Model, frame: str) -> list[str]:
    """Return the roles that a frame plays: those of the file, else those that the body shows.

    A machine's ankle is several joints in one place, of which one has the role: the others are said to be of it too.
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
    """Say what is missed, one line for each handle."""
    return "\n".join(miss.text for miss in misses) or "Everything is where you asked."


def say_miss(miss: Miss) -> str:
    """Say in words what a miss is."""
    turned = f" and {math.degrees(miss.radians):.0f} degrees" if miss.radians > 1e-3 else ""
    text = f"{miss.handle} stays {say_length(miss.metres)}{turned} from where it is pulled"
    reasons = [say_stops(group) for group in group_stops(miss.stops)]
    text += f": {', '.join(reasons)}." if reasons else ": it does not reach so far."
    if miss.pinned:
        text += " Planted instead of pinned, the feet could lift their heels."
    return text


def group_stops(stops: Sequence[Stop]) -> list[list[Stop]]:
    """Return the stops of one kind, of both sides, together."""
    groups: dict[tuple[str, str], list[Stop]] = {}
    for stop in stops:
        groups.setdefault((stop.part, stop.kind), []).append(stop)
    return list(groups.values())


def say_stops(group: Sequence[Stop]) -> str:
    """Say what stops of one kind are."""
    first, sides = group[0], sorted({stop.side for stop in group if stop.side})
    if first.kind == "floor":
        return f"{say_part(first.part, sides, 'is', 'are')} on the floor"
    if first.kind != "range":
        return f"{first.limit.limit or first.kind} holds {first.part}"
    verb = "bent" if first.part in BENDS else "turned" if first.degrees is not None else "out"
    end = "" if first.degrees is None else f" ({abs(first.degrees):.0f} degrees)"
    goes = "it goes" if len(sides) < 2 else "they go"
    return f"{say_part(first.part, sides, 'is', 'are')} {verb} as far as {goes}{end}"


def say_part(part: str, sides: Sequence[str], one: str, many: str) -> str:
    """Say which parts, and the verb that goes with them."""
    if len(sides) < 2:
        return f"the {f'{sides[0]} ' if sides else ''}{part} {one}"
    return f"the {', '.join(sides[:-1])} and the {sides[-1]} {part} {many}"
