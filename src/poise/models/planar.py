"""The planar arms of textbooks: revolute joints about z, links of 1 m in the xy plane, no limits.

The 2R and 3R arms are those of Craig, "Introduction to Robotics", chapter 3, with unit links: ``tip = sum_k
(cos(q_1 + ... + q_k), sin(q_1 + ... + q_k), 0)``. The rest pose is bent, since a straight arm is singular.
"""

import math

from poise.model import Model, ModelBuilder

LINK = 1.0  # [m]


def planar2() -> Model:
    """Build two joints: ``joint_1 joint_2``, end frame ``tip``; 2 DOF, reach 2 m."""
    return _build_planar("planar2", rest=(30.0, 60.0))


def planar3() -> Model:
    """Build three joints: ``joint_1 joint_2 joint_3``, end frame ``tip``; 3 DOF, reach 3 m."""
    return _build_planar("planar3", rest=(30.0, 45.0, 45.0))


def _build_planar(name: str, rest: tuple[float, ...]) -> Model:
    builder = ModelBuilder(name=name)
    builder.source = "Craig, Introduction to Robotics, chapter 3"
    builder.add_frame("base")
    parent = "base"
    for index, angle in enumerate(map(math.radians, rest)):
        name, offset = f"joint_{index + 1}", (LINK if index else 0.0, 0.0, 0.0)
        builder.add_joint(name, parent, "revolute", offset=offset, rest=angle, mass=1.0, center=(LINK / 2, 0, 0))
        parent = name
    builder.add_frame("tip", parent, (LINK, 0.0, 0.0))
    return builder.build()
