"""Recordings: of bodies whose rest pose does not stand, and with cameras and people in the same file."""

import re

import numpy as np
import pytest

import poise
from poise import Mapping, Motion
from poise.motion import contacts, retarget
from recordings import write_lying
from walks import PERIOD, PHASES, STANCE, make_walk, stands


@pytest.fixture(scope="module")
def striding():
    """A walk whose feet hang down while they are in the air, as people's do."""
    walk = make_walk(72)
    model, steps = walk.model, np.zeros((len(walk), walk.model.nv))
    for side in "lr":
        phase = walk.times / PERIOD + PHASES[side]
        swing = np.clip((phase - np.floor(phase) - STANCE) / (1.0 - STANCE), 0.0, 1.0)
        steps[:, model.joint(f"ankle_{side}").v.start] = 0.5 * np.sin(np.pi * swing) ** 4
    return Motion(model, model.clamp(model.integrate(walk.q, steps)), walk.fps)


def measure_sole(clip, side):
    """By how much a foot slopes from heel to toe while it stands, on average [degrees]."""
    contacts, up = poise.roles(clip.model).contacts, clip.model.up_direction
    heel, toe = (
        clip.positions(contacts[f"{end}_{side}"].frame, contacts[f"{end}_{side}"].point) for end in ("heel", "toe")
    )
    way = toe - heel
    return np.degrees(np.arcsin(way @ up / np.linalg.norm(way, axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 4, 12, 22, 28])
def test_a_sole_lies_flat_where_its_foot_stands_wherever_a_recording_begins(striding, tmp_path, first):
    path = write_lying(tmp_path / "walk.bvh", striding[first : first + 40])
    clip = poise.load_motion(path, scale=0.01)
    for side in "lr":
        flat = stands(side, 72, striding.fps)[first : first + 40]
        flat[1:-1] &= flat[:-2] & flat[2:]
        slopes = measure_sole(clip, side)[flat]
        assert abs(np.median(slopes)) < 3.0


@pytest.mark.slow
def test_feet_of_a_recording_that_begins_in_the_air_stand_in_the_result(striding, tmp_path):
    clip = poise.load_motion(write_lying(tmp_path / "walk.bvh", striding[22:62]), scale=0.01)
    carried = retarget(clip, poise.load("humanoid", scale=0.6))
    assert carried.quality.slip_max < 0.01
    assert not carried.track.released


def list_contacts(carried):
    return [(c.name, c.start, c.end, c.point) for c in carried.contacts]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_one_of_two_people_has_the_feet_that_it_has_alone_though_nobody_stands_in_the_rest_pose(striding, tmp_path):
    one = write_lying(tmp_path / "walk.bvh", striding[:40])
    bones, motion = one.read_text().removeprefix("HIERARCHY\n").split("MOTION\n")
    rows = motion.strip().splitlines()
    other = re.sub(r"(ROOT|JOINT) (\S+)", r"\1 B_\2", bones)
    both = [f"{row} {row}" for row in rows[2:]]
    two = tmp_path / "two.bvh"
    two.write_text("HIERARCHY\n" + bones + other + "MOTION\n" + "\n".join([*rows[:2], *both]) + "\n")
    clips, child = [poise.load_motion(path, scale=0.01) for path in (one, two)], poise.load("humanoid", scale=0.6)
    for mode in ("clip", "online"):
        alone = retarget(clips[0], child, mode=mode)
        assert {c.name for c in alone.contacts} == {"heel_l", "heel_r", "toe_l", "toe_r"}
        again = retarget(alone.motion, clips[0].model, mode=mode)
        for person in ("", "B_"):
            onto = Mapping.between(clips[1].model, child, person=f"{person}Hips")
            back = Mapping.between(child, clips[1].model, person=f"{person}Hips")
            chosen = retarget(clips[1], child, onto, mode=mode)
            assert [c[:3] for c in list_contacts(chosen)] == [c[:3] for c in list_contacts(alone)]
            np.testing.assert_allclose(chosen.motion.q, alone.motion.q, atol=1e-6)
            assert list_contacts(retarget(alone.motion, clips[1].model, back, mode=mode)) == list_contacts(again)


@pytest.mark.slow
def test_a_corrected_role_leaves_the_feet_of_a_recording_where_they_are(striding, tmp_path):
    model = poise.load_motion(write_lying(tmp_path / "walk.bvh", striding[:40]), scale=0.01).model
    before, after = (poise.roles(each).contacts for each in (model, model.with_roles({"chest": "Spine"})))
    assert {name: point.point for name, point in after.items()} == {n: point.point for n, point in before.items()}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize("first", [0, 12, 22])
def test_hips_of_a_recording_are_as_high_on_its_own_body(striding, tmp_path, first, mode):
    """Its ankles are above its soles, and its feet turned, as its frames show them, wherever the rest pose has them."""
    clip = poise.load_motion(write_lying(tmp_path / "walk.bvh", striding[first : first + 40]), scale=0.01)
    hips, up = poise.roles(clip.model)["pelvis"], clip.model.up_direction
    made = retarget(clip, clip.model, mode=mode).motion
    lower = (clip.positions(hips) - made.positions(hips)) @ up - contacts(clip).floor  # the result stands at 0
    assert abs(np.median(lower)) < 0.01


TURNS = "Zrotation Xrotation Yrotation"
CAMERA = (
    f"ROOT Camera\n{{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition {TURNS}\n JOINT Lens\n {{\n"
    f"  OFFSET 0 0.8 0\n  CHANNELS 3 {TURNS}\n  End Site\n  {{\n   OFFSET 0 0.1 0\n  }}\n }}\n}}\n"
)
PLACES = {
    "near": (1.0, 0.5, 1.0),
    "below": (0.0, -5.0, 0.0),
    "above": (0.0, 10.0, 0.0),
    "far": (-200.0, 3.0, 0.0),
}


@pytest.fixture(scope="module", params=["stands", "lies"])
def recording(request, tmp_path_factory):
    """A walk as BVH, its rest pose standing or not: its bones, its rows, and how many of its units a metre has."""
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    if request.param == "lies":
        write_lying(path, make_walk(24))
    else:
        poise.save(make_walk(24), path)
    bones, motion = path.read_text().split("MOTION\n")
    return bones.removeprefix("HIERARCHY\n"), motion.strip().splitlines(), 100.0 if request.param == "lies" else 1.0


def read(path, bones, rows, unit):
    path.write_text("HIERARCHY\n" + bones + "MOTION\n" + "\n".join(rows) + "\n")
    return poise.load_motion(path, scale=1.0 / unit)


@pytest.mark.slow
@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_a_camera_anywhere_changes_nothing(recording, small, tmp_path, place):
    bones, rows, unit = recording
    put = " ".join(str(unit * x) for x in (*PLACES[place], 0, 0, 0, 0, 0, 0))
    clip = read(tmp_path / "camera.bvh", bones + CAMERA, rows[:2] + [f"{row} {put}" for row in rows[2:]], unit)
    alone = read(tmp_path / "alone.bvh", bones, rows, unit)
    for mode in ("clip", "online"):
        one, other = (retarget(each, small, mode=mode) for each in (alone, clip))
        assert len(one.contacts)
        assert one.contacts == other.contacts
        assert np.array_equal(one.motion.q, other.motion.q)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.0, 3.0, -3.0])
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_a_second_person_on_any_level_changes_nothing(recording, small, tmp_path, level):
    bones, rows, unit = recording
    names = re.compile(r"(ROOT|JOINT) (\S+)")
    both = "".join(names.sub(rf"\1 {prefix}\2", bones) for prefix in ("A_", "B_"))
    numbers = [row.split() for row in rows[2:]]
    pairs = [" ".join([*a, a[0], str(float(a[1]) + unit * level), *a[2:]]) for a in numbers]
    clip = read(tmp_path / "two.bvh", both, rows[:2] + pairs, unit)
    alone = read(tmp_path / "alone.bvh", names.sub(r"\1 A_\2", bones), rows, unit)
    mapping = Mapping.between(clip.model, small, person=next(f for f in clip.model.frames if f.startswith("A_")))
    for mode in ("clip", "online"):
        one, other = retarget(alone, small, mode=mode), retarget(clip, small, mapping, mode=mode)
        assert np.array_equal(one.motion.q, other.motion.q)
