"""Mirror images of poses and rigs: exact on the humanoid, refused by name where a body has no two sides."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.kinematics import Mirror
from poise.names import find_other_side


@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_every_frame_of_the_image_is_the_image_of_its_partner(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(0)
    mirror = Mirror(model)
    for q in model.random(rng, 20):
        image = mirror.reflect_pose(q)
        for frame, other in mirror.partners.items():
            wanted = mirror.reflect_transform(q, frame, model.fk(q, frame))
            assert np.abs(model.fk(image, other) - wanted).max() < 1e-12
        assert np.abs(model.difference(mirror.reflect_pose(image), q)).max() < 1e-12
        plain = [joint for joint in model.joints if joint.kind != "free" and joint.nq]
        for joint in plain:  # no rounding at all but in the root
            assert (mirror.reflect_pose(image)[joint.q] == q[joint.q]).all()


def test_the_root_stays_where_it_stands_and_looks() -> None:
    model = poise.load("humanoid")
    mirror = Mirror(model)
    turned = poise.Transform(poise.Rotation.from_euler("YXZ", (1.1, 0.2, 0.3)), (0.4, 0.9, -2.0))
    q = np.array(model.rest)
    q[:3], q[3:7] = turned.translation, turned.rotation.wxyz
    image = model.fk(mirror.reflect_pose(q), "pelvis")
    assert np.allclose(image[:3, 3], turned.translation)
    assert np.allclose(image[:3, :3], poise.Rotation.from_euler("YXZ", (1.1, 0.2, -0.3)).matrix)


def missed(rig: poise.Rig, handle: str) -> float:
    target = rig.target(handle)
    assert target is not None
    place = target if target.ndim == 1 else target[:3, 3]
    return float(np.linalg.norm(rig.transform(handle).translation - place))


def test_mirror_swaps_pins_and_wishes() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.pin("foot_l")
    rig.look_at("head", (0.5, 1.4, 1.0))
    for _ in range(10):
        rig.drag("hand_r", (-0.4, 1.3, 0.3))
    q = rig.q
    foot, hand = missed(rig, "foot_l"), missed(rig, "hand_r")
    rig.mirror()
    assert rig.pinned == ("foot_r",)
    assert set(rig.held) == {"foot_r", "hand_l", "head"}
    assert np.isclose(missed(rig, "foot_r"), foot, atol=1e-12)
    assert np.isclose(missed(rig, "hand_l"), hand, atol=1e-12)
    rig.undo()
    assert (rig.q == q).all()


def test_a_symmetric_drag_moves_both_sides() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.pin("foot_l")
    rig.pin("foot_r")
    rig.symmetric = True
    for i in range(40):
        rig.drag("hand_l", (0.35, 0.9 + 0.015 * i, 0.3))
    left, right = rig.transform("hand_l").translation, rig.transform("hand_r").translation
    assert np.allclose(left, (0.35, 0.9 + 0.015 * 39, 0.3), atol=1e-3)
    assert np.allclose(right, left * (-1, 1, 1), atol=1e-3)


def test_a_handle_is_mirrored() -> None:
    rig = poise.Rig(poise.load("humanoid"))
    rig.pin("foot_l")
    rig.pin("foot_r")
    rig.pin("pelvis")
    rig.pin("hand_l", (0.4, 1.2, 0.3))
    rig.settle()
    rig.mirror_handle("hand_l")
    assert "hand_r" in rig.pinned
    rig.settle()
    assert np.allclose(rig.transform("hand_r").translation, (-0.4, 1.2, 0.3), atol=1e-4)
    with pytest.raises(InvalidValue, match="no other side"):
        rig.mirror_handle("head")


@pytest.mark.parametrize("name", ["panda", "hand", "tree30"])
def test_a_body_without_two_sides_is_refused(name: str) -> None:
    rig = poise.Rig(poise.load(name))
    with pytest.raises(InvalidValue, match="no two sides"):
        rig.mirror()
    with pytest.raises(InvalidValue, match="no two sides"):
        rig.symmetric = True


def test_a_lopsided_body_is_refused() -> None:
    builder = poise.ModelBuilder("lopsided")
    builder.add_joint("root", None, "free")
    builder.add_frame("hand_l", "root", (1.0, 0.0, 0.0))
    builder.add_frame("hand_r", "root", (-1.0, 0.2, 0.0))
    builder.add_frame("ear_l", "root", (0.3, 0.3, 0.0))
    builder.add_frame("ear_r", "root", (-0.3, 0.3, 0.0))
    with pytest.raises(InvalidValue, match="not symmetric"):
        Mirror(builder.build())


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("hand_l", "hand_r"),
        ("toe_fr", "toe_fl"),
        ("LeftUpLeg", "RightUpLeg"),
        ("thigh.L", "thigh.R"),
        ("mixamorig:RightHand", "mixamorig:LeftHand"),
        ("L_Hip", "R_Hip"),
        ("left_knee_link", "right_knee_link"),
        ("pelvis", None),
        ("collar", None),
    ],
)
def test_names_of_the_other_side(name: str, other: str | None) -> None:
    names = ("hand_r", "toe_fl", "RightUpLeg", "thigh.R", "mixamorig:LeftHand", "R_Hip", "right_knee_link", "colrar")
    assert find_other_side(name, names) == other
