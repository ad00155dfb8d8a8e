"""The parts of a body that may touch each other: a centre line, and the solids around it.

Parts are named by roles, so that those of two bodies correspond. Parts with collision shapes have their convex hulls.
Other parts, and all of a bare skeleton such as a BVH recording, are capsules with the thickness of a person of its
size.
"""

from collections.abc import Mapping as Names
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.limits.convex_parts import ConvexParts, find_solids
from poise.limits.support_points import SupportPoints
from poise.model import Model
from poise.model.memo import keep_with_model
from poise.motion.retargeting.bones import find_axes, find_bone_start, place_of
from poise.motion.retargeting.trunks import find_head_axes

__all__ = ["Solids", "TouchPart", "find_parts", "pair_solids", "place_line"]

# radii of a person of 1.75 m [m]
FLESH = {"hand": 0.03, "forearm": 0.035, "upper_arm": 0.045, "thigh": 0.075, "shin": 0.055, "head": 0.09, "trunk": 0.1}
HAND_M, HEAD_M = 0.07, 0.09  # from the wrist to the palm, and from the base of the skull to the middle of the head
TRUNK_WIDTHS = {"pelvis": ((0.0, 0.07), (0.3, 0.05)), "chest": ((0.5, 0.05), (0.8, 0.06))}  # height share, half width
WAIST_SHARE = 0.4  # of the height from hips to shoulders: the pelvis ends and the chest begins
ABOVE_SHOULDERS_M = 0.03  # solids of a chest that begin higher are its head
OWNERS = {
    **{"wrist": "hand", "hand": "hand", "elbow": "forearm", "shoulder": "upper_arm", "clavicle": "chest"},
    **{"hip": "thigh", "knee": "shin", "ankle": "foot", "foot": "foot", "ball": "foot", "toe": "foot"},
    **{"pelvis": "pelvis", "spine": "pelvis", "chest": "chest", "neck": "head", "head": "head"},
}
LIMBS = {"forearm": ("elbow", "wrist"), "upper_arm": ("shoulder", "elbow"), "thigh": ("hip", "knee")}
LIMBS |= {"shin": ("knee", "ankle")}
WHOLES = ("pelvis", "chest"), ("thigh", "shin"), ("upper_arm", "forearm")
Solids = tuple[SupportPoints, ...]


@dataclass(frozen=True, eq=False)
class TouchPart:
    """A part of a body that others may touch.

    Attributes:
        frame: The frame that carries its line.
        line: Both ends of its centre line in that frame, (2, 3) [m]; a hand is a point.
        solids: Its shape.
        around: Its shape and that of the part next to it: chest and pelvis are one trunk, and a hand on a knee touches
            the leg.
    """

    frame: str
    line: Floats
    solids: Solids
    around: Solids


def find_parts(model: Model, names: Names[str, str], size: float) -> dict[str, TouchPart]:
    """Return the parts of a body that may touch each other, by name: "hand_l", "head", "thigh_r".

    Args:
        model: The body.
        names: Its frames by role.
        size: Its size relative to a person of 1.75 m.
    """
    return read_parts(model, tuple(sorted(names.items())), size)


@keep_with_model
def read_parts(model: Model, roles: tuple[tuple[str, str], ...], size: float) -> dict[str, TouchPart]:
    """Return the parts of `find_parts`, kept with the model; `roles` are pairs of roles and frames."""
    names = dict(roles)
    lines = find_lines(model, names, size)
    own: dict[str, list[SupportPoints]] = {}
    axes = None if "head" in lines or "chest" not in lines else find_axes(model, names, "chest")
    for solid in (solid for solid in find_solids(model) if solid.solid):
        part = find_owner(model, names, solid.frame)
        if part == "chest" and axes is not None and solid.frame == names["chest"]:
            low = float((solid.points @ axes[:, 1]).min())
            part = "head" if low > lines["chest"][1][1] @ axes[:, 1] + ABOVE_SHOULDERS_M * size else part
        own.setdefault(part, []).append(solid)
    known = join_lines(model, names, lines, own)
    own |= {part: flesh(model, names, part, lines, size) for part in lines if part not in own}
    return known | {part: make_part(part, *lines[part], own) for part in lines if part not in known}


def join_lines(
    model: Model, names: Names[str, str], lines: dict[str, tuple[str, Floats]], own: Names[str, list[SupportPoints]]
) -> dict[str, TouchPart]:
    """Return the parts that have shapes; those of heads and hands determine their lines."""
    out = {}
    for part, solids in own.items():
        frame, line = lines.get(part, (names.get("chest", ""), None))
        if part == "head" or part.startswith("hand"):
            frame = solids[0].frame if line is None else frame
            center = find_center(model, frame, solids)
            line = np.array([center, center])
        if line is not None:
            out[part] = make_part(part, frame, line, own)
    return out


def find_center(model: Model, frame: str, solids: Sequence[SupportPoints]) -> Floats:
    """Return the middle of some solids at rest in a frame, (3,) [m]: of their boxes, by volume."""
    T, middles, volumes = np.linalg.inv(model.fk(model.rest, frame)), [], []
    for solid in solids:
        low = (solid.points - solid.radius[:, None]).min(axis=0)
        high = (solid.points + solid.radius[:, None]).max(axis=0)
        middles.append((T @ model.fk(model.rest, solid.frame) @ (*(0.5 * (low + high)), 1.0))[:3])
        volumes.append(float(np.prod(high - low)))
    return np.array(np.average(middles, axis=0, weights=volumes if sum(volumes) > 0.0 else None))


