"""Arguments of the wrong type, for every method and every goal: our own error, which names the argument."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from inspect import signature
from typing import Any

import numpy as np
import pytest

import poise
from goal_cases import GOALS
from poise import Solver, methods
from poise.errors import InvalidValue, NameNotFound, PoiseError, ShapeMismatch
from poise.goals import Comfort, Goal, MidRange, Orient, Reach, Rest
from poise.keywords import ADVICE, SAYINGS
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
def test_a_setting_of_the_wrong_type_is_rejected_by_name(method: type[Method], setting: str) -> None:
    junk = {**JUNK, "none": None, "truth": True, "negative": -1.0}
    fine = {setting: {"none"} for setting in ("alpha", "target_clamp", "parts", "pole")}
    fine |= {"soft": {"truth"}, "finish": {"truth"}}
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
def test_an_argument_of_the_wrong_type_is_rejected_by_name(name: str) -> None:
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


# ------------------------------------------------------------------------------------------ words of other libraries


ARM = poise.load("panda")
TIP = Reach("panda_hand_tcp", (0.4, 0.0, 0.4))
CALLS: dict[str, Any] = {
    "solve": lambda **given: poise.solve(ARM, TIP, **given),
    "Solver": lambda **given: poise.Solver(ARM, TIP, **given),
    "solve_batch": lambda **given: poise.solve_batch(ARM, TIP, np.zeros((2, 3)), **given),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_iterations": 10}, "type max_steps=10."),
        ({"damping": 0.1}, "type method=poise.methods.DLS(damping=0.1)."),
        ({"tolerance": 0.1}, "tolerance=0.1), in the goal."),
        ({"restart": 3}, "did you mean 'restarts'?"),
        ({"zzz": 3}, "it has: "),
    ],
)
def test_a_keyword_of_another_library_is_answered_with_what_to_type(
    call: str, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError) as caught:
        CALLS[call](**given)
    assert isinstance(caught.value, PoiseError)
    assert str(caught.value).startswith(f"{call}() has no argument {next(iter(given))!r}; ")
    assert told in str(caught.value)


def test_every_advised_keyword_exists_and_no_advice_hides_one() -> None:
    taken = {name for call in (poise.solve, poise.Solver, poise.solve_batch) for name in signature(call).parameters}
    others = {name for call in (poise.load, poise.ModelBuilder.add_joint, Reach) for name in signature(call).parameters}
    typed = {advice.partition("=")[0] for advice in SAYINGS if re.match(r"\w+=", advice)}
    assert len(typed) >= 8
    assert typed <= taken | others
    assert set(ADVICE) & taken == {"targets"}  # solve_batch has it; the others learn where it belongs


def test_seven_numbers_are_answered_with_the_order_of_a_quaternion() -> None:
    with pytest.raises(ShapeMismatch, match=r"Transform\(wxyz, xyz\), or Transform\(Rotation.from_xyzw\(xyzw\), xyz\)"):
        Reach("panda_hand_tcp", (0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0))
    with pytest.raises(ShapeMismatch, match=r"wxyz \(Rotation.from_xyzw takes xyzw\)"):
        Orient("panda_hand_tcp", np.zeros(5))


@pytest.mark.parametrize("kind", [Rest, MidRange, Comfort])
@pytest.mark.parametrize("gains", [{"panda_joint1": -1}, {"panda_joint1": np.nan}, [1.0, 2.0], [-1.0] * 7])
def test_a_wrong_gain_is_blamed_on_the_posture_that_has_it(kind: Any, gains: Any) -> None:
    with pytest.raises(PoiseError, match=f"^{kind.__name__}: "):
        poise.solve(ARM, [TIP, kind(gains=gains)])
