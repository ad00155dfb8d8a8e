"""Arguments of the wrong type or unit: our own error or warning, which names the argument."""

import math
import re
import warnings
from dataclasses import fields, replace
from inspect import signature
from typing import Any

import numpy as np
import pytest

import poise
from goal_cases import GOALS
from poise import Solver, methods
from poise.errors import InvalidValue, NameNotFound, PoiseError, ShapeMismatch, UnitWarning
from poise.goals import Comfort, Goal, MidRange, Reach, Rest
from poise.keywords import ADVICE, SAYINGS
from poise.limits import Cone
from poise.methods import Method
from poise.model import BallRange

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
SETTINGS = [
    (method, field.name) for method in sorted(ALL_METHODS, key=lambda each: each.__name__) for field in fields(method)
]


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


def find_error(model: poise.Model, goal: Goal, argument: str, value: Any) -> PoiseError | None:
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
    assert find_error(model, goal, "priority", 0) is None  # it is fine as it stands
    for argument in (f.name for f in fields(goal) if f.init):
        for what, value in JUNK.items():
            error = find_error(model, goal, argument, value)
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
    ("argument", "value", "words"),
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
def test_what_all_goals_have_is_checked_in_all_of_them(name: str, argument: str, value: Any, words: str) -> None:
    _, goal = GOALS[name]()
    with pytest.raises(PoiseError) as caught:
        replace(goal, **{argument: value})
    assert words in str(caught.value)
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
    ("given", "words"),
    [
        ({"max_iterations": 10}, "type max_steps=10."),
        ({"damping": 0.1}, "type method=poise.methods.DLS(damping=0.1)."),
        ({"tolerance": 0.1}, "tolerance=0.1), in the goal."),
        ({"restart": 3}, "did you mean 'restarts'?"),
        ({"zzz": 3}, "it has: "),
    ],
)
def test_a_keyword_of_another_library_is_answered_with_what_to_type(
    call: str, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError) as caught:
        CALLS[call](**given)
    assert isinstance(caught.value, PoiseError)
    assert str(caught.value).startswith(f"{call}() has no argument {next(iter(given))!r}; ")
    assert words in str(caught.value)


def test_every_advised_keyword_exists_and_no_advice_hides_one() -> None:
    taken = {name for call in (poise.solve, poise.Solver, poise.solve_batch) for name in signature(call).parameters}
    calls = (poise.load, poise.ModelBuilder.add_joint, Reach, poise.Pose)
    others = {name for call in calls for name in signature(call).parameters}
    typed = {advice.partition("=")[0] for advice in SAYINGS if re.match(r"\w+=", advice)}
    assert len(typed) >= 8
    assert typed <= taken | others
    assert set(ADVICE) & taken == {"targets"}  # solve_batch has it; the others learn where it belongs


@pytest.mark.parametrize("kind", [Rest, MidRange, Comfort])
@pytest.mark.parametrize("gains", [{"panda_joint1": -1}, {"panda_joint1": np.nan}, [1.0, 2.0], [-1.0] * 7])
def test_a_wrong_gain_is_blamed_on_the_posture_that_has_it(kind: Any, gains: Any) -> None:
    with pytest.raises(PoiseError, match=f"^{kind.__name__}: "):
        poise.solve(ARM, [TIP, kind(gains=gains)])


# ------------------------------------- Degrees instead of radians: reported with the correct call, without false alarms


PI = math.pi


def build_joint(kind: str = "revolute", **options: Any) -> poise.Model:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, kind, **options)
    builder.add_frame("tip", "a", (1, 0, 0))
    return builder.build()


DEGREES: list[tuple[str, dict[str, Any]]] = [
    ("revolute", {"lower": -90, "upper": 90}),
    ("revolute", {"lower": -170.5, "upper": 170.5}),
    ("revolute", {"lower": 0, "upper": 45}),
    ("revolute", {"lower": -360, "upper": 360}),
    ("revolute", {"lower": -2.0, "upper": 13}),
    ("universal", {"lower": (-1, -90), "upper": (1, 90)}),
    ("euler", {"order": "XYZ", "lower": (-30, -1, -1), "upper": (30, 1, 1)}),
    ("planar", {"lower": (-5, -5, -180), "upper": (5, 5, 180)}),
    ("ball", {"cone": BallRange(swing=60.0)}),
    ("ball", {"cone": BallRange(twist=(-45.0, 45.0))}),
    ("ball", {"cone": BallRange(angle=90.0)}),
]

