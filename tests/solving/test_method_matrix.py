"""The matrix of methods: joint kinds, goals, limits and levels; each cell is tried, and printed after the tests.

A cell that works is solved, inside its ranges and limits; one that is refused names the method and what it does not
support. Two kinds of bodies: small chains of one joint kind under every limit handling, and a figure with two arms for
every goal under every limit, at one level and under a pin. Starts are well bent, targets near: the table says what is
served. How methods fare from far away is for the race of all of them on the Panda, printed below it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS
from matrix_bodies import FIGURE, FIGURE_GOALS, FIGURE_START, KindBody, build_chain_of, build_limb_of, list_limits
from poise import methods
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal, Orient, Reach, Rest
from poise.solvers import race
from poise.spatial import Rotation

NAMES = tuple(name for name in methods.names() if name != "auto")
METHODS = {name: methods.find_method(name) for name in NAMES} | {"scipy": methods.Scipy()}
KINDS = (*ALL_KINDS, "mimic")
LETTERS = {"point": "P", "pose": "T", "orient": "O", "rest": "R"}
ASKED = {"point": {"position"}, "pose": {"pose"}, "orient": {"rotation"}, "rest": {"position", "posture"}}
HANDLINGS = ("active", "freeze", "penalty", "clamp", "off")
LIMITS = ("ranges", "Cone", "Coupled", "Clearance", "Closed")
REFUSALS = {  # words of the message: what is refused
    "square Jacobian": "size",
    "needs a limb": "limb",
    "goals of one priority only": "level",
    "keeps joint ranges and ": "limit",
    "goal, which method": "goal",
    "joint '": "joint",
}
SIGNS = {"works": "+", "nearer": "~", "goal": "-", "joint": ".", "limit": "x", "level": "x", "limb": "/", "size": "#"}
SHOWN: dict[tuple[str, ...], str] = {}


def find_refusal(method: str, error: InvalidValue, kind: str = "") -> str:
    """Return what a message refuses; it names the method (or what a limb is), and the kind of the joint."""
    message = str(error)
    assert f"'{method}'" in message or (not kind and "limb" in message)
    refused = next(what for words, what in REFUSALS.items() if words in message)
    assert refused != "joint" or not kind or f"is {kind}" in message
    return refused


def is_inside(model: poise.Model, q: Floats) -> bool:
    """Return whether every joint with a range is in it, without an epsilon."""
    ranged = [joint for joint in model.joints if joint.nv and joint.nq == joint.nv]
    return all((model.lower[j.v] <= q[j.q]).all() and (q[j.q] <= model.upper[j.v]).all() for j in ranged)


def draw_table(title: str, heads: Iterable[str], rows: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Return the lines of a table, each column as wide as its head."""
    widths = {head: max(len(head), 4) + 2 for head in heads}
    lines = ["".join([f"{title:20}", *(f"{head:>{width}}" for head, width in widths.items())])]
    for name, cells in rows:
        placed = (f"{cell:>{width}}" for cell, width in zip(cells, widths.values(), strict=True))
        lines.append("".join([f"{name:20}", *placed]))
    return lines


# ------------------------------------------------------------------------------------------------ joint kinds


def make_kind_goals(goal: str, target: Floats) -> list[Goal]:
    """Return the goals of a letter, to a millimetre and ten milliradians."""
    near = (1e-3, 1e-2)
    if goal == "orient":
        return [Orient("tip", target[:3, :3], tolerance=near)]
    reach = Reach("tip", target if goal == "pose" else target[:3, 3], tolerance=near)
    return [reach, Rest()] if goal == "rest" else [reach]


def choose_square(model: poise.Model, rows: int) -> list[str] | None:
    """Return, for the inverse, the outermost joints with as many velocities as there are rows, or None."""
    chosen: list[str] = []
    for joint in reversed(model.joints):
        if joint.nv and not joint.mimic and sum(model.joint(name).nv for name in chosen) < rows:
            chosen.append(joint.name)
    return chosen if sum(model.joint(name).nv for name in chosen) == rows else None


def try_kind(method: str, kind: str, goal: str, handling: str) -> str:
    """Return what became of a cell: works, nearer, stuck, or what it is refused for."""
    body = build_limb_of(kind) if method == "two_bone" else build_chain_of(kind)
    joints = choose_square(body.model, 6 if goal == "pose" else 3) if method == "inverse" else None
    target = body.find_target(joints)
    options: dict[str, Any] = {"method": METHODS[method], "limit_handling": handling, "joints": joints}
    try:
        goals = make_kind_goals(goal, target)
        solution = poise.solve(body.model, goals, body.start, restarts=0, max_steps=2000, **options)
    except InvalidValue as error:
        return find_refusal(method, error, kind)
    assert handling == "off" or is_inside(body.model, solution.q)
    if solution.reached:
        return "works"
    before, after = (measure_cost(body, q, target, goal) for q in (body.start, solution.q))
    return "nearer" if after < before else "stuck"


def measure_cost(body: KindBody, q: Floats, target: Floats, goal: str) -> float:
    """Return the sum of squares of the goal's rows, from an independent evaluation."""
    here = body.model.fk(q, "tip")
    metres = float(np.linalg.norm(here[:3, 3] - target[:3, 3])) / body.model.length
    radians = float(np.linalg.norm(Rotation.from_matrix(here[:3, :3] @ target[:3, :3].T).log()))
    return metres**2 * (goal != "orient") + radians**2 * (goal in ("orient", "pose"))


