"""The symmetry of a body in a pose that is its own mirror image: its middle plane, and the linear map of q.

    X_g' = X_g0 S_f^-1 X_f0^-1 X_f S_f        X the motion of a joint, 0 in the pose, g the partner of f

Linear in the coordinates of hinges and slides, and in quaternions: q' = W q + c. For Euler joints only about zero.
"""

from __future__ import annotations

import numpy as np

from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics.reflections import make_reflection, round_whole
from poise.model import Joint, Model
from poise.model.joints.kinds import KINDS, Primitive

__all__ = ["Symmetry", "find_symmetry"]

NEAR = 0.05  # of L: largest distance of a joint from the image of its partner
WHOLE = 0.9986  # a normal within three degrees of a world axis is that axis
ALONG = 0.95  # smallest cosine between the axis of a hinge and the image of its partner's
MOST_ODD = 0.34  # largest fraction of the degrees of freedom without an image
APART = 1e-6  # of L: sides that are closer count as coincident


def find_symmetry(model: Model, partners: dict[str, str]) -> Symmetry:
    """Find the symmetry of a body in its zero pose, or in its rest pose if more joints have an image there.

    Raises:
        InvalidValue: The body does not have two sides, or they are not alike.
    """
    if all(one == other for one, other in partners.items()):
        raise InvalidValue(
            f"model {model.name!r} has no left and right side: no two frames have names that differ only in left and "
            "right, and its roles name no side."
        )
    best = Symmetry(model, partners, make_zero_pose(model))
    if best.odd:
        rest = Symmetry(model, partners, make_rest_pose(model))
        best = rest if rest.lost < best.lost else best
    if best.lost > MOST_ODD * model.nv:
        raise InvalidValue(
            f"model {model.name!r} is not symmetric: {count_words(best.odd)} without an image on the other side. Say "
            "which frames are left and right with model.with_roles."
        )
    return best


class Symmetry:
    """The symmetry of a body in one pose.

    Attributes:
        zero: The poses of all frames in that pose, by name.
        plane: The reflection that maps the pose to itself, (4, 4).
        local: S of every frame, (4, 4).
        matrix: W, (nq, nq).
        shift: c, (nq,).
        odd: Joints without an image, which keep their coordinates.
        lost: Number of degrees of freedom of those joints.
    """

    def __init__(self, model: Model, partners: dict[str, str], q0: Floats) -> None:
        self.model, self.partners, self.q0 = model, partners, q0
        self.zero = {name: model.fk(q0, name) for name in model.frames}
        self.plane = self._find_plane()
        self.local = {f: np.linalg.inv(self.zero[f]) @ self.plane @ self.zero[g] for f, g in partners.items()}
        self.matrix, self.shift = np.zeros((model.nq, model.nq)), np.zeros(model.nq)
        self.odd = self._fill()
        self.lost = sum(model.joint(name).nv for name in self.odd)

    def _find_plane(self) -> Floats:
        pairs = [(f, g) for f, g in self.partners.items() if f < g]
        a = np.array([self.zero[f][:3, 3] for f, _ in pairs])
        b = np.array([self.zero[g][:3, 3] for _, g in pairs])
        across = a - b
        widest = across[int(np.argmax(np.linalg.norm(across, axis=1)))]
        if not np.linalg.norm(widest) > APART * self.model.length:
            raise InvalidValue(f"model {self.model.name!r}: its left and its right side are at the same place.")
        mean = (across * np.sign(across @ widest)[:, None]).sum(axis=0)
        normal = mean / np.linalg.norm(mean)
        if np.abs(normal).max() > WHOLE:
            normal = np.round(normal)
        middle = float(np.median(0.5 * (a + b) @ normal))
        first = next((joint.frame for joint in self.model.joints if joint.nq), self.model.frames[0])
        root = float(self.zero[first][:3, 3] @ normal)
        return make_reflection(normal, normal * (root if abs(root - middle) < NEAR * self.model.length else middle))

    def _fill(self) -> tuple[str, ...]:
        """Fill W and c joint by joint; return the joints without an image."""
        blocks = {joint.name: self._reflect(joint) for joint in self.model.joints if joint.nq and not joint.mimic}
        found = {name: (block, self._find_partner(name)) for name, block in blocks.items() if block is not None}
        found = {name: pair for name, pair in found.items() if pair[1] is not None and pair[1].name in found}
        for name in blocks:
            joint = self.model.joint(name)
            block, other = found.get(name, (np.eye(joint.nq), joint))
            assert other is not None
            self.matrix[other.q, joint.q] = block
            if name in found and not joint.quaternion:
                self.shift[other.q] = self.q0[other.q] - block @ self.q0[joint.q]
        return tuple(name for name in blocks if name not in found)

    def _find_partner(self, name: str) -> Joint | None:
        """Return the joint on the other side."""
        other = self.model.frame(self.partners[self.model.joint(name).frame]).joint
        return None if other is None else self.model.joint(other)

    def _reflect(self, joint: Joint) -> Floats | None:
        """Return the matrix from a joint's q to its partner's; None if they are not mirror images."""
        other, S = self._find_partner(joint.name), self.local[joint.frame]
        if other is None or (joint.order and (self.q0[joint.q].any() or self.q0[other.q].any())):
            return None
        off = S[:3, 3]  # offset of the partner's image, in the axes of the joint
        if joint.kind in ("revolute", "continuous"):
            off = off - (off @ joint.axis) * np.asarray(joint.axis)  # the origin of a hinge along its axis is arbitrary
        if joint.parent is not None and float(np.linalg.norm(off)) > NEAR * self.model.length:
            return None
        block = reflect_joint(joint, other, S[:3, :3])
        if block is None or joint.kind != "ball":
            return block
        return multiply_left(self.q0[other.q]) @ block @ multiply_left(self.q0[joint.q] * (1.0, -1.0, -1.0, -1.0))


