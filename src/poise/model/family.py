"""Families: chains whose axes allow every pose of a transform to be found in closed form.

A family is recognised from the axes alone, never from a name. Six joints:

- a *spherical wrist*: the last three axes meet in a point, and the first three are three slides, or contain two
  consecutive rotations that are parallel or meet (Pieper 1968);
- a *spherical shoulder*: the same, seen from the tool;
- *three parallel axes*, 2 to 4, before two that meet (Universal Robots), or 3 to 5 after two that meet.

Seven joints belong to the family of the six that remain when the first or the last is held: that joint is then *free*.
So an arm with a spherical shoulder and a last joint of any offset (Panda, xArm7, iiwa) has its last joint free, and an
arm on a rail has the rail free.

Six rotations outside these families are *general six joints*: their poses are roots of a polynomial of degree 16, and a
count of the roots proves nearly every list complete (native/kernels/closed/general_six.h). Seven joints of which six
are rotations are *general seven joints*: one of them is held at values over its range.

Calibrated arms are close to a family but not in it. Such a chain is *nearly* in it: its poses are those of general
joints, and those of the closest geometry in the family are starting points of searches (reach/chain_poses.py).

Files round their numbers. Axes that are almost in a family are moved into it, and the chain reports bounds on the
resulting error of its frame for all joint values: `point_error` and `turn_error`. For a rotation by v about two axes
that differ by the angle a and by the shortest distance d, the rotations differ by at most 2 a, a point at distance D by
at most 2 a D + 2 d. The errors of the joints add up. Proofs treat them as an uncertainty of the target.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.model.chain import Axis, Chain, cross, find_chain, measure_cross, placement
from poise.model.tree import Tree
from poise.native import core

__all__ = ["GENERAL", "GENERAL_SEVEN", "Family", "find_family", "read_family"]

WORST = 1e-3  # tolerance for moving axes into a family [rad, or of the chain's length]
NEARLY = 0.07  # tolerance for a chain that is nearly in a family [rad, or of the chain's length]
APART = 1e-6  # of the chain's length: closer axes count as one
SLANT = 1e-2  # smallest sine of the angle between axes that must not be parallel
GENERAL = "general six joints"
GENERAL_SEVEN = "general seven joints"
TWO_LINKS = "two parallel axes"
PARALLEL = 1e-9  # sine of the angle between the axes of two links, which are not moved into their family
Plan = core.FamilyPlan
FEWER_WAYS = "they never have six degrees of freedom: axes coincide, or too many are parallel or meet"


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The closed form of a chain to a frame.

    Attributes:
        name: "spherical wrist", "spherical shoulder", "three parallel axes", "general six joints", "general seven
            joints", "two parallel axes" (positions only), or "none"; "nearly a spherical wrist" and so on. Lists of
            poses also have "general chain".
        frame: Name of the frame.
        joints: Names of the joints that move it, base first.
        free: Name of the joint that is scanned if there are seven, or names of those of a general chain; or None.
        reason: Why the chain has no closed form; "" if it has one.
        point_error: Bound on the position error from moving the axes into the family [m].
        turn_error: Bound on the rotation error [rad].
        near: Whether the chain is only nearly in the family: its poses are then those of general joints.
    """

    name: str
    frame: str
    joints: tuple[str, ...]
    free: str | None = None
    reason: str = ""
    point_error: float = 0.0
    turn_error: float = 0.0
    chain: Chain | None = None
    six: Six | None = None
    place: int = 0  # of the free joint: 0 if none, 1 first, 2 last
    near: bool = False
    held: int = -1  # index of the free joint's axis, or -1

    def __bool__(self) -> bool:
        return self.name != "none"

    def __str__(self) -> str:
        way = f"{len(self.joints)} joints to {self.frame!r}"
        if not self:
            return f"no closed form for the {way}: {self.reason}."
        if self.name == TWO_LINKS:
            return f"{self.name}: {way}, for positions: {self.reason}"
        free = f", {self.free!r} free" if self.free else ""
        if self.near:
            off = f"off by up to {1e3 * self.point_error:.2g} mm and {self.turn_error:.2g} rad"
            return f"{self.name}{free}: {way}, {off}; its poses are those of general joints"
        off = f"; its axes are off by up to {self.point_error:.1e} m, {self.turn_error:.1e} rad"
        return f"{self.name}{free}: {way}{off if self.turn_error > 1e-9 or self.point_error > 1e-9 else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Six:
    """Six axes moved into a family, in the order in which they are solved."""

    name: str
    axes: tuple[Axis, ...]
    plan: core.FamilyPlan
    center: Floats
    meet: Floats
    backwards: bool = False


