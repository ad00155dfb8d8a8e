"""The limbs that move out of collisions, and the pairs of parts that they move."""

from collections.abc import Collection

import numpy as np

from poise.limits.convex_parts import ConvexParts
from poise.motion.retargeting.bones import find_limb_start
from poise.motion.retargeting.correspondence import CarryOver

__all__ = ["list_arm_joints", "list_arms", "list_legs", "list_movable"]


def list_arms(carrying: CarryOver) -> list[str]:
    """List the joints of both arms and the neck that may move, without those of fingers; empty without arms."""
    model, names = carrying.model, carrying.ours
    wrists, arms = {names.get(f"wrist_{side}") for side in "lr"}, list_arm_joints(carrying)
    out = [name for name in arms if wrists.isdisjoint(model.ancestors(model.joint(name).frame)[1:])]
    if out and "head" in names and "chest" in names:
        trunk = {joint.name for joint in model.joints_above(names["chest"])}
        neck = [joint for joint in model.joints_above(names["head"]) if joint.nv and joint.name not in trunk]
        out += [joint.name for joint in neck if carrying.may_move(joint.name, joint.frame)]
    return out


def list_arm_joints(carrying: CarryOver) -> list[str]:
    """List the joints of both arms that may move."""
    own = {name for limb in list_limbs(carrying, "shoulder", "chest", "pelvis") for name in limb}
    return [joint.name for joint in carrying.model.joints if joint.name in own]


def list_legs(carrying: CarryOver) -> list[list[str]]:
    """List the joints of each leg that may move."""
    return list_limbs(carrying, "hip", "pelvis")


def list_limbs(carrying: CarryOver, part: str, *trunk: str) -> list[list[str]]:
    """List the joints of the left and right limb from a part on that may move; `trunk` are the parts it hangs on."""
    model, names = carrying.model, carrying.ours
    hubs, firsts = [names[hub] for hub in trunk if hub in names], [names.get(f"{part}_{side}") for side in "lr"]
    tops = [find_limb_start(model, hubs[0], first) for first in firsts if first is not None]
    moving = [joint for joint in model.joints if joint.nv and carrying.may_move(joint.name, joint.frame)]
    return [[joint.name for joint in moving if top in model.ancestors(joint.frame)] for top in tops]


def list_movable(parts: ConvexParts, joints: Collection[str], without: Collection[str] = ()) -> ConvexParts:
    """Return the pairs of parts that some joints move relative to each other, grouped by the limbs that they move.

    Parts that the joints of `without` move are left out.
    """
    model = parts.model
    above = [[joint.name for joint in model.joints_above(solid.frame)] for solid in parts.solids]
    lost = [not set(each).isdisjoint(without) for each in above]
    moving = [joint.name for joint in model.joints if joint.name in set(joints)]
    own = [[name for name in moving if name in each] for each in above]
    kept = [k for k, (i, j) in enumerate(parts.pairs) if own[i] != own[j] and not (lost[i] or lost[j])]
    limbs = [tuple(sorted(" ".join(own[i][:1]) for i in parts.pairs[k])) for k in kept]
    known = list(dict.fromkeys(limbs))
    groups = np.array([known.index(each) for each in limbs], dtype=np.intp)
    return ConvexParts(model, parts.solids, parts.pairs[np.array(kept, dtype=np.intp)], groups)
