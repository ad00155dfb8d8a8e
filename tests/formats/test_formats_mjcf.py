"""MJCF: what each element becomes: joints, ranges, couplings, poses, shapes, masses, files that are not there."""

from pathlib import Path

import numpy as np
import pytest

import poise
from mjcf_files import GEOM, agrees, load, mujoco, worst, write
from poise.errors import FormatError, FormatWarning
from poise.model import BallRange, Box, Capsule, Cylinder, Mesh, Sphere

pytestmark = pytest.mark.slow


def test_frames_joints_and_ranges(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        f'<body name="arm"><joint name="h" range="-90 90"/><joint name="t" range="-90 90" limited="false"/>{GEOM}'
        f'<body name="fore"><joint name="s" type="slide" range="0 1"/>{GEOM}<site name="tip"/>'
        f'<body name="hand"><joint name="b" type="ball" range="0 60"/>{GEOM}</body></body></body>',
    )
    assert set(model.frames) == {"world", "arm", "h", "fore", "tip", "hand"}
    assert [(joint.name, joint.kind) for joint in model.joints] == [
        ("h", "revolute"),
        ("t", "continuous"),
        ("s", "prismatic"),
        ("b", "ball"),
    ]
    assert model.joint("h").upper == pytest.approx(np.pi / 2)
    assert (model.joint("s").lower, model.joint("s").upper) == (0.0, 1.0)
    assert model.joint("b").cone == BallRange(angle=np.pi / 3)
    assert (model.up, model.units) == ("z", "m")
    assert model.source.endswith("model.xml")


def test_autolimits(tmp_path: Path) -> None:
    joint = f'<body><joint name="j" range="-1 1"/>{GEOM}</body>'
    radian = '<compiler angle="radian" autolimits="{}"/>'
    assert load(tmp_path, joint, radian.format("true")).joint("j").upper == 1.0
    joint = joint.replace("range=", 'limited="true" range=')
    assert load(tmp_path, joint, radian.format("false")).joint("j").upper == 1.0
    assert load(tmp_path, joint.replace("true", "false"), radian.format("false")).joint("j").upper == np.inf


def test_the_reference_is_where_it_rests(tmp_path: Path) -> None:
    model = load(tmp_path, f'<body name="a"><joint ref="30" range="0 90"/>{GEOM}</body>')
    assert model.rest == pytest.approx([np.pi / 6])
    np.testing.assert_allclose(model.fk(model.rest, "a"), np.eye(4), atol=1e-15)


