"""Robot motions in the files that trainers of motion tracking read: mjlab, BeyondMimic, TWIST and PHC.

    "mjlab"         NPZ: fps (1,), joint_pos and joint_vel (frames, joints); body_pos_w, body_quat_w (wxyz),
                    body_lin_vel_w and body_ang_vel_w (frames, bodies, 3 or 4), in MuJoCo's order: depth first. Linear
                    velocities are those of the bodies' origins.
    "beyondmimic"   NPZ with the same names, in the order of Isaac Lab: breadth first, siblings by the names of their
                    joints, bodies without a joint merged into their parents. Linear velocities are those of the centres
                    of mass, as `body_lin_vel_w` of Isaac Lab.
    "twist"         pickle: fps, root_pos, root_rot (xyzw), dof_pos; local_body_pos (frames, frames of the body, 3) in
                    the axes of the root, with the names in link_body_list.
    "phc"           pickle: {name of the file: fps, root_trans_offset, root_rot (xyzw), dof, pose_aa (frames, bodies,
                    3), pose_quat_global (xyzw)}, bodies in MuJoCo's order.

Both NPZ layouts also have joint_names and body_names, which their readers ignore. All numbers are float32. Velocities
of joints are central differences, those of bodies the velocities that a simulator computes from them. Pickles are
written, never read.
Sources: `MotionLoader` of mujocolab/mjlab and HybridRobotics/whole_body_tracking, `ArticulationData` of
isaac-sim/IsaacLab, `MotionLib` of YanjieZe/TWIST, `MotionLibReal` and `Humanoid_Batch` of ZhengyiLuo/PHC.
"""

import pickle
import re
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.errors import FormatWarning, InvalidValue
from poise.formats.quaternions import steady_signs
from poise.kinematics import Motion
from poise.kinematics.carriers import Root
from poise.model import Frame, Joint, Model
from poise.spatial import Rotation

__all__ = ["TRAINERS", "write_for_trainer"]

Arrays = dict[str, Any]

TRAINERS = {"mjlab": ".npz", "beyondmimic": ".npz", "twist": ".pkl", "phc": ".pkl"}
HINGES = ("revolute", "continuous", "prismatic")
CONTROL_RATE = 50.0  # Hz, of the tracking tasks of mjlab and BeyondMimic, which ignore `fps`
SPARE_ROWS = 8  # rows of zeros after PHC's bodies, for the frames that its robot configurations add
PROTOCOL = 4  # of pickles: the highest of Python 3.6 and 3.7, which Isaac Gym needs


@dataclass(frozen=True, slots=True)
class RigidBody:
    """A body of a simulator.

    Attributes:
        frame: The frame with the body's name.
        joints: The joints between it and its parent, the free root included.
        parts: The frames fixed to it, itself first.
    """

    frame: Frame
    joints: tuple[Joint, ...]
    parts: list[Frame]


def write_for_trainer(motion: Motion, root: Root, target: Path, path: str, style: str) -> None:
    """Write the motion of a robot for a trainer.

    Args:
        motion: The motion; z is up.
        root: The free root of its body.
        target: The file to write.
        path: The name of that file in the end, which PHC's layout contains.
        style: One of `TRAINERS`.

    Raises:
        InvalidValue: The motion has one frame, another axis than z is up, or a joint is not a hinge or a slide.
    """
    model = motion.model
    if len(motion) < 2:
        raise InvalidValue(f"style={style!r} has velocities, which need two frames or more; the motion has one.")
    if model.up != "z":
        raise InvalidValue(
            f"style={style!r} is for simulators, where z is up, and {model.up} is up for {model.name!r}: load it with "
            "up='z'."
        )
    odd = next((joint for joint in model.joints if joint.nq and joint.kind not in (*HINGES, "free")), None)
    if odd is not None:
        raise InvalidValue(f"style={style!r} needs hinges and slides; joint {odd.name!r} is a {odd.kind} joint.")
    if style in ("mjlab", "beyondmimic") and abs(motion.fps - CONTROL_RATE) > 1e-6 * CONTROL_RATE:
        text = (
            f"{style} ignores the file's fps and plays a frame per control step, {CONTROL_RATE:g} a second in its "
            f"tasks; this motion has {motion.fps:g}: save motion.resampled({CONTROL_RATE:g})."
        )
        warnings.warn(text, FormatWarning, stacklevel=5)
    arrays = LAYOUTS[style](motion, root)
    arrays = {name: np.float32(value) if np.ndim(value) > 1 else value for name, value in arrays.items()}
    with target.open("wb") as file:
        if TRAINERS[style] == ".npz":
            np.savez(file, **arrays)
        else:
            key = Path(path).name.split(".")[0]
            ArrayPickler(file, PROTOCOL).dump({key: arrays} if style == "phc" else arrays)


