"""Mirror images of poses and rigs: exact on the humanoid; a body without two sides raises an error."""

from dataclasses import replace

import numpy as np
import pytest

import poise
from known_bodies import Maker, Plan, scramble
from pinned_rigs import make_pinned_rig
from poise.errors import InvalidValue
from poise.kinematics import Mirror
from poise.model import Model
from poise.names import find_other_side
from poise.spatial import Rotation, Transform


@pytest.mark.slow
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
    target = rig.state.target(handle)
    assert target is not None
    place = target if target.ndim == 1 else target[:3, 3]
    return float(np.linalg.norm(rig.state.transform(handle).translation - place))


def test_mirror_swaps_pins_and_wishes() -> None:
    rig = make_pinned_rig("foot_l")
    rig.look_at("head", (0.5, 1.4, 1.0))
    for _ in range(10):
        rig.drag("hand_r", (-0.4, 1.3, 0.3))
    q = rig.q
    foot, hand = missed(rig, "foot_l"), missed(rig, "hand_r")
    rig.mirror()
    assert rig.state.pinned == ("foot_r",)
    assert set(rig.state.held) == {"foot_r", "hand_l", "head"}
    assert np.isclose(missed(rig, "foot_r"), foot, atol=1e-12)
    assert np.isclose(missed(rig, "hand_l"), hand, atol=1e-12)
    rig.history.undo()
    assert (rig.q == q).all()


def test_a_symmetric_drag_moves_both_sides() -> None:
    rig = make_pinned_rig()
    rig.symmetric = True
    for i in range(40):
        rig.drag("hand_l", (0.35, 0.9 + 0.015 * i, 0.3))
    left, right = rig.state.transform("hand_l").translation, rig.state.transform("hand_r").translation
    assert np.allclose(left, (0.35, 0.9 + 0.015 * 39, 0.3), atol=1e-3)
    assert np.allclose(right, left * (-1, 1, 1), atol=1e-3)


def test_a_handle_is_mirrored() -> None:
    rig = make_pinned_rig()
    rig.pin("pelvis")
    rig.pin("hand_l", (0.4, 1.2, 0.3))
    rig.settle()
    rig.mirror("hand_l")
    assert "hand_r" in rig.state.pinned
    rig.settle()
    assert np.allclose(rig.state.transform("hand_r").translation, (-0.4, 1.2, 0.3), atol=1e-4)
    with pytest.raises(InvalidValue, match="no other side"):
        rig.mirror("head")


@pytest.mark.parametrize("name", ["panda", "hand", "tree30"])
def test_a_body_without_two_sides_is_rejected(name: str) -> None:
    rig = poise.Rig(poise.load(name))
    with pytest.raises(InvalidValue, match="no left and right side"):
        rig.mirror()
    with pytest.raises(InvalidValue, match="no left and right side"):
        rig.symmetric = True


def test_a_lopsided_body_is_rejected() -> None:
    builder = poise.ModelBuilder("lopsided")
    builder.add_joint("root", None, "free")
    for side, place in {"l": (1.0, 0.0, 0.0), "r": (-0.2, 0.6, 0.0)}.items():
        builder.add_joint(f"hip_{side}", "root", "ball", offset=(np.sign(place[0]), 0.0, 0.0))
        builder.add_joint(f"knee_{side}", f"hip_{side}", "ball", offset=place)
        builder.add_joint(f"foot_{side}", f"knee_{side}", "ball", offset=place)
    with pytest.raises(InvalidValue, match="not symmetric"):
        Mirror(builder.build())


def shake(model: Model, share: float, seed: int) -> Model:
    """Return the body with every bone longer or shorter and moved by a share of the body's length, at random."""
    rng = np.random.default_rng(seed)
    specs = []
    for spec in model.layout.specs:
        moved = spec.offset.translation + share * model.length * rng.uniform(-1.0, 1.0, 3)
        specs.append(spec if spec.parent is None else replace(spec, offset=Transform(spec.offset.rotation, moved)))
    return Model(model.name, specs, attached=model.attachments)


def check_images(model: Model, seed: int, place: float) -> None:
    """Every part of the image is turned as the image of its partner, exactly, and is where that is, nearly."""
    mirror, rng = Mirror(model), np.random.default_rng(seed)
    assert not mirror.odd
    for q in model.random(rng, 5):
        image = mirror.reflect_pose(q)
        for joint in model.joints:
            frame, other = joint.frame, mirror.partners[joint.frame]
            wanted = mirror.reflect_transform(q, frame, model.fk(q, frame))
            got = model.fk(image, other)
            assert np.abs(got[:3, :3] - wanted[:3, :3]).max() < 1e-9
            assert np.linalg.norm(got[:3, 3] - wanted[:3, 3]) < place * model.length
        assert np.abs(model.difference(mirror.reflect_pose(image), q)).max() < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_measured_bodies_are_never_quite_the_same_on_both_sides(seed: int) -> None:
    check_images(shake(poise.load("humanoid"), 0.004, seed), seed, 0.2)


def test_roles_give_the_sides_of_a_robot_without_sides_in_names() -> None:
    robot, _ = Maker(Plan()).make()
    scrambled, _ = scramble(robot, 0)
    with pytest.raises(InvalidValue, match="roles"):
        Mirror(scrambled)
    check_images(scrambled.with_roles(poise.roles(scrambled)), 0, 1e-9)


def test_a_body_that_is_its_own_image_in_the_rest_pose_alone() -> None:
    """Bones of glTF carry their rest turn in q: with all turns at zero the body is a heap."""
    builder, rng = poise.ModelBuilder("bones"), np.random.default_rng(2)
    builder.add_joint("root", None, "free")
    for side, sign in (("l", 1.0), ("r", -1.0)):
        above, turned = "root", Rotation.identity()
        for k, place in enumerate(((0.3, 0.1, 0.0), (0.5, 0.0, 0.1), (0.4, -0.2, 0.0))):
            own = Rotation.random(rng)
            local = turned.inverse().apply(np.array([sign * place[0], *place[1:]]))
            rest = turned.inverse() @ own
            builder.add_joint(f"bone_{k}_{side}", above, "ball", offset=local, rest=rest.wxyz)
            above, turned = f"bone_{k}_{side}", own
    check_images(builder.build(), 1, 1e-9)


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
