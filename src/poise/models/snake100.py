"""A snake of 100 hinges whose axes alternate between z (yaw) and y (pitch), 2 m long, lying along x.

Alternating axes at equal spacing are the usual design of snake robots (Hirose's ACM-R series; Wright et al., "Design of
a modular snake robot", IROS 2007). At rest the yaw joints follow Hirose's serpenoid curve, ``angle(s) = a cos(2 pi n
s)`` with n waves along the body ("Biologically Inspired Robots", 1993, chapter 2): the straight snake is singular. The
number of links, their size and the +-30 degree range are our own choice, to have a long chain.
"""

import math

from poise.model import Model, ModelBuilder

JOINTS = 100
LINK = 0.02  # [m]
RANGE = math.radians(30.0)
AMPLITUDE, WAVES = math.radians(12.0), 2.0
AXES = {"yaw": (0.0, 0.0, 1.0), "pitch": (0.0, 1.0, 0.0)}


def snake100() -> Model:
    """Build joints ``joint_1 ... joint_100`` (odd ones yaw, even ones pitch), end frame ``tip``; 100 DOF."""
    builder = ModelBuilder(name="snake100")
    builder.source = "ours, after Hirose, Biologically Inspired Robots, 1993"
    builder.add_frame("base")
    parent = "base"
    for index in range(JOINTS):
        turn = "pitch" if index % 2 else "yaw"
        wave = AMPLITUDE * math.cos(2.0 * math.pi * WAVES * index / JOINTS)
        builder.add_joint(
            f"joint_{index + 1}",
            parent,
            "revolute",
            offset=(LINK if index else 0.0, 0.0, 0.0),
            axis=AXES[turn],
            lower=-RANGE,
            upper=RANGE,
            rest=wave if turn == "yaw" else 0.0,
            mass=0.02,
            center=(LINK / 2, 0.0, 0.0),
        )
        parent = f"joint_{index + 1}"
    builder.add_frame("tip", parent, (LINK, 0.0, 0.0))
    return builder.build()
