"""The bridge to LeRobot, with the SO-101: an arm of five joints and a gripper."""

import re

import numpy as np
import pytest

import poise
from mjcf_files import mujoco, write
from poise.bridges.lerobot import RobotKinematics
from poise.errors import InvalidValue, NameNotFound, ShapeMismatch
from poise.spatial import Rotation

FRAME = "gripper_frame_link"
MOTORS = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
LOWER, UPPER = np.degrees([poise.load("so101").lower, poise.load("so101").upper])


def write_arm(folder):
    """The SO-101 as a URDF in which MuJoCo keeps the frame of the gripper."""
    poise.save(poise.load("so101"), folder / "arm.urdf")
    keep = '<mujoco><compiler fusestatic="false" balanceinertia="true" boundinertia="1e-6" boundmass="1e-6"/></mujoco>'
    text = (folder / "arm.urdf").read_text("utf-8")
    return write(folder, re.sub("(<robot [^>]*>)", rf"\1{keep}", text), "arm.urdf")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def arm(path):
    return RobotKinematics(path)


def draw(count, seed=0):
    return np.random.default_rng(seed).uniform(LOWER, UPPER, (count, 6))


def miss(arm, q, T):
    """The distance [mm] and the angle [rad] of a pose from a transform."""
    found = arm.forward_kinematics(q)
    turn = Rotation.from_matrix(found[:3, :3].T @ T[:3, :3]).log()
    return 1e3 * np.linalg.norm(found[:3, 3] - T[:3, 3]), np.linalg.norm(turn)


def turned(T, *vector):
    out = T.copy()
    out[:3, :3] = T[:3, :3] @ Rotation.from_vector(vector).matrix
    return out


def test_forward_kinematics_are_mujocos_for_any_order_of_motors(arm, path):
    assert arm.joint_names == MOTORS
    m = mujoco.MjModel.from_xml_path(str(path))
    data, back = mujoco.MjData(m), RobotKinematics(path, FRAME, MOTORS[::-1])
    for q in draw(20):
        for name, value in zip(MOTORS, np.radians(q), strict=True):
            data.joint(name).qpos[0] = value
        mujoco.mj_forward(m, data)
        T = arm.forward_kinematics(q)
        np.testing.assert_allclose(T[:3, 3], data.body(FRAME).xpos, atol=1e-12)
        np.testing.assert_allclose(T[:3, :3].ravel(), data.body(FRAME).xmat, atol=1e-12)
        np.testing.assert_allclose(back.forward_kinematics(q[::-1]), T, atol=1e-15)
        np.testing.assert_allclose(back.inverse_kinematics(q[::-1], T)[::-1], q, atol=1e-12)


@pytest.mark.parametrize("weight", [0.01, 0.0])
def test_positions_that_the_arm_reaches_are_exact(arm, weight):
    turns = []
    for k, q in enumerate(draw(500)):
        T = turned(arm.forward_kinematics(q), 0.0, 0.7 * (k % 2), 0.0)  # every other rotation is out of reach
        found = arm.inverse_kinematics(np.zeros(6), T, orientation_weight=weight)
        distance, turn = miss(arm, found, T)
        assert distance < 0.1
        turns += [turn] * (k % 2 == 0)
        assert (found[:5] >= LOWER[:5] - 1e-9).all()
        assert (found[:5] <= UPPER[:5] + 1e-9).all()
    assert weight == 0.0 or np.mean(np.array(turns) < 2e-3) > 0.97


def test_transforms_nearby_are_exact(arm):
    for q, other in zip(draw(200), draw(200, seed=1), strict=True):
        T = arm.forward_kinematics(q)
        found = arm.inverse_kinematics(q + 0.03 * (other - q), T)
        assert miss(arm, found, T) < (0.1, 2e-3)


def test_a_translation_of_100_mm_needs_one_call(arm):
    q = np.array([0.0, -30.0, 40.0, 30.0, 0.0, 10.0])
    T = arm.forward_kinematics(q)
    T[1, 3] += 0.1
    assert miss(arm, arm.inverse_kinematics(q, T), T)[0] < 0.1


