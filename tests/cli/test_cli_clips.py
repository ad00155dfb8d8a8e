"""Verbs for clips: contacts, lock, quality, edit and retarget."""

import json

import numpy as np
import pytest

import poise
from command_line import run_poise
from poise.formats.units import scale_motion
from walks import make_walk, put_skate_in

TCP = "panda_hand_tcp"
POINT = "0.5,0.1,0.4\n"


def change_row(text, change):
    """Return the text of a BVH file with its fifth frame changed."""
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("Frame Time")) + 5
    lines[at] = " ".join(change(lines[at].split()))
    return "\n".join(lines) + "\n"


def name_no_number(words):
    return [*words[:3], "nan", *words[4:]]


def stop_time(text):
    return "\n".join("Frame Time: 0" if line.startswith("Frame Time") else line for line in text.splitlines())


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "walk.bvh"
    poise.save(make_walk(20), path)
    return path.read_text()


@pytest.mark.parametrize("verb", ["lock", "quality"])
@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda text: change_row(text, name_no_number), "'nan' is not a number"),
        (lambda text: change_row(text, lambda words: words[:-2]), "numbers; the hierarchy has"),
        (stop_time, "Frame Time: is 0"),
        (lambda text: text[: text.index("Frames:")] + "Frames: 0\nFrame Time: 0.03\n", "has no frames"),
        (lambda _: "", "walk.bvh"),
    ],
    ids=["not a number", "ragged", "no rate", "no frame", "empty"],
)
def test_damaged_clips_are_rejected_by_name(tmp_path, text, verb, spoil, named):
    path, out = tmp_path / "walk.bvh", tmp_path / "out.bvh"
    path.write_text(spoil(text))
    done = run_poise(verb, path, *(["-o", out] if verb == "lock" else []))
    assert (done.exit_code, out.exists()) == (2, False)
    assert named in done.output
    assert str(path) in done.output


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 2, 3])
def test_clips_of_few_frames_are_clips(tmp_path, frames):
    poise.save(make_walk(20)[:frames], tmp_path / "walk.bvh")
    done = run_poise("lock", tmp_path / "walk.bvh", "-o", tmp_path / "out.bvh")
    assert done.exit_code == 0, done.output
    assert len(poise.load_motion(tmp_path / "out.bvh")) == frames
    assert run_poise("quality", tmp_path / "out.bvh").exit_code == 0


def test_a_clip_without_contacts_stays_as_it_is(tmp_path):
    walk = make_walk(20)
    root = walk.model.joints[0]
    q = np.array(walk.q)
    q[:, root.q.start + int(np.argmax(walk.model.up_direction))] += np.linspace(1.0, 40.0, len(q))
    poise.save(poise.Motion(walk.model, q, walk.fps), tmp_path / "fall.npz")
    done = run_poise("lock", tmp_path / "fall.npz", "--model", "humanoid", "-o", tmp_path / "out.npz")
    assert done.exit_code == 0, done.output
    assert "Nothing is in contact in any of the 20 frames" in done.output
    assert np.array_equal(poise.load_motion(tmp_path / "out.npz", model=walk.model).q, q)


