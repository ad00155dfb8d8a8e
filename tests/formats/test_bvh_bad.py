"""Rejected BVH: malformed, truncated, contradictory and hostile files, each with its line; and findings of fuzzing."""

from pathlib import Path

import numpy as np
import pytest

import poise
from budget import within
from bvh_cases import ROTATIONS, make_person
from bvh_oracle import Bone, text_of
from file_cases import written
from poise.errors import FormatError, FormatWarning
from poise.files.source import Source
from poise.formats.bvh import reader
from poise.formats.options import ReadOptions

GOOD = """HIERARCHY
ROOT Hips
{
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Arm
  {
    OFFSET 1 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0.5 0 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.1
1 2 3 4 5 6 7 8 9
9 8 7 6 5 4 3 2 1
"""


def read(text: str | bytes) -> None:
    source = Source("clip.bvh", text if isinstance(text, bytes) else text.encode())
    reader.read_motion(source, ReadOptions())


def swap(old: str, new: str, count: int = 1) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, count)


DEEP = "HIERARCHY\n" + "".join(
    f"{'JOINT' if i else 'ROOT'} j{i}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation\n" for i in range(10_000)
)

BAD: dict[str, tuple[str | bytes, int | None, str]] = {
    "empty": ("", 1, "'hierarchy'"),
    "blank": (" \n\n", None, "'hierarchy'"),
    "another format": ("<robot/>", 1, "'<robot/>' follows"),
    "binary": (b"\x00\x01\x02\xff" * 50, 1, "NUL"),
    "NUL in a name": (swap("Arm", "A\0rm"), 6, "NUL"),
    "NUL in the motion": (swap("5 6 7", "5 \0 7"), 19, "is not a number"),
    "hierarchy alone": ("HIERARCHY\n", None, "no ROOT"),
    "hierarchy and motion": ("HIERARCHY\nMOTION\nFrames: 0\nFrame Time: 1\n", None, "no ROOT"),
    "joint without root": (swap("ROOT", "JOINT"), 2, "outside of ROOT"),
    "root inside": (swap("JOINT", "ROOT"), 6, "inside of a joint"),
    "no name": (swap("JOINT Arm", "JOINT"), 6, "no name"),
    "no opening brace": (swap("Arm\n  {", "Arm"), 7, "'OFFSET' follows"),
    "no closing brace": (swap("  }\n}\nMOTION", "  }\nMOTION"), 2, "never closed"),
    "no closing brace of an end": (swap("0.5 0 0\n    }", "0.5 0 0\n"), 2, "never closed"),
    "one brace too many": (swap("}\nMOTION", "}\n}\nMOTION"), 16, "outside of any joint"),
    "no offset": (swap("    OFFSET 1 0 0\n", ""), 13, "no OFFSET"),
    "two offsets": (swap("OFFSET 1 0 0", "OFFSET 1 0 0\nOFFSET 1 0 0"), 9, "two OFFSETs"),
    "short offset": (swap("OFFSET 1 0 0", "OFFSET 1 0"), 9, "three numbers"),
    "long offset": (swap("OFFSET 1 0 0", "OFFSET 1 0 0 0"), 8, "more than three"),
    "short end": (swap("OFFSET 0.5 0 0", "OFFSET 0.5 0"), 13, "three numbers"),
    "offset of nan": (swap("OFFSET 1 0 0", "OFFSET nan 0 0"), 8, "'nan'"),
    "offset of infinity": (swap("OFFSET 1 0 0", "OFFSET 1e999 0 0"), 8, "too large"),
    "offset too large": (swap("OFFSET 1 0 0", "OFFSET 1e308 1e308 0"), 6, "below 1e+100"),
    "offset of 1_0": (swap("OFFSET 1 0 0", "OFFSET 1_0 0 0"), 8, "'1_0'"),
    "offset with a comma": (swap("OFFSET 1 0 0", "OFFSET 1,5 0 0"), 8, "'1,5'"),
    "offset of hex": (swap("OFFSET 1 0 0", "OFFSET 0x1 0 0"), 8, "'0x1'"),
    "offset in words": (swap("OFFSET 1 0 0", "OFFSET one 0 0"), 8, "'one'"),
    "two channels": (swap("CHANNELS 3", "CHANNELS 1 Xrotation\nCHANNELS 3"), 10, "two CHANNELS"),
    "too few channels named": (swap("CHANNELS 3 Zrotation", "CHANNELS 3"), 10, "the count is 3"),
    "too many channels named": (swap("CHANNELS 3", "CHANNELS 2"), 9, "more are named"),
    "no channel count": (swap("CHANNELS 3", "CHANNELS"), 9, "the count is 'Zrotation'"),
    "negative channels": (swap("CHANNELS 3", "CHANNELS -3"), 9, "'-3'"),
    "absurd channels": (swap("CHANNELS 3", "CHANNELS 999999999"), 9, "999999999"),
    "channels of 3.0": (swap("CHANNELS 3", "CHANNELS 3.0"), 9, "'3.0'"),
    "channels of 0_3": (swap("CHANNELS 3", "CHANNELS 0_3"), 9, "'0_3'"),
    "unknown channel": (swap("Xrotation", "Wrotation"), 5, "'Wrotation'"),
    "scale channel": (swap("Zrotation", "Zscale"), 5, "'Zscale'"),
    "a position twice": (swap("Yposition", "Xposition"), 5, "position twice"),
    "channels after a joint": (
        swap("  }\n}\nMOTION", "  }\n CHANNELS 1 Xrotation\n}\nMOTION").replace(
            "  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n", ""
        ),
        14,
        "after a joint inside",
    ),
    "end with channels": (swap("0.5 0 0\n", "0.5 0 0\nCHANNELS 3 Xrotation Yrotation Zrotation\n"), 13, "only joints"),
    "end without site": (swap("End Site", "End"), 11, "needs 'site'"),
    "unknown word": (swap("OFFSET 1", "OFSET 1"), 8, "'OFSET'"),
    "no frames line": (swap("Frames: 2\n", ""), 18, "'Frames:'"),
    "no time line": (swap("Frame Time: 0.1\n", ""), 18, "'Frame Time:'"),
    "frames twice": (swap("Frame Time: 0.1", "Frames: 2"), 18, "twice"),
    "no frame count": (swap("Frames: 2", "Frames:"), 17, "Frames: is ''"),
    "zero frames": (swap("Frames: 2", "Frames: 0").partition("1 2 3")[0], 17, "no frames"),
    "negative frames": (swap("Frames: 2", "Frames: -2"), 17, "'-2'"),
    "frames of 2_0": (swap("Frames: 2", "Frames: 2_0"), 17, "'2_0'"),
    "frames of 2.5": (swap("Frames: 2", "Frames: 2.5"), 17, "'2.5'"),
    "frames of nan": (swap("Frames: 2", "Frames: nan"), 17, "'nan'"),
    "absurd frames": (swap("Frames: 2", "Frames: 999999999"), None, "declares 999999999 frames"),
    "beyond any frames": (swap("Frames: 2", "Frames: 99999999999999999999999"), 17, "whole number"),
    "Arabic frames": (swap("Frames: 2", "Frames: \u0662"), 17, "whole number"),
    "fewer frames": (swap("9 8 7 6 5 4 3 2 1\n", ""), None, "holds 1 frames"),
    "rows without frames": (swap("Frames: 2", "Frames: 0"), None, "holds 2 frames"),
    "rows twice as long": (swap("7 8 9\n9 8", "7 8 9 9 8").replace("Frames: 2", "Frames: 1"), None, "holds 2 frames"),
    "zero time": (swap("0.1", "0"), 18, "above zero"),
    "negative time": (swap("0.1", "-0.1"), 18, "above zero"),
    "nan time": (swap("0.1", "nan"), 18, "'nan'"),
    "no time": (swap("Time: 0.1", "Time:"), 18, "Frame Time: is ''"),
    "tiny time": (swap("0.1", "1e-320"), 18, "too short"),
    "nan": (swap("5 6 7", "5 NaN 7"), 19, "'NaN'"),
    "infinity": (swap("5 6 7", "5 inf 7"), 19, "'inf'"),
    "too large": (swap("5 6 7", "5 1e999 7"), 19, "'1e999'"),
    "too large in digits": (swap("5 6 7", f"5 {'9' * 400} 7"), 19, "is not a number"),
    "1_0": (swap("5 6 7", "5 1_0 7"), 19, "'1_0'"),
    "Microsoft's nan": (swap("5 6 7", "5 -1.#IND 7"), 19, "'-1.#IND'"),
    "decimal comma": (swap("5 6 7", "5 6,5 7"), 19, "decimal point"),
    "hex": (swap("5 6 7", "5 0x6 7"), 19, "'0x6'"),
    "glued numbers": (swap("5 6 7", "5 6-6 7"), 19, "'6-6'"),
    "two points": (swap("5 6 7", "5 6.6.6 7"), 19, "'6.6.6'"),
    "a lone sign": (swap("5 6 7", "5 - 7"), 19, "'-'"),
    "a lone exponent": (swap("5 6 7", "5 e5 7"), 19, "'e5'"),
    "half an exponent": (swap("5 6 7", "5 5e 7"), 19, "'5e'"),
    "words in the motion": (swap("5 6 7", "5 six 7"), 19, "'six'"),
    "a number too few in a row": (swap("5 6 7 8 9\n", "5 6 7 8\n") + "1 2 3 4 5 6 7 8 9\n" * 3, 19, "8 numbers"),
    "a number too many in a row": (swap("1 2 3 4 5", "1 2 3 4 5 5") + "1 2 3 4 5 6 7 8 9\n" * 3, 19, "10 numbers"),
    "one short and one long": (
        swap("Frames: 2", "Frames: 5").replace("7 8 9\n", "7 8\n") + "1 2 3 4 5 6 7 8 9\n" * 2 + "1 " * 10,
        19,
        "8 numbers",
    ),
    "all rows short": (swap("7 8 9\n", "7 8\n").replace("3 2 1\n", "3 2\n"), None, "declares 2 frames of 9"),
    "cut in a row": (GOOD[:-8], None, "5 numbers"),
    "a second file behind": (GOOD + GOOD, 21, "'HIERARCHY'"),
    "text behind": (GOOD + "the end\n", 21, "'the'"),
    "deep": (DEEP, 4002, "1000 inside"),
    "endless line": ("HIERARCHY ROOT a { OFFSET " + "0 " * 100_000, 1, "more than three"),
    "endless number": (swap("5 6 7", f"5 {'1' * 10**6} 7"), 19, "thousands of letters"),
    "endless name": (swap("JOINT Arm", "JOINT " + "Arm" * 10**5), 6, "name of 300000 letters"),
    "long name": (swap("JOINT Arm", "JOINT " + "Arm" * 300).replace("OFFSET 1", "OFSET 1"), 8, "..."),
    "motion without channels": (
        "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\nMOTION\nFrames: 1\nFrame Time: 1\n5\n",
        None,
        "no joint has channels",
    ),
    "empty frames without end": (
        "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\nMOTION\nFrames: 99999999999\nFrame Time: 1\n",
        7,
        "without channels",
    ),
}


