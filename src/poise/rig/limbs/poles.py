"""Poles that do not flip: which way a limb shall bend next, given which way it was asked to bend before.

    u = (C - A) / |C - A|,   n = +- d x u / |d x u|       d the pole's direction, A the limb's root, C its end

Of the two normals the one nearer to the last is taken, so the plane goes on turning the way it did. Where the limb lies
along d the plane is undefined; near there (|d x u| below NEAR) the last normal is kept, less its part along u.
"""

from __future__ import annotations

import math

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.rig.limbs.limb import Limb
from poise.rig.state import Pole

__all__ = ["direction_of_bend", "find_next_normal", "knee_plane", "pole_target"]

NEAR = 0.2  # sine of the angle between the limb and its pole's direction, below which the plane is not to be trusted
TINY = 1e-9


def find_next_normal(pole: Pole, u: Floats) -> Floats:
    """The normal of the plane in which a limb along u shall bend."""
    across = np.cross(pole.direction, u)
    sine = float(np.linalg.norm(across))
    if pole.normal is None:
        return across / sine if sine > TINY else find_any_across(u)
    kept = pole.normal - (pole.normal @ u) * u
    size = float(np.linalg.norm(kept))
    kept = kept / size if size > TINY else pole.normal
    if sine <= TINY:
        return kept
    wanted = across / sine if across @ kept >= 0.0 else -across / sine
    share = min(1.0, sine / NEAR)
    share = share * share * (3.0 - 2.0 * share)
    mixed = share * wanted + (1.0 - share) * kept
    out: Floats = mixed / np.linalg.norm(mixed)
    return out


def pole_target(model: Model, q: Floats, limb: Limb, pole: Pole) -> tuple[Floats, Pole]:
    """Where the limb's hinge, or the bone above its middle, shall point; and the pole with its new normal."""
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, limb.end)[:3, 3]
    line = C - A
    length = float(np.linalg.norm(line))
    u = line / length if length > TINY * model.length else np.asarray(pole.direction)
    n = find_next_normal(pole, u)
    turned = Pole(pole.direction, n)
    if limb.hinge is not None:
        return n, turned
    # the middle turned about the line of the limb into the wanted plane; the bone above it points there
    assert limb.bone is not None, "a limb without a middle has no pole"
    assert limb.middle is not None, "a limb without a middle has no pole"
    B, above = model.fk(q, limb.middle)[:3, 3], model.fk(q, limb.bone[0])[:3, 3]
    along = (B - A) @ u
    out = float(np.linalg.norm(B - A - along * u))
    wanted = A + along * u + out * np.cross(u, n) - above
    size = float(np.linalg.norm(wanted))
    return (wanted / size if size > TINY * model.length else u), turned


def knee_plane(model: Model, q: Floats, limb: Limb, side: Floats) -> Floats:
    """The plane in which a knee looks ahead, given the side of its foot: the twelve numbers of a `Knee`'s target.

    It holds the line of the leg and has the side as its normal, as far as that is across the leg. The numbers are those
    of a rotation whose third axis is the normal, row by row, then a point of the plane.
    """
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, limb.end)[:3, 3]
    line = C - A
    n = side - (side @ line) * line / max(float(line @ line), TINY * TINY)
    x, y, z = (n if float(n @ n) > TINY * TINY else side).tolist()
    size = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / size, y / size, z / size
    # two axes across the normal (Duff and others, Building an orthonormal basis, revisited, 2017)
    sign = math.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    first, second = (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)
    return np.array([first[0], second[0], x, first[1], second[1], y, first[2], second[2], z, *C.tolist()])


def direction_of_bend(model: Model, q: Floats, limb: Limb) -> Floats:
    """Where the middle of a limb points from the line between its ends, a unit vector; zero where it is straight."""
    assert limb.middle is not None, "a limb without a middle does not bend"
    A, B, C = (model.fk(q, frame)[:3, 3] for frame in (limb.root, limb.middle, limb.end))
    u = (C - A) / max(float(np.linalg.norm(C - A)), TINY)
    out = B - A - ((B - A) @ u) * u
    size = float(np.linalg.norm(out))
    found: Floats = out / size if size > TINY * model.length else np.zeros(3)
    return found


def find_any_across(u: Floats) -> Floats:
    """A unit vector across u."""
    other = np.zeros(3)
    other[int(np.argmin(np.abs(u)))] = 1.0
    across = np.cross(u, other)
    out: Floats = across / np.linalg.norm(across)
    return out