def find_family(
    model: Tree, frame: str, moves: NDArray[np.bool_], q: Floats, *, limited: bool = True, table: Any = None
) -> Family:
    """Return the family of the chain to a frame, or the reason that it has no closed form."""
    name = model.frame(frame).name
    chain = find_chain(model, name, moves, q, limited=limited, table=table)
    joints = tuple(axis.joint for axis in chain.axes)
    n = len(chain.axes)
    if chain.odd or chain.twice:
        return Family("none", name, joints, reason=chain.odd or chain.twice)
    if n not in (6, 7):
        few = "fewer than six cannot reach every transform" if n < 6 else "more than seven leave more than one free"
        two = n == 2 and are_two_links(chain)
        return Family(TWO_LINKS if two else "none", name, joints, reason=few, chain=chain if two else None)
    return read_family(chain, name)


def read_family(chain: Chain, name: str) -> Family:
    """Return the family of a chain of six or seven joints to a frame."""
    joints = tuple(axis.joint for axis in chain.axes)
    n = len(chain.axes)
    best = find_nearest(chain, WORST)
    nearly = best is None and (best := find_nearest(chain, NEARLY)) is not None
    if best is None and n == 6 and not any(axis.slides for axis in chain.axes):
        if not moves_every_way(chain):
            return Family("none", name, joints, reason=FEWER_WAYS)
        return Family(GENERAL, name, joints, reason=describe_axes(chain.axes), chain=chain)
    if best is None and (held := choose_free(chain)) is not None:
        joint, reason = chain.axes[held].joint, describe_axes(chain.axes)
        return Family(GENERAL_SEVEN, name, joints, joint, reason, chain=chain, held=held)
    if best is None:
        return Family("none", name, joints, reason=describe_axes(chain.axes))
    place, six, metres, radians = best
    free = scanned(chain, place).joint if place else None
    article = "" if six.name.startswith("three") else "a "
    title = f"nearly {article}{six.name}" if nearly else six.name
    held = {0: -1, 1: 0, 2: n - 1}[place]
    return Family(title, name, joints, free, "", metres, radians, chain, six, place, nearly, held)


def are_two_links(chain: Chain) -> bool:
    """Return whether two axes are parallel hinges at a distance from each other."""
    one, two = chain.axes
    parallel = measure_cross(one.h, two.h) <= PARALLEL
    return parallel and not one.slides and not two.slides and one.from_axis(two.p) > APART * span(chain.axes, two.p)


def find_nearest(chain: Chain, worst: float) -> tuple[int, Six, float, float] | None:
    """Return the closest family: the place of the free joint, the moved axes, and their errors [m, rad]."""
    choices = [(0, chain.axes)] if len(chain.axes) == 6 else [(2, chain.axes[:6]), (1, chain.axes[1:])]
    found = [(place, *best) for place, axes in choices if (best := read_six(axes, chain, worst))]
    ends = {place: not (axis := scanned(chain, place)).slides or np.isfinite(axis.half) for place in (1, 2)}
    scans = [one for one in found if ends.get(one[0], True)]
    return min(scans, key=lambda one: one[2] + one[3], default=None)


def scanned(chain: Chain, place: int) -> Axis:
    """Return the free axis."""
    return chain.axes[0 if place == 1 else -1]


def read_six(axes: Sequence[Axis], chain: Chain, worst: float = WORST) -> tuple[Six, float, float] | None:
    """Return six axes in the closest family, and their errors [m, rad]; None if they are too far from any."""
    best: tuple[Six, float, float] | None = None
    backwards = tuple(axis.flip() for axis in reversed(axes))
    near = APART * span(tuple(axes), chain.T[:3, 3])
    forwards, reverse = read_forwards(tuple(axes), near), read_forwards(backwards, near)
    for six in (*forwards, *(replace(six, backwards=True) for six in reverse)):
        metres, radians = errors_of(six, axes if not six.backwards else backwards, chain)
        length = span(six.axes, chain.T[:3, 3])
        if metres > worst * length or radians > worst:
            continue
        if best is None or metres / length + radians < 0.5 * (best[1] / length + best[2]) - 1e-12:
            name = {"spherical wrist": "spherical shoulder"}.get(six.name, six.name) if six.backwards else six.name
            best = replace(six, name=name), metres, radians
    return best


