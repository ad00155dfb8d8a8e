"""The bend axes of elbows and knees, which determine the rotation of hands and feet about their limbs.

A rest pose with straight limbs does not show these axes, so they are computed from the motion:

    axis = sum over frames of upper bone x lower bone, in the lower bone's own axes

over frames in which the sine of the bend is above 0.1: a straight limb has no bend axis. Knees and elbows also yield
slightly in other directions (hyperextension), so small bends that contradict the rest pose are ignored, and the axis of
the rest pose is used.

Without a motion, the axis comes from a hinge, from a bend of the rest pose, or from convention: knees bend backward and
elbows forward. If limbs point up in the rest pose, as in recordings with all bones along x, the bend axis of knees and
elbows points to the right. A hinge with a symmetric range gives the line of the axis, and convention its sign.
"""

from collections.abc import Mapping as Names
from math import sqrt

import numpy as np

from poise.anatomy import Roles
from poise.arrays import Floats
from poise.model import Joint, Model
from poise.motion.retargeting.bones import (
    PARALLEL_SINE,
    cross,
    find_axes,
    find_bone_start,
    lay_axes,
    measure,
    place_of,
    unit,
)
from poise.spatial import Rotation

__all__ = ["LIMBS", "Bends", "find_bend"]

LIMBS = {"hand": ("shoulder", "elbow", "wrist"), "foot": ("hip", "knee", "ankle")}
RENEW_FRAMES = 10  # frames of a stream between updates of its axes
BENT_SINE = 0.1  # of a bend: smaller ones show no axis
HYPEREXTENSION_SINE = 0.5  # of a bend against the rest pose's: in a stream a smaller one counts as hyperextension
GIVING_WAY_SINE = 0.2  # mean of the observed bends: below it they may be hyperextension
ONE_SIDED_SHARE = 0.3  # a hinge is one-sided if it bends less than this share of its range the other way
SAME_BEND_COSINE = 0.5  # between two bend axes: below it they are not the same bend


class Bends:
    """The bend axes of the elbows and knees of a body, from the frames so far.

    `seen` has the sums of their bends, `bent` the numbers of frames in which they were bent, `at_rest` the axes of the
    rest pose, and `unsure` whether that pose leaves them uncertain.
    """

    def __init__(self, model: Model, names: Names[str, str], roles: Roles) -> None:
        self.model, self.names = model, names
        self.known = [
            (end, side)
            for end, limb in LIMBS.items()
            for side in "lr"
            if all(f"{part}_{side}" in names for part in limb)
        ]
        self.place = {key: i for i, key in enumerate(self.known)}
        at = {name: i for i, name in enumerate(model.frames)}
        frames = [list_frames(model, names, *key) for key in self.known]
        self.index = np.array([[at[frame] for frame in limb] for limb in frames], dtype=np.int64).reshape(-1, 3)
        self.at_rest = [find_bend(model, names, *key) for key in self.known]
        self.rest_axes = np.array([np.zeros(3) if axis is None else axis for axis in self.at_rest]).reshape(-1, 3)
        self.rest_sides = unit(self.rest_axes)
        self.unsure = np.array([not shows_bend(model, names, *key) for key in self.known], dtype=bool)
        self.ends = [RestEnd(model, names, roles, *key) for key in self.known]
        self.forget()

    def forget(self, turn_step: float | None = None) -> None:
        """Reset to the state before the first frame.

        Args:
            turn_step: For a stream: the largest rotation of an axis per frame when a limb changes sides [rad].
        """
        self.turn_step, self.turns_left = turn_step, dict[int, float]()
        self.seen, self.bent = np.zeros((len(self.known), 3)), np.zeros(len(self.known))
        self.count, self.waiting = 0, list[Floats]()
        self.chosen = list(self.at_rest)
        self.axes: dict[tuple[str, str], Floats | None] = {}

    def watch(self, T: Floats) -> bool:
        """Process frames of the body, (frames, parts, 4, 4), and return whether the axes were updated."""
        self.count += len(T)
        self.waiting.append(T[:, self.index, :3])
        if len(T) == 1 and self.count > RENEW_FRAMES and self.count % RENEW_FRAMES:
            return self._turn_on()
        limbs = np.concatenate(self.waiting)
        self.waiting = []
        bones = unit(np.diff(limbs[..., 3], axis=2))
        bend = cross(bones[:, :, 0], bones[:, :, 1])
        sines = measure(bend)[..., 0]
        own = (bend[:, :, None] @ limbs[:, :, 1, :, :3])[:, :, 0]
        counted = sines > BENT_SINE
        if self.turn_step is not None:
            counted &= (sines > HYPEREXTENSION_SINE) | ((own * self.rest_axes).sum(axis=-1) >= 0.0) | self.unsure
        own[~counted] = 0.0
        self._turn_on()
        shown = [self.find_axis(*key) for key in self.known] if self.turn_step is not None else []
        self.bent += counted.sum(axis=0)
        self.seen = self.seen + own.sum(axis=0)  # a new array: `shown` holds rows of the old one
        self.chosen = [self._choose(i) for i in range(len(self.known))]
        for i, axis in enumerate(shown):
            if not self.unsure[i]:
                self._keep_side(i, axis)
        self.axes = {}
        return True

    def _keep_side(self, i: int, shown: Floats | None) -> None:
        """Start to rotate the axis of a limb that changes sides, or changes back, about its bone, frame by frame."""
        axis, along = self.chosen[i], self.ends[i].bone
        turning = self.turns_left.pop(i, None) is not None
        if shown is None or axis is None or not (turning or axis @ shown < 0.0):
            return
        self.turns_left[i] = float(
            np.arctan2(along @ cross(axis, shown), axis @ shown - (axis @ along) * (shown @ along))
        )

    def _turn_on(self) -> bool:
        """Rotate the axes that are changing sides by one frame; return whether there are any."""
        if not self.turns_left:
            return False
        step = self.turn_step or np.pi
        self.turns_left = {i: left - np.copysign(step, left) for i, left in self.turns_left.items() if abs(left) > step}
        self.axes = {}
        return True

    def find_axis(self, end: str, side: str) -> Floats | None:
        """Return the bend axis of a limb in the lower bone's axes, from the motion or else from the rest pose."""
        i = self.place.get((end, side))
        axis = None if i is None else self.chosen[i]
        if axis is None or i not in self.turns_left:
            return axis
        turned: Floats = Rotation.from_vector(self.turns_left[i] * self.ends[i].bone).apply(axis)
        return turned

    def _choose(self, i: int) -> Floats | None:
        """Return the axis of a limb from the frames so far, or that of the rest pose."""
        seen, rest = self.seen[i], self.at_rest[i]
        far = sqrt(seen @ seen)
        if far <= BENT_SINE:
            return rest
        gives = (
            rest is not None
            and self.rest_sides[i] @ seen < SAME_BEND_COSINE * far
            and far < GIVING_WAY_SINE * self.bent[i]
        )
        return rest if gives else seen

    def find(self, end: str, side: str) -> Floats | None:
        """Return the axes of a hand or foot in its own frame; None if unknown."""
        if (end, side) not in self.axes:
            bend = self.find_axis(end, side)
            self.axes[end, side] = None if bend is None else self.ends[self.place[end, side]].lay_axes(bend)
        return self.axes[end, side]


