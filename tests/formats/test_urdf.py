"""Reading URDF: what each element means, by hand-made robots; bad ones are rejected, odd ones read with notes."""

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from budget import within
from file_cases import check_rejected, check_warned, load_quietly, written
from poise.errors import FormatError, FormatWarning, InvalidValue, NameNotFound
from poise.model import Box, Capsule, Cylinder, Mesh, Sphere
from urdf_cases import J1, J2, LIMIT, ODD, REFUSED, L, joint, link, mimic, one, robot, visual

ROOT3 = math.sqrt(3.0)


def load(folder: Path, text: str, name: str = "robot.urdf", **options: Any) -> poise.Model:
    return load_quietly(folder / name, text, **options)


# ------------------------------------------------------------------------------------------------ joints


@pytest.mark.parametrize(
    ("kind", "ours", "nq", "nv"),
    [
        ("revolute", "revolute", 1, 1),
        ("continuous", "continuous", 1, 1),
        ("prismatic", "prismatic", 1, 1),
        ("fixed", "fixed", 0, 0),
        ("floating", "free", 7, 6),
        ("planar", "planar", 3, 3),
    ],
)
def test_kinds(kind: str, ours: str, nq: int, nv: int, tmp_path: Path) -> None:
    model = load(tmp_path, one('<axis xyz="0 0 1"/>' + (LIMIT if kind in ("revolute", "prismatic") else ""), kind))
    assert (model.joints[0].kind, model.nq, model.nv) == (ours, nq, nv)
    assert model.frames == ("base", "a")
    assert model.frame("j1") == model.frame("a")  # a joint's name means its child link
    assert model.name == "r"
    assert model.up == "z"
    assert model.source.endswith("robot.urdf")


def test_axes_origins_and_ranges(tmp_path: Path) -> None:
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="1 1 -1"/><limit lower="-0.5" upper="2"/>'
    model = load(tmp_path, one(inside))
    j1 = model.joint("j1")
    np.testing.assert_allclose(j1.axis, np.array([1, 1, -1]) / ROOT3, atol=1e-15)
    assert (j1.lower, j1.upper) == (-0.5, 2.0)
    turn = poise.Rotation.from_euler("ZYX", [0.3, 0.2, 0.1]) @ poise.Rotation.from_axis_angle(j1.axis, 0.7)
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = turn.matrix, (1, 2, 3)
    np.testing.assert_allclose(model.fk([0.7], "a"), expected, atol=1e-15)
    assert load(tmp_path, one()).joint("j1").axis.tolist() == [1.0, 0.0, 0.0]  # the default


def test_missing_ranges_are_none(tmp_path: Path) -> None:
    for inside in ("", '<limit effort="1" velocity="1"/>'):
        j1 = load(tmp_path, one(inside)).joint("j1")
        assert (j1.kind, j1.lower, j1.upper) == ("revolute", -math.inf, math.inf)
    assert load(tmp_path, one('<limit upper="2" effort="1" velocity="1"/>')).joint("j1").lower == 0.0


def test_planar_slides_across_its_normal(tmp_path: Path) -> None:
    for axis in ("0 0 1", "0 1 0", "1 1 0"):
        model = load(tmp_path, one(f'<axis xyz="{axis}"/>', "planar"))
        normal = model.joint("j1").axis
        for q in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, -0.4, 1.0]):
            at = model.fk(q, "a")
            assert abs(normal @ at[:3, 3]) < 1e-15
            np.testing.assert_allclose(at[:3, :3] @ normal, normal, atol=1e-15)
            assert np.linalg.norm(at[:3, 3]) == pytest.approx(math.hypot(q[0], q[1]))


def test_mimics_in_any_order_and_chained(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(5))

    def row(i: int, follows: str = "") -> str:
        ends = f'<parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 0 1"/>'
        return f'<joint name="j{i}" type="continuous">{ends}{follows}</joint>'

    parts = [
        row(0, '<mimic joint="j1" multiplier="2" offset="0.1"/>'),
        row(1, '<mimic joint="j3" multiplier="-0.5" offset="1"/>'),
        row(2, '<mimic joint="j3"/>'),
        row(3),
    ]
    for order in (parts, parts[::-1], [parts[2], parts[0], parts[3], parts[1]]):
        model = load(tmp_path, robot(links + "".join(order)))
        assert (model.nq, model.nv) == (1, 1)
        assert tuple(model.joint("j0").mimic) == ("j3", -1.0, 2.1)
        q = 0.3
        angles = (2 * (-0.5 * q + 1) + 0.1, -0.5 * q + 1, q, q)
        at = model.fk([q], "l4")
        assert math.atan2(at[1, 0], at[0, 0]) == pytest.approx(math.remainder(sum(angles), math.tau), abs=1e-15)


