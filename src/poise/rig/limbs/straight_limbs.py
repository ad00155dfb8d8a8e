"""Bend limbs that are stuck straight by their two bones, before the solve.

A straight limb with its hinge at its limit has no gradient towards its own root: a descent leaves it straight, even if
the target is nearer. The hinge's angle for a distance D from root A to handle C is known:

    D^2 = |x|^2 + |w|^2 + 2 x . R(h, t) w          x = B - A,  w = C - B,  h the hinge's axis at B
    x . R(h, t) w = k + a cos t + b sin t          k = (x.h)(w.h),  a = x.w_,  b = x.(h x w_),  w_ = w - (w.h) h

and the solve starts with the hinge rotated by it. The kernels' two-bone method (`elbow_turn` in
`native/kernels/methods/two_bone.h`) uses the same law of cosines but keeps the side to which the limb is bent, even
outside the range; here the limb is straight, and the smaller rotation inside the range is chosen.
"""

import math

import numpy as np

from poise.arrays import Floats
from poise.model import Joint, Model
from poise.rig.limbs.limb import Limb

__all__ = ["comes_down", "find_bend", "find_hinge", "find_knee_bend"]

LEAST_TURN = 0.02  # rad: smaller rotations are left to the solve
EQUAL_TURN = 0.2  # rad: rotations that differ by less count as equally large
STRAIGHT_COSINE = math.cos(0.25)  # of the angle between the bones of a limb that counts as straight


def find_hinge(model: Model, limb: Limb) -> Joint | None:
    """Return the joint in the middle of a limb, or None if it is not a hinge."""
    name = None if limb.middle is None or limb.hinge is None else model.frame(limb.middle).joint
    return None if name is None else model.joint(name)


def find_bend(
    model: Model, q: Floats, limb: Limb, joint: Joint, frame: str, target: Floats, *, as_made: bool = False
) -> float:
    """Return the rotation of the hinge that brings the frame as near to the limb's root as its target [rad], or 0.

    Only a limb that is longer than the distance to its target is bent. The smaller of two rotations is chosen; if both
    are about equal, as in a straight limb, or with `as_made`, the one in the limb's natural bending direction.
    """
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, frame)[:3, 3]
    T = model.fk(q, str(limb.middle))
    turns = find_turns(C - A, C - T[:3, 3], T[:3, :3] @ np.asarray(joint.axis), float(np.linalg.norm(target - A)))
    now = float(q[joint.q][0])
    inside = [turn for turn in turns if float(joint.lower) <= now + turn <= float(joint.upper)]
    most = np.inf if as_made else min(map(abs, inside), default=0.0) + EQUAL_TURN
    made = 1.0 if limb.hinge is None or np.dot(limb.hinge, joint.axis) > 0.0 else -1.0
    turn = max((turn for turn in inside if abs(turn) <= most), key=lambda turn: made * turn, default=0.0)
    return turn if abs(turn) > LEAST_TURN else 0.0


def find_turns(line: Floats, w: Floats, h: Floats, distance: float) -> list[float]:
    """Return the rotations about h at the middle that bring the end to a distance from the root; empty if it is nearer.

    Args:
        line: The vector from the root to the end.
        w: The vector from the middle to the end.
        h: The rotation axis of the middle.
        distance: The required distance of the end from the root [m].
    """
    if distance >= float(np.linalg.norm(line)):
        return []
    x = line - w
    across = w - (w @ h) * h
    k, a, b = float((x @ h) * (w @ h)), float(x @ across), float(x @ np.cross(h, across))
    size = math.hypot(a, b)
    if size == 0.0:
        return []
    wanted = (0.5 * (distance * distance - float(x @ x) - float(w @ w)) - k) / size
    half, middle = math.acos(min(1.0, max(-1.0, wanted))), math.atan2(b, a)
    return [math.remainder(middle + side * half, 2.0 * math.pi) for side in (1.0, -1.0)]


def comes_down(model: Model, q: Floats, limb: Limb, way: Floats) -> bool:
    """Return whether a motion brings a hip nearer to its foot, on a leg too straight to bend by descent."""
    A, C = model.fk(q, limb.root)[:3, 3], model.fk(q, limb.end)[:3, 3]
    if float((C - A) @ way) <= 0.0:
        return False
    B = model.fk(q, str(limb.middle))[:3, 3]
    upper, lower = B - A, C - B
    return float(upper @ lower) > STRAIGHT_COSINE * math.sqrt(float(upper @ upper) * float(lower @ lower))


def find_knee_bend(model: Model, q: Floats, limb: Limb, side: Floats, way: Floats) -> Floats:
    """Return the step of a knee without a hinge, (nv,), for a hip that moves by `way` while the foot stays.

    The bone below the knee rotates backwards about n, the side axis of the foot less its part along the leg, so that
    the knee moves ahead.
    """
    dq = np.zeros(model.nv)
    A, B, C = (model.fk(q, str(frame))[:3, 3] for frame in (limb.root, limb.middle, limb.end))
    line = C - A
    n = side - (side @ line) * line / max(float(line @ line), 1e-300)
    size, name = float(np.linalg.norm(n)), model.frame(str(limb.middle)).joint
    if size < 1e-9 or name is None:
        return dq
    turns = find_turns(line, C - B, n / size, float(np.linalg.norm(line - way)))
    turn = min((turn for turn in turns if turn > LEAST_TURN), default=0.0)
    v = model.joint(name).v
    dq[v] = np.linalg.lstsq(model.jacobian(q, str(limb.middle))[3:, v], turn * n / size, rcond=1e-6)[0]
    return dq
