"""Motions carried over onto other bodies: contacts stay exact, ranges hold, directions of bones are kept."""

from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import Mapping, Motion
from poise.errors import FormatError, NameNotFound, PoiseError
from poise.motion import quality, retarget
from poise.motion.clips.faults import Fault
from walks import make_walk, put_skate_in, stands

LIMBS = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
BONES = [(f"{a}_{s}", f"{b}_{s}") for a, b in LIMBS for s in "lr"]


@pytest.fixture(scope="module")
def walk():
    return put_skate_in(make_walk(60))


@pytest.fixture(scope="module")
def carried(walk, small):
    return retarget(walk, small)


def directions(clip, root, end):
    way = clip.positions(end) - clip.positions(root)
    return way / np.linalg.norm(way, axis=1, keepdims=True)


def measure_angles(one, other, root, end):
    """The angles between a bone of two clips, in degrees."""
    along = np.sum(directions(one, root, end) * directions(other, root, end), axis=1)
    return np.degrees(np.arccos(np.clip(along, -1.0, 1.0)))


@pytest.mark.slow
def test_a_walk_is_carried_onto_a_smaller_body(walk, carried):
    assert carried.scale == pytest.approx(0.6, abs=1e-6)
    assert len(carried.motion) == len(walk)
    assert carried.motion.fps == walk.fps
    assert not carried.track.released
    assert carried.quality.slip_max < 0.01  # mm a frame
    assert carried.quality.sink_max < 1.0
    assert carried.quality.limits_max == 0.0
    assert "contacts hold within 0.01 mm" in carried.why()
    for root, end in BONES:
        angle = measure_angles(walk, carried.motion, root, end)
        assert angle.mean() < 5.0


def test_the_quality_has_the_angles_between_bones(walk, carried):
    angles = np.array([measure_angles(walk, carried.motion, *bone) for bone in BONES])
    found = carried.quality
    assert carried.bone_errors.shape == (len(BONES), len(walk))
    assert np.degrees(found.bones_mean) == pytest.approx(angles.mean(), abs=0.2)
    assert found.bones_mean < found.bones_p95
    assert "degrees from those of the source" in str(found)
    assert found.tracking_mean is None


def test_contacts_of_the_source_are_contacts_of_the_result(walk, carried):
    for name in ("toe_l", "toe_r"):
        held = np.zeros(len(walk), dtype=bool)
        for contact in carried.contacts:
            if contact.name == name:
                held[contact.start : contact.end] = True
        assert (held == stands(name[-1], len(walk), walk.fps)).mean() > 0.9


def test_a_bone_that_is_off_is_reported_first_with_its_frame(carried):
    errors = np.array(carried.bone_errors)
    errors[1, 7] = 0.6
    off = replace(carried, bone_errors=errors)
    assert off.quality.faults[0] == Fault("limbs", 0.6, 7, repr(off.bones[1]))
    assert off.why().startswith("A bone is off the direction of the source by more than 20.0 degrees in 1 of")
    assert "off the direction" not in carried.why()


@pytest.mark.slow
def test_the_way_back_gives_the_directions_again(walk, carried):
    back = retarget(carried.motion, walk.model)
    assert back.scale == pytest.approx(1.0 / 0.6, abs=1e-6)
    for root, end in BONES:
        angle = measure_angles(walk, back.motion, root, end)
        assert angle.mean() < 5.0


@pytest.mark.slow
def test_other_ways_up_and_other_names_do_not_matter(walk, carried):
    lying = retarget(walk, poise.load("humanoid", scale=0.6, up="z"))
    assert lying.quality.slip_max < 0.01
    heights = lying.motion.positions("head") @ lying.motion.model.up_direction
    np.testing.assert_allclose(heights, carried.motion.positions("head") @ walk.model.up_direction, atol=0.02)


@pytest.mark.slow
def test_a_mapping_is_read_corrected_and_kept(walk, carried, small, tmp_path):
    found = carried.mapping
    assert found.find("knee_l").target == "knee_l"
    assert "knee_l" in str(found)
    path = poise.save(found, tmp_path / "map.json")
    assert Mapping.load(path).pairs == found.pairs
    fewer = retarget(walk[:20], small, found.remove("elbow_l").remove("elbow_r"))
    assert len(fewer.mapping) == len(found) - 2
    with pytest.raises(NameNotFound, match="tail"):
        found.remove("tail")
    with pytest.raises(NameNotFound):
        retarget(walk, poise.load("quadruped"), found.replace("chest", target="torso_of_another"))
    for text, words in (("{", "JSON"), ("{}", "kind"), ('{"kind": "poise mapping", "parts": {"a": 3}}', "part")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(FormatError, match=words):
            Mapping.load(tmp_path / "bad.json")


@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_body_without_legs_takes_the_upper_body(walk, mode):
    torso = poise.load("humanoid").subtree("chest")
    result = retarget(walk, torso, mode=mode)
    assert result.mapping.upper
    assert "hip_l" in result.mapping.missing
    assert np.degrees(result.bone_errors.max()) < 1.0
    assert np.ptp(result.motion.positions("hand_l"), axis=0).max() > 0.01  # the arms swing
    assert np.abs(result.motion.positions("head") - torso.fk(torso.rest, "head")[:3, 3]).max() < 0.2


def test_robots_styles_are_written_as_others_read_them(carried, tmp_path):
    motion = carried.motion
    poise.save(motion, tmp_path / "walk.csv", style="unitree")
    rows = np.loadtxt(tmp_path / "walk.csv", delimiter=",")
    assert rows.shape == (len(motion), motion.model.nq)
    np.testing.assert_allclose(rows[:, :3], motion.q[:, :3], atol=1e-7)
    np.testing.assert_allclose(rows[:, 6], motion.q[:, 3], atol=1e-7)  # the real part comes last there
    poise.save(motion, tmp_path / "walk.npz", style="gmr")
    with np.load(tmp_path / "walk.npz") as file:
        assert set(file) == {"fps", "root_pos", "root_rot", "dof_pos", "joint_names"}
        np.testing.assert_allclose(file["root_rot"][:, 3], motion.q[:, 3])
    for wrong, words in (("maya", "style"), ("gmr", "npz")):
        with pytest.raises(PoiseError, match=words):
            poise.save(motion, tmp_path / "walk.csv", style=wrong)
    arm = poise.load("panda")
    with pytest.raises(PoiseError, match="root"):
        poise.save(Motion(arm, arm.rest[None]), tmp_path / "arm.csv", style="unitree")


@pytest.mark.slow
def test_a_short_clip_is_retargeted_too(walk, small):
    for frames in (1, 2, 3):
        assert quality(retarget(walk[:frames], small).motion).frames == frames
