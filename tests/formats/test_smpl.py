"""SMPL, SMPL+H and SMPL-X: archives of their layout, and clips judged by the formula of their authors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import FormatError
from poise.formats.tables.smpl import JOINTS
from poise.spatial import Rotation

PARENTS = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19]
TREES = {24: [*PARENTS, 20, 21], 52: PARENTS.copy(), 55: [*PARENTS, 15, 15, 15]}
for count in (52, 55):
    for wrist in (20, 21):
        for _ in range(5):
            start = len(TREES[count])
            TREES[count] += [wrist, start, start + 1]
# a standing person, arms out, y up: the places of the body's 22 joints [m]
STANCE = [(0, 0.95, 0), (0.07, 0.87, 0), (-0.07, 0.87, 0), (0, 1.05, 0), (0.1, 0.48, 0), (-0.1, 0.48, 0), (0, 1.2, 0)]
STANCE += [(0.1, 0.08, -0.03), (-0.1, 0.08, -0.03), (0, 1.25, 0), (0.1, 0.02, 0.1), (-0.1, 0.02, 0.1), (0, 1.45, 0)]
STANCE += [(0.08, 1.37, 0), (-0.08, 1.37, 0), (0, 1.55, 0.03), (0.18, 1.4, 0), (-0.18, 1.4, 0), (0.44, 1.4, 0)]
STANCE += [(-0.44, 1.4, 0), (0.7, 1.4, 0), (-0.7, 1.4, 0)]


def make_body(count: int, directions: int = 10) -> dict[str, np.ndarray]:
    """Return the arrays of a body model with vertices in pairs around the joints."""
    rng = np.random.default_rng(count)
    places = np.zeros((count, 3))
    places[:22] = STANCE
    for i, parent in enumerate(TREES[count]):
        if i >= 22:
            out = np.sign(places[parent][0]) if parent != 15 else 0.0
            places[i] = places[parent] + np.array(
                [0.03 * out, 0.002 * (i % 15), 0.05 if parent == 15 else 0.01 * (i % 5)]
            )
    regressor = np.zeros((count, 2 * count + 3))
    regressor[np.arange(count), np.arange(count)] = 0.5
    regressor[np.arange(count), count + np.arange(count)] = 0.5
    shift = 0.05 * rng.normal(size=(count, 3))
    template = np.concatenate([places + shift, places - shift, np.zeros((3, 3))])
    table = np.array([[2**32 - 1, *TREES[count][1:]], np.arange(count)], np.uint32)
    ways = 0.01 * rng.normal(size=(len(template), 3, directions))
    return {"v_template": template, "shapedirs": ways, "J_regressor": regressor, "kintree_table": table}


def write(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(path, **arrays)
    return path


def make_clip(count: int, frames: int = 5, **changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    poses = 0.4 * rng.normal(size=(frames, count, 3))
    poses[:, 0] = [np.pi / 2, 0.1, 0.2]  # y up to z up, and a little further
    clip: dict[str, Any] = {"poses": poses.reshape(frames, -1), "trans": rng.normal(size=(frames, 3))}
    return clip | {"betas": rng.normal(size=16), "mocap_framerate": 60.0, "gender": "neutral"} | changes


def place_joints(body: dict[str, np.ndarray], clip: dict[str, Any], frame: int, used: int) -> np.ndarray:
    """Return the places of the joints by the formula of SMPL, z up."""
    v = body["v_template"] + body["shapedirs"][..., :used] @ clip["betas"][:used]
    J = body["J_regressor"] @ v
    turns = Rotation.from_vector(clip["poses"][frame].reshape(-1, 3)).matrix
    G = np.zeros((len(J), 4, 4))
    for i, parent in enumerate(TREES[len(J)]):
        A = np.eye(4)
        A[:3, :3], A[:3, 3] = turns[i], J[i] - (J[parent] if parent >= 0 else 0)
        G[i] = A if parent < 0 else G[parent] @ A
    return G[:, :3, 3] + clip["trans"][frame]


@pytest.mark.parametrize(("count", "directions", "used"), [(24, 10, 10), (52, 16, 16), (55, 20, 10), (55, 400, 16)])
def test_joints_are_where_smpl_has_them(tmp_path: Path, count: int, directions: int, used: int) -> None:
    body, clip = make_body(count, directions), make_clip(count)
    write(tmp_path / "body.npz", body)
    path = write(tmp_path / "clip.npz", clip)
    motion = poise.load_motion(path, model=tmp_path / "body.npz")
    upright = poise.load_motion(path, model=str(tmp_path / "body.npz"), up="z", scale=2.0)
    assert (len(motion), motion.fps, motion.model.up) == (5, 60.0, "y")
    for frame in range(5):
        wanted = place_joints(body, clip, frame, used)
        reached = motion.model.fk(motion.q[frame], JOINTS[count])[:, :3, 3]
        np.testing.assert_allclose(reached, wanted[:, [0, 2, 1]] * [1, 1, -1], atol=1e-12)
        np.testing.assert_allclose(upright.model.fk(upright.q[frame], JOINTS[count])[:, :3, 3], 2 * wanted, atol=1e-12)


def test_betas_change_bone_lengths(tmp_path: Path) -> None:
    model = write(tmp_path / "body.npz", make_body(24))
    short = poise.load_motion(write(tmp_path / "a.npz", make_clip(24, betas=np.zeros(10))), model=model).model
    tall = poise.load_motion(write(tmp_path / "b.npz", make_clip(24)), model=model).model
    assert short == poise.load(model)
    lengths = [np.linalg.norm(body.frame("left_knee").offset.translation) for body in (short, tall)]
    assert abs(lengths[0] - lengths[1]) > 1e-3
    kept = poise.load_motion(tmp_path / "b.npz", model=short)  # a body keeps its shape
    assert kept.model == short
    with pytest.raises(FormatError, match=r"poise\.load instead"):
        poise.load_motion(tmp_path / "b.npz", model=short, up="z")


def test_joints_are_matched_by_name(tmp_path: Path) -> None:
    body = write(tmp_path / "smpl.npz", make_body(24))
    hands = poise.load_motion(write(tmp_path / "h.npz", make_clip(52)), model=body)
    assert any("30 joints of the clip are not in the body" in note for note in hands.model.notes)
    clip = make_clip(55)
    whole = poise.load_motion(write(tmp_path / "x.npz", clip), model=write(tmp_path / "x_body.npz", make_body(55)))
    rows = clip.pop("poses")
    parts = {"root_orient": rows[:, :3], "pose_body": rows[:, 3:66], "pose_jaw": rows[:, 66:69]}
    parts |= {"pose_eye": rows[:, 69:75], "pose_hand": rows[:, 75:]}
    apart = poise.load_motion(write(tmp_path / "parts.npz", clip | parts), model=tmp_path / "x_body.npz")
    np.testing.assert_array_equal(apart.q, whole.q)


@pytest.mark.parametrize("count", [24, 52, 55])
def test_the_person_is_found_and_retargeted(tmp_path: Path, count: int) -> None:
    body = write(tmp_path / "body.npz", make_body(count))
    found = poise.roles(poise.load(body))
    assert found.kind == "biped"
    assert {role.role: role.frame for role in found.found}["knee_l"] == "left_knee"
    still = make_clip(count, poses=np.tile([np.pi / 2, *[0.0] * (3 * count - 1)], (5, 1)), betas=np.zeros(10))
    still["trans"] = np.zeros((5, 3))
    still["poses"][:, 3 * 18 + 1] = -1.0  # the left elbow, ahead
    motion = poise.load_motion(write(tmp_path / "clip.npz", still), model=body)
    carried = poise.motion.retarget(motion, poise.load("humanoid")).motion
    forearm = carried[2].position("wrist_l") - carried[2].position("elbow_l")
    np.testing.assert_allclose(forearm / np.linalg.norm(forearm), [np.cos(1), 0, np.sin(1)], atol=0.05)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no body": ({"v_template": None}, "has no 'v_template'"),
    "pickled": ({"J_regressor": np.zeros((24, 51)).astype(object)}, "never pickles"),
    "tree": ({"kintree_table": np.zeros((2, 7), int)}, "24, 52 or 55 joints"),
    "loop": ({"kintree_table": np.full((2, 24), 23)}, "before its parent"),
    "shape": ({"shapedirs": np.zeros((3, 3, 10))}, "do not go together"),
    "regressor": ({"J_regressor": np.zeros((24, 3))}, "J_regressor is"),
    "scalar": ({"v_template": np.array(1.0)}, "do not go together"),
    "large parents": ({"kintree_table": np.full((2, 24), 2**63, np.uint64)}, "before its parent"),
    "nan": ({"v_template": np.full((51, 3), np.nan)}, "not a number"),
}


@pytest.mark.parametrize(("changes", "words"), BAD.values(), ids=BAD)
def test_bad_bodies_are_rejected(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    arrays = {name: array for name, array in (make_body(24) | changes).items() if array is not None}
    with pytest.raises(FormatError, match=words):
        poise.load(write(tmp_path / "body.npz", arrays))


def test_betas_of_every_frame_are_those_of_one_person(tmp_path: Path) -> None:
    model, clip = write(tmp_path / "body.npz", make_body(24)), make_clip(24)
    one = poise.load_motion(write(tmp_path / "a.npz", clip), model=model).model
    rows = np.tile(clip["betas"], (5, 1))
    assert poise.load_motion(write(tmp_path / "a.npz", clip | {"betas": rows}), model=model).model == one
    rows[3] += 1.0
    with pytest.raises(FormatError, match="one person"):
        poise.load_motion(write(tmp_path / "a.npz", clip | {"betas": rows}), model=model)


def test_a_body_with_the_names_of_smpl_but_other_joints_is_rejected(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("balls")
    for name, parent in zip(JOINTS[24], [-1, *TREES[24][1:]], strict=True):
        builder.add_joint(name, JOINTS[24][parent] if parent >= 0 else None, "ball", offset=(0, 0.1, 0))
    with pytest.raises(FormatError, match="built-in humanoid"):
        poise.load_motion(write(tmp_path / "a.npz", make_clip(24)), model=builder.build())


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "SMPL_NEUTRAL.pkl").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    with pytest.raises(FormatError, match=r"none is opened.*NPZ"):
        poise.load(tmp_path / "SMPL_NEUTRAL.pkl")
    assert not Path("ran").exists()
