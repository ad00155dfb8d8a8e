"""The goals that transfer a motion to another body.

Both bodies are compared by directions and axes of their parts (`bones`), never by their rest poses. Frames are read one
by one, for whole clips and live streams alike.
"""

from collections.abc import Mapping as Names
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.anatomy import Roles
from poise.anatomy import roles as find_roles
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Align, Goal, Orient, Reach
from poise.kinematics.carriers import Root
from poise.model import Model
from poise.motion.clips.clip_limits import read_number
from poise.motion.retargeting.bends import Bends
from poise.motion.retargeting.bones import (
    BONES,
    SHORT_BONE,
    find_axes,
    find_bone,
    find_bone_start,
    find_middle,
    measure_legs,
    place_of,
)
from poise.motion.retargeting.goal_targets import GoalTargets
from poise.motion.retargeting.initial_poses import InitialPoses, find_free
from poise.motion.retargeting.mapping import Mapping
from poise.motion.retargeting.quadrupeds.legs import QuadrupedLeg
from poise.motion.retargeting.trunks import find_head_axes, has_one_piece, list_tops
from poise.spatial import Rotation

__all__ = ["CarryOver", "Scales", "read_scales"]

LEAST_SCALE, MOST_SCALE = 1e-6, 1e6  # from metres to micrometres, and back


@dataclass(frozen=True, slots=True)
class Scales:
    """The ratios of lengths of the target to lengths of the source.

    Attributes:
        path: Scale of the path; by default the ratio of the leg lengths.
        arms: Scale of the positions of hands and elbows relative to the pelvis; None if arms keep their directions
            instead.
        given: Whether the scale of the path was given as a number: then ankle positions are scaled with it too.
    """

    path: float
    arms: float | None = None
    given: bool = False

    def __str__(self) -> str:
        arms = "arms keep their directions" if self.arms is None else f"hands reach {self.arms:.3f} times as far"
        return f"1 m of the source's path is {self.path:.3f} m, {arms}"


def read_scales(given: object, source: Model, theirs: Names[str, str], model: Model, ours: Names[str, str]) -> Scales:
    """Return the scales for "auto", "legs", a number, or {"legs": number, "arms": number or word}."""
    words = dict(given) if isinstance(given, dict) else {"legs": given}
    for key in words:
        if key not in ("legs", "arms"):
            raise InvalidValue(f"scale has {key!r}; it may have 'legs' and 'arms'.")
    legs, arms = words.get("legs", "auto"), words.get("arms", "direction")
    has_legs = all(
        f"{part}_{side}" in names for names in (theirs, ours) for part in ("hip", "knee", "ankle") for side in "lr"
    )
    if isinstance(legs, str) and legs in ("auto", "legs"):
        path = measure_legs(model, ours) / measure_legs(source, theirs) if has_legs else model.length / source.length
    else:
        what = "scale['legs']" if isinstance(given, dict) else "scale"
        path = read_number(legs, what, LEAST_SCALE, MOST_SCALE, "'auto', 'legs'")
    given_legs = not isinstance(legs, str)
    if isinstance(arms, str) and arms == "direction":
        return Scales(path, None, given_legs)
    far = (
        path
        if isinstance(arms, str) and arms == "reach"
        else read_number(arms, "scale['arms']", LEAST_SCALE, MOST_SCALE, "'direction', 'reach'")
    )
    return Scales(path, far, given_legs)


