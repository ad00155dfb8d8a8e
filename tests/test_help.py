"""What help() says: every goal tells the keywords that all goals have, with units and axes; joints print."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import goals
from poise.goals import Goal
from test_wrong_calls import GOALS

KINDS = {name: thing for name, thing in vars(goals).items() if isinstance(thing, type) and issubclass(thing, Goal)}
TURNING = {"Orient", "Align", "LookAt", "Angle"}
BY_AXIS = {"Reach": "of the world", "Relative": "own axes", "Orient": "of the target", "CenterOfMass": "of the world"}


def told(name: str) -> dict[str, str]:
    """The attributes that help(goal) has words for."""
    text = inspect.getdoc(KINDS[name]) or ""
    parts = re.split(r"^    (\w+):", text.partition("Attributes:")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], (" ".join(part.split()) for part in parts[2::2]), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_the_help_of_every_goal_has_all_its_arguments(name: str) -> None:
    found = told(name)
    arguments = [p for p in inspect.signature(KINDS[name]).parameters if p != "_"]
    assert set(arguments) <= set(found), set(arguments) - set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"Goal", "Custom"}))
def test_weights_and_tolerances_have_units_and_axes(name: str) -> None:
    found = told(name)
    assert "[rad]" in found["tolerance"] if name in TURNING else "[m" in found["tolerance"]
    assert "one number" in found["weight"]
    if name in BY_AXIS:
        assert BY_AXIS[name] in found["weight"]
        assert "axes" in found["weight"]


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"Goal"}))
def test_a_goal_that_takes_three_weights_says_so(name: str) -> None:
    goal = next(goal for _, goal in (make() for make in GOALS.values()) if type(goal).__name__ == name)
    taken = []
    for count in (3, 6):
        try:
            taken.append(replace(goal, weight=np.arange(1.0, 1.0 + count)))
        except poise.PoiseError:
            continue
    assert bool(taken) == (name in BY_AXIS)
