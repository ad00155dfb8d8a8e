"""Which precision comes out, as docs/conventions.md says: kinematics as given, solves in float64 unless asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poise
from paths import DOCS
from poise.goals import Reach

MODEL = poise.load("panda")
TOOL = MODEL.frames[-1]
PAGE = (DOCS / "conventions.md").read_text("utf-8")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kinematics_keep_the_precision_they_are_given(dtype: Any) -> None:
    q = np.asarray(MODEL.rest, dtype=dtype)
    step = np.full(MODEL.nv, 0.1, dtype=dtype)
    found = (MODEL.fk(q), MODEL.fk(q, TOOL), MODEL.jacobian(q, TOOL), MODEL.integrate(q, step), MODEL.difference(q, q))
    assert {array.dtype for array in found} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solves_answer_in_float64_whatever_the_targets_are(dtype: Any) -> None:
    targets = MODEL.fk(MODEL.random(np.random.default_rng(0), 20), TOOL)[:, :3, 3].astype(dtype)
    goal = Reach(TOOL, targets[0])
    assert poise.solve(MODEL, goal).q.dtype == np.float64
    assert poise.solve(MODEL, goal, MODEL.rest.astype(dtype)).q.dtype == np.float64
    assert poise.Solver(MODEL, goal).solve(None, {TOOL: targets[1]}).q.dtype == np.float64
    assert poise.solve_batch(MODEL, goal, targets).q.dtype == np.float64
    assert poise.solve_batch(MODEL, goal, targets, dtype="float32").q.dtype == np.float32


def test_the_page_marks_nothing_as_still_to_come() -> None:
    assert "ahead" not in PAGE
