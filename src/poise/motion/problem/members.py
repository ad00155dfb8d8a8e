"""What a clip keeps besides the directions of its bones: contacts, floor, parts of the body apart, and touch.

A member measures how far a motion is from keeping it, frame by frame, and gives the goals and limits that hold near
that motion: a place for a contact, a plane between two parts. `ClipProblem` solves with
those of all members and measures again.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits import Clearance, Limit
from poise.limits.convex_parts import ConvexParts, Overlaps, Ways
from poise.limits.near_pairs import find_near_pairs, reduce_pairs
from poise.limits.support_points import PointClearance
from poise.motion.clips.lock import EXACT_HOLD, fill_places, list_goals, list_keys, part_held, recentre
from poise.motion.clips.result import Released
from poise.motion.clips.whole_clip import ClipGoal
from poise.motion.contact.body_floor import SOLE_SLACK, make_floor_limits, measure_heights
from poise.motion.contact.ledger import Contact, Contacts, Place
from poise.motion.contact.sole_places import TiltedSoles, fit_places
from poise.motion.contact.soles import measure_giant, measure_size
from poise.motion.problem.near_parts import (
    DEEP_M,
    MISSED_M,
    NEAR_M,
    Flags,
    cut_goals,
    flag_around,
    measure_near,
)
from poise.motion.problem.planes import PlaneGoal, cut_planes, find_plane_goals

__all__ = ["CapsulesApart", "ContactPlaces", "FloorBelow", "Member", "PartsApart", "TouchKept"]

# lengths are for a body of 1.75 m
SINK_M = 1e-3  # depth in the floor that is corrected
MISPLACED_M = 1e-4  # distance of a point from its place that rounds correct: smaller ones are corrected at the end,
SAME_PLACE_M = 5e-6  # unless they are half of what holds
TIP_ROUNDS = 3  # in which places rise so that no corner of a tilted sole is below the floor
DEPTH_COST = 6.0  # of an overlap, relative to the distance of a hand from where it touches,
PLACE_COST, FLOOR_COST = 600.0, 3000.0  # and of a missed place and a depth in the floor, before which places give way
KEPT_ROUNDS = 2  # of planes: a part that turns is held by those of several rounds
PLANE_WEIGHT = 100.0  # of a plane [1 / L], relative to a direction of a bone;
GROWTH, MOST_GROWTH = 1.5, 30.0  # its factor after every round in which parts still overlap, and the largest one
NEAR_SHARE, TOUCH_M = 0.02, 1e-6  # of the body's length: gap of capsules to keep apart; m: an overlap by rounding
GROWTH_S = 0.125  # time before and after an overlap over which it grows


class Member(Protocol):
    """A condition on a clip.

    Attributes:
        waits: Whether the first round, which may move a body far, leaves it out.
        wish: Whether it is kept as well as the others allow.
        of_limbs: Whether limbs alone can keep it.
    """

    waits: bool
    wish: bool
    of_limbs: bool

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Linearise about a motion, of which some frames are new; return its violation, (frames,) [m]; 0 if kept."""

    def accept(self, frames: Flags) -> None:
        """Use the last linearisation in these frames."""

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """List the goals of some frames."""

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return the limits of all frames, if only some joints move."""


class ContactPlaces:
    """Points that stand still at places; a place that cannot be held moves to the mean place of its point.

    Attributes:
        ledger: The contacts, with places.
    """

    waits = wish = of_limbs = False

    def __init__(self, free: Motion, ledger: Contacts) -> None:
        self.free, self.size = free, measure_giant(free)
        self.ledger = fit_places(free, fill_places(free, ledger))
        self.tipping, self.rounds, self.before = TiltedSoles(free.model, self.ledger), 0, self.ledger
        self.every = np.ones(len(free), dtype=bool)
        self.goals = list[ClipGoal]()
        self.listed: tuple[Contact, ...] | None = None  # the contacts of the goals

    def settle(self, moved: Motion) -> Floats:
        """Move the places that cannot be held; return the violation of the new ones, (frames,) [m]."""
        most, self.before = EXACT_HOLD * self.size, self.ledger
        if self.rounds:
            far = self.measure(moved)
            held = [far[c.frame, c.point][c.start : c.end].max() <= most for c in self.ledger]
            shifted = (c if holds else recentre(moved, c) for c, holds in zip(self.ledger, held, strict=True))
            self.ledger = replace(self.ledger, intervals=tuple(shifted))
        if self.tipping.edges and self.rounds < TIP_ROUNDS:
            self.ledger = self.tipping.raise_places(moved, self.ledger)
        self.ledger, self.rounds = fit_places(self.free, self.ledger), self.rounds + 1
        return self.update(moved, self.every)

    def list_contact_goals(self) -> list[ClipGoal]:
        """List the goals of all frames, for the places as they are."""
        if self.listed != self.ledger.intervals:
            self.goals = list_goals(self.free, self.ledger, self.tipping, self.size)
            self.listed = self.ledger.intervals
        return self.goals

    def restore(self, rejected: Flags) -> None:
        """Restore the places before `settle` of contacts in frames whose solution was rejected."""
        pairs = zip(self.before, self.ledger, strict=True)
        kept = tuple(old if rejected[new.start : new.end].any() else new for old, new in pairs)
        self.ledger = self.before = replace(self.ledger, intervals=kept)

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Return the cost of the point farthest from its place, (frames,) [m]."""
        out = self.measure_farthest(moved)
        return PLACE_COST * np.where(out > MISPLACED_M * self.size, out, 0.0)

    def flag_missed(self, moved: Motion) -> Flags:
        """Flag the frames with a point that does not hold exactly."""
        out: Flags = self.measure_farthest(moved) > SAME_PLACE_M * self.size
        return out

    def measure_farthest(self, moved: Motion) -> Floats:
        """Return the distance of the farthest point from its place, (frames,) [m]."""
        out: Floats = np.max([np.zeros(len(moved)), *self.measure(moved).values()], axis=0)
        return out

    def measure(self, moved: Motion) -> dict[tuple[str, Place], Floats]:
        """Return the distance of each point from its place, by frame and point, (frames,) [m]; 0 without contact."""
        out = {key: np.zeros(len(moved)) for key in list_keys(self.ledger)}
        paths = {key: moved.positions(*key) for key in out}
        for contact in self.ledger:
            key, at = (contact.frame, contact.point), slice(contact.start, contact.end)
            out[key][at] = np.linalg.norm(paths[key][at] - np.array(contact.place), axis=1)
        return out

    def release(self, moved: Motion, limits: Sequence[Limit], most: float) -> list[Released]:
        """Release the contacts that are missed by more than `most` [m], in the frames that miss them; return them."""
        errors = {key: np.stack([far, np.zeros(len(far))], axis=1) for key, far in self.measure(moved).items()}
        kept, gone = part_held(moved, self.ledger, errors, limits, most * self.size)
        self.ledger = replace(self.ledger, intervals=tuple(kept))
        return gone

    def accept(self, frames: Flags) -> None:
        """Do nothing: all frames have the last linearisation."""

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """List the goals of standing points, and those of other points of the soles above the floor."""
        return cut_goals(self.list_contact_goals(), at)

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return none."""
        return ()


class FloorBelow:
    """The whole body above a floor at height 0."""

    waits = wish = of_limbs = False

    def __init__(self, free: Motion) -> None:
        self.free, self.size, self.limits, self.held = free, measure_size(free), tuple[Limit, ...](), False

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Find the parts near the floor; return the depth of the deepest, (frames,) [m]."""
        found = measure_heights(moved, soles=True, slack=SOLE_SLACK)
        if found is None:
            return np.zeros(len(moved))
        deep = np.maximum(found.depths - SINK_M * self.size, 0.0)
        # the contacts lift feet out of the floor, and only what comes near it then costs time
        if self.limits or (self.held and deep.any()) or found.comes_near(moved.model, NEAR_M * self.size):
            both = Motion(moved.model, np.concatenate([self.free.q, moved.q]), moved.fps)
            self.limits = make_floor_limits(both, self.size)
        self.held = True
        return FLOOR_COST * deep

    def accept(self, frames: Flags) -> None:
        """Do nothing: all frames have the last linearisation."""

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """Return none."""
        return []

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return the limit on the points near the floor that the joints move."""
        if joints is None:
            return self.limits
        names, model, out = set(joints), self.free.model, list[Limit]()
        for limit in self.limits:
            assert isinstance(limit, PointClearance)
            own = [p for p in limit.points if any(joint.name in names for joint in model.joints_above(p.frame))]
            out += [replace(limit, points=tuple(own))] if own else []
        return tuple(out)


class PartsApart:
    """Convex parts of the body out of each other, by planes between those that are near.

    The weight of a plane grows while parts overlap, as in penalty methods: touch is lost first.
    """

    waits, wish = True, False

    def __init__(self, parts: ConvexParts, fps: float, cuts: Sequence[int], name: str = "") -> None:
        self.name, self.of_limbs = name, not name
        self.parts, self.cuts = parts, tuple(cuts)
        self.reach, self.count = round(GROWTH_S * fps), 0
        # the planes of the last rounds, the frames that accepted them, and the ages of all frames then
        self.rounds = list[tuple[NDArray[np.intp], Flags, list[PlaneGoal]]]()
        self.ways, self.found = Ways(), Overlaps(np.zeros(0))
        self.growth, self.deep, self.age = np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.intp)

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Find the parts near each other; return the sum of overlaps, (frames,) [m]."""
        size = measure_size(moved)
        if not len(self.growth):
            self.growth, self.age = np.ones(len(moved)), np.zeros(len(moved), dtype=np.intp)
        self.found = measure_near(self.parts, moved.q, solved, NEAR_M * size, self.ways, self.cuts)
        rows = self.found.drop_apart(-DEEP_M * size)
        self.deep = np.bincount(rows.pose, rows.depth, len(moved)).astype(np.float64)
        return DEPTH_COST * self.deep

    def accept(self, frames: Flags) -> None:
        """Use the planes between near parts in these frames, together with those of the rounds before."""
        found = self.found.select(frames[self.found.pose])
        if self.rounds:
            self.ways = self.parts.list_ways(found) | self.ways  # limbs that are on their way out do not turn back
            grows = flag_around(len(frames), np.flatnonzero(frames & (self.deep > 0.0)), self.reach, self.cuts)
            self.growth[grows] = np.minimum(GROWTH * self.growth[grows], MOST_GROWTH)
        self.age[frames] += 1
        self.count += 1
        planes = find_plane_goals(self.parts, found, f"{self.name}{self.count}")
        used = [each for each in self.rounds if (each[1] & (self.age - each[0] < KEPT_ROUNDS)).any()]
        self.rounds = [*used, (self.age.copy(), frames.copy(), planes)]

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """List the goals that keep near parts on their sides of planes, those of the last rounds."""
        frames, weights = range(at.start, at.stop), PLANE_WEIGHT * self.growth[at]
        kept = [(weights * (self.age - age < KEPT_ROUNDS)[at], planes) for age, _, planes in self.rounds]
        return [goal for weights, planes in kept for goal in cut_planes(planes, frames, weights)]

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return none."""
        return ()


class CapsulesApart:
    """Limits on the distance between parts of the body, reduced to the pairs that come near each other."""

    waits = wish = of_limbs = False

    def __init__(self, limits: Sequence[Clearance]) -> None:
        self.limits, self.near = tuple(limits), [set[tuple[int, int]]() for _ in limits]

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Find the pairs near each other; return how much the nearest pair is too near, (frames,) [m]."""
        model, out = moved.model, np.zeros(len(moved))
        for limit, near in zip(self.limits, self.near, strict=True):
            found = find_near_pairs(model, limit, moved.q, NEAR_SHARE * model.length)
            near.update((int(i), int(j)) for i, j in found)
            out = np.maximum(out, limit.distance - np.asarray(limit.measure_gap(model, moved.q)))
        return np.where(out > TOUCH_M, out, 0.0)

    def accept(self, frames: Flags) -> None:
        """Do nothing: all frames have the last linearisation."""

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """Return none."""
        return []

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return the limits on the pairs that came near each other so far."""
        pairs = zip(self.limits, self.near, strict=True)
        return tuple(reduce_pairs(limit, near) for limit, near in pairs if near)


class Keeper(Protocol):
    """Touches of a source."""

    def make_goals(self, moved: Motion) -> tuple[list[ClipGoal], Floats]:
        """Return the goals that correct a motion, and the length of the largest correction of each frame [m]."""


class TouchKept:
    """Parts that touch others as in the source."""

    waits = wish = of_limbs = True

    def __init__(self, keeper: Keeper, size: float) -> None:
        self.keeper, self.size, self.goals = keeper, size, list[ClipGoal]()

    def update(self, moved: Motion, solved: Flags) -> Floats:
        """Find where parts must go; return the distance of the farthest from there, (frames,) [m]."""
        self.goals, away = self.keeper.make_goals(moved)
        return np.where(away > MISSED_M * self.size, away, 0.0)

    def accept(self, frames: Flags) -> None:
        """Do nothing: all frames have the last linearisation."""

    def list_goals(self, at: slice) -> list[ClipGoal]:
        """List their goals."""
        return cut_goals(self.goals, at)

    def list_limits(self, joints: Sequence[str] | None) -> tuple[Limit, ...]:
        """Return none."""
        return ()
