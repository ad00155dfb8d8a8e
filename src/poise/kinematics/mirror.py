"""Mirror images of poses: left and right are swapped.

    T'_g = P T_f S_f,   S_f = T_f0^-1 P0 T_g0             f a frame, g its partner; 0: in the zero pose
    X_g(q') = S_f^-1 X_f(q) S_f                           X the motion of the joint that carries the frame

P0 is the plane in which the zero pose is its own image, P the upright plane in which the body's root stands and looks
now. A turn by t about a becomes one by t about -S^-1 a, a slide along a one along S^-1 a, the vector part v of a
quaternion -S^-1 v: the image of q is linear, q' = W q, and exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from poise.errors import InvalidValue
from poise.kinematics.sides import pair_frames
from poise.model import Joint, Model
from poise.model.kinds import Primitive
from poise.spatial import Rotation

__all__ = ["Mirror"]

Floats = NDArray[np.float64]
SAME = 1e-6  # of L, and of unit vectors: what counts as symmetric


class Mirror:
    """The symmetry of a body, and the images that it gives of poses, places and directions.

    Attributes:
        partners: Frame to the frame on the other side; frames in the middle are their own.
        plane: P0, the reflection under which the zero pose is its own image, (4, 4).

    Raises:
        InvalidValue: The body has no two sides, or they are not alike.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.partners = pair_frames(model)
        zero = make_zero_pose(model)
        self._zero = {name: model.fk(zero, name) for name in model.frames}
        self.plane = self._find_own_plane()
        self._local = {f: np.linalg.inv(self._zero[f]) @ self.plane @ self._zero[g] for f, g in self.partners.items()}
        self._check_symmetry()
        self._image = self._make_linear_map()
        free = [joint for joint in model.joints if joint.kind == "free" and joint.parent is None]
        self._root = free[0] if free else None

    def reflect_pose(self, q: Floats, about: Floats | None = None) -> Floats:
        """Return the mirror image of a configuration, in the plane of its own root, or of the root of another one."""
        out = self._image @ q
        if self._root is not None:
            at = self._root.q.start
            place = np.eye(4)
            place[:3, 3], place[:3, :3] = out[at : at + 3], Rotation(out[at + 3 : at + 7]).matrix
            offset = self._root.offset.matrix
            moved = np.linalg.inv(offset) @ self.find_plane(q if about is None else about) @ self.plane @ offset @ place
            out[at : at + 3] = moved[:3, 3]
            out[at + 3 : at + 7] = Rotation.from_matrix(moved[:3, :3]).wxyz
        clamped: Floats = self.model.clamp(out)
        return np.where(np.abs(clamped - out) > 0.0, clamped, out)

    def find_plane(self, q: Floats) -> Floats:
        """Return P, the reflection in the upright plane in which the root stands and looks, (4, 4)."""
        if self._root is None:
            return self.plane
        T, T0 = self.model.fk(q, self._root.frame), self._zero[self._root.frame]
        normal0 = find_normal(self.plane)
        turned, up = T[:3, :3] @ T0[:3, :3].T, self.model.up_direction
        side = turned @ normal0
        if abs(normal0 @ up) < SAME:  # as seen from above, unless it looks up or down
            across = np.cross(turned @ np.cross(normal0, up), up)
            side = -across if np.linalg.norm(across) > 0.1 else side
        side = side / np.linalg.norm(side)
        # the middle plane goes through the image of the zero pose's plane point nearest to the root
        beside = float(normal0 @ (T0[:3, 3] - find_foot(self.plane)))
        return make_reflection(side, T[:3, 3] - beside * side)

    def reflect_transform(self, q: Floats, frame: str, T: Floats) -> Floats:
        """Return the image of a transform of `frame`: where its partner goes."""
        out: Floats = self.find_plane(q) @ T @ self._local[frame]
        return out

    def reflect_point(self, q: Floats, x: Floats) -> Floats:
        """Return the image of a point of the world."""
        P = self.find_plane(q)
        out: Floats = P[:3, :3] @ x + P[:3, 3]
        return out

    def reflect_direction(self, q: Floats, x: Floats) -> Floats:
        """Return the image of a direction of the world."""
        out: Floats = self.find_plane(q)[:3, :3] @ x
        return out

    def reflect_axis(self, frame: str, axis: Floats) -> Floats:
        """Return the axis of the partner's frame that is the image of an axis of a frame."""
        out: Floats = self._local[frame][:3, :3].T @ axis
        return out

    def _find_own_plane(self) -> Floats:
        pairs = [(f, g) for f, g in self.partners.items() if f < g]
        if not pairs:
            raise InvalidValue(
                f"model {self.model.name!r} has no two sides: no frame is called as another one with left for right."
            )
        a = np.array([self._zero[f][:3, 3] for f, _ in pairs])
        b = np.array([self._zero[g][:3, 3] for _, g in pairs])
        across = a - b
        widest = across[int(np.argmax(np.linalg.norm(across, axis=1)))]
        if not np.linalg.norm(widest) > SAME * self.model.length:
            raise InvalidValue(f"model {self.model.name!r}: its left and its right side are at the same place.")
        normal = widest / np.linalg.norm(widest)
        if np.abs(normal).max() > 1.0 - 1e-9:
            normal = np.round(normal)
        return make_reflection(normal, normal * float((0.5 * (a + b) @ normal).mean()))

    def _check_symmetry(self) -> None:
        for frame, S in self._local.items():
            off = float(np.linalg.norm(S[:3, 3]))
            if off > SAME * self.model.length:
                raise InvalidValue(
                    f"model {self.model.name!r} is not symmetric: {frame!r} is {off:.3g} m away from the image of "
                    f"{self.partners[frame]!r} in the zero pose."
                )

    def _make_linear_map(self) -> Floats:
        W = np.zeros((self.model.nq, self.model.nq))
        for joint in self.model.joints:
            if joint.nq and not joint.mimic:
                name = self.model.frame(self.partners[joint.frame]).joint
                other = None if name is None else self.model.joint(name)
                block = None if other is None else reflect_joint(joint, other, self._local[joint.frame][:3, :3])
                if block is None or other is None:
                    raise InvalidValue(
                        f"model {self.model.name!r} is not symmetric: joint {joint.name!r} has no image."
                    )
                W[other.q, joint.q] = block
        return W