def test_the_rotation_is_as_good_as_the_position_allows(arm):
    model, rng, found = arm.model, np.random.default_rng(3), 0
    joints = [model.joint(name) for name in MOTORS[:5]]
    columns = [joint.q.start for joint in joints]
    for start in 0.6 * draw(20, seed=2):
        T, q = turned(arm.forward_kinematics(start), *0.3 * rng.normal(size=3)), start
        for _ in range(10):
            q = arm.inverse_kinematics(q, T)
        if (q[:5] < LOWER[:5] + 0.1).any() or (q[:5] > UPPER[:5] - 0.1).any():
            continue
        pose = np.array(model.rest)
        pose[columns] = np.radians(q[:5])
        J = model.jacobian(pose, FRAME)[:, columns]
        free = np.linalg.svd(J[:3])[2][3:].T  # motions that keep the position
        error = Rotation.from_matrix(T[:3, :3] @ model.fk(pose, FRAME)[:3, :3].T).log()
        assert np.abs(free.T @ J[3:].T @ error).max() < 1e-2
        assert miss(arm, q, T)[0] < 0.1
        found += np.linalg.norm(error) > 0.05
    assert found > 5


def test_a_circle_is_followed_without_a_jump(arm):
    q = np.array([0.0, -30.0, 40.0, 30.0, 20.0, 33.0])
    first = arm.forward_kinematics(q)
    for angle in np.linspace(0.0, 2.0 * np.pi, 200):
        T = turned(first, 0.4 * np.sin(angle), 0.4 * np.sin(2.0 * angle), 0.0)
        T[:3, 3] += 0.05 * np.array([0.0, np.sin(angle), 1.0 - np.cos(angle)])
        after = arm.inverse_kinematics(q, T)
        assert miss(arm, after, T)[0] < 0.1
        assert np.abs(after - q).max() < 6.0
        q = after


def test_an_arm_that_is_stuck_stays_in_its_branch(arm):
    q = np.array([0.0, -30.0, 40.0, 30.0, 0.0, 0.0])
    T = arm.forward_kinematics(q)
    center = np.array([0.0388, 0.0])
    for angle in np.linspace(0.0, 3.0, 300):  # behind the base, past the range of the pan
        turn = Rotation.from_vector([0.0, 0.0, angle]).matrix
        target = T.copy()
        target[:3, :3] = turn @ T[:3, :3]
        target[:2, 3] = center + turn[:2, :2] @ (T[:2, 3] - center)
        after = arm.inverse_kinematics(q, target)
        assert np.abs(after - q).max() < 30.0  # the roll of the wrist, which moves the frame a little
        q = after
    assert q[0] == pytest.approx(LOWER[0], abs=1e-6)


def test_a_joint_outside_its_range_comes_back_and_nothing_jumps(arm):
    q = np.array([10.0, LOWER[1] - 3.0, 60.0, 20.0, 15.0, 120.0])
    T = arm.forward_kinematics(q)
    found = arm.inverse_kinematics(q, T)
    assert miss(arm, found, T)[0] < 0.1
    assert found[1] >= LOWER[1] - 1e-9
    assert np.abs(found - q).max() < 12.0
    np.testing.assert_allclose(arm.inverse_kinematics(found, T), found, atol=0.5)


def test_the_position_alone_keeps_joints_that_it_does_not_need(arm):
    q = 0.5 * draw(1)[0]
    T = turned(arm.forward_kinematics(q), 2.0, 0.0, 1.0)
    np.testing.assert_allclose(arm.inverse_kinematics(q, T, orientation_weight=0.0), q, atol=1e-12)


def test_grippers_and_further_values_are_handed_through(arm, path):
    q, T = np.zeros(6), arm.forward_kinematics(draw(1)[0])
    q[5] = 437.5
    assert arm.inverse_kinematics(q, T)[5] == 437.5
    five = RobotKinematics(path, joint_names=MOTORS[:5])
    found = five.inverse_kinematics(np.array([0, 0, 0, 0, 0, 99, 7], np.float32), T)
    assert found[5:].tolist() == [99.0, 7.0]
    np.testing.assert_allclose(found[:5], arm.inverse_kinematics(q, T)[:5], atol=1e-9)
    np.testing.assert_array_equal(five.forward_kinematics(found), arm.forward_kinematics(found[:6]))


