"""Arms that follow live targets, and the check of their rates by differences."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import poise
from poise.arrays import Floats
from poise.goals import HalfSpace, Reach
from poise.limits import Acceleration, Clearance, Limit, Speed
from poise.model import Model
from poise.motion import Follower
from poise.spatial import Rotation, Transform

SPEED, ACCELERATION, DT = 2.0, 20.0, 0.01
BENT = {"panda": [0.3, -0.4, 0.2, -2.0, 0.1, 1.7, 0.5], "ur5e": [0.3, -1.2, 1.6, -1.9, -1.5, 0.4]}
LIMITS = (Speed(SPEED), Acceleration(ACCELERATION))
WALL = Clearance(world=[HalfSpace((0.0, 0.0, 0.1), (0.0, 0.0, 1.0))])


def make_follower(body: str = "panda", limits: Sequence[Limit] = LIMITS, **options: Any) -> Follower:
    """Return a follower of the end of an arm, which is bent."""
    model = poise.load(body)
    q = np.concatenate([BENT[body], model.rest[len(BENT[body]) :]])
    return Follower(model, Reach(model.frames[-1], Transform(), name="hand"), limits, q, **options)


def find_hand(follower: Follower) -> Floats:
    """Return the transform of the end of the arm."""
    return np.array(follower.model.fk(follower.q, follower.model.frames[-1]))


def shift(pose: Floats, *by: float) -> Floats:
    """Return a moved transform."""
    out = np.array(pose)
    out[:3, 3] += by
    return out


def turn_at_random(rng: np.random.Generator) -> Floats:
    """Return a random transform."""
    return Transform(Rotation.random(rng), rng.normal(size=3)).matrix


def check_rates(
    model: Model,
    steps: Iterable[tuple[Floats, float]],
    start: Floats,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
) -> None:
    """Compare the differences of the positions with the limits; steps of (q, dt)."""
    q, v = start, np.zeros(model.nv)
    for after, dt in steps:
        new = (after - q) / dt
        assert np.abs(new).max() <= speed * (1.0 + 1e-9)
        assert np.abs(new - v).max() <= acceleration * dt * (1.0 + 1e-9)
        assert (after >= model.lower).all()
        assert (after <= model.upper).all()
        q, v = after, new