def test_a_body_without_feet_is_reported(tmp_path):
    arm = poise.load("panda")
    poise.save(poise.Motion(arm, np.tile(arm.rest, (5, 1)), 30.0), tmp_path / "arm.npz")
    done = run_poise("lock", tmp_path / "arm.npz", "--model", "panda", "-o", tmp_path / "out.npz")
    assert done.exit_code == 2
    assert "has no feet" in done.output
    assert run_poise("quality", tmp_path / "arm.npz", "--model", "panda").exit_code == 0


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("", "it has: none"),
        ("x,y,z\n", "and a row"),
        (POINT, "must have columns x, y, z"),
        ("x;y;z\n0.5;0.1;0.4\n", "must have columns x, y, z"),
        ("x,x,y,z\n1,0.5,0.1,0.4\n", "each once"),
        ("x,y,z,qw\n0.5,0.1,0.4,1\n", "qw, qx, qy, qz"),
        (f"x,y,z\n{POINT}\n0.5,0.1\n", "path.csv:4: has 2 values where the head has 3"),
        (f"x,y,z\n{POINT}0.5,0.1,0.4,0.1\n", "path.csv:3: has 4 values where the head has 3"),
        (f"x,y,z\n{POINT}0.5,,0.4\n", "path.csv:3: '' is not a number"),
        (f"x,y,z\n{POINT}0.5,hello,0.4\n", "path.csv:3: 'hello' is not a number"),
        (f"x,y,z\n{POINT}0.5,nan,0.4\n", "path.csv:3: has a number that is not finite"),
        ("x,y,z,qw,qx,qy,qz\n0.5,0,0.4,0,0,0,0\n", "path.csv:2: wxyz is a quaternion wxyz of zeros"),
        (f"x,y,z\n{'1' * 200_000},0,0\n", "is not a table of text"),
        (b"\xff\xfe\x00", "is not a table of text"),
    ],
)
def test_invalid_paths_are_rejected_with_the_line(tmp_path, content, named):
    path, out = tmp_path / "path.csv", tmp_path / "q.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run_poise("track", "panda", path, "--frame", TCP, "-o", out)
    assert (done.exit_code, out.exists()) == (2, False)
    assert named in done.output


@pytest.mark.parametrize("mode", ["clip", "online"])
@pytest.mark.parametrize(
    "content", [f"x,y,z\n{POINT}", f"\ufeffx, y, z\r\n\r\n{POINT}\n{POINT}", f"name,x,y,z\nhere,{POINT}there,{POINT}"]
)
def test_few_rows_and_other_columns_are_read(tmp_path, content, mode):
    (tmp_path / "path.csv").write_text(content, encoding="utf-8")
    done = run_poise("track", "panda", tmp_path / "path.csv", "--frame", TCP, "--mode", mode, "-o", tmp_path / "q.npz")
    assert done.exit_code == 0, done.output
    assert len(poise.load_motion(tmp_path / "q.npz", model=poise.load("panda"))) == content.count(POINT)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--frame", "nope"], "no frame is called 'nope'"),
        (["--fps", "0"], "fps is 0.0"),
        (["--fps", "nan"], "fps is nan"),
        (["--mode", "fast"], "mode is 'fast'"),
    ],
)
def test_unknown_options_are_rejected_by_name(tmp_path, words, named):
    (tmp_path / "path.csv").write_text(f"x,y,z\n{POINT}")
    done = run_poise("track", "panda", tmp_path / "path.csv", "--frame", TCP, "-o", tmp_path / "q.csv", *words)
    assert (done.exit_code, (tmp_path / "q.csv").exists()) == (2, False)
    assert named in done.output


@pytest.mark.parametrize(("out", "named"), [("q.xyz", "cannot be saved as .xyz"), ("none/q.csv", "there is no folder")])
def test_a_file_that_cannot_be_written_is_rejected_before_the_work(tmp_path, monkeypatch, out, named):
    monkeypatch.setattr("poise.motion.track", lambda *_, **__: pytest.fail("it worked before it looked"))
    monkeypatch.setattr("poise.motion.lock", lambda *_, **__: pytest.fail("it worked before it looked"))
    (tmp_path / "path.csv").write_text(f"x,y,z\n{POINT}")
    poise.save(make_walk(4), tmp_path / "walk.bvh")
    for words in (["track", "panda", tmp_path / "path.csv", "--frame", TCP], ["lock", tmp_path / "walk.bvh"]):
        done = run_poise(*words, "-o", tmp_path / out)
        assert done.exit_code == 2
        assert named in done.output


