"""A level that is missed ends at its minimum in few steps: solved again from there, it comes no nearer."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

import poise
from poise.goals import Balance, Goal, Reach

ALL = 150  # steps: the most that a call without restarts takes at a missed level
FEW = 60  # steps; damped steps alone take hundreds, and stop before the minimum
SAME_PLACE = 0.01  # rad or m: moved by less, a pose is in the valley where it was
SAME_DEPTH = 1.0 - 0.999**0.5  # of the error: a valley counts as deeper where its cost is below 0.999 (tuning.better)


def make_standing(target: tuple[float, float, float], *, balanced: bool) -> tuple[poise.Model, list[Goal]]:
    """A figure whose feet stand, and a hand that cannot come to its target."""
    model = poise.load("humanoid")
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    balance = [Balance(["foot_l", "foot_r"], margin=0.02)] if balanced else []
    return model, [*feet, *balance, Reach("hand_l", target, priority=1)]


def make_hanging(target: tuple[float, float, float]) -> tuple[poise.Model, list[Goal]]:
    """A floating body that holds two ends where they are, and reaches with a third as far as it can."""
    model = poise.load("tree30")
    ends = [name for name in model.frames if name not in {frame.parent for frame in map(model.frame, model.frames)}]
    held = [Reach(end, model.fk(model.rest, end)[:3, 3]) for end in ends[:2]]
    return model, [*held, Reach(ends[2], target, priority=1)]


def make_stretched(frame: str, target: ArrayLike) -> tuple[poise.Model, list[Goal]]:
    """A quadruped on straight legs, a singular pose, and a frame that cannot come to its target."""
    model = poise.load("quadruped")
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_fl", "foot_fr", "foot_hl", "foot_hr")]
    return model, [*feet, Reach(frame, target, priority=1)]


CASES = {
    "far before": make_standing((0.4, 1.2, 2.5), balanced=False),
    "far aside": make_standing((2.0, 1.0, 0.3), balanced=False),
    "far above": make_standing((0.2, 3.0, 0.1), balanced=False),
    "balanced before": make_standing((0.3, 1.1, 1.3), balanced=True),
    "balanced behind": make_standing((0.3, 1.2, -1.4), balanced=True),
    "a tree": make_hanging((4.0, 1.0, 2.0)),
    "a nose before": make_stretched("nose", (0.0, 0.5, 2.0)),
    "a nose below": make_stretched("nose", (0.3, -0.5, 0.6)),
    "a head above": make_stretched("head", (0.0, 2.0, 0.3)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_missed_level_ends_at_its_minimum_soon(case: str) -> None:
    model, goals = CASES[case]
    found = poise.solve(model, goals, restarts=0)
    missed = list(found.errors)[-1]
    assert not found.reached
    assert found.steps <= FEW
    first = found.errors[missed][0]
    for _ in range(3):  # a nudge may lead into another valley; which one is deeper by a micrometre is up to rounding
        again = poise.solve(model, goals, found.q, restarts=0)
        if np.abs(model.difference(found.q, again.q)).max() < SAME_PLACE:
            break
        found = again
    assert again.errors[missed][0] >= found.errors[missed][0] * (1.0 - 1e-6)
    assert again.errors[missed][0] >= first * (1.0 - SAME_DEPTH)


@pytest.mark.parametrize("case", CASES)
def test_what_is_above_is_kept_on_the_way_to_the_minimum(case: str) -> None:
    model, goals = CASES[case]
    above = poise.solve(model, goals[:-1], restarts=0)
    both = poise.solve(model, goals, restarts=0)
    for name, error in above.errors.items():
        assert np.all(np.asarray(both.errors[name]) <= np.asarray(error) + 1e-9 * max(1.0, model.length))


@pytest.mark.slow
def test_few_targets_use_all_steps_below_a_singular_level() -> None:
    """Of 48 targets, 10 use all their steps if the corrections of straight legs are only halved."""
    model, used_up = poise.load("quadruped"), 0
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        for frame in 6 * ("tail_tip", "nose", "head", "chest"):
            away = rng.normal(size=3)
            target = model.fk(model.rest, frame)[:3, 3] + model.length * away / np.linalg.norm(away)
            found = poise.solve(*make_stretched(frame, target), restarts=0)
            assert all(max(error) < 1e-8 for error in list(found.errors.values())[:-1])
            used_up += not found.reached and found.steps >= ALL
    assert used_up <= 4
