"""Poles without flips: the next bending direction, given the last one.

    u = (C - A) / |C - A|,   n = +- d x u / |d x u|       d the pole's direction, A the limb's root, C its end

The normal nearer to the last one is chosen, so that the plane continues to rotate smoothly. If the limb is parallel to
d, the plane is undefined; near there (|d x u| below LEAST_SINE) the last normal is kept, less its part along u.
"""

import math

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.rig.limbs.limb import Limb
from poise.rig.snapshot import Pole

__all__ = ["find_bend_direction", "find_knee_plane", "find_next_normal", "find_pole_target"]

LEAST_SINE = 0.2  # of the angle between the limb and its pole: below it, the plane is uncertain
ZERO_LENGTH = 1e-9


def find_next_normal(pole: Pole, u: Floats) -> Floats:
    """Return the normal of the bending plane for a limb along u."""
    across = np.cross(pole.direction, u)
    sine = float(np.linalg.norm(across))
    if pole.normal is None:
        return across / sine if sine > ZERO_LENGTH else find_any_across(u)
    kept = pole.normal - (pole.normal @ u) * u
    size = float(np.linalg.norm(kept))
    kept = kept / size if size > ZERO_LENGTH else pole.normal
    if sine <= ZERO_LENGTH:
        return kept
    wanted = across / sine if across @ kept >= 0.0 else -across / sine
    share = min(1.0, sine / LEAST_SINE)
    share = share * share * (3.0 - 2.0 * share)
    mixed = share * wanted + (1.0 - share) * kept
    out: Floats = mixed / np.linalg.norm(mixed)
    return out


def find_pole_target(model: Model, q: Floats, limb: Limb, pole: Pole) -> tuple[Floats, Pole]:
    """Return the direction for the limb's hinge, or for the bone above its middle, and the pole with its new normal."""
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, limb.end)[:3, 3]
    line = C - A
    length = float(np.linalg.norm(line))
    u = line / length if length > ZERO_LENGTH * model.length else np.asarray(pole.direction)
    n = find_next_normal(pole, u)
    turned = Pole(pole.direction, n)
    if limb.hinge is not None:
        return n, turned
    # rotate the middle about the line of the limb into the plane; the bone above it points there
    assert limb.bone is not None, "a limb without a middle joint has no pole"
    assert limb.middle is not None, "a limb without a middle joint has no pole"
    B, above = model.fk(q, limb.middle)[:3, 3], model.fk(q, limb.bone[0])[:3, 3]
    along = (B - A) @ u
    out = float(np.linalg.norm(B - A - along * u))
    wanted = A + along * u + out * np.cross(u, n) - above
    size = float(np.linalg.norm(wanted))
    return (wanted / size if size > ZERO_LENGTH * model.length else u), turned


def find_knee_plane(model: Model, q: Floats, limb: Limb, side: Floats) -> Floats:
    """Return the plane of a knee that points ahead, given the side axis of its foot: the 12 numbers of a `Knee` target.

    The plane contains the line of the leg; its normal is the side axis, less its part along the leg. The numbers are a
    rotation by rows, with the normal as its third axis, then a point of the plane.
    """
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, limb.end)[:3, 3]
    line = C - A
    n = side - (side @ line) * line / max(float(line @ line), ZERO_LENGTH * ZERO_LENGTH)
    x, y, z = (n if float(n @ n) > ZERO_LENGTH * ZERO_LENGTH else side).tolist()
    size = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / size, y / size, z / size
    # two axes perpendicular to the normal (Duff and others, Building an orthonormal basis, revisited, 2017)
    sign = math.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    first, second = (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)
    return np.array([first[0], second[0], x, first[1], second[1], y, first[2], second[2], z, *C.tolist()])


def find_bend_direction(model: Model, q: Floats, limb: Limb) -> Floats:
    """Return the direction from the line of a limb to its middle, a unit vector; zero if the limb is straight."""
    assert limb.middle is not None, "a limb without a middle does not bend"
    A, B, C = (model.fk(q, frame)[:3, 3] for frame in (limb.root, limb.middle, limb.end))
    u = (C - A) / max(float(np.linalg.norm(C - A)), ZERO_LENGTH)
    out = B - A - ((B - A) @ u) * u
    size = float(np.linalg.norm(out))
    found: Floats = out / size if size > ZERO_LENGTH * model.length else np.zeros(3)
    return found


def find_any_across(u: Floats) -> Floats:
    """Return a unit vector perpendicular to u."""
    other = np.zeros(3)
    other[int(np.argmin(np.abs(u)))] = 1.0
    across = np.cross(u, other)
    out: Floats = across / np.linalg.norm(across)
    return out
