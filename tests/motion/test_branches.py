"""Branches along a path: no way through the answers is better, nothing hides between waypoints, turns are unwound."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pytest

import poise
from general_arms import draw_general
from poise import motion
from poise.errors import PoiseError
from poise.goals import Reach
from poise.motion.paths.branches import find_route
from poise.motion.paths.midpoints import find_jumps
from poise.motion.paths.routes import Steps, choose_way

PANDA, UR5E = poise.load("panda"), poise.load("ur5e")


def judge(layers: Sequence[Any], way: Sequence[int], steps: Steps) -> tuple[int, float, float]:
    """What a way costs, step by step."""
    count, worst, length = 0, 0.0, 0.0
    for t in range(1, len(way)):
        d = layers[t][way[t]] - layers[t - 1][way[t - 1]]
        d = np.where(np.isfinite(steps.period), (d + np.pi) % (2 * np.pi) - np.pi, d) / steps.units
        flip = steps.known.get((t, way[t - 1], way[t]), bool(np.abs(d).max() > steps.jump))
        count, length = count + flip, length + float(np.linalg.norm(d))
        worst = worst if flip else max(worst, float(np.abs(d).max()))
    return count, worst, length


@pytest.mark.parametrize("seed", range(40))
def test_no_way_through_the_answers_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    layers = [rng.uniform(-2.0, 2.0, (int(rng.integers(1, 5)), n)) for _ in range(int(rng.integers(1, 6)))]
    steps = Steps(np.ones(n), np.where(rng.random(n) < 0.3, 2.0 * np.pi, inf), jump=float(rng.uniform(0.5, 2.0)))
    for t in range(1, len(layers)):
        if rng.random() < 0.3:
            steps.known[t, int(rng.integers(len(layers[t - 1]))), int(rng.integers(len(layers[t])))] = (
                rng.random() < 0.5
            )
    way, flips = choose_way(layers, steps)
    own = judge(layers, way, steps)
    assert len(flips) == own[0]
    every = [judge(layers, w, steps) for w in itertools.product(*(range(len(layer)) for layer in layers))]
    fewest = min(cost[0] for cost in every)
    least = min(cost[1] for cost in every if cost[0] == fewest)
    shortest = min(cost[2] for cost in every if cost[0] == fewest and cost[1] <= least + 1e-9)
    assert own[0] == fewest
    assert own[1] == pytest.approx(least, abs=1e-9)
    assert own[2] == pytest.approx(shortest, abs=1e-9)


def wander(model: poise.Model, frame: str, seed: int, frames: int = 60) -> np.ndarray:
    """Transforms along a smooth random motion inside the ranges."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5)
    a, b = (low + (0.2 + 0.6 * rng.random(model.nq)) * (high - low) for _ in range(2))
    t = np.linspace(0.0, 1.0, frames)[:, None]
    return np.asarray(model.fk(a + t * (np.clip(b - a, -0.8, 0.8)), frame))


@pytest.mark.parametrize(
    ("name", "frame"), [("panda", "panda_hand_tcp"), ("ur5e", "tool0"), ("iiwa14", "iiwa_link_ee")]
)
@pytest.mark.parametrize("seed", range(4))
def test_a_path_that_an_arm_has_made_is_followed_without_a_jump(name: str, frame: str, seed: int) -> None:
    model = poise.load(name)
    T = wander(model, frame, seed)
    found = motion.track(model, Reach(frame, T), fps=30.0)
    assert found.reached.all(), found.why()
    assert found.reconfigurations == ()
    assert (found.motion.q >= model.lower).all()
    assert (found.motion.q <= model.upper).all()
    assert np.abs(np.diff(found.motion.q, axis=0)).max() < 0.6
    # between two waypoints the arm passes near the transform between them
    q = 0.5 * (found.motion.q[1:] + found.motion.q[:-1])
    middle = 0.5 * (T[1:, :3, 3] + T[:-1, :3, 3])
    way = np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1)
    assert (np.linalg.norm(model.fk(q, frame)[:, :3, 3] - middle, axis=1) < 0.2 * way + 2e-3).all()


@pytest.mark.parametrize("seed", range(16))
def test_a_way_through_singular_poses_is_not_a_reconfiguration(seed: int) -> None:
    """A motion that an arm has made is a way, also where the straight line between two waypoints cannot be reached.

    Wrist or shoulder are straight for a moment on most of these: 4 and 8 took another branch there, or missed.
    """
    q0, q1 = (s * UR5E.random(np.random.default_rng(k)) for s, k in ((0.3, seed), (0.5, seed + 100)))
    own = q0 + (q1 - q0) * np.linspace(0.0, 1.0, 40)[:, None]
    track = motion.track(UR5E, Reach("tool0", UR5E.fk(own, "tool0")), fps=30.0, start=q0)
    assert track.reconfigurations == ()
    assert track.reached.all()
    assert np.abs(np.diff(track.motion.q, axis=0)).max() < 1.05 * np.abs(np.diff(own, axis=0)).max()


