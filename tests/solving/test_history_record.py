"""A recorded solve has the same columns whoever ran it: the search, the levels, SciPy or the parts of a body."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poise
from poise.goals import Orient, Reach, Rest
from poise.limits import Closed

ARM = poise.load("iiwa14")
TARGET = ARM.fk(ARM.random(np.random.default_rng(2)), ARM.frames[-1])
FIGURE = poise.load("humanoid")
LOW = Reach("hand_l", (0.3, 0.3, 1.0))


@pytest.mark.parametrize(
    ("model", "goals", "options"),
    [
        (ARM, Reach(ARM.frames[-1], TARGET), {}),
        (ARM, [Reach(ARM.frames[-1], TARGET[:3, 3]), Orient(ARM.frames[-1], TARGET[:3, :3], priority=1)], {}),
        (ARM, Reach(ARM.frames[-1], TARGET), {"method": poise.methods.Scipy()}),
        (FIGURE, LOW, {"method": "sequential"}),
        (FIGURE, LOW, {"limits": Closed("hand_l", "hand_r", (0.0, -0.4, 0.0))}),
    ],
)
def test_every_row_says_what_the_pose_has(model: poise.Model, goals: Any, options: dict[str, Any]) -> None:
    if isinstance(options.get("method"), poise.methods.Scipy):
        pytest.importorskip("scipy")
    solver = poise.Solver(model, goals, record=True, **options)
    solution = solver.solve()
    history = solution.history
    assert history is not None
    assert len(history) >= 1
    assert history.q.shape == (len(history), model.nq)
    assert history.errors.shape == (len(history), len(solver.row_names), 2)
    assert history.search.min() >= 1
    assert (history.damping >= 0.0).all()
    for row in range(0, len(history), 1 + len(history) // 5):
        for k, name in enumerate(solver.row_names):
            goal = solver.goals[name]
            if isinstance(goal, Reach):
                wanted = np.asarray(goal.rows(model).target[9:12])
                apart = float(np.linalg.norm(model.fk(history.q[row], goal.frame)[:3, 3] - wanted))
                assert history.errors[row, k, 0] == pytest.approx(apart, abs=1e-9)


FLAT = poise.load("planar3")
NEAR, FAR = Reach("tip", (1.2, 1.5)), Reach("tip", (3.5, 0.0))
ALL = ["auto", "transpose", "dls", "sdls", "qr", "ccd", "fabrik", "halley"]
CASES = [(name, goal) for name in ALL for goal in (NEAR, FAR)] + [(name, [NEAR, Rest()]) for name in ("auto", "qr")]


@pytest.mark.parametrize(("method", "goals"), CASES)
@pytest.mark.parametrize("options", [{}, {"max_steps": 3, "restarts": 0}, {"max_steps": 5, "restarts": 2}])
def test_no_pose_is_in_two_rows_after_each_other(method: str, options: dict[str, Any], goals: Any) -> None:
    solution = poise.solve(FLAT, goals, method=method, record=True, **options)
    history = solution.history
    assert history is not None
    moved = (np.diff(history.q, axis=0) != 0.0).any(axis=1) | (np.diff(history.search) != 0)
    assert moved.all()
    assert len(history.cost) == len(history.damping) == len(history.errors) == len(history)
    path = history.end_at(solution.q)
    assert (path[-1] == solution.q).all()
    assert len(path) - len(history) == int((history.q[-1] != solution.q).any())