def test_a_followers_range_binds_its_leader(tmp_path: Path) -> None:
    model = load(tmp_path, mimic("", '<mimic joint="j1" multiplier="-2"/>'))
    assert (model.lower[0], model.upper[0]) == (-0.5, 0.5)


def test_a_prefix_forgotten_in_a_mimic_is_found(tmp_path: Path) -> None:
    text = robot((L + J1 + J2.replace("</joint>", '<mimic joint="j1"/></joint>')).replace('name="j', 'name="left_j'))
    (tmp_path / "r.urdf").write_text(text)
    with pytest.warns(FormatWarning, match="read as 'left_j1'"):
        model = poise.load(tmp_path / "r.urdf")
    assert model.nv == 1


# ------------------------------------------------------------------------------------------------ links


def test_masses(tmp_path: Path) -> None:
    inertial = (
        '<inertial><origin xyz="0 0 2" rpy="1 0 0"/><mass value="3"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    )
    text = one().replace('<link name="a"/>', f'<link name="a">{inertial}</link>')
    model = load(
        tmp_path, text.replace('<link name="base"/>', '<link name="base"><inertial><mass value="1"/></inertial></link>')
    )
    assert model.mass == 4.0
    np.testing.assert_allclose(model.center_of_mass(model.rest), [0, 0, 1.5])


def test_shapes(tmp_path: Path) -> None:
    shapes = """
      <visual name="v"><origin xyz="0 0 1"/><material name="red"/>
        <geometry><mesh filename="package://arm/meshes/Base.STL" scale="2 2 2"/></geometry></visual>
      <visual><geometry><mesh filename="../meshes/base.dae"/></geometry></visual>
      <collision><geometry><box size="1 2 3"/></geometry></collision>
      <collision><geometry><cylinder radius="1" length="2"/></geometry></collision>
      <collision><geometry><sphere radius="0.5"/></geometry></collision>
      <collision><geometry><capsule radius="0.5" length="3"/></geometry></collision>
    """
    text = robot(f'<material name="red"><color rgba="1 0 0 0.5"/></material><link name="base">{shapes}</link>')
    model = load(tmp_path, text)
    mesh, other, *solids = model.shapes
    assert mesh.shape == Mesh("package://arm/meshes/Base.STL", (2.0, 2.0, 2.0))
    assert (mesh.use, mesh.color, mesh.frame) == ("visual", (1.0, 0.0, 0.0, 0.5), "base")
    assert mesh.offset.translation.tolist() == [0.0, 0.0, 1.0]
    assert other.shape == Mesh("../meshes/base.dae")  # kept as it is written; nothing is opened
    assert [solid.shape for solid in solids] == [Box((1, 2, 3)), Cylinder(1, 2), Sphere(0.5), Capsule(0.5, 3)]
    assert {solid.use for solid in solids} == {"collision"}


# ------------------------------------------------------------------------------------------------ options


def test_options(tmp_path: Path) -> None:
    text = one('<origin xyz="0 0 100"/><axis xyz="0 0 1"/><limit lower="-10" upper="50"/>', "prismatic")
    plain = load(tmp_path, text)
    assert plain.fk([5.0], "a")[2, 3] == 105.0
    small = load(tmp_path, text, scale=0.01)
    assert (small.lower[0], small.upper[0], small.fk([0.05], "a")[2, 3]) == (-0.1, 0.5, 1.05)
    guessed = load(tmp_path, text, scale="auto")
    assert guessed.fk([0.0], "a")[2, 3] == 1.0
    assert any("centimetres" in note for note in guessed.notes)
    up = load(tmp_path, text, up="y")
    assert up.up == "y"
    np.testing.assert_allclose(up.fk([0.0], "a")[:3, 3], [0, 100, 0], atol=1e-12)
    free = load(tmp_path, text, base="free")
    assert (free.joints[0].kind, free.nv, free.frames) == ("free", 7, ("base", "a"))
    assert load(tmp_path, one("", "floating"), base="free").nv == 6  # it has its own
    marker = '<link name="m"/><joint name="n" type="fixed"><parent link="base"/><child link="m"/></joint></robot>'
    assert load(tmp_path, one("", "floating").replace("</robot>", marker), base="free").nv == 6
    for wrong in ({"base": "loose"}, {"scale": 0}, {"scale": "big"}, {"up": "w"}):
        with pytest.raises(InvalidValue):
            poise.load("panda", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ROBOT.URDF", "robot.Urdf", "robot.xml", "robot", "robot.txt", "robot.v2.urdf"])
def test_the_name_may_be_odd(name: str, tmp_path: Path) -> None:
    assert load(tmp_path, robot("<!-- <mujoco/> -->" + L + J1 + J2), name).nv == 2


def test_paths_that_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "panda.urdf").write_text(one())
    for path in (tmp_path / "pandas.urdf", tmp_path / "none" / "x.urdf", tmp_path, "/dev/null/x.urdf", "a\0b.urdf"):
        with pytest.raises(FormatError):
            poise.load(path)
    with pytest.raises(FormatError, match=r"panda\.urdf"):
        poise.load(tmp_path / "pandas.urdf")
    for name in ("pandaa", "", "a" * 5000, "a\0b"):
        with pytest.raises(NameNotFound):
            poise.load(name)
    for wrong in (3, None, ["panda"]):
        with pytest.raises(InvalidValue):
            poise.load(wrong)  # type: ignore[arg-type]
    (tmp_path / "x.unknown").write_text("hello")
    with pytest.raises(FormatError, match="no known format"):
        poise.load(tmp_path / "x.unknown")
    (tmp_path / "x.blend").write_bytes(b"BLENDER-v304")
    with pytest.raises(FormatError, match=r"In Blender, write a \.glb: File > Export > glTF 2\.0"):
        poise.load(tmp_path / "x.blend")


# ------------------------------------------------------------------------------------------------ xacro


# ------------------------------------------------------------------------------------------------ and back


def test_a_joint_is_one_and_not_two(tmp_path: Path) -> None:
    text = robot('<link name="base"/><link name="a"/><link name="b"/>' + joint() + J2)
    assert [j.name for j in load(tmp_path, text).joints] == ["j1", "j2"]


SECONDS = 5.0


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
        model = poise.load(written(tmp_path / "robot.urdf", PLAIN[name]))
    assert model.fk(model.rest).shape == (len(model.frames), 4, 4)


def test_errors_have_their_line(tmp_path: Path) -> None:
    text = one('<axis xyz="0 0 0"/>')
    with pytest.raises(FormatError) as caught:
        poise.load(written(tmp_path / "robot.urdf", text))
    assert caught.value.line == 1 + text.splitlines().index('<axis xyz="0 0 0"/>')
    assert f"robot.urdf:{caught.value.line}: joint 'j1'" in str(caught.value)


def test_a_loop_is_reported_with_its_joints(tmp_path: Path) -> None:
    turn = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/></joint>'.format
    links = '<link name="r"/><link name="a"/><link name="b"/><link name="c"/>'
    text = robot("\n".join([links, turn("j1", "a", "b"), turn("j2", "b", "a"), turn("j3", "a", "c")]))
    with pytest.raises(FormatError, match=r"the joints 'j1', 'j2' form a loop.*Remove one") as caught:
        poise.load(written(tmp_path / "robot.urdf", text))
    assert caught.value.line == 4


def test_long_names_and_texts_do_not_flood_the_message(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        poise.load(written(tmp_path / "robot.urdf", one(f'<origin xyz="{"9" * 100_000}x 0 0"/>')))
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
        model = poise.load(written(tmp_path / "robot.urdf", robot(links + joints)))
    assert model.nv == count


def test_many_oddities_are_counted_not_listed(tmp_path: Path) -> None:
    strange = "".join(f"<tag{i}/>" for i in range(5000))
    with pytest.warns(FormatWarning) as caught:
        model = poise.load(written(tmp_path / "robot.urdf", robot(L + J1 + J2 + strange)))
    assert len(caught) == len(model.notes) < 50
    assert "further oddities" in model.notes[-1]


@pytest.mark.slow
def test_many_forgotten_prefixes_are_found_in_time(tmp_path: Path) -> None:
    parts = "".join(
        f'<link name="l{i}"/><joint name="p_j{i}" type="continuous"><parent link="l"/><child link="l{i}"/>'
        f"{'<mimic joint=@j0@/>'.replace('@', chr(34)) if i else ''}</joint>"
        for i in range(1000)
    )
    with within(10), pytest.warns(FormatWarning):
        model = poise.load(written(tmp_path / "a.urdf", f'<robot name="r"><link name="l"/>{parts}</robot>'))
    assert model.nq == 1


@pytest.mark.parametrize("name", REFUSED)
def test_rejected(name: str, tmp_path: Path) -> None:
    content, words = REFUSED[name]
    check_rejected(tmp_path / "robot.urdf", content, re.escape(words), seconds=SECONDS)


@pytest.mark.parametrize("name", ODD)
def test_odd(name: str, tmp_path: Path) -> None:
    content, words = ODD[name]
    check_warned(tmp_path / "robot.urdf", content, re.escape(words))
