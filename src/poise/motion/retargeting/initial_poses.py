"""Initial poses: joints with three rotation axes copy the rotations of the source's parts.

Bones are aligned with the source's and rotated about themselves to match the bend axes of the limbs. Hinges start in
the rest pose. The solve starts there, and displacements are measured from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Names
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poise.arrays import Floats, Ints
from poise.kinematics.carriers import Root
from poise.kinematics.clip_edits import follow_branches
from poise.kinematics.samples import TURNS_FREELY, choose_angles
from poise.model import Joint, Model
from poise.motion.retargeting.bends import LIMBS, Bends
from poise.motion.retargeting.bones import find_axes, find_bone_start, lay_axes, place_of
from poise.motion.retargeting.goal_targets import LIMB_ENDS
from poise.native import core
from poise.spatial.euler import find_euler_angles, read_order

if TYPE_CHECKING:
    from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["InitialPoses", "find_free"]

JointGroup = tuple[str, "tuple[int, int, int] | None", Ints, Ints]
ROOT, WORLD = -2, -1  # parents of joints without a rotated part above them
PARTS_OF_GOALS = {"chest": "chest", "head": "head", **LIMB_ENDS}


@dataclass(frozen=True, eq=False)
class TurnedPart:
    """A part of the target that is rotated by a goal's target, or like a part of the source with a fixed rotation."""

    frame: str
    goal: int | None = None
    source: int = 0
    turn: Floats | None = None


