"""solve and solve_batch on chains with a closed form: reached, proved out of reach, and hardly anything in between."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, draw_poses, shake
from poise import Status
from poise.goals import Reach

ARMS = {"ur5e": "tool0", "panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}


def in_the_ball(model: poise.Model, frame: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random transforms around the second joint, as far as the tool comes."""
    center = model.fk(model.rest, model.joints[1].name)[:3, 3]
    reach = np.linalg.norm(model.fk(model.random(rng, 2000), frame)[:, :3, 3] - center, axis=1).max()
    T = np.tile(np.eye(4), (n, 1, 1))
    x = rng.normal(size=(n, 3))
    T[:, :3, 3] = center + reach * rng.random((n, 1)) ** (1 / 3) * x / np.linalg.norm(x, axis=1)[:, None]
    T[:, :3, :3] = [poise.Rotation(q).matrix for q in rng.normal(size=(n, 4))]
    return T


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_random_transforms_are_decided(name, frame) -> None:
    model = poise.load(name)
    rng = np.random.default_rng(21)
    T = in_the_ball(model, frame, rng, 300)
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), T, threads=1)
    assert set(batch.counts) <= {Status.REACHED, Status.UNREACHABLE, Status.STALLED}
    assert batch.counts.get(Status.STALLED, 0) <= 6
    assert min(batch.counts[Status.REACHED], batch.counts[Status.UNREACHABLE]) > 30
    for row in np.flatnonzero(batch.codes != batch.codes[batch.reached][0])[:8]:  # one call says the same
        assert poise.solve(model, Reach(frame, T[row])).status is batch.status[row]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("joints", [6, 7])
def test_no_pose_is_called_unreachable(kind, joints) -> None:
    """Targets of poses near limits and singularities, moved by nearly the tolerance."""
    rng = np.random.default_rng(22)
    model = draw_arm(rng, kind, mirrored=bool(rng.integers(2)), joints=joints)
    T = shake(model.fk(draw_poses(model, rng, 150), "tool"), rng, 1e-4, 1e-3)
    batch = poise.solve_batch(model, Reach("tool", np.eye(4), tolerance=(1e-4, 1e-3)), T, threads=1)
    assert Status.UNREACHABLE not in batch.counts
    assert batch.reached.mean() > 0.6  # the others are at the very end of a range and of the tolerance at once


@pytest.mark.slow
def test_why_says_that_every_branch_is_ruled_out() -> None:
    model, frame = poise.load("ur5e"), "tool0"
    rng = np.random.default_rng(23)
    seen = 0
    for T in in_the_ball(model, frame, rng, 60):
        solution = poise.solve(model, Reach(frame, T))
        if solution.status is Status.UNREACHABLE and solution.proof is None:
            seen += 1
            assert "every branch of the chain to 'tool0' (three parallel axes) is excluded" in solution.why()
            assert "not proved" not in solution.why()
            assert not poise.solve_all(model, Reach(frame, T))
    assert seen > 2


def test_without_limits_there_are_none_to_prove_with() -> None:
    model, frame = poise.load("panda"), "panda_hand_tcp"
    rng = np.random.default_rng(24)
    q = np.asarray(model.lower) - 0.5 * rng.random((40, 7))
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), model.fk(q, frame), limit_handling="off", threads=1)
    assert Status.UNREACHABLE not in batch.counts


def test_a_joint_that_stands_still_on_the_way_is_taken_from_the_start() -> None:
    """What holds where a joint rests does not hold where it starts: nothing is claimed from the wrong place."""
    model, frame = poise.load("panda"), "panda_hand_tcp"
    rng = np.random.default_rng(25)
    six = [f"panda_joint{k}" for k in range(1, 7)]
    for q in model.random(rng, 20):
        solution = poise.solve(model, Reach(frame, model.fk(q, frame)), [*model.rest[:6], q[6]], joints=six)
        assert solution.status is not Status.UNREACHABLE