def reflect_joint(joint: Joint, other: Joint, S: Floats) -> Floats | None:
    """Return the matrix that makes the image's q from a joint's q; None if the two are not images of each other."""
    if joint.kind != other.kind or other.mimic:
        return None
    if joint.kind in ("free", "ball"):
        turn = np.eye(4)
        turn[1:, 1:] = -round_whole(S.T)
        if joint.kind == "ball":
            return turn
        out = np.eye(7)
        out[:3, :3], out[3:, 3:] = round_whole(S.T), turn
        return out
    if joint.kind == "translation3":
        return round_whole(S.T)
    signs = [find_sign(S, *pair) for pair in zip(list_motions(joint), list_motions(other), strict=True)]
    if joint.kind == "screw" and joint.pitch + other.pitch != 0.0:
        return None
    return None if None in signs else np.diag(np.array(signs, dtype=np.float64))


def list_motions(joint: Joint) -> list[tuple[Floats, bool]]:
    """Return the axes of a joint in the order of its q, and whether each turns."""
    return [(axis, primitive != Primitive.SLIDE) for primitive, axis in joint.motions]


def find_sign(S: Floats, motion: tuple[Floats, bool], other: tuple[Floats, bool]) -> float | None:
    """Return 1 if the image of a motion is the other motion, -1 if it is its reverse, None if it is neither."""
    image = -S.T @ motion[0] if motion[1] else S.T @ motion[0]
    along = float(image @ other[0])
    return float(np.sign(along)) if abs(along) > 1.0 - SAME else None


def make_zero_pose(model: Model) -> Floats:
    """Return the configuration with all angles and slides zero."""
    q = np.zeros(model.nq)
    for joint in model.joints:
        if joint.quaternion:
            q[joint.q][-4] = 1.0  # a view
    return q


def make_reflection(normal: Floats, point: Floats) -> Floats:
    """Return the reflection in a plane, (4, 4)."""
    out = np.eye(4)
    out[:3, :3] -= 2.0 * np.outer(normal, normal)
    out[:3, 3] = 2.0 * float(normal @ point) * normal
    return out


def find_normal(plane: Floats) -> Floats:
    """Return the normal of a reflection's plane."""
    outer = 0.5 * (np.eye(3) - plane[:3, :3])
    column = outer[:, int(np.argmax(np.diag(outer)))]
    out: Floats = column / np.linalg.norm(column)
    return out


def find_foot(plane: Floats) -> Floats:
    """Return the point of a reflection's plane that is nearest to the origin."""
    out: Floats = 0.5 * plane[:3, 3]
    return out


def round_whole(S: Floats) -> Floats:
    """Return S with its numbers rounded to -1, 0 or 1 where they nearly are, so that images of images are exact."""
    whole = np.round(S)
    return np.where(np.abs(S - whole) < 1e-12, whole, S)
