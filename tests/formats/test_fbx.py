"""FBX: a text file by hand, its formulas, and bad files. Blender's own files are in tests/bridges."""

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import FormatError, MissingExtra
from poise.formats import load_within
from poise.spatial import Rotation

pytest.importorskip("ufbx")

pytestmark = pytest.mark.slow  # a second process parses

SECOND = 46186158000  # FBX's unit of time
BONE = """  Model: {id}, "Model::{name}", "LimbNode" {{
    Version: 232
    Properties70:  {{
      P: "RotationActive", "bool", "", "",1
      P: "RotationOrder", "enum", "", "",{order}
      P: "PreRotation", "Vector3D", "Vector", "",{pre}
      P: "Lcl Translation", "Lcl Translation", "", "A",{at}
      P: "Lcl Rotation", "Lcl Rotation", "", "A",{turn}
    }}
  }}
  NodeAttribute: {attribute}, "NodeAttribute::{name}", "LimbNode" {{
    TypeFlags: "Skeleton"
  }}
"""
CURVE = """  AnimationCurve: {id}, "AnimCurve::", "" {{
    Default: 0
    KeyVer: 4008
    KeyTime: *{n} {{ a: {times} }}
    KeyValueFloat: *{n} {{ a: {values} }}
    KeyAttrFlags: *1 {{ a: 4 }}
    KeyAttrDataFloat: *4 {{ a: 0,0,0,0 }}
    KeyAttrRefCount: *1 {{ a: {n} }}
  }}
"""
ANGLES = [0.0, 10.0, 25.0, 5.0, -40.0, 30.0]  # of the elbow, degrees


def write_arm(path: Path, up: int = 1) -> Path:
    """Write two bones: the second turns in the order ZYX, after a rotation of its own, by curves of 30 frames/s."""
    bones = BONE.format(id=1, name="upper", attribute=11, order=0, pre="0,0,90", at="1,2,3", turn="10,20,30")
    bones += BONE.format(id=2, name="lower", attribute=12, order=5, pre="15,0,0", at="5,0,0", turn="0,0,0")
    bones += BONE.format(id=3, name="tip", attribute=13, order=0, pre="0,0,0", at="4,0,0", turn="0,0,0")
    times = ",".join(str(round(k * SECOND / 30)) for k in range(len(ANGLES)))
    curves = "".join(
        CURVE.format(id=id, n=len(ANGLES), times=times, values=",".join(f"{scale * angle:g}" for angle in ANGLES))
        for id, scale in ((31, 1.0), (32, -0.5))
    )
    axes = {"UpAxis": up, "UpAxisSign": 1, "FrontAxis": 3 - up, "FrontAxisSign": 1 if up == 1 else -1}
    axes |= {"CoordAxis": 0, "CoordAxisSign": 1}
    settings = "".join(f'    P: "{name}", "int", "Integer", "",{value}\n' for name, value in axes.items())
    links = '  C: "OO",1,0\n  C: "OO",2,1\n  C: "OO",3,2\n  C: "OO",11,1\n  C: "OO",12,2\n  C: "OO",13,3\n'
    links += '  C: "OO",22,21\n  C: "OO",23,22\n  C: "OP",23,2, "Lcl Rotation"\n'
    links += '  C: "OP",31,23, "d|X"\n  C: "OP",32,23, "d|Z"\n'
    end = f'"KTime", "Time", "",{round((len(ANGLES) - 1) * SECOND / 30)}'
    path.write_text(f"""; FBX 7.4.0 project file
FBXHeaderExtension:  {{
  FBXHeaderVersion: 1003
  FBXVersion: 7400
}}
GlobalSettings:  {{
  Version: 1000
  Properties70:  {{
{settings}    P: "UnitScaleFactor", "double", "Number", "",1
    P: "TimeMode", "enum", "", "",6
  }}
}}
Objects:  {{
{bones}  AnimationStack: 21, "AnimStack::bend", "" {{
    Properties70:  {{
      P: "LocalStop", {end}
    }}
  }}
  AnimationLayer: 22, "AnimLayer::base", "" {{
  }}
  AnimationCurveNode: 23, "AnimCurveNode::R", "" {{
    Properties70:  {{
      P: "d|X", "Number", "", "A",0
      P: "d|Y", "Number", "", "A",0
      P: "d|Z", "Number", "", "A",0
    }}
  }}
{curves}}}
Connections:  {{
{links}}}
""")
    return path