@pytest.mark.slow
def test_a_frame_that_misses_for_its_neighbours_is_brought_home_also_from_afar() -> None:
    """Where an elbow passes through its straight pose the neighbouring poses are alternately on both sides."""
    model = poise.load("iiwa14")
    frame = model.frames[-1]
    q0, q1 = model.random(np.random.default_rng(31)), model.random(np.random.default_rng(1031))
    own = q0 + 0.25 * (q1 - q0) * np.linspace(0.0, 1.0, 60)[:24, None]
    track = motion.track(model, Reach(frame, model.fk(own, frame)), fps=30.0, start=q0)
    assert track.reached.all()


def test_a_jump_between_waypoints_is_found_however_small() -> None:
    q = UR5E.random(np.random.default_rng(3))
    q[4] = 0.15  # near the wrist's singularity the branches are near each other
    goal = Reach("tool0", UR5E.fk(q, "tool0"))
    other = min(
        (answer.q for answer in poise.solve_all(UR5E, goal, q) if np.abs(answer.q - q).max() > 0.05),
        key=lambda x: float(np.abs(UR5E.difference(q, x)).max()),
    )
    T = np.tile(UR5E.fk(q, "tool0"), (4, 1, 1))
    assert find_jumps(UR5E, Reach("tool0", T[0]), T, np.array([q, q, other, other])) == (2,)
    assert find_jumps(UR5E, Reach("tool0", T[0]), T, np.array([q, q, q, q])) == ()


@pytest.mark.slow
def test_an_unavoidable_reconfiguration_is_reported() -> None:
    builder = poise.ModelBuilder("short")
    parent = None
    for k, (place, axis, ends) in enumerate(
        [
            ((0, 0, 0.3), (0, 0, 1), (-3.3, 3.3)),
            ((0, 0, 0), (0, 1, 0), (-2.0, 2.0)),
            ((0.4, 0, 0), (0, 1, 0), (-2.5, 2.5)),
            ((0.4, 0, 0), (1, 0, 0), (-3.0, 3.0)),
            ((0, 0, 0), (0, 1, 0), (-2.0, 2.0)),
            ((0, 0, 0), (1, 0, 0), (-3.0, 3.0)),
        ]
    ):
        builder.add_joint(f"j{k}", parent, "revolute", offset=place, axis=axis, lower=ends[0], upper=ends[1])
        parent = f"j{k}"
    model = builder.add_frame("tool", parent, (0.1, 0, 0)).build()
    # all the way around the base, from zero: its joint stops at 3.3 rad
    around = np.linspace(0.0, 2.0 * np.pi, 121)
    q = np.tile([0.0, -0.6, 1.2, 0.0, -0.6, 0.0], (len(around), 1))
    T = np.array([poise.Transform(poise.Rotation.from_axis_angle((0, 0, 1), a)).matrix for a in around]) @ model.fk(
        q[0], "tool"
    )
    found = motion.track(model, Reach("tool", T), fps=30.0)
    assert found.reached.all(), found.why()
    assert len(found.reconfigurations) == 1
    assert "changes branch before frame" in found.why()
    jump = found.reconfigurations[0]
    steps = np.abs(np.diff(found.motion.q, axis=0)).max(axis=1)
    assert int(np.argmax(steps)) == jump - 1
    assert np.delete(steps, jump - 1).max() < 0.2


@pytest.mark.slow
def test_whole_turns_are_unwound_inside_the_ranges() -> None:
    # one and a half turns of the last joint, whose range is two turns each way from zero
    q = np.tile([0.3, -1.2, 1.5, -0.9, 1.2, 0.0], (120, 1))
    q[:, 5] = np.linspace(-4.5, 4.5, 120)
    T = UR5E.fk(q, "tool0")
    found = motion.track(UR5E, Reach("tool0", T), fps=30.0)
    assert found.reached.all()
    assert found.reconfigurations == ()
    assert np.ptp(found.motion.q[:, 5]) == pytest.approx(9.0, abs=0.05)


@pytest.mark.slow
def test_a_waypoint_out_of_reach_is_missed_and_the_others_are_not() -> None:
    T = wander(PANDA, "panda_hand_tcp", 1)
    T[20:23, :3, 3] += (0.0, 0.0, 5.0)
    found = motion.track(PANDA, Reach("panda_hand_tcp", T), fps=30.0)
    assert not found.reached[20:23].any()
    assert found.reached[:18].all()
    assert found.reached[25:].all()
    assert "missed in" in found.why()


@pytest.mark.slow
def test_the_start_decides_between_ways_that_are_as_good() -> None:
    T = np.tile(UR5E.fk(np.array([0.4, -1.0, 1.3, -0.9, 1.1, 0.2]), "tool0"), (5, 1, 1))
    for answer in poise.solve_all(UR5E, Reach("tool0", T[0])):
        found = motion.track(UR5E, Reach("tool0", T), fps=30.0, start=answer.q)
        np.testing.assert_allclose(found.motion.q, np.tile(answer.q, (5, 1)), atol=1e-3)


