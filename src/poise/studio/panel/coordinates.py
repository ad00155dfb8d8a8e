"""The coordinates of a pose, one by one: name, range, value, and how each is set.

A hinge has its angle, a slide its length. A ball or a free joint has a quaternion, whose numbers mean nothing one
by one: it is shown as the rotation vector from its rest, in the axes of the part that turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from poise.arrays import Floats
from poise.model import Model

__all__ = ["Dial", "find_dials", "format_q", "format_transform", "read_dials", "set_dial"]


@dataclass(frozen=True, slots=True)
class Dial:
    """One number of a pose.

    Attributes:
        name: The joint, and which of its numbers.
        joint: The joint.
        v: Where it is among the velocities of the body.
        slides: Whether it is a length [m] or a factor; otherwise an angle [rad].
        low: The lowest value.
        high: The highest value.
        bounded: Whether the body's own range says so; otherwise it is as far as a slider goes.
        unit: What it is measured in; empty for a factor.
    """

    name: str
    joint: str
    v: int
    slides: bool
    low: float
    high: float
    bounded: bool
    unit: str = "rad"


@lru_cache(maxsize=8)
def find_dials(model: Model, size: float) -> tuple[Dial, ...]:
    """Return a dial for every number of a pose that can move; `size` is how far the body slides either way [m]."""
    found: list[Dial] = []
    rest = read_values(model, np.array(model.rest))
    for joint in model.joints:
        if not joint.nv or joint.mimic or joint.locked:
            continue
        names = [c.name for c in joint.coordinates]
        names += [f"r{axis}" for axis in "xyz"][: joint.nv - len(names)] if len(names) < joint.nv else []
        for k, v in enumerate(range(joint.v.start, joint.v.stop)):
            name = f"{joint.name}.{names[k]}" if names[k] and joint.nv > 1 else joint.name
            slides = not model.turns[v]
            reach = size if slides else np.pi
            plain = joint.nq == joint.nv
            low, high = (float(x) if plain else np.inf for x in (model.lower[v], model.upper[v]))
            bounded = bool(np.isfinite(low) and np.isfinite(high))
            if not bounded:
                low, high = (float(rest[v]) + sign * reach for sign in (-1.0, 1.0))
            unit = "m" if model.slides[v] else "" if slides else "rad"
            found.append(Dial(name, joint.name, v, slides, low, high, bounded, unit))
    return tuple(found)


def read_values(model: Model, q: Floats) -> Floats:
    """Return the values of all dials, in the order of the velocities, (nv,)."""
    out = np.array(model.difference(np.array(model.rest), q))
    for joint in model.joints:
        if joint.nv and not joint.mimic and joint.nq == joint.nv:
            out[joint.v] = q[joint.q]
    return out


def read_dials(model: Model, dials: tuple[Dial, ...], q: Floats) -> Floats:
    """Return the value of each dial in a pose [rad or m]."""
    values = read_values(model, q)
    return values[[dial.v for dial in dials]] if dials else np.zeros(0)


def set_dial(model: Model, dial: Dial, q: Floats, value: float) -> Floats:
    """Return the pose with one dial set, inside of the body's ranges."""
    joint = model.joint(dial.joint)
    values = read_values(model, q)
    values[dial.v] = min(max(value, dial.low), dial.high)
    if joint.nq == joint.nv:
        out = q.copy()
        out[joint.q] = values[joint.v]
    else:
        step = np.zeros(model.nv)
        step[joint.v] = values[joint.v]
        turned = model.integrate(np.array(model.rest), step)
        out = q.copy()
        out[joint.q] = turned[joint.q]
    return np.asarray(model.clamp(out))


def format_q(q: Floats) -> str:
    """Write a configuration as Python would read it."""
    return "[" + ", ".join(f"{value:.6g}" for value in q) + "]"


def format_transform(T: Floats) -> str:
    """Write a transform (4, 4) as Python would read it."""
    rows = (", ".join(f"{value:.6g}" for value in row) for row in T)
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]"
