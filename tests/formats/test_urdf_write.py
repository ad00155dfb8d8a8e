"""Writing URDF: bodies come back, to the last bit where URDF can hold them; what it cannot hold is reported."""

import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS, random_model
from file_cases import ignore_warnings
from poise.errors import FormatError, FormatWarning, InvalidValue
from poise.model import Box, Capsule, Cylinder, Mesh, Sphere


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
    close(model, poise.load(poise.save(poise.load(path), tmp_path / "again.urdf")))
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["again.urdf", "out.urdf"]


@pytest.mark.parametrize("name", ["humanoid", "hand", "quadruped"])
def test_joints_that_urdf_has_not_become_rows(name: str, tmp_path: Path) -> None:
    model = poise.load(name)
    with pytest.warns(FormatWarning, match="rows of single ones"):
        poise.save(model, tmp_path / "out.urdf")
    back = poise.load(tmp_path / "out.urdf")
    close(model, back)
    assert (dict(back.roles), back.up) == (dict(model.roles or poise.roles(model)), model.up)


def test_ends_of_limbs_are_kept_with_the_roles_of_a_file(tmp_path: Path) -> None:
    """`load` marks fingertips without a frame; a file that states many roles is not searched for others."""
    builder = poise.ModelBuilder("claw").add_joint("base", None, "fixed")
    for k, y in enumerate((-0.02, 0.0, 0.02)):
        bends: dict[str, Any] = {"axis": (0, 1, 0), "lower": -0.2, "upper": 1.6}
        builder.add_joint(f"a{k}", "base", "revolute", offset=(0.0, y, 0.08), **bends)
        builder.add_joint(f"b{k}", f"a{k}", "revolute", offset=(0.0, 0.0, 0.04), **bends)
        builder.add_shape(f"b{k}", Box((0.01, 0.01, 0.04)), offset=(0.0, 0.0, 0.02))
    model = poise.load(poise.save(builder.build(), tmp_path / "claw.urdf"))
    (tip,) = (role for role in model.roles if role.startswith("index_tip"))
    assert not model.frame(tip).listed
    back = poise.load(poise.save(model, tmp_path / "again.urdf"))
    assert dict(back.roles) == dict(model.roles)
    np.testing.assert_allclose(back.fk(back.rest, tip), model.fk(model.rest, tip), atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed: int, tmp_path: Path) -> None:
    """Every kind of joint but the ball has the coordinates in a URDF that it had in the model."""
    model = random_model(seed, kinds=tuple(kind for kind in ALL_KINDS if kind != "ball"))
    with ignore_warnings():
        back = poise.load(poise.save(model, tmp_path / "out.urdf"))
    assert back.nq == model.nq
    q = model.random(np.random.default_rng(3), 3)
    for frame in model.frames:
        np.testing.assert_allclose(back.fk(q, frame), model.fk(q, frame), atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies_with_ball_joints(seed: int, tmp_path: Path) -> None:
    """A ball becomes three hinges: a coordinate less, and the same body where it is not turned."""
    model = random_model(seed)
    with ignore_warnings():
        back = poise.load(poise.save(model, tmp_path / "out.urdf"))
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
    with pytest.warns(FormatWarning):
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


def test_the_rest_and_the_poses_of_ball_joints_come_back_as_angles(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    turns = [row / np.linalg.norm(row) for row in rng.normal(size=(4, 4))]
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, "ball", offset=(0, 0, 1), rest=turns[0])
    builder.add_joint("b", "a", "revolute", offset=(0.3, 0, 0), rest=0.25)
    builder.add_joint("c", "b", "ball", offset=(0.2, 0.1, 0), rest=turns[1])
    builder.add_frame("tip", "c", (0.1, 0.2, 0.3))
    builder.add_pose("up", np.concatenate([turns[2], [0.5], turns[3]]))
    model = builder.build()
    with pytest.warns(FormatWarning, match="rows of single ones"):
        back = poise.load(poise.save(model, tmp_path / "a.urdf"))
    for frame in model.frames:
        np.testing.assert_allclose(back.fk(back.rest, frame), model.fk(model.rest, frame), atol=1e-14)
        np.testing.assert_allclose(back.fk(back.poses["up"], frame), model.fk(model.poses["up"], frame), atol=1e-14)


def test_names_that_differ_by_blanks_alone_are_rejected(tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, "revolute")
    builder.add_frame(" a", "a")
    with pytest.raises(FormatError, match="differ by blanks alone"):
        poise.save(builder.build(), tmp_path / "a.urdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["urdf", "glb"])
def test_lengths_not_in_metres_are_reported_and_kept(suffix: str, tmp_path: Path) -> None:
    builder = poise.ModelBuilder("arm")
    builder.units = "cm"
    builder.add_joint("a", None, "free" if suffix == "urdf" else "ball")
    builder.add_frame("tip", "a", (0, 0, 130))
    model = builder.build()
    with pytest.warns(FormatWarning, match=r"in centimetres and were written as they are.*scale=0\.01"):
        path = poise.save(model, tmp_path / f"a.{suffix}")
    back, metres = poise.load(path), poise.load(path, scale=0.01)
    assert (back.units, metres.units) == ("cm", "m")
    np.testing.assert_allclose(back.fk(back.rest, "tip"), model.fk(model.rest, "tip"), atol=1e-12)
    np.testing.assert_allclose(metres.fk(metres.rest, "tip")[:3, 3], [0, 0, 1.3], atol=1e-12)
