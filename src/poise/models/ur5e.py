"""Universal Robots UR5e, 6 joints.

Dimensions, masses and centres: the maker's table, "DH parameters for calculations of kinematics and dynamics"
(classical convention; the centres are moved here from the far end of each link to its joint). Ranges: +-360
degrees on every joint (UR5e user manual, technical specifications). Base mass and frame names follow the
maker's ROS description.

The world is the controller's ``base`` frame, so positions are those on the teach pendant; ``base_link`` is the same
frame rotated by half a turn about z, as in the ROS description. Rest: elbow up, tool down.
"""

from math import pi

from poise.model import Model, ModelBuilder
from poise.models.dh import Link, add_links, turn_about_z

TURN = 2.0 * pi

# a and alpha of the previous link (see dh.py)
# fmt: off
LINKS = (
    Link("shoulder_pan_joint", "shoulder_link", a=0.0, alpha=0.0, d=0.1625,
         lower=-TURN, upper=TURN, rest=0.0, mass=3.761, center=(0.0, -0.00193, -0.02561)),
    Link("shoulder_lift_joint", "upper_arm_link", a=0.0, alpha=pi / 2, d=0.0,
         lower=-TURN, upper=TURN, rest=-pi / 2, mass=8.058, center=(-0.2125, 0.0, 0.11336)),
    Link("elbow_joint", "forearm_link", a=-0.425, alpha=0.0, d=0.0,
         lower=-TURN, upper=TURN, rest=pi / 2, mass=2.846, center=(-0.2422, 0.0, 0.0265)),
    Link("wrist_1_joint", "wrist_1_link", a=-0.3922, alpha=0.0, d=0.1333,
         lower=-TURN, upper=TURN, rest=-pi / 2, mass=1.37, center=(0.0, -0.01634, -0.0018)),
    Link("wrist_2_joint", "wrist_2_link", a=0.0, alpha=pi / 2, d=0.0997,
         lower=-TURN, upper=TURN, rest=-pi / 2, mass=1.3, center=(0.0, 0.01634, -0.0018)),
    Link("wrist_3_joint", "wrist_3_link", a=0.0, alpha=-pi / 2, d=0.0996,
         lower=-TURN, upper=TURN, rest=0.0, mass=0.365, center=(0.0, 0.0, -0.001159)),
)
# fmt: on


def ur5e() -> Model:
    """Build frames ``base base_link shoulder_link ... wrist_3_link tool0``, joints ``shoulder_pan_joint ..``; 6 DOF."""
    builder = ModelBuilder(name="ur5e")
    builder.source = "Universal Robots, DH parameters for calculations of kinematics and dynamics"
    builder.notes.append("the world is the controller's base frame; base_link is turned half round from it")
    builder.add_frame("base", mass=4.0)
    builder.add_frame("base_link", "base", turn_about_z(pi))
    add_links(builder, "base", LINKS)
    builder.add_frame("tool0", "wrist_3_link")
    return builder.build()
