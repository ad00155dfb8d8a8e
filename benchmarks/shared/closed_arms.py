"""Arms with a closed form, and the random poses and transforms that it decides.

Dimensions of arms that are not built in: xArm 7 and KR 210 from their makers' URDFs, FR3 from Franka's specification
(the Panda's axes, other ranges), Puma 560 from Corke and Armstrong-Helouvry, "A search for consensus
among model parameters", ICRA 1994.
"""

from math import pi, radians

import numpy as np
from shared.robots import draw_in_ball

import poise
from poise.goals import Reach
from poise.reach.bounds import Freedom
from poise.reach.closed_forms import ClosedGoal, find_closed_form

FR3 = (
    (-2.7437, 2.7437),
    (-1.7837, 1.7837),
    (-2.9007, 2.9007),
    (-3.0421, -0.1518),
    (-2.8065, 2.8065),
    (0.5445, 4.5169),
    (-3.0159, 3.0159),
)
XARM7 = (  # position and rotation about x of each joint, and its range
    ((0, 0, 0.267), 0.0, 2 * pi), ((0, 0, 0), -1.5708, (-2.059, 2.0944)), ((0, -0.293, 0), 1.5708, 2 * pi),
    ((0.0525, 0, 0), 1.5708, (-0.19198, 3.927)), ((0.0775, -0.3425, 0), 1.5708, 2 * pi),
    ((0, 0, 0), 1.5708, (-1.69297, pi)),
    ((0.076, 0.097, 0), -1.5708, 2 * pi),
)  # fmt: skip
KR210 = (  # place, axis, range in degrees
    ((0, 0, 0.33), "z", (-185, 185)), ((0.35, 0, 0.42), "y", (-45, 85)), ((0, 0, 1.25), "y", (-210, 65)),
    ((0.96, 0, -0.054), "x", (-350, 350)), ((0.54, 0, 0), "y", (-125, 125)), ((0.193, 0, 0), "x", (-350, 350)),
)  # fmt: skip
PUMA = (
    ((0, 0, 0.672), "z", (-160, 160)), ((0, 0.2435, 0), "y", (-225, 45)), ((0.4318, -0.0934, 0), "y", (-45, 225)),
    ((-0.0203, 0, 0.4331), "z", (-110, 170)), ((0, 0, 0), "y", (-100, 100)), ((0, 0, 0), "z", (-266, 266)),
)  # fmt: skip


def from_axes(name: str, rows: tuple) -> poise.Model:
    """Return an arm from the places, axes and ranges of its joints."""
    builder = poise.ModelBuilder(name)
    parent = None
    for k, (place, axis, (low, high)) in enumerate(rows):
        direction = np.eye(3)["xyz".index(axis)]
        offset = poise.Transform(translation=place)
        builder.add_joint(
            f"j{k + 1}", parent, "revolute", offset=offset, axis=direction, lower=radians(low), upper=radians(high)
        )
        parent = f"j{k + 1}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1))).build()


def xarm7() -> poise.Model:
    """Return the xArm 7."""
    builder = poise.ModelBuilder("xarm7")
    parent = None
    for k, (place, roll, ends) in enumerate(XARM7):
        low, high = ends if isinstance(ends, tuple) else (-ends, ends)
        offset = poise.Transform(poise.Rotation.from_axis_angle((1, 0, 0), roll), place)
        builder.add_joint(f"j{k + 1}", parent, "revolute", offset=offset, lower=low, upper=high)
        parent = f"j{k + 1}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.17))).build()


def fr3() -> poise.Model:
    """Return the Franka Research 3: the Panda's axes with other ranges."""
    panda = poise.load("panda")
    builder = poise.ModelBuilder("fr3")
    at, parent = np.eye(4), None
    chain = panda.family("panda_hand_tcp").chain
    for k, (axis, (low, high)) in enumerate(zip(chain.axes, FR3, strict=True)):
        offset = poise.Transform(translation=axis.p - at[:3, 3])
        builder.add_joint(f"j{k + 1}", parent, "revolute", offset=offset, axis=axis.h, lower=low, upper=high)
        parent, at = f"j{k + 1}", np.eye(4)
        at[:3, 3] = axis.p
    T = chain.T.copy()
    T[:3, 3] -= at[:3, 3]
    return builder.add_frame("tool", parent, poise.Transform.from_matrix(T)).build()


ARMS = {
    "panda": lambda: poise.load("panda"),
    "fr3": fr3,
    "xarm7": xarm7,
    "iiwa14": lambda: poise.load("iiwa14"),
    "ur5e": lambda: poise.load("ur5e"),
    "puma": lambda: from_axes("puma", PUMA),
    "kr210": lambda: from_axes("kr210", KR210),
}


def find_closed(model: poise.Model, frame: str) -> ClosedGoal:
    """Return the closed form of a frame's transforms."""
    free = Freedom(np.ones(model.nv, dtype=bool).tobytes(), True)
    closed = find_closed_form(model, Reach(frame, np.eye(4)).rows(model), free)
    assert isinstance(closed, ClosedGoal), closed
    return closed


def draw_around(model: poise.Model, frame: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random transforms in the ball around the second joint that contains the tool."""
    tools = model.fk(model.random(rng, 20_000), frame)[:, :3, 3]
    return draw_in_ball(model.family(frame).chain.axes[1].p, tools, rng, n)


def near_edges(model: poise.Model, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return poses, a third of their joints at an edge."""
    q = model.random(rng, n)
    low, high = np.maximum(model.lower, -pi), np.minimum(model.upper, pi)
    edge = np.where(rng.random(q.shape) < 0.5, low + 1e-3 * rng.random(q.shape), high - 1e-3 * rng.random(q.shape))
    quarter = np.clip(pi / 2 * rng.integers(-2, 3, q.shape) + 1e-3 * rng.normal(size=q.shape), model.lower, model.upper)
    choice = rng.random(q.shape)
    return np.where(choice < 1 / 6, edge, np.where(choice < 1 / 3, quarter, q))
