"""What stands beside a body in its file changes nothing about how it is carried over, bit for bit."""

import re

import numpy as np
import pytest

import poise
from poise import Mapping
from poise.motion import retarget
from recordings import write_lying
from walks import make_walk

TURNS = "Zrotation Xrotation Yrotation"
CAMERA = (
    f"ROOT Camera\n{{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition {TURNS}\n JOINT Lens\n {{\n"
    f"  OFFSET 0 0.8 0\n  CHANNELS 3 {TURNS}\n  End Site\n  {{\n   OFFSET 0 0.1 0\n  }}\n }}\n}}\n"
)
PLACES = {"beside": (1.0, 0.5, 1.0), "below": (0.0, -5.0, 0.0), "above": (0.0, 10.0, 0.0), "far": (-200.0, 3.0, 0.0)}


@pytest.fixture(scope="module")
def small():
    return poise.load("humanoid", scale=0.6)


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