@pytest.mark.parametrize(("text", "line", "fragment"), BAD.values(), ids=BAD)
def test_rejected_with_path_and_line(text: str | bytes, line: int | None, fragment: str) -> None:
    with within(2.0), pytest.raises(FormatError) as caught:
        read(text)
    assert fragment in str(caught.value)
    assert caught.value.path == "clip.bvh"
    if fragment != "NUL" or line != 1:
        assert caught.value.line is not None
    if line is not None:
        assert caught.value.line == line
    assert len(str(caught.value)) < 400


def test_the_good_one_is_read() -> None:
    read(GOOD)


def test_every_truncation_is_rejected() -> None:
    """Cut anywhere but at the very end (or in its last number), a file has no motion to give."""
    for cut in range(len(GOOD) - 2):
        with pytest.raises(FormatError):
            read(GOOD[:cut])


def test_load_rejects_a_bad_motion_too(tmp_path: Path) -> None:
    import poise

    path = tmp_path / "clip.bvh"
    path.write_text(swap("9 8 7 6 5 4 3 2 1\n", ""))
    with pytest.raises(FormatError, match="holds 1 frames"):
        poise.load(path)


@pytest.mark.slow
def test_a_hundred_thousand_joints_are_rejected_in_time() -> None:
    one = "JOINT j{}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation\n}}\n"
    text = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\n" + "".join(one.format(i) for i in range(100_000)) + "}\n"
    with within(3.0), pytest.raises(FormatError, match="more than 10000 joints"):
        read(text)


