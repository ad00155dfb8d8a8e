"""A Poise body rebuilt joint by joint in Pinocchio, and the conversion of coordinates.

Pinocchio writes quaternions xyzw and gives a free base its linear velocity in the base's own axes; ours is in the
parent's. Euler, universal and planar joints become simple ones there, and followers get coordinates of their own, so
``q`` and ``v`` there are functions of ours: ``v_there = rates(q) @ v``.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

import poise
from poise.arrays import Floats

REFERENCES = {"world": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "spatial": pin.WORLD}
_ALIGNED = {
    "turn": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    "slide": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}


@dataclass
class PinocchioBody:
    """The same body in Pinocchio; ``q_there`` and ``rates`` convert coordinates and velocities."""

    ours: poise.Model
    model: Any = field(default_factory=pin.Model)
    still: list[tuple[float, Floats]] = field(default_factory=list)  # masses fixed to the world
    data: Any = None

    def __post_init__(self) -> None:
        places: dict[str | None, tuple[int, Any]] = {None: (0, pin.SE3.Identity())}
        waiting = list(self.ours.frames)
        while waiting:
            name = waiting.pop(0)
            frame = self.ours.frame(name)
            if frame.parent not in places:
                waiting.append(name)
                continue
            joint_id, place = places[frame.parent]
            place = place * pin.SE3(frame.offset.matrix)
            if frame.joint is not None:
                joint_id, place = self._add_joint(self.ours.joint(frame.joint), joint_id, place)
            places[name] = joint_id, place
            self.model.addFrame(pin.Frame(name, joint_id, place, pin.FrameType.OP_FRAME))
            if frame.mass and joint_id:
                self.model.appendBodyToJoint(joint_id, pin.Inertia(frame.mass, frame.center, np.eye(3)), place)
            elif frame.mass:
                self.still.append((frame.mass, place * np.array(frame.center)))
        self.data = self.model.createData()

    def _add_joint(self, joint: poise.Joint, parent: int, place: Any) -> tuple[int, Any]:
        for i, kind in enumerate(simple_joints(joint)):
            parent = self.model.addJoint(parent, kind, place, f"{joint.name}/{i}")
            place = pin.SE3.Identity()
        return parent, place

    def _own(self, joint: poise.Joint) -> tuple[slice, slice]:
        """Return the indices of a joint in Pinocchio's q and v."""
        there = [
            self.model.joints[self.model.getJointId(f"{joint.name}/{i}")] for i in range(len(simple_joints(joint)))
        ]
        if not there:
            return slice(0, 0), slice(0, 0)
        return (
            slice(there[0].idx_q, there[-1].idx_q + there[-1].nq),
            slice(there[0].idx_v, there[-1].idx_v + there[-1].nv),
        )

    def q_there(self, q: Floats) -> Floats:
        """Return our configuration in Pinocchio's coordinates."""
        out = np.zeros(self.model.nq)
        for joint in self.ours.joints:
            values = q[joint.q]
            if joint.mimic:
                values = joint.mimic.ratio * values + joint.mimic.offset
            if joint.kind in ("ball", "free"):
                values = np.concatenate([values[:-4], np.roll(values[-4:], -1)])
            out[self._own(joint)[0]] = values
        return out

    def rates(self, q: Floats) -> Floats:
        """Return the matrix from our velocities to Pinocchio's, (nv there, nv here)."""
        out = np.zeros((self.model.nv, self.ours.nv))
        for joint in self.ours.joints:
            rows = self._own(joint)[1]
            out[rows, joint.v] = np.eye(rows.stop - rows.start) * (joint.mimic.ratio if joint.mimic else 1.0)
            if joint.kind == "free":
                out[rows, joint.v][:3, :3] = poise.Rotation(q[joint.q][3:]).matrix.T
        return out

    def rates_dot(self, q: Floats, v: Floats) -> Floats:
        """Return the time derivative of ``rates``: the axes of a free base rotate, d/dt R^T = -[w] R^T."""
        out = np.zeros((self.model.nv, self.ours.nv))
        for joint in self.ours.joints:
            if joint.kind == "free":
                turn = poise.Rotation(q[joint.q][3:]).matrix.T
                out[self._own(joint)[1], joint.v][:3, :3] = -pin.skew(v[joint.v][3:]) @ turn
        return out


def simple_joints(joint: poise.Joint) -> list[Any]:
    """Return the Pinocchio joints that correspond to one of ours."""
    match joint.kind:
        case "revolute" | "continuous":
            return [axial("turn", joint.axis)]
        case "prismatic":
            return [axial("slide", joint.axis)]
        case "screw":
            return [pin.JointModelHelicalUnaligned(np.array(joint.axis), joint.pitch)]
        case "cylindrical":
            return [axial("slide", joint.axis), axial("turn", joint.axis)]
        case "universal":
            return [axial("turn", joint.axis), axial("turn", joint.axis2)]
        case "euler":
            return [axial("turn", np.eye(3)["XYZ".index(letter)]) for letter in joint.order]
        case "planar":
            alone = poise.ModelBuilder().add_joint("j", None, "planar", axis=joint.axis).build()
            slides = [alone.fk(np.eye(3)[k], "j")[:3, 3] for k in (0, 1)]
            return [axial("slide", slides[0]), axial("slide", slides[1]), axial("turn", joint.axis)]
        case "translation3":
            return [pin.JointModelTranslation()]
        case "ball":
            return [pin.JointModelSpherical()]
        case "free":
            return [pin.JointModelFreeFlyer()]
    return []


def axial(motion: str, axis: Floats) -> Any:
    """Return a hinge or a slide; Pinocchio's faster kind if the axis is x, y or z."""
    for k in range(3):
        if np.array_equal(axis, np.eye(3)[k]):
            return _ALIGNED[motion][k]()
    unaligned = pin.JointModelRevoluteUnaligned if motion == "turn" else pin.JointModelPrismaticUnaligned
    return unaligned(np.array(axis))
