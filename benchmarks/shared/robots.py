"""The arms of the benchmarks as tables, independent of Poise: peers are built from them, and answers checked by them.

Rows are Craig's modified Denavit-Hartenberg parameters, `T = Tx(a) Rx(alpha) Tz(d) Rz(q)`, retyped from the makers'
documents.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import poise

Array = NDArray[np.float64]

PI = math.pi
TOLERANCE = (1e-4, 1e-3)  # metres and radians
ROUNDING = 1e-9  # allowed excess over a tolerance or a range, for differences in rounding


@dataclass(frozen=True)
class Arm:
    """A serial arm of hinges.

    Attributes:
        name: Its name in the tables.
        rows: (a, alpha, d, lower, upper) of every joint [m, rad].
        flange: Position of the tool frame along the last axis [m].
        elbow: A bent pose from which a path can be tracked.
        locked: The joint that is fixed at several values for the closed form; None for six joints.
    """

    name: str
    rows: tuple[tuple[float, float, float, float, float], ...]
    flange: float
    elbow: tuple[float, ...]
    locked: int | None = None

    @cached_property
    def lower(self) -> Array:
        """Lower ends of the ranges."""
        return np.array([row[3] for row in self.rows])

    @cached_property
    def upper(self) -> Array:
        """Upper ends of the ranges."""
        return np.array([row[4] for row in self.rows])

    @cached_property
    def middle(self) -> Array:
        """The middle of the ranges, where every search starts."""
        return 0.5 * (self.lower + self.upper)

    def fk(self, q: Array) -> Array:
        """The tool frame in the world, by plain products of 4x4 matrices: (..., n) to (..., 4, 4)."""
        T = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for i, (a, alpha, d, _, _) in enumerate(self.rows):
            T = T @ place(a, alpha, d) @ turn(q[..., i])
        return np.asarray(T @ place(0.0, 0.0, self.flange))

    def serve(self, q: Array, T_wanted: Array, *, single: bool = False) -> NDArray[np.bool_]:
        """Return which rows are inside the ranges and reach their targets, to TOLERANCE.

        With `single`, answers are those of single precision, whose rounding is allowed for.
        """
        room, scale = (1e-7, 1.0001) if single else (ROUNDING, 1.0)
        T = self.fk(q)
        R = np.einsum("...ij,...kj->...ik", T_wanted[..., :3, :3], T[..., :3, :3])
        sine = np.linalg.norm(R - np.swapaxes(R, -1, -2), axis=(-2, -1)) / np.sqrt(2)
        radians = np.arctan2(sine, np.trace(R, axis1=-2, axis2=-1) - 1.0)
        metres = np.linalg.norm(T_wanted[..., :3, 3] - T[..., :3, 3], axis=-1)
        inside = ((q >= self.lower - room) & (q <= self.upper + room)).all(axis=-1)
        close = (metres <= scale * TOLERANCE[0] + ROUNDING) & (radians <= scale * TOLERANCE[1] + ROUNDING)
        return np.asarray(inside & close)

    def serves(self, q: Any, T_wanted: Array) -> bool:
        """Return whether q, if there is one, is inside the ranges and reaches the target, to TOLERANCE."""
        return q is not None and bool(np.isfinite(q).all() and self.serve(np.asarray(q), T_wanted))

    def urdf(self) -> str:
        """The arm as a URDF, with the tool frame `tool`."""
        links, joints, parent = ['<link name="base"/>'], [], "base"
        for i, (a, alpha, d, lower, upper) in enumerate(self.rows, 1):
            xyz = f"{a!r} {-math.sin(alpha) * d!r} {math.cos(alpha) * d!r}"
            limits = f'<axis xyz="0 0 1"/><limit lower="{lower!r}" upper="{upper!r}" effort="100" velocity="10"/>'
            links.append(LINK.format(name=f"link{i}"))
            joints.append(JOINT.format(i, "revolute", parent, f"link{i}", xyz, alpha, limits))
            parent = f"link{i}"
        links.append(LINK.format(name="tool"))
        joints.append(JOINT.format("_tool", "fixed", parent, "tool", f"0 0 {self.flange!r}", 0.0, ""))
        head = f'<robot name="{self.name}"><mujoco><compiler fusestatic="false" balanceinertia="true"/></mujoco>'
        return "\n".join([head, *links, *joints, "</robot>"])


LINK = (
    '<link name="{name}"><inertial><mass value="1"/><origin xyz="0 0 0"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="joint{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}" rpy="{!r} 0 0"/>{}</joint>'
)


def place(a: float, alpha: float, d: float) -> Array:
    """`Tx(a) Rx(alpha) Tz(d)`."""
    c, s = math.cos(alpha), math.sin(alpha)
    return np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, -s * d], [0.0, s, c, c * d], [0.0, 0.0, 0.0, 1.0]])


def turn(q: Array) -> Array:
    """`Rz(q)`, batched."""
    T = np.zeros((*q.shape, 4, 4))
    T[..., 0, 0] = T[..., 1, 1] = np.cos(q)
    T[..., 1, 0] = np.sin(q)
    T[..., 0, 1] = -np.sin(q)
    T[..., 2, 2] = T[..., 3, 3] = 1.0
    return T


# Franka Control Interface documentation; the flange is panda_link8
PANDA = Arm(
    "panda",
    (
        (0.0, 0.0, 0.333, -2.8973, 2.8973),
        (0.0, -PI / 2, 0.0, -1.7628, 1.7628),
        (0.0, PI / 2, 0.316, -2.8973, 2.8973),
        (0.0825, PI / 2, 0.0, -3.0718, -0.0698),
        (-0.0825, -PI / 2, 0.384, -2.8973, 2.8973),
        (0.0, PI / 2, 0.0, -0.0175, 3.7525),
        (0.088, PI / 2, 0.0, -2.8973, 2.8973),
    ),
    flange=0.107,
    elbow=(0.0, -PI / 4, 0.0, -3 * PI / 4, 0.0, PI / 2, PI / 4),
    locked=6,
)


def ur5(turns: float = 2 * PI) -> Arm:
    """Universal Robots UR5 (CB series): the maker's DH table; every joint turns by `turns` each way."""
    table = (
        (0.0, 0.0, 0.089159),
        (0.0, PI / 2, 0.0),
        (-0.425, 0.0, 0.0),
        (-0.39225, 0.0, 0.10915),
        (0.0, PI / 2, 0.09465),
        (0.0, -PI / 2, 0.0823),
    )
    rows = tuple((a, alpha, d, -turns, turns) for a, alpha, d in table)
    return Arm("ur5", rows, flange=0.0, elbow=(0.0, -PI / 2, PI / 2, -PI / 2, -PI / 2, 0.0))


