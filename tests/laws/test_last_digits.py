"""No outcome depends on the last digits: arms on saddles, in corners of windows and at the ends of ranges."""

import numpy as np
import pytest

import poise
from poise.arrays import Floats
from poise.diagnosis import CauseKind
from poise.goals import Reach
from poise.limits import Speed
from why_cases import kinds

pytestmark = pytest.mark.slow

FEW = 4  # units in the last place


def draw_stretched_arm(rng: np.random.Generator) -> tuple[poise.Model, Floats, Reach]:
    """Links in one line, some of them at the end of their range, and a target nearer on the same line: a saddle."""
    builder, at = poise.ModelBuilder("stretched"), 0.0
    lengths, turned = rng.uniform(0.3, 1.2, rng.integers(2, 5)), float(rng.uniform(-1, 1))
    for k, length in enumerate(lengths):
        rest = turned if k == 0 else 0.0
        low, high = rest - rng.choice([0.0, 0.05, 0.5, 2.0]), rest + rng.choice([0.0, 0.05, 0.5, 2.0])
        low = low if low < high else rest - 1.0
        builder.add_joint(
            f"j{k}", f"j{k - 1}" if k else None, "revolute", offset=(at, 0, 0), lower=low, upper=high, rest=rest
        )
        at = float(length)
    model = builder.add_frame("hand", f"j{len(lengths) - 1}", (at, 0, 0)).build()
    q = np.array([turned, *np.zeros(len(lengths) - 1)])
    return model, q, Reach("hand", np.array(model.fk(q, "hand"))[:3, 3] * rng.uniform(0.4, 0.9))


def shake_start(q: Floats, rng: np.random.Generator, model: poise.Model) -> Floats:
    """A few units in the last place of a turn away, inside the ranges or not."""
    moved = q + rng.integers(-FEW, FEW + 1, q.shape) * 2.0**-52 * np.maximum(np.abs(q), 0.25)
    return np.clip(moved, model.lower, model.upper) if rng.random() < 0.5 else moved


@pytest.mark.parametrize("dt", [0.01, 0.05, 0.1])
def test_a_step_from_a_saddle_leads_on_whatever_the_last_digits(dt: float) -> None:
    rng, on_its_way = np.random.default_rng(round(1000 * dt)), 0
    for _ in range(25):
        model, q, goal = draw_stretched_arm(rng)
        solver = poise.Solver(model, goal, limits=[Speed(2.0)])
        steps = [solver.step(at, dt) for at in (q, *(shake_start(q, rng, model) for _ in range(5)))]
        goes_on = [CauseKind.ON_ITS_WAY in kinds(solution) for solution in steps]
        assert len(set(goes_on)) == 1
        errors = [solution.errors["hand"][0] for solution in steps]
        assert np.ptp(errors) <= 1e-6
        on_its_way += goes_on[0]
    assert 5 <= on_its_way < 25


@pytest.mark.parametrize("mode", ["nearest", "continuous"])
def test_a_solve_from_a_saddle_ends_alike_whatever_the_last_digits(mode: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        model, q, goal = draw_stretched_arm(rng)
        solver = poise.Solver(model, goal, mode=mode, restarts=0)
        found = [solver.solve(at) for at in (q, *(shake_start(q, rng, model) for _ in range(5)))]
        assert len({solution.reached for solution in found}) == 1
        assert np.ptp([solution.errors["hand"][0] for solution in found]) <= 1e-6


def test_what_is_still_on_its_way_comes_nearer_and_what_is_not_does_not() -> None:
    """What why() says, against 200 more steps."""
    rng, ended = np.random.default_rng(7), 0
    for _ in range(60):
        model, q, goal = draw_stretched_arm(rng)
        solver = poise.Solver(model, goal, limits=[Speed(2.0)])
        solution = solver.step(rng.uniform(np.maximum(model.lower, -3), np.minimum(model.upper, 3)), 0.05)
        q = solution.q
        for _ in range(rng.integers(0, 60)):
            solution = solver.step(q, 0.05)
            q = solution.q
        if solution.reached or solution.proof is not None:
            continue
        for _ in range(200):
            q = solver.step(q, 0.05).q
        last = solver.step(q, 0.05)
        nearer = last.reached or last.errors["hand"][0] < 0.999 * solution.errors["hand"][0]
        assert nearer == (CauseKind.ON_ITS_WAY in kinds(solution))
        ended += not nearer
    assert ended >= 5
