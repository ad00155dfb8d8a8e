"""base_map: the share of poses reached from every place of the base, checked place by place with moved targets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch
from poise.limits import Box, Clearance, HalfSpace

UR5E = poise.load("ur5e")


def make_grasps(*at: tuple[float, float, float]) -> Floats:
    """Poses of a tool that points down, (n, 4, 4)."""
    T = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (len(at), 1, 1))
    T[:, :3, 3] = at
    return T


GRASPS = make_grasps((0.1, -0.2, 0.4), (0.0, 0.2, 0.4), (0.0, 0.9, 0.4))


def make_arm(up: str) -> poise.Model:
    """An arm of one vertical hinge and a slide, with its hand one metre above the floor."""
    axis = np.eye(3)["xyz".index(up)]
    builder = poise.ModelBuilder("arm")
    builder.up = up
    builder.add_joint("turn", None, "revolute", axis=axis, offset=axis, lower=-3.0, upper=3.0)
    builder.add_joint("out", "turn", "prismatic", axis=np.roll(axis, 1), lower=0.2, upper=0.6)
    return builder.build()


def test_shares_are_those_of_the_best_yaw() -> None:
    found = poise.base_map(UR5E, "tool0", GRASPS, spacing=0.6, yaws=3)
    assert found.shape == (4, 6, 1)
    assert np.array_equal(np.round(3.0 * found.reached), 3.0 * found.reached)
    for index in np.ndindex(4, 6, 1):
        best = 0.0
        for yaw in 2.0 * np.pi * np.arange(3) / 3:
            T = np.eye(4)
            T[:3, :3] = poise.Rotation.from_axis_angle((0, 0, 1), yaw).matrix
            T[:3, 3] = found.centers[index]
            solved = poise.solve_batch(UR5E, "tool0", np.linalg.inv(T) @ GRASPS)
            best = max(best, float(solved.reached.mean()))
        assert found.reached[index] == pytest.approx(best)
    assert (found.undecided == 0.0).all()  # every miss is proved
    assert len(np.unique(found.reached)) == 3


def test_a_base_in_an_obstacle_reaches_nothing() -> None:
    box = ((-0.5, 0.0, 0.0), (-0.5, 0.0, 0.0))
    step, floor = Box((-0.5, 0.0, 0.015), (0.3, 0.3, 0.03)), HalfSpace((0, 0, 0), (0, 0, 1))
    for world, share in (([floor], 2 / 3), ([floor, step], 0.0)):
        found = poise.base_map(UR5E, "tool0", GRASPS, yaws=1, box=box, limits=[Clearance([], 0.0, world)])
        assert found.reached.item() == pytest.approx(share)
    assert found.undecided.item() == pytest.approx(2 / 3)
    above = ((-0.5, 0.0, 0.03), (-0.5, 0.0, 0.03))
    found = poise.base_map(UR5E, "tool0", GRASPS, yaws=1, box=above, limits=[Clearance([], 0.0, [floor, step])])
    assert found.reached.item() == pytest.approx(2 / 3)


def test_bodies_with_y_up_stand_on_their_floor() -> None:
    maps = {}
    for up in "yz":
        goal, k = np.tile(np.eye(4), (2, 1, 1)), "xyz".index(up)
        goal[:, k, 3], goal[1, (k + 1) % 3, 3] = 1.0, 0.4
        maps[up] = poise.base_map(make_arm(up), "out", goal, spacing=0.25, yaws=2, tolerance=(1e-3, 4.0))
        assert maps[up].shape[k] == 1
        assert maps[up].origin[k] == 0.0
    assert 0.0 < maps["z"].reached.mean() < 1.0
    np.testing.assert_array_equal(maps["y"].reached[:, 0].T, maps["z"].reached[:, :, 0])


def test_a_map_of_bases_is_saved_and_shown(tmp_path: Path) -> None:
    found = poise.base_map(UR5E, "tool0", GRASPS, spacing=0.5, yaws=1)
    again = poise.ReachMap.load(poise.save(found, tmp_path / "bases.npz"))
    assert again.transforms is not None
    np.testing.assert_array_equal(again.transforms, GRASPS)
    np.testing.assert_array_equal(again.reached, found.reached)
    assert str(again) == str(found)
    assert str(found).startswith("Bases for reach of 'tool0' of 'ur5e': 5 x 7 x 1 places of the base, 50 cm apart")
    assert found.poses == 5 * 7 * 3
    assert found.pose is None  # the body has no single place
    assert "Bases for tool0" in poise.show(found).html


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InvalidValue, match=r"transforms\[1\] is not rigid"):
        poise.base_map(UR5E, "tool0", np.stack([np.eye(4), 2.0 * np.eye(4)]))
    with pytest.raises(InvalidValue, match="transforms is empty"):
        poise.base_map(UR5E, "tool0", np.zeros((0, 4, 4)))
    with pytest.raises(ShapeMismatch, match="transforms"):
        poise.base_map(UR5E, "tool0", np.zeros((3, 3)))
    wrong: list[dict[str, Any]] = [{"spacing": 0}, {"yaws": 0}]
    for options in wrong:
        with pytest.raises(InvalidValue, match=next(iter(options))):
            poise.base_map(UR5E, "tool0", GRASPS, **options)
