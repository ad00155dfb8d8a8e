"""A batch carries the same proofs as a solve: of points, last pivots, pairs, and relative to other frames."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from bodies import random_model
from poise import Status
from poise.goals import Goal, Reach
from poise.reach.proof import Proof

BOUNDED = ("revolute", "prismatic", "screw", "universal", "euler", "ball", "continuous")
PROBLEMS, ROWS = 150, 3
KINDS = ("point", "pose", "relative", "pair")


def random_goals(model: poise.Model, rng: np.random.Generator, kind: str) -> list[Goal]:
    one, other = (str(name) for name in rng.choice(model.frames, 2, replace=len(model.frames) < 2))
    point = rng.normal(scale=0.2, size=3)
    if kind == "point":
        return [Reach(one, (0, 0, 0), point=point, name="a")]
    if kind == "pose":
        return [Reach(one, np.eye(4), point=point, name="a")]
    if kind == "relative":
        return [Reach(one, np.eye(4), relative_to=other, name="a")]
    priority = int(rng.integers(2))
    return [Reach(one, (0, 0, 0), name="a"), Reach(other, np.eye(4), priority=priority, name="b")]


def random_targets(model: poise.Model, rng: np.random.Generator, goals: list[Goal]) -> dict[str, NDArray[Any]]:
    """Around what can just be reached."""
    out = {}
    for goal in goals:
        place = rng.normal(size=(ROWS, 3)) * model.length * rng.uniform(0.2, 1.0)
        if goal.with_rotation:  # type: ignore[attr-defined]
            T = np.tile(np.eye(4), (ROWS, 1, 1))
            T[:, :3, :3] = [poise.Rotation.from_vector(v).matrix for v in rng.uniform(-2, 2, (ROWS, 3))]
            T[:, :3, 3] = place
            out[goal.name or ""] = T
        else:
            out[goal.name or ""] = place
    return out


def compare(seed: int, kind: str, dtypes: tuple[str, ...], joints: bool = False) -> list[Proof]:
    """Every row as `solve` has it, in each precision; the proofs that there were."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, int(rng.integers(2, 7)), BOUNDED)
    goals = random_goals(model, rng, kind)
    targets = random_targets(model, rng, goals)
    starts = model.random(rng, ROWS)
    moving = [str(joint.name) for joint in model.joints if joint.nv and not joint.mimic]
    options: dict[str, Any] = {"restarts": 1, "joints": moving[len(moving) // 2 :] if joints else None}
    batches = [poise.solve_batch(model, goals, targets, starts, dtype=dtype, **options) for dtype in dtypes]
    solver, proofs = poise.Solver(model, goals, **options), []
    for row in range(ROWS):
        alone = solver.solve(starts[row], {name: x[row] for name, x in targets.items()})
        for batch in batches:
            assert (batch.status[row] is Status.UNREACHABLE) == (alone.status is Status.UNREACHABLE), (seed, kind, row)
        proofs += [alone.proof] if alone.proof else []
    return proofs


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_a_solve_proves_unreachable_are_proved_in_a_batch(kind: str) -> None:
    proofs = [proof for seed in range(PROBLEMS) for proof in compare(seed, kind, ("float64", "float32"))]
    assert len(proofs) > PROBLEMS // 3
    wanted = {"pose": "pivot", "pair": "pair"}.get(kind, "point")
    assert sum(proof.kind == wanted for proof in proofs) > 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_joints_that_stand_still_count_where_the_row_has_them(kind: str) -> None:
    proofs = [proof for seed in range(PROBLEMS // 2) for proof in compare(seed, kind, ("float64",), joints=True)]
    assert len(proofs) > PROBLEMS // 6
