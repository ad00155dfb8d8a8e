"""Freedoms and demands, counted and said in words."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.diagnosis import count_freedoms
from poise.goals import Custom, Distance, LookAt, OnPlane, Orient, Reach, Rest

CASES = [
    ("planar2", Reach("tip", (1.0, 1.0, 0.0)), (2, 2, 2), "well-determined"),
    ("planar3", Reach("tip", (1.0, 1.0, 0.0)), (3, 2, 2), "under-determined"),
    ("planar2", Reach("tip", poise.Transform()), (2, 3, 2), "over-determined"),
    ("panda", Reach("panda_hand_tcp", poise.Transform()), (7, 6, 6), "under-determined"),
    ("panda", Reach("panda_link8", (0.4, 0.0, 0.4)), (6, 3, 3), "under-determined"),
    ("ur5e", Reach("tool0", poise.Transform()), (6, 6, 6), "well-determined"),
    ("ur5e", Orient("tool0", poise.Rotation((1, 0, 0, 0))), (6, 3, 3), "under-determined"),
    ("panda", OnPlane("panda_hand_tcp", (0, 0, 0.4), (0, 0, 1)), (5, 1, 1), "under-determined"),
    ("panda", LookAt("panda_hand_tcp", (1.0, 1.0, 1.0)), (6, 2, 2), "under-determined"),
    ("panda", Distance("panda_link0", "panda_hand_tcp", 0.5), (5, 1, 1), "under-determined"),
    ("panda", Custom(lambda q: q[:2], size=2), (2, 2, 2), "well-determined"),
    ("humanoid", [Reach("hand_l", (0.4, 1.2, 0.3)), Rest()], None, "under-determined"),
]


@pytest.mark.parametrize(("name", "goals", "counts", "kind"), CASES, ids=lambda value: str(value)[:24])
def test_counts(name, goals, counts, kind):
    model = poise.load(name)
    found = count_freedoms(model, goals)
    if counts is not None:
        assert (found.freedoms, found.demands, found.served) == counts
    assert found.kind == kind
    assert found.left_over == found.freedoms - found.served


def test_it_is_described_in_words():
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", model.fk(model.rest, "panda_hand_tcp"))
    solution = poise.solve(model, goal)
    assert str(count_freedoms(model, goal)) == "7 degrees of freedom for 6 equations: 1 left over (under-determined)"
    assert str(solution.redundancy) in str(solution)
    assert str(solution.redundancy) in solution._repr_html_()


def test_only_the_joints_that_may_move_count():
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", model.fk(model.rest, "panda_hand_tcp"))
    few = poise.solve(model, goal, joints=["panda_joint1", "panda_joint2", "panda_joint4"])
    assert (few.redundancy.freedoms, few.redundancy.too_many) == (3, 3)


def test_a_planar_arm_is_not_called_singular():
    model = poise.load("planar3")
    bent = poise.solve(model, Reach("tip", (1.0, 1.0, 0.0)))
    assert len(bent.conditioning.singular_values) == 2
    assert not bent.conditioning.singular
    above = poise.solve(model, Reach("tip", (1.0, 1.0, 1.0)))
    assert not above.conditioning.singular
    assert above.conditioning.never
    assert "singular" not in above.why()
    assert "in any pose" in above.why()


def test_a_stretched_planar_arm_is_singular():
    model = poise.load("planar2")
    straight = poise.solve(model, Reach("tip", (2.0, 0.0, 0.0)), start=np.zeros(2))
    assert straight.conditioning.singular
    assert not straight.conditioning.never
