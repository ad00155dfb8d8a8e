"""BVH read: every feature of real files, against a straightforward oracle; every oddity with its warning."""

import itertools
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bvh_cases import (
    CHANNELS,
    ROOT6,
    ROTATIONS,
    count,
    figure,
    make_person,
    random_bodies,
    rows_for,
    six_channels,
    write,
)
from bvh_oracle import Bone, fk, text_of
from poise.errors import FormatError, FormatWarning
from poise.goals import Reach


def agrees(path: Path, root: Bone, rows: np.ndarray, tolerance: float = 1e-10) -> poise.Motion:
    """Reads the file and compares every frame of every joint and end site with the oracle."""
    motion = poise.load_motion(path)
    assert motion.q.shape == (len(rows), count(root))
    for i, row in enumerate(rows):
        for name, matrix in fk(root, row).items():
            np.testing.assert_allclose(motion.model.fk(motion.q[i], name), matrix, rtol=0, atol=tolerance)
    return motion


# ------------------------------------------------------------------------------------------------ meaning


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_every_rotation_sequence_means_what_it_says(tmp_path: Path, length: int) -> None:
    """All orders, axes repeated in a row or apart, and joints without channels."""
    for channels in itertools.product(ROTATIONS, repeat=length):
        tip = Bone("tip", (0.25, 1.0, -0.5), channels, end=(1.0, 2.0, 3.0))
        root = Bone("root", (0.0, 1.0, 0.0), ROOT6, [tip])
        rows = rows_for(root)
        agrees(write(tmp_path, text_of(root, rows)), root, rows)


@pytest.mark.slow
def test_positions_replace_the_offset_wherever_they_stand(tmp_path: Path) -> None:
    """Any subset of positions in any place among the rotations, at the root and inside."""
    rng = np.random.default_rng(1)
    for size in range(1, 7):
        for chosen in itertools.combinations(CHANNELS, size):
            shuffled = tuple(rng.permutation(chosen).tolist())
            tip = Bone("tip", (0.25, 1.0, -0.5), shuffled, end=(1.0, 2.0, 3.0))
            root = Bone("root", (0.1, 0.2, 0.3), shuffled[::-1], [tip])
            rows = rows_for(root, 2)
            agrees(write(tmp_path, text_of(root, rows)), root, rows)


def test_the_rest_pose_is_the_offsets(tmp_path: Path) -> None:
    root = figure()
    model = poise.load(write(tmp_path, text_of(root, rows_for(root))))
    offsets = fk(root, np.array([*root.offset, *np.zeros(count(root) - 3)]))
    for name, matrix in offsets.items():
        np.testing.assert_allclose(model.fk(model.rest, name), matrix, atol=1e-12)


def test_what_a_joint_becomes(tmp_path: Path) -> None:
    root = figure()
    model = poise.load(write(tmp_path, text_of(root, rows_for(root))))
    kinds = {joint.name: (joint.kind, joint.order) for joint in model.joints}
    assert kinds == {
        "Hips_position": ("translation3", ""),
        "Hips": ("euler", "ZXY"),
        "mixamorig:LeftArm": ("euler", "ZYX"),
        "Left Hand": ("revolute", ""),
        "Tête": ("universal", ""),
    }
    assert {"Left Hand_end", "Tête_end"} <= set(model.frames)
    assert model.up == "y"
    assert model.source.endswith("clip.bvh")
    assert model.name == "clip"


def test_the_file_s_numbers_are_kept(tmp_path: Path) -> None:
    root = Bone("a", (0.1, 0.2, 0.3), ROOT6, end=(0.0, 1.0, 0.0))
    rows = np.array([[0.1, 1e-7, 1234.56789, 720.5, -359.25, 180.0], [1, 2, 3, 4, 5, 6]])
    motion = poise.load_motion(write(tmp_path, text_of(root, rows, 0.0083333)))
    np.testing.assert_array_equal(motion.q[:, :3], rows[:, :3])
    np.testing.assert_allclose(np.degrees(motion.q[:, 3:]), rows[:, 3:], rtol=1e-15)
    assert motion.fps == 1 / 0.0083333


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(root=random_bodies(), seed=st.integers(0, 1000))
def test_any_body_means_what_it_says(tmp_path_factory: pytest.TempPathFactory, root: Bone, seed: int) -> None:
    rows = rows_for(root, 2, seed)
    path = write(tmp_path_factory.mktemp("bvh"), text_of(root, rows))
    if count(root):
        agrees(path, root, rows, 1e-8)
    else:
        assert poise.load(path).nq == 0