def read_forwards(axes: tuple[Axis, ...], near: float) -> Iterator[Six]:
    """Yield the ways to solve six axes from the base, however poor the fit; points closer than `near` [m] coincide."""
    if any(axis.slides for axis in axes[3:]):
        return
    if slanted(axes[3], axes[4]) and slanted(axes[4], axes[5]):
        center = find_meeting_point(axes[3:])
        wrist = tuple(replace(axis, p=center) for axis in axes[3:])
        for plan, first, meet in read_first_three(axes[:3], center, near):
            yield Six("spherical wrist", (*first, *wrist), plan, center, meet)
    if not (axes[1].slides or axes[2].slides) and slanted(axes[4], axes[5]) and slanted(axes[3], axes[4]):
        h = find_shared_direction(axes[1:4])
        one, five = axes[0], axes[4]
        center = find_meeting_point(axes[4:])
        if (slanted(one, axes[3]) if not one.slides else abs(one.h @ h) > SLANT) and min(
            axes[1].from_axis(axes[2].p), axes[2].from_axis(axes[3].p)
        ) > near:
            middle = [replace(axis, h=h if axis.h @ h > 0 else -h) for axis in axes[1:4]]
            middle[2] = replace(middle[2], p=find_nearest_point(middle[2], replace(five, p=center)))
            tail = tuple(replace(axis, p=center) for axis in axes[4:])
            yield Six("three parallel axes", (one, *middle, *tail), Plan.PLANAR, center, np.zeros(3))


def read_first_three(
    axes: tuple[Axis, ...], center: Floats, near: float
) -> Iterator[tuple[core.FamilyPlan, tuple[Axis, ...], Floats]]:
    """Yield the plans of three axes that move the point `center`: plan, the axes moved into it, a meeting point."""
    one, two, three = axes
    none = np.zeros(3)
    if one.slides and two.slides and three.slides:
        if abs(np.linalg.det(np.stack([one.h, two.h, three.h]))) > SLANT:
            yield Plan.GANTRY, axes, none
        return
    if not (one.slides or two.slides) and slanted(one, two):
        meet = find_meeting_point((one, two))
        if three.slides or min(three.from_axis(center), three.from_axis(meet)) > near:
            yield Plan.MEET_FIRST, (replace(one, p=meet), replace(two, p=meet), three), meet
    if not (two.slides or three.slides) and slanted(two, three):
        meet = find_meeting_point((two, three))
        if one.slides or one.from_axis(meet) > near:
            yield Plan.MEET_LAST, (one, replace(two, p=meet), replace(three, p=meet)), meet
    if not (two.slides or three.slides) and two.from_axis(three.p) > near:
        h = find_shared_direction((two, three))
        if (abs(one.h @ h) > SLANT) if one.slides else measure_cross(one.h, h) > SLANT:
            two, three = (replace(axis, h=h if axis.h @ h > 0 else -h) for axis in (two, three))
            yield Plan.PARALLEL_LAST, (one, replace(two, p=find_nearest_point(two, one)), three), none
    one, two, three = axes
    if not (one.slides or two.slides) and one.from_axis(two.p) > near:
        h = find_shared_direction((one, two))
        if (abs(three.h @ h) > SLANT) if three.slides else measure_cross(three.h, h) > SLANT:
            one, two = (replace(axis, h=h if axis.h @ h > 0 else -h) for axis in (one, two))
            yield Plan.PARALLEL_FIRST, (one, two, three), none


# ------------------------------------------------------------------------------------------------ geometry


def slanted(one: Axis, other: Axis) -> bool:
    """Return whether two axes are not nearly parallel."""
    return measure_cross(one.h, other.h) > SLANT


def find_meeting_point(axes: Sequence[Axis]) -> Floats:
    """Return the point with the least sum of squared distances from axes that are not all parallel."""
    unit = np.eye(3)
    across = [unit - axis.h[:, None] * axis.h for axis in axes]
    pulled = sum(a @ axis.p for a, axis in zip(across, axes, strict=True))
    return np.asarray(np.linalg.solve(sum(across), pulled), dtype=np.float64)


def find_shared_direction(axes: Sequence[Axis]) -> Floats:
    """Return the mean direction of parallel or antiparallel axes; exact if they are exactly parallel."""
    same = [axis.h if axis.h @ axes[0].h > 0 else -axis.h for axis in axes]
    if all(np.array_equal(h, same[0]) for h in same):
        return same[0]
    mean = np.sum(same, axis=0)
    unit: Floats = mean / np.linalg.norm(mean)
    return unit


def find_nearest_point(axis: Axis, other: Axis) -> Floats:
    """Return the point of an axis closest to another rotation axis, or its own point if they are parallel."""
    if other.slides or not slanted(axis, other):
        return axis.p
    n = np.array(cross(other.h.tolist(), cross(other.h.tolist(), axis.h.tolist())))
    point: Floats = axis.p + axis.h * float(n @ (other.p - axis.p)) / float(n @ axis.h)
    return point


