"""Where to begin: joints that turn in all directions take the turns of the source's parts at once.

Bones are laid along the source's and turned about themselves by the axes about which limbs bend. What has hinges begins
in the rest pose. The solve begins there, and is told from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Names
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from poise.kinematics.carrying import Root
from poise.kinematics.editing import follow_branches
from poise.kinematics.samples import TURNS_FREELY, name_angles
from poise.model import Joint, Model
from poise.motion.bends import LIMBS, Bends
from poise.motion.bones import cross, find_axes, find_bone_start, make_axes, place_of
from poise.spatial import Rotation

if TYPE_CHECKING:
    from poise.motion.carry_over import CarryOver

__all__ = ["copy_turns", "find_free"]

Floats = NDArray[np.float64]


def copy_turns(carrying: CarryOver, q: Floats, T: Floats, targets: Floats) -> Floats:
    """Return configurations (frames, nq) whose freely turning joints are turned as the source's parts are."""
    model, free = carrying.model, carrying.free
    if not free:
        return q
    order = {name: i for i, name in enumerate(model.frames)}
    wanted = {carrying.ours[role]: turns for role, turns in list_turns(carrying, T, targets)}
    for frame in sorted(wanted, key=lambda name: order[name]):
        if frame in free:
            turn_joint(carrying, q, free[frame], wanted[frame])
    return model.clamp(follow_branches(model, q))


def find_free(model: Model, root: Root | None) -> dict[str, Joint]:
    """Return the joints that turn in all directions by the frame that they carry, without the root's."""
    carried = set() if root is None else {root.slide.name, root.turn.name}
    return {
        joint.frame: joint
        for joint in model.joints
        if joint.nv == 3 and joint.kind in TURNS_FREELY and not joint.mimic and joint.name not in carried
    }


def turn_joint(carrying: CarryOver, q: Floats, joint: Joint, wanted: Floats) -> None:
    """Turn one joint so that what it carries is turned as wanted."""
    base = np.eye(3) if joint.parent is None else np.array(carrying.model.fk(q, joint.parent))[:, :3, :3]
    own = Rotation.from_matrix(np.swapaxes(base @ joint.offset.matrix[:3, :3], -1, -2) @ wanted)
    q[:, joint.q] = own.wxyz if joint.quaternion else name_angles(own, joint.order, q[:, joint.q])


def list_turns(carrying: CarryOver, T: Floats, targets: Floats) -> Iterator[tuple[str, Floats]]:
    """List roles with how their frames are turned in the target's world, (frames, 3, 3)."""
    for i, (_, kind, how) in enumerate(carrying.asked):
        role = {"chest": "chest", "head": "head", "hand": f"wrist_{how}", "foot": f"foot_{how}"}.get(kind)
        if role is not None and carrying.weights[i] > 0.0:
            yield role, targets[:, i, :9].reshape(-1, 3, 3)
    for side in "lr":
        theirs = lay_clavicle(carrying.source, carrying.theirs, side)
        ours = lay_clavicle(carrying.model, carrying.ours, side)
        role = f"clavicle_{side}"
        if theirs is not None and ours is not None and role in carrying.parts:
            yield role, T[:, carrying.at[carrying.theirs[role]], :3, :3] @ theirs @ ours.T
    for end, side in carrying.own_bends.known:
        for which in (0, 1):
            theirs, ours = lay_bone(carrying.bends, end, side, which), lay_bone(carrying.own_bends, end, side, which)
            role = f"{LIMBS[end][which]}_{side}"
            if theirs is not None and ours is not None and role in carrying.parts:
                yield role, T[:, carrying.at[carrying.theirs[role]], :3, :3] @ theirs @ ours.T


def lay_clavicle(model: Model, names: Names[str, str], side: str) -> Floats | None:
    """Return the axes of a clavicle in its frame: along it, and ahead as the chest has it."""
    axes = find_axes(model, names, "chest")
    if axes is None or f"clavicle_{side}" not in names or f"shoulder_{side}" not in names:
        return None
    ahead = model.fk(model.rest, names["chest"])[:3, :3] @ axes[:, 2]
    frame = names[f"clavicle_{side}"]
    along = place_of(model, names[f"shoulder_{side}"]) - place_of(model, frame)
    length = float(np.linalg.norm(along))
    if length <= 0.0 or np.linalg.norm(cross(along / length, ahead)) < 0.2:
        return None
    return np.array(model.fk(model.rest, frame)[:3, :3].T @ make_axes(ahead, along))


def lay_bone(bends: Bends, end: str, side: str, which: int) -> Floats | None:
    """Return the axes of the upper (0) or lower (1) bone of a limb in its frame: along it, and about what it bends."""
    if (end, side) not in bends.known:
        return None
    bend = bends.tell(end, side)
    if bend is None:
        return None
    model, names = bends.model, bends.names
    roles = [f"{part}_{side}" for part in LIMBS[end]]
    lower, frame = (model.fk(model.rest, names[roles[k]])[:3, :3] for k in (1, which))
    along = place_of(model, names[roles[which + 1]]) - place_of(model, find_bone_start(model, names, roles[which]))
    length, axis = float(np.linalg.norm(along)), lower @ bend
    if length <= 0.0 or np.linalg.norm(cross(along / length, axis)) < 0.2 * np.linalg.norm(axis):
        return None
    return np.array(frame.T @ make_axes(axis, along))
