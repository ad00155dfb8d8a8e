"""URDF in and out: what each element means, by hand-made robots; and back again to the last bit."""

from __future__ import annotations

import math
import pickle
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS, random_model
from poise.errors import FormatError, FormatWarning, InvalidValue, NameNotFound
from poise.model import Box, Capsule, Cylinder, Mesh, Sphere
from urdf_cases import J1, J2, LIMIT, L, joint, mimic, one, robot

ROOT3 = math.sqrt(3.0)


def load(folder: Path, text: str, name: str = "robot.urdf", **options: object) -> poise.Model:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return poise.load(path, **options)  # type: ignore[arg-type]


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
    (tmp_path / "x.fbx").write_bytes(b"Kaydara FBX Binary")
    with pytest.raises(FormatError, match=r"FBX is not read here: import it in Blender .* glTF 2\.0"):
        poise.load(tmp_path / "x.fbx")


# ------------------------------------------------------------------------------------------------ xacro


XACRO = """<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="${1 + 1}"/>
  <xacro:macro name="arm" params="i">
    <link name="l${i}"><visual><geometry><mesh filename="package://p/a.stl"/></geometry></visual></link>
  </xacro:macro>
  <xacro:arm i="0"/> <xacro:arm i="1"/>
  <joint name="j" type="continuous"><parent link="l0"/><child link="l1"/><origin xyz="${length} 0 0"/></joint>
</robot>
"""


@pytest.mark.parametrize("name", ["robot.urdf.xacro", "robot.xacro", "robot.urdf"])
def test_xacro(name: str, tmp_path: Path) -> None:
    model = load(tmp_path, XACRO, name)
    assert model.fk([0.0], "l1")[0, 3] == 2.0
    assert model.shapes[0].shape == Mesh("package://p/a.stl")
    assert any("macros were expanded" in note for note in model.notes)


def test_errors_after_macros_have_the_lines_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nobody") as caught:
        load(tmp_path, XACRO.replace('child link="l1"', 'child link="nobody"'))
    assert caught.value.line == 8
    with pytest.raises(FormatError, match="two links") as caught:  # made by the macro's body
        load(tmp_path, XACRO.replace('i="1"', 'i="0"'))
    assert caught.value.line == 5
    (tmp_path / "part.xacro").write_text(XACRO.replace("${1 + 1}", "${1 + nothing}"))
    with pytest.raises(FormatError, match="'nothing' is not defined") as caught:
        load(tmp_path, '<robot xmlns:xacro="http://x">\n<xacro:include filename="part.xacro"/></robot>', "main.xacro")
    assert caught.value.path == str(tmp_path / "part.xacro")
    assert caught.value.line == 8
    (tmp_path / "part.xacro").write_text(XACRO)
    with pytest.raises(FormatError, match="two links") as caught:  # by the second include, in this file
        load(
            tmp_path,
            '<robot name="r" xmlns:xacro="http://x">\n' + '<xacro:include filename="part.xacro"/>\n' * 2 + "</robot>",
        )
    assert caught.value.line == 3


def test_xacro_includes_files_next_to_it(tmp_path: Path) -> None:
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (tmp_path / "part.xacro").write_text(f'{head}<link name="part"/></robot>')
    assert load(tmp_path, f'{head}<xacro:include filename="part.xacro"/></robot>').frames == ("part",)