def measure(path, *options):
    """The figures of `poise quality` that are numbers."""
    found = json.loads(run_poise("quality", path, "--json", *options).stdout)[path.name]
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("units_in_a_metre", "unit"), [(100.0, "cm"), (1e3, "mm"), (1 / 0.0254, "in"), (0.45 / 0.0254, "cmu")]
)
def test_figures_are_millimetres_in_every_unit(tmp_path, units_in_a_metre, unit):
    walk = put_skate_in(make_walk(20))
    paths = [tmp_path / "metres.bvh", tmp_path / "other.bvh"]
    for path, factor in zip(paths, (1.0, units_in_a_metre), strict=True):
        poise.save(scale_motion(walk, factor), path)
    assert poise.load(paths[1]).units == unit
    figures = [measure(path) for path in paths]
    assert figures[0]["slip_max"] > 1.0
    assert figures[1] == pytest.approx(figures[0], rel=1e-3, abs=1e-2)
    assert measure(paths[1], "--scale", 1 / units_in_a_metre) == pytest.approx(figures[0], rel=1e-3, abs=1e-2)


@pytest.mark.parametrize("scale", ["auto", "0.01"])
def test_a_locked_file_keeps_its_unit(tmp_path, scale):
    walk = scale_motion(put_skate_in(make_walk(20)), 100.0)
    poise.save(walk, tmp_path / "walk.bvh")
    done = run_poise("lock", tmp_path / "walk.bvh", "-o", tmp_path / "out.bvh", "--scale", scale)
    assert done.exit_code == 0, done.output
    before, after = (poise.load_motion(tmp_path / name) for name in ("walk.bvh", "out.bvh"))
    assert after.model.length == pytest.approx(before.model.length, rel=1e-6)
    assert np.abs(after.positions("pelvis") - before.positions("pelvis")).max() < 10.0
    assert ("walk.bvh is in centimetres, 1 unit = 0.01 m" in done.output) == (scale == "auto")


def test_the_floor_is_given_in_metres(tmp_path):
    poise.save(scale_motion(make_walk(20), 100.0), tmp_path / "walk.bvh")
    done = run_poise("lock", tmp_path / "walk.bvh", "-o", tmp_path / "out.bvh", "--floor", "0.1")
    assert done.exit_code == 0, done.output
    before, after = (poise.load_motion(tmp_path / name).positions("pelvis")[:, 1] for name in ("walk.bvh", "out.bvh"))
    assert np.median(after - before) == pytest.approx(10.0, abs=2.0)


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    poise.save(make_walk(20), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "online"])
def test_a_motion_is_retargeted_with_a_page_of_both_bodies(walk, tmp_path, mode):
    out = run_poise(
        "retarget", walk, "humanoid", "-o", tmp_path / "walk.csv", "--style", "unitree", "--page", "--mode", mode
    )
    assert out.exit_code == 0, out.output
    assert "knee_l" in out.output
    assert np.loadtxt(tmp_path / "walk.csv", delimiter=",").shape == (20, poise.load("humanoid").nq)
    assert "walk on humanoid" in (tmp_path / "walk.html").read_text("utf-8")


def test_pages_and_streams_are_for_one_motion(walk, tmp_path):
    for words in (["--page"], ["--mode", "online"]):
        out = run_poise("retarget", walk.parent, "humanoid", "-o", tmp_path / "out", *words)
        assert out.exit_code == 2
        assert words[0] in out.output


@pytest.mark.slow
def test_a_folder_ends_with_the_quality_of_each_clip(walk, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.bvh").write_bytes(walk.read_bytes())
    words = [tmp_path / "in", "humanoid", "-o", tmp_path / "out", "--threads", "1", "--fps", "15", "--clearance", "0"]
    out = run_poise("retarget", *words)
    assert out.exit_code == 0, out.output
    head = next(line for line in out.output.splitlines() if "frames" in line)
    assert "bones deg" in head
    assert "speed rad/s" in head
    rows = [line.split() for line in out.output.splitlines() if line.split()[:1] in (["a.bvh"], ["b.bvh"])]
    assert [int(row[1]) for row in rows[:2]] == [10, 10]
    assert "0 a second" not in out.output
    again = json.loads(run_poise("retarget", *words, "--json").stdout)
    assert again["skipped"] == 2
    assert set(again["clips"]) == {"a.bvh", "b.bvh"}
    assert again["clips"]["a.bvh"]["slip_max"] < 0.01
