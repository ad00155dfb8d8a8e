"""End effectors of a machine without roles: tools, hands and feet, but not sensors, wheels or fingers.

A machine is a body whose joints all have one axis, except its floating base. Its ends are the rigid parts without
children. Several short children of one part, such as fingers, make that part a hand, and so does one that closes on it,
such as the jaw of a gripper; the hand is then the end. One frame of an end is chosen: a tool by its name, otherwise the
farthest from its last joint.
"""

import numpy as np

from poise.anatomy.limbs import measure_distance
from poise.anatomy.parts import Body, BodyPart, list_parts
from poise.kinematics.parts import find_rigid_parts
from poise.model import Model
from poise.names import split_words

__all__ = ["find_machine_ends", "is_machine", "moves_freely"]

FINGER_LENGTH = 0.2  # relative to L: parts that reach no farther from their parent are its fingers
LEAST_SWING = 0.7  # of the length of a jaw: the distance of its tip from its axis
MOST_OPENING = np.pi  # rad, or m
MOST_GAP = 0.5  # of the length of a jaw: the distance of its tip from the other jaw
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
    body = list_parts(model, model.rest, model.up_direction)
    moving = [part for part in body.parts if part.joint is not None and not has_word(part.frame, WHEELS)]
    hands = {part.index for part in moving if carries_fingers(body, part)}
    last = [part for part in moving if part.index in hands or not body.children[part.index]]
    own = [choose_frame(body, part) for part in last if hands.isdisjoint(body.list_above(part.index)[1:])]
    return [frame for frame in own if frame is not None]


def carries_fingers(body: Body, hand: BodyPart) -> bool:
    """Return whether the children of a part are its fingers: several short ones, or the one jaw of a gripper."""
    fingers = body.children[hand.index]
    places = [body.places[frame][:3, 3] for k in body.list_below(hand.index)[1:] for frame in body.parts[k].frames]
    far = max((measure_distance(place, hand.place) for place in places), default=np.inf)
    return far < FINGER_LENGTH * body.model.length and (len(fingers) > 1 or is_jaw(body, body.parts[fingers[0]], hand))


def is_jaw(body: Body, jaw: BodyPart, other: BodyPart) -> bool:
    """Return whether a part closes on another one: its tip swings or slides, by little, next to a tip of the other."""
    tips = jaw.ends - jaw.place
    tip = tips[int(np.argmax(np.linalg.norm(tips, axis=1)))]
    long = float(np.linalg.norm(tip))
    swings = jaw.axis is None or float(np.linalg.norm(np.cross(jaw.axis, tip))) > LEAST_SWING * long
    opens = jaw.joint is not None and float(np.ptp([jaw.joint.lower, jaw.joint.upper])) < MOST_OPENING
    gap = float(np.linalg.norm(other.ends - jaw.place - tip, axis=1).min())
    return not body.children[jaw.index] and swings and opens and gap < MOST_GAP * long


def choose_frame(body: Body, part: BodyPart) -> str | None:
    """Return the end effector among the frames of an end, or None for a sensor."""
    kept = [name for name in part.frames if not has_word(name, SENSORS)]
    for word in TOOLS:
        named = [name for name in kept if has_word(name, frozenset({word}))]
        if named:
            return named[-1]
    return max(kept, key=lambda name: measure_distance(body.places[name][:3, 3], part.place), default=None)


def has_word(name: str, words: frozenset[str]) -> bool:
    """Return whether a name contains one of some words, with or without a number after it."""
    return any(word.rstrip("0123456789") in words for word in split_words(name))