class ArrayPickler(pickle.Pickler):
    """A pickler of arrays that every version of NumPy reads: pickles of NumPy 2 name modules that NumPy 1 lacks."""

    def reducer_override(self, thing: Any) -> Any:
        """Store an array as a call of `numpy.ndarray`, with its bytes."""
        if isinstance(thing, np.ndarray):
            return np.ndarray, (thing.shape, thing.dtype.str, bytearray(np.ascontiguousarray(thing).tobytes()))
        return NotImplemented


# ------------------------------------------------------------------------------------------------ layouts


def arrange_for_mjlab(motion: Motion, root: Root) -> Arrays:
    """Return the arrays of mjlab."""
    bodies = list_bodies(motion.model, root, fused=False)
    return arrange_bodies(motion, bodies, [np.zeros(3)] * len(bodies))


def arrange_for_beyondmimic(motion: Motion, root: Root) -> Arrays:
    """Return the arrays of BeyondMimic."""
    bodies = sort_breadth_first(motion.model, list_bodies(motion.model, root, fused=True))
    return arrange_bodies(motion, bodies, [find_center(motion.model, body) for body in bodies])


def arrange_bodies(motion: Motion, bodies: list[RigidBody], points: list[Floats]) -> Arrays:
    """Return the joints and bodies of a motion; the linear velocities are those of points of the bodies."""
    model, speeds = motion.model, motion.velocities()
    names = [body.frame.name for body in bodies]
    twists = [
        np.einsum("fij,fj->fi", model.jacobian(motion.q, name, point=point), speeds)
        for name, point in zip(names, points, strict=True)
    ]
    T = model.fk(motion.q, names)
    joints = list_joints(bodies)
    return {
        "fps": np.array([motion.fps]),
        "joint_pos": read_joints(motion.q, joints),
        "joint_vel": read_joints(speeds, joints, rates=True),
        "body_pos_w": T[..., :3, 3],
        "body_quat_w": read_quaternions(T),
        "body_lin_vel_w": np.stack([twist[:, :3] for twist in twists], axis=1),
        "body_ang_vel_w": np.stack([twist[:, 3:] for twist in twists], axis=1),
        "joint_names": np.array([joint.name for joint in joints], np.str_),
        "body_names": np.array(names, np.str_),
    }


def arrange_for_twist(motion: Motion, root: Root) -> Arrays:
    """Return the values of TWIST: places of all frames of the robot, which its reader finds by their names."""
    bodies = list_bodies(motion.model, root, fused=False)
    names = [part.name for body in bodies for part in body.parts]
    T = motion.model.fk(motion.q, names)
    return {
        "fps": motion.fps,
        "root_pos": T[:, 0, :3, 3],
        "root_rot": read_quaternions(T[:, :1])[:, 0, [1, 2, 3, 0]],
        "dof_pos": read_joints(motion.q, list_joints(bodies)),
        "local_body_pos": np.einsum("fji,fkj->fki", T[:, 0, :3, :3], T[..., :3, 3] - T[:, :1, :3, 3]),
        "link_body_list": names,
    }


def arrange_for_phc(motion: Motion, root: Root) -> Arrays:
    """Return the values of PHC: rotation vectors of the root and about the axes of the joints."""
    model, bodies = motion.model, list_bodies(motion.model, root, fused=False)
    joints = list_joints(bodies)
    several = next((body.frame.name for body in bodies if len(body.joints) > 1), None)
    slide = next((joint.name for joint in joints if joint.kind == "prismatic"), None)
    if several or slide:
        which = f"joint {slide!r} is a slide" if slide else f"body {several!r} has several joints"
        raise InvalidValue(f"style='phc' needs one hinge per body; {which}.")
    skew = [joint.name for joint in joints if joint.axis.max() < 1.0 - 1e-6]
    if skew:
        text = f"PHC adds up the numbers of a hinge's axis, which is wrong unless it is x, y or z: {', '.join(skew)}."
        warnings.warn(text, FormatWarning, stacklevel=6)
    T = model.fk(motion.q, [body.frame.name for body in bodies])
    angles, wxyz = read_joints(motion.q, joints), read_quaternions(T)
    turns = np.zeros((len(motion), len(bodies) + SPARE_ROWS, 3))
    turns[:, 0] = Rotation(wxyz[:, 0]).log()
    hinged = [i for i, body in enumerate(bodies) if i and body.joints]
    turns[:, hinged] = angles[..., None] * np.array([joint.axis for joint in joints])
    return {
        "fps": motion.fps,
        "root_trans_offset": T[:, 0, :3, 3],
        "root_rot": wxyz[:, 0][:, [1, 2, 3, 0]],
        "dof": angles,
        "pose_aa": turns,
        "pose_quat_global": wxyz[..., [1, 2, 3, 0]],
    }


