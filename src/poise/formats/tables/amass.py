"""AMASS and SMPL pose files (NPZ) as motions of the built-in humanoid, or of the user's own body model (see `smpl`).

A file has ``poses`` (frames, 3 n), axis-angle vectors of n joints: 22 (body), 24 (SMPL), 52 (SMPL-H) or 55 (SMPL-X),
each relative to its parent and zero in the T-pose, ``trans`` (frames, 3) and ``mocap_framerate``. Source: Mahmood et
al., "AMASS: Archive of motion capture as surface shapes", ICCV 2019; Loper et al., "SMPL", SIGGRAPH Asia 2015.

Bodies differ, so orientations are retargeted rather than positions: every part of the humanoid takes the world
orientation of its counterpart, as closely as its joint and its range allow (the maximum of trace(R^T R_wanted)).
The pelvis, spine, hips and shoulders have three angles and match exactly within their ranges; neck, clavicles, ankles
and wrists have two, knees and balls of the feet one; elbow and forearm together have the two angles of an elbow. Later
joints compensate for the error of earlier ones, because each targets a world orientation. The pelvis is at ``trans``,
the root of the SMPL body, so feet may float or sink by the difference in leg length. AMASS is z-up; the motion is
rotated to the humanoid's y-up.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise import models
from poise.arrays import Floats
from poise.files.arrays import read_arrays
from poise.files.source import Source, quote, quote_names
from poise.formats.options import ReadOptions
from poise.formats.quaternions import steady_signs
from poise.formats.tables.smpl import FACE, FINGERS, JOINTS, build, read_reals
from poise.kinematics import Motion
from poise.model import Joint, Model
from poise.spatial import Rotation

__all__ = ["NAME", "SUFFIXES", "looks_like", "read_motion"]


NAME = "AMASS"
SUFFIXES = (".npz",)

RATES = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate")
WIDTHS = (66, 72, 156, 165)
PARTS = ("poses", "trans", "betas", "root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand")
BLOCK = 2048  # frames processed at once
SWEEPS = 20  # maximum sweeps over the angles of a joint
SETTLED = 1e-6  # rad, convergence tolerance
BODIES = [tuple(zip(names, ("free", *["ball"] * (len(names) - 1)), strict=True)) for names in JOINTS.values()]
BODY = 22  # joints of the body itself, the same in all variants
PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
COUNTERPARTS: tuple[tuple[tuple[str, ...], int], ...] = (
    *(((name,), i) for name, i in (("spine_1", 3), ("spine_2", 6), ("chest", 9), ("neck", 12), ("head", 15))),
    *(((name,), i) for name, i in (("clavicle_l", 13), ("shoulder_l", 16), ("clavicle_r", 14), ("shoulder_r", 17))),
    *((("elbow_l", "forearm_l"), 18), (("wrist_l",), 20), (("elbow_r", "forearm_r"), 19), (("wrist_r",), 21)),
    *(((name,), i) for name, i in (("hip_l", 1), ("knee_l", 4), ("ankle_l", 7), ("ball_l", 10))),
    *(((name,), i) for name, i in (("hip_r", 2), ("knee_r", 5), ("ankle_r", 8), ("ball_r", 11))),
)
"""Joints of the humanoid, parents first, and the SMPL joint whose orientation they take."""

ARMS = {16: 90.0, 18: 90.0, 20: 90.0, 17: -90.0, 19: -90.0, 21: -90.0}
"""Our arms hang at zero and SMPL's are held out: turns about z between the two [degrees]."""

_Y_FROM_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def looks_like(head: bytes) -> bool:
    """Return whether an archive begins with the arrays of AMASS."""
    names = (
        b"poses.npy",
        b"trans.npy",
        b"mocap_frame",
        b"betas.npy",
        b"dmpls.npy",
        b"pose_body.npy",
        b"root_orient.npy",
    )
    return head.startswith(b"PK\x03\x04") and b"poise.npy" not in head and any(name in head for name in names)


