"""KUKA LBR iiwa 14 R820, 7 joints.

Lengths 0.36, 0.42, 0.40 and 0.126 m (base to shoulder, to elbow, to wrist, to flange) and the ranges +-170,
120, 170, 120, 170, 120, 175 degrees: KUKA, "LBR iiwa 7 R800, LBR iiwa 14 R820, Specification". The maker publishes the
total mass, 29.9 kg; its distribution over the links is that of the public community descriptions (Drake, MuJoCo
Menagerie), 30.6 kg with the base.

Link frames are at the intersections of the axes, shoulder, elbow and wrist, so that the table contains only the four
lengths.
"""

from math import pi, radians

from poise.model import Model, ModelBuilder
from poise.models.dh import Link, add_links

A170, A120, A175 = radians(170.0), radians(120.0), radians(175.0)
FLANGE = 0.045  # iiwa_link_7 to iiwa_link_ee: with d of the last row, wrist to flange 0.126 [m]

# fmt: off
LINKS = (
    Link("iiwa_joint_1", "iiwa_link_1", a=0.0, alpha=0.0, d=0.36,
         lower=-A170, upper=A170, rest=0.0, mass=5.76, center=(0.0, -0.03, -0.0825)),
    Link("iiwa_joint_2", "iiwa_link_2", a=0.0, alpha=-pi / 2, d=0.0,
         lower=-A120, upper=A120, rest=pi / 4, mass=6.35, center=(-0.0003, -0.059, 0.042)),
    Link("iiwa_joint_3", "iiwa_link_3", a=0.0, alpha=pi / 2, d=0.42,
         lower=-A170, upper=A170, rest=0.0, mass=3.5, center=(0.0, 0.03, -0.0855)),
    Link("iiwa_joint_4", "iiwa_link_4", a=0.0, alpha=pi / 2, d=0.0,
         lower=-A120, upper=A120, rest=-pi / 2, mass=3.5, center=(0.0, 0.067, 0.034)),
    Link("iiwa_joint_5", "iiwa_link_5", a=0.0, alpha=-pi / 2, d=0.40,
         lower=-A170, upper=A170, rest=0.0, mass=3.5, center=(-0.0001, -0.021, -0.1395)),
    Link("iiwa_joint_6", "iiwa_link_6", a=0.0, alpha=-pi / 2, d=0.0,
         lower=-A120, upper=A120, rest=pi / 4, mass=1.8, center=(0.0, -0.0006, 0.0004)),
    Link("iiwa_joint_7", "iiwa_link_7", a=0.0, alpha=pi / 2, d=0.081,
         lower=-A175, upper=A175, rest=0.0, mass=1.2, center=(0.0, 0.0, 0.02)),
)
# fmt: on


def iiwa14() -> Model:
    """Build frames ``iiwa_link_0 ... iiwa_link_7 iiwa_link_ee`` (the flange), joints ``iiwa_joint_1 ... 7``; 7 DOF."""
    builder = ModelBuilder(name="iiwa14")
    builder.source = "KUKA, LBR iiwa 7 R800, LBR iiwa 14 R820, Specification"
    builder.notes.append("the division of the mass over the links is not the maker's")
    builder.add_frame("iiwa_link_0", mass=5.0, center=(-0.1, 0.0, 0.07))
    add_links(builder, "iiwa_link_0", LINKS)
    builder.add_frame("iiwa_link_ee", "iiwa_link_7", (0.0, 0.0, FLANGE))
    return builder.build()
