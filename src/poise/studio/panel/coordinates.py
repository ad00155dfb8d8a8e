"""The scalar coordinates of a pose: name, range, value and setter.

A hinge has an angle, a slide a length. A ball or a free joint has a quaternion, whose components are not meaningful
one by one: it is shown as the rotation vector from the rest pose, in the axes of the moving part.
"""

from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.kinematics.carriers import find_root
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = ["Dial", "find_dials", "format_q", "format_transform", "read_dials", "set_dial"]


@dataclass(frozen=True, slots=True)
class Dial:
    """One scalar coordinate of a pose.

    Attributes:
        name: The name of the joint, and of its coordinate.
        joint: The name of the joint.
        v: The index among the body's velocities.
        slides: Whether it is a length [m] or a factor rather than an angle [rad].
        low: The lowest value.
        high: The highest value.
        bounded: Whether `low` and `high` are joint limits rather than the ends of a slider.
        unit: The unit; empty for a factor.
    """

    name: str
    joint: str
    v: int
    slides: bool
    low: float
    high: float
    bounded: bool
    unit: str = "rad"


@keep_with_model
def find_dials(model: Model, size: float) -> tuple[Dial, ...]:
    """Return a dial for every coordinate that can move, those of the root last.

    `size` is the range of a slider without limits, both ways [m].
    """
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
    root = find_root(model)
    base = () if root is None else (root.slide.name, root.turn.name)
    return tuple(sorted(found, key=lambda dial: dial.joint in base))


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
    """Return the pose with one dial set, within the joint limits."""
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
    """Format a configuration as a Python list."""
    return "[" + ", ".join(f"{value:.6g}" for value in q) + "]"


def format_transform(T: Floats) -> str:
    """Format a transform (4, 4) as a nested Python list."""
    rows = (", ".join(f"{value:.6g}" for value in row) for row in T)
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]"
