"""Where to begin: joints that turn in all directions take the turns of the source's parts at once.

Bones are laid along the source's and turned about themselves by the axes about which limbs bend. What has hinges begins
in the rest pose. The solve begins there, and is told from there.
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
from poise.kinematics.samples import TURNS_FREELY, name_angles
from poise.model import Joint, Model
from poise.motion.retargeting.bends import ALONG, LIMBS, Bends
from poise.motion.retargeting.bones import cross, find_axes, find_bone_start, make_axes, place_of
from poise.spatial import Rotation

if TYPE_CHECKING:
    from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["Guides", "find_free"]

ROOT, WORLD = -2, -1  # what carries a joint where no turned part does
OF_GOALS = {"chest": "chest", "head": "head", "hand": "wrist_{}", "foot": "foot_{}"}


@dataclass(frozen=True, eq=False)
class Wanted:
    """How one part of the target is to be turned: as a goal's target says, or as a part of the source with a turn."""

    frame: str
    goal: int | None = None
    source: int = 0
    turn: Floats | None = None


class Guides:
    """Poses to begin with: the target stands where the source is, turned as it is, its free joints turned with it."""

    def __init__(self, carrying: CarryOver) -> None:
        self.carrying, self.model, self.free = carrying, carrying.model, carrying.free
        rest = self.model.fk(self.model.rest)
        self.rest = {name: rest[i, :3, :3] for i, name in enumerate(self.model.frames)}
        self.order = {name: i for i, name in enumerate(self.model.frames)}
        bends = carrying.bends, carrying.own_bends
        self.bones = {
            (end, side, which): tuple(Bone(each, end, side, which) for each in bends)
            for end, side in carrying.own_bends.known
            for which in (0, 1)
            if (end, side) in carrying.bends.place and f"{LIMBS[end][which]}_{side}" in carrying.parts
        }
        self.clavicles = list(list_clavicles(carrying))
        self.age = -1

    def lead(self, T: Floats, targets: Floats, near: Floats | None = None) -> Floats:
        """Return configurations (frames, nq), with Euler angles in the branch of `near`, else of the rest pose."""
        q = np.tile(self.model.rest if near is None else near, (len(targets), 1))
        turns = self.carrying.place(q, targets)
        if not self.free:
            return q
        self._refresh()
        if self.joints:
            self._turn_joints(q, T, targets, turns)
        if len(q) > 1:
            q = follow_branches(self.model, q)
        return self.model.clamp(q)

    def _turn_joints(self, q: Floats, T: Floats, targets: Floats, root: Floats | None) -> None:
        turned = np.empty((len(q), len(self.joints) + 2, 3, 3))
        turned[:, WORLD] = np.eye(3)
        turned[:, ROOT] = np.eye(3) if root is None else root
        turned[:, self.by_goal] = targets[:, self.goals, :9].reshape(len(q), -1, 3, 3)
        turned[:, self.by_source] = T[:, self.sources, :3, :3] @ self.turns
        own = Rotation.from_matrix(np.swapaxes(turned[:, self.above] @ self.between, 2, 3) @ turned[:, :ROOT])
        for order, which, columns in self.groups:
            each = own[:, which]
            q[:, columns] = name_angles(each, order, q[:, columns]) if order else each.wxyz

    def _refresh(self) -> None:
        """Find which joints are turned, by what, and from where, as far as it is known how limbs bend."""
        self.carrying.aims.refresh()
        if self.age == self.carrying.bends.age:
            return
        self.age = self.carrying.bends.age
        wanted = {each.frame: each for each in self._list_wanted() if each.frame in self.free}
        frames = sorted(wanted, key=lambda name: self.order[name])
        self.joints: list[Joint] = [self.free[frame] for frame in frames]
        asked = [wanted[frame] for frame in frames]
        goals = [i for i, each in enumerate(asked) if each.goal is not None]
        sources = [i for i, each in enumerate(asked) if each.goal is None]
        self.by_goal, self.by_source = np.array(goals, dtype=np.int64), np.array(sources, dtype=np.int64)
        self.goals = np.array([asked[i].goal for i in goals], dtype=np.int64)
        self.sources = np.array([asked[i].source for i in sources], dtype=np.int64)
        self.turns = np.array([asked[i].turn for i in sources]).reshape(-1, 3, 3)
        found = [self._find_above(joint, frames) for joint in self.joints]
        self.above = np.array([at for at, _ in found], dtype=np.int64)
        self.between = np.array([turn for _, turn in found]).reshape(-1, 3, 3)
        self.groups = list(self._group())

    def _find_above(self, joint: Joint, frames: list[str]) -> tuple[int, Floats]:
        """Return which turned part carries a joint, or ROOT or WORLD, and how its base lies on that."""
        offset = joint.offset.matrix[:3, :3]
        if joint.parent is None:
            return WORLD, offset
        base = self.rest[joint.parent] @ offset
        root = self.carrying.root
        for each in self.model.joints_above(joint.parent):
            if each.frame in frames:
                return frames.index(each.frame), self.rest[each.frame].T @ base
            if root is not None and self.carrying.moves and each.frame == root.frame:
                return ROOT, self.rest[each.frame].T @ base
        return WORLD, base

    def _group(self) -> Iterator[tuple[str, Ints, Ints]]:
        """List joints with the same numbers: the order of their angles, which joints they are, and where in q."""
        orders = ["" if joint.quaternion else joint.order for joint in self.joints]
        for order in dict.fromkeys(orders):
            which = [i for i, each in enumerate(orders) if each == order]
            columns = [list(range(self.joints[i].q.start, self.joints[i].q.stop)) for i in which]
            yield order, np.array(which, dtype=np.int64), np.array(columns, dtype=np.int64)

    def _list_wanted(self) -> Iterator[Wanted]:
        """List parts with how they are to be turned; what comes later counts."""
        carrying = self.carrying
        for i, (_, kind, how) in enumerate(carrying.asked):
            if kind in OF_GOALS and carrying.aims.weights[i] > 0.0:
                yield Wanted(carrying.ours[OF_GOALS[kind].format(how)], goal=i)
        yield from self.clavicles
        for (end, side, which), (theirs, ours) in self.bones.items():
            axes = theirs.lay_axes(), ours.lay_axes()
            role = f"{LIMBS[end][which]}_{side}"
            if axes[0] is not None and axes[1] is not None:
                source = carrying.at[carrying.theirs[role]]
                yield Wanted(carrying.ours[role], source=source, turn=axes[0] @ axes[1].T)