@pytest.mark.parametrize(
    ("goals", "paths"),
    [
        ({"tip": Reach("tip", np.eye(4))}, {"tip": np.tile(np.eye(4), (3, 1, 1))}),  # no closed form
        ({"tip": Reach("tip", np.zeros(3))}, {"tip": np.zeros((3, 3))}),  # no transforms
    ],
)
def test_other_goals_and_bodies_take_another_way(goals: Any, paths: Any) -> None:
    assert find_route(poise.load("planar3"), goals, paths, None) is None


@pytest.mark.slow
def test_speed_limits_hold_on_the_way_that_was_chosen() -> None:
    T = wander(PANDA, "panda_hand_tcp", 2)
    found = motion.track(PANDA, Reach("panda_hand_tcp", T), fps=30.0, limits=[poise.limits.Speed(5.0)])
    assert found.reached.all(), found.why()
    assert found.reconfigurations == ()
    assert np.abs(np.diff(found.motion.q, axis=0)).max() * 30.0 <= 5.0 + 1e-9


def test_a_reconfiguration_that_may_wait_waits() -> None:
    rng = np.random.default_rng(3)
    for end in (3, 7, 11):
        along = np.linspace(0.0, 1.0, 12)
        layers = [np.array([[x, 0.0], [x, 2.0]]) + 1e-13 * rng.normal(size=(2, 2)) for x in along]
        layers[0] = layers[0][:1]
        layers[end:] = [layer[1:] for layer in layers[end:]]  # the branch of the start ends here
        _, flips = choose_way(layers, Steps(np.ones(2), np.full(2, np.inf)))
        assert flips == [end]


@pytest.mark.parametrize("model", [UR5E, draw_general(0)], ids=["closed form", "guesses"])
def test_starts_of_a_path_are_read_or_rejected_by_name(model: poise.Model) -> None:
    frame = model.frames[-1]
    q = np.tile(0.3 * model.random(np.random.default_rng(0)), (3, 1))
    goal = Reach(frame, model.fk(q, frame))
    for start in (q[0], q, poise.Pose(model, q[0])):
        assert motion.track(model, goal, fps=30.0, start=start).reached.all()
    for wrong in (q[0, :-1], q[:2], "x", q[0] * np.nan, poise.Pose(PANDA, PANDA.rest)):
        with pytest.raises(PoiseError, match="start"):
            motion.track(model, goal, fps=30.0, start=wrong)


def test_a_goal_relative_to_the_base_is_one_of_the_world():
    """A target in a frame that never moves gets the branches that the same target in the world gets."""
    arm = poise.load("ur5e")
    turn = poise.Transform.from_rotation(poise.Rotation.from_vector((0.3, -0.2, 1.0)))
    arm = arm.with_frame("table", arm.frames[0], poise.Transform.from_translation((0.4, 0.1, -0.2)) @ turn)
    path = np.tile(arm.fk(np.array([0.3, -1.2, 1.4, -0.8, -1.3, 0.2]), "tool0"), (20, 1, 1))
    path[:, :3, 3] += np.linspace(0.0, 0.3, 20)[:, None] * np.array([0.0, 1.0, 0.0])
    inside = np.linalg.inv(arm.fk(arm.rest, "table")) @ path
    world = motion.track(arm, Reach("tool0", path), fps=30.0)
    table = motion.track(arm, Reach("tool0", inside, relative_to="table"), fps=30.0)
    np.testing.assert_allclose(table.motion.q, world.motion.q, atol=1e-6)


def test_a_frame_that_a_mimic_joint_moves_is_not_fixed():
    builder = poise.ModelBuilder("coupled")
    builder.add_joint("one", None, "revolute", axis=(0, 0, 1))
    builder.add_joint("two", "one", "revolute", offset=(1, 0, 0), axis=(0, 0, 1))
    builder.add_joint("tip", "two", "revolute", offset=(1, 0, 0), axis=(0, 1, 0))
    builder.add_joint("follower", None, "revolute", axis=(0, 0, 1), mimic=("one", -1.0, 0.0))
    model = builder.add_frame("table", "follower", (0.5, 0, 0)).build()
    q = np.linspace(0.2, 0.6, 8)[:, None] * np.array([1.0, 1.5, 0.5])
    path = (np.linalg.inv(model.fk(q, "table")) @ model.fk(q, "tip"))[:, :3, 3]
    made = motion.track(model, Reach("tip", path, relative_to="table"), fps=30.0)
    found = made.motion.q
    error = (np.linalg.inv(model.fk(found, "table")) @ model.fk(found, "tip"))[:, :3, 3] - path
    np.testing.assert_allclose(np.linalg.norm(error, axis=1), next(iter(made.errors.values()))[:, 0], atol=1e-9)


@pytest.mark.parametrize(("body", "frame", "width"), [("planar3", "tip", 2), ("panda", "panda_hand_tcp", 3)])
def test_short_and_flat_paths_relative_to_a_fixed_frame(body, frame, width):
    model = poise.load(body)
    for frames in (3, 4):
        path = np.tile(model.fk(model.rest, frame)[:width, 3], (frames, 1))
        goal = Reach(frame, path[0], relative_to=model.frames[0], name="goal")
        assert motion.track(model, goal, fps=30.0, targets={"goal": path}).reached.all()
