"""End effectors of a machine without roles: tools, hands and feet, but not sensors, wheels or fingers.

A machine is a body whose joints all have one axis, except its floating base. Its ends are the rigid parts without
children. Several short children of one part, such as fingers, make that part a hand, and the hand is then the end. One
frame of an end is chosen: a tool by its name, otherwise the farthest from its last joint.
"""

from __future__ import annotations

import numpy as np

from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.names import split_words

__all__ = ["find_machine_ends", "is_machine", "moves_freely"]

FINGER_LENGTH = 0.2  # relative to L: parts that reach no farther from their parent are its fingers
TOOLS = ("tcp", "tool", "tip", "ee", "effector", "flange", "gripper", "palm", "hand", "sole", "foot")  # the best first
SENSORS = frozenset(
    {"imu", "camera", "cam", "lidar", "laser", "sensor", "gps", "antenna", "logo", "optical", "depth", "color", "radar"}
    | {"rgb", "rgbd", "ft", "force", "torque", "inertial", "contour", "support", "light", "led", "mic", "speaker"}
)
WHEELS = frozenset({"wheel", "caster", "castor", "roller"})
FREE_VELOCITIES = 6  # velocities above a frame with which it can move without rotating


def is_machine(model: Model) -> bool:
    """Return whether every joint has one axis, except those that move the whole body."""
    parts = find_rigid_parts(model)
    return all(joint.nv <= 1 or parts[joint.parent] is None for joint in model.joints)


def moves_freely(model: Model, frame: str) -> bool:
    """Return whether the joints above a frame can move it without rotating it, and without moving the whole body.

    An arm of four joints cannot: the trunk would have to move in place of the hand.
    """
    above, parts = [joint for joint in model.joints_above(frame) if not joint.mimic], find_rigid_parts(model)
    own = [joint for joint in above if joint.nv <= 1 or parts[joint.parent] is not None]
    return sum(joint.nv for joint in own if joint.nv) >= FREE_VELOCITIES or not any(joint.nv for joint in own)


def find_machine_ends(model: Model) -> list[str]:
    """Return the end effectors of a machine, one frame for each end."""
    parts = find_rigid_parts(model)
    frames: dict[str, list[str]] = {}
    for name in model.frames:
        part = parts[name]
        if part is not None:
            frames.setdefault(part, []).append(name)
    above = {part: parts[model.frame(part).parent] for part in frames}
    below: dict[str, list[str]] = {part: [] for part in frames}
    for part, parent in above.items():
        if parent is not None:
            below[parent].append(part)
    at = {name: model.fk(model.rest, name)[:3, 3] for name in model.frames}

    def reach(part: str, origin: str) -> float:
        own = max(float(np.linalg.norm(at[name] - at[origin])) for name in frames[part])
        return max([own, *(reach(child, origin) for child in below[part])])

    def is_hand(part: str) -> bool:
        return len(below[part]) > 1 and all(reach(child, part) < FINGER_LENGTH * model.length for child in below[part])

    ends: list[str] = []
    for part, own in frames.items():
        carriers = [name for name in model.ancestors(part)[1:] if name in below]
        if any(is_hand(name) for name in carriers):
            continue
        if (not below[part] or is_hand(part)) and not has_word(part, WHEELS):
            frame = choose_frame(own, at, part)
            ends += [] if frame is None else [frame]
    return ends


def choose_frame(frames: list[str], at: dict[str, np.ndarray], part: str) -> str | None:
    """Return the end effector among the frames of an end, or None for a sensor."""
    kept = [name for name in frames if not has_word(name, SENSORS)]
    for word in TOOLS:
        named = [name for name in kept if has_word(name, frozenset({word}))]
        if named:
            return named[-1]
    return max(kept, key=lambda name: float(np.linalg.norm(at[name] - at[part])), default=None)


def has_word(name: str, words: frozenset[str]) -> bool:
    """Return whether a name contains one of some words, with or without a number after it."""
    return any(word.rstrip("0123456789") in words for word in split_words(name))
