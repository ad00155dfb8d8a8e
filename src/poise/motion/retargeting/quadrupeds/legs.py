"""Four legs onto four legs: the legs of both bodies, their ends, and a pose in which the target stands.

The hind legs take the place of a person's legs and the fore legs that of the arms, so a quadruped is carried over as a
person on hands and feet would be. The legs of robots bend in their own way, so their feet follow the places of the
source's feet relative to the hips, scaled by the lengths of the legs, and not the directions of bones.
"""

from collections.abc import Mapping as Names
from dataclasses import dataclass

import numpy as np

from poise.anatomy import Roles
from poise.arrays import Floats
from poise.limits.support_points import find_support_points
from poise.model import Joint, Model
from poise.motion.contact.body_floor import FOUR_SIDES, flag_paw
from poise.motion.retargeting.bones import HINGES, cross, find_bone_start, place_of, unit

__all__ = ["ALIASES", "FOUR_SIDES", "QuadrupedLeg", "find_legs", "find_stance_pose"]

ALIASES = {f"{part}_h{side}": f"{part}_{side}" for part in ("hip", "knee", "ankle", "foot") for side in "lr"} | {
    f"{part}_f{side}": f"{arm}_{side}"
    for part, arm in (("clavicle", "clavicle"), ("hip", "shoulder"), ("knee", "elbow"), ("ankle", "wrist"))
    for side in "lr"
}
ROUND_SHARE = 0.35  # largest spread of the distances of a round foot's points from its middle, relative to the largest
LEAST_BALL_POINTS = 6
BENT_SINE = 0.3  # of a knee that shows the side to which it bends
STANCE_BEND = 1.2  # rad: bend of knees in a stance that no pose of the file shows
ONE_SIDED_SHARE = 0.5  # ratio of the ranges of a knee to both sides: below it the larger one is the natural side


@dataclass(frozen=True, eq=False)
class QuadrupedLeg:
    """A leg from the trunk to the ground.

    Attributes:
        side: "fl", "fr", "hl" or "hr".
        start: The frame at which it leaves the trunk.
        knee: The frame of its knee.
        frame: The frame that its end is fixed to.
        point: The end in the axes of that frame [m]: the middle of a round foot, otherwise a point of the sole.
        radius: The height of the end above the ground while it stands [m].
        length: The length along its bones, to the ground [m].
    """

    side: str
    start: str
    knee: str
    frame: str
    point: tuple[float, float, float]
    radius: float
    length: float


def find_legs(model: Model, names: Names[str, str], roles: Roles) -> list[QuadrupedLeg]:
    """Find the four legs of a body, in the order of FOUR_SIDES."""
    out = []
    for side in FOUR_SIDES:
        end = side[0]
        pair = {f"{part}_{s}": names[f"{part}_{end}{s}"] for part in ("hip", "knee") for s in "lr"}
        start = find_bone_start(model, {"pelvis": names["pelvis"], **pair}, f"hip_{side[1]}")
        knee = names[f"knee_{side}"]
        frame, point, radius = find_end(model, roles, side, knee)
        T = model.fk(model.rest, frame)
        joints = [start, knee, *(names[role] for role in (f"ankle_{side}",) if role in names)]
        path = [*(place_of(model, each) for each in joints), T[:3, :3] @ np.array(point) + T[:3, 3]]
        length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()) + radius
        out.append(QuadrupedLeg(side, start, knee, frame, point, radius, length))
    return out


def find_end(model: Model, roles: Roles, side: str, knee: str) -> tuple[str, tuple[float, float, float], float]:
    """Return the frame, point and radius of the end of a leg.

    A round foot is held at its middle: its lowest point is another one at every angle of the leg.
    """
    names = [name for name in (f"toe_{side}", f"sole_1_{side}") if name in roles.contacts]
    if not names:
        return roles.get(f"foot_{side}", knee), (0.0, 0.0, 0.0), 0.0
    end = roles.contacts[names[0]]
    ball = None if end.evidence in ("bones", "frame") else fit_ball(model, side, knee)
    if ball is None:
        return end.frame, end.point, 0.0
    T = model.fk(model.rest, end.frame)
    x, y, z = (T[:3, :3].T @ (ball[0] - T[:3, 3])).tolist()
    return end.frame, (x, y, z), ball[1]


