"""Intervals of the distance between two points of a chain, valid for all joint values.

A point on a rotation axis belongs to the bodies on both sides. Such pivots, one on each axis, divide a chain into links
of fixed length; the interval of distances from the first pivot grows link by link,

    [near, far]  with a link of [short, long]  ->  [max(0, near - long, short - far), far + long],

by the triangle inequality. Three refinements make it tight:
- pivots slide along their axes to where the links are shortest, so that pivots of intersecting axes coincide; and, for
  every joint with a range, away from it, so that it bends between two long links;
- a link over one rotation, such as from shoulder to wrist over the elbow, has an exact interval by the law of cosines,
  d^2 = |a|^2 + |b|^2 - 2 (a.u)(b.u) - 2 (C cos x + S sin x), over the joint's range;
- all these intervals hold at once, so the result is their intersection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from poise.arrays import Floats
from poise.native import core

__all__ = ["Interval", "JointMotion", "find_last_pivot", "fold"]


TURN, SLIDE, BALL = range(3)
MOST_CORNERS = 6  # consecutive slides for which every corner is evaluated
MOST_ELBOWS = 16  # most joints with a range for which the chain is folded about each


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of distances, from `near` to `far` [m]."""

    near: float
    far: float

    def add_link(self, link: Interval) -> Interval:
        """Return the distances after one more link, by the triangle inequality."""
        return Interval(max(0.0, self.near - link.far, link.near - self.far), self.far + link.far)

    def intersect(self, other: Interval) -> Interval:
        """Return the intersection; two ranges that only touch remain a point despite rounding."""
        near = max(self.near, other.near)
        return Interval(near, max(near, min(self.far, other.far)))