def read_motion(source: Source, options: ReadOptions) -> Motion:
    """Read the motion as a motion of the built-in humanoid.

    Raises:
        FormatError: An array is missing or has a wrong shape, or another model is given.
    """
    arrays = read_arrays(source, {*PARTS, *RATES})
    given = options.model
    if isinstance(given, Model) and tuple((joint.name, joint.kind) for joint in given.joints) in BODIES:
        return read_on_body(source, given, options, arrays)
    model = models.build("humanoid")
    if options.model is not None and options.model != model:
        raise source.make_error(
            "is an SMPL file, which is read onto the built-in humanoid, or model= the NPZ of SMPL, SMPL+H or SMPL-X."
        )
    if options.up == "z" or options.clip is not None:
        raise source.make_error(
            "is an SMPL file, read onto the humanoid with y up, and has one clip; leave up, clip out."
        )
    poses, trans = read_poses(source, arrays)[1][:, :BODY], read_translations(source, arrays)
    fps = read_rate(source, arrays)
    up = find_up(source, poses)
    scale = 1.0 if options.scale == "auto" else float(options.scale)
    q = np.empty((len(poses), model.nq))
    for first in range(0, len(poses), BLOCK):
        block = slice(first, first + BLOCK)
        q[block] = retarget(model, poses[block], scale * trans[block], up)
    root = model.joint("pelvis").q
    q[:, root][:, 3:] = steady_signs(q[:, root][:, 3:])
    return Motion(model, q, fps)


def read_on_body(source: Source, body: Model, options: ReadOptions, arrays: dict[str, NDArray[np.float64]]) -> Motion:
    """Return the motion of a body of SMPL with its own joints: exact, with y up unless `up` is "z".

    If the caller gave the path of the body, it has the shape of the clip's person.
    """
    if options.clip is not None:
        raise source.make_error("has one clip; leave clip= out.")
    options = replace(options, scale=1.0) if options.scale == "auto" else options
    betas = read_reals(source, "betas", arrays.get("betas", np.zeros(0)))
    if betas.ndim > 2 or (betas.ndim == 2 and (betas != betas[:1]).any()):
        raise source.make_error(f"betas is {betas.shape}; it must be the shape of one person, (n,), in every frame.")
    betas = betas[:1].ravel() if betas.ndim == 2 else betas.ravel()
    names, poses = read_poses(source, arrays)
    if lost := [name for name in names if name not in body.frames]:
        source.note(f"{len(lost)} joints of the clip are not in the body and left out: {quote_names(lost)}")
    if options.model_file:
        file = Source.open(options.model_file)
        file.notes.extend(source.notes)
        body = build(file, options, betas)
    elif options.up not in (None, body.up):
        raise source.make_error(f"has {body.up} up on this body: give up={options.up!r} to poise.load instead.")
    trans = float(options.scale) * read_translations(source, arrays)
    turn = _Y_FROM_Z if find_up(source, poses) == "z" else np.eye(3)
    q = np.tile(body.rest, (len(poses), 1))
    for i, name in enumerate(names):
        local = Rotation.from_vector(poses[:, i])
        if name in body.frames:
            end = body.joint(name).q.stop
            q[:, end - 4 : end] = steady_signs((Rotation.from_matrix(turn) @ local if i == 0 else local).wxyz)
    q[:, :3] = (trans + q[:, :3]) @ turn.T
    return Motion(body, q, read_rate(source, arrays))


# ------------------------------------------------------------------------------------------------ the file