def make_part(name: str, frame: str, line: Floats, own: Names[str, list[SupportPoints]]) -> TouchPart:
    """Return a part with its solids."""
    kind, side = (name[:-2], name[-2:]) if name.endswith(("_l", "_r")) else (name, "")
    near = next((wholes for wholes in WHOLES if kind in wholes), (kind,))
    around = tuple(solid for each in near for solid in own.get(each + side, ()))
    return TouchPart(frame, line, tuple(own[name]), around)


def find_lines(model: Model, names: Names[str, str], size: float) -> dict[str, tuple[str, Floats]]:
    """Return the frames and centre lines of all parts in their frames, (2, 3) [m]."""
    out = dict[str, tuple[str, Floats]]()

    def add(part: str, frame: str, *ends: Floats) -> None:
        T = model.fk(model.rest, frame)
        out[part] = frame, (np.array(ends) - T[:3, 3]) @ T[:3, :3]

    starts = {
        role: place_of(model, find_bone_start(model, names, role))
        for role in (
            f"{part}_{side}" for part in ("hip", "knee", "shoulder", "elbow", "wrist", "ankle") for side in "lr"
        )
        if role in names
    }
    for part, (root, end) in LIMBS.items():
        for side in "lr":
            if f"{root}_{side}" in starts and f"{end}_{side}" in starts:
                add(f"{part}_{side}", names[f"{root}_{side}"], starts[f"{root}_{side}"], starts[f"{end}_{side}"])
    for side in "lr":
        if f"elbow_{side}" in starts and f"wrist_{side}" in starts:
            wrist = starts[f"wrist_{side}"]
            along = wrist - starts[f"elbow_{side}"]
            palm = wrist + HAND_M * size * along / max(float(np.linalg.norm(along)), 1e-12)
            add(f"hand_{side}", names[f"wrist_{side}"], palm, palm)
    ends = [[starts.get(f"{part}_{side}") for side in "lr"] for part in ("hip", "shoulder")]
    if all(each is not None for pair in ends for each in pair) and "chest" in names:
        low, top = (0.5 * (pair[0] + pair[1]) for pair in ends)  # type: ignore[operator]
        waist = low + WAIST_SHARE * (top - low)
        add("pelvis", names["pelvis"], low, waist)
        add("chest", names["chest"], waist, top)
    axes = find_head_axes(model, names)
    if axes is not None:
        T = model.fk(model.rest, names["head"])
        add("head", names["head"], *2 * [T[:3, 3] + HEAD_M * size * T[:3, :3] @ axes[:, 1]])
    return out


def flesh(
    model: Model, names: Names[str, str], part: str, lines: Names[str, tuple[str, Floats]], size: float
) -> list[SupportPoints]:
    """Return the capsules of a person around the centre line of a part."""
    frame, line = lines[part]
    if part not in TRUNK_WIDTHS:
        return [make_capsule(frame, line, size * FLESH[part.removesuffix("_l").removesuffix("_r")])]
    axes = find_axes(model, names, part)
    left = np.array([1.0, 0.0, 0.0]) if axes is None else axes[:, 0]
    first, last = (0.0, WAIST_SHARE) if part == "pelvis" else (WAIST_SHARE, 1.0)
    out = []
    for share, half in TRUNK_WIDTHS[part]:
        middle = line[0] + (share - first) / (last - first) * (line[1] - line[0])
        aside = half * size * left
        out.append(make_capsule(frame, np.array([middle - aside, middle + aside]), size * FLESH["trunk"]))
    return out


def make_capsule(frame: str, ends: Floats, radius: float) -> SupportPoints:
    """Return a capsule between two points of a frame."""
    return SupportPoints(frame, ends, np.full(2, radius), solid=False)


def find_owner(model: Model, names: Names[str, str], frame: str) -> str:
    """Return the part that a frame belongs to, by its closest ancestor with a role; empty if there is none."""
    roles = {name: role for role, name in names.items() if role.split("_")[0] in OWNERS}
    for root in ("hip_l", "hip_r", "shoulder_l", "shoulder_r"):  # the first links of a limb belong to it
        for each in model.ancestors(names[root])[1:] if root in names else ():
            if each in roles:
                break
            roles[each] = root
    for each in (frame, *model.ancestors(frame)):
        if each in roles:
            kind, side = roles[each].split("_")[0], roles[each][-2:]
            owner = OWNERS[kind]
            return owner + side if owner in (*LIMBS, "hand", "foot") else owner
    return ""


def place_line(part: TouchPart, T: Floats) -> Floats:
    """Return the ends of a part's line in the world, (frames, 2, 3), for transforms of its frame (frames, 4, 4)."""
    ends: Floats = part.line @ np.swapaxes(T[:, :3, :3], 1, 2) + T[:, None, :3, 3]
    return ends


def pair_solids(model: Model, sides: Sequence[tuple[Solids, Solids]]) -> ConvexParts:
    """Return pairs of solids, one from each side; those of the same two sides have one group."""
    every = list(dict.fromkeys(solid for two in sides for side in two for solid in side))
    at = {solid: i for i, solid in enumerate(every)}
    rows = [(at[a], at[b], k) for k, (one, other) in enumerate(sides) for a in one for b in other]
    table = np.array(rows, dtype=np.intp).reshape(-1, 3)
    return ConvexParts(model, tuple(every), table[:, :2], table[:, 2])
