"""Franka Emika Panda, 7 joints.

Dimensions and ranges: the maker's modified Denavit-Hartenberg table and joint limits (Franka Control
Interface documentation, "Robot and interface specifications"). Masses and centres of the arm: the
identification of Gaz et al., "Dynamic Identification of the Franka Emika Panda Robot", RA-L 2019, as in the maker's
franka_description. Hand: 0.73 kg, from the same description; its fingers stay closed and have no mass here. The rest
pose is the maker's "ready" pose.
"""

from math import pi

from poise.model import Model, ModelBuilder
from poise.models.dh import Link, add_links, turn_about_z

FLANGE = 0.107  # panda_link7 to panda_link8 [m]
TCP = 0.1034  # panda_hand to panda_hand_tcp [m]

# fmt: off
LINKS = (
    Link("panda_joint1", "panda_link1", a=0.0, alpha=0.0, d=0.333,
         lower=-2.8973, upper=2.8973, rest=0.0, mass=4.970684, center=(0.003875, 0.002081, -0.04762)),
    Link("panda_joint2", "panda_link2", a=0.0, alpha=-pi / 2, d=0.0,
         lower=-1.7628, upper=1.7628, rest=-pi / 4, mass=0.646926, center=(-0.003141, -0.02872, 0.003495)),
    Link("panda_joint3", "panda_link3", a=0.0, alpha=pi / 2, d=0.316,
         lower=-2.8973, upper=2.8973, rest=0.0, mass=3.228604, center=(0.027518, 0.039252, -0.066502)),
    Link("panda_joint4", "panda_link4", a=0.0825, alpha=pi / 2, d=0.0,
         lower=-3.0718, upper=-0.0698, rest=-3 * pi / 4, mass=3.587895, center=(-0.05317, 0.104419, 0.027454)),
    Link("panda_joint5", "panda_link5", a=-0.0825, alpha=-pi / 2, d=0.384,
         lower=-2.8973, upper=2.8973, rest=0.0, mass=1.225946, center=(-0.011953, 0.041065, -0.038437)),
    Link("panda_joint6", "panda_link6", a=0.0, alpha=pi / 2, d=0.0,
         lower=-0.0175, upper=3.7525, rest=pi / 2, mass=1.666555, center=(0.060149, -0.014117, -0.010517)),
    Link("panda_joint7", "panda_link7", a=0.088, alpha=pi / 2, d=0.0,
         lower=-2.8973, upper=2.8973, rest=pi / 4, mass=0.735522, center=(0.010517, -0.004252, 0.061597)),
)
# fmt: on


def panda() -> Model:
    """Build frames ``panda_link0 ... panda_link8 panda_hand panda_hand_tcp``, joints ``panda_joint1 ... 7``; 7 DOF."""
    builder = ModelBuilder(name="panda")
    builder.source = "Franka Control Interface documentation; Gaz et al., RA-L 2019"
    builder.notes.append("the hand's fingers are shut and weigh nothing")
    builder.add_frame("panda_link0", mass=0.629769, center=(-0.041018, -0.00014, 0.049974))
    add_links(builder, "panda_link0", LINKS)
    builder.add_frame("panda_link8", "panda_link7", (0.0, 0.0, FLANGE))
    builder.add_frame("panda_hand", "panda_link8", turn_about_z(-pi / 4), mass=0.73, center=(-0.01, 0.0, 0.03))
    builder.add_frame("panda_hand_tcp", "panda_hand", (0.0, 0.0, TCP))
    return builder.build()