PERSON = text_of(make_person(), np.array([[1, 2, 3], [4, 5, 6]]), 0.1)


def test_two_bones_of_one_name_get_names_apart(tmp_path: Path) -> None:
    text = PERSON.replace("RightToeBase", "LeftFoot").replace("JOINT Head", "JOINT LeftFoot#2")
    with pytest.warns(FormatWarning, match="'LeftFoot#3' here"):
        model = poise.load(written(tmp_path / "a.bvh", text))
    assert {"LeftFoot", "LeftFoot#2", "LeftFoot#3", "LeftFoot#3_end"} <= set(model.frames)
    assert model.frame("LeftFoot#3").parent == "RightFoot"


def test_rows_beyond_those_declared_are_left_out(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="declares 1 frames and holds 2; the first 1 were read"):
        motion = poise.load_motion(written(tmp_path / "a.bvh", PERSON.replace("Frames: 2", "Frames: 1")))
    np.testing.assert_allclose(np.degrees(motion.q), [[1, 2, 3]])


@pytest.mark.parametrize(
    ("scale", "unit", "word"), [(1, "cm", "centimetres"), (0.01, "m", "metres"), (10, "mm", "mil")]
)
def test_the_unit_of_a_person_is_stated(scale: float, unit: str, word: str, tmp_path: Path) -> None:
    text = text_of(make_person(scale), np.zeros((1, 3)))
    model = poise.load(written(tmp_path / "a.bvh", text))
    assert model.units == unit
    assert any("units tall" in note and word in note for note in model.notes)
    assert poise.load(tmp_path / "a.bvh", scale="auto").units == "m"