def test_yaml_of_xacro(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = "base: &b {turn: !degrees 30 * 3, size: 2}\narm: {<<: *b, size: 3, names: [a, 1.5, true, null, 12]}"
    (tmp_path / "facts.yaml").write_text(text)
    name = "${a.turn == pi / 2}_${a['size']}_${len(a.names)}_${a.names[4] + 1}"
    head = '<robot name="r" xmlns:xacro="http://x"><xacro:property name="a" '
    head += "value=\"${xacro.load_yaml('facts.yaml').arm}\"/>"
    assert load(tmp_path, f'{head}<link name="{name}"/></robot>').frames == ("True_3_5_13",)


# ------------------------------------------------------------------------------------------------ and back


def close(a: poise.Model, b: poise.Model) -> None:
    q = a.random(np.random.default_rng(2), 4)
    for frame in a.frames:
        np.testing.assert_allclose(b.fk(q, frame), a.fk(q, frame), atol=1e-12)
    np.testing.assert_array_equal(b.lower, a.lower)
    np.testing.assert_array_equal(b.rest, a.rest)
    np.testing.assert_allclose(b.mass, a.mass, rtol=1e-15)


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14", "snake100", "planar3"])
def test_there_and_back(name: str, tmp_path: Path) -> None:
    model = poise.load(name)
    path = poise.save(model, tmp_path / "out.urdf")
    close(model, poise.load(path))
    again = poise.load(poise.save(poise.load(path), tmp_path / "again.urdf"))
    close(model, again)
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["again.urdf", "out.urdf"]


@pytest.mark.parametrize("name", ["humanoid", "hand", "quadruped"])
def test_joints_that_urdf_has_not_become_rows(name: str, tmp_path: Path) -> None:
    model = poise.load(name)
    with pytest.warns(FormatWarning, match="rows of single ones"):
        poise.save(model, tmp_path / "out.urdf")
    back = poise.load(tmp_path / "out.urdf")
    close(model, back)
    assert (dict(back.roles), back.up) == (dict(model.roles), model.up)


def write_and_read(model: poise.Model, path: Path) -> poise.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return poise.load(poise.save(model, path))


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed: int, tmp_path: Path) -> None:
    """Every kind of joint but the ball has the coordinates in a URDF that it had in the model."""
    model = random_model(seed, kinds=tuple(kind for kind in ALL_KINDS if kind != "ball"))
    back = write_and_read(model, tmp_path / "out.urdf")
    assert back.nq == model.nq
    q = model.random(np.random.default_rng(3), 3)
    for frame in model.frames:
        np.testing.assert_allclose(back.fk(q, frame), model.fk(q, frame), atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies_with_ball_joints(seed: int, tmp_path: Path) -> None:
    """A ball becomes three hinges: a coordinate less, and the same body where it is not turned."""
    model = random_model(seed)
    back = write_and_read(model, tmp_path / "out.urdf")
    assert back.nq == model.nq - sum(joint.kind == "ball" for joint in model.joints)
    assert back.nv == model.nv
    for frame in model.frames:
        np.testing.assert_allclose(back.fk(back.rest, frame), model.fk(model.rest, frame), atol=1e-11)


def test_what_hangs_on_a_model_comes_back(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("base", None, "free", rest=(1, 2, 3, 1, 0, 0, 0))
    builder.add_joint("a", "base", "revolute", offset=(0, 0, 1), lower=0.5, upper=1, rest=0.75, stiffness=2.0)
    builder.add_joint("b", "a", "prismatic", mimic=("a", 0.1, 0.2))
    builder.add_shape("a", Box((1, 2, 3)), offset=(0, 0, 1), color=(1, 0, 0), use="visual")
    builder.add_shape("b", Mesh("package://x/y.stl", (1, 1, 2)))
    builder.add_shape("b", Capsule(1, 2), use="collision")
    builder.add_role("hand_l", "b")
    builder.add_pose("home", [1, 2, 3, 1, 0, 0, 0, 0.6])
    model = builder.build()
    back = poise.load(poise.save(model, tmp_path / "a.urdf"))
    close(model, back)
    assert dict(back.roles) == {"hand_l": "b"}
    assert back.poses["home"].tolist() == model.poses["home"].tolist()
    assert back.joint("a").stiffness == 2.0
    assert back.shapes[0] == model.shapes[0]
    assert [shape.use for shape in back.shapes[1:3]] == ["visual", "collision"]
    assert [type(shape.shape) for shape in back.shapes[3:]] == [Cylinder, Sphere, Sphere]
    assert pickle.loads(pickle.dumps(back)) == back


@pytest.mark.timing
def test_a_humanoid_loads_in_thirty_milliseconds(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        path = poise.save(poise.load("humanoid"), tmp_path / "humanoid.urdf")
    times = []
    for _ in range(10):
        start = time.process_time()
        poise.load(path)
        times.append(time.process_time() - start)
    assert min(times) < 0.030


def test_saving_rejects_and_leaves_nothing(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("bad\x01name")
    builder.add_frame("a")
    target = tmp_path / "out.urdf"
    target.write_text("old")
    with pytest.raises(FormatError, match=r"out\.urdf.*cannot be written in XML"):
        poise.save(builder.build(), target)
    with pytest.raises(FormatError, match="exists already"):
        poise.save(poise.load("panda"), target, overwrite=False)
    with pytest.raises(FormatError, match="no folder"):
        poise.save(poise.load("panda"), tmp_path / "none" / "out.urdf")
    with pytest.raises(FormatError, match=r"\.abc"):
        poise.save(poise.load("panda"), tmp_path / "out.abc")
    with pytest.raises(InvalidValue, match="int"):
        poise.save(3, target)
    with pytest.raises(FormatError, match="like="):
        poise.save(poise.load("panda"), target, like="dancer.glb")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.urdf"]


def test_a_joint_is_one_and_not_two(tmp_path: Path) -> None:
    text = robot('<link name="base"/><link name="a"/><link name="b"/>' + joint() + J2)
    assert [j.name for j in load(tmp_path, text).joints] == ["j1", "j2"]
