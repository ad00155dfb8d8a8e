"""The shape of an arm without meshes: a barrel along the axis of each joint, and tubes between the axes.

A link meets the axes of its two joints at the ends of their common normal, wherever the origins of its file are.
Parallel axes have many normals: that at the height of the link's centre of mass is taken, since the upper arm of a UR
is to the side of its shoulder. A barrel connects the links before and after its joint: a hinge is a short drum with
lids, and a joint that twists a limb is the limb itself, with a seam. Radii decrease from base to tool.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from poise.arrays import Floats
from poise.kinematics.parts import find_rigid_parts
from poise.kinematics.seen_shapes import list_seen
from poise.limits.skeleton import make_skeleton_capsules
from poise.model import Joint, Model
from poise.model.memo import keep_with_model
from poise.model.plane import is_planar
from poise.pictures.body.surface import Solid, make_capsule, make_cylinder

__all__ = ["is_chain", "shape_arm"]

MOST_JOINTS = 10  # a snake has more
THICK, THIN = 1.15, 0.75  # radius of the first and the last barrel, relative to the median of all bones
PARALLEL = 0.2  # sine of the angle between axes, below which they count as parallel
MOST_DETOUR = 1.8  # by a common normal, relative to the way between two joints; of right angles at most sqrt(3)
DARK = (0.38, 0.43, 0.48)
# relative to the radius of a barrel:
TUBE, TOOL, BASE = 0.86, 0.45, 1.5  # radius of a tube, a tool and the base
LID, SEAM, BEVEL = 0.16, 0.12, 0.25  # length of a lid, half length of a seam, radius of an edge
POINT, LIMB = 0.5, 4.0  # shorter stretches are a point, longer ones a limb

Link = tuple[Floats, Floats]  # the ends on the axes before and after it, in the world [m]


def is_chain(model: Model) -> bool:
    """Return whether every part carries at most one joint."""
    parts = find_rigid_parts(model)
    carried = [parts[joint.parent] for joint in model.joints if joint.kind != "fixed"]
    return len(carried) == len(set(carried))


@keep_with_model
def shape_arm(model: Model) -> tuple[Solid, ...]:
    """Return the solids of an arm of a few hinges on a fixed base, outside a plane; none for other bodies."""
    hinges = [joint for joint in model.joints if joint.nv]
    few = 1 < len(hinges) <= MOST_JOINTS and all(joint.kind == "revolute" for joint in hinges)
    if not few or not is_chain(model) or is_planar(model) or list_seen(model):
        return ()
    bones = [capsule.radius for capsule in make_skeleton_capsules(model) if capsule.a != capsule.b]
    if not bones:
        return ()
    radii = (np.median(bones) * np.linspace(THICK, THIN, len(hinges))).tolist()
    links = list_links(model, hinges)
    found: list[Solid] = []
    for k, (joint, r) in enumerate(zip(hinges, radii, strict=True)):
        T, (start, end) = model.fk(model.rest, joint.frame), (links[k][1], links[k + 1][0])
        lids = [has_lid(links, k, side, r) for side in (-1, 1)]
        parts = list(shape_barrel(start, end, T[:3, :3] @ joint.axis, r, lids))
        if k == 0:
            parts.append(make_cylinder(start, start + 0.4 * r * model.up_direction, BASE * r, BEVEL * r, DARK))
        if measure(links[k + 1]) > POINT * r:
            ends = (TUBE * r if lids[1] else r, TUBE * radii[min(k + 1, len(radii) - 1)])
            parts.append(make_capsule(None, *links[k + 1], TOOL * r if joint is hinges[-1] and not lids[1] else ends))
        inverse = np.linalg.inv(T)
        found += [replace(part, frame=joint.frame, T_frame_solid=inverse @ part.T_frame_solid) for part in parts]
    return tuple(found)


def shape_barrel(start: Floats, end: Floats, axis: Floats, r: float, lids: Sequence[bool]) -> Iterator[Solid]:
    """Yield the barrel of a joint between the links before and after it, its lids, and the seam of a long one."""
    long = measure((start, end))
    way = (end - start) / long if long > POINT * r else axis
    ends = [at + sign * r * lid * way for at, sign, lid in zip((start, end), (-1.0, 1.0), lids, strict=True)]
    seam = (ends[0] + ends[1]) / 2
    if long > 1.5 * r:
        yield make_cylinder(seam - SEAM * r * way, seam + SEAM * r * way, 1.03 * r, 0.03 * r, DARK)
        yield make_cylinder(ends[0], seam - SEAM * r * way, r, BEVEL * r)
        yield make_cylinder(seam + SEAM * r * way, ends[1], r, BEVEL * r)
    else:
        yield make_cylinder(ends[0], ends[1], r, BEVEL * r)
    for at, sign, lid in zip(ends, (-1.0, 1.0), lids, strict=True):
        if lid:
            yield make_cylinder(at - 0.1 * r * sign * way, at + LID * r * sign * way, 0.8 * r, 0.1 * r, DARK)


def has_lid(links: Sequence[Link], k: int, side: int, r: float) -> bool:
    """Return whether a barrel reaches over a link at its start (-1) or end (+1), and is closed there by a lid."""
    spans = [measure((before[1], after[0])) / r for before, after in pairwise(links)]
    if k + side < 0:
        return False
    if measure(links[k + (side > 0)]) > POINT * r:
        return spans[k] < (LIMB if k + side < len(spans) else POINT)
    if k + side == len(spans):
        return False
    return spans[k] < POINT or spans[k + side] > POINT  # where axes intersect, limbs end within hinges


def measure(link: Link) -> float:
    """Return the length of a link [m]."""
    return float(np.linalg.norm(link[1] - link[0]))


def list_links(model: Model, hinges: Sequence[Joint]) -> list[Link]:
    """List the links: the base, those between two joints along their common normals, and the tool."""
    world = dict(zip(model.frames, model.fk(model.rest), strict=True))
    places = [world[joint.frame][:3, 3] for joint in hinges]
    axes = [world[joint.frame][:3, :3] @ joint.axis for joint in hinges]
    parts, parent = find_rigid_parts(model), hinges[0].parent
    base = places[0] if parent is None else world[parent][:3, 3]
    links = [(base, places[0] + axes[0] * (axes[0] @ (base - places[0])))]
    for joint, p, q, a, b in zip(hinges, places, places[1:], axes, axes[1:], strict=False):
        across = np.cross(a, b)
        if np.linalg.norm(across) > PARALLEL:
            s, t, _ = np.linalg.solve(np.stack([a, -b, across], axis=1), q - p)
            link = (p + s * a, q + t * b)
        else:
            at = p + a * float(model.frame(joint.frame).center @ np.array(joint.axis))
            link = (at, q + b * (b @ (at - q)))
        detour = measure((p, link[0])) + measure(link) + measure((link[1], q))
        links.append(link if detour < MOST_DETOUR * measure((p, q)) else (p, q))
    own = [world[name][:3, 3] for name in model.frames if parts[name] == hinges[-1].frame]
    tips = sorted(own, key=lambda at: measure((links[-1][1], at)))
    flange = next((at for at in tips if measure((links[-1][1], at)) > 1e-3 * model.length), places[-1])
    links.append((places[-1] + axes[-1] * (axes[-1] @ (flange - places[-1])), tips[-1]))
    return links