def test_slides_are_in_metres_and_other_joints_keep_their_rest():
    builder = poise.ModelBuilder("gantry").add_joint("x", None, "prismatic", axis=(1, 0, 0), lower=-1.0, upper=1.0)
    builder.add_joint("turn", "x", "revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0, rest=[0.5])
    builder.add_joint("y", "turn", "prismatic", axis=(0, 1, 0), lower=-1.0, upper=1.0).add_frame("tip", "y")
    gantry = RobotKinematics(builder.build(), "tip", ["y", "x"])
    T = gantry.forward_kinematics([0.2, 0.3])
    np.testing.assert_allclose(T[:2, 3], [0.3 - 0.2 * np.sin(0.5), 0.2 * np.cos(0.5)])
    for weight in (0.01, 0.0):
        np.testing.assert_allclose(gantry.inverse_kinematics([0.5, 0.0], T, 1.0, weight), [0.2, 0.3], atol=2e-4)


Q, POSE = np.zeros(6), np.eye(4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: RobotKinematics(a.model, "gripper_frame"), NameNotFound, "'gripper_frame'.*gripper_frame_link"),
        (lambda a: RobotKinematics(a.model, FRAME, ["shoulder"]), NameNotFound, "joint is called 'shoulder'"),
        (lambda a: RobotKinematics(a.model, FRAME, "shoulder_pan"), InvalidValue, r"list of names, such as \['should"),
        (lambda a: RobotKinematics(a.model, FRAME, [*MOTORS, "gripper"]), InvalidValue, "'gripper' is given twice"),
        (lambda a: RobotKinematics(a.model, FRAME, [FRAME + "_fixed"]), InvalidValue, "is a fixed joint"),
        (lambda a: RobotKinematics(a.model, FRAME, ["gripper"]), InvalidValue, "no joint that moves frame 'gripper_fr"),
        (lambda a: a.forward_kinematics(Q[:5]), ShapeMismatch, r"joint_pos_deg has shape \(5,\).*each of 6: shoulder"),
        (lambda a: a.inverse_kinematics(Q[:5], POSE), ShapeMismatch, "current_joint_pos has shape"),
        (lambda a: a.inverse_kinematics(Q + np.nan, POSE), InvalidValue, "current_joint_pos"),
        (lambda a: a.inverse_kinematics(Q, np.eye(3)[:2]), ShapeMismatch, "desired_ee_pose has shape"),
        (lambda a: a.inverse_kinematics(Q, np.array([POSE] * 2)), ShapeMismatch, r"desired_ee_pose has shape \(2, 4"),
        (lambda a: a.inverse_kinematics(Q, 2.0 * POSE), InvalidValue, "desired_ee_pose"),
        (lambda a: a.inverse_kinematics(Q, POSE, 0.0), InvalidValue, "position_weight is 0.0.*always comes first"),
        (lambda a: a.inverse_kinematics(Q, POSE, 1.0, -1.0), InvalidValue, "orientation_weight is -1.0"),
    ],
)
def test_misuse_is_explained(arm, call, error, words):
    with pytest.raises(error, match=words):
        call(arm)


def test_followers_are_no_motors(tmp_path):
    text = write_arm(tmp_path).read_text("utf-8")
    mimic = '<joint name="gripper" type="revolute"><mimic joint="wrist_roll"/>'
    model = poise.load(write(tmp_path, text.replace('<joint name="gripper" type="revolute">', mimic), "mimic.urdf"))
    assert RobotKinematics(model).joint_names == MOTORS[:5]
    with pytest.raises(InvalidValue, match="'gripper' is a follower of 'wrist_roll'"):
        RobotKinematics(model, joint_names=MOTORS)


@pytest.mark.slow
def test_a_pipeline_of_lerobot_runs_with_it(path):
    """Motors go half of the way in each frame, so every call begins at joints that lag behind."""
    lerobot = pytest.importorskip("lerobot.processor", reason="LeRobot is not installed")
    from lerobot.processor.converters import robot_action_observation_to_transition, transition_to_robot_action
    from lerobot.robots.so_follower import robot_kinematic_processor as steps

    arm = RobotKinematics(path, FRAME, MOTORS)
    pipeline = lerobot.RobotProcessorPipeline(
        [
            steps.EEReferenceAndDelta(arm, {"x": 1.0, "y": 1.0, "z": 1.0}, MOTORS),
            steps.EEBoundsAndSafety({"min": [-1.0] * 3, "max": [1.0] * 3}),
            steps.GripperVelocityToJoint(),
            steps.InverseKinematicsEEToJoints(arm, MOTORS),
        ],
        to_transition=robot_action_observation_to_transition,
        to_output=transition_to_robot_action,
    )
    q = np.array([0.0, -30.0, 40.0, 30.0, 0.0, 50.0])
    first, rest = arm.forward_kinematics(q), dict.fromkeys(["target_wx", "target_wy", "target_wz", "gripper_vel"], 0.0)
    for angle in np.linspace(0.0, 6.0, 100):
        shift = 0.05 * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        action = {"enabled": True, **dict(zip(["target_x", "target_y", "target_z"], shift, strict=True)), **rest}
        out = pipeline((action, {f"{name}.pos": value for name, value in zip(MOTORS, q, strict=True)}))
        command = np.array([out[f"{name}.pos"] for name in MOTORS])
        np.testing.assert_allclose(arm.forward_kinematics(command)[:3, 3], first[:3, 3] + shift, atol=1e-4)
        assert np.abs(command - q).max() < 12.0
        q = q + 0.5 * (command - q)