class Bone:
    """The upper (0) or lower (1) bone of a limb in the rest pose."""

    def __init__(self, bends: Bends, end: str, side: str, which: int) -> None:
        model, names = bends.model, bends.names
        roles = [f"{part}_{side}" for part in LIMBS[end]]
        self.bends, self.end, self.side = bends, end, side
        self.lower, self.own = (model.fk(model.rest, names[roles[k]])[:3, :3] for k in (1, which))
        start = find_bone_start(model, names, roles[which])
        self.along = place_of(model, names[roles[which + 1]]) - place_of(model, start)
        self.length = float(np.linalg.norm(self.along))

    def lay_axes(self) -> Floats | None:
        """Return its axes in its frame: along it, and about what its limb bends; None where nothing tells."""
        bend = self.bends.tell(self.end, self.side)
        if bend is None or self.length <= 0.0:
            return None
        axis = self.lower @ bend
        if np.linalg.norm(cross(self.along / self.length, axis)) < ALONG * np.linalg.norm(axis):
            return None
        return np.array(self.own.T @ make_axes(axis, self.along))


def find_free(model: Model, root: Root | None) -> dict[str, Joint]:
    """Return the joints that turn in all directions by the frame that they carry, without the root's."""
    carried = set() if root is None else {root.slide.name, root.turn.name}
    return {
        joint.frame: joint
        for joint in model.joints
        if joint.nv == 3 and joint.kind in TURNS_FREELY and not joint.mimic and joint.name not in carried
    }


def list_clavicles(carrying: CarryOver) -> Iterator[Wanted]:
    """List how clavicles are turned."""
    for side in "lr":
        theirs = lay_clavicle(carrying.source, carrying.theirs, side)
        ours = lay_clavicle(carrying.model, carrying.ours, side)
        role = f"clavicle_{side}"
        if theirs is not None and ours is not None and role in carrying.parts:
            yield Wanted(carrying.ours[role], source=carrying.at[carrying.theirs[role]], turn=theirs @ ours.T)


def lay_clavicle(model: Model, names: Names[str, str], side: str) -> Floats | None:
    """Return the axes of a clavicle in its frame: along it, and ahead as the chest has it."""
    axes = find_axes(model, names, "chest")
    if axes is None or f"clavicle_{side}" not in names or f"shoulder_{side}" not in names:
        return None
    ahead = model.fk(model.rest, names["chest"])[:3, :3] @ axes[:, 2]
    frame = names[f"clavicle_{side}"]
    along = place_of(model, names[f"shoulder_{side}"]) - place_of(model, frame)
    length = float(np.linalg.norm(along))
    if length <= 0.0 or np.linalg.norm(cross(along / length, ahead)) < ALONG:
        return None
    return np.array(model.fk(model.rest, frame)[:3, :3].T @ make_axes(ahead, along))
