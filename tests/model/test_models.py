"""The built-in bodies: what all of them promise, then what the figures promise."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from poise import models
from poise.arrays import Floats
from poise.errors import NameNotFound
from poise.model import Model

# body: (nq, nv)
SIZES = {
    "planar2": (2, 2),
    "planar3": (3, 3),
    "tree30": (39, 30),
    "humanoid": (53, 52),
    "hand": (24, 24),
    "hand_l": (24, 24),
    "quadruped": (42, 41),
    "panda": (7, 7),
    "ur5e": (6, 6),
    "iiwa14": (7, 7),
    "so101": (6, 6),
    "snake100": (100, 100),
}
FIGURES = ("humanoid", "quadruped")


@pytest.fixture(scope="module")
def humanoid() -> Model:
    return models.build("humanoid")


def find_position(model: Model, q: Floats, frame: str) -> Floats:
    return np.asarray(model.fk(q, frame))[:3, 3]


# ------------------------------------------------------------------------------------------------ every body


def test_names() -> None:
    assert set(models.names()) == set(SIZES)


def test_an_unknown_name_lists_similar_names() -> None:
    with pytest.raises(NameNotFound, match="humanoid") as caught:
        models.build("humanoyd")
    assert caught.value.name == "humanoyd"
    assert set(caught.value.choices) == set(models.names())


@pytest.mark.slow
def test_bodies_are_imported_on_first_use() -> None:
    code = "import sys, poise.models; assert not [m for m in sys.modules if m.startswith('poise.models.')]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", SIZES)
class TestEveryBody:
    def test_is_built_once(self, name: str) -> None:
        assert models.build(name) is models.build(name)
        assert models.build(name).name == name

    def test_has_the_size_it_documents(self, name: str) -> None:
        model = models.build(name)
        assert (model.nq, model.nv) == SIZES[name]

    def test_rests_inside_its_limits(self, name: str) -> None:
        model = models.build(name)
        for joint in model.joints:
            lower, upper = np.atleast_1d(joint.lower), np.atleast_1d(joint.upper)
            if np.isfinite(lower).any():
                rest = model.rest[joint.q]
                assert np.all(lower < rest), joint.name
                assert np.all(rest < upper), joint.name
        np.testing.assert_array_equal(model.clamp(model.rest), model.rest)

    def test_names_are_unique_and_every_frame_has_a_place(self, name: str) -> None:
        model = models.build(name)
        joints = [joint.name for joint in model.joints]
        assert len(set(joints)) == len(joints)
        assert len(set(model.frames)) == len(model.frames)
        assert np.isfinite(model.fk(model.rest)).all()

    def test_has_mass_and_a_source(self, name: str) -> None:
        model = models.build(name)
        assert model.mass > 0.0
        assert model.source
        assert np.isfinite(model.center_of_mass(model.rest)).all()


# ------------------------------------------------------------------------------------------------ tree, snake


def test_tree30_is_the_tree_of_its_source() -> None:
    model = models.build("tree30")
    kinds = [joint.kind for joint in model.joints]
    assert kinds.count("free") == 1
    assert kinds.count("ball") == 8
    ends = [frame for frame in model.frames if frame.startswith("end_")]
    parents = {model.frame(frame).parent for frame in model.frames}
    assert ends == [f"end_{i}" for i in range(1, 7)]
    assert {frame for frame in model.frames if frame not in parents} == set(ends)


def test_snake100_turns_about_two_axes_in_turn() -> None:
    model = models.build("snake100")
    assert len(model.joints) == 100
    axes = np.array([joint.axis for joint in model.joints])
    np.testing.assert_array_equal(axes[::2], np.tile([0, 0, 1], (50, 1)))
    np.testing.assert_array_equal(axes[1::2], np.tile([0, 1, 0], (50, 1)))
    assert np.all(np.isfinite(model.lower))
    straight = np.zeros(100)
    np.testing.assert_allclose(find_position(model, straight, "tip"), (2.0, 0.0, 0.0), atol=1e-12)
    # yaw goes to the left, pitch goes down
    for joint, sideways in (("joint_1", 1), ("joint_2", 2)):
        q = straight.copy()
        q[model.joint(joint).q] = 0.1
        moved = find_position(model, q, "tip") - find_position(model, straight, "tip")
        assert np.argmax(np.abs(moved)) == sideways
        assert np.sign(moved[sideways]) == (1.0 if sideways == 1 else -1.0)


# ------------------------------------------------------------------------------------------------ figures


def mirror_name(name: str) -> str:
    for left, right in (("_l", "_r"), ("_fl", "_fr"), ("_hl", "_hr")):
        if name.endswith(left):
            return name.removesuffix(left) + right
        if name.endswith(right):
            return name.removesuffix(right) + left
    return name


def mirror_signs(model: Model, name: str) -> Floats:
    """+1 for angles about x, -1 for angles about y and z."""
    joint = model.joint(name)
    if joint.kind == "euler":
        axes = [np.eye(3)["XYZ".index(letter)] for letter in joint.order]
    else:
        axes = [joint.axis, joint.axis2][: joint.nv]
    return np.array([1.0 if abs(axis[0]) > 0.5 else -1.0 for axis in axes])


def mirror(model: Model, q: Floats) -> Floats:
    """The mirror image of a pose, by the convention that poise.models.figure states."""
    image = q.copy()
    for joint in model.joints:
        if joint.kind == "free":
            image[joint.q] = q[joint.q] * (-1, 1, 1, 1, 1, -1, -1)
        else:
            image[model.joint(mirror_name(joint.name)).q] = q[joint.q] * mirror_signs(model, joint.name)
    return image


@pytest.mark.parametrize("name", FIGURES)
class TestFigures:
    def test_rest_is_its_own_mirror_image(self, name: str) -> None:
        model = models.build(name)
        np.testing.assert_array_equal(mirror(model, model.rest), model.rest)

    def test_limits_are_mirror_images(self, name: str) -> None:
        model = models.build(name)
        for joint in model.joints:
            if joint.kind != "free":
                twin, signs = model.joint(mirror_name(joint.name)), mirror_signs(model, joint.name)
                ends = np.sort([np.atleast_1d(joint.lower) * signs, np.atleast_1d(joint.upper) * signs], axis=0)
                np.testing.assert_array_equal(ends, [np.atleast_1d(twin.lower), np.atleast_1d(twin.upper)])

    def test_a_mirrored_pose_has_mirrored_frames(self, name: str) -> None:
        model = models.build(name)
        flip = np.diag([-1.0, 1.0, 1.0, 1.0])
        rng = np.random.default_rng(11)
        step = rng.uniform(-0.2, 0.2, model.nv)
        for q in (model.rest, model.clamp(model.integrate(model.rest, step))):
            image = mirror(model, q)
            for frame in model.frames:
                expected = flip @ model.fk(q, frame) @ flip
                np.testing.assert_allclose(model.fk(image, mirror_name(frame)), expected, atol=1e-12, err_msg=frame)

    def test_mass_is_symmetric(self, name: str) -> None:
        model = models.build(name)
        assert model.center_of_mass(model.rest)[0] == pytest.approx(0.0, abs=1e-12)

    def test_every_side_has_its_twin(self, name: str) -> None:
        model = models.build(name)
        assert {mirror_name(frame) for frame in model.frames} == set(model.frames)

    def test_gimbal_lock_is_outside_the_limits(self, name: str) -> None:
        # orders of three different letters lock at a middle angle of +-90 degrees
        turned = [joint for joint in models.build(name).joints if joint.kind == "euler"]
        assert turned
        for joint in turned:
            assert len(set(joint.order)) == 3
            assert np.abs([np.atleast_1d(joint.lower)[1], np.atleast_1d(joint.upper)[1]]).max() < np.radians(70)


# ------------------------------------------------------------------------------------------------ humanoid


def test_humanoid_has_mixed_joints(humanoid: Model) -> None:
    assert {joint.kind for joint in humanoid.joints} >= {"free", "revolute", "universal", "euler"}
    assert humanoid.joints[0].kind == "free"
    assert humanoid.joints[0].frame == "pelvis"


def test_humanoid_frames_are_named(humanoid: Model) -> None:
    middle = {"pelvis", "spine_1", "spine_2", "chest", "neck", "head", "head_top", "eyes"}
    arm = {"clavicle", "shoulder", "elbow", "wrist", "hand", "fingertip", "thumb"}
    leg = {"hip", "knee", "ankle", "foot", "toe", "heel"}
    assert middle | {f"{limb}_{side}" for limb in arm | leg for side in "lr"} <= set(humanoid.frames)


def test_humanoid_size(humanoid: Model) -> None:
    assert humanoid.mass == pytest.approx(75.0)
    zero = humanoid.rest.copy()
    zero[7:] = 0.0
    height = find_position(humanoid, zero, "head_top")[1] - find_position(humanoid, zero, "foot_l")[1]
    assert height == pytest.approx(1.75, abs=0.005)
    assert 1.73 < find_position(humanoid, humanoid.rest, "head_top")[1] < 1.75


def test_humanoid_feet_are_flat_on_the_ground(humanoid: Model) -> None:
    for side in "lr":
        for frame in ("foot", "heel", "toe", "ball"):
            place = humanoid.fk(humanoid.rest, f"{frame}_{side}")
            assert place[1, 3] == pytest.approx(0.0, abs=1e-12)
            np.testing.assert_allclose(place[:3, 1], (0, 1, 0), atol=1e-12)


def test_humanoid_faces_forward_with_its_left_at_plus_x(humanoid: Model) -> None:
    for frame in ("pelvis", "chest", "head", "eyes"):
        np.testing.assert_allclose(humanoid.fk(humanoid.rest, frame)[:3, :3], np.eye(3), atol=1e-12)
    assert find_position(humanoid, humanoid.rest, "hand_l")[0] > 0.2
    toe, heel = (find_position(humanoid, humanoid.rest, frame) for frame in ("toe_l", "heel_l"))
    assert toe[2] - heel[2] > 0.24
    assert toe[0] > heel[0]


def test_humanoid_stands_over_its_feet(humanoid: Model) -> None:
    center = humanoid.center_of_mass(humanoid.rest)
    heel, toe = (find_position(humanoid, humanoid.rest, frame)[2] for frame in ("heel_l", "toe_l"))
    assert heel + 0.05 < center[2] < toe - 0.08
    assert 0.52 < center[1] / 1.75 < 0.60


def test_humanoid_arms_hang_next_to_the_body_with_soft_elbows(humanoid: Model) -> None:
    shoulder, elbow, hand = (
        find_position(humanoid, humanoid.rest, frame) for frame in ("shoulder_l", "elbow_l", "hand_l")
    )
    assert shoulder[0] < elbow[0] < shoulder[0] + 0.12
    assert hand[1] < elbow[1] < shoulder[1]
    assert hand[2] > elbow[2]
    for joint in ("elbow_l", "knee_l"):
        assert np.radians(5) < abs(humanoid.rest[humanoid.joint(joint).q][0]) < np.radians(30)


def test_humanoid_first_example_is_a_comfortable_reach(humanoid: Model) -> None:
    arm = [find_position(humanoid, humanoid.rest, frame) for frame in ("shoulder_l", "elbow_l", "wrist_l", "hand_l")]
    reach = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(arm))
    distance = float(np.linalg.norm(np.array([0.40, 1.20, 0.30]) - arm[0]))
    assert 0.4 * reach < distance < 0.9 * reach


# the arm's swing, by hand: angle names of the left shoulder (X, Z, Y) and where the upper arm then points
@pytest.mark.parametrize(
    ("angles", "direction"),
    [
        ((0, 0, 0), (0, -1, 0)),
        ((-90, 55, 0), (1, 0, 0)),
        ((-90, -35, 0), (0, 0, 1)),
        ((-170, 0, 0), (0.1, 0.985, 0.142)),
    ],
    ids=["hanging", "sideways", "forward", "up"],
)
def test_humanoid_arm_swings_freely(
    humanoid: Model, angles: tuple[float, float, float], direction: tuple[float, float, float]
) -> None:
    q = humanoid.rest.copy()
    q[7:] = 0.0
    q[humanoid.joint("shoulder_l").q] = np.radians(angles)
    np.testing.assert_array_equal(humanoid.clamp(q)[humanoid.joint("shoulder_l").q], np.radians(angles))
    arm = find_position(humanoid, q, "elbow_l") - find_position(humanoid, q, "shoulder_l")
    np.testing.assert_allclose(arm / np.linalg.norm(arm), direction, atol=1e-3)


# ------------------------------------------------------------------------------------------------ quadruped, hand


def test_quadruped_stands_square() -> None:
    model = models.build("quadruped")
    feet = np.array([find_position(model, model.rest, f"foot_{leg}") for leg in ("fl", "fr", "hl", "hr")])
    toes = np.array([find_position(model, model.rest, f"toe_{leg}") for leg in ("fl", "fr", "hl", "hr")])
    np.testing.assert_allclose(feet[:, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(toes[:, 1], 0.0, atol=1e-12)
    center = model.center_of_mass(model.rest)
    assert feet[:, 2].min() < center[2] < feet[:, 2].max()
    # dogs carry about three fifths of their weight in front
    assert 0.55 < (center[2] - feet[2, 2]) / (feet[0, 2] - feet[2, 2]) < 0.7
    assert 0.55 < find_position(model, model.rest, "scapula_fl")[1] < 0.65
    assert model.mass == pytest.approx(30.0)


TIPS = ("thumb_tip", "index_tip", "middle_tip", "ring_tip", "pinky_tip")


def test_hand_proportions() -> None:
    model = models.build("hand")
    q = np.zeros(model.nq)
    tips = {tip: find_position(model, q, tip) for tip in TIPS}
    # hand length (wrist to middle fingertip) of the 50th percentile man is near 0.19 m
    assert tips["middle_tip"][1] == pytest.approx(0.194, abs=0.005)
    assert [tip for tip, _ in sorted(tips.items(), key=lambda item: -item[1][0])] == list(TIPS)
    palm = model.fk(q, "palm")
    np.testing.assert_allclose(palm[:3, :3], np.eye(3), atol=1e-15)


def test_hand_fingers_curl_towards_the_palm() -> None:
    model = models.build("hand")
    for finger in ("index", "middle", "ring", "pinky"):
        q = np.zeros(model.nq)
        for joint in ("mcp", "pip", "dip"):
            q[model.joint(f"{finger}_{joint}").q.start] = 0.5
        assert (
            find_position(model, q, f"{finger}_tip")[2]
            > find_position(model, np.zeros(model.nq), f"{finger}_tip")[2] + 0.03
        )


@pytest.mark.parametrize("finger", ["index", "middle", "ring", "pinky"])
def test_hand_thumb_meets_each_finger(finger: str) -> None:
    # a plain damped least squares walk inside the limits closes the gap
    model = models.build("hand")
    q = model.rest.copy()
    for _ in range(100):
        gap = find_position(model, q, f"{finger}_tip") - find_position(model, q, "thumb_tip")
        j = model.jacobian(q, "thumb_tip")[:3] - model.jacobian(q, f"{finger}_tip")[:3]
        q = model.clamp(q + j.T @ np.linalg.solve(j @ j.T + 1e-5 * np.eye(3), gap))
    assert np.linalg.norm(gap) < 1e-3
