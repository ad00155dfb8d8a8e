"""Detect contacts with one hysteresis rule, for whole clips and streams.

A contact begins when a point is slow and low for a while, and continues while it stays almost as slow:

    begins    speed < 0.15 m/s and height < floor + 0.05 m,
    continues speed < 0.2 m/s  and height < floor + 0.06 m,

on a body of 1.75 m; thresholds scale with the body. Animals on four legs have larger speeds and shorter stances: paws
yield, and a gallop stands for less than 0.1 s. Heels and toes stand only while the sole is level (`level_soles`).
The speed in a clip is the larger of the two one-sided differences over 1/30 s, relative to the world or to the drift of
the whole body, whichever is slower (`noise`), and a contact starts at the first frame that satisfies the second rule; a
stream has backward differences only, over one frame and over 1/30 s (frames of fast recordings are noisy), and its
contacts start when they are detected. Heights are above the estimated `floor`.

Contacts get the height of the floor that they stand on (`standing_heights`). A point that does not move at all for most
of a contact, as after `lock`, is in contact in exactly those frames, at its own height, and the floor is not above any
point: so a clip that is locked again does not change. The beginning of a clip depends little on later frames, unless
the floor changes by more than a few centimetres.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist, inf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import ContactPoint
from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Motion
from poise.kinematics.motion import check_motion
from poise.motion.contact.cuts import find_cuts, find_jumps, part_at_cuts
from poise.motion.contact.floor import find_ground, find_kind_floors, find_local_floor
from poise.motion.contact.ledger import Contact, Contacts, find_kind
from poise.motion.contact.level_soles import flag_level_soles
from poise.motion.contact.noise import measure_drift, remove_jitter
from poise.motion.contact.soles import find_soles, measure_size
from poise.motion.contact.standing_heights import level_contacts

__all__ = [
    "FOOT_RULE",
    "HAND_RULE",
    "PAW_RULE",
    "ContactDetector",
    "ContactRule",
    "contacts",
    "find_locked_floor",
    "find_runs",
]

Flags = NDArray[np.bool_]
Interval = tuple[int, int]
Place = Sequence[float]
MEAN_SPEED_S = 1 / 30  # window of a mean speed: at 120 fps a millimetre of noise is 0.12 m/s
MEAN_SPEED_WEIGHT = 1.5  # factor on the mean speed; the smaller of the result and the speed of one frame counts
KIND_FLOOR_RISE_M = 0.02  # largest height of the floor of heels, or of toes, above the floor of all points
LOCAL_FLOOR_RISE_M = 0.05  # largest height of the local floor above the floor: many recordings rise and sink
DIP_SPEED_M_S = 0.4  # a faster point may dip below the floor, and does not show its height
STAY_HEIGHT = 1.2  # of a point that stays in contact, relative to that of one that begins
EXACT_STEP_M = 1e-5  # per frame: a point that moves by less is held
EXACT_SLACK = 1e-7  # m, or relative to the height: rounding of a height after `lock`
SHORTEST_S = 0.1  # shortest time for which a point is held
EXACT_SHARE = 0.5  # of a contact's frames: if more of them are exact, the others are not in contact
LOCKED_SHARE = 0.7  # of the frames of all contacts: if more of them are exact, the clip is locked


@dataclass(frozen=True, slots=True)
class ContactRule:
    """The thresholds of a contact on a body of 1.75 m.

    Attributes:
        begin_speed_m_s: A contact begins below this speed [m/s].
        stay_speed_m_s: A contact continues below this speed [m/s].
        height_m: The largest height above the floor [m]; inf for any height.
        shortest_s: The shortest time for which a point of a clip must be slow [s].
        pelvis_share: The share of the pelvis' speed by which a standing point may be faster: paws yield.
    """

    begin_speed_m_s: float
    stay_speed_m_s: float
    height_m: float
    shortest_s: float
    pelvis_share: float = 0.0

    def begins(self, speed: Any, height: Any, size: float) -> Any:
        """Return whether a contact may begin at a speed and a height above the floor [m], numbers or arrays of them.

        `size` is relative to a person.
        """
        return (speed < self.begin_speed_m_s * size) & (height < self.height_m * size)

    def stays(self, speed: Any, height: Any, size: float) -> Any:
        """Return whether a contact may continue."""
        return (speed < self.stay_speed_m_s * size) & (height < STAY_HEIGHT * self.height_m * size)

    def find_intervals(
        self,
        path: Floats,
        heights: Floats,
        fps: float,
        size: float,
        drift: Floats | float = 0.0,
        slack: Floats | float = 0.0,
    ) -> list[tuple[int, int]]:
        """List the contacts of one point over a clip: (first frame, one past the last).

        `drift` is the displacement of the whole body by noise, (frames, 3) [m]. Speeds are reduced by `slack` [m/s].
        """
        speeds = np.minimum(measure_speed(path, fps), measure_speed(path - drift, fps)) - slack
        begins, out = self.begins(speeds, heights, size), list[tuple[int, int]]()
        for start, end in find_runs(self.stays(speeds, heights, size)):
            longest = max((b - a for a, b in find_runs(begins[start:end])), default=0)
            if longest >= max(2, round(self.shortest_s * fps)) or (longest and end - start == len(path)):
                out.append((start, end))
        return out


FOOT_RULE = ContactRule(begin_speed_m_s=0.15, stay_speed_m_s=0.2, height_m=0.05, shortest_s=0.13)
PAW_RULE = ContactRule(begin_speed_m_s=0.3, stay_speed_m_s=0.4, height_m=0.05, shortest_s=0.05, pelvis_share=0.15)
HAND_RULE = ContactRule(begin_speed_m_s=0.1, stay_speed_m_s=0.1, height_m=np.inf, shortest_s=0.3)


class ContactDetector:
    """Detects the foot contacts of a stream by a rule; a contact begins after `needed` slow frames."""

    def __init__(self, points: int, fps: float, needed: int = 1, rule: ContactRule = FOOT_RULE) -> None:
        self.fps, self.needed, self.rule = fps, needed, rule
        self.recent = deque[list[Place]](maxlen=max(1, round(min(MEAN_SPEED_S * fps, 1000.0))))
        self.standing, self.slow = [False] * points, [0] * points

    def reset(self) -> None:
        """Forget all frames."""
        self.standing, self.slow = [False] * len(self.slow), [0] * len(self.slow)
        self.recent.clear()

    def watch(
        self,
        places: Sequence[Place],
        heights: Sequence[float],
        size: float,
        allowed: Sequence[bool],
        pelvis: Place | None = None,
    ) -> list[bool]:
        """Process one frame and flag the points that stand.

        Args:
            places: The positions of the points [m].
            heights: Their heights above the floor [m].
            size: The size of the body relative to a person.
            allowed: Whether each point may stand.
            pelvis: The position of the pelvis [m]: standing paws are slow compared with it.
        """
        points = [*places] if pelvis is None else [*places, pelvis]
        speeds, rule = self._measure_speeds(points), self.rule
        slack = rule.pelvis_share * speeds[-1] if pelvis is not None and self.recent else 0.0
        for i, height in enumerate(heights):
            speed = speeds[i] - slack
            self.slow[i] = self.slow[i] + 1 if rule.begins(speed, height, size) else 0
            stays = rule.stays(speed, height, size) if self.standing[i] else self.slow[i] >= self.needed
            self.standing[i] = bool(allowed[i] and stays)
        self.recent.append(points)
        return list(self.standing)

    def _measure_speeds(self, points: list[Place]) -> list[float]:
        """Return the speeds of points [m/s], infinite in the first frame."""
        if not self.recent:
            return [inf] * len(points)
        speeds, frames = (
            [self.fps * dist(x, was) for x, was in zip(points, self.recent[-1], strict=True)],
            len(self.recent),
        )
        if frames == 1:
            return speeds
        means = [self.fps / frames * dist(x, was) for x, was in zip(points, self.recent[0], strict=True)]
        return [min(speed, MEAN_SPEED_WEIGHT * mean) for speed, mean in zip(speeds, means, strict=True)]

    def release(self, point: int) -> None:
        """End the contact of a point."""
        self.standing[point] = False


def contacts(clip: Motion, points: Iterable[str] | str | None = None, *, floor: float | None = None) -> Contacts:
    """Detect the contacts of a clip: points that stand still, their places and frames.

    Args:
        clip: The motion.
        points: Frames that may be in contact; by default the heels and toes of the body.
        floor: The height of the floor [m]; estimated by default.

    Raises:
        InvalidValue: The clip is not a motion, or the body has no known feet.
    """
    check_motion(clip)
    if floor is not None and not (isinstance(floor, Real) and np.isfinite(floor)):
        raise InvalidValue(f"floor is {floor!r}; it must be a number.")
    soles = find_soles(clip.model, points)
    if not len(clip):
        return Contacts((), 0, clip.fps, floor)
    size, up, cuts = measure_size(clip), clip.model.up_direction, find_cuts(clip)
    paths = np.stack([clip.positions(sole.frame, sole.point) for sole in soles])
    jumps = find_jumps(paths, cuts)
    joined = remove_jitter(paths + jumps, clip.fps, size)
    slow = np.stack([measure_speed(path, clip.fps) < DIP_SPEED_M_S * size for path in joined])
    shots = list(pairwise([0, *cuts, len(clip)]))
    heights, shown = (joined - jumps) @ up, flag_long_shots(shots, FOOT_RULE.shortest_s * clip.fps)
    ground = find_ground(heights[:, shown], slow[:, shown]) if floor is None else float(floor)
    names, rise = [sole.name for sole in soles], 0.0 if floor is not None else KIND_FLOOR_RISE_M * size
    heights -= find_kind_floors(names, heights[:, shown], ground, rise)[:, None]
    level = flag_level_soles(clip) if points is None else {}
    heights = np.stack(
        [np.where(level.get(name, True), height, np.inf) for name, height in zip(names, heights, strict=True)]
    )
    for start, end in shots:
        heights[:, start:end] -= find_local_floor(heights[:, start:end], clip.fps, LOCAL_FLOOR_RISE_M * size)
    rule, slack = choose_rule(clip, cuts) if points is None else (FOOT_RULE, 0.0)
    near = heights < rule.height_m * size
    # one point alone does not show whether it drifts or slides
    drift = measure_drift(joined, near, clip.fps, size) if len(soles) > 1 else 0.0
    shortest = max(2, round(rule.shortest_s * clip.fps))
    ruled = [
        part_at_cuts(rule.find_intervals(path, height, clip.fps, size, drift, slack), cuts, shortest)
        for path, height in zip(joined, heights, strict=True)
    ]
    exact = [find_exact(path, low, clip.fps, size) for path, low in zip(paths, near, strict=True)]
    found, held, moving = list[Contact](), list[Contact](), find_moving(clip)
    for sole, path, intervals, still in zip(soles, paths, prefer_exact(ruled, exact, moving), exact, strict=True):
        for interval in intervals:
            (held if interval in still else found).append(make_contact(sole, path, *interval))
    if floor is None and not found:
        ground = min(ground, find_locked_floor(held, names, paths @ up, moving, up))
    return Contacts((*held, *level_contacts(found, up, clip.fps, size)), len(clip), clip.fps, ground)


def flag_long_shots(shots: list[Interval], least: float) -> Flags:
    """Flag the frames of shots of at least some frames, or all frames if there are none: a T-pose shows no floor."""
    long = np.concatenate([np.full(end - start, end - start >= least) for start, end in shots])
    return long if long.any() else ~long


def choose_rule(clip: Motion, cuts: list[int]) -> tuple[ContactRule, Floats | float]:
    """Return the rule for the feet of a body, and the speed by which a standing foot may be faster in each frame [m/s].

    Paws yield, the more the faster an animal runs: a standing paw is slow compared with the pelvis.
    """
    roles = find_roles(clip.model)
    if roles.kind != "quadruped" or "pelvis" not in roles:
        return FOOT_RULE, 0.0
    path = clip.positions(roles["pelvis"])
    return PAW_RULE, PAW_RULE.pelvis_share * measure_speed(path + find_jumps(path[None], cuts)[0], clip.fps)


def find_exact(path: Floats, near: Flags, fps: float, size: float) -> list[Interval]:
    """List the intervals in which a point near the floor does not move at all, as after `lock`."""
    still = (np.linalg.norm(np.diff(path, axis=0), axis=1) < EXACT_STEP_M * size) & near[1:] & near[:-1]
    return [(a, b + 1) for a, b in find_runs(still) if b + 1 - a >= max(2, round(SHORTEST_S * fps))]


def find_moving(clip: Motion) -> Flags:
    """Flag the frames in which the body moves: a pose held before a recording shows nothing about its contacts."""
    moves = (np.diff(clip.q, axis=0) != 0.0).any(axis=1)
    out: Flags = np.append(moves, False) | np.append(False, moves)
    return out


def prefer_exact(ruled: list[list[Interval]], exact: list[list[Interval]], moving: Flags) -> list[list[Interval]]:
    """Replace the contacts of each point that are mostly exact.

    If most contacts of the clip are exact while the body is `moving`, use only the exact ones.
    """

    def count(intervals: list[Interval]) -> int:
        return sum(int(moving[start:end].sum()) for start, end in intervals)

    if sum(map(count, exact)) >= LOCKED_SHARE * sum(map(count, ruled)) > 0.0:
        return exact
    out = []
    for intervals, still in zip(ruled, exact, strict=True):
        own = {each: [run for run in still if run[0] < each[1] and run[1] > each[0]] for each in intervals}
        held = {each: count(runs) > EXACT_SHARE * count([each]) for each, runs in own.items()}
        exact_runs = [run for each in intervals if held[each] for run in own[each]]
        out.append(sorted({each for each in intervals if not held[each]} | set(exact_runs)))
    return out


def find_locked_floor(held: list[Contact], names: list[str], heights: Floats, moving: Flags, up: Floats) -> float:
    """Return the floor of a clip after `lock`, or inf for another clip: no point is below it.

    Points of kinds that stand are nowhere below their lowest place. A locked clip without contacts has exactly the
    lowest height in several frames.
    """
    lowest, places = heights.min(axis=1), dict[str, float]()
    for contact in held:
        kind, height = find_kind(contact.name), float(np.array(contact.place) @ up)
        places[kind] = min(places.get(kind, np.inf), height)
    slack = EXACT_SLACK * max(float(np.abs(lowest).max()), 1.0)
    dips = any(low < places.get(find_kind(name), -np.inf) - slack for name, low in zip(names, lowest, strict=True))
    several = int(((heights <= lowest.min() + slack).any(axis=0) & moving).sum()) > 1
    return float(lowest.min()) if not dips and (held or several) else np.inf


def make_contact(sole: ContactPoint, path: Floats, start: int, end: int) -> Contact:
    """Return the contact of a point over some frames, at the mean of its path."""
    x, y, z = path[start:end].mean(axis=0).tolist()
    return Contact(sole.frame, start, end, place=(x, y, z), point=sole.point, name=sole.name)


def measure_speed(path: Floats, fps: float) -> Floats:
    """Return the speed of a point at each frame [m/s]: the larger of the two one-sided differences over 1/30 s."""
    reach = min(max(1, round(MEAN_SPEED_S * fps)), len(path) - 1)
    if not reach:
        return np.zeros(1)
    steps = np.linalg.norm(path[reach:] - path[:-reach], axis=1) * fps / reach
    before = np.concatenate([np.full(reach, steps[0]), steps])
    after = np.concatenate([steps, np.full(reach, steps[-1])])
    fastest: Floats = np.maximum(before, after)
    return fastest


def find_runs(flags: Flags) -> list[tuple[int, int]]:
    """List the runs of True: (first, one past the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