def turn(order: str, *degrees: float) -> np.ndarray:
    """Return the product of turns about the axes in this order."""
    return Rotation.from_euler(order, np.radians(degrees)).matrix


def test_a_file_by_hand(tmp_path: Path) -> None:
    path = write_arm(tmp_path / "arm.fbx")
    motion = poise.load_motion(path)
    model = motion.model
    assert (len(motion), motion.fps, model.units, model.up) == (len(ANGLES), 30.0, "cm", "y")
    assert [joint.kind for joint in model.joints] == ["free", "ball", "ball"]
    upper = turn("ZYX", 90, 0, 0) @ turn("ZYX", 30, 20, 10)  # the pre-rotation, then R = Rz Ry Rx
    for k, angle in enumerate(ANGLES):
        lower = upper @ turn("XYZ", 15, 0, 0) @ turn("XYZ", angle, 0, -0.5 * angle)  # the order ZYX: R = Rx Ry Rz
        elbow = np.array([1, 2, 3]) + upper @ [5, 0, 0]
        np.testing.assert_allclose(model.fk(motion.q[k], "lower")[:3, :3], lower, atol=1e-6)
        np.testing.assert_allclose(model.fk(motion.q[k], "tip")[:3, 3], elbow + lower @ [4, 0, 0], atol=1e-5)
    np.testing.assert_allclose(model.fk(model.rest, "lower")[:3, 3], elbow, atol=1e-6)


def test_up_and_unit(tmp_path: Path) -> None:
    plain = poise.load_motion(write_arm(tmp_path / "arm.fbx"))
    upright = poise.load_motion(write_arm(tmp_path / "up.fbx", up=2))
    assert upright.model.up == "z"
    np.testing.assert_allclose(upright.model.fk(upright.q), plain.model.fk(plain.q), atol=1e-5)
    metres = poise.load_motion(tmp_path / "arm.fbx", scale="auto", up="z")
    at = 0.01 * plain.model.fk(plain.q, "tip")[:, :3, 3]
    np.testing.assert_allclose(metres.model.fk(metres.q, "tip")[:, :3, 3], at[:, [0, 2, 1]] * [1, -1, 1], atol=1e-7)
    assert poise.load_motion(tmp_path / "arm.fbx", clip="bend").fps == 30.0


def test_bad_files_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_arm(tmp_path / "arm.fbx")
    good = path.read_bytes()
    for data in (b"", b"Kaydara FBX Binary  \0\x1a\0" + bytes(50), good[:300], good.replace(b"Objects", b"Nothing")):
        path.write_bytes(data)
        with pytest.raises(FormatError):
            poise.load(path)
    path.write_bytes(good.replace(str(round((len(ANGLES) - 1) * SECOND / 30)).encode(), b"9" * 18))
    with pytest.raises(FormatError, match="too long"):
        poise.load_motion(path)
    path.write_bytes(good)
    with pytest.raises(FormatError, match="upload"):
        load_within(path, tmp_path)
    monkeypatch.setattr("poise.formats.node_scene.run_apart", lambda *_: "its parser breaks down")
    with pytest.raises(FormatError, match=r"ufbx cannot read it: its parser breaks down\."):
        poise.load(path)
    monkeypatch.setattr("poise.formats.node_scene.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install .poise-ik\[fbx\]"):
        poise.load(path)
