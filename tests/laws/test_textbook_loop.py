"""The loop of the textbook: every printed step is a rule of it, and its trace has everything."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import poise
from poise import textbook
from poise.goals import Orient, Reach

FLAT, PANDA, TREE = poise.load("planar3"), poise.load("panda"), poise.load("tree30")
BEND, TCP = np.radians([30.0, 40.0, 50.0]), "panda_hand_tcp"
NEAR = PANDA.rest + 0.15 * np.cos(np.arange(PANDA.nq))
PLACE = PANDA.fk(NEAR, TCP)


def make_biased(q: Any, J: Any, e: Any) -> Any:
    return textbook.controlled_step(J, e, -0.05 * textbook.posture_gradient(q, np.zeros(len(q))))


RULES = {
    "pseudo-inverse": textbook.truncated_svd_inverse,
    "right": textbook.right_pseudoinverse,
    "LU": textbook.solve_lu,
    "QR": textbook.solve_qr,
    "transpose": textbook.transpose_step,
    "damped": partial(textbook.damped_inverse, damping=0.1),
    "damped by SVD": partial(textbook.damped_svd_inverse, damping=0.1),
    "stiff": partial(textbook.weighted_pseudoinverse, stiffness=[0.0, 1.0, 2.0]),
    "selectively damped": textbook.selectively_damped_step,
    "frozen": textbook.frozen_step,
    "null space": make_biased,
    "priorities": textbook.priority_step,
    "CCD": textbook.ccd_step,
    "FABRIK": textbook.fabrik_step,
    "other names": lambda _, matrix, missing: 0.2 * matrix.T @ missing,
    "any arguments": lambda *args: 0.2 * args[1].T @ args[2],
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("ranges", ["off", "clamp"])
def test_every_printed_step_is_a_rule(rule: Any, ranges: str) -> None:
    trace = textbook.loop(FLAT, BEND, Reach("tip", (1.2, 1.5)), step=rule, ranges=ranges, stop=1e-5)
    assert trace.reached, trace
    assert np.linalg.norm(FLAT.fk(trace.q, "tip")[:2, 3] - (1.2, 1.5)) <= 1e-5


def test_a_trace_has_poses_errors_jacobians_and_steps() -> None:
    goals = [Reach(TCP, PLACE[:3, 3], weight=2.0), Orient(TCP, PLACE[:3, :3], name="turn", priority=1)]
    trace = textbook.loop(PANDA, PANDA.rest, goals, gain=0.5)
    n = len(trace)
    assert trace.reached
    assert trace.poses.shape == (n, PANDA.nq)
    assert trace.steps.shape == (n - 1, PANDA.nv)
    assert trace.jacobians.shape == (n, 6, PANDA.nv)
    assert trace.residuals.shape == (n, 6)
    assert trace.errors.shape == (n, 2, 2)
    assert [goal.name for goal in trace.goals] == [TCP, "turn"]
    for k in (0, n // 2, n - 1):
        q = trace.poses[k]
        J = PANDA.jacobian(q, TCP) * np.repeat([2.0, 1.0], 3)[:, None]
        np.testing.assert_allclose(trace.jacobians[k], J, atol=1e-12)
        away = PLACE[:3, 3] - PANDA.fk(q, TCP)[:3, 3]
        np.testing.assert_allclose(trace.residuals[k, :3], 2.0 * away, atol=1e-12)
        assert trace.errors[k, 0, 0] == pytest.approx(np.linalg.norm(away), abs=1e-12)
        assert trace.errors[k, 1, 1] == pytest.approx(np.linalg.norm(trace.residuals[k, 3:]), abs=1e-12)
    for k in range(n - 1):
        np.testing.assert_allclose(PANDA.integrate(trace.poses[k], trace.steps[k]), trace.poses[k + 1], atol=1e-12)
        wanted = 0.5 * np.linalg.pinv(trace.jacobians[k]) @ trace.residuals[k]
        np.testing.assert_allclose(trace.steps[k], wanted, atol=1e-9)
    assert (np.diff(trace.poses, axis=0) != 0.0).any(axis=1).all()  # no pose twice


def test_a_rule_gets_what_it_asks_for() -> None:
    seen: list[Any] = []

    def rule(k: int, jacobians: Any, errors: Any, lower: Any, upper: Any, model: Any, *, goals: Any, gain: Any) -> Any:
        seen.append((k, [len(j) for j in jacobians], model, gain, goals[0].frame))
        assert (lower <= upper).all()
        return textbook.priority_step(jacobians, errors)

    goals = [Orient(TCP, PLACE[:3, :3], priority=1), Reach(TCP, PLACE[:3, 3])]
    assert textbook.loop(PANDA, PANDA.rest, goals, step=rule, gain=0.9).reached
    assert seen[0] == (0, [3, 3], PANDA, 0.9, TCP)
    assert [k for k, *_ in seen] == list(range(len(seen)))


def test_the_first_level_is_served_strictly() -> None:
    """Two places for one tip: the first level has it to the end, the second what is left."""
    goals = [Reach("tip", (1.2, 1.5)), Reach(FLAT.joints[-1].frame, (0.2, 1.9), name="elbow", priority=1)]
    trace = textbook.loop(FLAT, BEND, goals, step=textbook.priority_step, gain=0.5, max_steps=30)
    assert trace.errors[-1, 0, 0] < 1e-6
    assert trace.errors[-1, 1, 0] > 1e-3


def test_ranges_hold_if_poses_are_clamped_or_joints_frozen() -> None:
    far = Reach(TCP, (0.1, 0.75, 0.2))
    for options in ({"ranges": "clamp"}, {"step": textbook.frozen_step}):
        trace = textbook.loop(PANDA, PANDA.rest, far, **options, max_steps=12, patience=None)
        assert (trace.poses >= PANDA.lower - 1e-12).all()
        assert (trace.poses <= PANDA.upper + 1e-12).all()
    outside = textbook.loop(PANDA, PANDA.rest, far, max_steps=12, patience=None).poses
    assert (outside > PANDA.upper + 1e-6).any() or (outside < PANDA.lower - 1e-6).any()


def test_ball_joints_and_free_roots_move() -> None:
    goals = [Reach(end, TREE.fk(TREE.random(np.random.default_rng(3)), end)[:3, 3]) for end in ("end_1", "end_4")]
    for rule in (partial(textbook.damped_inverse, damping=0.2), textbook.ccd_step):
        trace = textbook.loop(TREE, TREE.rest, goals, step=rule, stop=2e-2, max_steps=60)
        assert trace.reached, trace


def test_ccd_moves_one_joint_a_step_and_never_away() -> None:
    trace = textbook.loop(FLAT, BEND, Reach("tip", (-1.2, 0.5)), step=textbook.ccd_step)
    assert (np.count_nonzero(trace.steps, axis=1) <= 1).all()
    assert [int(np.argmax(np.abs(step))) for step in trace.steps[:4]] == [2, 1, 0, 2]
    assert (np.diff(trace.errors[:, 0, 0]) <= 1e-12).all()
    pivot, tip = (FLAT.fk(BEND, frame)[:3, 3] for frame in (FLAT.joints[2].frame, "tip"))
    assert trace.steps[0, 2] == pytest.approx(textbook.ccd_angle((0, 0, 1), pivot, tip, (-1.2, 0.5, 0)))


def test_ccd_turns_towards_rotations() -> None:
    trace = textbook.loop(
        PANDA, PANDA.rest, Orient(TCP, PLACE[:3, :3]), step=textbook.ccd_step, stop=1e-4, max_steps=600
    )
    assert trace.reached, trace
    assert (np.diff(trace.errors[:, 0, 1]) <= 1e-9).all()


def test_ccd_of_a_joint_ignores_goals_that_it_does_not_move() -> None:
    q = TREE.random(np.random.default_rng(5))
    own = Reach("end_1", TREE.fk(TREE.random(np.random.default_rng(6)), "end_1"))
    other = Orient("end_4", TREE.fk(TREE.random(np.random.default_rng(7)), "end_4")[:3, :3])
    column = TREE.joint("joint_5").v.start  # on the path to end_1 alone
    both, alone = (
        textbook.loop(TREE, q, [own, other], max_steps=0).goals,
        textbook.loop(TREE, q, own, max_steps=0).goals,
    )
    turns = []
    for goals in (both, alone):
        steps = [textbook.ccd_step(TREE, q, goals, k) for k in range(30)]
        turns.append(next(step[column] for step in steps if step[column] != 0.0))
    assert turns[0] == pytest.approx(turns[1])


def test_the_strokes_of_fabrik_keep_the_bones() -> None:
    goal = (1.2, 1.5, 0.0)
    trace = textbook.loop(FLAT, BEND, Reach("tip", goal), step=textbook.fabrik_step)
    assert [(k, label) for k, label, _ in trace.sketches[:4]] == [
        (0, "backward"),
        (0, "forward"),
        (1, "backward"),
        (1, "forward"),
    ]
    for k, label, points in trace.sketches:
        np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 1.0, atol=1e-9)
        held, place = (points[-1], goal) if label == "backward" else (points[0], 0.0)
        np.testing.assert_allclose(held, place)
        if label == "forward":  # free hinges in a plane take the bones as they are
            np.testing.assert_allclose(FLAT.fk(trace.poses[k + 1], "tip")[:3, 3], points[-1], atol=1e-9)


def test_selective_damping_is_bounded_and_exact_for_small_errors() -> None:
    J = textbook.simple_jacobian(PANDA, PANDA.rest, TCP)
    small = 1e-4 * np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(textbook.selectively_damped_step(J, small), np.linalg.pinv(J) @ small, atol=1e-12)
    assert np.abs(textbook.selectively_damped_step(J, 1e3 * small / 1e-4, gamma_max=0.3)).max() <= 0.3 + 1e-12
    stretched = textbook.simple_jacobian(FLAT, np.array([0.0, 0.0, 1e-6]), "tip")
    assert np.abs(textbook.selectively_damped_step(stretched, (-0.1, 0.0, 0.0))).max() < 0.8


def test_priorities_with_a_motion_below_are_the_controlled_step() -> None:
    rng = np.random.default_rng(1)
    J, e, wish = rng.normal(size=(3, 7)), rng.normal(size=3), rng.normal(size=7)
    np.testing.assert_allclose(
        textbook.priority_step([J, np.eye(7)], [e, wish]), textbook.controlled_step(J, e, wish), atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_steps": 1}, "out of steps"),
        ({"stop": lambda e: np.linalg.norm(e) < 0.5}, "stopped"),
        ({"stop": lambda k: "two are enough" if k == 2 else ""}, "two are enough"),
        ({"step": lambda q: 0.0 * q, "patience": 5}, "stalled"),
        ({"stop": (1e-6, 1.0)}, "reached"),
    ],
)
def test_it_says_why_it_ended(options: dict[str, Any], reason: str) -> None:
    trace = textbook.loop(FLAT, BEND, Reach("tip", (1.2, 1.5)), **options)
    assert trace.reason == reason
    assert reason in repr(trace)


def test_a_target_off_the_plane_is_not_reached() -> None:
    trace = textbook.loop(FLAT, BEND, Reach("tip", (1.2, 1.5, 0.3)), max_steps=20)
    assert not trace.reached
    assert trace.errors[-1, 0, 0] == pytest.approx(0.3)