class InitialPoses:
    """Poses of the target at the position and orientation of the source, with free joints rotated like its parts."""

    def __init__(self, carrying: CarryOver) -> None:
        self.carrying, self.model, self.free = carrying, carrying.model, carrying.free
        rest = self.model.fk(self.model.rest)
        self.rest = {name: rest[i, :3, :3] for i, name in enumerate(self.model.frames)}
        self.order = {name: i for i, name in enumerate(self.model.frames)}
        self.root = carrying.root if carrying.moves else None
        if self.root is not None:
            self._measure_root(self.root)
        self.bones = list(self._list_bones())
        self.clavicles = list(list_clavicles(carrying))
        self.plan: list[tuple[str, int | None, int]] | None = None

    def _measure_root(self, root: Root) -> None:
        """Compute the pose of the root frame relative to the pelvis in the rest pose."""
        pelvis, carrier = self.model.fk(self.model.rest, [self.carrying.ours["pelvis"], root.frame])
        self.pelvis = np.array(pelvis[:3, :3])
        self.to_carrier = self.pelvis.T @ (carrier[:3, 3] - pelvis[:3, 3]) - self.carrying.own_middle
        self.carrier = self.pelvis.T @ carrier[:3, :3]
        self.slide = slice(root.slide.q.start, root.slide.q.start + 3)

    def make(self, T: Floats, targets: Floats, near: Floats | None = None) -> Floats:
        """Return configurations (frames, nq), with Euler angles in the branch of `near`, by default of the rest pose.

        Args:
            T: Transforms of the source, (frames, parts, 4, 4).
            targets: Targets of the goals, (frames, goals, 12).
            near: The initial pose of the previous frame, (nq,).
        """
        q = (self.model.rest if near is None else near)[None].repeat(len(targets), axis=0)
        if self.groups:
            self._turn_joints(q, T, targets)
        if not self.free:
            return q
        if len(q) > 1:
            q = follow_branches(self.model, q)
        return self.model.clamp(q)

    def _turn_joints(self, q: Floats, T: Floats, targets: Floats) -> None:
        root = self._place_root(q, targets)
        if self.plan:
            turned = np.empty((len(q), len(self.between) + 1, 3, 3))
            turned[:, WORLD], turned[:, ROOT] = np.eye(3), root
            turned[:, self.by_goal] = targets[:, self.goals, :9].reshape(len(q), -1, 3, 3)
            turned[:, self.by_source] = T[:, self.sources, :3, :3] @ self.turns
            own = np.swapaxes(turned[:, self.above] @ self.between, 2, 3) @ turned[:, :WORLD]
        else:
            own = self.between[0].T @ root[:, None]
        wxyz = core.quaternion_of_matrix(own.reshape(len(q), -1, 9))
        for order, axes, which, columns in self.groups:
            each = wxyz[:, which]
            if axes is None:
                q[:, columns] = each
            else:
                q[:, columns] = choose_angles(find_euler_angles(each, axes), order, q[:, columns])

    def _place_root(self, q: Floats, targets: Floats) -> Floats:
        """Move the hips to their targets; return the rotation of the root frame, (frames, 3, 3)."""
        if self.root is None:
            return np.eye(3)[None]
        hips, pelvis, base = self.carrying.targets.hips, self.carrying.targets.pelvis, self.root.base
        assert hips is not None
        known = pelvis is not None
        turns = targets[:, pelvis, :9].reshape(-1, 3, 3) if known else self.pelvis[None].repeat(len(q), axis=0)
        q[:, self.slide] = (targets[:, hips, 9:] + turns @ self.to_carrier - base[:3, 3]) @ base[:3, :3]
        turned: Floats = turns @ self.carrier
        return turned

    def refresh(self) -> None:
        """Update the rotations of parts from the known bends, and rebuild the arrays if the list of parts changed."""
        listed = self._list_parts() if self.free else ()
        wanted = {part.frame: part for part in listed if part.frame in self.free}
        parts = [wanted[frame] for frame in sorted(wanted, key=lambda name: self.order[name])]
        plan = [(part.frame, part.goal, part.source) for part in parts]
        if plan != self.plan:
            self._lay_out(parts)
            self.plan = plan
        self.turns = np.array([part.turn for part in parts if part.goal is None]).reshape(-1, 3, 3)

    def _lay_out(self, parts: list[TurnedPart]) -> None:
        """Sort joints into those rotated by goals and those rotated like parts of the source; find their parents."""
        goals = [i for i, part in enumerate(parts) if part.goal is not None]
        sources = [i for i, part in enumerate(parts) if part.goal is None]
        self.by_goal, self.by_source = np.array(goals, dtype=np.int64), np.array(sources, dtype=np.int64)
        self.goals = np.array([parts[i].goal for i in goals], dtype=np.int64)
        self.sources = np.array([parts[i].source for i in sources], dtype=np.int64)
        frames, joints = [part.frame for part in parts], [self.free[part.frame] for part in parts]
        found = [self._find_above(joint, frames) for joint in joints]
        found.append((WORLD, np.eye(3) if self.root is None else self.root.base[:3, :3]))
        self.above = np.array([at for at, _ in found], dtype=np.int64)
        self.between = np.array([turn for _, turn in found])
        self.groups = list(group_joints(joints if self.root is None else [*joints, self.root.turn]))

    def _find_above(self, joint: Joint, frames: list[str]) -> tuple[int, Floats]:
        """Return the index of the rotated part above a joint, or ROOT or WORLD, and the joint's rotation on it."""
        offset = joint.offset.matrix[:3, :3]
        if joint.parent is None:
            return WORLD, offset
        base = self.rest[joint.parent] @ offset
        for each in self.model.joints_above(joint.parent):
            if each.frame in frames:
                return frames.index(each.frame), self.rest[each.frame].T @ base
            if self.root is not None and each.frame == self.root.frame:
                return ROOT, self.rest[each.frame].T @ base
        return WORLD, base

    def _list_bones(self) -> Iterator[tuple[str, RestBone, Floats]]:
        """List the limb bones of both bodies: the role, the source's bone and the axes of the target's."""
        carrying = self.carrying
        for end, side in carrying.own_bends.known:
            for which in (0, 1):
                role = f"{LIMBS[end][which]}_{side}"
                if (end, side) in carrying.bends.place and role in carrying.parts:
                    axes = RestBone(carrying.own_bends, end, side, which).lay_axes()
                    if axes is not None:
                        yield role, RestBone(carrying.bends, end, side, which), axes

    def _list_parts(self) -> Iterator[TurnedPart]:
        """List the parts that are rotated; of two for one frame the later one counts."""
        carrying = self.carrying
        for i, (_, kind, how) in enumerate(carrying.goal_rows):
            if kind in PARTS_OF_GOALS and carrying.targets.weights[i] > 0.0:
                yield TurnedPart(carrying.ours[PARTS_OF_GOALS[kind].format(how)], goal=i)
        yield from self.clavicles
        for role, bone, ours in self.bones:
            theirs = bone.lay_axes()
            if theirs is not None:
                source = carrying.at[carrying.theirs[role]]
                yield TurnedPart(carrying.ours[role], source=source, turn=theirs @ ours.T)