def read_poses(source: Source, arrays: dict[str, NDArray[np.float64]]) -> tuple[tuple[str, ...], Floats]:
    """Return the names of joints, and their axis-angle vectors (frames, joints, 3) [rad]; the body's 22 are first."""
    poses = arrays.get("poses")
    names: tuple[str, ...] = ()
    if poses is None and {"root_orient", "pose_body"} <= set(arrays):
        parts = [arrays[part] for part in ("root_orient", "pose_body")]
        if parts[0].ndim != 2 or parts[1].ndim != 2 or len(parts[0]) != len(parts[1]):
            raise source.make_error(f"root_orient {parts[0].shape} and pose_body {parts[1].shape} do not go together.")
        names = JOINTS[22]
        for part, more in (("pose_jaw", FACE[:1]), ("pose_eye", FACE[1:]), ("pose_hand", FINGERS)):
            if arrays.get(part, parts[0]).shape == (len(parts[0]), 3 * len(more)) and part in arrays:
                names += more
                parts.append(arrays[part])
        poses = np.concatenate(parts, axis=1)
    if poses is None:
        raise source.make_error(f"has no array 'poses'; of the known arrays it has {quote_names(arrays) or 'nothing'}.")
    names = names or JOINTS.get(poses.shape[-1] // 3 if poses.ndim else 0, ())
    if poses.ndim != 2 or not names or poses.shape[1] != 3 * len(names) or not len(poses):
        raise source.make_error(f"poses is {poses.shape}; it must be (frames, {' or '.join(map(str, WIDTHS))}).")
    return names, read_reals(source, "poses", poses).reshape(-1, len(names), 3)


def read_translations(source: Source, arrays: dict[str, NDArray[np.float64]]) -> Floats:
    """Return the positions of the root, (frames, 3) [m]."""
    frames = len(arrays.get("poses", arrays.get("root_orient", ())))
    if "trans" not in arrays:
        source.note_oddity("has no array 'trans'; the pelvis stays at the origin")
        return np.zeros((frames, 3))
    if arrays["trans"].shape != (frames, 3):
        raise source.make_error(f"trans is {arrays['trans'].shape}; it must be {(frames, 3)}, as many as poses.")
    return read_reals(source, "trans", arrays["trans"])


def read_rate(source: Source, arrays: dict[str, NDArray[np.float64]]) -> float:
    """Return the frame rate [1/s]."""
    for name in RATES:
        if name in arrays:
            rate = arrays[name]
            if rate.size != 1 or rate.dtype.kind not in "fiu" or not 0.0 < float(rate.reshape(())) < 1e6:
                raise source.make_error(f"{name} is {quote(str(rate))}; it must be one positive number.")
            return float(rate.reshape(()))
    source.note_oddity("has no frame rate; 30 frames per second were assumed")
    return 30.0


def find_up(source: Source, poses: Floats) -> str:
    """Return the up axis of the file: z, as in AMASS, unless the body is mostly upright along y."""
    spine = Rotation.from_vector(poses[:, 0]).apply([0.0, 1.0, 0.0]).mean(axis=0)
    up = "y" if spine[1] > 0.5 and spine[1] > spine[2] else "z"
    source.note(f"{up} is up in the file, y in the motion")
    return up


# ------------------------------------------------------------------------------------------------ the body


def retarget(model: Model, poses: Floats, trans: Floats, up: str) -> Floats:
    """Return q for a block of frames."""
    turn = _Y_FROM_Z if up == "z" else np.eye(3)
    local = Rotation.from_vector(poses).matrix
    world = np.empty_like(local)
    for i, parent in enumerate(PARENTS):
        world[:, i] = (world[:, parent] if parent >= 0 else turn) @ local[:, i]
    q = np.tile(model.rest, (len(poses), 1))
    root = model.joint("pelvis").q
    q[:, root] = np.concatenate([trans @ turn.T, Rotation.from_matrix(world[:, 0]).wxyz], axis=1)
    zero = np.zeros(model.nq)
    zero[root.start + 3] = 1.0
    reached: dict[str, Floats] = {"pelvis": world[:, 0]}
    for names, smpl in COUNTERPARTS:
        joints = [model.joint(name) for name in names]
        raised = Rotation.from_vector([0.0, 0.0, np.radians(ARMS.get(smpl, 0.0))]).matrix
        wanted = world[:, smpl] @ raised @ model.fk(zero, names[-1])[:3, :3]
        base = reached[str(joints[0].parent)] @ joints[0].offset.rotation.matrix
        axes = np.concatenate([list_axes(joint) for joint in joints])
        lower, upper = (
            np.concatenate([model.lower[j.v] for j in joints]),
            np.concatenate([model.upper[j.v] for j in joints]),
        )
        angles = fit_angles(np.swapaxes(base, 1, 2) @ wanted, axes, lower, upper)
        q[:, np.concatenate([np.arange(j.q.start, j.q.stop) for j in joints])] = angles
        reached[names[-1]] = base @ chain_turns(axes, angles)
    return q


def list_axes(joint: Joint) -> Floats:
    """Return the axes of a joint, in the order of its motions, (n, 3)."""
    return np.array([axis for _, axis in joint.motions])


def chain_turns(axes: Floats, angles: Floats) -> Floats:
    """Return the product of rotations about several axes, (frames, 3, 3)."""
    out: Floats = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    for axis, angle in zip(axes, angles.T, strict=True):
        out = out @ turn_about(axis, angle)
    return out


def turn_about(axis: Floats, angle: Floats) -> Floats:
    """Return rotations about one axis, (frames, 3, 3), by Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    turns: Floats = np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)
    return turns


def fit_angles(wanted: Floats, axes: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the angles within the ranges that maximise trace(R^T wanted), by coordinate ascent.

    For one axis a and its target rotation M, the trace is ``a.Ma + cos(t) (tr M - a.Ma) + sin(t) a.v`` with
    ``v_i = e_ijk M_kj``. Its maximum is at ``atan2(a.v, tr M - a.Ma)``, clamped to the nearest bound of the range.
    """
    angles = np.zeros((len(wanted), len(axes))) if len(axes) < 3 else start_angles(wanted, axes, lower, upper)
    angles = np.clip(angles, lower, upper)
    moving = np.arange(len(wanted))
    for _ in range(SWEEPS):
        swept = sweep(wanted[moving], axes, angles[moving], lower, upper)
        far = np.abs(swept - angles[moving]).max(axis=1) > SETTLED
        angles[moving] = swept
        moving = moving[far]
        if len(axes) == 1 or not len(moving):
            break
    return angles


def sweep(wanted: Floats, axes: Floats, angles: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the angles after setting each one once to its optimum."""
    angles = angles.copy()
    before = np.broadcast_to(np.eye(3), wanted.shape)
    for i, axis in enumerate(axes):
        after = chain_turns(axes[i + 1 :], angles[:, i + 1 :])
        M = np.swapaxes(before, 1, 2) @ wanted @ np.swapaxes(after, 1, 2)
        v = np.stack([M[:, 2, 1] - M[:, 1, 2], M[:, 0, 2] - M[:, 2, 0], M[:, 1, 0] - M[:, 0, 1]], axis=1)
        along = ((M @ axis) * axis).sum(axis=1)
        best = np.arctan2(v @ axis, np.trace(M, axis1=1, axis2=2) - along)
        angles[:, i] = clamp_angle(best, float(lower[i]), float(upper[i]))
        before = before @ turn_about(axis, angles[:, i])
    return angles


def start_angles(wanted: Floats, axes: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the exact Euler angles, in the one of both forms that is closer to the ranges."""
    order = "".join("XYZ"[int(np.argmax(axis))] for axis in axes)
    one = Rotation.from_matrix(wanted).to_euler(order)
    two = one + np.pi
    two[:, 1] = np.pi - one[:, 1] if order[0] != order[2] else -one[:, 1]
    two = np.remainder(two + np.pi, 2.0 * np.pi) - np.pi
    beyond = [np.abs(form - np.clip(form, lower, upper)).sum(axis=1) for form in (one, two)]
    chosen: Floats = np.where((beyond[1] < beyond[0])[:, None], two, one)
    return chosen


def clamp_angle(angle: Floats, low: float, high: float) -> Floats:
    """Return the angle, or the nearest bound of its range on the circle."""
    middle = 0.5 * (low + high)
    around = middle + np.remainder(angle - middle + np.pi, 2.0 * np.pi) - np.pi
    inside: Floats = np.clip(around, low, high)
    return inside
