"""Palms: the side of a hand that touches the object it holds.

With fingers along d and the thumb along t, the normal of a left palm is d x t, and that of a right palm t x d. A body
without thumbs is assumed to have them in front, in the direction it faces in its rest pose: its palms face the thighs
if the arms hang, and down if they are stretched out to the sides. A hand without a side, such as a gripper, touches
with the origin of its frame, in the direction it points.
"""

from dataclasses import dataclass

import numpy as np

from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.errors import NameNotFound, name_not_found
from poise.kinematics.parts import find_rigid_parts
from poise.limits.capsules import body_capsules
from poise.model import Model
from poise.names import find_side

__all__ = ["Palm", "find_flesh", "find_hand", "find_palm"]

SHORTEST_DIRECTION = 1e-6  # relative to the model's length: shorter vectors have no direction


@dataclass(frozen=True, slots=True, eq=False)
class Palm:
    """The palm of a hand.

    Attributes:
        hand: The frame of the hand.
        side: "l", "r", or "" for a hand without a side.
        point: The middle of the palm, on the skin, in the axes of the frame [m], (3,).
        normal: The outward normal of the palm, in the axes of the frame, (3,).
        aside: The direction to the hand's side of the body at rest, in the world, (3,); zero for a hand without a side.
    """

    hand: str
    side: str
    point: Floats
    normal: Floats
    aside: Floats


def find_hand(model: Model, name: str) -> str:
    """Return the frame with the given name, or of the joint or role with that name.

    Raises:
        NameNotFound: Nothing has this name; the message lists the closest names.
    """
    try:
        return model.frame(name).name
    except NameNotFound:
        known = find_roles(model)
        if name in known:
            return known[name]
        raise name_not_found("hand", name, (*model.frames, *known)) from None


def find_palm(model: Model, hand: str) -> Palm:
    """Return the palm of a hand."""
    side = find_hand_side(model, hand)
    T = model.fk(model.rest, hand)
    along, facing = find_fingers(model, hand), find_roles(model).facing if side else None
    if facing is None:
        return Palm(hand, "", np.zeros(3), np.asarray(T[:3, :3].T @ along), np.zeros(3))
    turn = 1.0 if side == "l" else -1.0
    normal = turn * np.cross(along, find_thumb(model, hand, side, np.array(facing)))
    size = float(np.linalg.norm(normal))
    out = T[:3, :3].T @ (normal / size if size > SHORTEST_DIRECTION else T[:3, 2])
    middle, thick = find_flesh(model, hand)
    return Palm(hand, side, middle + thick * out, out, turn * np.cross(model.up_direction, facing))


def find_thumb(model: Model, hand: str, side: str, facing: Floats) -> Floats:
    """Return the direction from hand to thumb in the rest pose, or the direction the body faces if it has no thumb."""
    known = find_roles(model)
    thumbs = [known[role] for role in known if role.startswith("thumb") and find_side(role) == side]
    if not thumbs:
        return facing
    way = model.fk(model.rest, thumbs[-1])[:3, 3] - model.fk(model.rest, hand)[:3, 3]
    length = float(np.linalg.norm(way))
    return np.asarray(way / length) if length > SHORTEST_DIRECTION * model.length else facing


def find_hand_side(model: Model, hand: str) -> str:
    """Return the side of a frame by its role or name: "l", "r" or ""."""
    played = [role for role, frame in find_roles(model).items() if frame == hand]
    sides = [find_side(name) for name in (*played, hand)]
    return next((side[0] for side in sides if side and side[0] in "lr"), "")


def find_fingers(model: Model, hand: str) -> Floats:
    """Return the unit direction of the fingers in the rest pose."""
    place = model.fk(model.rest, hand)
    for name in model.ancestors(hand)[1:]:
        way = place[:3, 3] - model.fk(model.rest, name)[:3, 3]
        length = float(np.linalg.norm(way))
        if length > SHORTEST_DIRECTION * model.length:
            return np.asarray(way / length)
    return np.asarray(place[:3, 2])


def find_flesh(model: Model, hand: str) -> tuple[Floats, float]:
    """Return the middle of a hand in its own axes [m], and its radius around that point [m].

    A frame without a joint marks the palm and is its own middle.
    """
    parts = find_rigid_parts(model)
    own = [c for c in body_capsules(model) if parts[model.frame(c.frame).name] == parts[hand]]
    if not own:
        return np.zeros(3), 0.0
    longest = max(own, key=lambda c: float(np.linalg.norm(np.subtract(c.b, c.a))))
    if model.frame(hand).joint is None:
        return np.zeros(3), longest.radius
    carrier, frame = model.fk(model.rest, longest.frame), model.fk(model.rest, hand)
    middle = carrier[:3, :3] @ (0.5 * np.add(longest.a, longest.b)) + carrier[:3, 3]
    return np.asarray(frame[:3, :3].T @ (middle - frame[:3, 3])), longest.radius
