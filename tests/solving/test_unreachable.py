"""UNREACHABLE is a proof: whatever the joints do, distances stay inside the claimed intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import poise
from bodies import ALL_KINDS, random_model
from poise import Status
from poise.goals import Orient, Reach
from poise.reach.bounds import Freedom, find_pair_range, find_pivot_range, find_reachable_range, find_reachable_ranges
from poise.reach.distances import Interval, find_extremes

BOUNDED = ("revolute", "prismatic", "screw", "universal", "euler", "ball", "continuous")
POSES = 200


def everything(model: poise.Model, *, limited: bool = True) -> Freedom:
    return Freedom(np.ones(model.nv, dtype=bool).tobytes(), limited)


def points(model: poise.Model, q: NDArray[Any], frame: str, point: NDArray[Any], base: str | None) -> NDArray[Any]:
    """A frame's point at many poses, in the world or in another frame."""
    T = model.fk(q, frame)
    world = T[:, :3, :3] @ point + T[:, :3, 3]
    if base is None:
        return world
    B = model.fk(q, base)
    return np.einsum("nji,nj->ni", B[:, :3, :3], world - B[:, :3, 3])


def assert_inside(distances: NDArray[Any], interval: Interval, model: poise.Model) -> None:
    slack = 1e-9 * (model.length + float(distances.max()))
    assert distances.min() >= interval.near - slack
    assert distances.max() <= interval.far + slack


# ------------------------------------------------------------------------------------------------ sound


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 12), mixed=st.booleans(), relative=st.booleans())
def test_no_pose_is_outside_the_claim(seed: int, joints: int, mixed: bool, relative: bool) -> None:
    model, rng = random_model(seed, joints, ALL_KINDS if mixed else BOUNDED), np.random.default_rng(seed)
    frame, base, other = (str(name) for name in rng.choice(model.frames, 3))
    point = rng.normal(scale=0.3, size=3)
    goal = Reach(frame, (0, 0, 0), point=point, relative_to=base if relative else None).rows(model)
    q = model.random(rng, POSES)
    here = points(model, q, frame, point, goal.base)
    found = find_reachable_range(model, goal, everything(model))
    if found:
        assert_inside(np.linalg.norm(here - found[0], axis=1), found[1], model)
    second = Reach(other, (0, 0, 0), relative_to=goal.base).rows(model)
    apart = find_pair_range(model, goal, second, everything(model))
    if apart:
        there = points(model, q, other, np.zeros(3), goal.base)
        assert_inside(np.linalg.norm(here - there, axis=1), apart, model)
    pivot = find_pivot_range(model, goal, everything(model))
    if pivot:
        at = points(model, q, frame, pivot[0], goal.base)
        assert_inside(np.linalg.norm(at - pivot[1], axis=1), pivot[2], model)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 10))
def test_joints_that_may_not_move_may_be_anywhere(seed: int, joints: int) -> None:
    """A start may lie outside the limits, and what the solver may not move stays there."""
    model, rng = random_model(seed, joints, BOUNDED), np.random.default_rng(seed)
    moves = rng.random(model.nv) < 0.5
    frame = str(rng.choice(model.frames))
    goal = Reach(frame, (0, 0, 0)).rows(model)
    q = model.random(rng, POSES)
    held = model.integrate(q[0], rng.uniform(-5, 5, model.nv))
    for joint in model.joints:
        if joint.nv and not moves[joint.v].all():
            moves[joint.v] = False
            q[:, joint.q] = held[joint.q]
    for known in (None, held.tobytes()):
        found = find_reachable_range(model, goal, Freedom(moves.tobytes(), True, known))
        if found:
            at = points(model, q, frame, np.zeros(3), None)
            assert_inside(np.linalg.norm(at - found[0], axis=1), found[1], model)