def test_default_classes(tmp_path: Path) -> None:
    classes = (
        '<default><joint axis="1 0 0" range="-10 10"/><default class="arm"><joint axis="0 1 0"/>'
        '<default class="wrist"><joint type="slide"/></default></default></default>'
    )
    model = load(
        tmp_path,
        f'<body><joint name="a"/>{GEOM}<body childclass="arm"><joint name="b"/>{GEOM}'
        f'<body><joint name="c" class="wrist"/>{GEOM}</body></body></body>',
        classes,
    )
    np.testing.assert_array_equal([joint.axis for joint in model.joints], [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert model.joint("c").kind == "prismatic"
    assert model.joint("c").upper == 10.0


def test_includes_also_from_below(tmp_path: Path) -> None:
    write(tmp_path, '<mujoco><include file="parts/arm.xml"/></mujoco>')
    arm = '<mujoco><worldbody><include file="hand.xml"/></worldbody><include file="defaults.xml"/></mujoco>'
    write(tmp_path, arm, "parts/arm.xml")
    write(tmp_path, f'<mujocoinclude><body name="hand"><joint/>{GEOM}</body></mujocoinclude>', "parts/hand.xml")
    write(tmp_path, '<mujoco><default><joint axis="0 1 0"/></default></mujoco>', "defaults.xml")
    model = agrees(tmp_path / "model.xml")
    np.testing.assert_array_equal(model.joints[0].axis, (0, 1, 0))


def test_attached_models(tmp_path: Path) -> None:
    write(
        tmp_path,
        f'<mujoco model="hand"><worldbody><body name="palm"><joint/>{GEOM}</body></worldbody></mujoco>',
        "h.xml",
    )
    write(
        tmp_path,
        '<mujoco><asset><model name="hand" file="h.xml"/></asset><worldbody><body name="arm" pos="0 0 1">'
        '<attach model="hand" body="palm" prefix="left_"/></body></worldbody></mujoco>',
    )
    assert "left_palm" in agrees(tmp_path / "model.xml").frames


PAIR = (
    f'<body><joint name="x" ref="10" range="-90 90"/>{GEOM}</body>'
    f'<body name="b"><joint name="y" ref="20" range="-180 180"/>{GEOM}</body>'
)


def test_a_linear_coupling_is_a_mimic(tmp_path: Path) -> None:
    model = load(tmp_path, PAIR, '<equality><joint joint1="y" joint2="x" polycoef="0.1 2 0 0 0"/></equality>')
    mimic = model.joint("y").mimic
    assert mimic is not None
    assert (mimic.joint, mimic.ratio) == ("x", 2.0)
    assert mimic.offset == pytest.approx(np.radians(20) + 0.1 - 2 * np.radians(10))
    assert model.nq == 1
    assert worst(model, mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml")), np.array([0.3])) < 1e-10


def test_a_joint_held_at_a_value_keeps_its_place(tmp_path: Path) -> None:
    model = load(tmp_path, PAIR, '<equality><joint joint1="y" polycoef="0.1 0 0 0 0"/></equality>')
    assert model.nq == 2
    assert model.joint("y").lower == model.joint("y").upper == pytest.approx(np.radians(20) + 0.1)


@pytest.mark.parametrize(
    ("equality", "words"),
    [
        ('<joint joint1="y" joint2="x" polycoef="0 1 0.5 0 0"/>', "not linear"),
        ('<joint joint1="y" joint2="x"/><joint joint1="x" joint2="y"/>', "follow each other"),
        ('<joint joint1="y" joint2="x"/><joint joint1="y" joint2="x"/>', "follows another"),
        ('<joint joint1="y" joint2="x" polycoef="50 1 0 0 0"/>', "no value keeps both"),
    ],
)
def test_other_couplings_are_left_out_aloud(tmp_path: Path, equality: str, words: str) -> None:
    with pytest.warns(FormatWarning, match=words):
        model = load(tmp_path, PAIR, f"<equality>{equality}</equality>")
    assert any(words in note for note in model.notes)


def test_an_inactive_coupling_is_noted_only(tmp_path: Path) -> None:
    model = load(tmp_path, PAIR, '<equality><joint joint1="y" joint2="x" active="false"/></equality>')
    assert model.nq == 2
    assert any("not active" in note for note in model.notes)


def test_key_frames_are_poses(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        f'<body name="a"><freejoint/>{GEOM}<body><joint name="x"/>{GEOM}'
        f'<body><joint name="y"/>{GEOM}</body></body></body>',
        '<equality><joint joint1="y" joint2="x"/></equality>'
        '<keyframe><key name="home" qpos="1 2 3 2 0 0 0 0.5 0.5"/><key qpos="0 0 0 1 0 0 0 0.25 0.25"/></keyframe>',
    )
    assert list(model.poses) == ["home", "key_1"]
    np.testing.assert_allclose(model.poses["home"], [1, 2, 3, 1, 0, 0, 0, 0.5])
    np.testing.assert_array_equal(model.fk(model.poses["home"], "a")[:3, 3], (1, 2, 3))


def test_geoms_are_shapes(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        '<geom type="plane" size="1 1 1"/><body name="b"><geom size="0.1" rgba="1 0 0 1"/>'
        '<geom type="capsule" size="0.1 0.5" pos="1 0 0" contype="0" conaffinity="0"/>'
        '<geom type="cylinder" size="0.1 0.5" group="3"/><geom type="box" size="1 2 3" material="m"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 2" size="0.2"/></body>',
        '<asset><material name="m" rgba="0 1 0 0.5"/></asset>',
    )
    shapes = [(shape.shape, shape.use) for shape in model.shapes]
    assert shapes == [
        (Sphere(0.1), "both"),
        (Capsule(0.1, 1.0), "visual"),
        (Cylinder(0.1, 1.0), "collision"),
        (Box((2.0, 4.0, 6.0)), "both"),
        (Capsule(0.2, 2.0), "both"),
    ]
    assert {shape.frame for shape in model.shapes} == {"b"}
    assert model.shapes[0].color == (1, 0, 0, 1)
    assert model.shapes[3].color == (0, 1, 0, 0.5)
    np.testing.assert_array_equal(model.shapes[1].offset.translation, (1, 0, 0))
    np.testing.assert_allclose(model.shapes[4].offset.translation, (0, 0, 1))


def test_masses(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        '<body name="a"><joint/><inertial pos="1 0 0" mass="2" diaginertia="1 1 1"/>'
        '<body name="b" pos="0 0 1"><geom size="0.1" mass="3" pos="0 1 0"/></body></body>',
    )
    assert model.mass == pytest.approx(5.0)
    np.testing.assert_allclose(model.center_of_mass(model.rest), np.array([2, 3, 3]) / 5)


CUBE = (
    "".join(f"v {x} {y} {z}\n" for x in (0, 2) for y in (0, 2) for z in (0, 2))
    + "f 1 2 4\nf 1 4 3\nf 5 7 8\n"
    + ("f 5 8 6\nf 1 5 6\nf 1 6 2\nf 3 4 8\nf 3 8 7\nf 1 3 7\nf 1 7 5\nf 2 6 8\nf 2 8 4\n")
)
MESHED = (
    '<mujoco><compiler meshdir="parts"/><asset><mesh name="m" file="cube.obj" scale="0.5 0.5 0.5" refpos="1 0 0" '
    'refquat="1 0 0 1"/></asset><worldbody><body name="b"><joint/><geom type="mesh" mesh="m" pos="1 2 3" '
    'euler="0 0 90"/></body></worldbody></mujoco>'
)


def test_a_mesh_may_be_absent(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="without the masses"):
        model = poise.load(write(tmp_path, MESHED))
    (shape,) = model.shapes
    assert shape.shape == Mesh(str(tmp_path / "parts" / "cube.obj"), (0.5, 0.5, 0.5))
    np.testing.assert_allclose(shape.offset.apply((2.0, 0.0, 0.0)), (2.5, 2.0, 3.0), atol=1e-12)
    assert model.mass == 0.0
    assert any("not there" in note for note in model.notes)


def test_a_mesh_that_is_there_gives_its_mass_and_the_same_place(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="without the masses"):
        absent = poise.load(write(tmp_path, MESHED))
    write(tmp_path, CUBE, "parts/cube.obj")
    model = poise.load(tmp_path / "model.xml")
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    assert model.mass == pytest.approx(m.body_mass.sum())
    assert model.shapes[0].shape == absent.shapes[0].shape
    assert model.shapes[0].offset.almost_equal(absent.shapes[0].offset, 1e-6)
    center = model.shapes[0].offset.apply(0.5 * np.array([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(model.center_of_mass(model.rest), center, atol=1e-6)


@pytest.mark.parametrize(
    ("asset", "geom"),
    [
        ('<texture name="t" type="2d" file="none.png"/><material name="m" texture="t"/>', 'size="1" material="m"'),
        ('<texture type="skybox" file="none.png"/>', 'size="1"'),
        ('<hfield name="h" file="none.png" size="1 1 1 1"/>', 'type="hfield" hfield="h"'),
        ('<mesh file="some/none.stl"/>', 'type="mesh" mesh="none"'),
        ('<mesh name="n" file="../above/none.STL"/>', 'type="box" mesh="n"'),
        ('<mesh name="n" file="package://robot/none.dae"/>', 'type="mesh" mesh="n" mass="2"'),
    ],
)
def test_other_files_may_be_absent_too(tmp_path: Path, asset: str, geom: str) -> None:
    model = load(tmp_path, f'<geom {geom}/><body name="b"><joint/><geom size="1"/></body>', f"<asset>{asset}</asset>")
    assert model.nq == 1


def test_an_end_too_many_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        f'<mujoco><worldbody><body name="b"><joint/>{GEOM}</body></worldbody></mujoco>\n</mujoco>\n'
    )
    with pytest.warns(FormatWarning, match="one </mujoco> too many"):
        assert poise.load(tmp_path / "a.xml").nq == 1


def test_bodies_without_mass_move_all_the_same(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="no mass"):
        model = load(tmp_path, '<body name="a"><joint/><body name="b" pos="1 0 0"><joint/></body></body>')
    assert model.nq == 2
    assert model.mass == 0.0


def test_a_free_base(tmp_path: Path) -> None:
    arm = f'<body name="arm" pos="0 0 1"><joint/>{GEOM}</body>'
    key = '<keyframe><key name="k" qpos="{}"/></keyframe>'
    model = load(tmp_path, arm + '<site name="w"/>', key.format("0.5"), base="free")
    assert [joint.kind for joint in model.joints] == ["free", "continuous"]
    assert model.joints[0].name == "root"
    np.testing.assert_array_equal(model.poses["k"], [0, 0, 0, 1, 0, 0, 0, 0.5])
    moved = np.array([1.0, 0, 0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(model.fk(moved, "arm")[:3, 3], (1, 0, 1))
    np.testing.assert_array_equal(model.fk(moved, "w")[:3, 3], (0, 0, 0))  # the world stays
    own = load(tmp_path, f'<body><freejoint name="f"/>{GEOM}</body>', base="free")
    assert [joint.name for joint in own.joints] == ["f"]
    assert any("of its own" in note for note in own.notes)


def test_scenery_next_to_a_free_body_gets_no_free_base(tmp_path: Path) -> None:
    robot = f'<body name="robot"><freejoint name="f"/>{GEOM}<body><joint name="hip"/>{GEOM}</body></body>'
    marker = '<body name="marker" pos="1 0 0"/>'
    for text in (robot + marker, marker + robot):
        model = load(tmp_path, text, base="free")
        assert [joint.name for joint in model.joints] == ["f", "hip"]
        assert any("of its own" in note for note in model.notes)
    arm = f'<body name="arm"><joint name="swing"/>{GEOM}</body>'
    carried = load(tmp_path, f'<body><freejoint name="ball"/>{GEOM}</body>{arm}', base="free")
    assert {joint.name for joint in carried.joints if joint.kind == "free"} == {"root", "ball"}


def test_scale_and_up(tmp_path: Path) -> None:
    arm = f'<body name="arm" pos="0 0 1"><joint type="slide" range="0 1"/>{GEOM}</body>'
    model = load(tmp_path, arm, scale=10.0, up="y")
    assert model.up == "y"
    np.testing.assert_allclose(model.fk([5.0], "arm")[:3, 3], (0, 15, 0), atol=1e-12)
    assert load(tmp_path, arm, '<option gravity="0 -9.81 0"/>').up == "y"
    large = load(tmp_path, '<body name="far" pos="0 0 500"/>', scale="auto")
    np.testing.assert_array_equal(large.fk(large.rest, "far")[:3, 3], (0, 0, 500))


def test_paths_of_meshes(tmp_path: Path) -> None:
    geom = '<worldbody><geom type="mesh" mesh="m"/></worldbody>'
    write(tmp_path, f'<mujoco><asset><mesh name="m" file="a/m.stl"/></asset>{geom}</mujoco>', "robot/arm.xml")
    main = write(tmp_path, '<mujoco><include file="robot/arm.xml"/></mujoco>')
    paths = []
    for name in ("", "robot/a/m.stl"):
        write(tmp_path, "", name) if name else None
        paths.append(poise.load(main).shapes[0].shape.path)
    assert paths == [str(tmp_path / "a" / "m.stl"), str(tmp_path / "robot" / "a" / "m.stl")]
    strip = '<compiler strippath="true" meshdir="b"/><asset><mesh name="m" file="C:\\x\\m.stl"/></asset>'
    assert poise.load(write(tmp_path, f"<mujoco>{strip}{geom}</mujoco>")).shapes[0].shape.path == str(
        tmp_path / "b/m.stl"
    )
    kept = '<asset><mesh name="m" file="package://robot/m.stl"/></asset>'
    assert poise.load(write(tmp_path, f"<mujoco>{kept}{geom}</mujoco>")).shapes[0].shape.path == "package://robot/m.stl"


def test_what_is_not_kinematics_is_left_out(tmp_path: Path) -> None:
    rest = (
        '<size memory="100G"/><option timestep="0.01"/><visual><quality shadowsize="0"/></visual>'
        '<actuator><motor joint="j"/><muscle joint="j"/></actuator><sensor><jointpos joint="j"/></sensor>'
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
        '<contact><exclude body1="a" body2="b"/></contact>'
    )
    model = load(tmp_path, f'<body name="a"><joint name="j"/>{GEOM}<body name="b"/></body>', rest)
    assert model.nq == 1


def test_plugins_are_left_out_with_what_needs_them(tmp_path: Path) -> None:
    rest = (
        '<extension><plugin plugin="no.such.plugin"><instance name="i"/></plugin></extension>'
        '<actuator><plugin name="p" joint="j" plugin="no.such.plugin"/></actuator>'
        '<sensor><actuatorpos actuator="p"/></sensor>'
        '<keyframe><key name="k" qpos="1" ctrl="1"/></keyframe>'
    )
    with pytest.warns(FormatWarning, match="plugin"):
        model = load(tmp_path, f'<body><joint name="j"/>{GEOM}</body>', rest)
    assert model.poses["k"] == 1.0


def test_comments_that_xml_forbids(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="comment"):
        model = load(tmp_path, f'<!-- ---- the arm ---- -->\n<body name="a"><joint/>{GEOM}</body>')
    assert "a" in model.frames


def test_site_with_the_name_of_a_body(tmp_path: Path) -> None:
    model = load(tmp_path, '<body name="a"><site name="a" pos="1 0 0"/></body>')
    assert "a_site" in model.frames
    assert any("a_site" in note for note in model.notes)


def test_the_name_and_content_decide(tmp_path: Path) -> None:
    body = f"<worldbody><body><joint/>{GEOM}</body></worldbody>"
    text = f'<?xml version="1.0"?>\n<!-- <robot> -->\n<mujoco model="cart">{body}</mujoco>'
    for name in ("a.xml", "A.XML", "a.mjcf", "noname"):
        assert poise.load(write(tmp_path, text, name)).name == "cart"
    assert load(tmp_path, "<body/>").name == "model"


def test_settings_of_other_versions_are_left_out(tmp_path: Path) -> None:
    body = '<worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>'
    text = f'<mujoco><option collision="all" mpr_iterations="50" gravity="0 -9 0"/>{body}</mujoco>'
    with pytest.warns(FormatWarning) as issued:
        model = poise.load(write(tmp_path, text))
    assert (model.nq, model.up) == (1, "y")
    assert [word for word in ("collision", "mpr_iterations") if word in " ".join(str(w.message) for w in issued)] == [
        "collision",
        "mpr_iterations",
    ]
    old = " ".join(f'a{i}="1"' for i in range(100))
    with pytest.raises(FormatError, match="unrecognized attribute"):
        poise.load(write(tmp_path, f"<mujoco><option {old}/>{body}</mujoco>"))
