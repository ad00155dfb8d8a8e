"""The bones of a body in its rest pose: the starts of its limbs, the axes of its trunk, the lengths of its limbs.

A robot's hip may be three joints in one place, its chest a box without a neck, and the rest pose of a recording may lie
down or have its legs next to its ears. So a bone starts at the point where its limb leaves the trunk, and parts have
axes of their own, from the limbs that they carry: x left, y up, z forward. Only the trunk must be straight at rest.
"""

from collections.abc import Mapping as Names
from math import sqrt

import numpy as np

from poise.arrays import Floats
from poise.model import Model
from poise.model.memo import keep_with_model

__all__ = [
    "BONES",
    "HINGES",
    "PARALLEL_SINE",
    "SHORT_BONE",
    "cross",
    "find_axes",
    "find_bone",
    "find_bone_start",
    "find_left",
    "find_limb_start",
    "find_middle",
    "lay_axes",
    "make_axes",
    "measure",
    "measure_arms",
    "measure_legs",
    "place_of",
    "unit",
]

BONES = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"), ("clavicle", "shoulder"))
HINGES = ("revolute", "continuous")  # kinds of joints
ACROSS_SINE = 0.1  # between the left and up directions: below it they define no axes
ASIDE_SHARE = 0.25  # share of the distance between two limbs: a frame farther from the other limb is on its own side
ABOVE_KNEE_SHARE = 0.05  # share of a thigh's length: a hip farther to the side of its knee than others is not above it
PARALLEL_SINE = 0.2  # between a bone and its bend axis: below it they define no axes
SHORT_BONE = 1e-3  # relative to L: a shorter bone has no direction
OWN_AXIS_COSINE = np.cos(np.radians(30.0))  # between an axis of a frame and the trunk: above it the axis is the trunk's


def place_of(model: Model, frame: str) -> Floats:
    """Return the position of a frame in the rest pose [m]."""
    return np.array(model.fk(model.rest, frame)[:3, 3])


def find_limb_start(model: Model, trunk: str, frame: str) -> str:
    """Return the first frame of a limb beyond the trunk, at which its bone begins."""
    return list_beyond(model, trunk, frame)[0]


def find_middle(model: Model, names: Names[str, str]) -> Floats:
    """Return the midpoint of the hips in the axes of the pelvis [m]."""
    T = model.fk(model.rest, names["pelvis"])
    if "hip_l" not in names or "hip_r" not in names:
        return np.zeros(3)
    starts = [find_bone_start(model, names, f"hip_{side}") for side in "lr"]
    middle: Floats = T[:3, :3].T @ (0.5 * (place_of(model, starts[0]) + place_of(model, starts[1])) - T[:3, 3])
    return middle


def find_left(model: Model, names: Names[str, str], limb: str) -> Floats | None:
    """Return the direction from the right to the left limb of a pair at rest, or None if they start at one place."""
    if f"{limb}_l" not in names or f"{limb}_r" not in names:
        return None
    left, right = (place_of(model, find_bone_start(model, names, f"{limb}_{s}")) for s in "lr")
    apart = float(np.linalg.norm(left - right))
    return (left - right) / apart if apart > SHORT_BONE * model.length else None


def list_ways_up(model: Model, names: Names[str, str], hips: Floats) -> list[Floats]:
    """List the up directions that the rest pose suggests, best first.

    This is the direction from hips to shoulders; without shoulders, hips to neck and ankles to hips; without hips,
    that of the model.
    """
    if "hip_l" not in names:
        return [model.up_direction]
    pairs = dict[str, Floats]()
    for part in ("shoulder", "ankle"):
        if f"{part}_l" in names and f"{part}_r" in names:
            left, right = (place_of(model, find_bone_start(model, names, f"{part}_{s}")) for s in "lr")
            pairs[part] = 0.5 * (left + right)
    if "shoulder" in pairs:
        ways = [pairs["shoulder"] - hips]
    else:
        ways = [place_of(model, names["neck"]) - hips] if "neck" in names else []
        ways += [hips - pairs["ankle"]] if "ankle" in pairs else []
    return [unit(way) for way in ways if np.linalg.norm(way) >= SHORT_BONE * model.length]


