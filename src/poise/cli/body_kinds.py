"""The kind and size of a body, for `poise info`: "a person, 1.5 m", "an arm of 6 joints, reach 1.35 m"."""

import numpy as np

import poise
from poise.goals import Reach
from poise.kinematics import Motion
from poise.limits.convex_parts import find_convex_parts
from poise.model import Model

__all__ = ["describe_kind"]

FEWEST_IN_ARM = 2  # joints that every end of an arm, such as its fingers, shares
PHALANGES, FINGERS = 3, range(3, 6)  # joints of a finger at least, and fingers of a hand
LEGGED = {"quadruped": "a body with four legs", "many legs": "a body with more than four legs"}


def describe_kind(model: Model, motion: Motion | None) -> str:
    """Return the kind of a body with its height or reach, by its roles, or by the chains of its joints."""
    found = poise.roles(model)
    limbs = {role.rsplit("_", 1)[0] for role in found}
    if found.kind in LEGGED:
        return f"{LEGGED[found.kind]}, {measure_height(model, motion):.2g} m"
    if "knee" in limbs:
        both = "a humanoid robot" if model.shapes else "a person"
        return f"{both if 'elbow' in limbs else 'a body with two legs'}, {measure_height(model, motion):.2g} m"
    if "elbow" in limbs:
        return "a body with two arms"
    return describe_chains(model)


def describe_chains(model: Model) -> str:
    """Describe a body without limbs: a hand, or an arm, if its joints are a chain that may end in fingers."""
    moving = [joint.name for joint in model.joints if joint.nv and joint.kind != "free"]
    if not moving:
        return "a rigid body"
    chains = [list_moving(model, frame) for frame in model.frames]
    inner = {name for chain in chains for name in chain[:-1]}
    ends = [chain for chain in chains if chain and chain[-1] not in inner]
    shared = min(count_common(ends[0], chain) for chain in ends)
    fingers = {chain[shared] for chain in ends if len(chain) >= shared + PHALANGES}
    if shared <= FEWEST_IN_ARM and len(fingers) == len({chain[-1] for chain in ends}) in FINGERS:
        return f"a hand of {len(fingers)} fingers"
    if shared < FEWEST_IN_ARM:
        return f"a mechanism of {len(moving)} moving joint{'s' * (len(moving) != 1)}"
    gripper = len(moving) - shared
    tool = f" with {gripper} more in its gripper" if gripper else ""
    return f"an arm of {shared} joints{tool}{say_reach(model, shared)}"


def list_moving(model: Model, frame: str) -> list[str]:
    """List the joints above a frame that move by themselves, root first."""
    return [j.name for j in reversed(model.joints_above(frame)) if (j.nv or j.mimic) and j.kind != "free"]


def count_common(one: list[str], other: list[str]) -> int:
    """Return the number of joints with which both chains begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))


def say_reach(model: Model, joints: int) -> str:
    """Return the largest distance of an arm's last frame from its first joint; "" if it is not bounded."""
    end = next(frame for frame in reversed(model.frames) if len(list_moving(model, frame)) == joints)
    far = 1e3 * max(model.length, 1.0) * np.eye(3)[0]
    proof = poise.solve(model, Reach(end, far), max_steps=1, restarts=0).proof
    return "" if proof is None else f", reach {proof.farthest * model.metres_per_unit:.3g} m"


def measure_height(model: Model, motion: Motion | None) -> float:
    """Return the largest height of a body at rest and in its motion [m], with the hulls of its shapes."""
    q = model.rest[None]
    if motion is not None:
        q = np.concatenate([q, motion.q[:: max(1, len(motion) // 100)]])
    world, solids = model.fk(q), find_convex_parts(model)
    points = [world[:, :, :3, 3]]
    for solid in solids.solids if solids is not None else ():
        T = world[:, model.frames.index(solid.frame)]
        points.append(np.einsum("fij,nj->fni", T[:, :3, :3], solid.points) + T[:, None, :3, 3])
    heights = np.concatenate(points, axis=1) @ model.up_direction
    return float(np.ptp(heights, axis=1).max()) * model.metres_per_unit
