"""What docs/limits.md calls exact, over calls in continuous mode and over steps in time."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from limit_oracle import cone_broken
from poise.diagnosis import CauseKind
from poise.goals import Reach
from poise.limits import Speed
from poise.limits.cone import find_cones
from poise.model.joints.joint import BallRange

ROUNDING = 1e-14  # what NumPy and the kernels may differ by


def narrow_arm() -> poise.Model:
    """Three ball joints in narrow cones."""
    builder, parent = poise.ModelBuilder("narrow"), None
    for k, cone in enumerate((0.25, 0.4, 0.3)):
        limits = BallRange(swing=(cone, 2 * cone), twist=(-0.2, 0.3))
        builder.add_joint(f"b{k}", parent, "ball", offset=(0, 0, 0.3 if k else 0.0), cone=limits)
        parent = f"b{k}"
    return builder.add_frame("tip", parent, (0.1, 0, 0.3)).build()


@pytest.mark.parametrize("span", [0.05, 0.2])
@pytest.mark.parametrize("method", ["auto", "dls"])
def test_ball_joints_in_their_cones_move_no_farther_than_a_call_may_lead(method: str, span: float) -> None:
    model, rng = narrow_arm(), np.random.default_rng(4)
    solver = poise.Solver(
        model, Reach("tip", np.zeros(3), name="tip"), mode="continuous", method=method, step_limit=span
    )
    q, farthest = np.array(model.rest), 0.0
    for target in rng.normal(size=(60, 3)):
        before, q = q, solver.solve(q, {"tip": target}).q
        moved = float(np.abs(model.difference(before, q)).max())
        assert moved <= span + ROUNDING
        assert (
            max(cone_broken(cone, q[model.joint(name).q]) for name, cone in find_cones(model, ()).items()) <= ROUNDING
        )
        farthest = max(farthest, moved)
    assert farthest > 0.9 * span


def test_speed_is_exact_for_ball_joints_in_their_cones() -> None:
    model, rng = narrow_arm(), np.random.default_rng(5)
    solver = poise.Solver(model, Reach("tip", np.zeros(3), name="tip"), limits=[Speed(1.0)])
    q = np.array(model.rest)
    for target in rng.normal(size=(80, 3)):
        solution = solver.step(q, 0.1, {"tip": target})
        assert solution.velocity is not None
        assert np.abs(solution.velocity).max() <= 1.0 + 1e-12
        q = solution.q


@pytest.mark.parametrize("timed", [False, True])
def test_a_joint_that_moves_no_goal_comes_back_and_until_then_nothing_is_reached(timed: bool) -> None:
    builder = poise.ModelBuilder("two arms")
    for name in ("a", "b"):
        builder.add_joint(name, None, "revolute", lower=-1, upper=1)
        builder.add_frame(f"hand_{name}", name, (1, 0, 0))
    model, q = builder.build(), np.array([0.3, 2.0])
    goal = Reach("hand_a", np.array(model.fk(q, "hand_a"))[:3, 3])
    limits = [Speed(1.0)] if timed else []
    solver = poise.Solver(model, goal, mode="continuous", limits=limits)
    for _ in range(9):
        before = q
        solution = solver.step(q, 0.1) if timed else solver.solve(q)
        q = solution.q
        assert np.abs(q - before).max() <= (0.1 if timed else 0.2) + ROUNDING
        assert solution.reached == (q[1] <= 1.0)
        if not solution.reached:
            broken, going = solution.explanation.causes
            assert (broken.kind, going.kind) == (CauseKind.BROKEN_LIMIT, CauseKind.ON_ITS_WAY)
            assert [(limit.joint, limit.side) for limit in broken.limits] == [("b", "upper")]
    assert timed or solution.reached
