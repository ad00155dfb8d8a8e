"""The canonical subproblems of closed-form inverse kinematics: rotations about known axes that move a vector.

Axes are unit vectors through the origin, angles radians; R(k, t) is `axis_rotation(k, t)`. Each function returns every
solution, or an empty list. The kernels' versions are in `native/kernels/closed/subproblems.h`, with error bounds.

Sources: Paden, "Kinematics and control of robot manipulators" (1986); Kahan (1983); Murray, Li, Sastry, "A mathematical
introduction to robotic manipulation" (1994), section 3.2; Elias and Wen, "IK-Geo" (2022); for the wrist Pieper (1968).
"""

import numpy as np
from numpy.typing import ArrayLike

from poise.textbook.arguments import read_array, read_axis, read_rotation
from poise.textbook.rotations import Array, axis_rotation

__all__ = [
    "find_parallel_turns",
    "find_turn_onto",
    "find_turns_to_distance",
    "find_turns_to_height",
    "find_two_turns",
    "find_wrist",
]

SAME = 1e-12  # tolerance for rounding errors


def find_turn_onto(k: ArrayLike, p: ArrayLike, q: ArrayLike) -> float:
    """Return t with ``R(k, t) p = q`` (subproblem 1), otherwise the rotation into the half plane of k and q.

    With a and b the parts of p and q perpendicular to k: ``t = atan2(k . (a x b), a . b)``.
    """
    axis, start, end = read_axis(k, "k"), read_array(p, "p", 3), read_array(q, "q", 3)
    a, b = start - axis * (axis @ start), end - axis * (axis @ end)
    return float(np.arctan2(axis @ np.cross(a, b), a @ b))


def find_turns_to_height(h: ArrayLike, k: ArrayLike, p: ArrayLike, height: float) -> list[float]:
    """Return the angles t with ``h . R(k, t) p = height`` (subproblem 4): two, one if they coincide, or none.

    Rodrigues' formula makes it ``a cos t + b sin t = c`` with ``a = h.p - (h.k)(k.p)``, ``b = h.(k x p)`` and
    ``c = height - (h.k)(k.p)``; so ``t = atan2(b, a) -+ arccos(c / sqrt(a a + b b))``.
    """
    up, axis, x = read_array(h, "h", 3), read_axis(k, "k"), read_array(p, "p", 3)
    along = (up @ axis) * (axis @ x)
    a, b, c = up @ x - along, up @ np.cross(axis, x), float(read_array(height, "height")) - along
    size = float(np.hypot(a, b))
    if abs(c) > size + SAME or size < SAME:
        return []
    middle, half = float(np.arctan2(b, a)), float(np.arccos(np.clip(c / size, -1.0, 1.0)))
    return [middle] if half == 0.0 else [middle - half, middle + half]


def find_turns_to_distance(k: ArrayLike, p: ArrayLike, q: ArrayLike, distance: float) -> list[float]:
    """Return the angles t for which ``R(k, t) p`` is at a distance from q (subproblem 3).

    ``|R p - q|^2 = p.p + q.q - 2 q . R p``, so it is subproblem 4 with h = q, height ``(p.p + q.q - d d) / 2``.
    """
    x, y, distance = read_array(p, "p", 3), read_array(q, "q", 3), float(read_array(distance, "distance"))
    return find_turns_to_height(y, k, x, 0.5 * float(x @ x + y @ y - distance * distance))


def find_two_turns(k1: ArrayLike, k2: ArrayLike, p: ArrayLike, q: ArrayLike) -> list[tuple[float, float]]:
    """Return the pairs with ``R(k1, t1) R(k2, t2) p = q``, about axes that meet in the origin (subproblem 2).

    The first rotation keeps the height along k1: ``k1 . R(k2, t2) p = k1 . q`` is subproblem 4; then t1 is subproblem
    1.
    """
    first, x, y = read_axis(k1, "k1"), read_array(p, "p", 3), read_array(q, "q", 3)
    turns = find_turns_to_height(first, k2, x, float(first @ y))
    return [(find_turn_onto(first, axis_rotation(k2, t2) @ x, y), t2) for t2 in turns]


def find_parallel_turns(
    h: ArrayLike, p1: ArrayLike, p2: ArrayLike, p: ArrayLike, q: ArrayLike
) -> list[tuple[float, float]]:
    """Return the pairs of rotations about parallel axes along h, through p2 then p1, that move point p to q.

    An example is an upper arm and a forearm in a plane. The first rotation keeps the distance from its axis: the second
    is subproblem 3 for the parts perpendicular to h, the first subproblem 1. If the heights of p and q along h differ,
    the list is empty.
    """
    named = {"p1": p1, "p2": p2, "p": p, "q": q}
    axis, (one, two, x, y) = read_axis(h, "h"), (read_array(v, name, 3) for name, v in named.items())
    if abs(axis @ (y - x)) > SAME:
        return []
    flat = np.eye(3) - np.outer(axis, axis)
    far = float(np.linalg.norm(flat @ (y - one)))
    bends = find_turns_to_distance(axis, flat @ (x - two), flat @ (one - two), far)
    return [(find_turn_onto(axis, two + axis_rotation(axis, t) @ (x - two) - one, y - one), t) for t in bends]


def find_wrist(h4: ArrayLike, h5: ArrayLike, h6: ArrayLike, R: Array) -> list[tuple[float, float, float]]:
    """Return the triples with ``R(h4, t4) R(h5, t5) R(h6, t6) = R``: the angles of a spherical wrist.

    ``h4 . R(h5, t5) h6 = h4 . R h6`` is subproblem 4. Then t4 rotates ``R(h5, t5) h6`` onto ``R h6``, and t6 rotates
    ``R^T h4`` onto ``R(h5, -t5) h4``: subproblem 1 twice.
    """
    four, six, R = read_axis(h4, "h4"), read_axis(h6, "h6"), read_rotation(R, "R")
    out = []
    for t5 in find_turns_to_height(four, h5, six, float(four @ R @ six)):
        bend = axis_rotation(h5, t5)
        out.append((find_turn_onto(four, bend @ six, R @ six), t5, find_turn_onto(six, R.T @ four, bend.T @ four)))
    return out