class CarryOver:
    """A retargeting between two bodies: their parts, scales and goals.

    `goals` apply in every frame; `targets` computes their targets, and `initial` the poses to start from. `tips` are
    the legs of a quadruped, by their sides, whose ends stand.
    """

    def __init__(
        self,
        source: Model,
        model: Model,
        parts: Mapping,
        scale: object,
        root: Root | None,
        joints: Sequence[str] | None,
    ) -> None:
        self.joints = joints
        moves = root is not None and self.may_move(root.slide.name, root.frame)
        self.source, self.model, self.parts, self.root, self.moves = source, model, parts, root, moves
        self.roles: tuple[Roles, Roles] = find_roles(model), find_roles(source)
        self.tips: dict[str, QuadrupedLeg] = {}
        self._name_parts()
        if parts.upper:  # the motion is relative to the trunk that both bodies have
            self.theirs["pelvis"], self.ours["pelvis"] = parts.trunk.source, parts.trunk.target
        self.turn = Rotation.between(source.up_direction, model.up_direction).matrix
        self.scales = self._read_scales(scale)
        self.at = {name: i for i, name in enumerate(source.frames)}
        in_places = self.scales.arms is not None  # then frames themselves are scaled, not the midpoints of the hips
        self.middle = np.zeros(3) if in_places else find_middle(source, self.theirs)
        self.own_middle = np.zeros(3) if in_places else find_middle(model, self.ours)
        free = find_free(model, root)
        self.free = {f: j for f, j in free.items() if self.may_move(j.name, f)}
        self.ankle = measure_ankle(self.ours, self.roles[0])
        self.chest = find_axes(model, self.ours, "chest")
        self.bends = Bends(source, self.theirs, self.roles[1])
        self.own_bends = Bends(model, self.ours, self.roles[0])
        if model.example_poses is not None:  # the rest pose may not show the bend axes of the limbs
            self.own_bends.watch(np.array(model.fk(model.example_poses)))
        self.goal_rows: list[tuple[Goal, str, object]] = []
        self.trunk: tuple[list[str], Floats] | None = None
        self._add_trunk()
        self._add_bones()
        self._add_stumps()
        self._add_ends()
        self.goals: list[Goal] = [goal for goal, _, _ in self.goal_rows]
        self.targets = self._make_targets()
        self.initial = self._make_initial()
        self._renew()

    def _name_parts(self) -> None:
        self.theirs = {**self.roles[1], **{pair.role: pair.source for pair in self.parts}}
        self.ours = {**self.roles[0], **{pair.role: pair.target for pair in self.parts}}

    def _read_scales(self, scale: object) -> Scales:
        return read_scales(scale, self.source, self.theirs, self.model, self.ours)

    def _make_targets(self) -> GoalTargets:
        return GoalTargets(self)

    def _make_initial(self) -> InitialPoses:
        return InitialPoses(self)

    def may_move(self, joint: str, frame: str) -> bool:
        """Return whether the joint of a frame may move: all may if none are chosen."""
        return self.joints is None or joint in self.joints or frame in self.joints

    def forget(self, turn_step: float | None = None) -> None:
        """Forget the bend axes of the source's limbs; `turn_step` as in `Bends.forget`."""
        self.bends.forget(turn_step)
        self._renew()

    def watch(self, q: Floats) -> Floats:
        """Process frames of the source; return its transforms in the target's world, (frames, parts, 4, 4)."""
        T = self.place(q)
        if self.bends.watch(T):
            self._renew()
        return T

    def place(self, q: Floats) -> Floats:
        """Return the transforms of the source in the target's world, (frames, parts, 4, 4)."""
        T = np.array(self.source.fk(q))
        T[..., :3, :] = self.turn @ T[..., :3, :]
        if not self.moves:
            T[..., :3, :] = self._face_ahead(T)[:, None] @ T[..., :3, :]
        return T

    def compare_bones(self, source_q: Floats, q: Floats) -> dict[str, Floats]:
        """Return the angles between the bones of the target's limbs and those of the source, (frames,) [rad]."""
        places, out = self.place(source_q)[:, :, :3, 3], dict[str, Floats]()
        for goal, kind, how in self.goal_rows:
            if kind == "bone" and isinstance(goal, Align) and isinstance(how, tuple):
                first, last = (self.at[name] for name in how)
                theirs = places[:, last] - places[:, first]
                ours = self.model.fk(q, goal.frame)[:, :3, :3] @ np.array(goal.axis)
                across = np.linalg.norm(np.cross(ours, theirs), axis=1)
                out[goal.name or goal.frame] = np.arctan2(across, (ours * theirs).sum(axis=1))
        return out

    def _renew(self) -> None:
        self.targets.refresh()
        self.initial.refresh()

    def _add_trunk(self) -> None:
        if self.moves:
            middle = tuple(self.own_middle.tolist())
            self.goal_rows.append((Reach(self.ours["pelvis"], np.zeros(3), point=middle, name="hips"), "hips", None))
        for part in ("pelvis", "chest"):
            theirs, ours = find_axes(self.source, self.theirs, part), find_axes(self.model, self.ours, part)
            if part not in self.parts or theirs is None or ours is None:
                continue
            goal = Orient(self.ours[part], np.eye(3), name=f"{part} turned")
            one = part == "chest" and has_one_piece(self.model, self.ours) and "shoulder_l" in self.theirs
            if one:
                self.trunk = list_tops(self.source, self.theirs), theirs[:, 0]
            self.goal_rows.append((goal, part, None if one else (self.theirs[part], theirs @ ours.T)))

    def _add_bones(self) -> None:
        for root, end in ((f"{a}_{s}", f"{b}_{s}") for a, b in BONES for s in "lr"):
            if root not in self.parts or end not in self.parts:
                continue
            axis, first = find_bone(self.model, self.ours, root, end), find_bone_start(self.source, self.theirs, root)
            if (
                axis is not None
                and np.linalg.norm(place_of(self.source, self.theirs[end]) - place_of(self.source, first)) > 0
            ):
                goal = Align(self.ours[root], axis, (0.0, 0.0, 1.0), name=f"{root} to {end}")
                kind = "clavicle" if root.startswith("clavicle") else "bone"
                self.goal_rows.append((goal, kind, (first, self.theirs[end])))

    def _add_stumps(self) -> None:
        """Add goals for forearms without a wrist: they point like the source's forearms, and end at the palm."""
        for side in "lr":
            elbow, wrist, palm = f"elbow_{side}", f"wrist_{side}", self.roles[0].contacts.get(f"palm_{side}")
            if elbow not in self.parts or wrist in self.ours or wrist not in self.theirs or palm is None:
                continue
            length = float(np.linalg.norm(palm.point))
            if palm.frame == self.ours[elbow] and length > SHORT_BONE * self.model.length:
                axis = np.array(palm.point) / length
                goal = Align(palm.frame, axis, (0.0, 0.0, 1.0), name=f"{elbow} to palm_{side}")
                self.goal_rows.append((goal, "bone", (self.theirs[elbow], self.theirs[wrist])))

    def _add_ends(self) -> None:
        for end, side in self.own_bends.known:
            frame = f"wrist_{side}" if end == "hand" else f"foot_{side}"
            if frame in self.parts and self.own_bends.find(end, side) is not None:
                goal: Goal = Orient(self.ours[frame], np.eye(3), name=f"{end}_{side} turned")
                self.goal_rows.append((goal, end, side))
        for side in "lr":
            arms, legs = self.scales.arms, self.scales.path if self.scales.given and self.moves else None
            for part, far in (("elbow", arms), ("wrist", arms), ("ankle", legs)):
                role = f"{part}_{side}"
                if far is not None and role in self.parts:
                    goal = Reach(self.ours[role], np.zeros(3), name=f"{role} at")
                    self.goal_rows.append((goal, "reach", (self.theirs[role], far)))
        theirs, ours = (find_head_axes(m, n) for m, n, _ in self._bodies())
        if theirs is not None and ours is not None and "head" in self.parts:
            goal = Orient(self.ours["head"], np.eye(3), name="head turned")
            self.goal_rows.append((goal, "head", (self.theirs["head"], theirs @ ours.T)))

    def _bodies(self) -> tuple[tuple[Model, dict[str, str], Roles], tuple[Model, dict[str, str], Roles]]:
        return (self.source, self.theirs, self.roles[1]), (self.model, self.ours, self.roles[0])

    def _face_ahead(self, T: Floats) -> Floats:
        """Return rotations about the vertical that turn the source to face as the target does, (frames, 3, 3)."""
        up = self.model.up_direction
        axes = [find_axes(m, n, "pelvis") for m, n, _ in self._bodies()]
        if axes[0] is None or axes[1] is None:
            return np.tile(np.eye(3), (len(T), 1, 1))
        now = T[:, self.at[self.theirs["pelvis"]], :3, :3] @ axes[0][:, 0]
        wanted = self.model.fk(self.model.rest, self.ours["pelvis"])[:3, :3] @ axes[1][:, 0]
        side = np.cross(up, wanted)
        angle = np.arctan2(now @ side, now @ (np.cross(side, up)))
        turns: Floats = Rotation.from_axis_angle(up, -angle).matrix
        return turns


def measure_ankle(names: Names[str, str], roles: Roles) -> float:
    """Return the height of the ankles above the soles [m], in the pose in which each foot stands."""
    heights = []
    for side in "lr":
        points = [roles.contacts[n] for n in (f"heel_{side}", f"toe_{side}", f"sole_1_{side}") if n in roles.contacts]
        if points and f"ankle_{side}" in names:
            body = roles.stand_on(names.get(f"foot_{side}", names[f"ankle_{side}"]))
            low = min(body.height((body.places[p.frame] @ (*p.point, 1.0))[:3]) for p in points)
            heights.append(body.height(body.places[names[f"ankle_{side}"]][:3, 3]) - low)
    return float(np.mean(heights)) if heights else 0.0