RADIANS: list[tuple[str, dict[str, Any]]] = [
    ("revolute", {"lower": -6.28, "upper": 6.28}),
    ("revolute", {"lower": -2 * PI, "upper": 2 * PI}),
    ("revolute", {"lower": -4 * PI, "upper": 4 * PI}),
    ("revolute", {"lower": -12.5, "upper": 12.5}),
    ("revolute", {"lower": -1e16, "upper": 1e16}),
    ("revolute", {"lower": -1e9, "upper": 1e9}),
    ("revolute", {"lower": -1000, "upper": 1000}),
    ("revolute", {"lower": -10 * PI, "upper": 10 * PI}),  # a winch of ten turns
    ("revolute", {"lower": -31.4159, "upper": 31.4159}),
    ("revolute", {"lower": None, "upper": None}),
    ("prismatic", {"lower": -90, "upper": 90}),
    ("screw", {"pitch": 0.001, "lower": 0, "upper": 100}),
    ("translation3", {"lower": (-90,) * 3, "upper": (90,) * 3}),
    ("planar", {"lower": (-90, -90, -3), "upper": (90, 90, 3)}),
    ("ball", {"cone": BallRange(swing=PI, twist=(-PI, PI), angle=2 * PI)}),
]


@pytest.mark.parametrize(("kind", "options"), DEGREES, ids=str)
def test_a_range_in_degrees_warns_with_the_correct_call(kind: str, options: dict[str, Any]) -> None:
    with pytest.warns(UnitWarning, match=r"joint 'a': .*radians.*math\.radians") as caught:
        build_joint(kind, **options)
    assert all(one.filename == __file__ for one in caught)


@pytest.mark.parametrize(("kind", "options"), RADIANS, ids=str)
def test_a_range_in_radians_is_taken_without_a_word(kind: str, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_joint(kind, **options)


def test_files_and_built_in_bodies_are_taken_at_their_word(tmp_path: Any) -> None:
    path = tmp_path / "arm.urdf"
    for bound in ("90", "1e16", "6.28", "100"):
        path.write_text(
            '<robot name="a"><link name="l"/><link name="m"/><joint name="j" type="revolute"><parent link="l"/>'
            f'<child link="m"/><axis xyz="0 0 1"/><limit lower="-{bound}" upper="{bound}" effort="1" velocity="1"/>'
            "</joint></robot>"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnitWarning)
            assert poise.load(path).upper[0] == float(bound)
            assert poise.load(path, base="free", up="y").nv == 7


def test_a_cone_of_half_a_turn_and_more_is_none() -> None:
    assert Cone("b", swing=PI).swing == PI
    assert Cone("b", swing=2 * PI).swing == PI
    assert Cone("b", twist=(-PI, PI)).twist == (-PI, PI)


# ------------------------------------------------------------------------------------------------ starts

PANDA = poise.load("panda")
REACH = Reach("panda_hand_tcp", (0.4, 0.0, 0.4))
IN_DEGREES = np.array([0.0, -45.0, 0.0, -135.0, 0.0, 90.0, 45.0])


def test_a_start_in_degrees_warns_with_the_correct_call() -> None:
    with pytest.warns(UnitWarning, match=r"joint 'panda_joint2' is at -45.*math\.radians\(-45\).*deg2rad") as caught:
        poise.solve(PANDA, REACH, IN_DEGREES)
    assert caught[0].filename == __file__
    with pytest.warns(UnitWarning, match="radians"):
        poise.solve(PANDA, REACH, IN_DEGREES.tolist())
    with pytest.warns(UnitWarning, match="radians"):
        poise.solve_batch(PANDA, REACH, np.full((2, 3), 0.4), np.stack([np.deg2rad(IN_DEGREES), IN_DEGREES]))


def test_a_start_in_radians_is_taken_without_a_word() -> None:
    wheel = build_joint("continuous")
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnitWarning)
        poise.solve(PANDA, REACH, np.deg2rad(IN_DEGREES))
        poise.solve(PANDA, REACH, 3.0 * rng.normal(size=7))  # outside its ranges, as a start may be
        poise.solve(PANDA, REACH, np.full(7, 4.0 * PI))
        poise.solve(wheel, Reach("tip", (0.0, 1.0, 0.0)), [100.0])  # has turned for a while
        poise.solve(build_joint("prismatic", lower=0.0, upper=1.0), Reach("tip", (1.0, 0.0, 0.5)), [90.0])
