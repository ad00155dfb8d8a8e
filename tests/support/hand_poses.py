"""Poses of a person's hand."""

import numpy as np

import poise
from poise.arrays import Floats
from poise.goals import Distance
from poise.model import Model

__all__ = ["FINGERS", "bend_hand", "pinch_hand"]

FINGERS = ("index", "middle", "ring", "pinky")
PINCH_M = 0.008  # distance of the tips of two fingers that touch


def bend_hand(
    model: Model, angle: float, fingers: tuple[str, ...] = FINGERS, thumb: tuple[float, ...] = (20.0,)
) -> Floats:
    """Return a hand with some fingers bent by an angle, and the joints of the thumb by others [degrees]."""
    q = np.array(model.rest)
    q[model.joint("wrist").q.stop :] = 0.0
    for name in fingers:
        for joint, share in ((f"{name}_mcp", 1.0), (f"{name}_pip", 1.1), (f"{name}_dip", 0.8)):
            q[model.joint(joint).q.start] = np.radians(share * angle)
    for joint, own in zip(("thumb_cmc", "thumb_mcp", "thumb_ip"), thumb, strict=False):
        q[model.joint(joint).q.start] = np.radians(own)
    return q


def pinch_hand(model: Model, finger: str) -> Floats:
    """Return a hand whose thumb touches a finger."""
    start, goal = bend_hand(model, 35.0, (finger,)), Distance("thumb_tip", f"{finger}_tip", PINCH_M)
    joints = [joint.name for joint in model.joints if joint.nv and joint.name != "wrist"]
    return poise.solve(model, goal, start=start, joints=joints).q