def count_words(names: tuple[str, ...]) -> str:
    """Return the first names of some joints, the number of the rest, and a verb."""
    more = f" and {len(names) - 3} more joints" if len(names) > 3 else ""
    one = len(names) == 1
    return f"joint{'' if one else 's'} {', '.join(map(repr, names[:3]))}{more} {'is' if one else 'are'}"


def reflect_joint(joint: Joint, other: Joint, S: Floats) -> Floats | None:
    """Return the matrix from a joint's q to its image's; None if the two are not mirror images."""
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
    if joint.kind == "uniform_scale":
        return np.eye(1)
    signs = [find_sign(S, *pair) for pair in zip(list_motions(joint), list_motions(other), strict=True)]
    if joint.kind == "screw" and joint.pitch + other.pitch != 0.0:
        return None
    return None if None in signs else np.diag(np.array(signs, dtype=np.float64))


def list_motions(joint: Joint) -> list[tuple[Floats, bool]]:
    """Return the axes of a joint in the order of its q, and whether each rotates."""
    return [(axis, primitive != Primitive.SLIDE) for primitive, axis in joint.motions]


def find_sign(S: Floats, motion: tuple[Floats, bool], other: tuple[Floats, bool]) -> float | None:
    """Return 1 if the image of a motion is the other motion, -1 if it is its reverse, otherwise None."""
    image = -S.T @ motion[0] if motion[1] else S.T @ motion[0]
    along = float(image @ other[0])
    return float(np.sign(along)) if abs(along) > ALONG else None


def make_zero_pose(model: Model) -> Floats:
    """Return the configuration with all angles and slides zero, and all factors one."""
    q = np.zeros(model.nq)
    for joint in model.joints:
        if joint.mimic is None:
            q[joint.q] = KINDS[joint.kind].neutral
        if joint.quaternion:
            q[joint.q][-4] = 1.0  # a view
    return q


def make_rest_pose(model: Model) -> Floats:
    """Return the rest pose with the root joints at zero."""
    q, zero = np.array(model.rest), make_zero_pose(model)
    for joint in model.joints:
        if joint.nq and not any(model.joint(above).nq for above in list_above(model, joint)):
            q[joint.q] = zero[joint.q]
    return q


def list_above(model: Model, joint: Joint) -> list[str]:
    """List the rotating ancestors of a joint, excluding translations of the whole body."""
    above = [] if joint.parent is None else model.joints_above(joint.parent)
    return [one.name for one in above if one.kind != "translation3"]


def multiply_left(wxyz: Floats) -> Floats:
    """Return the matrix of left multiplication by a quaternion."""
    w, x, y, z = wxyz
    return np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
