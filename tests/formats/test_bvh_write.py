"""Writing BVH: the motion read back is the same, with y up; a first frame of rest is left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
import walkers
from bodies import models
from bvh_cases import figure, random_bodies, rows_for, write
from bvh_oracle import Bone, text_of
from poise import Motion
from poise.arrays import Triple
from poise.errors import FormatError, FormatWarning
from poise.formats import load_motion
from poise.formats.units import rebuild, with_up
from poise.kinematics.rest_frames import begins_at_rest
from poise.model import EULER_ORDERS
from walks import make_walk

UPRIGHT = {"x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "y": np.eye(3), "z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]]}


def same_places(a: poise.Motion, b: poise.Motion, tolerance: float = 1e-9) -> None:
    """Every frame is where it was, seen with y up, and so are its own axes."""
    turn = np.eye(4)
    turn[:3, :3] = UPRIGHT[a.model.up]
    for frame in a.model.frames:
        np.testing.assert_allclose(
            b.model.fk(b.q, frame), turn @ a.model.fk(a.q, frame) @ turn.T, rtol=0, atol=tolerance
        )


def back(motion: poise.Motion, folder: Path) -> poise.Motion:
    return poise.load_motion(poise.save(motion, folder / "out.bvh"))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(model=models(), seed=st.integers(0, 2**32 - 1))
def test_any_model_moves_as_it_did(tmp_path_factory: pytest.TempPathFactory, model: poise.Model, seed: int) -> None:
    """Balls, free joints, screws, planes, followers, axes askew, joints mounted at an angle, several roots."""
    model = rebuild(model, list(model.layout.specs), replace(model.attachments, up="xyz"[seed % 3]))
    motion = poise.Motion(model, model.random(np.random.default_rng(seed), 4), 24.0)
    again = back(motion, tmp_path_factory.mktemp("bvh"))
    same_places(motion, again, 1e-9 * (1.0 + model.length))
    assert (len(again), again.fps) == (4, 24.0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(root=random_bodies(), seed=st.integers(0, 1000))
def test_a_body_from_bvh_is_written_as_the_same_bvh(
    tmp_path_factory: pytest.TempPathFactory, root: Bone, seed: int
) -> None:
    """The same joints with the same kinds and channels, and the same numbers to 1e-6 degrees."""
    folder = tmp_path_factory.mktemp("bvh")
    path = write(folder, text_of(root, rows_for(root, 3, seed)))
    motion = poise.load_motion(path)
    again = back(motion, folder)
    kinds = [(j.name, j.kind, j.order, j.parent) for j in motion.model.joints]
    assert [(j.name, j.kind, j.order, j.parent) for j in again.model.joints] == kinds
    assert again.model.frames == motion.model.frames
    np.testing.assert_array_equal(again.model.rest, motion.model.rest)
    np.testing.assert_allclose(np.degrees(again.q), np.degrees(motion.q), rtol=0, atol=1e-6)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_every_order_keeps_its_angles(tmp_path: Path, order: str) -> None:
    builder = poise.ModelBuilder("one").add_joint("j", None, "euler", order=order, offset=(1, 2, 3))
    builder.up = "y"
    model = builder.build()
    q = np.radians(np.random.default_rng(0).uniform(-720, 720, (50, 3)))
    q[:8] = np.radians([[a, b, c] for a in (0, 180) for b in (90, -90) for c in (0, 45)])  # gimbal lock
    again = back(poise.Motion(model, q), tmp_path)
    assert again.model.joint("j").order == order
    np.testing.assert_allclose(np.degrees(again.q), np.degrees(q), rtol=0, atol=1e-6)


def test_a_ball_turns_without_jumps(tmp_path: Path) -> None:
    model = poise.ModelBuilder("one").add_joint("j", None, "ball").build()
    angle = np.linspace(0, 4 * np.pi, 100)
    q = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1)
    motion = poise.Motion(model, q)
    again = back(motion, tmp_path)
    same_places(motion, again)
    assert np.abs(np.diff(again.q, axis=0)).max() < 0.2


@pytest.mark.parametrize("name", poise.models.names())
def test_built_in_bodies(tmp_path: Path, name: str) -> None:
    model = poise.load(name)
    motion = poise.Motion(model, model.random(np.random.default_rng(0), 3), 29.97)
    again = back(motion, tmp_path)
    same_places(motion, again)
    assert again.fps == 29.97


@pytest.mark.slow
@pytest.mark.parametrize("neck", [None, (0.0, 0.0, 0.3)])
@pytest.mark.parametrize("bend", [0.0, 0.2])
def test_a_robot_with_z_up_stands_in_its_file(tmp_path: Path, neck: Triple | None, bend: float) -> None:
    """Also in the offsets, which other programs take for its rest pose; what is read is the same robot, with y up."""
    model = walkers.make_machine(bend=bend, neck=neck)
    motion = poise.Motion(model, model.rest[None], 50.0)
    again = back(motion, tmp_path)
    same_places(motion, again)
    turned = poise.Motion(with_up(model, "y"), model.rest[None], 50.0)
    np.testing.assert_allclose(back(turned, tmp_path).q, again.q, atol=1e-12)
    assert again.model.up == "y"
    roles, own = poise.roles(again.model), poise.roles(model)
    assert roles.kind == "biped"
    assert [roles[role] for role in ("pelvis", "knee_l", "elbow_r")] == [
        own[role] for role in ("pelvis", "knee_l", "elbow_r")
    ]
    hip, knee, ankle = (again.model.fk(0.0 * again.q[0], own[f"{role}_l"])[1, 3] for role in ("hip", "knee", "ankle"))
    assert ankle < knee - 0.3 < hip - 0.6


@pytest.mark.filterwarnings("ignore:BVH holds the skeleton")
def test_models_and_poses_are_one_frame(tmp_path: Path) -> None:
    model = poise.load("humanoid")
    pose = poise.Pose(model, model.random(np.random.default_rng(0)))
    for thing, q in ((model, model.rest), (pose, pose.q)):
        same_places(poise.Motion(model, q[None]), poise.load_motion(poise.save(thing, tmp_path / "a.bvh")))


def test_options_survive_the_way_back(tmp_path: Path) -> None:
    """A body that was turned and scaled when read is written as large as it is, with y up."""
    path = write(tmp_path, text_of(figure(), rows_for(figure())))
    motion, plain = poise.load_motion(path, up="z", scale=0.01), poise.load_motion(path, scale=0.01)
    again = back(motion, tmp_path)
    for frame in set(motion.model.frames) - {"Hips_position"}:  # that one is a part of Hips, and has no place in BVH
        np.testing.assert_allclose(again.model.fk(again.q, frame), plain.model.fk(plain.q, frame), atol=1e-9)
    assert again.model.nq == motion.model.nq


def test_the_text_is_as_other_programs_want_it(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match=r"BVH holds .* not ranges, masses") as caught:
        text = poise.save(poise.load("humanoid"), tmp_path / "a.bvh").read_text()
    assert caught[0].filename == __file__
    assert text.startswith("HIERARCHY\nROOT pelvis\n{\n\tOFFSET 0.0 ")
    assert "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation" in text
    assert "\nMOTION\nFrames: 1\nFrame Time: 0.0333" in text
    assert "e-" not in text.partition("Frame Time")[2].partition("\n")[2]


@pytest.mark.parametrize("fps", [24.0, 25.0, 29.97, 30.0, 59.94, 60.0, 120.0, 1 / 3, 1000.0 / 7])
def test_rates_come_back(tmp_path: Path, fps: float) -> None:
    model = poise.load("planar2")
    assert abs(back(poise.Motion(model, model.rest[None], fps), tmp_path).fps / fps - 1.0) < 1e-15


@pytest.mark.parametrize("name", ["two\nlines", " ahead", "behind ", "brace {", "a { b", "tab\tbell\x07", "\x00"])
def test_names_that_would_be_lost_are_rejected(tmp_path: Path, name: str) -> None:
    model = poise.ModelBuilder("m").add_joint(name, None, "revolute").build()
    path = tmp_path / "a.bvh"
    with pytest.raises(FormatError, match="cannot be named so in BVH") as caught:
        poise.save(model, path)
    assert caught.value.path == str(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["mixamorig:Hips", "Left Arm", "Tête à tête", "腰", "a{b}", "}", "MOTION", "End", "x "[0]]
)
def test_names_that_survive(tmp_path: Path, name: str) -> None:
    model = (
        poise.ModelBuilder("m").add_joint("r", None, "free").add_joint(name, "r", "revolute", axis=(1, 0, 0)).build()
    )
    motion = poise.load_motion(poise.save(model, tmp_path / "a.bvh"))
    assert motion.model.joint(name).order == "XYZ"


def test_other_programs_get_three_rotations_or_none(tmp_path: Path) -> None:
    """Blender reads no others; a file that was BVH keeps what it had."""
    model = poise.load("humanoid")
    text = poise.save(poise.Pose(model, model.rest), tmp_path / "a.bvh").read_text()
    counts = {line.split()[1] for line in text.splitlines() if "CHANNELS" in line}
    assert counts == {"0", "3", "6"}
    path = write(tmp_path, text_of(figure(), rows_for(figure())))
    again = poise.save(poise.load(path), tmp_path / "b.bvh").read_text()
    assert "CHANNELS 1 Xrotation" in again
    assert "CHANNELS 2 Yrotation Zrotation" in again


@pytest.mark.slow
def test_invalid_values_are_rejected(tmp_path: Path) -> None:
    model = poise.load("planar2")
    with pytest.raises(FormatError, match="without frames"):
        poise.save(poise.Motion(model, np.zeros((0, model.nq))), tmp_path / "a.bvh")
    builder = poise.ModelBuilder("rope")
    for i in range(1100):
        builder.add_joint(f"j{i}", f"j{i - 1}" if i else None, "revolute", offset=(0, 1, 0))
    with pytest.raises(FormatError, match="too large for BVH"):
        poise.save(builder.build(), tmp_path / "a.bvh")
    assert list(tmp_path.iterdir()) == []


def test_what_was_read_from_bvh_with_another_up_comes_back_as_the_file_had_it(tmp_path: Path) -> None:
    body = poise.load("humanoid")
    path = poise.save(poise.Motion(body, np.tile(body.rest, (3, 1)), 30.0), tmp_path / "plain.bvh")
    plain = poise.load_motion(path)
    again = poise.load_motion(poise.save(poise.load_motion(path, up="z"), tmp_path / "again.bvh"))
    assert again.model.up == plain.model.up == "y"
    np.testing.assert_allclose(again.q, plain.q, atol=1e-9)
    np.testing.assert_allclose(again.model.fk(again.q), plain.model.fk(plain.q), atol=1e-9)


LEFT_OUT = "first frame is the rest pose"


def put_first(clip: Motion, q: np.ndarray, count: int = 1) -> Motion:
    """Return a clip with a pose before it, on the place where the clip begins."""
    return Motion(clip.model, np.concatenate([np.repeat(q[None], count, axis=0), clip.q]), clip.fps)


def swing_arms(clip: Motion) -> Motion:
    """Return a clip whose arms hang, unlike those of the rest pose."""
    q = np.array(clip.q)
    for joint in clip.model.joints:
        if joint.name.startswith("shoulder"):
            q[:, joint.q] += (0.9, 0.3, 0.2)
    return Motion(clip.model, q, clip.fps)


@pytest.fixture(scope="module")
def clip() -> Motion:
    return swing_arms(make_walk())


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize(("fps", "name"), [(24.0, "t.bvh"), (120.0, "t.bvh"), (30.0, "t.glb")])
def test_a_rest_pose_before_the_motion_is_left_out(
    clip: Motion, tmp_path: Path, noise: float, fps: float, name: str
) -> None:
    model, rng = clip.model, np.random.default_rng(3)
    rest = model.integrate(np.array(model.rest), noise * rng.normal(size=model.nv))
    poise.save(put_first(clip.resampled(fps), rest), tmp_path / name)
    with pytest.warns(FormatWarning, match=LEFT_OUT):
        found = load_motion(tmp_path / name)
    whole = load_motion(tmp_path / name, keep_rest=True)
    assert len(whole) == len(found) + 1
    assert np.array_equal(whole.q[1:], found.q)
    assert any(LEFT_OUT in note for note in found.model.notes)
    assert found.model == whole.model


def test_it_is_left_out_before_a_fault_and_before_a_body_that_only_turns(clip: Motion) -> None:
    rest = np.array(clip.model.rest)
    faulty, turned = np.array(clip.q), np.array(make_walk().q)
    faulty[3:, 7:] += 1.0
    turned[:, 3:7] = (0.0, 0.0, 1.0, 0.0)
    for q in (faulty, turned):
        assert begins_at_rest(put_first(Motion(clip.model, q, clip.fps), rest))


def list_legitimate(clip: Motion) -> dict[str, Motion]:
    """List clips whose first frame belongs to the motion."""
    q, rest = np.array(clip.q), np.array(clip.model.rest)
    step = clip.model.difference(rest, q[0])
    begin = np.array([clip.model.integrate(rest, share * step) for share in np.linspace(0.0, 1.0, 12)])
    leap = np.array([clip.model.integrate(rest, share * step) for share in (0.0, 0.5, 0.9, 1.3, 0.4, 0.1, 0.8)])
    other = clip.model.integrate(q[40], 0.4 * np.random.default_rng(1).normal(size=clip.model.nv))
    return {
        "as it is": clip,
        "from rest into the motion": Motion(clip.model, np.concatenate([begin, q]), clip.fps),
        "a sudden start": Motion(clip.model, np.concatenate([leap, q]), clip.fps),
        "a cut after one frame": put_first(clip, other),
        "standing at rest, then a cut": put_first(clip, rest, count=8),
        "cut out of a clip": clip[37:80],
        "coarse": Motion(clip.model, np.concatenate([rest[None], q[::11]]), 2.7),
        "a few frames": put_first(clip[:3], rest),
    }


def test_every_other_first_frame_is_kept(clip: Motion, tmp_path: Path) -> None:
    for name, edited in list_legitimate(clip).items():
        assert not begins_at_rest(edited), name
        poise.save(edited, tmp_path / "t.bvh")
        assert len(load_motion(tmp_path / "t.bvh")) == len(edited), name