class RestBone:
    """The upper (0) or lower (1) bone of a limb in the rest pose."""

    def __init__(self, bends: Bends, end: str, side: str, which: int) -> None:
        model, names = bends.model, bends.names
        roles = [f"{part}_{side}" for part in LIMBS[end]]
        self.bends, self.end, self.side = bends, end, side
        self.lower, self.own = (model.fk(model.rest, names[roles[k]])[:3, :3] for k in (1, which))
        start = find_bone_start(model, names, roles[which])
        self.along = place_of(model, names[roles[which + 1]]) - place_of(model, start)

    def lay_axes(self) -> Floats | None:
        """Return the axes of the bone in its frame, from its direction and bend axis; None if unknown."""
        bend = self.bends.find_axis(self.end, self.side)
        return None if bend is None else lay_axes(self.own, self.lower @ bend, self.along)


def group_joints(joints: list[Joint]) -> Iterator[JointGroup]:
    """Group joints by the order of their angles: the order, its axes, the joints' indices, and their columns in q."""
    orders = ["" if joint.quaternion else joint.order for joint in joints]
    for order in dict.fromkeys(orders):
        which = [i for i, each in enumerate(orders) if each == order]
        ends = [joints[i].q.stop for i in which]
        columns = [list(range(end - (3 if order else 4), end)) for end in ends]
        yield (
            order,
            read_order(order) if order else None,
            np.array(which, dtype=np.int64),
            np.array(columns, dtype=np.int64),
        )


def find_free(model: Model, root: Root | None) -> dict[str, Joint]:
    """Return the joints with three rotation axes, by the frame that they move, excluding the root."""
    carried = set() if root is None else {root.slide.name, root.turn.name}
    return {
        joint.frame: joint
        for joint in model.joints
        if joint.nv == 3 and joint.kind in TURNS_FREELY and not joint.mimic and joint.name not in carried
    }


def list_clavicles(carrying: CarryOver) -> Iterator[TurnedPart]:
    """List the clavicles with their rotations."""
    for side in "lr":
        theirs = lay_clavicle(carrying.source, carrying.theirs, side)
        ours = lay_clavicle(carrying.model, carrying.ours, side)
        role = f"clavicle_{side}"
        if theirs is not None and ours is not None and role in carrying.parts:
            yield TurnedPart(carrying.ours[role], source=carrying.at[carrying.theirs[role]], turn=theirs @ ours.T)


def lay_clavicle(model: Model, names: Names[str, str], side: str) -> Floats | None:
    """Return the axes of a clavicle in its frame, from its direction and the chest's forward axis; None if unknown."""
    axes = find_axes(model, names, "chest")
    if axes is None or f"clavicle_{side}" not in names or f"shoulder_{side}" not in names:
        return None
    ahead = model.fk(model.rest, names["chest"])[:3, :3] @ axes[:, 2]
    frame = names[f"clavicle_{side}"]
    along = place_of(model, names[f"shoulder_{side}"]) - place_of(model, frame)
    return lay_axes(model.fk(model.rest, frame)[:3, :3], ahead, along)
