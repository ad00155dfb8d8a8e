"""Poses of an armature as Blender evaluates them, as rigid transforms in the world."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from .refusal import Refusal

__all__ = ["Samples", "find_nearest_turns", "place_rests", "sample_frames", "sample_now"]

Array = NDArray[np.float64]
UNEVEN = 1e-4  # relative difference of the scales of an object's axes


@dataclass(frozen=True)
class Samples:
    """Frames of an armature.

    Attributes:
        names: The bones, parents first.
        objects: The armature object's matrix in the world, (frames, 4, 4).
        poses: The bones' matrices in the armature's space, (frames, bones, 4, 4).
        scale: The uniform scale of the object.
    """

    names: tuple[str, ...]
    objects: Array
    poses: Array
    scale: float

    def find_places(self) -> Array:
        """Return the bones in the world without scales, (frames, bones, 4, 4)."""
        return move_rigidly(self.objects[:, None], self.poses)

    def find_pose(self, bone: str) -> Array:
        """Return the matrices of a bone in the armature's space, (frames, 4, 4)."""
        return np.asarray(self.poses[:, self.names.index(bone)])


def sample_now(armature: Any) -> Samples:
    """Return the pose of the present frame."""
    names = tuple(bone.name for bone in armature.pose.bones)
    return Samples(names, *read_matrices([read_frame(armature)], armature.name))


def sample_frames(armature: Any, frames: Iterable[int]) -> Samples:
    """Return the poses of frames of the scene, which then shows the present frame again."""
    scene, rows = bpy.context.scene, []
    shown = scene.frame_current
    try:
        for frame in frames:
            scene.frame_set(frame)
            rows.append(read_frame(armature))
    finally:
        scene.frame_set(shown)
    names = tuple(bone.name for bone in armature.pose.bones)
    return Samples(names, *read_matrices(rows, armature.name))


def read_frame(armature: Any) -> tuple[Array, Array]:
    """Return the matrix of the object, and those of its bones."""
    return np.array(armature.matrix_world), np.array([bone.matrix for bone in armature.pose.bones])


def read_matrices(rows: list[tuple[Array, Array]], name: str) -> tuple[Array, Array, float]:
    """Stack the matrices of frames, and check the scale of the object."""
    objects, poses = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    scales = np.linalg.norm(objects[:, :3, :3], axis=1)
    if np.ptp(scales) > UNEVEN * scales.max() or (np.linalg.det(objects[:, :3, :3]) <= 0.0).any():
        raise Refusal(f"The scale of {name!r} is uneven, mirrored or animated. Apply it first: Ctrl A, Scale.")
    return objects, poses, float(scales.mean())


def place_rests(armature: Any, placed: Array) -> dict[str, Array]:
    """Return the rest matrices of all bones in the world, for an object with the matrix `placed`."""
    rests = np.array([bone.matrix_local for bone in armature.data.bones])
    return dict(zip(armature.data.bones.keys(), move_rigidly(placed, rests), strict=True))


def move_rigidly(moving: Array, matrices: Array) -> Array:
    """Return ``moving @ matrices`` with the translations of the product and rotations without scale."""
    out = moving @ matrices
    out[..., :3, :3] = find_nearest_turns(out[..., :3, :3])
    return np.asarray(out)


def find_nearest_turns(matrices: Array) -> Array:
    """Return the rotation nearest to each matrix (..., 3, 3)."""
    left, _, right = np.linalg.svd(matrices)
    left[..., -1] *= np.sign(np.linalg.det(left @ right))[..., None]
    return np.asarray(left @ right)
