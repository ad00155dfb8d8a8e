"""Animals on four legs whose bones have the names of a person's: arms that stand are fore legs.

Recordings of dogs and horses are often named LeftArm, LeftForeArm and LeftHand, and their rest pose may show nothing
(all bones along x). Such a body is a quadruped if its fore limbs are about as long as its hind limbs, and in a pose of
its file the trunk is level above four limbs that reach the ground.
"""

import numpy as np

from poise.anatomy.bone_names.matcher import RoleReport
from poise.anatomy.parts import Body, list_parts
from poise.anatomy.report import Role
from poise.arrays import Floats
from poise.model import Model

__all__ = ["read_named_quadruped"]

HIND = {part: part for part in ("hip", "knee", "ankle", "foot", "ball", "toe")}
FORE = {"clavicle": "clavicle", "shoulder": "hip", "elbow": "knee", "wrist": "ankle", "hand": "foot"}
LEGS = {"f": ("shoulder", "elbow", "wrist"), "h": ("hip", "knee", "ankle")}
LEAST_FORE_SHARE = 0.75  # length of the fore limbs relative to the hind limbs; arms of people have 0.65 of their legs
LEVEL_COSINE = 0.5  # between a level trunk and up
SAME_GROUND = 0.3  # relative to a limb's length: largest height of a foot on the ground above the lowest
LEAST_RISE = 0.45  # relative to a limb's length: least height of its start above its end


def read_named_quadruped(
    model: Model, names: RoleReport, frames: Floats | None
) -> tuple[list[Role], Body, Floats] | None:
    """Return the roles of a quadruped with a person's names, its parts while it stands, and its facing; None otherwise.

    Args:
        model: The body.
        names: Its roles by bone names.
        frames: Frames of a clip in addition to the poses of the model, (frames, nq).
    """
    roles = names.roles
    limbs = {f"{end}{side}": [roles.get(f"{part}_{side}") for part in LEGS[end]] for end in LEGS for side in "lr"}
    if any(frame is None for limb in limbs.values() for frame in limb):
        return None
    at = {name: i for i, name in enumerate(model.frames)}
    chains = {side: [at[str(frame)] for frame in limb] for side, limb in limbs.items()}
    rest = model.fk(model.rest)[:, :3, 3]
    bones = {side: np.linalg.norm(np.diff(rest[chain], axis=0), axis=1).sum() for side, chain in chains.items()}
    if min(bones.values()) <= 0.0 or bones["fl"] + bones["fr"] < LEAST_FORE_SHARE * (bones["hl"] + bones["hr"]):
        return None
    poses = list_poses(model, frames)
    best = find_stance(model, poses, chains, bones)
    if best is None:
        return None
    body = list_parts(model, poses[best], model.up_direction)
    ahead = sum(
        sign * body.places[str(limbs[side][0])][:3, 3] for side, sign in (("fl", 1), ("fr", 1), ("hl", -1), ("hr", -1))
    )
    ahead = ahead - (ahead @ body.up) * body.up
    return rename(names, body), body, ahead / max(float(np.linalg.norm(ahead)), 1e-12)


def list_poses(model: Model, frames: Floats | None) -> Floats:
    """List the poses that may show the stance: the rest pose, named poses, and frames of clips."""
    given = [model.rest[None], *(np.asarray(q)[None] for q in model.poses.values())]
    given += [] if model.example_poses is None else [model.example_poses[::2]]
    given += [] if frames is None else [frames[:: max(1, len(frames) // 50)]]
    return np.concatenate(given)


def find_stance(model: Model, poses: Floats, chains: dict[str, list[int]], bones: dict[str, float]) -> int | None:
    """Return the pose in which a body stands highest on four limbs, with a level trunk; None without one."""
    up, places = model.up_direction, model.fk(poses)[:, :, :3, 3]
    heights = places @ up
    below = {side: list_carried(model, chain[-1]) for side, chain in chains.items()}
    lows = np.stack([heights[:, below[side]].min(axis=1) for side in chains])
    long = np.array([bones[side] for side in chains])[:, None]
    rises = (np.stack([heights[:, chain[0]] for chain in chains.values()]) - lows) / long
    starts = {side: places[:, chain[0]] for side, chain in chains.items()}
    trunk = starts["fl"] + starts["fr"] - starts["hl"] - starts["hr"]
    level = np.abs(trunk @ up) < LEVEL_COSINE * np.linalg.norm(trunk, axis=1)
    apart = np.ptp(lows, axis=0) / long.min()
    stands = level & (apart < SAME_GROUND) & (rises.min(axis=0) > LEAST_RISE)
    score = np.where(stands, rises.min(axis=0) - apart, -np.inf)
    return int(np.argmax(score)) if stands.any() else None


def list_carried(model: Model, frame: int) -> list[int]:
    """List the indices of a frame and its descendants."""
    name = model.frames[frame]
    return [i for i, each in enumerate(model.frames) if name in (each, *model.ancestors(each))]


def rename(names: RoleReport, body: Body) -> list[Role]:
    """Return the roles with those of arms and legs as those of four legs; the toe is the end of a limb."""
    out, found = list[Role](), names.roles
    for match in names.matches:
        part, _, side = match.role.rpartition("_")
        if side not in ("l", "r"):
            out.append(Role(match.role, match.frame, match.confidence, f"name: {match.why}"))
        elif part in HIND or part in FORE:
            role = f"{HIND[part]}_h{side}" if part in HIND else f"{FORE[part]}_f{side}"
            out.append(Role(role, match.frame, match.confidence, "name, and it stands on four legs"))
    have = {role.role for role in out}
    for end, last in (("f", "wrist"), ("h", "ankle")):
        for side in "lr":
            own = next(part for part in body.parts if found[f"{last}_{side}"] in part.frames)
            tips = [name for k in body.list_below(own.index) for name in body.parts[k].frames]
            tip = min(tips, key=lambda name: body.height(body.places[name][:3, 3]))
            if f"toe_{end}{side}" not in have and tip != found[f"{last}_{side}"]:
                out.append(Role(f"toe_{end}{side}", tip, 0.7, "the end of the leg"))
    return out
