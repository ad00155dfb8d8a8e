"""Find the contacts of a clip.

A point is in contact where it is slow and low:

    speed < 0.15 m/s  (the larger of the two one-sided differences),   height < floor + 0.05 m,

for at least 0.13 s, on a body of 1.75 m; thresholds grow with the body. From there a contact goes on while the point is
slower than 0.2 m/s (hysteresis), and two contacts of one point that a single frame parts are one. The floor is the 2nd
percentile of the heights of all points; heels and toes that stand at another height than each other have each their
own, by the same rule, up to 0.02 m higher.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.contact.soles import SolePoint, find_soles, measure_size

__all__ = ["contacts", "find_runs"]

SLOW, SLOW_ENOUGH_TO_STAY = 0.15, 0.2  # m/s
LOW = 0.05  # m
SHORTEST = 0.13  # s
HIGHER = 0.02  # m: so much higher than the floor of all may be that of the heels, or the toes
SAME_FLOOR = 0.03  # m: a contact that is further off stands on something


def contacts(clip: Motion, points: Iterable[str] | str | None = None, floor: float | None = None) -> Contacts:
    """Find which points of a body stand still in a clip, where and when.

    Args:
        clip: The motion.
        points: Frames that may be in contact; the heels and toes of the body unless given.
        floor: The height of the ground [m]; found unless given.

    Raises:
        InvalidValue: The clip is no motion, or the body has no feet that can be told.
    """
    if not isinstance(clip, Motion):
        raise InvalidValue(f"clip is {clip!r}; it must be a poise.Motion.")
    if floor is not None and not (isinstance(floor, Real) and np.isfinite(floor)):
        raise InvalidValue(f"floor is {floor!r}; it must be a number.")
    soles = find_soles(clip.model, points)
    if not len(clip):
        return Contacts((), 0, clip.fps, floor)
    size, up = measure_size(clip), clip.model.up_direction
    paths = {sole.name: clip.positions(sole.frame, sole.point) for sole in soles}
    ground = find_floor(paths, up) if floor is None else float(floor)
    floors = find_floors(paths, up, ground, 0.0 if floor is not None else HIGHER * size)
    found = [
        contact
        for sole in soles
        for contact in find_contacts_of(
            sole, paths[sole.name], clip.fps, size, paths[sole.name] @ up - floors[sole.name]
        )
    ]
    return Contacts(tuple(level(found, up, SAME_FLOOR * size)), len(clip), clip.fps, ground)


def find_floor(paths: dict[str, Floats], up: Floats) -> float:
    """Return the height on which points stand: the 2nd percentile of all of them."""
    return float(np.percentile(np.concatenate([path @ up for path in paths.values()]), 2.0))


def find_floors(paths: dict[str, Floats], up: Floats, ground: float, most: float) -> dict[str, float]:
    """Return the height on which each point stands: that of its kind, no lower than the ground, nor much higher."""
    kinds = {name: find_kind(name) for name in paths}
    own = {kind: find_floor({n: paths[n] for n in paths if kinds[n] == kind}, up) for kind in set(kinds.values())}
    return {name: min(max(own[kind], ground), ground + most) for name, kind in kinds.items()}


def find_kind(name: str) -> str:
    """Return what a point is on both sides: "heel" of "heel_l"."""
    return name.rpartition("_")[0] or name


def find_contacts_of(sole: SolePoint, path: Floats, fps: float, size: float, height: Floats) -> list[Contact]:
    """List the contacts of one point, each at the mean of its path."""
    speed = measure_speed(path, fps)
    low = height < LOW * size
    stands = low & (speed < SLOW * size)
    may_stay = low & (speed < SLOW_ENOUGH_TO_STAY * size)
    out = []
    for start, end in find_runs(may_stay):
        inner = find_runs(stands[start:end])
        longest = max((b - a for a, b in inner), default=0)
        if longest >= max(2, round(SHORTEST * fps)) or (longest and end - start == len(path)):
            place = path[start:end].mean(axis=0)
            out.append(
                Contact(sole.frame, start, end, place=(place[0], place[1], place[2]), point=sole.point, name=sole.name)
            )
    return out


def level(found: list[Contact], up: Floats, most: float) -> list[Contact]:
    """Return contacts of a kind of point at one height, the median of theirs, unless they are off by `most`."""
    heights: dict[str, list[float]] = {}
    for contact in found:
        heights.setdefault(find_kind(contact.name), []).append(float(np.array(contact.place) @ up))
    medians = {kind: float(np.median(each)) for kind, each in heights.items()}
    out = []
    for contact in found:
        own, usual = float(np.array(contact.place) @ up), medians[find_kind(contact.name)]
        shift = usual - own if abs(usual - own) < most else 0.0
        place = np.array(contact.place) + shift * up
        out.append(replace(contact, place=(place[0], place[1], place[2])))
    return out


def measure_speed(path: Floats, fps: float) -> Floats:
    """Return the speed of a point at each frame [m/s]: the larger of the two one-sided differences."""
    if len(path) == 1:
        return np.zeros(1)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1) * fps
    fastest: Floats = np.maximum(np.concatenate([steps[:1], steps]), np.concatenate([steps, steps[-1:]]))
    return fastest


def find_runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the stretches of True: (first, one past the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