LAYOUTS: dict[str, Callable[[Motion, Root], Arrays]] = {
    "mjlab": arrange_for_mjlab,
    "beyondmimic": arrange_for_beyondmimic,
    "twist": arrange_for_twist,
    "phc": arrange_for_phc,
}


# ------------------------------------------------------------------------------------------------ bodies and joints


def list_bodies(model: Model, root: Root, *, fused: bool) -> list[RigidBody]:
    """List the bodies of a robot in MuJoCo's order, depth first, from its root.

    Args:
        model: The robot.
        root: Its free root.
        fused: Whether bodies without a joint are parts of their parents. They always are unless the model is from an
            MJCF file, as MuJoCo merges the fixed links of a URDF.
    """
    mjcf = Path(model.source).suffix.lower() in (".xml", ".mjcf")
    frames = [model.frame(name) for name in model.frames]
    last = max(i for i, frame in enumerate(frames) if frame.mass or frame.joint)  # sites are declared after all bodies
    declared = {frame.name for frame in frames[: last + 1]}
    found: list[RigidBody] = []
    owners: dict[str, RigidBody] = {}
    pending: dict[str | None, tuple[Joint, ...]] = {}  # joints with frames of their own, above the frame of their body
    for frame in (frames[i] for i in model.layout.order if i < len(frames)):
        above = model.ancestors(frame)
        if root.frame not in above:
            continue
        joint = model.joint(frame.joint) if frame.joint else None
        own = (joint,) if joint and (joint.nq or joint.mimic) else ()
        joints = (*pending.get(frame.parent, ()), *own)
        if mjcf and model.mass and own and is_between(frame, own[0]):
            pending[frame.name] = joints
        elif not found or (frame.name in declared and (joints or (mjcf and not fused))):
            found.append(RigidBody(frame, joints, [frame]))
            owners[frame.name] = found[-1]
        elif (owner := next((owners[name] for name in above if name in owners), None)) is not None:
            owner.parts.append(frame)
    return found


def is_between(frame: Frame, joint: Joint) -> bool:
    """Return whether a frame of an MJCF model is only that of a joint, named after it, above the frame of its body."""
    return not frame.mass and re.fullmatch(rf"{re.escape(joint.name)}(_\d+)?", frame.name) is not None


def sort_breadth_first(model: Model, bodies: Sequence[RigidBody]) -> list[RigidBody]:
    """Return the bodies level by level, siblings by the names of their joints, as Isaac's URDF importer keeps them."""
    owners = {part.name: body.frame.name for body in bodies for part in body.parts}
    below: dict[str, list[RigidBody]] = {body.frame.name: [] for body in bodies}
    for body in bodies[1:]:
        above = next(owners[name] for name in model.ancestors(body.frame)[1:] if name in owners)
        below[above].append(body)
    out, queue = [], deque(bodies[:1])
    while queue:
        out.append(queue.popleft())
        queue.extend(sorted(below[out[-1].frame.name], key=lambda body: body.joints[0].name))
    return out


def find_center(model: Model, body: RigidBody) -> Floats:
    """Return the centre of mass of a body with all its parts, in its own axes; its origin if it has no mass."""
    masses = np.array([part.mass for part in body.parts])
    if not masses.sum():
        return np.zeros(3)
    T = np.linalg.inv(model.fk(model.rest, body.frame)) @ model.fk(model.rest, [part.name for part in body.parts])
    centers = np.array([A[:3, :3] @ part.center + A[:3, 3] for A, part in zip(T, body.parts, strict=True)])
    return np.asarray(masses @ centers / masses.sum())


def list_joints(bodies: Sequence[RigidBody]) -> list[Joint]:
    """List the hinges and slides of bodies, in their order; those that follow others are joints of a simulator too."""
    return [joint for body in bodies for joint in body.joints if joint.kind != "free"]


def read_joints(values: Floats, joints: Sequence[Joint], *, rates: bool = False) -> Floats:
    """Return the coordinates of joints in rows of q, or their rates in rows of v, (frames, joints)."""
    out = np.zeros((len(values), len(joints)))
    for i, joint in enumerate(joints):
        _, ratio, offset = joint.mimic or (None, 1.0, 0.0)
        at = joint.v.start if rates else joint.q.start
        out[:, i] = ratio * values[:, at] + (0.0 if rates else offset)
    return out


def read_quaternions(T: Floats) -> Floats:
    """Return the rotations of transforms (frames, bodies, 4, 4) as wxyz, without jumps of signs from frame to frame."""
    wxyz = Rotation.from_matrix(T[..., :3, :3]).wxyz
    return np.stack([steady_signs(wxyz[:, i]) for i in range(wxyz.shape[1])], axis=1)