def find_axes(model: Model, names: Names[str, str], part: str) -> Floats | None:
    """Return the axes of the pelvis or the chest in its own frame, (3, 3): left, up, forward; None if unknown.

    Up is the direction of the whole trunk, from hips to shoulders, or of the legs if the body has no arms. If an axis
    of the frame is near that direction, the axis is used instead, because it was usually meant to be up.
    """
    if part not in names:
        return None
    left = find_left(model, names, "hip" if part == "pelvis" and "hip_l" in names else "shoulder")
    T = model.fk(model.rest, names[part])
    base = place_of(model, names["pelvis"]) + model.fk(model.rest, names["pelvis"])[:3, :3] @ find_middle(model, names)
    ways = [T[:3, :3].T @ way for way in list_ways_up(model, names, base)]
    if left is None or not ways:
        return None
    up = lean_on_own(next((way for way in ways if np.abs(way).max() >= OWN_AXIS_COSINE), ways[0]))
    across = T[:3, :3].T @ left
    return make_axes(across, up) if np.linalg.norm(cross(across, up)) > ACROSS_SINE else None


def lean_on_own(way: Floats) -> Floats:
    """Return the axis of the frame nearest to a direction if it is close, otherwise the direction itself."""
    most = int(np.argmax(np.abs(way)))
    if abs(way[most]) < OWN_AXIS_COSINE:
        return way
    own: Floats = np.sign(way[most]) * np.eye(3)[most]
    return own


def make_axes(left: Floats, up: Floats) -> Floats:
    """Return right-handed axes (..., 3, 3), columns left, up, forward: up is exact, left as near as possible."""
    axes = np.empty((*np.broadcast_shapes(left.shape, up.shape), 3))
    y = up / measure(up)
    x = left - (left * y).sum(axis=-1, keepdims=True) * y
    x = x / measure(x)
    axes[..., 0], axes[..., 1], axes[..., 2] = x, y, cross(x, y)
    return axes


def lay_axes(own: Floats, bend: Floats, along: Floats) -> Floats | None:
    """Return the axes of a part in its frame: up along the part, left as near as possible to its bend axis.

    Args:
        own: The rotation of its frame in the world, (3, 3).
        bend: The axis in the world, of any length.
        along: The direction along the part in the world, of any length.

    Returns None if the part has no length, or the axis is nearly along it.
    """
    length = sqrt(along @ along)
    if length <= 0.0:
        return None
    y = along / length
    x = bend - (bend @ y) * y
    wide = sqrt(x @ x)
    if wide <= PARALLEL_SINE * sqrt(bend @ bend):
        return None
    x = x / wide
    axes: Floats = (np.array([x, y, cross(x, y)]) @ own).T
    return axes


def find_bone_start(model: Model, names: Names[str, str], root: str) -> str:
    """Return the frame at which a bone begins; for an upper arm or a thigh, the start of its limb.

    Arms and legs begin where their joint axes meet, so that they point as the source's, however wide shoulders and hips
    are; legs begin above their knees, because links of hips may also lie anywhere along the axes that they turn about.
    """
    part, _, side = root.rpartition("_")
    carriers = {"hip": ("pelvis",), "shoulder": (f"clavicle_{side}", "chest", "pelvis")}.get(part, ())
    for carrier in carriers:
        if carrier in names:
            other = names.get(f"{part}_{'r' if side == 'l' else 'l'}")
            knee = names.get(f"knee_{side}") if part == "hip" else None
            return find_limb_bone_start(model, names[carrier], names[root], other, knee)
    return names[root]


@keep_with_model
def find_limb_bone_start(model: Model, trunk: str, root: str, other: str | None, knee: str | None) -> str:
    """Return the frame at which the first bone of a limb begins; `other` is the root of the limb on the other side."""
    return find_meeting(model, list_above_knee(model, knee, list_aside(model, trunk, root, other)))


def list_above_knee(model: Model, knee: str | None, frames: list[str]) -> list[str]:
    """List the frames of a hip that are about as near to the middle of the knee, along its hinge, as the nearest."""
    joint = None if knee is None else next((joint for joint in model.joints_above(knee) if joint.nv), None)
    if knee is None or joint is None or joint.kind != "revolute":
        return frames
    hinge, end = model.fk(model.rest, joint.frame)[:3, :3] @ joint.axis, place_of(model, knee)
    ways = np.array([end - place_of(model, frame) for frame in frames])
    aside = np.abs(ways @ hinge)
    most = aside.min() + ABOVE_KNEE_SHARE * np.linalg.norm(ways, axis=1).max()
    return [frame for frame, far in zip(frames, aside, strict=True) if far <= most]