UR5 = ur5()

# KUKA LBR iiwa 14 R820, specification
IIWA14 = Arm(
    "iiwa14",
    tuple(
        (0.0, alpha, d, -math.radians(range_), math.radians(range_))
        for alpha, d, range_ in (
            (0.0, 0.36, 170.0),
            (-PI / 2, 0.0, 120.0),
            (PI / 2, 0.42, 170.0),
            (PI / 2, 0.0, 120.0),
            (-PI / 2, 0.40, 170.0),
            (-PI / 2, 0.0, 120.0),
            (PI / 2, 0.081, 175.0),
        )
    ),
    flange=0.045,
    elbow=(0.0, PI / 4, 0.0, -PI / 2, 0.0, PI / 4, 0.0),
    locked=2,
)

ARMS = {"panda": PANDA, "ur5": UR5, "iiwa14": IIWA14}


def draw_targets(arm: Arm, count: int, seed: int = 0) -> Array:
    """Return tool frames of random poses, in parts, to limit the memory."""
    rng = np.random.default_rng(seed)
    parts = [min(200_000, count - k) for k in range(0, count, 200_000)]
    return np.concatenate([arm.fk(rng.uniform(arm.lower, arm.upper, (n, len(arm.rows)))) for n in parts])


def draw_mixed(arm: Arm, count: int) -> Array:
    """Return transforms of which many cannot be reached, in the ball of the tool of random poses."""
    rng = np.random.default_rng(1)
    tools = arm.fk(rng.uniform(arm.lower, arm.upper, (20_000, len(arm.rows))))[:, :3, 3]
    return draw_in_ball(place(*arm.rows[0][:3])[:3, 3], tools, rng, count)


def draw_in_ball(center: Array, tools: Array, rng: np.random.Generator, count: int) -> Array:
    """Return random transforms in the ball around the second joint that contains these positions of the tool."""
    radius = np.linalg.norm(tools - center, axis=1).max()
    out = np.tile(np.eye(4), (count, 1, 1))
    direction = rng.normal(size=(count, 3))
    direction *= (radius * rng.uniform(size=(count, 1)) ** (1 / 3)) / np.linalg.norm(direction, axis=1, keepdims=True)
    out[:, :3, 3] = center + direction
    out[:, :3, :3] = poise.Rotation(rng.normal(size=(count, 4))).matrix
    return out


def model_of(arm: Arm) -> tuple[poise.Model, str]:
    """Return the arm in Poise and its tool frame: the built-in body, or one built from the table."""
    built_in = {"panda": "panda_link8", "iiwa14": "iiwa_link_ee"}
    if arm.name in built_in:
        return poise.load(arm.name), built_in[arm.name]
    builder = poise.ModelBuilder(arm.name)
    parent = None
    for i, (a, alpha, d, lower, upper) in enumerate(arm.rows, 1):
        builder.add_joint(f"joint{i}", parent, "revolute", offset=place(a, alpha, d), lower=lower, upper=upper)
        parent = f"joint{i}"
    builder.add_frame("tool", parent, (0.0, 0.0, arm.flange))
    return builder.build(), "tool"
