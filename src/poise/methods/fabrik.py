"""FABRIK: forward and backward reaching inverse kinematics.

    backward   p_n = t,   p_i = p_(i+1) + d_i (p_i - p_(i+1)) / |p_i - p_(i+1)|      from the effectors to the root
    forward    p_0 = its position,   p_(i+1) = p_i + d_i (p_(i+1) - p_i) / |p_(i+1) - p_i|     back to the effectors

on the positions of the joints, with d_i the bone lengths. At a branch, the joint takes the weighted mean of the
positions from its branches. Here the forward half rotates the joints of the actual body one by one, hinges about their
axes and all in their ranges, so every iteration ends in a valid pose. For a target out of reach of a single chain, one
iteration returns the straight chain; a chain that lies on the line to its target is bent slightly first.

    pose       p_(n-1) = t + T R^T (p_(n-1) - p_n)     the last bone has the target rotation T (R: current)
    free root  p_0 = the mean of the positions from its branches, rotated for the best fit: it is not put back
    cone       a ball's rotation is clamped to the closest swing and twist in its cone, before the next is placed

Source: Aristidou and Lasenby, FABRIK: a fast, iterative solver for the inverse kinematics problem, Graphical
Models 73(5), 2011; Aristidou, Chrysanthou and Lasenby, Extending FABRIK with model constraints, Computer
Animation and Virtual Worlds 27(1), 2016.

If axes, ranges or cones keep a joint from its direction, the iteration may diverge; then a sweep of CCD from the same
pose is also made, and the better result is kept. Chains of free balls, and of hinges in a plane, never need it.

Limitations: it works on positions, so it supports positions, poses and rotating joints under a root that may be free,
and rejects rotation goals; with tight ranges, or hinges with different axes, it is no better than CCD and costs more.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import Method
from poise.native import core

__all__ = ["FABRIK"]


@dataclass(frozen=True, kw_only=True)
class FABRIK(Method):
    """Forward and backward reaching (FABRIK)."""

    stall_steps: int = 20
    stall_ratio: float = 0.999

    name: ClassVar[str] = "fabrik"
    code: ClassVar[core.MethodCode] = core.MethodCode.FABRIK
    joint_kinds: ClassVar[frozenset[str]] = frozenset({"revolute", "continuous", "universal", "euler", "ball", "free"})
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "pose"})
    limit_kinds: ClassVar[frozenset[str]] = frozenset({"Cone"})
    levels: ClassVar[bool] = False
    longest_step: ClassVar[float] = math.inf
