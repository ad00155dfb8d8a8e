"""Options have one home: every door shows the same names, with the same defaults."""

from __future__ import annotations

import inspect
import pickle
import re
from dataclasses import fields
from typing import Any

import pytest

import poise
from poise.goals import Reach
from poise.solvers.options import Options, SolveOptions

DEFAULTS = {option.name: option.default for option in fields(Options)}
DOORS: dict[Any, set[str]] = {  # and what each of them has beside, or does not take
    poise.solve: {"model", "goals", "start", "solutions", "turns"},
    poise.Solver: {"model", "goals"},
    poise.solve_batch: {
        "model",
        "goals",
        "targets",
        "starts",
        "threads",
        "dtype",
        "solutions",
        "turns",
        "places",
        "base",
        "out",
        "progress",
    },
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_shows_every_option_with_its_default(door: Any) -> None:
    shown = {name: p for name, p in inspect.signature(door).parameters.items() if name not in DOORS[door]}
    missing = {"record"} if door is poise.solve_batch else set()
    assert {name: p.default for name, p in shown.items()} == {k: v for k, v in DEFAULTS.items() if k not in missing}
    assert all(p.kind is p.KEYWORD_ONLY for p in shown.values())
    types = {name: kind.__forward_arg__ for name, kind in SolveOptions.__annotations__.items()}
    assert {name: p.annotation for name, p in shown.items()} == {k: v for k, v in types.items() if k not in missing}


def test_a_rig_takes_limits_as_a_solver_does() -> None:
    assert inspect.signature(poise.Rig).parameters["limits"].default == DEFAULTS["limits"]


@pytest.mark.parametrize("doc", [poise.solve.__doc__, Options.__doc__])
def test_every_option_is_documented(doc: str) -> None:
    assert set(DEFAULTS) <= set(re.findall(r"^ {8}(\w+): ", doc, re.MULTILINE))


def test_an_unknown_option_names_the_called_function() -> None:
    model = poise.load("planar3")
    with pytest.raises(TypeError, match=r"Solver\(\) has no argument 'methd'; did you mean 'method'\?"):
        poise.Solver(model, Reach(model.frames[-1], (1, 0, 0)), methd="lm")  # type: ignore[call-arg]


def test_options_survive_a_copy_and_a_pickle() -> None:
    model = poise.load("planar3")
    limits = [poise.limits.Coupled({model.joints[0].name: 1.0}, upper=1.0)]
    given: dict[str, Any] = {"method": "lm", "limits": limits, "max_steps": 70, "seed": 3, "joints": [*model.joints]}
    solver = poise.Solver(model, Reach(model.frames[-1], (1, 0, 0)), **given)
    for twin in (solver.copy(), pickle.loads(pickle.dumps(solver))):
        assert twin.options == solver.options
