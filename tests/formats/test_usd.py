"""USD written by usd-core itself: robots against the bodies they were written from, skeletons against UsdSkel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import FormatError, FormatWarning, MissingExtra
from poise.formats import load_within
from poise.spatial import Rotation, Transform

pytest.importorskip("pxr")
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdSkel, UsdUtils, Vt

pytestmark = pytest.mark.slow  # a second process parses

KINDS = {"revolute": UsdPhysics.RevoluteJoint, "continuous": UsdPhysics.RevoluteJoint}
KINDS |= {"prismatic": UsdPhysics.PrismaticJoint, "ball": UsdPhysics.SphericalJoint, "fixed": UsdPhysics.FixedJoint}


def quat(rotation: Rotation) -> Any:
    return Gf.Quatf(*map(float, rotation.wxyz))


def write_robot(path: Path, model: poise.Model, shift: Transform | None = None, scale: float = 1.0) -> None:
    """Write a model as rigid bodies and joints, by the definition of UsdPhysics.

    Args:
        path: The file.
        model: The body: hinges, slides, balls and fixed frames.
        shift: The place of every body's axes in its frame, as some tools put them at the centre of mass.
        scale: The scale of every body's prim.
    """
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.Xform.Define(stage, "/robot")
    moved = shift or Transform.identity()
    names = {name: "/robot/" + name.replace("-", "_").replace(" ", "_") for name in model.frames}
    zero = model.fk(model.rest)
    for name, place in zip(model.frames, zero, strict=True):
        prim = UsdGeom.Xform.Define(stage, names[name])
        T = place @ moved.matrix
        prim.AddTransformOp(precision=UsdGeom.XformOp.PrecisionDouble).Set(Gf.Matrix4d(T.T.tolist()))
        if scale != 1.0:
            prim.AddScaleOp().Set(Gf.Vec3f(scale))
        UsdPhysics.RigidBodyAPI.Apply(prim.GetPrim())
        frame = model.frame(name)
        if frame.mass:
            mass = UsdPhysics.MassAPI.Apply(prim.GetPrim())
            mass.CreateMassAttr(frame.mass)
            mass.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, moved.inverse().apply(frame.center) / scale)))
    for name in model.frames:
        frame = model.frame(name)
        joint = model.joint(frame.joint) if frame.joint else None
        turn = Rotation.between([1.0, 0.0, 0.0], joint.axis) if joint and joint.kind != "ball" else Rotation.identity()
        made = KINDS[joint.kind if joint else "fixed"].Define(
            stage, f"/robot/joints/{joint.name if joint else name + '_fixed'}"
        )
        made.CreateBody1Rel().SetTargets([names[name]])
        before = frame.offset @ Transform(turn)
        if frame.parent is not None:
            made.CreateBody0Rel().SetTargets([names[frame.parent]])
            before = moved.inverse() @ before
        after = moved.inverse() @ Transform(turn)
        made.CreateLocalPos0Attr(Gf.Vec3f(*map(float, before.translation / (scale if frame.parent else 1.0))))
        made.CreateLocalPos1Attr(Gf.Vec3f(*map(float, after.translation / scale)))
        made.CreateLocalRot0Attr(quat(before.rotation))
        made.CreateLocalRot1Attr(quat(after.rotation))
        if joint and joint.kind in ("revolute", "prismatic"):
            size = np.degrees(1.0) if joint.kind == "revolute" else 1.0
            made.CreateAxisAttr("X")
            made.CreateLowerLimitAttr(float(size * model.lower[joint.v][0]))
            made.CreateUpperLimitAttr(float(size * model.upper[joint.v][0]))
    stage.Save()


def compare(model: poise.Model, read: poise.Model, moved: Transform, tolerance: float) -> None:
    """Compare the places of all frames in 50 poses, by the names of joints."""
    rng = np.random.default_rng(0)
    for q in (model.random(rng) for _ in range(50)):
        given = np.array(read.rest)
        for joint in model.joints:
            given[read.joint(joint.name).q] = q[joint.q]
        names = [name for name in model.frames if name in read.frames]
        assert len(names) == len(model.frames)
        np.testing.assert_allclose(read.fk(given, names), model.fk(q, names) @ moved.matrix, atol=tolerance)
        np.testing.assert_allclose(read.center_of_mass(given), model.center_of_mass(q), atol=tolerance)


@pytest.mark.parametrize("name", ["panda", "ur5e", "so101"])
@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_a_robot_is_the_one_it_was_written_from(tmp_path: Path, name: str, suffix: str) -> None:
    model = poise.load(name)
    write_robot(tmp_path / f"robot{suffix}", model)
    read = poise.load(tmp_path / f"robot{suffix}")
    compare(model, read, Transform.identity(), 1e-6)
    for joint in model.joints:
        np.testing.assert_allclose(read.lower[read.joint(joint.name).v], model.lower[joint.v], atol=1e-5)
        np.testing.assert_allclose(read.upper[read.joint(joint.name).v], model.upper[joint.v], atol=1e-5)
    assert read.mass == pytest.approx(model.mass)
    assert (read.up, read.units) == ("z", "m")


def test_axes_of_bodies_may_be_elsewhere_and_scaled(tmp_path: Path) -> None:
    model = poise.load("panda")
    moved = Transform(Rotation.from_vector([0.3, -0.2, 0.5]), [0.1, 0.02, -0.3])
    write_robot(tmp_path / "robot.usda", model, moved, scale=2.0)
    read = poise.load(tmp_path / "robot.usda")
    compare(model, read, moved, 1e-6)


def write_character(path: Path, *, moving_root: bool = False) -> Any:
    """Write a skeleton of five joints in centimetres with a clip, and return its stage."""
    rng = np.random.default_rng(3)
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    stage.SetTimeCodesPerSecond(30.0)
    root = UsdSkel.Root.Define(stage, "/character")
    move = root.AddTranslateOp()
    move.Set(Gf.Vec3d(10, 20, 30))
    root.AddRotateXYZOp().Set(Gf.Vec3f(10, 20, 30))
    if moving_root:
        for time in range(1, 13):
            move.Set(Gf.Vec3d(10 + time, 20, 30), time)
    skeleton = UsdSkel.Skeleton.Define(stage, "/character/rig")
    joints = ["hips", "hips/spine", "hips/spine/head", "hips/spine/arm", "hips/leg"]
    skeleton.CreateJointsAttr(joints)
    rest = np.tile(np.eye(4), (5, 1, 1))
    rest[:, :3, :3] = Rotation.from_vector(rng.normal(size=(5, 3))).matrix
    rest[:, :3, 3] = 20 * rng.normal(size=(5, 3))
    world = rest.copy()
    for i, parent in enumerate([-1, 0, 1, 1, 0]):
        world[i] = world[parent] @ rest[i] if parent >= 0 else rest[i]
    for make, values in ((skeleton.CreateRestTransformsAttr, rest), (skeleton.CreateBindTransformsAttr, world)):
        make(Vt.Matrix4dArray([Gf.Matrix4d(T.T.tolist()) for T in values]))
    clip = UsdSkel.Animation.Define(stage, "/character/walk")
    order = [joints[i] for i in (4, 1, 0, 2)]  # another order, and not all
    clip.CreateJointsAttr(order)
    turns, places, scales = clip.CreateRotationsAttr(), clip.CreateTranslationsAttr(), clip.CreateScalesAttr()
    for time in range(1, 13):
        spin = Rotation.from_vector(0.3 * rng.normal(size=(4, 3)))
        turns.Set(Vt.QuatfArray([quat(spin[i]) for i in range(4)]), time)
        at = rest[[4, 1, 0, 2], :3, 3].copy()
        at[2] += rng.normal(size=3)
        places.Set(Vt.Vec3fArray.FromNumpy(at.astype(np.float32)), time)
        scales.Set(Vt.Vec3hArray([Gf.Vec3h(1)] * 4), time)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets(["/character/walk"])
    stage.Save()
    return stage


@pytest.mark.parametrize("moving_root", [False, True])
def test_a_clip_moves_joints_as_usdskel_does(tmp_path: Path, moving_root: bool) -> None:
    path = tmp_path / "walk.usdc"
    stage = write_character(path, moving_root=moving_root)
    motion = poise.load_motion(path)
    assert (len(motion), motion.fps, motion.model.units, motion.model.up) == (12, 30.0, "cm", "z")
    query = UsdSkel.Cache().GetSkelQuery(UsdSkel.Skeleton.Get(stage, "/character/rig"))
    names = [str(joint).rpartition("/")[2] for joint in query.GetJointOrder()]
    for time in range(1, 13):
        cache = UsdGeom.XformCache(Usd.TimeCode(time))
        wanted = np.array(query.ComputeJointWorldTransforms(cache)).swapaxes(1, 2)
        reached = motion.model.fk(motion.q[time - 1], names)
        np.testing.assert_allclose(reached[:, :3, 3], wanted[:, :3, 3], atol=1e-4)  # cm
        np.testing.assert_allclose(reached[:, :3, :3], wanted[:, :3, :3], atol=2e-6)
    cache = UsdGeom.XformCache(Usd.TimeCode.Default())
    rest = np.array(query.ComputeJointWorldTransforms(cache, True)).swapaxes(1, 2)
    model = poise.load(path)
    np.testing.assert_allclose(model.fk(model.rest, names), rest, atol=1e-4)
    metres = poise.load_motion(path, scale="auto", up="y")
    place = motion.model.fk(motion.q[5], "head")[:3, 3] * 0.01
    np.testing.assert_allclose(metres.model.fk(metres.q[5], "head")[:3, 3], place[[0, 2, 1]] * [1, 1, -1], atol=1e-6)


def test_references_are_followed_by_relative_paths(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    model = poise.load("so101")
    write_robot(tmp_path / "parts" / "arm.usda", model)
    stage = Usd.Stage.CreateNew(str(tmp_path / "all.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    stage.OverridePrim("/robot").GetReferences().AddReference("./parts/arm.usda", "/robot")
    stage.Save()
    read = poise.load(tmp_path / "all.usda", base="free")
    assert {joint.name for joint in model.joints} <= {joint.name for joint in read.joints}
    assert read.joints[0].kind == "free"
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "all.usda"), str(tmp_path / "all.usdz"))
    packed = poise.load(tmp_path / "all.usdz")
    assert [joint.name for joint in packed.joints] == [joint.name for joint in read.joints[1:]]


TREE = """#usda 1.0
(metersPerUnit = 1
 upAxis = "Z")
