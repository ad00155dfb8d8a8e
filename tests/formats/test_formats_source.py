"""The doors of files: bounded reading, references that stay at home, numbers that are numbers, whole files or none."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import poise
from poise.errors import FormatError
from poise.files.source import Source, parse_number, parse_numbers
from poise.files.target import replace_file
from poise.formats import registry
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


@pytest.mark.parametrize(
    "word",
    [
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
        "9" * 5000,
    ],
)
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
