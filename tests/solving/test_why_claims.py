"""The claims of `why()` hold: the tolerance that it names accepts the pose, and unproved claims are marked."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import poise
from bodies import random_model
from poise import Status
from poise.diagnosis import WayOutKind, relax
from poise.goals import Goal, Reach
from poise.limits import Clearance, Sphere
from why_cases import find

UNITS = {"m": 1.0, "mm": 1e-3, "um": 1e-6, "nm": 1e-9}
CLAIM = re.compile(r"tolerance of (?:([\d.e+-]+) (m|mm|um|nm)\b)?(?: and )?(?:([\d.e+-]+) rad)?.* for 'tip'")
BOUNDED = ("revolute", "prismatic", "universal", "euler", "ball", "continuous")


def claimed(why: str, default: tuple[float, float]) -> tuple[float, float]:
    """The tolerance in the last sentence, as a reader would type it."""
    match = CLAIM.search(why.rsplit("\n", 1)[-1])
    assert match, why
    metres = float(match[1]) * UNITS[match[2]] if match[1] else default[0]
    return metres, float(match[3]) if match[3] else default[1]


@pytest.mark.slow
def test_the_tolerance_that_is_named_accepts_the_pose() -> None:
    """Over random misses of points and transforms, from micrometres to metres."""
    misses = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        model = random_model(seed, int(rng.integers(1, 5)), BOUNDED)
        frame = str(rng.choice(model.frames))
        target = np.array(model.fk(model.random(rng), frame))
        target[:3, 3] += rng.normal(size=3) * 10 ** rng.uniform(-3.5, 0.5)
        goal = Reach(frame, target if seed % 2 else target[:3, 3], name="tip", tolerance=(1e-6, 1e-6))
        answer = poise.solve(model, goal, restarts=2)
        if answer.reached:
            continue
        misses += 1
        accepted = claimed(answer.why(), (1e-6, 1e-6))
        loose = Reach(frame, goal.target, name="tip", tolerance=accepted)
        assert poise.solve(model, loose, answer.q, restarts=0).reached, (seed, answer.why())
    assert misses > 40


def test_a_bound_is_reported_as_a_least_distance() -> None:
    arm = poise.load("planar3")
    why = poise.solve(arm, Reach("tip", (3.2, 1.4, 0.0))).why()
    assert "move the target of 'tip' at least 493 mm closer" in why


def test_a_body_without_joints_reports_it() -> None:
    builder = poise.ModelBuilder("stone")
    builder.add_frame("tip", None, (1.0, 0.0, 0.0))
    why = poise.solve(builder.build(), Reach("tip", (0.0, 1.0, 0.0))).why()
    assert "''" not in why
    assert "(0, 0, 0)" not in why or "which cannot move" in why


def test_a_start_that_breaks_a_clearance_speaks_of_that_alone() -> None:
    body = poise.load("humanoid")
    ball = Sphere(body.fk(body.rest, "hand_l")[:3, 3], 3.0)
    goal = Reach("hand_l", body.fk(body.rest, "hand_l")[:3, 3], tolerance=1.0)
    answer = poise.solve(body, goal, limits=[Clearance([], world=[ball])], joints=["wrist_l"], restarts=0)
    assert not answer.reached
    assert answer.why().startswith("Every goal is within its tolerance.")
    assert "local minimum" not in answer.why()


# ------------------------------------------------------------------------------------------------ effort


def figure() -> tuple[poise.Model, list[Goal]]:
    """Feet that stay, and a hand that is asked for what no body could reach from there."""
    model = poise.load("humanoid")
    stand: list[Goal] = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    return model, [*stand, Reach("hand_l", (0.4, 1.2, 2.5), priority=1)]


def test_a_proof_ends_the_searches_of_levels() -> None:
    model, goals = figure()
    answer = poise.solve(model, goals)
    assert answer.status is Status.UNREACHABLE
    assert answer.searches == 1
    spent = time.process_time()
    assert "Proved out of reach" in answer.why()
    assert time.process_time() - spent < 0.5


def test_what_a_proof_rules_out_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[WayOutKind] = []
    own = relax.try_relaxation

    def watched(solution: poise.Solution, way: relax.Relaxation) -> relax.RelaxedAnswer | None:
        tried.append(way.kind)
        return own(solution, way)

    monkeypatch.setattr(relax, "try_relaxation", watched)
    model, goals = figure()
    poise.solve(model, goals).why()
    assert not tried


def test_limits_are_not_blamed_for_what_is_not_proved() -> None:
    """Where a pose is only missed, its limits are named with the reserve that others may be found inside them."""
    model, rng = poise.load("panda"), np.random.default_rng(1)
    blamed = 0
    for q in model.random(rng, 60):
        answer = poise.solve(model, Reach("panda_hand_tcp", model.fk(q, "panda_hand_tcp")), restarts=0)
        ways = {way.kind for way in answer.explanation.ways_out}
        if WayOutKind.WITHOUT_RANGE in ways:
            blamed += 1
            assert ways & {WayOutKind.UNPROVED, WayOutKind.MORE_SEARCHES}
    assert blamed >= 3
    for q in model.random(rng, 3):
        far = poise.solve(model, Reach("panda_hand_tcp", model.fk(q, "panda_hand_tcp")[:3, 3] * 3))
        assert find(far, WayOutKind.UNPROVED) is None