# ------------------------------------------------------------------------------------------------ writing styles


def wrapped(text: str, width: int) -> str:
    """Every row broken after `width` numbers."""
    head, _, motion = text.partition("Frame Time:")
    first, *rows = motion.splitlines()
    broken = [
        "\n".join(" ".join(row.split()[i : i + width]) for i in range(0, len(row.split()), width)) for row in rows
    ]
    return head + "Frame Time:" + "\n".join([first, *broken]) + "\n"


def upper_keywords(text: str) -> str:
    for word in ("Offset", "Channels", "End Site", "Root", "Joint", "Motion", "Frames:", "Frame Time:"):
        text = text.replace(word.upper(), word.lower()).replace(word, word.upper())
    return (
        text.replace("Hierarchy".upper(), "Hierarchy").replace("rotation", "ROTATION").replace("Xposition", "xPosition")
    )


STYLES = {
    "plain": lambda t: t,
    "CRLF": lambda t: t.replace("\n", "\r\n"),
    "old Mac": lambda t: t.replace("\n", "\r"),
    "mark": lambda t: "\ufeff" + t,
    "UTF-16": lambda t: t.encode("utf-16"),
    "tabs": lambda t: t.replace("  ", "\t").replace(" ", "\t").replace("Left\tHand", "Left Hand"),
    "wrapped": lambda t: wrapped(t, 4),
    "one number a line": lambda t: wrapped(t, 1),
    "blank lines": lambda t: t.replace("\n", "\n\n \t \n"),
    "blank lines before": lambda t: "\n \n" + t,
    "mixed case": upper_keywords,
    "no final newline": lambda t: t.rstrip("\n"),
    "spaces at the ends": lambda t: t.replace("\n", "  \n") + "\n  \n",
    "braces on the line": lambda t: t.replace("\n{", " {").replace("Hand\n      {", "Hand {"),
    "braces glued": lambda t: t.replace("Hips\n{\n  OFFSET", "Hips {\nOFFSET").replace("\n  }\n", "}\n"),
    "no colons": lambda t: t.replace("Frames:", "Frames").replace("Frame Time:", "Frame Time"),
    "glued counts": lambda t: t.replace("Frames: ", "Frames:").replace("Frame Time: ", "Frame Time:\t"),
    "EndSite": lambda t: t.replace("End Site", "EndSite"),
    "named End Site": lambda t: t.replace("End Site", "End Site Left Hand tip"),
    "End Site with no channels": lambda t: t.replace("0.5 0.0 0.0\n", "0.5 0.0 0.0\n CHANNELS 0\n"),
    "time first": lambda t: "".join(t.replace("Frames: 3\n", "@").replace("33\n", "33\nFrames: 3\n", 1).split("@")),
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_every_style_of_writing_reads_alike(tmp_path: Path, style: object) -> None:
    root = figure()
    rows = rows_for(root)
    agrees(write(tmp_path, style(text_of(root, rows))), root, rows)  # type: ignore[operator]


def test_numbers_in_every_notation(tmp_path: Path) -> None:
    text = text_of(Bone("a", (0.0, 0.0, 0.0), ROOT6, end=(0.0, 1.0, 0.0)), np.zeros((1, 6)))
    row = "+1 -.5 2. 1e2 -1.25E-3 123456789.0123456789"
    motion = poise.load_motion(write(tmp_path, text.replace("0.0 0.0 0.0 0.0 0.0 0.0", row)))
    np.testing.assert_array_equal(motion.q[0, :3], [1.0, -0.5, 2.0])
    np.testing.assert_allclose(motion.q[0, 3:], np.radians([1e2, -1.25e-3, 123456789.0123456789]), rtol=1e-15)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20), st.sampled_from("rgf"))
