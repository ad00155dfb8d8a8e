"""FABRIK: forward and backward reaching inverse kinematics.

    backward   p_n = t,   p_i = p_(i+1) + d_i (p_i - p_(i+1)) / |p_i - p_(i+1)|      from the effectors to the root
    forward    p_0 = its place,   p_(i+1) = p_i + d_i (p_(i+1) - p_i) / |p_(i+1) - p_i|     back to the effectors

on the places of the joints, d_i the bones' lengths. Where branches meet, the joint takes the weighted mean of
what they ask for. Here the forward half turns the joints of the real body one after the other, hinges about
their axes and all in their ranges, so every iteration ends in a pose of the body. A target out of a single
chain's reach is answered in one iteration by the straight chain; a chain that lies on the line to its target
is bent a little first.

    pose       p_(n-1) = t + T R^T (p_(n-1) - p_n)     the last bone lies as the asked rotation T has it (R: now)
    free root  p_0 = the mean of what its branches ask for, turned to fit them best: it is not put back
    cone       a ball's turn ends at the swing and twist nearest to it that its cone allows, before the next is placed

Source: Aristidou and Lasenby, FABRIK: a fast, iterative solver for the inverse kinematics problem, Graphical
Models 73(5), 2011; Aristidou, Chrysanthou and Lasenby, Extending FABRIK with model constraints, Computer
Animation and Virtual Worlds 27(1), 2016.

Where axes, ranges or cones keep a joint from pointing where it should, the iteration may end anywhere; then a sweep
of CCD from the same pose is made too, and the better of the two is taken. Chains of free balls, and of hinges in a
plane, never need it.

When it fails: it reasons about places, so it supports positions, poses and turning joints under a root that may be
free, and refuses rotations without a place; with tight ranges, or hinges whose axes all differ, it is no better than
CCD and costs more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from poise.methods.method import Method
from poise.native import core

__all__ = ["FABRIK"]


@dataclass(frozen=True, kw_only=True)
class FABRIK(Method):
    """Forward and backward reaching."""

    stall_steps: int = 20
    stall_ratio: float = 0.999

    name: ClassVar[str] = "fabrik"
    code: ClassVar[core.MethodCode] = core.MethodCode.FABRIK
    joint_kinds: ClassVar[frozenset[str]] = frozenset({"revolute", "continuous", "universal", "euler", "ball", "free"})
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "pose"})
    limit_kinds: ClassVar[frozenset[str]] = frozenset({"Cone"})
    levels: ClassVar[bool] = False
    longest_step: ClassVar[float] = math.inf