def test_a_body_unlike_a_person_has_no_known_unit(tmp_path: Path) -> None:
    text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION\nFrames: 1\nFrame Time: 1\n"
    model = poise.load(written(tmp_path / "a.bvh", text))
    assert model.units == "m"
    assert "BVH has no unit; its numbers were taken as metres" in model.notes


@pytest.mark.slow
@pytest.mark.parametrize(("count", "refused"), [(4000, False), (10_001, True)])
def test_thousands_of_end_sites(count: int, refused: bool, tmp_path: Path) -> None:
    ends = "End Site\n{\nOFFSET 0 1 0\n}\n" * count
    path = written(tmp_path / "a.bvh", f"HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\n{ends}}}\n")
    if refused:
        with within(20), pytest.raises(FormatError, match="End Sites"):
            poise.load(path)
    else:
        with within(20), pytest.warns(FormatWarning):
            assert len(poise.load(path).frames) == count + 1


@pytest.mark.parametrize(("size", "words"), [(1.0, "metres"), (100.0, "centimetres")])
def test_bodies_that_do_not_stand_in_their_offsets_are_measured_along_their_bones(
    tmp_path: Path, size: float, words: str
) -> None:
    # every bone along x, and a root on the floor below the hips: as LAFAN1 and others write
    foot = Bone("LeftFoot", (0.43 * size, 0.0, 0.0), ROTATIONS, end=(0.1 * size, 0.0, 0.0))
    shank = Bone("LeftLeg", (0.42 * size, 0, 0), ROTATIONS, [foot])
    leg = Bone("LeftUpLeg", (0.0, 0.0, 0.1 * size), ROTATIONS, [shank])
    spine = Bone("Spine", (0.3 * size, 0, 0), ROTATIONS, [Bone("Head", (0.3 * size, 0, 0), ROTATIONS)])
    root = Bone("Root", (0.0, 0.0, 0.0), ROTATIONS, [Bone("Hips", (0.0, 0.9 * size, 0.0), ROTATIONS, [spine, leg])])
    path = tmp_path / "a.bvh"
    path.write_text(text_of(root, np.zeros((1, 21))))
    model = poise.load(path, scale="auto")
    assert any(f"{1.55 * size:g} units tall, taken as {words}" in note for note in model.notes), model.notes
    assert abs(model.fk(model.rest, "Hips")[1, 3] - 0.9) < 1e-12
