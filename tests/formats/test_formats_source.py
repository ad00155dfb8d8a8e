"""The doors of files: bounded reading and work, references that stay at home, whole files or none."""

import os
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import poise
from budget import within
from file_cases import written
from poise.errors import FormatError
from poise.files.source import Source, parse_number, parse_numbers
from poise.files.target import replace_file
from poise.formats import registry
from poise.formats.names import reserve_name
from poise.formats.roles import find_new_roles
from poise.formats.xml import find_root_tag, parse_xml

NOWHERE = Source("file.txt", b"")


def test_large_files_are_rejected_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # a hole, which costs no disk
    with pytest.raises(FormatError, match="at most"):
        poise.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_are_rejected_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(FormatError, match="not a plain file"):
        poise.load(tmp_path / "pipe.urdf")


@pytest.mark.parametrize(
    "reference",
    ["../x", "a/../../x", "/etc/passwd", "file:///etc/passwd", "http://x/y", "C:\\x", "..\\x", "", "a\0b", "link/x"],
)
def test_references_that_lead_away(reference: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    try:
        (home / "link").symlink_to(tmp_path, target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(FormatError):
        Source(str(home / "a.gltf"), b"").find_sibling(reference)


def test_references_that_stay(tmp_path: Path) -> None:
    source = Source(str(tmp_path / "a.gltf"), b"")
    for reference in ("a.bin", "textures/a b.png", "./x", "b/../x"):
        assert source.find_sibling(reference).is_relative_to(tmp_path.resolve())


@pytest.mark.parametrize("word", ["1", "-1.5", "+.5", "5.", "1e-3", "1E+05", " 2 ", "1e-400", "0" * 300 + "7"])
def test_numbers(word: str) -> None:
    assert parse_number(word, "x", NOWHERE) == float(word)
    assert parse_numbers(f"{word} {word}", 2, "x", NOWHERE) == [float(word)] * 2


NO_NUMBERS = (
    *(
        "",
        "nan",
        "inf",
        "-Infinity",
        "1_0",
        "0x1p3",
        "1,5",
        "1e",
        "e5",
        ".",
        "+",
        "--1",
        "1e400",
        "\u0661",
        "1d3",
        "1 2",
    ),
    *("1 2", "9" * 5000),
)


@pytest.mark.parametrize("word", NO_NUMBERS)
def test_no_numbers(word: str) -> None:
    with pytest.raises(FormatError):
        parse_number(word, "x", NOWHERE)
    if word.split() == [word]:
        with pytest.raises(FormatError):
            parse_numbers(f"1 {word}", 2, "x", NOWHERE)


def test_text() -> None:
    assert Source("a", "\ufeffgr\xfc\xdfe".encode()).read_text() == "gr\xfc\xdfe"
    assert Source("a", "gr\xfc\xdfe".encode("utf-16")).read_text() == "gr\xfc\xdfe"
    old = Source("a", "x\ngr\xfc\xdfe".encode("latin-1"))
    assert old.read_text() == "x\ngr\xfc\xdfe"
    assert "line 2" in old.oddities[0]
    for bad in (b"a\0b", b"\xff\xfea\0b", b"\xff\xfe\0\xd8x\0"):
        with pytest.raises(FormatError):
            Source("a", bad).read_text()


def test_errors_travel() -> None:
    error = Source("a.urdf", b"").make_error("is odd.", 3)
    assert str(pickle.loads(pickle.dumps(error))) == "a.urdf:3: is odd."


@pytest.mark.parametrize(
    ("head", "tag"),
    [
        (b"<?xml version='1.0'?><!-- <a> --><robot>", "robot"),
        (b"\xef\xbb\xbf\n<mujoco model='x'>", "mujoco"),
        ("<robot/>".encode("utf-16"), "robot"),
        (b"<!DOCTYPE x [<!ENTITY a '<b>'>]><x:robot>", "x:robot"),
        (b"HIERARCHY", ""),
        (b"<!-- open", ""),
        (b"", ""),
    ],
)
def test_root_tags(head: bytes, tag: str) -> None:
    assert find_root_tag(head) == tag


@pytest.mark.parametrize("head", [b"<!--", b"<?", b"<!A [", b"<!", b"<", b"a", b"<![", b"<!A []"])
@pytest.mark.parametrize("name", ["robot.urdf", "robot", "robot.xml", "arm.csv", "arm.dh"])
def test_looking_at_a_long_head_takes_no_time(head: bytes, name: str, tmp_path: Path) -> None:
    for filling in (head, head + b" " * 50):
        path = written(tmp_path / name, filling * (1_000_000 // len(filling)))
        with within(5.0), pytest.raises(FormatError):
            poise.load(path)


@pytest.mark.slow
def test_xml_is_bounded() -> None:
    with pytest.raises(FormatError, match="elements"):
        parse_xml(Source("a", b"<r>" + b"<a/>" * 500_000 + b"</r>"))
    with pytest.raises(FormatError, match="deep"):
        parse_xml(Source("a", b"<r>" * 1000))


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with replace_file(target) as path:
        path.write_text("one")
        assert path.suffix == ".txt"
        assert not target.exists()
    for error in (KeyboardInterrupt, OSError, FormatError("is wrong.")):
        with pytest.raises((KeyboardInterrupt, FormatError)), replace_file(target) as path:  # noqa: PT012
            path.write_text("two")
            raise error
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "one")]


def test_formats_say_what_they_do() -> None:
    for module in registry.list_formats():
        assert module.__doc__
        assert module.NAME
        assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in module.SUFFIXES)
        assert not module.looks_like(b"")
        assert any(hasattr(module, verb) for verb in ("read_model", "read_motion", "write_pose", "write_arrays"))


JOINT = """<link name="l{child}"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
<joint name="j{child}" type="revolute"><parent link="l{parent}"/><child link="l{child}"/>
<origin xyz="0.01 {child} 0.1"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


BONE = "JOINT b{k}\n{{\nOFFSET {k} 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}"


BODY = '<body name="b{k}" pos="{k} 0 1"><joint name="j{k}" axis="0 0 1" range="-1 1"/><geom size="0.05"/></body>'


def write_links(path: Path, count: int, star: bool) -> Path:
    joints = [JOINT.format(child=k + 1, parent=0 if star else k) for k in range(count)]
    path.write_text(f'<robot name="many"><link name="l0"/>{"".join(joints)}</robot>')
    return path


def write_star(path: Path, count: int) -> Path:
    return write_links(path.with_suffix(".urdf"), count, star=True)


def write_chain(path: Path, count: int) -> Path:
    return write_links(path.with_suffix(".urdf"), count, star=False)


def write_bones(path: Path, count: int) -> Path:
    root = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    bones = "\n".join(BONE.format(k=k) for k in range(count))
    row = " ".join(["0"] * 3 * (count + 1))
    path = path.with_suffix(".bvh")
    path.write_text(f"{root}{bones}\n}}\nMOTION\nFrames: 1\nFrame Time: 0.04\n{row}\n")
    return path


def write_mjcf(path: Path, count: int) -> Path:
    bodies = "".join(BODY.format(k=k) for k in range(count))
    path = path.with_suffix(".xml")
    path.write_text(f'<mujoco><worldbody><body name="base"><geom size="0.1"/>{bodies}</body></worldbody></mujoco>')
    return path


def count_calls(call: Callable[[], Any]) -> int:
    """Return how many functions a call enters, native ones included."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def check_linear(tmp_path: Path, write: Callable[[Path, int], Path], count: int) -> None:
    paths = [write(tmp_path / f"body{n}", n) for n in (10, count, 2 * count)]
    poise.load(paths[0])  # what is imported on the way does not count
    once, twice = (count_calls(partial(poise.load, path)) for path in paths[1:])
    assert once > count
    assert twice < 2.3 * once


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_star, write_chain, write_bones])
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_twice_the_joints_are_twice_the_work(tmp_path: Path, write: Callable[[Path, int], Path]) -> None:
    check_linear(tmp_path, write, 300)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_twice_the_bodies_of_mjcf_are_twice_the_work(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    check_linear(tmp_path, write_mjcf, 300)


@pytest.mark.filterwarnings("ignore::poise.errors.FormatWarning")
def test_roles_are_found_on_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def find(model: poise.Model) -> tuple[dict[str, str], str]:
        asked.append(model.name)
        return find_new_roles(model)

    monkeypatch.setattr("poise.formats.roles.find_new_roles", find)
    path = tmp_path / "body.urdf"
    poise.save(poise.load("humanoid"), path)
    path.write_text("\n".join(line for line in path.read_text().splitlines() if "<role " not in line))
    model = poise.load(path)
    model.fk(model.rest, model.frames[-1])
    assert not asked
    assert model.roles["hand_l"] == "hand_l"
    assert any(note.startswith("roles: ") for note in model.notes)
    assert model == poise.load(path)
    assert asked == ["humanoid"] * 2


def test_names_that_are_taken_are_numbered_upwards() -> None:
    taken = {"toe", "foot", "foot#4"}
    assert [reserve_name(name, taken, "#{}") for name in ("foot", "foot", "foot", "hand")] == [
        "foot#2",
        "foot#3",
        "foot#5",
        "hand",
    ]
    assert {"foot#2", "foot#3", "foot#5", "hand"} < taken