def test_decimals_have_the_bits_of_float(values: list[float], style: str) -> None:
    from poise.formats.bvh.rows import read_numbers

    words = [{"r": repr(x), "g": f"{x:.12g}", "f": f"{x:.6f}"}[style] for x in values]
    expected = [float(word) for word in words]
    for separator in (" ", "\n", "\t\n ", " \r\n"):
        np.testing.assert_array_equal(read_numbers(separator.join(words).encode(), len(words)), expected)


def test_content_decides_where_the_name_does_not(tmp_path: Path) -> None:
    root = figure()
    rows = rows_for(root)
    for name in ("CLIP.BVH", "clip.txt", "clip"):
        agrees(write(tmp_path, text_of(root, rows), name), root, rows)


def test_one_frame_and_a_root_alone(tmp_path: Path) -> None:
    root = Bone("only", (0.0, 0.0, 0.0), ROOT6)
    rows = rows_for(root, 1)
    assert len(agrees(write(tmp_path, text_of(root, rows)), root, rows)) == 1


def test_latin_1_names_are_read_with_a_warning(tmp_path: Path) -> None:
    root = figure()
    text = text_of(root, rows_for(root)).encode("latin-1")
    with pytest.warns(FormatWarning, match="not UTF-8"):
        assert "Tête" in poise.load(write(tmp_path, text)).frames


# ------------------------------------------------------------------------------------------------ odd, but read


def test_a_body_without_motion(tmp_path: Path) -> None:
    root = figure()
    text = text_of(root, rows_for(root))
    for odd in (text.partition("MOTION")[0], text.partition("Frames")[0] + "Frames: 0\nFrame Time: 0.1\n"):
        path = write(tmp_path, odd)
        with pytest.warns(FormatWarning, match="only the body was read"):
            model = poise.load(path)
        assert any("only the body" in note for note in model.notes)
        with pytest.raises(FormatError, match=r"has no (MOTION|frames)"):
            poise.load_motion(path)


