"""The SO-101 arm of TheRobotStudio and Hugging Face's LeRobot, 5 joints and a gripper.

Places, ranges, masses and names: the makers' URDF, ``so101_new_calib.urdf`` (SO-ARM100, Apache 2.0), whose joints are
at zero in the middle of their ranges; places to 0.01 mm. Rest: zero, as after LeRobot's calibration.
"""

from math import pi

from poise.model import Model, ModelBuilder
from poise.spatial import Rotation, Transform

SPEED, TORQUE = 10.0, 10.0  # rad/s and N m, of every motor
ROLL = 0.0486795  # by which the gripper is mounted askew

# joint, frame, place, roll, pitch and yaw, range, mass and its centre
# fmt: off
LINKS = (
    ("shoulder_pan", "shoulder_link", (0.03884, 0.0, 0.0624), (pi, 0.0, pi),
     (-1.91986, 1.91986), 0.1, (-0.03076, -0.00002, -0.02527)),
    ("shoulder_lift", "upper_arm_link", (-0.0304, -0.01828, -0.0542), (-pi / 2, -pi / 2, 0.0),
     (-1.74533, 1.74533), 0.103, (-0.08985, -0.00838, 0.01841)),
    ("elbow_flex", "lower_arm_link", (-0.11257, -0.028, 0.0), (0.0, 0.0, pi / 2),
     (-1.69, 1.69), 0.104, (-0.09807, 0.00324, 0.01828)),
    ("wrist_flex", "wrist_link", (-0.1349, 0.0052, 0.0), (0.0, 0.0, -pi / 2),
     (-1.65806, 1.65806), 0.079, (-0.0001, -0.03861, 0.02812)),
    ("wrist_roll", "gripper_link", (0.0, -0.0611, 0.0181), (pi / 2, ROLL, pi),
     (-2.74385, 2.84121), 0.087, (0.00021, 0.00025, -0.02519)),
    ("gripper", "moving_jaw_so101_v1_link", (0.0202, 0.0188, -0.0234), (pi / 2, 0.0, 0.0),
     (-0.174533, 1.74533), 0.012, (-0.00157, -0.03002, 0.01928)),
)
# fmt: on


def so101() -> Model:
    """Build frames ``base_link shoulder_link ... gripper_link gripper_frame_link``, joints named as motors; 6 DOF."""
    builder = ModelBuilder(name="so101")
    builder.source = "TheRobotStudio, SO-ARM100, Simulation/SO101/so101_new_calib.urdf"
    builder.add_frame("base_link", mass=0.147, center=(0.01372, -0.00005, 0.03348))
    parent = "base_link"
    for joint, frame, place, angles, (lower, upper), mass, center in LINKS:
        offset = Transform(Rotation.from_euler("ZYX", angles[::-1]), place)
        builder.add_joint(
            joint,
            parent,
            "revolute",
            frame=frame,
            offset=offset,
            lower=lower,
            upper=upper,
            mass=mass,
            center=center,
            velocity=SPEED,
            effort=TORQUE,
        )
        parent = frame
    tool = Transform(Rotation.from_vector((0.0, pi, 0.0)), (-0.0079, -0.00022, -0.09813))
    builder.add_frame("gripper_frame_link", "gripper_link", tool)
    return builder.build()