def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
def Xform "c" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
def Xform "loose" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
def PhysicsRevoluteJoint "ab" { rel physics:body0 = </a>
 rel physics:body1 = </b>
 uniform token physics:axis = "Y"
 point3f physics:localPos0 = (1, 0, 0)
}
"""
BACKWARDS = 'def PhysicsPrismaticJoint "cb" { rel physics:body0 = </c>\n rel physics:body1 = </b>\n %s\n}\n'


def write(tmp_path: Path, text: str) -> Path:
    (tmp_path / "robot.usda").write_text(text)
    return tmp_path / "robot.usda"


def test_a_joint_from_child_to_parent_moves_the_other_way(tmp_path: Path) -> None:
    text = TREE + BACKWARDS % 'uniform token physics:axis = "Z"\n float physics:upperLimit = 0.5'
    text += 'def PhysicsFixedJoint "w" { rel physics:body1 = </a>\n}\n'
    model = poise.load(write(tmp_path, text))
    q = np.zeros(model.nq)
    q[model.joint("cb").q] = 0.25  # b is 0.25 above c
    np.testing.assert_allclose(model.fk(q, "c")[:3, 3], [1, 0, -0.25])
    assert model.joint("ab").kind == "continuous"
    assert model.upper[model.joint("cb").v] == 0.5
    assert any("1 bodies" in note or "left out" in note for note in model.notes)


def test_a_loop_is_a_closure(tmp_path: Path) -> None:
    text = TREE + BACKWARDS % "" + 'def PhysicsFixedJoint "ca" { rel physics:body0 = </c>\n rel physics:body1 = </a>\n'
    model = poise.load(write(tmp_path, text + " bool physics:excludeFromArticulation = 1\n}\n"))
    assert len(model.closures) == 1
    ball = 'def PhysicsSphericalJoint "bc" { rel physics:body0 = </b>\n rel physics:body1 = </c>\n'
    ball += " float physics:coneAngle0Limit = 30\n float physics:coneAngle1Limit = 30\n}\n"
    joint = poise.load(write(tmp_path, TREE + ball)).joint("bc")
    assert joint.cone.swing == pytest.approx(np.radians(30))


def test_six_freedoms(tmp_path: Path) -> None:
    ranges = {"transX": (0, 1), "rotX": (-30, 40), "rotZ": (-50, 60)}
    names = [f"{part}{axis}" for part in ("trans", "rot") for axis in "XYZ"]
    schemas = ", ".join(f'"PhysicsLimitAPI:{name}"' for name in names)
    head = f'def PhysicsJoint "six" (prepend apiSchemas = [{schemas}]) {{\n rel physics:body0 = </b>\n'
    head += " rel physics:body1 = </c>\n"
    for name in names:
        low, high = ranges.get(name, (1, -1))
        head += f"float limit:{name}:physics:low = {low}\nfloat limit:{name}:physics:high = {high}\n"
    model = poise.load(write(tmp_path, TREE + head + "}\n"))
    assert [joint.name for joint in model.joints[1:]] == ["six_transX", "six_rotX", "six_rotZ"]
    np.testing.assert_allclose(model.upper[1:], [1, *np.radians([40, 60])], rtol=1e-6)
    turn = Rotation.from_vector([0.3, 0, 0]).matrix @ Rotation.from_vector([0, 0, 0.4]).matrix
    reached = model.fk([0, 0.5, 0.3, 0.4], "c")
    np.testing.assert_allclose(reached[:3, :3], turn, atol=1e-9)
    np.testing.assert_allclose(reached[:3, 3], [1.5, 0, 0], atol=1e-9)
    free = 'def PhysicsJoint "all" {\n rel physics:body0 = </b>\n rel physics:body1 = </c>\n}\n'
    assert poise.load(write(tmp_path, TREE + free)).nv == 7


@pytest.mark.parametrize("forward", [True, False])
def test_joints_between_the_same_bodies_follow_each_other(tmp_path: Path, forward: bool) -> None:
    """As in MuJoCo: each turns the body about its own anchor, in the axes that those before it have turned."""
    ends = ("b", "c") if forward else ("c", "b")
    anchors = {"bc1": ((0, 0, 0.1), "X"), "bc2": ((0.2, 0, 0), "Z")}
    text = TREE.replace(
        "def PhysicsRevolute", 'def PhysicsFixedJoint "w" { rel physics:body1 = </a>\n}\ndef PhysicsRevolute'
    )
    for name, (anchor, axis) in anchors.items():
        text += f'def PhysicsRevoluteJoint "{name}" {{\n rel physics:body0 = </{ends[0]}>\n'
        text += f" rel physics:body1 = </{ends[1]}>\n point3f physics:localPos0 = {anchor}\n"
        text += f' point3f physics:localPos1 = {anchor}\n uniform token physics:axis = "{axis}"\n}}\n'
    model = poise.load(write(tmp_path, text))
    q = np.array(model.rest)
    q[model.joint("bc1").q], q[model.joint("bc2").q] = 0.3, -0.7
    wanted = np.eye(4)
    for (anchor, axis), angle in zip(anchors.values(), (0.3, -0.7), strict=True):
        at = Transform(None, anchor)
        turn = Transform(Rotation.from_vector(angle * np.eye(3)["XYZ".index(axis)]))
        wanted = wanted @ (at @ turn @ at.inverse()).matrix
    first, second = model.fk(q, "b"), model.fk(q, "c")
    reached = np.linalg.inv(first) @ second if forward else np.linalg.inv(second) @ first
    np.testing.assert_allclose(reached, wanted, atol=1e-7)


def test_bad_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path.parent / "out.usda").write_text("#usda 1.0\n")
    cases = {
        "#usda 1.0\ndef {": "usd-core cannot read it: line 2: ",
        "#usda 1.0\n": "neither joints",
        TREE.replace("metersPerUnit = 1", "subLayers = [@/etc/passwd@]"): "'/etc/passwd'; only relative paths",
        TREE.replace("metersPerUnit = 1", "subLayers = [@https://a.b/c.usda@]"): "only relative paths",
        TREE.replace(
            "metersPerUnit = 1", "subLayers = [@../out.usda@]"
        ): "'../out.usda', which leads out of its folder",
        TREE.replace(
            '"loose" (', '"loose" (clips = {dictionary default = {asset[] assetPaths = [@/a/b.usda@]}}\n'
        ): "clips",
        TREE.replace('upAxis = "Z"', 'upAxis = "X"'): "up axis 'X'",
        TREE.replace('"Y"', '"W"'): "physics:axis is 'W'",
        TREE.replace("metersPerUnit = 1", "kilogramsPerUnit = 0"): "kilogramsPerUnit 0",
        TREE.replace(
            '"PhysicsRigidBodyAPI"]) {}',
            '"PhysicsRigidBodyAPI"]) {\n'
            ' double3 xformOp:scale = (nan, 1, 1)\n uniform token[] xformOpOrder = ["xformOp:scale"]\n}',
            1,
        ): "a transform of '/a' is not finite",
        '#usda 1.0\ndef Skeleton "s" {\n double3 xformOp:scale = (nan, 1, 1)\n'
        ' uniform token[] xformOpOrder = ["xformOp:scale"]\n uniform token[] joints = ["a"]\n'
        " uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]\n"
        " uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]\n}\n": "'/s' is not finite",
        **{
            TREE.replace("metersPerUnit = 1", f"metersPerUnit = {size}"): "metersPerUnit"
            for size in ("0", "-1", "nan", "inf")
        },
        TREE.replace("(1, 0, 0)", "(nan, 0, 0)"): "finite",
        TREE.replace("(1, 0, 0)", "(1, 0)"): "usd-core cannot read it: Tuple dimensions",
    }
    for text, words in cases.items():
        with pytest.raises(FormatError, match=words):
            poise.load(write(tmp_path, text))
    for head in (b"", b"PXR-USDC" + bytes(100)):
        (tmp_path / "robot.usd").write_bytes(head)
        with pytest.raises(FormatError):
            poise.load(tmp_path / "robot.usd")
    with pytest.warns(FormatWarning, match="missing or damaged"):
        poise.load(write(tmp_path, TREE.replace('upAxis = "Z"', 'upAxis = "Z"\n subLayers = [@./absent.usda@]')))
    with pytest.raises(FormatError, match="upload"):
        load_within(write(tmp_path, TREE), tmp_path)
    with pytest.raises(FormatError, match="no skeleton"):
        poise.load_motion(write(tmp_path, TREE))


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.formats.node_scene.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install .poise-ik\[usd\]"):
        poise.load(write(tmp_path, TREE))
