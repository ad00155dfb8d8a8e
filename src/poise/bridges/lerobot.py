"""The bridge to LeRobot: kinematics with the methods of `lerobot.model.kinematics.RobotKinematics`.

    from poise.bridges.lerobot import RobotKinematics

    kinematics = RobotKinematics("so101_new_calib.urdf", "gripper_frame_link", list(robot.bus.motors))
    step = InverseKinematicsEEToJoints(kinematics, list(robot.bus.motors))

LeRobot is not imported. Angles are in degrees, positions in metres. An arm of five joints cannot reach every rotation:
the position comes first, and the rotation is as close to the target as the position allows.
Source: `RobotKinematics` and `robot_kinematic_processor.py` of huggingface/lerobot.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import check_number, check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.formats import load
from poise.goals import Orient, Reach
from poise.goals.goal import Goal
from poise.model import Joint, Model
from poise.solvers import Solution, Solver
from poise.spatial.arrays import check_finite, read_reals
from poise.spatial.transform import Transform, as_transform

__all__ = ["RobotKinematics"]

KINDS = {"revolute": np.pi / 180.0, "continuous": np.pi / 180.0, "prismatic": 1.0}  # of joints, with their units
TOLERANCE = 1e-4  # m, of the position
FAR = 0.05  # m: LeRobot's EEBoundsAndSafety rejects a target that is farther from the one before
TURN = 0.2  # rad: the largest motion of a joint for a better rotation, in a call that moves the frame less than FAR
PARTS: dict[
    str, dict[str, Any]
] = {  # of a transform, for the targets of each kind of goals; levels: the position, and the rotation below it
    "whole": {"place": np.s_[:, :]},
    "levels": {"place": np.s_[:3, 3], "turn": np.s_[:3, :3]},
    "position": {"place": np.s_[:3, 3]},
}
SEARCHES: dict[str, dict[str, Any]] = {
    "quick": {"restarts": 0, "max_steps": 12},  # enough for a transform that the arm reaches
    "near": {"mode": "continuous", "step_limit": TURN},
    "branch": {"restarts": 0},
    "few": {"restarts": 20, "max_steps": 12},
    "all": {},
}


class RobotKinematics:
    """Forward and inverse kinematics of one frame of an arm.

    Attributes:
        model: The arm.
        target_frame_name: The frame.
        joint_names: The joints, in the order of the arrays.
    """

    def __init__(
        self,
        urdf_path: str | PathLike[str] | Model,
        target_frame_name: str = "gripper_frame_link",
        joint_names: Sequence[str] | None = None,
    ) -> None:
        """Read the arm.

        Args:
            urdf_path: A file, the name of a built-in body, or a model.
            target_frame_name: The frame.
            joint_names: The joints, in the order of the motors; all hinges and slides by default, from the base on.
                Joints that do not move the frame, such as that of a gripper, keep their values. Other joints keep those
                of the rest pose.

        Raises:
            NameNotFound: The model lacks the frame or a joint.
            InvalidValue: A joint is neither a hinge nor a slide, follows another, or is given twice; or none moves it.
        """
        self.model = urdf_path if isinstance(urdf_path, Model) else load(urdf_path)
        self.target_frame_name = self.model.frame(target_frame_name).name
        joints = read_joints(self.model, joint_names)
        above = {each.mimic.joint if each.mimic else each.name for each in self.model.joints_above(target_frame_name)}
        self.joint_names = [joint.name for joint in joints]
        self._moving = np.array([k for k, joint in enumerate(joints) if joint.name in above], np.intp)
        if not len(self._moving):
            raise InvalidValue(f"joint_names has no joint that moves frame {self.target_frame_name!r}.")
        self._solvers: dict[tuple[str, str], Solver] = {}
        self._names = [self.joint_names[k] for k in self._moving]
        self._columns = np.array([joints[k].q.start for k in self._moving], np.intp)
        self._units = np.array([KINDS[joints[k].kind] for k in self._moving])

    def forward_kinematics(self, joint_pos_deg: ArrayLike) -> Floats:
        """Return the transform of the frame, (4, 4).

        Args:
            joint_pos_deg: A value for each joint [degrees; slides: m]; more are ignored.
        """
        return self.model.fk(self._read(joint_pos_deg, "joint_pos_deg")[1], self.target_frame_name)

    def inverse_kinematics(
        self,
        current_joint_pos: ArrayLike,
        desired_ee_pose: Any,
        position_weight: float = 1.0,
        orientation_weight: float = 0.01,
    ) -> Floats:
        """Return the joints that bring the frame to a transform, beginning at the current ones.

        A target nearby is followed without a jump: joints move as far as the position needs, and by at most 0.2 rad
        more for the rotation. A target that moves the frame by more than 5 cm is searched for from other starts too if
        it is missed. Ranges hold; a current joint outside its range comes back to the end of it.

        Args:
            current_joint_pos: A value for each joint [degrees; slides: m]. Further values, such as that of a gripper,
                are returned as they are.
            desired_ee_pose: The transform, such as a matrix (4, 4).
            position_weight: Positive. The position always comes first, so the weights have no other effect.
            orientation_weight: Zero for the position alone.
        """
        check_positive(position_weight, "position_weight", "a positive number: the position always comes first")
        out, q = self._read(current_joint_pos, "current_joint_pos")
        target = as_transform(desired_ee_pose, "desired_ee_pose")
        if target.shape:
            raise ShapeMismatch(f"desired_ee_pose has shape {(*target.shape, 4, 4)}; it must be one transform, (4, 4).")
        turned = check_number(orientation_weight, "orientation_weight", "0, for the position alone, or positive", 0.0)
        found = self._solve("levels" if turned else "position", q, target.matrix)
        out[self._moving] = found[self._columns] / self._units
        return out

    def _read(self, values: ArrayLike, name: str) -> tuple[Floats, Floats]:
        """Return the values of an array, and the configuration with those of the joints that move the frame."""
        out, count = read_reals(values, name), len(self.joint_names)
        if out.ndim != 1 or len(out) < count:
            names = ", ".join(self.joint_names)
            raise ShapeMismatch(f"{name} has shape {out.shape}; it must have one value for each of {count}: {names}.")
        q = np.array(self.model.rest)
        q[self._columns] = check_finite(out[:count], name)[self._moving] * self._units
        return out, q

    def _solve(self, kind: str, q: Floats, target: Floats) -> Floats:
        """Return the configuration for a target; `kind` is that of the goals, "levels" or "position"."""
        if kind == "levels":
            whole = self._search("whole", "quick", q, target)
            if whole.reached and (np.abs(whole.q - q).max() <= TURN or self._is_far(q, whole.q)):
                return whole.q
        near = self._search(kind, "near", q, target)
        if has_place(near):
            return near.q
        exact = self._search("position", "branch", q, target)
        far = self._is_far(q, exact.q)
        if not has_place(exact) and (not far or np.abs(near.q - q).max() < 0.99 * TURN):  # stuck where it is
            return near.q
        branch = self._search(kind, "branch" if far else "near", exact.q, target)
        if branch.reached or not far:
            return branch.q
        if kind == "levels" and (whole := self._search("whole", "few", q, target)).reached:
            return whole.q
        found = branch if has_place(branch) else self._search(kind, "all", q, target)
        return found.q if has_place(found) else branch.q

    def _search(self, kind: str, how: str, q: Floats, target: Floats) -> Solution:
        """Solve for goals of a kind from a configuration, with options of `SEARCHES`."""
        solver = self._solvers.get((kind, how))
        if solver is None:
            whole = kind == "whole"
            goals: list[Goal] = [Reach(self.target_frame_name, Transform() if whole else (0.0, 0.0, 0.0), name="place")]
            if kind == "levels":
                goals.append(Orient(self.target_frame_name, np.eye(3), name="turn", priority=1))
            solver = Solver(self.model, goals, joints=self._names, **SEARCHES[how])
            self._solvers[kind, how] = solver
        return solver.solve(q, {name: target[part].copy() for name, part in PARTS[kind].items()})

    def _is_far(self, q: Floats, other: Floats) -> bool:
        """Return whether the frame is at places far from each other in two configurations."""
        at, then = (self.model.fk(each, self.target_frame_name)[:3, 3] for each in (q, other))
        return bool(np.linalg.norm(then - at) > FAR)


def has_place(solution: Solution) -> bool:
    """Return whether a solution has the position."""
    return bool(solution.errors["place"][0] <= TOLERANCE)


def read_joints(model: Model, names: Sequence[str] | None) -> list[Joint]:
    """Return the joints with these names; None for all hinges and slides, from the base on."""
    if isinstance(names, str):
        raise InvalidValue(f"joint_names is {names!r}; it must be a list of names, such as [{names!r}].")
    if names is None:
        frames = [model.frame(name) for name in model.frames]
        below = [frames[i].joint for i in model.layout.order if i < len(frames)]
        return [joint for joint in map(model.joint, filter(None, below)) if joint.kind in KINDS and not joint.mimic]
    joints = [model.joint(name) for name in names]
    for k, joint in enumerate(joints):
        if joint in joints[:k] or joint.mimic or joint.kind not in KINDS:
            what = "given twice" if joint in joints[:k] else f"a {joint.kind} joint"
            what = f"a follower of {joint.mimic.joint!r}" if joint.mimic else what
            raise InvalidValue(f"joint_names: {joint.name!r} is {what}; give each hinge and slide once.")
    return joints
