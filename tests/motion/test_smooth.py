"""A smooth target gives a smooth pose: no joint goes one way in a frame and back in the next."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.goals import Balance, Goal, Reach, Rest

FEET = ("foot_l", "foot_r")
BACK = 0.02  # radians and metres: a step and the one back that differ by more are a reversal


def there_and_back(first: tuple[float, ...], last: tuple[float, ...]) -> Floats:
    """A straight line, and back; 1.5 mm to 3 mm a frame."""
    share = np.concatenate([np.linspace(0.0, 1.0, 325), np.linspace(1.0, 0.0, 325)])[:, None]
    return np.array(first) + share * (np.array(last) - np.array(first))


# where it starts, where it turns, and in how many frames of 650 some joint may turn back: where the hand costs the
# balance, the body comes to the edge of what it can do, and a few frames are sharp
PATHS = {
    "to the floor": ((0.4, 1.0, 0.3), (0.4, 0.0, 0.3), 4),
    "far ahead": ((0.2, 1.0, 0.3), (0.2, 1.0, 1.1), 4),
    "behind": ((0.3, 1.2, -0.1), (0.3, 1.2, -0.9), 4),
    "out of balance": ((0.8, 1.1, 0.0), (1.3, 1.1, 0.0), 20),
    "out of balance, high": ((0.8, 1.5, 0.1), (1.3, 1.5, 0.1), 20),
}


def reversals(model: poise.Model, poses: list[Floats]) -> tuple[int, float]:
    """In how many frames a joint turns back, and by how much at most."""
    steps = np.array([model.difference(a, b) for a, b in itertools.pairwise(poses)])
    back = np.where(steps[:-1] * steps[1:] < 0.0, np.abs(steps[1:] - steps[:-1]), 0.0).max(axis=1)
    return int((back > BACK).sum()), float(back.max())


def dragged(model: poise.Model, path: Floats, **options: Any) -> list[Floats]:
    """The frames of a rig whose hand is dragged along a path, feet pinned."""
    rig = poise.Rig(model, **options)
    for foot in FEET:
        rig.pin(foot)
    for _ in range(60):
        rig.drag("hand_l", path[0])
    return [rig.drag("hand_l", place).q for place in path]


def followed(model: poise.Model, path: Floats, *, rest: bool) -> list[Floats]:
    """The same with a bare Solver."""
    goals: list[Goal] = [Reach(foot, model.fk(model.rest, foot)) for foot in FEET]
    goals += [Reach("hand_l", path[0], priority=1), Balance(list(FEET), priority=2)]
    solver = poise.Solver(model, [*goals, Rest()] if rest else goals, mode="continuous")
    q, poses = np.array(model.rest), []
    for place in (*[path[0]] * 60, *path):
        q = solver.solve(q, {"hand_l": place}).q
        poses.append(q)
    return poses[60:]


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("way", ["rig", "rig, no balance", "solver", "solver, no rest"])
def test_a_smooth_target_gives_a_smooth_pose(name: str, way: str) -> None:
    model = poise.load("humanoid")
    first, last, most = PATHS[name]
    path = there_and_back(first, last)
    if way.startswith("rig"):
        poses = dragged(model, path, **({"balance": None} if "no balance" in way else {}))
    else:
        poses = followed(model, path, rest="no rest" not in way)
    count, worst = reversals(model, poses)
    assert count <= most, f"in {count} of {len(path)} frames a joint turned back, by up to {worst:.3f}"
    assert worst < 0.08