@pytest.mark.parametrize("name", poise.models.names())
def test_built_ins_stay_inside_the_claim(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(1)
    q = model.random(rng, 2000)
    for frame in model.frames[:: max(1, len(model.frames) // 8)]:
        found = find_reachable_range(model, Reach(frame, (0, 0, 0)).rows(model), everything(model))
        if found:
            at = points(model, q, frame, np.zeros(3), None)
            assert_inside(np.linalg.norm(at - found[0], axis=1), found[1], model)


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14"])
def test_reached_targets_are_never_called_unreachable(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(2)
    solver = poise.Solver(model, Reach(model.frames[-1], np.eye(4)))
    for q in model.random(rng, 300):
        assert solver.solve(targets={model.frames[-1]: model.fk(q, model.frames[-1])}).status is not Status.UNREACHABLE


# ------------------------------------------------------------------------------------------------ tight


@pytest.mark.parametrize(("name", "sharp"), [("panda", 1e-3), ("ur5e", 2e-3), ("iiwa14", 1e-3), ("planar3", 1e-3)])
def test_arms_come_as_far_as_claimed(name: str, sharp: float) -> None:
    model = poise.load(name)
    frame = model.frames[-1]
    found = find_reachable_range(model, Reach(frame, (0, 0, 0)).rows(model), everything(model))
    assert found
    center, interval = found
    far = center + np.array([10.0, 0.0, 0.0]) * model.length
    solution = poise.solve(model, Reach(frame, far))
    got = float(np.linalg.norm(solution.pose.position(frame) - center))
    assert interval.far * (1 - sharp) <= got <= interval.far * (1 + 1e-9)


def test_a_limited_elbow_is_exact_both_ways() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("shoulder", None, "ball")
    builder.add_joint("elbow", "shoulder", "revolute", offset=(0.3, 0, 0), lower=0.5, upper=2.0)
    model = builder.add_frame("tip", "elbow", (0.2, 0, 0)).build()
    ((_, *center, near, far),) = find_reachable_ranges(
        model, [Reach("tip", (0, 0, 0)).rows(model)], np.ones(4, bool), True
    )
    assert center == pytest.approx([0, 0, 0])
    assert near == pytest.approx(math.sqrt(0.13 + 0.12 * math.cos(2.0)))
    assert far == pytest.approx(math.sqrt(0.13 + 0.12 * math.cos(0.5)))


def test_slides_and_screws_add_their_range() -> None:
    builder = poise.ModelBuilder("crane")
    builder.add_joint("turn", None, "continuous")
    builder.add_joint("boom", "turn", "prismatic", offset=(1, 0, 0), axis=(1, 0, 0), lower=-0.25, upper=2.0)
    model = builder.add_frame("hook", "boom").build()
    ((_, *_, near, far),) = find_reachable_ranges(model, [Reach("hook", (0, 0, 0)).rows(model)], np.ones(2, bool), True)
    assert (near, far) == pytest.approx((0.75, 3.0))
    assert find_reachable_ranges(model, [Reach("hook", (0, 0, 0)).rows(model)], np.ones(2, bool), False) == []


def test_no_claim_where_there_is_none_to_make() -> None:
    model = poise.load("humanoid")
    assert find_reachable_ranges(model, [Reach("hand_l", (9, 9, 9)).rows(model)], np.ones(model.nv, bool), True) == []
    arm = poise.load("panda")
    free = [
        Orient("panda_hand_tcp", np.eye(3)).rows(arm),
        Reach("panda_hand_tcp", (9, 9, 9), weight=(1, 1, 0)).rows(arm),
    ]
    assert find_reachable_ranges(arm, free, np.ones(7, bool), True) == []


@given(cosine=st.floats(-2, 2), sine=st.floats(-2, 2), low=st.floats(-9, 9), width=st.floats(0, 9), at=st.floats(0, 1))
def test_swing_bounds_every_angle(cosine: float, sine: float, low: float, width: float, at: float) -> None:
    least, most = find_extremes(cosine, sine, low, low + width)
    value = cosine * math.cos(low + at * width) + sine * math.sin(low + at * width)
    assert least - 1e-12 <= value <= most + 1e-12


# ------------------------------------------------------------------------------------------------ said


def test_a_far_target_is_proved_at_once() -> None:
    model = poise.load("panda")
    solution = poise.solve(model, Reach("panda_hand_tcp", (1.4, 0.2, 0.5)))
    assert solution.status is Status.UNREACHABLE
    assert solution.searches == 1
    proof = solution.proof
    assert proof is not None
    assert solution.errors["panda_hand_tcp"][0] == pytest.approx(proof.distance - proof.farthest, rel=1e-6)


def test_the_rotation_can_prove_it_too() -> None:
    model = poise.load("iiwa14")
    tip = model.frames[-1]
    T = np.eye(4)
    T[:3, 3] = (0.9, 0, 0.36)  # near enough for the tip, too far for a wrist under an upright hand
    solution = poise.solve(model, Reach(tip, T))
    assert solution.status is Status.UNREACHABLE
    assert solution.proof is not None
    assert solution.proof.kind == "pivot"
    assert poise.solve(model, Reach(tip, T[:3, 3])).reached


def test_two_targets_too_far_apart() -> None:
    model = poise.load("humanoid")
    solution = poise.solve(model, [Reach("hand_l", (0, 3, 1)), Reach("hand_r", (0, -3, 1))])
    assert solution.status is Status.UNREACHABLE
    assert solution.proof is not None
    assert solution.proof.kind == "pair"
    missing = sum(metres for metres, _ in solution.errors.values())
    assert missing == pytest.approx(solution.proof.excess, rel=0.01)


def test_joints_that_stand_still_count_where_they_stand() -> None:
    model = poise.load("humanoid")
    arm = ["shoulder_l", "elbow_l", "forearm_l", "wrist_l"]
    start = model.rest
    far = model.fk(start, "shoulder_l")[:3, 3] + np.array([0, 0, 2.0])
    assert poise.solve(model, Reach("hand_l", far), joints=arm).status is Status.UNREACHABLE
    assert poise.solve(model, Reach("hand_l", far)).reached


def test_within_the_tolerance_is_not_out_of_reach() -> None:
    model = poise.load("planar2")
    assert poise.solve(model, Reach("tip", (2.05, 0, 0), tolerance=0.1)).reached
    assert poise.solve(model, Reach("tip", (2.0, 0, 0))).reached
    assert poise.solve(model, Reach("tip", (2.05, 0, 0), tolerance=0.01)).status is Status.UNREACHABLE
