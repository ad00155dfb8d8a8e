"""Mirror images of poses, with left and right swapped.

    T'_g = P T_f S_f,   S_f = T_f0^-1 P0 T_g0             f a frame, g its partner; 0: in the zero pose
    X_g(q') = S_f^-1 X_f(q) S_f                           X the motion of the joint that carries the frame

P0 is the symmetry plane of the zero pose (or of the rest pose: `poise.kinematics.symmetry`), P the vertical plane
through the body's root along its heading. A rotation by t about a becomes a rotation by t about -S^-1 a, a slide along
a becomes a slide along S^-1 a, the vector part v of a quaternion becomes -S^-1 v: the image of q is linear. The
rotation of every part is the exact image of its partner's; its position is exact if both sides have equal bones.

Measured bodies are never exactly symmetric, and the origin of a robot's link may lie anywhere along its hinge axis:
positions may differ by a small fraction of the body's length. A joint without an image keeps its coordinates.
"""

import numpy as np

from poise.arrays import Floats
from poise.kinematics.reflections import find_foot, find_normal, make_reflection
from poise.kinematics.sides import pair_frames
from poise.kinematics.symmetry import find_symmetry, multiply_left
from poise.model import Model
from poise.spatial import Rotation

__all__ = ["Mirror"]

SAME = 1e-6  # tolerance for unit vectors that count as upright


class Mirror:
    """The symmetry of a body, and the mirror images of poses, points and directions.

    Attributes:
        partners: Frame to the frame on the other side; frames in the middle map to themselves.
        plane: P0, the reflection under which the zero pose is its own image, (4, 4).
        odd: Joints without an image, which keep their coordinates.

    Raises:
        InvalidValue: The body does not have two sides, or they are not alike.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.partners = pair_frames(model)
        found = find_symmetry(model, self.partners)
        self.plane, self.odd = found.plane, found.odd
        self._zero, self._local, self._matrix, self._shift = found.zero, found.local, found.matrix, found.shift
        free = [joint for joint in model.joints if joint.kind == "free" and joint.parent is None]
        self._root = free[0] if free else None

    def reflect_pose(self, q: Floats, about: Floats | None = None) -> Floats:
        """Return the mirror image of a configuration, in the plane of its own root or of that in the pose `about`."""
        out = self._matrix @ q + self._shift
        if self._root is not None:
            at = self._root.q.start
            place = np.eye(4)
            place[:3, 3], place[:3, :3] = out[at : at + 3], Rotation(out[at + 3 : at + 7]).matrix
            moved = self._find_root_motion(q if about is None else about) @ place
            out[at : at + 3] = moved[:3, 3]
            out[at + 3 : at + 7] = Rotation.from_matrix(moved[:3, :3]).wxyz
        clamped: Floats = self.model.clamp(out)
        return np.where(np.abs(clamped - out) > 0.0, clamped, out)

    def find_map(self, about: Floats) -> tuple[Floats, Floats]:
        """Return A (nq, nq) and b (nq,): A q + b is the image of q in the plane of the pose `about`, not clamped."""
        A, b = self._matrix.copy(), self._shift.copy()
        if self._root is not None:
            place = slice(self._root.q.start, self._root.q.start + 3)
            turn = slice(place.stop, place.stop + 4)
            moved = self._find_root_motion(about)
            product = multiply_left(Rotation.from_matrix(moved[:3, :3]).wxyz)
            A[place], b[place] = moved[:3, :3] @ A[place], moved[:3, :3] @ b[place] + moved[:3, 3]
            A[turn], b[turn] = product @ A[turn], product @ b[turn]
        return A, b

    def _find_root_motion(self, about: Floats) -> Floats:
        """Return the motion (4, 4) from the image of the free root in the zero pose's plane to that in `about`'s."""
        assert self._root is not None
        offset = self._root.offset.matrix
        motion: Floats = np.linalg.inv(offset) @ self.find_plane(about) @ self.plane @ offset
        return motion

    def find_plane(self, q: Floats) -> Floats:
        """Return P, the reflection in the vertical plane through the root along its heading, (4, 4)."""
        if self._root is None:
            return self.plane
        T, T0 = self.model.fk(q, self._root.frame), self._zero[self._root.frame]
        normal0 = find_normal(self.plane)
        turned, up = T[:3, :3] @ T0[:3, :3].T, self.model.up_direction
        side = turned @ normal0
        if abs(normal0 @ up) < SAME:  # seen from above, unless it faces up or down
            across = np.cross(turned @ np.cross(normal0, up), up)
            side = -across if np.linalg.norm(across) > 0.1 else side
        side = side / np.linalg.norm(side)
        # the plane keeps the root's distance from the plane of the zero pose
        beside = float(normal0 @ (T0[:3, 3] - find_foot(self.plane)))
        return make_reflection(side, T[:3, 3] - beside * side)

    def reflect_transform(self, q: Floats, frame: str, T: Floats) -> Floats:
        """Return the image of a transform of `frame`: a target for its partner."""
        out: Floats = self.find_plane(q) @ T @ self._local[frame]
        return out

    def reflect_point(self, q: Floats, x: Floats) -> Floats:
        """Return the image of a point in the world."""
        P = self.find_plane(q)
        out: Floats = P[:3, :3] @ x + P[:3, 3]
        return out

    def reflect_direction(self, q: Floats, x: Floats) -> Floats:
        """Return the image of a direction in the world."""
        out: Floats = self.find_plane(q)[:3, :3] @ x
        return out

    def reflect_axis(self, frame: str, axis: Floats) -> Floats:
        """Return the image of an axis of a frame, in its partner's axes."""
        out: Floats = self._local[frame][:3, :3].T @ axis
        return out
