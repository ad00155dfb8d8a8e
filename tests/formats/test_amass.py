"""AMASS and SMPL pose files onto the humanoid: known poses, orientations kept, ranges kept, bad files rejected."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import FormatError, FormatWarning
from poise.formats.tables import amass
from poise.spatial import Rotation

UPRIGHT = (np.pi / 2, 0.0, 0.0)  # y up to z up


def smpl(frames: int = 2, joints: int = 52, **turns: Any) -> np.ndarray:
    """Poses in the T-pose, upright in a world with z up; `j18=(0, -1, 0)` turns joint 18."""
    poses = np.zeros((frames, joints, 3))
    poses[:, 0] = UPRIGHT
    for name, turn in turns.items():
        poses[:, int(name[1:])] = turn
    return poses.reshape(frames, -1)


def load(tmp_path: Path, poses: Any, **arrays: Any) -> poise.Motion:
    path = tmp_path / "walk_poses.npz"
    given = {
        "trans": np.tile([0.0, 0.0, 0.95], (np.size(poses, 0) if np.ndim(poses) else 1, 1)),
        "mocap_framerate": np.array(120.0),
    } | arrays
    kept = {name: array for name, array in given.items() if array is not None}
    np.savez(path, poses=poses, gender=np.array("male"), betas=np.zeros(16), **kept)
    return poise.load_motion(path)


def test_the_t_pose_is_a_t(tmp_path: Path) -> None:
    motion = load(tmp_path, smpl())
    assert (len(motion), motion.fps, motion.model) == (2, 120.0, poise.load("humanoid"))
    pose = motion[0]
    np.testing.assert_allclose(pose.position("pelvis"), [0, 0.95, 0], atol=1e-12)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        arm = pose.position(f"hand_{side}") - pose.position(f"shoulder_{side}")
        np.testing.assert_allclose(arm / np.linalg.norm(arm), [sign, 0, 0], atol=1e-9)
        leg = pose.position(f"ankle_{side}") - pose.position(f"hip_{side}")
        np.testing.assert_allclose(leg / np.linalg.norm(leg), [0, -1, 0], atol=1e-9)
    assert pose.position("head_top")[1] > 1.6
    assert pose.position("toe_l")[2] > pose.position("heel_l")[2]


def test_limbs_bend_the_right_way(tmp_path: Path) -> None:
    quarter = np.pi / 2
    bent = {"j18": (0, -quarter, 0), "j19": (0, quarter, 0), "j1": (-quarter, 0, 0), "j4": (quarter, 0, 0)}
    pose = load(tmp_path, smpl(**bent))[0]
    for side in "lr":  # forearms point ahead
        forearm = pose.position(f"hand_{side}") - pose.position(f"elbow_{side}")
        np.testing.assert_allclose(forearm / np.linalg.norm(forearm), [0, 0, 1], atol=1e-9)
    thigh = pose.position("knee_l") - pose.position("hip_l")
    shank = pose.position("ankle_l") - pose.position("knee_l")
    np.testing.assert_allclose(thigh / np.linalg.norm(thigh), [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(shank / np.linalg.norm(shank), [0, -1, 0], atol=1e-9)


def test_orientations_are_kept_where_joints_have_three_angles(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    poses = smpl(50).reshape(50, 52, 3)
    for i, size in ((3, 0.1), (6, 0.1), (9, 0.1), (1, 0.3), (2, 0.3), (16, 0.3), (17, 0.3)):
        poses[:, i] = rng.normal(scale=size / 2, size=(50, 3)).clip(-size, size)
    poses[:, 16, 2], poses[:, 17, 2] = -1.0, 1.0  # arms half down
    motion = load(tmp_path, poses.reshape(50, -1))
    model = motion.model
    zero = np.eye(1, model.nq, 3)[0]
    world = np.empty((50, 22, 3, 3))
    for i, parent in enumerate(amass.PARENTS):
        before = world[:, parent] if parent >= 0 else np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
        world[:, i] = before @ Rotation.from_vector(poses[:, i]).matrix
    for name, i, arm in (
        ("chest", 9, 0),
        ("hip_l", 1, 0),
        ("hip_r", 2, 0),
        ("shoulder_l", 16, 90),
        ("shoulder_r", 17, -90),
    ):
        wanted = world[:, i] @ Rotation.from_vector([0, 0, np.radians(arm)]).matrix @ model.fk(zero, name)[:3, :3]
        np.testing.assert_allclose(model.fk(motion.q, name)[:, :3, :3], wanted, atol=1e-9)


@pytest.mark.slow
def test_ranges_hold_and_nothing_jumps(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    poses = rng.normal(scale=1.0, size=(100, 156))
    motion = load(tmp_path, poses)
    np.testing.assert_array_equal(motion.model.clamp(motion.q)[:, 7:], motion.q[:, 7:])
    turn = np.linspace(0, 4 * np.pi, 200)[:, None] * [0, 0, 1]
    poses = smpl(200)
    poses[:, :3] = (Rotation.from_vector(turn) @ Rotation.from_vector(UPRIGHT)).log()
    root = load(tmp_path, poses).q[:, 3:7]
    assert np.abs(np.diff(root, axis=0)).max() < 0.1


@pytest.mark.parametrize("joints", [22, 24, 52, 55])
def test_every_variant(tmp_path: Path, joints: int) -> None:
    wide, narrow = load(tmp_path, smpl(3, 52)), load(tmp_path, smpl(3, joints))
    np.testing.assert_allclose(narrow.q, wide.q, atol=1e-12)


def test_smpl_x_files_without_poses(tmp_path: Path) -> None:
    poses = smpl(3, 22, j4=(0.5, 0, 0))
    path = tmp_path / "a.npz"
    np.savez(path, root_orient=poses[:, :3], pose_body=poses[:, 3:], trans=np.zeros((3, 3)), mocap_frame_rate=30)
    motion = poise.load_motion(path)
    assert motion.fps == 30.0
    assert motion.q[0, motion.model.joint("knee_l").q] == pytest.approx(0.5)


def test_y_up_files_are_seen(tmp_path: Path) -> None:
    poses = smpl(2)
    poses[:, :3] = 0.0
    motion = load(tmp_path, poses, trans=np.tile([0.0, 0.95, 0.0], (2, 1)))
    np.testing.assert_allclose(motion[0].position("pelvis"), [0, 0.95, 0], atol=1e-12)
    assert motion[0].position("head")[1] > 1.4


def test_what_is_missing_is_assumed_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="30 frames per second"):
        assert load(tmp_path, smpl(), mocap_framerate=None).fps == 30.0
    with pytest.warns(FormatWarning, match="no array 'trans'"):
        load(tmp_path, smpl(), trans=None)


BAD: dict[str, dict[str, Any]] = {
    "width": {"poses": np.zeros((2, 100))},
    "no columns": {"poses": np.zeros((2, 0))},
    "a number": {"poses": np.array(1.0), "trans": np.zeros((2, 3))},
    "one axis": {"poses": np.zeros(156)},
    "no frames": {"poses": np.zeros((0, 156)), "trans": np.zeros((0, 3))},
    "nan": {"poses": np.full((2, 156), np.nan)},
    "text": {"poses": np.full((2, 156), "a")},
    "absurd": {"poses": np.full((2, 156), 1e30)},
    "trans": {"trans": np.zeros((3, 3))},
    "trans of nan": {"trans": np.full((2, 3), np.inf)},
    "rate of zero": {"mocap_framerate": np.array(0.0)},
    "rate of text": {"mocap_framerate": np.array("fast")},
    "rates": {"mocap_framerate": np.array([1.0, 2.0])},
    "pickled": {"poses": np.full((2, 156), 0.0).astype(object)},
}


@pytest.mark.parametrize("arrays", BAD.values(), ids=BAD)
def test_bad_files_are_rejected(tmp_path: Path, arrays: dict[str, Any]) -> None:
    with pytest.raises(FormatError) as caught:
        load(tmp_path, **({"poses": smpl()} | arrays))
    assert caught.value.path.endswith("walk_poses.npz")
    assert "could not be read (" not in str(caught.value)


def test_only_the_humanoid(tmp_path: Path) -> None:
    load(tmp_path, smpl())
    with pytest.raises(FormatError, match="built-in humanoid"):
        poise.load_motion(tmp_path / "walk_poses.npz", model=poise.load("panda"))
    with pytest.raises(FormatError, match="y up"):
        poise.load_motion(tmp_path / "walk_poses.npz", up="z")
