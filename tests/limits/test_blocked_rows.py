"""A row is in collision only if nothing could free it: no other joint, no tolerance. It never stays inside."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from general_arms import PUMA
from poise.goals import Reach
from poise.limits import Box, Clearance, Sphere
from poise.model import Sphere as Ball

TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0"}
NARROW = 1e-3  # m
TARGET = np.array([0.6, 0.7, -0.6, 0.5, 0.8, 0.2])


def make_gated() -> tuple[poise.Model, poise.arrays.Floats]:
    """Return a PUMA with a ball at its wrist, a ball on a rail of its own at the target, and the target."""
    builder, parent = poise.ModelBuilder("gated"), None
    for k, (place, axis, reach) in enumerate(PUMA):
        turn, offset = np.eye(3)["xyz".index(axis)], poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=turn, lower=-reach, upper=reach)
        parent = f"j{k}"
    builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1)))
    builder.add_shape("tool", Ball(0.03))
    target = builder.build().fk(TARGET, "tool")
    builder.add_joint("gate", None, "prismatic", offset=poise.Transform(translation=target[:3, 3]), axis=(0, 0, 1),
                      lower=-0.5, upper=0.5)  # fmt: skip
    builder.add_shape("gate", Ball(0.03))
    return builder.build(), target


def test_a_joint_outside_the_chain_can_make_room() -> None:
    model, target = make_gated()
    goal, limits = Reach("tool", target), [Clearance()]
    starts = model.random(np.random.default_rng(0), 12)
    starts[:, -1] = 0.0  # the gate is shut
    batch = poise.solve_batch(model, [goal], {"tool": np.tile(target, (12, 1, 1))}, starts, limits=limits)
    assert batch.reached.mean() > 0.5
    assert not (batch.status == poise.Status.IN_COLLISION).any()
    assert all(poise.solve(model, [goal], start=q, limits=limits).status != poise.Status.IN_COLLISION for q in starts)


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_a_wide_tolerance_leads_around_an_obstacle(name: str) -> None:
    model = poise.load(name)
    tool = model.frames[-1]
    targets = model.fk(model.random(np.random.default_rng(1), 8), tool)
    for T in targets:
        limits = [Clearance(world=[Sphere(T[:3, 3], 0.005)])]
        batch = poise.solve_batch(model, [Reach(tool, T, tolerance=(0.15, 0.5))], {tool: T[None]}, limits=limits)
        assert batch.status[0] != poise.Status.IN_COLLISION


def test_a_blocked_row_that_starts_inside_comes_out() -> None:
    model = poise.load("ur5e")
    start, target = np.array(model.rest), model.fk(model.rest + 0.4, "tool0")
    world = [Sphere(model.fk(start, "forearm_link")[:3, 3], 0.1), Sphere(target[:3, 3], 0.3)]
    limit = Clearance(world=world)
    assert limit.measure_gap(model, start) < -0.01
    batch = poise.solve_batch(model, [Reach("tool0", target)], {"tool0": target[None]}, start[None], limits=[limit])
    assert not batch.reached[0]
    assert limit.measure_gap(model, batch.q[0]) > -1e-6


def make_crowd(rng: np.random.Generator) -> Clearance:
    """A clearance among boxes and spheres around an arm."""
    places = rng.uniform((-0.7, -0.7, 0.05), (0.7, 0.7, 0.9), (8, 3))
    places[:, :2] *= np.maximum(1.0, 0.3 / np.linalg.norm(places[:, :2], axis=1))[:, None]
    balls = [Sphere(place, rng.uniform(0.04, 0.12)) for place in places[::2]]
    return Clearance(world=[*balls, *(Box(place, rng.uniform(0.05, 0.3, 3)) for place in places[1::2])])


def shift_targets(T: poise.arrays.Floats, share: float, rng: np.random.Generator) -> poise.arrays.Floats:
    """Targets off by a share of the default tolerances, 0.1 mm and 1 mrad."""
    ways = rng.normal(size=(2, len(T), 3))
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    out = T.copy()
    out[:, :3, 3] += share * 1e-4 * ways[0]
    out[:, :3, :3] = poise.Rotation.from_vector(share * 1e-3 * ways[1]).matrix @ T[:, :3, :3]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.9])
@pytest.mark.parametrize("name", TIPS)
def test_a_target_with_a_clear_pose_is_never_called_in_collision(name: str, share: float) -> None:
    """The witness is the pose that a target was made from: barely clear, so that few others of its target are."""
    model, rng = poise.load(name), np.random.default_rng(7)
    called = reached = count = 0
    for _ in range(4):
        limit, q = make_crowd(rng), model.random(rng, 40_000)
        gap = limit.measure_gap(model, q)
        T = shift_targets(model.fk(q[(gap > 0.0) & (gap < NARROW)], TIPS[name]), share, rng)
        batch = poise.solve_batch(model, Reach(TIPS[name], np.eye(4)), T, limits=[limit])
        called += int((batch.status == poise.Status.IN_COLLISION).sum())
        reached, count = reached + int(batch.reached.sum()), count + len(T)
        assert limit.measure_gap(model, batch.q[batch.reached]).min() >= -1e-9
    assert count > 300
    assert called == 0
    assert reached > 0.97 * count
