"""Arguments of the wrong type, for every method and every goal: our own error, which names the argument."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import poise
from goal_cases import GOALS
from poise import Solver, methods
from poise.errors import InvalidValue, NameNotFound, PoiseError, ShapeMismatch
from poise.goals import Goal, Rest
from poise.methods import Method

RAGGED = [[1.0, 2.0], [3.0]]
JUNK: dict[str, Any] = {
    "a word": "hello",
    "a list": [0.1, 0.2, 0.3, 0.4, 0.5],
    "ragged": RAGGED,
    "an object": object(),
    "a dict": {"a": 1.0},
    "complex": 1j,
    "objects": np.array([object(), None, "a"], dtype=object),
    "nan": float("nan"),
    "bytes": b"1",
    "a function": len,
}

ALL_METHODS: list[type[Method]] = [
    thing for thing in vars(methods).values() if isinstance(thing, type) and issubclass(thing, Method)
]
SETTINGS = [(method, field.name) for method in ALL_METHODS for field in fields(method)]


@pytest.mark.parametrize(("method", "setting"), SETTINGS, ids=[f"{m.__name__}.{s}" for m, s in SETTINGS])
def test_a_setting_of_the_wrong_type_is_refused_by_name(method: type[Method], setting: str) -> None:
    junk = {**JUNK, "none": None, "truth": True, "negative": -1.0}
    fine = {"target_clamp": {"none"}, "parts": {"none"}, "pole": {"none"}, "soft": {"truth"}, "finish": {"truth"}}
    for what, value in junk.items():
        if what in fine.get(setting, ()):
            method(**{setting: value})
            continue
        with pytest.raises((InvalidValue, NameNotFound, ShapeMismatch)) as caught:
            method(**{setting: value})
        assert setting in str(caught.value), what


# ------------------------------------------------------------------------------------------------ goals


def outcome(model: poise.Model, goal: Goal, argument: str, value: Any) -> PoiseError | None:
    """What is raised by the goal with one argument replaced, or by solving it."""
    try:
        changed = replace(goal, **{argument: value})
        Solver(model, [changed, Rest()] if not isinstance(changed, Rest) else [GOALS["reach"]()[1], changed])
    except PoiseError as error:
        return error
    return None


@pytest.mark.parametrize("name", GOALS)
def test_an_argument_of_the_wrong_type_is_refused_by_name(name: str) -> None:
    model, goal = GOALS[name]()
    assert outcome(model, goal, "priority", 0) is None  # it is fine as it stands
    for argument in (f.name for f in fields(goal) if f.init):
        for what, value in JUNK.items():
            error = outcome(model, goal, argument, value)
            if error is None:  # a name may be any text, a residual any function
                assert (argument, what) in {("name", "a word"), ("residual", "a function")}, value
                continue
            if isinstance(error, NameNotFound):  # which says the name that is not there
                continue
            named = "target" if argument in ("transform", "target") else "frame" if "frame" in argument else argument
            named = "frame" if argument in ("other", "relative_to") else named
            assert named in str(error), (argument, what, str(error))


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize(
    ("argument", "value", "told"),
    [
        ("weight", "high", "weight is 'high'; give one number"),
        ("weight", RAGGED, "weight is"),
        ("weight", None, "weight is None"),
        ("tolerance", "1mm", "tolerance is '1mm'; give a number [m; rad for rotations], or (metres, radians)"),
        ("tolerance", (1.0, 2.0, 3.0), "or (metres, radians)"),
        ("tolerance", RAGGED, "or (metres, radians)"),
        ("priority", "first", "priority is 'first'"),
        ("priority", 0.5, "priority is 0.5"),
        ("name", 3, "name must be a non-empty string"),
    ],
)
def test_what_all_goals_have_is_checked_in_all_of_them(name: str, argument: str, value: Any, told: str) -> None:
    _, goal = GOALS[name]()
    with pytest.raises(PoiseError) as caught:
        replace(goal, **{argument: value})
    assert told in str(caught.value)
    assert str(caught.value).startswith(type(goal).__name__)