def fit_ball(model: Model, side: str, knee: str) -> tuple[Floats, float] | None:
    """Return the middle in the rest pose and the radius of a round foot [m]: a ball of the file, or one fit to a mesh.

    The radius is the largest distance of points beyond the middle, so no angle of the leg is below the ground.
    """
    parts = [part for part in find_support_points(model) if part.solid and not part.seen]
    found = [np.zeros((0, 4))]
    for part in parts:
        T, near = model.fk(model.rest, part.frame), flag_paw(model, part, (side,))
        found.append(np.c_[part.points @ T[:3, :3].T + T[:3, 3], part.radius][near])
    points = np.concatenate(found)
    places, radii, shin = points[:, :3], points[:, 3], place_of(model, knee)
    if (radii > 0.0).any():
        last = int(np.argmax(np.where(radii > 0.0, np.linalg.norm(places - shin, axis=1) + radii, -np.inf)))
        return places[last], float(radii[last])
    if len(places) < LEAST_BALL_POINTS:
        return None
    local = places - places.mean(axis=0)
    fit = np.linalg.lstsq(np.c_[2.0 * local, np.ones(len(local))], (local**2).sum(axis=1), rcond=1e-6)[0][:3]
    middle = places.mean(axis=0) + fit
    beyond = np.linalg.norm(local - fit, axis=1)[(places - middle) @ (middle - shin) > 0.0]
    most = float(beyond.max(initial=0.0))
    is_round = len(beyond) > 0 and float(np.ptp(beyond)) < ROUND_SHARE * most
    return (middle, most) if is_round else None


def find_stance_pose(model: Model, legs: list[QuadrupedLeg]) -> Floats:
    """Return a pose in which all knees are bent to their natural side: a named pose, or the rest pose with bent knees.

    Knees that bend equally far to both sides bend as a dog's: the hind ones point forward and the elbows backward.
    """
    for q in (*model.poses.values(), model.rest):
        if all(is_bent(model, np.asarray(q), leg) for leg in legs):
            return np.array(q)
    q = np.array(model.rest)
    starts = np.array([place_of(model, leg.start) for leg in legs])
    ahead = starts[:2].mean(axis=0) - starts[2:].mean(axis=0)
    for leg in legs:
        if not is_bent(model, q, leg):
            bend_knee(model, q, leg, cross(model.up_direction, ahead) * (1.0 if leg.side[0] == "h" else -1.0))
    return np.array(model.clamp(q))


def is_bent(model: Model, q: Floats, leg: QuadrupedLeg) -> bool:
    """Return whether a knee is bent in a pose, about its hinge if it has one."""
    T = model.fk(q, leg.frame)
    start, knee = (model.fk(q, frame)[:3, 3] for frame in (leg.start, leg.knee))
    bend = cross(unit(knee - start), unit(T[:3, :3] @ np.array(leg.point) + T[:3, 3] - knee))
    joint = next(joint for joint in model.joints_above(leg.knee) if joint.nv)
    hinge = joint.kind in HINGES
    return float(abs(bend @ find_axis(model, q, joint)) if hinge else np.linalg.norm(bend)) > BENT_SINE


def bend_knee(model: Model, q: Floats, leg: QuadrupedLeg, custom: Floats) -> None:
    """Bend a straight knee to the side of its larger range, otherwise about the axis `custom`; the hip turns half."""
    hinges = [joint for joint in model.joints_above(leg.knee) if joint.nv == 1 and joint.kind in HINGES]
    if not hinges:
        return
    knee = hinges[0]
    axis = find_axis(model, q, knee)
    at, low, high = float(q[knee.q][0]), float(model.lower[knee.v][0]), float(model.upper[knee.v][0])
    less, more = sorted(float(np.clip(far, 0.0, np.pi)) for far in (at - low, high - at))
    sign = np.sign(custom @ axis) or 1.0
    if less < ONE_SIDED_SHARE * more:
        sign = 1.0 if high - at > at - low else -1.0
    q[knee.q] = np.clip(at + sign * STANCE_BEND, low, high)
    for hip in hinges[1:]:
        along = float(find_axis(model, q, hip) @ axis)
        if abs(along) > 0.9:
            q[hip.q] = float(q[hip.q][0]) - np.sign(along) * 0.5 * (float(q[knee.q][0]) - at)
            break


def find_axis(model: Model, q: Floats, joint: Joint) -> Floats:
    """Return the axis of a hinge in the world."""
    axis: Floats = model.fk(q, joint.frame)[:3, :3] @ np.asarray(joint.axis)
    return axis
