"""Turning of one joint by rings: their transform, and the resulting pose (forward kinematics)."""

import numpy as np

from poise.arrays import Floats
from poise.goals import Orient
from poise.model import Joint, Model
from poise.model.joints.kinds import Primitive, make_basis
from poise.solvers import Solver
from poise.spatial import Rotation
from poise.studio.panel.coordinates import Dial, find_dials, read_dials, set_dial

__all__ = ["Turn", "find_turning_joint"]


def find_turning_joint(model: Model, frame: str, size: float) -> str | None:
    """Return the nearest joint above a frame that rotates and can be set by hand, or None."""
    turning = {dial.joint for dial in find_dials(model, size) if not dial.slides}
    return next((joint.name for joint in model.joints_above(frame) if joint.name in turning), None)


class Turn:
    """A joint turned by rings: one about the axis of a hinge, three for any other joint.

    A hinge counts full turns, so it stays at its limit however far the ring is turned beyond; any other joint gets as
    close to the target rotation as its limits allow.

    Attributes:
        joint: The name of the joint.
        hinge: Whether it has one ring, about the z axis of `place`.

    Args:
        model: The body.
        joint: The name of the joint.
        size: The apparent size of the body [m].
    """

    def __init__(self, model: Model, joint: str, size: float) -> None:
        self.model, self.joint = model, joint
        self._joint: Joint = model.joint(joint)
        dials = [dial for dial in find_dials(model, size) if dial.joint == joint and not dial.slides]
        self.hinge = len(dials) == 1
        self._dial: Dial = dials[0]
        self._row = model.frames.index(self._joint.frame)
        self._first = np.eye(3)
        self._begun = self._turned = 0.0
        self._solver: Solver | None = None

    def place(self, T: Floats) -> Floats:
        """Return the transform of the rings, (4, 4): at the joint, with the hinge axis or the moving part's axes."""
        at = T[self._row].copy()
        if self.hinge:
            turns = (Primitive.TURN, Primitive.SCREW)
            axis = next(axis for primitive, axis in self._joint.motions if primitive in turns)
            at[:3, :3] = at[:3, :3] @ make_basis(axis)
        return np.asarray(at)

    def begin(self, q: Floats) -> None:
        """Start a turn of the rings from a pose."""
        self._first, self._turned = self.place(self.model.fk(q))[:3, :3], 0.0
        self._begun = float(read_dials(self.model, (self._dial,), q)[0])

    def follow(self, q: Floats, R: Floats) -> Floats:
        """Return the pose with the joint turned to the rings' rotation R (3, 3), within its limits."""
        if not self.hinge:
            return self.solve(q, R)
        turn = float((Rotation.from_matrix(R) @ Rotation.from_matrix(self._first).inverse()).log() @ self._first[:, 2])
        self._turned += np.remainder(turn - self._turned + np.pi, 2.0 * np.pi) - np.pi
        return set_dial(self.model, self._dial, q, self._begun + self._turned)

    def solve(self, q: Floats, R: Floats) -> Floats:
        """Return the pose in which this joint alone gets as close to a rotation as it can."""
        if self._solver is None:
            goal = Orient(self._joint.frame, R, name="turn")
            self._solver = Solver(self.model, goal, joints=[self.joint], restarts=0)
        return np.array(self._solver.solve(q, {"turn": R}).q)
