"""Recordings whose rest pose does not stand, like LAFAN1: every bone is along x of its joint."""

from pathlib import Path

import numpy as np

from poise import Motion
from poise.spatial import Rotation

__all__ = ["write_lying"]

NAMES = {"pelvis": "Hips", "spine_1": "Spine", "chest": "Spine2", "neck": "Neck", "head": "Head"} | {
    f"{role}_{side[0].lower()}": side + name
    for side in ("Left", "Right")
    for role, name in (
        *(("hip", "UpLeg"), ("knee", "Leg"), ("ankle", "Foot"), ("toe", "Toe")),
        *(("shoulder", "Arm"), ("elbow", "ForeArm"), ("wrist", "Hand")),
    )
}
PARENTS = {"spine_1": "pelvis", "chest": "spine_1", "neck": "chest", "head": "neck"} | {
    f"{role}_{side}": above if above in ("pelvis", "chest") else f"{above}_{side}"
    for side in "lr"
    for role, above in (
        *(("hip", "pelvis"), ("knee", "hip"), ("ankle", "knee"), ("toe", "ankle")),
        *(("shoulder", "chest"), ("elbow", "shoulder"), ("wrist", "elbow")),
    )
}
TURNS = "Zrotation Yrotation Xrotation"


def write_lying(path: Path, clip: Motion) -> Path:
    """Write a motion of a body with named parts as BVH: joints rotated like their bones, angles ZYX."""
    at = {role: clip.positions(role.replace("toe", "ball")) for role in NAMES}
    children = {role: [child for child, parent in PARENTS.items() if parent == role] for role in NAMES}
    left = at["hip_l"] - at["hip_r"]
    turns = {role: lay_bone(at, role, children[role], left) for role in NAMES}
    rows: list[np.ndarray] = [100.0 * at["pelvis"]]
    lines = ["HIERARCHY"]

    def write(role: str, depth: int) -> None:
        parent, pad = PARENTS.get(role), " " * depth
        offset = np.zeros(3) if parent is None else turns[parent][0].T @ (at[role][0] - at[parent][0])
        lines.append(f"{pad}{'JOINT' if parent else 'ROOT'} {NAMES[role]}\n{pad}{{")
        lines.append(f"{pad} OFFSET {100.0 * offset[0]:.6f} {100.0 * offset[1]:.6f} {100.0 * offset[2]:.6f}")
        moves = "" if parent else "Xposition Yposition Zposition "
        lines.append(f"{pad} CHANNELS {3 if parent else 6} {moves}{TURNS}")
        own = turns[role] if parent is None else np.swapaxes(turns[parent], 1, 2) @ turns[role]
        rows.append(np.degrees(Rotation.from_matrix(own).to_euler("ZYX")))
        for child in children[role]:
            write(child, depth + 1)
        if not children[role]:
            lines.append(f"{pad} End Site\n{pad} {{\n{pad}  OFFSET 5 0 0\n{pad} }}")
        lines.append(f"{pad}}}")

    write("pelvis", 0)
    lines += ["MOTION", f"Frames: {len(clip)}", f"Frame Time: {1.0 / clip.fps:.8f}"]
    lines += [" ".join(f"{x:.6f}" for x in row) for row in np.concatenate(rows, axis=1)]
    path.write_text("\n".join(lines) + "\n")
    return path


def lay_bone(at: dict[str, np.ndarray], role: str, children: list[str], left: np.ndarray) -> np.ndarray:
    """Return the rotation of a joint, (frames, 3, 3): x along its bone, z as close to the left as possible."""
    if role in ("pelvis", "chest"):
        x = at["neck"] - at["pelvis"]
    elif children:
        x = at[children[0]] - at[role]
    else:
        parent = PARENTS[role]
        x = at[role] - at[parent]
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    side = left / np.linalg.norm(left, axis=1, keepdims=True)
    far = np.abs((x * side).sum(axis=1, keepdims=True)) > 0.9  # an arm that is stretched out to the side
    side = np.where(far, np.array([0.0, 1.0, 0.0]), side)
    z = side - (side * x).sum(axis=1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=2)