def list_handlings(method: str) -> Sequence[str]:
    """List the limit handlings of a method: SciPy has bounds or has none, and takes its time."""
    return ("active", "off") if method == "scipy" else HANDLINGS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_cell(method: str, kind: str, closing_table: Callable[[str, str], None]) -> None:
    declared = METHODS[method]
    for goal, asked in ASKED.items():
        for handling in list_handlings(method):
            cell = SHOWN[method, kind, goal, handling] = try_kind(method, kind, goal, handling)
            assert (cell == "goal") == (not asked <= declared.goal_kinds)
            served = kind == "fixed" or kind in declared.joint_kinds
            assert cell in ("goal", "size") or (cell == "joint") == (not served)
            assert cell != "stuck"
            assert method != "lm" or cell == "works"
    rows = [(name, ["".join(find_letter(name, k, goal) for goal in LETTERS) for k in KINDS]) for name in METHODS]
    legend = [
        "P: Reach a point, T: Reach a transform, O: Orient, R: Reach a point and Rest. Capital: reached under all",
        "limit handlings, in one search. Small: nearer under one of them. - goal, . joint, # size, / limb: refused.",
    ]
    closing_table("the solver shelf", "\n".join([*draw_table("", KINDS, rows), *legend]))


def find_letter(method: str, kind: str, goal: str) -> str:
    """Return the sign of one goal of a cell."""
    seen = {SHOWN.get((method, kind, goal, handling), "") for handling in list_handlings(method)}
    refused = next(
        (SIGNS[what] for what in ("goal", "joint", "size", "limb") if what in seen), "?" if "" in seen else ""
    )
    return refused or (LETTERS[goal] if seen == {"works"} else LETTERS[goal].lower())


# ------------------------------------------------------------------------------------------------ whole bodies


def try_figure(method: str, goal: str, limit: str, levels: int) -> str:
    """Return what became of a cell of the figure: works, nearer, stuck, or what it is refused for."""
    goals = [replace(one, priority=levels - 1) for one in FIGURE_GOALS[goal]()]
    if levels == 2:
        goals.insert(0, Reach("hand_r", FIGURE.fk(FIGURE_START, "hand_r")[:3, 3], name="pin"))
    options: dict[str, Any] = {"limits": list_limits(limit), "restarts": 0, "max_steps": 3000}
    try:
        solver = poise.Solver(FIGURE, goals, method=METHODS[method], **options)
    except InvalidValue as error:
        return find_refusal(method, error)
    solution = solver.solve(FIGURE_START)
    assert is_inside(FIGURE, solution.q)
    assert np.min(solver.problem.gaps(solution.q)[0] if hasattr(solver.problem, "gaps") else 0.0, initial=0.0) >= 0.0
    errors = np.array([solution.errors[row] for row in solver.row_names])
    if levels == 2:
        assert errors[0, 0] <= 1e-9  # the pin was where it should be
    before = poise.solve(FIGURE, goals, FIGURE_START, max_steps=1, step_limit=1e-9, restarts=0).errors.values()
    return "works" if (errors <= (2e-3, 2e-2)).all() else "nearer" if errors.sum() < np.sum([*before]) else "stuck"


@pytest.mark.parametrize("method", METHODS)
def test_method(method: str, closing_table: Callable[[str, str], None]) -> None:
    declared = METHODS[method]
    for goal in FIGURE_GOALS:
        for limit in LIMITS:
            for levels in (1, 2):
                cell = SHOWN[method, goal, limit, str(levels)] = try_figure(method, goal, limit, levels)
                assert cell != "stuck"
                if declared.levels:
                    assert cell == "works"
                elif limit not in ("ranges", *declared.limit_kinds) or levels > 1:
                    assert cell not in ("works", "nearer")
    heads = [f"{limit} {levels}" for limit in LIMITS for levels in "12"]
    lines = []
    for name in (name for name in METHODS if (name, "Balance", "ranges", "1") in SHOWN):
        rows = [(goal, [SIGNS[SHOWN[(name, goal, *head.split())]] for head in heads]) for goal in FIGURE_GOALS]
        lines += [*draw_table(name, heads, rows), ""]
    legend = (
        "1, 2: alone, under a pin. + works. ~ nearer. Refused: - goal, . joint, x limits or levels, / limb, # size."
    )
    closing_table("whole bodies", "\n".join([*lines, legend]))


# ------------------------------------------------------------------------------------------------ the race


@pytest.mark.parametrize("rotation", [False, True], ids=["points", "transforms"])
def test_race_on_the_panda(rotation: bool, closing_table: Callable[[str, str], None]) -> None:
    result = race(poise.load("panda"), problems=40, rotation=rotation, recorded=0)
    closing_table(f"the race, {'transforms' if rotation else 'points'}", str(result))
    runners = {racer.method: racer for racer in result.racers if not racer.refused}
    assert {racer.method for racer in result.racers} == set(NAMES)
    assert set(runners) >= {"lm", "dls", "sdls", "svd", "pseudoinverse", "qr", "halley", "ccd", "transpose", "gradient"}
    assert runners["lm"].reached > 0.6
    assert runners["lm"].steps < runners["transpose"].steps < runners["gradient"].steps