def test_several_roots_stand_in_one_world(tmp_path: Path) -> None:
    one = "ROOT {}\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}\n"
    text = "HIERARCHY\n" + one.format("a") + one.format("b") + "MOTION\nFrames: 1\nFrame Time: 1\n90 0\n"
    with pytest.warns(FormatWarning, match="2 ROOTs"):
        motion = poise.load_motion(write(tmp_path, text))
    np.testing.assert_allclose(motion[0].position("a_end"), [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(motion[0].position("b_end"), [0, 1, 0], atol=1e-12)


def test_two_end_sites_and_taken_names(tmp_path: Path) -> None:
    text = (
        "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
        "End Site\n{\nOFFSET 1 0 0\n}\nEnd Site\n{\nOFFSET 2 0 0\n}\n"
        "JOINT a_position\n{\nOFFSET 0 3 0\nCHANNELS 0\n}\n}\nMOTION\nFrames: 1\nFrame Time: 1\n0 0 0 0 0 0\n"
    )
    with pytest.warns(FormatWarning, match="called 'a_end2'"):
        model = poise.load(write(tmp_path, text))
    assert model.fk(model.rest, "a_end2")[0, 3] == 2.0
    assert model.fk(model.rest, "a_position")[1, 3] == 3.0
    assert model.joint("a_position2").kind == "translation3"


def test_numbers_in_one_stream_are_read_with_a_warning(tmp_path: Path) -> None:
    root = figure()
    rows = rows_for(root)
    head = text_of(root, rows).partition("Frame Time:")[0]
    numbers = [repr(x) for x in rows.ravel().tolist()]
    lines = [" ".join(numbers[i : i + 7]) for i in range(0, len(numbers), 7)]
    path = write(tmp_path, head + "Frame Time: 0.1\n" + "\n".join(lines))
    with pytest.warns(FormatWarning, match="read in sequence"):
        motion = poise.load_motion(path)
    assert motion.q[2, 0] == rows[2, 0]


# ------------------------------------------------------------------------------------------------ options


def test_scale_multiplies_lengths_alone(tmp_path: Path) -> None:
    root = figure()
    path = write(tmp_path, text_of(root, rows_for(root)))
    plain, scaled = poise.load_motion(path), poise.load_motion(path, scale=0.01)
    np.testing.assert_allclose(scaled.q[:, 3:], plain.q[:, 3:], rtol=0)
    for frame in plain.model.frames:
        small, large = scaled.model.fk(scaled.q, frame), plain.model.fk(plain.q, frame)
        np.testing.assert_allclose(small[:, :3, 3], 0.01 * large[:, :3, 3], atol=1e-12)
        np.testing.assert_allclose(small[:, :3, :3], large[:, :3, :3], atol=1e-12)


@pytest.mark.parametrize(("height", "words"), [(1.75, "metres"), (176, "centimetres"), (1720, "milli"), (31, "CMU")])
def test_auto_scale_guesses_and_reports_it(tmp_path: Path, height: float, words: str) -> None:
    head = Bone("Head", (0.0, 0.4 * height, 0.0), ROTATIONS, end=(0.0, 0.1 * height, 0.0))
    foot = Bone("LeftFoot", (0.0, -0.5 * height, 0.0), ROTATIONS)
    root = Bone("Hips", (0.0, 0.0, 0.0), ROOT6, [head, foot])
    model = poise.load(write(tmp_path, text_of(root, rows_for(root))), scale="auto")
    assert any("scale='auto'" in note and words in note for note in model.notes)
    assert 1.6 < model.fk(model.rest, "Head_end")[1, 3] - model.fk(model.rest, "LeftFoot")[1, 3] < 1.8


def test_up_turns_the_world(tmp_path: Path) -> None:
    root = figure()
    path = write(tmp_path, text_of(root, rows_for(root)))
    plain, turned = poise.load_motion(path), poise.load_motion(path, up="z")
    assert (plain.model.up, turned.model.up) == ("y", "z")
    turn = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    for frame in plain.model.frames:
        np.testing.assert_allclose(turned.model.fk(turned.q, frame), turn @ plain.model.fk(plain.q, frame), atol=1e-12)
    assert poise.load_motion(path, up="y") == plain


def test_z_up_files_are_seen(tmp_path: Path) -> None:
    head, foot = Bone("Head", (0.0, 0.1, 0.8), ROTATIONS), Bone("RightToe", (0.0, 0.0, -0.9), ROTATIONS)
    root = Bone("Hips", (0.0, 0.0, 0.0), ROOT6, [head, foot])
    path = write(tmp_path, text_of(root, rows_for(root)))
    assert poise.load(path).up == "z"
    model = poise.load(path, up="y")
    np.testing.assert_allclose(model.fk(model.rest, "Head")[:3, 3], [0, 0.8, -0.1], atol=1e-12)


def test_a_free_base_where_the_root_has_none(tmp_path: Path) -> None:
    root = Bone("Hips", (0.0, 1.0, 0.0), ("Xrotation",), end=(0.0, 1.0, 0.0))
    path = write(tmp_path, text_of(root, rows_for(root)))
    assert poise.load(path).nv == 1
    assert poise.load(path, base="free").nv == 7
    own = figure()
    assert poise.load(write(tmp_path, text_of(own, rows_for(own))), base="free").nv == count(own)


def test_bones_with_position_channels_bend_and_do_not_stretch(tmp_path: Path) -> None:
    tip = Bone("tip", (1.0, 0.0, 0.0), CHANNELS, end=(0.5, 0.0, 0.0))
    root = Bone("root", (0.0, 0.0, 0.0), ROOT6, [Bone("middle", (1.0, 0.0, 0.0), CHANNELS, [tip])])
    model = poise.load(write(tmp_path, text_of(root, rows_for(root))))
    goals = [Reach("tip_end", (1.0, 1.0, 0.5)), Reach("root", (0.0, 0.0, 0.0))]
    pose = poise.solve(model, goals).raise_if_missed().pose
    for a, b in (("root", "middle"), ("middle", "tip")):
        assert np.linalg.norm(pose.position(a) - pose.position(b)) == pytest.approx(1.0, abs=1e-12)


def test_bones_have_roles(tmp_path: Path) -> None:
    """A Mixamo character's limbs are found by their names."""

    root = make_person(0.01, "mixamorig:", ROTATIONS)
    model = poise.load(write(tmp_path, text_of(root, rows_for(root))))
    assert model.roles["foot_l"] == "mixamorig:LeftFoot"
    assert model.roles["hand_r"] == "mixamorig:RightHand"
    assert any(note.startswith("roles:") for note in model.notes)


# ------------------------------------------------------------------------------------------------ long clips


@pytest.mark.timing
def test_long_clips_are_quick(tmp_path: Path) -> None:
    """5,000 frames of a CMU body (96 channels) under 0.3 s, once warm."""
    root = Bone("J0", (0.0, 0.0, 0.0), ROOT6)
    at = root
    for i in range(1, 31):
        at.children.append(Bone(f"J{i}", (0.0, 1.0, 0.0), ("Zrotation", "Yrotation", "Xrotation")))
        at = at.children[0]
    rows = rows_for(root, 100)
    text = text_of(root, rows).replace("Frames: 100\n", "Frames: 5000\n")
    body = text[text.index("Frame Time") :].partition("\n")[2]
    path = write(tmp_path, text + body * 49)
    seconds = []
    for _ in range(5):
        start = time.process_time()  # a busy machine is not our business
        motion = poise.load_motion(path)
        seconds.append(time.process_time() - start)
    assert motion.q.shape == (5000, 96)
    np.testing.assert_array_equal(motion.q[4900:], motion.q[:100])
    assert min(seconds) < 0.3


@pytest.mark.parametrize("offset", ["0 0 0", "0 30 0"])
def test_six_channels_and_empty_end_sites_have_bones(offset: str, tmp_path: Path) -> None:
    from poise.limits.skeleton import make_skeleton_capsules

    path = tmp_path / "six.bvh"
    path.write_text(six_channels(offset))
    motion = poise.load_motion(path)
    bones = {
        capsule.frame: np.linalg.norm(np.subtract(capsule.b, capsule.a))
        for capsule in make_skeleton_capsules(motion.model)
    }
    assert {"Hips", "Spine", "LeftLeg"} <= bones.keys(), "a bone to each joint that hangs on another"
    assert min(bones.values()) > 20.0
    assert ("first frame" in " ".join(motion.model.notes)) == (offset == "0 0 0")
    head = motion.model.frames.index("Head")
    np.testing.assert_allclose(motion.model.fk(motion.q[0])[head, :3, 3], [0, 150, 0])


@pytest.mark.parametrize(("place", "length"), [(0.0, 3.0), (1e-4, 3.0001), (0.5, 0.5)])
def test_positions_that_are_next_to_zero_throughout_are_added_to_the_offsets(place, length, tmp_path: Path) -> None:
    hand = Bone("hand", (0.0, 3.0, 0.0), ROOT6, end=(0.0, 1.0, 0.0))
    root = Bone("root", (0.0, 9.0, 0.0), ROOT6, [Bone("arm", (1.0, 2.0, 0.0), ROOT6, [hand])])
    rows = np.zeros((2, 18))
    rows[:, 1] = 9.0
    rows[1, 13] = place
    motion = poise.load_motion(write(tmp_path, text_of(root, rows)))
    found = np.linalg.norm(motion.positions("hand") - motion.positions("arm"), axis=1)
    np.testing.assert_allclose(found, [0.0 if place == 0.5 else 3.0, length], atol=1e-9)
    assert any("added to the offsets" in note for note in motion.model.notes) == (place < 0.1)