class RestEnd:
    """A hand or a foot in the rest pose: the rotations of the bone above it and of its own frame, and its direction.

    The direction of a hand is along the forearm, that of a foot from heel to toe.
    """

    def __init__(self, model: Model, names: Names[str, str], roles: Roles, end: str, side: str) -> None:
        frame = names[f"wrist_{side}"] if end == "hand" else names.get(f"foot_{side}", names[f"ankle_{side}"])
        self.lower = model.fk(model.rest, names[f"{LIMBS[end][1]}_{side}"])[:3, :3]
        self.own = model.fk(model.rest, frame)[:3, :3]
        middle, last = (names[f"{part}_{side}"] for part in LIMBS[end][1:])
        self.bone = self.lower.T @ unit(place_of(model, last) - place_of(model, middle))
        self.along = find_along(model, names, roles, end, side)

    def lay_axes(self, bend: Floats) -> Floats | None:
        """Return its axes in its frame for a bend axis in the lower bone's axes; None if unknown."""
        return None if self.along is None else lay_axes(self.own, self.lower @ bend, self.along)


def list_frames(model: Model, names: Names[str, str], end: str, side: str) -> tuple[str, str, str]:
    """List the frames at which the bones of a limb begin and end."""
    root, middle, last = (f"{part}_{side}" for part in LIMBS[end])
    return find_bone_start(model, names, root), names[middle], names[last]


def find_along(model: Model, names: Names[str, str], roles: Roles, end: str, side: str) -> Floats | None:
    """Return the direction of a hand or foot in the rest pose; None if unknown."""
    if end == "hand":
        way = place_of(model, names[f"wrist_{side}"]) - place_of(model, names[f"elbow_{side}"])
    else:
        ends = [roles.contacts.get(f"{point}_{side}") for point in ("heel", "toe")]
        if ends[0] is None or ends[1] is None:
            return None
        places = []
        for point in ends:
            T = model.fk(model.rest, point.frame)  # type: ignore[union-attr]
            places.append(T[:3, :3] @ np.array(point.point) + T[:3, 3])  # type: ignore[union-attr]
        way = places[1] - places[0]
    length = float(np.linalg.norm(way))
    return None if length <= 1e-6 * model.length else np.array(way / length)


