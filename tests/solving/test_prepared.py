"""Preparing a problem: what is cached, and side effects that must not occur."""

from __future__ import annotations

import sys
from subprocess import run

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.models.panda import panda


def test_a_body_loaded_twice_is_not_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal models have facts of their own: to compare two of them takes longer than a solve."""

    def compared(*_: object) -> bool:
        raise AssertionError("two models were compared")

    builds = [panda() for _ in range(2)]
    assert builds[0] == builds[1]
    assert builds[0] is not builds[1]
    target = builds[0].fk(builds[0].rest, "panda_hand_tcp")
    monkeypatch.setattr(poise.Model, "__eq__", compared)
    for model in builds * 2:
        assert poise.solve(model, Reach("panda_hand_tcp", target)).reached


def test_what_is_kept_of_a_body_is_not_changed_by_options() -> None:
    model = poise.load("panda")
    goal = Reach("panda_hand_tcp", model.fk(model.rest + 0.1, "panda_hand_tcp"))
    plain = poise.solve(model, goal).q
    poise.solve(model, goal, joints=["panda_joint1"], stiffness=3.0, restarts=0)
    poise.solve(model, goal, stiffness={"panda_joint2": 9.0}).active_limits  # noqa: B018
    np.testing.assert_array_equal(poise.solve(model, goal).q, plain)


@pytest.mark.slow
def test_a_first_solve_loads_only_what_it_uses() -> None:
    code = (
        "import sys, poise; from poise.goals import Reach; model = poise.load('panda');"
        "poise.solve(model, Reach('panda_hand_tcp', (0.4, 0.1, 0.5)));"
        "print(*(name for name in sys.modules if name.startswith('poise.')))"
    )
    loaded = run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = {
        "poise.goals": {"flat", "goal", "postures", "range", "reach"},
        "poise.goals.postures": {"rest"},
        "poise.limits": {"cone", "limit"},
        "poise.methods": {"arithmetic", "lm", "method", "minimum"},
    }
    for room, wanted in rooms.items():
        inside = [name.removeprefix(room + ".") for name in loaded if name.startswith(room + ".")]
        assert {name.split(".")[0] for name in inside} <= wanted


@pytest.mark.parametrize("room", ["goals", "limits", "methods"])
def test_rooms_that_load_late_have_all_their_names(room: str) -> None:
    module = getattr(poise, room)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        module.nothing_like_it  # noqa: B018
