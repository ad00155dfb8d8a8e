"""Limbs that got stuck straight: bend them by the two bones, before the solve.

A straight limb whose hinge is at its limit feels no pull towards its own root: a search that goes only downhill
leaves it straight, though the target is nearer. The hinge's angle for a distance D from root A to
handle C is known:

    D^2 = |x|^2 + |w|^2 + 2 x . R(h, t) w          x = B - A,  w = C - B,  h the hinge's axis at B
    x . R(h, t) w = k + a cos t + b sin t          k = (x.h)(w.h),  a = x.w_,  b = x.(h x w_),  w_ = w - (w.h) h

and the solve starts with the hinge turned that way. The kernels' two-bone method (`elbow_turn` in
`native/kernels/methods/two_bone.h`) has the same law of cosines and another choice: it keeps the side to which the
limb is bent and may leave the range for it; here the limb is straight, and the smaller turn inside the range is taken.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from poise.model import Joint, Model
from poise.rig.limbs import Limb

__all__ = ["bend", "hinge_joint"]

Floats = NDArray[np.float64]
LEAST = 0.02  # radians: less is left to the solve


def hinge_joint(model: Model, limb: Limb) -> Joint | None:
    """The joint in the middle of a limb, if it is a hinge."""
    name = None if limb.middle is None or limb.hinge is None else model.frame(limb.middle).joint
    return None if name is None else model.joint(name)


def bend(model: Model, q: Floats, limb: Limb, joint: Joint, frame: str, target: Floats) -> float:
    """How far the hinge must turn for the frame to come as near to the limb's root as its target is; 0 for no turn.

    Only a limb that is longer than its target asks for is bent.
    """
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, frame)[:3, 3]
    T = model.fk(q, str(limb.middle))
    B, h = T[:3, 3], T[:3, :3] @ np.asarray(joint.axis)
    distance = float(np.linalg.norm(target - A))
    if distance >= float(np.linalg.norm(C - A)):
        return 0.0
    x, w = B - A, C - B
    across = w - (w @ h) * h
    k, a, b = float((x @ h) * (w @ h)), float(x @ across), float(x @ np.cross(h, across))
    size = math.hypot(a, b)
    if size == 0.0:
        return 0.0
    wanted = (0.5 * (distance * distance - float(x @ x) - float(w @ w)) - k) / size
    half, middle = math.acos(min(1.0, max(-1.0, wanted))), math.atan2(b, a)
    now = float(q[joint.q][0])
    turns = [math.remainder(middle + side * half, 2.0 * math.pi) for side in (1.0, -1.0)]
    inside = [turn for turn in turns if float(joint.lower) <= now + turn <= float(joint.upper)]
    turn = min(inside, key=abs, default=0.0)
    return turn if abs(turn) > LEAST else 0.0