def find_bend(model: Model, names: Names[str, str], end: str, side: str) -> Floats | None:
    """Return the axis about which a knee or an elbow bends, in the lower bone's axes; None if unknown."""
    if any(f"{part}_{side}" not in names for part in LIMBS[end]):
        return None
    frames = list_frames(model, names, end, side)
    hinge = find_hinge(model, names, end, frames)
    if hinge is not None:
        return hinge
    a, b, c = (place_of(model, frame) for frame in frames)
    bend = cross(unit(b - a), unit(c - b))
    if np.linalg.norm(bend) <= BENT_SINE:
        custom = follow_custom(model, names, end, unit(c - a))
        if custom is None:
            return None
        bend = custom
    return np.array(model.fk(model.rest, frames[1])[:3, :3].T @ bend)


def shows_bend(model: Model, names: Names[str, str], end: str, side: str) -> bool:
    """Return whether a rest pose shows the bend of a limb; recordings with all bones along x do not."""
    frames, trunk = list_frames(model, names, end, side), find_trunk(model, names)
    a, b, c = (place_of(model, frame) for frame in frames)
    if np.linalg.norm(cross(unit(b - a), unit(c - b))) > BENT_SINE or find_hinge(model, names, end, frames) is not None:
        return True
    return trunk is None or bool(unit(c - a) @ trunk[1] <= 0.5)


def find_trunk(model: Model, names: Names[str, str]) -> Floats | None:
    """Return the left, up and forward directions of the trunk in the rest pose, as rows; None if unknown."""
    found = ((part, find_axes(model, names, part)) for part in ("chest", "pelvis"))
    part, axes = next(((part, axes) for part, axes in found if axes is not None), ("", None))
    return None if axes is None else np.array((model.fk(model.rest, names[part])[:3, :3] @ axes).T)


def follow_custom(model: Model, names: Names[str, str], end: str, along: Floats) -> Floats | None:
    """Return the conventional bend axis of a straight limb, in the world of the rest pose; None if unknown."""
    trunk = find_trunk(model, names)
    if trunk is None:
        return None
    left, up, ahead = trunk
    if along @ up > 0.5:
        return np.array(-left)
    return np.array(left) if end == "foot" else cross(along, np.array(ahead))


def find_hinge(model: Model, names: Names[str, str], end: str, frames: tuple[str, str, str]) -> Floats | None:
    """Return the axis of a hinge in the lower bone's axes, with the sign of its larger range; None if it is no hinge.

    If the range is about symmetric, as in files that give every joint the same range, the sign follows convention.
    """
    joint = next((joint for joint in model.joints_above(frames[1]) if joint.nv), None)
    if joint is None or joint.kind != "revolute" or joint.mimic:
        return None
    line = np.array(model.fk(model.rest, joint.frame)[:3, :3] @ joint.axis)
    if not is_one_sided(model, frames, joint, line):
        a, _, c = (place_of(model, frame) for frame in frames)
        custom = follow_custom(model, names, end, unit(c - a))
        if custom is not None and abs(unit(custom) @ line) > SAME_BEND_COSINE:
            return np.array(model.fk(model.rest, frames[1])[:3, :3].T @ line * np.sign(custom @ line))
    return watch_hinge(model, frames, joint)


def is_one_sided(model: Model, frames: tuple[str, str, str], joint: Joint, line: Floats) -> bool:
    """Return whether a limb bends much farther in one direction than in the other, about a hinge along a line."""
    a, b, c = (place_of(model, frame) for frame in frames)
    upper, lower = (bone - (bone @ line) * line for bone in (unit(b - a), unit(c - b)))
    if min(np.linalg.norm(upper), np.linalg.norm(lower)) < PARALLEL_SINE:
        return True  # the limb rotates about itself there
    bent = float(np.arctan2(line @ cross(upper, lower), upper @ lower))
    straight = float(model.rest[joint.q][0]) - bent
    low, high = (float(x[joint.v][0]) for x in (model.lower, model.upper))
    less, more = sorted(float(np.clip(x, 0.0, np.pi)) for x in (straight - low, high - straight))
    return less <= ONE_SIDED_SHARE * more


def watch_hinge(model: Model, frames: tuple[str, str, str], joint: Joint) -> Floats:
    """Return the bend axis of a limb over the range of its hinge, in the lower bone's axes."""
    low, high = (float(np.clip(x[joint.v][0], -2.0, 2.0)) for x in (model.lower, model.upper))
    q = np.tile(model.rest, (9, 1))
    q[:, joint.q] = np.linspace(low, high, 9)[:, None]
    T = {frame: np.array(model.fk(q, frame)) for frame in frames}
    a, b, c = (T[frame][:, :3, 3] for frame in frames)
    bends = np.einsum("tji,tj->ti", T[frames[1]][:, :3, :3], cross(unit(b - a), unit(c - b)))
    axis = np.linalg.svd(bends)[2][0]  # all of them are along the hinge, except for a constant kink
    most = bends @ axis
    return np.array(axis if most[np.argmax(np.abs(most))] > 0.0 else -axis)