@dataclass(frozen=True, slots=True, eq=False)
class JointMotion:
    """One elementary motion of a chain: a rotation about or a slide along `axis` through `at`, or a ball joint at `at`.

    `low` and `high` are relative to the configuration of the `Drawing` [rad, m].
    """

    kind: int
    at: Floats
    axis: Floats
    low: float = -math.inf
    high: float = math.inf

    def reverse(self) -> JointMotion:
        """Return the same motion for a chain in the opposite direction."""
        return JointMotion(self.kind, self.at, self.axis, -self.high, -self.low)


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A point of the chain that belongs to the bodies on both sides of motion `index`."""

    index: int
    point: Floats


def fold(motions: Sequence[JointMotion], end: Floats, start: Floats | None = None) -> tuple[Floats, Interval]:
    """Return the distances between `start` and `end`, two points at the ends of a chain in one configuration.

    Args:
        motions: The motions between them, in order.
        end: A point of the last body.
        start: A point of the first body; if None, the one with the tightest bound.

    Returns:
        The start point, and the interval; `far` is infinite if the distance is unbounded.
    """
    nodes = place_nodes(motions, end, start)
    interval = sweep(nodes, motions)
    elbows = [i for i in range(1, len(nodes) - 1) if is_elbow(motions[nodes[i].index])]
    for i in elbows if len(elbows) <= MOST_ELBOWS else []:
        interval = interval.intersect(sweep(spread_from(i, nodes, motions), motions))
    return nodes[0].point, interval


def sweep(nodes: Sequence[_Node], motions: Sequence[JointMotion]) -> Interval:
    """Return the distances from the first node to the last, link by link."""
    reach = [Interval(0.0, 0.0)]
    for i in range(1, len(nodes)):
        here = reach[i - 1].add_link(slide_link(nodes[i - 1], nodes[i], motions))
        if i > 1 and (link := bend_link(nodes[i - 2], nodes[i], motions)):
            here = reach[i - 2].add_link(link).intersect(here)
        reach.append(here)
    return reach[-1]


# ------------------------------------------------------------------------------------------------ links


def slide_link(a: _Node, b: _Node, motions: Sequence[JointMotion]) -> Interval:
    """Return the distances of two pivots with only slides between them."""
    apart = b.point - a.point
    slides = motions[a.index + 1 : b.index]
    if not slides:
        length = math.hypot(*apart.tolist())
        return Interval(length, length)
    axes = np.array([slide.axis for slide in slides])
    bounded = all(math.isfinite(slide.low) and math.isfinite(slide.high) for slide in slides)
    far = find_farthest(apart, slides) if bounded else math.inf
    if len(slides) == 1:
        s = min(max(float(-apart @ axes[0]), slides[0].low), slides[0].high)
        return Interval(float(np.linalg.norm(apart + s * axes[0])), far)
    off = apart - np.linalg.lstsq(axes.T, apart, rcond=None)[0] @ axes  # as if the slides were unbounded
    return Interval(float(np.linalg.norm(off)), far)


def find_farthest(apart: Floats, slides: Sequence[JointMotion]) -> float:
    """Return the largest |apart + sum s_k axis_k|: a convex function, so at a corner of the box."""
    if len(slides) > MOST_CORNERS:
        return math.hypot(*apart.tolist()) + sum(max(abs(slide.low), abs(slide.high)) for slide in slides)
    ends = [(slide.low * slide.axis, slide.high * slide.axis) for slide in slides]
    return max(float(np.linalg.norm(apart + sum(corner))) for corner in product(*ends))


def bend_link(a: _Node, b: _Node, motions: Sequence[JointMotion]) -> Interval | None:
    """Return the exact distances of two pivots with exactly one rotation between them, otherwise None."""
    if b.index - a.index != 2 or motions[a.index + 1].kind != TURN:
        return None
    turn = motions[a.index + 1]
    (ux, uy, uz), (rx, ry, rz) = turn.axis.tolist(), (b.point - turn.at).tolist()
    px, py, pz = (a.point - turn.at).tolist()
    along = (px * ux + py * uy + pz * uz) * (rx * ux + ry * uy + rz * uz)
    cosine = px * rx + py * ry + pz * rz - along
    sine = px * (uy * rz - uz * ry) + py * (uz * rx - ux * rz) + pz * (ux * ry - uy * rx)
    constant = px * px + py * py + pz * pz + rx * rx + ry * ry + rz * rz - 2 * along
    low, high = find_extremes(cosine, sine, turn.low, turn.high)
    return Interval(math.sqrt(max(0.0, constant - 2 * high)), math.sqrt(max(0.0, constant - 2 * low)))


def find_extremes(cosine: float, sine: float, low: float, high: float) -> tuple[float, float]:
    """Return the minimum and maximum of cosine * cos x + sine * sin x for x from low to high."""
    size, crest = math.hypot(cosine, sine), math.atan2(sine, cosine)
    if not high - low < 2 * math.pi:
        return -size, size
    ends = [cosine * math.cos(x) + sine * math.sin(x) for x in (low, high)]
    least = -size if contains_angle(crest + math.pi, low, high) else min(ends)
    return least, size if contains_angle(crest, low, high) else max(ends)


def contains_angle(angle: float, low: float, high: float) -> bool:
    """Return whether low ... high contains the angle, up to whole turns."""
    return (angle - low) % (2 * math.pi) <= high - low


# ------------------------------------------------------------------------------------------------ pivots


def place_nodes(motions: Sequence[JointMotion], end: Floats, start: Floats | None) -> list[_Node]:
    """Return start, a pivot on each rotation axis and ball, and end; without a start, the first pivot is the start."""
    held = [i for i, motion in enumerate(motions) if motion.kind != SLIDE]
    path = [*([] if start is None else [start]), *(motions[i].at for i in held), end]
    lines = [np.zeros(3), *(motions[i].axis * (motions[i].kind == TURN) for i in held), np.zeros(3)]
    points = core.shorten_path(np.array(path), np.array(lines if start is not None else lines[1:]))
    nodes = [_Node(i, point) for i, point in zip(held, points if start is None else points[1:], strict=False)]
    nodes.append(_Node(len(motions), points[-1]))
    if start is not None:
        return [_Node(-1, points[0]), *nodes]
    return nodes if nodes[0].index == 0 or not motions else [_Node(-1, nodes[0].point), *nodes]


def find_last_pivot(motions: Sequence[JointMotion], end: Floats) -> Floats:
    """Return the point of the last axis nearest to the pivot before it; the last motion must not be a slide."""
    nodes = place_nodes(motions, end, None)
    return nodes[-2].point if len(nodes) < 3 else slide_node(nodes[-2], nodes[-3].point, motions).point


def is_elbow(motion: JointMotion) -> bool:
    """Return whether the motion is a rotation by less than a full turn."""
    return motion.kind == TURN and motion.high - motion.low < 2 * math.pi


def spread_from(elbow: int, nodes: Sequence[_Node], motions: Sequence[JointMotion]) -> list[_Node]:
    """Return the nodes with every pivot moved along its axis away from the elbow, towards its outer neighbour."""
    out = list(nodes)
    for i in range(1, elbow):
        out[i] = slide_node(out[i], out[i - 1].point, motions)
    for i in range(len(nodes) - 2, elbow, -1):
        out[i] = slide_node(out[i], out[i + 1].point, motions)
    return out


def slide_node(node: _Node, towards: Floats, motions: Sequence[JointMotion]) -> _Node:
    """Return a pivot at the point of its axis that is nearest to a point."""
    motion = motions[node.index]
    if motion.kind != TURN:
        return node
    return _Node(node.index, node.point + motion.axis * float((towards - node.point) @ motion.axis))
