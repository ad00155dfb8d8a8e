"""Build serial arms from a Denavit-Hartenberg table.

Joint i sits at ``T_i = Tx(a) Rx(alpha) Tz(d) Rz(q_i)`` in the frame of joint i - 1: Craig's modified
convention, with a and alpha those of the link *before* the joint. A table in the classical convention,
``Rz(q_i) Tz(d_i) Tx(a_i) Rx(alpha_i)``, describes the same arm with a and alpha moved down one row, since Rz
and Tz commute; the rest of the last row belongs to the flange. [Craig, "Introduction to Robotics",
section 3.4]
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.model import ModelBuilder

Vector = tuple[float, float, float]


class Link(NamedTuple):
    """One row of the table: joint, frame, placement, range and mass."""

    joint: str
    frame: str
    a: float
    """Length of the link before the joint [m]."""
    alpha: float
    """Twist of the link before the joint [rad]."""
    d: float
    """Offset along the joint's axis [m]."""
    lower: float
    upper: float
    rest: float
    mass: float
    center: Vector
    """Centre of mass in the link's own frame [m]."""


def make_link(a: float, alpha: float, d: float) -> NDArray[np.float64]:
    """Return ``Tx(a) Rx(alpha) Tz(d)`` as a 4x4 matrix."""
    c, s = math.cos(alpha), math.sin(alpha)
    return np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, -s * d], [0.0, s, c, c * d], [0.0, 0.0, 0.0, 1.0]])


def turn_about_z(angle: float, z: float = 0.0) -> NDArray[np.float64]:
    """Return ``Tz(z) Rz(angle)`` as a 4x4 matrix."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]])


def add_links(builder: ModelBuilder, base: str, links: Iterable[Link]) -> None:
    """Add the rows below `base`, each to the previous one, as revolute joints about z."""
    parent = base
    for link in links:
        builder.add_joint(
            link.joint,
            parent,
            "revolute",
            frame=link.frame,
            offset=make_link(link.a, link.alpha, link.d),
            lower=link.lower,
            upper=link.upper,
            rest=link.rest,
            mass=link.mass,
            center=link.center,
        )
        parent = link.frame