def span(axes: Sequence[Axis], end: Floats) -> float:
    """Return the length of the path through the axes' points to `end`, slides at their farthest [m].

    An unbounded slide counts as zero: the target bounds it, and its distance is added to this length.
    """
    points = [*(axis.p.tolist() for axis in axes), end.tolist()]
    way = sum(math.dist(a, b) for a, b in itertools.pairwise(points))
    return way + sum(abs(axis.middle) + axis.half for axis in axes if axis.slides and math.isfinite(axis.half))


def errors_of(six: Six, true: Sequence[Axis], chain: Chain) -> tuple[float, float]:
    """Return bounds on the position and rotation errors from moving the axes [m, rad]."""
    order = six.axes if not six.backwards else six.axes[::-1]
    real = true if not six.backwards else true[::-1]
    beyond = chain.axes[-1:] if chain.axes[-1].joint != order[-1].joint else ()  # a free joint at the end
    metres = radians = 0.0
    for i, (ideal, axis) in enumerate(zip(order, real, strict=True)):
        sine = measure_cross(ideal.h, axis.h)
        if axis.slides:
            metres += sine * (abs(axis.middle) + axis.half) if sine > 0.0 else 0.0
            continue
        radians += 2.0 * sine
        metres += 2.0 * sine * span((*order[i:], *beyond), chain.T[:3, 3]) if sine > 0.0 else 0.0
        metres += 2.0 * axis.from_axis(ideal.p)
    return 1.01 * metres, 1.01 * radians


def moves_every_way(chain: Chain) -> bool:
    """Return whether rotations give their frame six degrees of freedom: whether one of a few poses is not singular."""
    return measure_freedom(draw_screws(chain), range(len(chain.axes))) > APART


def draw_screws(chain: Chain) -> Floats:
    """Return the transposed Jacobians of a chain in a few poses, (poses, joints, 6), with its length as the unit."""
    length, out = span(chain.axes, chain.T[:3, 3]) or 1.0, []
    for values in np.random.default_rng(0).uniform(-2.0, 2.0, (4, len(chain.axes))):
        T, screws = np.eye(4), []
        for axis, v in zip(chain.axes, values, strict=True):
            h, p = T[:3, :3] @ axis.h, T[:3, :3] @ axis.p + T[:3, 3]
            screws.append([0.0, 0.0, 0.0, *h] if axis.slides else [*h, *(np.cross(p, h) / length)])
            x, y, z = axis.h
            K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            R = np.eye(3) if axis.slides else np.eye(3) + np.sin(v) * K + (1.0 - np.cos(v)) * K @ K
            T = T @ placement(R, v * length * axis.h if axis.slides else axis.p - R @ axis.p)
        out.append(screws)
    return np.array(out)


def measure_freedom(screws: Floats, some: Sequence[int], rank: int = 6) -> float:
    """Return the largest of the singular values of some joints' Jacobians with the number `rank`, in a few poses."""
    return float(np.linalg.svd(screws[:, list(some)], compute_uv=False)[:, rank - 1].max())


def choose_free(chain: Chain) -> int | None:
    """Return the index of the axis to hold of seven: a slide, or the one needed least; None if six are not enough."""
    slides = [k for k, axis in enumerate(chain.axes) if axis.slides]
    if len(chain.axes) != 7 or len(slides) > 1 or any(not np.isfinite(chain.axes[k].half) for k in slides):
        return None
    rest = {k: [i for i in range(7) if i != k] for k in slides or range(7)}
    screws = draw_screws(chain)
    freedom = {k: measure_freedom(screws, some) for k, some in rest.items()}
    best = max(freedom, key=freedom.__getitem__)
    return best if freedom[best] > APART else None


def describe_axes(axes: Sequence[Axis]) -> str:
    """Describe the conditions of the families that the axes violate, or the slide whose range is endless."""
    slides = [axis for axis in axes if axis.slides]
    if len(axes) == 7 and len(slides) == 1 and not math.isfinite(slides[0].half):
        return f"{slides[0].joint!r} slides without end; with both bounds, poses may be found at values over its range"
    kinds = "".join("P" if axis.slides else "R" for axis in axes)
    return (
        f"of {kinds} no three neighbouring axes at an end meet in a point with two of the others parallel or meeting, "
        f"and no three in the middle are parallel before or behind two that meet"
    )


def family_of(model: Tree, frame: str, joints: Sequence[str] | None = None) -> Family:
    """Return the family of the chain to a frame if only `joints` may move; the others stay at rest."""
    if isinstance(joints, str):
        raise InvalidValue(f"joints must be a list of joint names, not {joints!r}; write joints=[{joints!r}].")
    names = [joint.name for joint in model.joints if joint.nv and not joint.locked] if joints is None else joints
    moves = np.zeros(model.nv, dtype=bool)
    for name in names:
        moves[model.joint(name).v] = True
    return find_family(model, model.frame(frame).name, moves, model.rest)