def list_aside(model: Model, trunk: str, root: str, other: str | None) -> list[str]:
    """List the frames of a limb beyond the trunk that are on its own side.

    Some limbs begin with joints in the middle of the trunk, or with joints shared by both sides: these are near the
    other limb and are excluded.
    """
    own = list_beyond(model, trunk, root)
    if other is None:
        return own
    theirs = np.array([place_of(model, frame) for frame in list_beyond(model, trunk, other)])
    least = ASIDE_SHARE * np.linalg.norm(place_of(model, root) - theirs[-1])
    apart = [np.linalg.norm(place_of(model, frame) - theirs, axis=1).min() for frame in own]
    return [frame for frame, far in zip(own, apart, strict=True) if far >= least] or own[-1:]


def find_meeting(model: Model, frames: list[str]) -> str:
    """Return the frame nearest to the joint axes of all given frames; the last one if several are equally near."""
    away = [measure_axes(model, frames, place_of(model, frame)) for frame in frames]
    near = min(away) + SHORT_BONE * model.length
    return [frame for frame, far in zip(frames, away, strict=True) if far <= near][-1]


def measure_axes(model: Model, frames: list[str], place: Floats) -> float:
    """Return the distance of a point from the joint axes of the given frames [m], as a root sum of squares."""
    total = 0.0
    for frame in frames:
        joint = model.frame(frame).joint
        if joint is None or not model.joint(joint).nv:
            continue
        T = model.fk(model.rest, frame)
        way = place - T[:3, 3]
        if model.joint(joint).kind == "revolute":
            axis = T[:3, :3] @ model.joint(joint).axis
            way = way - (way @ axis) * axis
        total += float(way @ way)
    return float(np.sqrt(total))


def list_beyond(model: Model, trunk: str, frame: str) -> list[str]:
    """List the frames of a limb from the first one beyond the trunk to `frame`."""
    chain = model.ancestors(frame)
    return (chain[: chain.index(trunk)][::-1] if trunk in chain else []) or [frame]


def find_bone(model: Model, names: Names[str, str], root: str, end: str) -> Floats | None:
    """Return the direction of a bone in the frame of its root, in the rest pose, or None if it has no length."""
    along = place_of(model, names[end]) - place_of(model, find_bone_start(model, names, root))
    length = np.linalg.norm(along)
    if length < SHORT_BONE * model.length:
        return None
    bone: Floats = model.fk(model.rest, names[root])[:3, :3].T @ (along / length)
    return bone


def measure_limbs(model: Model, names: Names[str, str], limb: tuple[str, str, str]) -> float:
    """Return the length of a pair of limbs in the rest pose, along the bones [m]: the mean of both sides."""
    total = 0.0
    for side in "lr":
        frames = [find_bone_start(model, names, f"{limb[0]}_{side}"), *(names[f"{part}_{side}"] for part in limb[1:])]
        total += float(np.linalg.norm(np.diff([place_of(model, f) for f in frames], axis=0), axis=1).sum())
    return 0.5 * total


def measure_legs(model: Model, names: Names[str, str]) -> float:
    """Return the length of the legs, from the pelvis to the ankles [m]: the mean of both sides."""
    return measure_limbs(model, names, ("hip", "knee", "ankle"))


def measure_arms(model: Model, names: Names[str, str]) -> float:
    """Return the length of the arms, from the trunk to the wrists [m]: the mean of both sides."""
    return measure_limbs(model, names, ("shoulder", "elbow", "wrist"))


def unit(x: Floats) -> Floats:
    """Return vectors of length 1; zero vectors stay zero."""
    out: Floats = x / np.maximum(measure(x), 1e-12)
    return out


def measure(x: Floats) -> Floats:
    """Return the lengths of vectors along the last axis, (..., 1)."""
    lengths: Floats = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return lengths


def cross(a: Floats, b: Floats) -> Floats:
    """Return the cross product along the last axis; numpy's is slow for single vectors."""
    (x, y, z), (u, v, w) = (each.tolist() if each.ndim == 1 else np.moveaxis(each, -1, 0) for each in (a, b))
    product = [y * w - z * v, z * u - x * w, x * v - y * u]
    return np.array(product, np.float64) if a.ndim == b.ndim == 1 else np.stack(product, axis=-1)
