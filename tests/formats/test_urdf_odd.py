"""Bad URDFs are rejected with path, line and reason; odd ones are read, and their notes list the assumptions."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import poise
from budget import within
from poise.errors import FormatError, FormatWarning
from urdf_cases import J1, J2, ODD, REFUSED, L, link, one, robot, visual

SECONDS = 5.0


def written(folder: Path, content: str | bytes, name: str = "robot.urdf") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


@pytest.mark.parametrize("name", REFUSED)
def test_rejected(name: str, tmp_path: Path) -> None:
    content, word = REFUSED[name]
    path = written(tmp_path, content)
    with within(SECONDS), pytest.raises(FormatError) as caught:
        poise.load(path)
    assert word in str(caught.value)
    assert "could not be read" not in str(caught.value)  # nothing fell through to the net
    assert str(caught.value).count(str(path)) == 1
    assert caught.value.path == str(path)


@pytest.mark.parametrize("name", ODD)
def test_odd(name: str, tmp_path: Path) -> None:
    content, word = ODD[name]
    path = written(tmp_path, content)
    with pytest.warns(FormatWarning, match="(?s).*") as caught:
        model = poise.load(path)
    assert any(word in str(warning.message) for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)  # the caller's line
    assert any(word in note for note in model.notes)


PLAIN = {
    "white space": one('<origin xyz=" \t1\n 2   3 " rpy="0  0\t0"/><limit lower=" -1 " upper="1\n"/>'),
    "scientific": one('<origin xyz="1e-1 +2.5E0 -.5" rpy="0. 0 0"/><limit lower="-1e0" upper="1."/>'),
    "crlf": robot(L + J1 + J2).replace("\n", "\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + robot(L + J1 + J2).encode(),
    "utf-16": robot(L + J1 + J2).replace('"1.0"?', '"1.0" encoding="utf-16"?').encode("utf-16"),
    "no declaration": robot(L + J1 + J2).partition("\n")[2],
    "declared latin-1": b'<?xml version="1.0" encoding="latin-1"?><robot name="\xe4"><link name="b"/></robot>',
    "joints first": robot(J2 + J1 + L),
    "children first": robot(L + J2 + J1),
    "comments": robot("<!-- a --> " + L + "<!-- <joint/> -->" + J1 + J2) + "<!-- end -->",
    "cdata": robot("<![CDATA[ text ]]>" + L + J1 + J2),
    "default namespace": robot(L + J1 + J2, 'name="r" xmlns="http://www.ros.org"'),
    "prefix": '<u:robot xmlns:u="http://u" name="r"><u:link name="base"/></u:robot>',
    "xacro namespace": robot(L + J1 + J2, 'name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"'),
    "macros in comments": robot("<!-- <xacro:x a='${y}'/> -->" + L + J1 + J2, 'name="r" xmlns:xacro="http://x"'),
    "doctype": robot(L + J1 + J2).replace("<robot", "<!DOCTYPE robot>\n<robot"),
    "one link": robot('<link name="base"/>'),
    "names with spaces": robot(L + J1 + J2).replace("base", "the base").replace("j1", "joint 1"),
    "unicode names": robot(L + J1 + J2).replace("base", "\u57fa\u5e95").replace("j1", "gelenk_\xe4"),
    "joint named as a link": robot(L + J1 + J2).replace("j1", "b"),
    "transmission and gazebo": robot(
        L + J1 + J2 + '<transmission name="t"><joint name="j1"/></transmission><gazebo reference="a"><x/></gazebo>'
        '<ros2_control name="c"/><sensor name="s"/><material name="m"><color rgba="1 0 0 1"/></material>'
    ),
    "safety, calibration, dynamics": one(
        '<limit lower="-1" upper="1" effort="1" velocity="1"/><safety_controller soft_lower_limit="-1" k_velocity="1"/>'
        '<calibration rising="0.1"/><dynamics damping="1" friction="0"/>'
    ),
    "other namespaces": robot(L + J1 + J2 + "<drake:thing/>"),
    "zero mass": link('<inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0"/></inertial>'),
    "package mesh": visual('<mesh filename="package://arm/meshes/a.stl" scale="1 1 -1"/>'),
    "unknown material": link(
        '<visual><geometry><sphere radius="1"/></geometry><material name="nowhere"/></visual><collision>'
        '<geometry><cylinder radius="1" length="2"/></geometry></collision>'
    ),
    "equal limits": one('<limit lower="0.5" upper="0.5" effort="1" velocity="1"/>'),
    "attributes that nobody knows": one().replace("<joint ", '<joint since="2020" '),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_read_without_a_word(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = poise.load(written(tmp_path, PLAIN[name]))
    assert model.fk(model.rest).shape == (len(model.frames), 4, 4)


def test_errors_have_their_line(tmp_path: Path) -> None:
    text = one('<axis xyz="0 0 0"/>')
    with pytest.raises(FormatError) as caught:
        poise.load(written(tmp_path, text))
    assert caught.value.line == 1 + text.splitlines().index('<axis xyz="0 0 0"/>')
    assert f"robot.urdf:{caught.value.line}: joint 'j1'" in str(caught.value)


def test_a_loop_is_reported_with_its_joints(tmp_path: Path) -> None:
    turn = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/></joint>'.format
    links = '<link name="r"/><link name="a"/><link name="b"/><link name="c"/>'
    text = robot("\n".join([links, turn("j1", "a", "b"), turn("j2", "b", "a"), turn("j3", "a", "c")]))
    with pytest.raises(FormatError, match=r"the joints 'j1', 'j2' form a loop.*Remove one") as caught:
        poise.load(written(tmp_path, text))
    assert caught.value.line == 4


def test_long_names_and_texts_do_not_flood_the_message(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        poise.load(written(tmp_path, one(f'<origin xyz="{"9" * 100_000}x 0 0"/>')))
    assert len(str(caught.value)) < 400


@pytest.mark.slow
@pytest.mark.parametrize("count", [3000])
def test_long_chains_load_in_bounded_time(count: int, tmp_path: Path) -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(count + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(count)
    )
    with within(4 * SECONDS):
        model = poise.load(written(tmp_path, robot(links + joints)))
    assert model.nv == count


def test_many_oddities_are_counted_not_listed(tmp_path: Path) -> None:
    strange = "".join(f"<tag{i}/>" for i in range(5000))
    with pytest.warns(FormatWarning) as caught:
        model = poise.load(written(tmp_path, robot(L + J1 + J2 + strange)))
    assert len(caught) == len(model.notes) < 50
    assert "further oddities" in model.notes[-1]


@pytest.mark.parametrize("head", [b"<!--", b"<?", b"<!A [", b"<!", b"<", b"a", b"<![", b"<!A []"])
@pytest.mark.parametrize("name", ["robot.urdf", "robot", "robot.xml", "arm.csv", "arm.dh"])
def test_looking_at_a_long_head_takes_no_time(head: bytes, name: str, tmp_path: Path) -> None:
    for filling in (head, head + b" " * 50):
        path = written(tmp_path, filling * (1_000_000 // len(filling)), name)
        with within(SECONDS), pytest.raises(FormatError):
            poise.load(path)
