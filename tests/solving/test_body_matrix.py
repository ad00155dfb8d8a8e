"""The matrix of whole bodies: goal x method x limit x level, each cell tried, printed after the tests.

A cell that works is solved on a small figure with two arms, from a bent start to a pose nearby, and keeps the limit;
one that is refused names the method and what it does not support.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import poise
from poise import methods
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import (
    Align,
    Angle,
    Balance,
    Ball,
    CenterOfMass,
    Custom,
    Distance,
    Goal,
    HalfSpace,
    Inside,
    LookAt,
    MidRange,
    OnLine,
    OnPlane,
    Orient,
    Range,
    Reach,
    Relative,
    Rest,
)
from poise.limits import Clearance, Closed, Cone, Coupled, Limit
from poise.methods import find_method

NAMES = tuple(name for name in poise.methods.names() if name != "auto")
METHODS = {name: find_method(name) for name in NAMES} | (
    {"scipy": methods.Scipy()} if hasattr(methods, "Scipy") else {}
)
LIMITS = ("ranges", "Cone", "Coupled", "Clearance", "Closed")
LEVELS = (1, 2)
NEAR = (2e-3, 2e-2)  # metres, radians
STEPS = 3000
SIGNS = {"works": "+", "nearer": "~", "goal": "-", "joint": ".", "limit": "x", "level": "x", "limb": "/", "size": "#"}
SHOWN: dict[tuple[str, str, str, int], str] = {}

REFUSALS = {
    "goal": "goal, which method",
    "level": "goals of one priority only",
    "limit": "keeps joint ranges and ",
    "joint": "joint '",
    "limb": "needs a limb",
    "size": "square Jacobian",
}


# ------------------------------------------------------------------------------------------------ a figure


@cache
def figure() -> poise.Model:
    """A waist, and two arms of a ball, a hinge and a ball."""
    builder = poise.ModelBuilder("figure")
    builder.add_joint("waist", None, "revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0, mass=4.0, center=(0, 0, 0.2))
    for side, x in (("l", 0.2), ("r", -0.2)):
        limb = {"mass": 1.0, "center": (0, 0, 0.15)}
        builder.add_joint(f"shoulder_{side}", "waist", "ball", offset=(x, 0, 0.4), **limb)
        hinge = {"axis": (0, 1, 0), "lower": 0.0, "upper": 2.4}
        builder.add_joint(f"elbow_{side}", f"shoulder_{side}", "revolute", offset=(0, 0, 0.3), **hinge, **limb)
        builder.add_joint(f"wrist_{side}", f"elbow_{side}", "ball", offset=(0, 0, 0.3), mass=0.3)
        builder.add_frame(f"hand_{side}", f"wrist_{side}", (0, 0, 0.1))
    return builder.build()


@cache
def poses() -> tuple[Floats, Floats]:
    """A bent start and a pose nearby; the right arm stands in both as it is."""
    model = figure()
    start = np.array(model.rest)
    for side in ("l", "r"):
        start[model.joint(f"elbow_{side}").q] = 0.9
    start = np.asarray(model.integrate(start, 0.3 * np.sin(1.0 + np.arange(model.nv))))
    step = 0.12 * np.cos(2.0 * np.arange(model.nv))
    for name in ("shoulder_r", "elbow_r", "wrist_r", "waist"):
        step[model.joint(name).v] = 0.0
    return start, np.asarray(model.integrate(start, step))


def at(frame: str) -> Floats:
    return np.asarray(figure().fk(poses()[1], frame))


def place(frame: str = "hand_l") -> Floats:
    return at(frame)[:3, 3]


def center() -> Floats:
    return np.asarray(figure().center_of_mass(poses()[1]))


def around() -> list[tuple[str, Floats]]:
    """Supports on the waist around where the centre of mass is in the pose nearby, to one side of the start's."""
    x, y, _ = center()
    back = np.linalg.inv(at("waist"))
    corners = [(x + a, y + b, 0.0, 1.0) for a, b in ((0.003, -0.1), (0.003, 0.1), (-0.2, 0.1), (-0.2, -0.1))]
    return [("waist", (back @ corner)[:3]) for corner in corners]


def lifted(q: Floats) -> Floats:
    return np.asarray(figure().fk(q, "hand_l")[2:3, 3] - place()[2])


GOALS: dict[str, Callable[[], list[Goal]]] = {
    "Reach a point": lambda: [Reach("hand_l", place())],
    "Reach, ranges": lambda: [Reach("hand_l", (place()[0], Range(place()[1] - 0.01, None), place()[2]))],
    "Reach a transform": lambda: [Reach("hand_l", at("hand_l"))],
    "Relative": lambda: [Relative("hand_l", "hand_r", np.linalg.inv(at("hand_r")) @ at("hand_l"))],
    "Orient": lambda: [Orient("hand_l", at("hand_l")[:3, :3])],
    "Orient, some axes": lambda: [Orient("hand_l", at("hand_l")[:3, :3], axes="xy")],
    "LookAt": lambda: [LookAt("hand_l", place() + at("hand_l")[:3, 2])],
    "Align": lambda: [Align("hand_l", "z", at("hand_l")[:3, 2])],
    "Angle": lambda: [Angle("hand_l", "z", None, "z", float(np.arccos(at("hand_l")[2, 2])))],
    "Distance": lambda: [Distance("hand_l", "hand_r", float(np.linalg.norm(place() - place("hand_r"))))],
    "OnPlane": lambda: [OnPlane("hand_l", place(), (0, 0, 1))],
    "OnLine": lambda: [OnLine("hand_l", place(), (0, 1, 1))],
    "Inside a ball": lambda: [Inside("hand_l", Ball(place(), 0.02))],
    "Inside planes": lambda: [Inside("hand_l", [HalfSpace(place(), (0, 0, 1))])],
    "CenterOfMass": lambda: [CenterOfMass(center())],
    "Balance": lambda: [Balance(around())],
    "Custom": lambda: [Custom(lifted, size=1)],
    "Reach and Rest": lambda: [Reach("hand_l", place()), Rest(poses()[0])],
    "Reach and MidRange": lambda: [Reach("hand_l", place()), MidRange()],
}


def limit(name: str) -> list[Limit]:
    """One limit of a kind, kept at the start; some of them tight."""
    model, start = figure(), poses()[0]
    made: dict[str, Callable[[], Limit]] = {
        "Cone": lambda: Cone("shoulder_l", swing=1.2, twist=(-1.5, 1.5)),
        "Coupled": lambda: Coupled({"elbow_l": 1.0, "elbow_r": -1.0}, -0.8, 0.8),
        "Clearance": lambda: Clearance([("hand_l", "waist")], world=[HalfSpace((0, 0, -0.3), (0, 0, 1))]),
        "Closed": lambda: Closed("elbow_r", "waist", (np.linalg.inv(model.fk(start, "waist")) @ elbow())[:3, 3]),
    }
    return [made[name]()] if name in made else []


def elbow() -> Floats:
    return np.asarray(figure().fk(poses()[0], "elbow_r"))


# ------------------------------------------------------------------------------------------------ one cell


def try_out(method: str, goal: str, name: str, levels: int) -> str:
    """What became of it: works, nearer, stuck; or what was refused."""
    model, (start, _) = figure(), poses()
    goals = [replace(wish, priority=levels - 1) for wish in GOALS[goal]()]
    if levels == 2:
        goals.insert(0, Reach("hand_r", model.fk(start, "hand_r")[:3, 3], name="pin"))
    options: dict[str, Any] = {"limits": limit(name), "restarts": 0, "max_steps": STEPS}
    try:
        solver = poise.Solver(model, goals, method=METHODS[method], **options)
    except InvalidValue as refused:
        named = repr(method) in str(refused) or "limb" in str(refused)
        return next(kind for kind, words in REFUSALS.items() if words in str(refused)) if named else "unnamed"
    solution = solver.solve(start)
    assert kept(solver, solution)
    errors = np.array([solution.errors[row] for row in solver.row_names])
    if levels == 2:
        assert errors[0, 0] <= 1e-9  # the pin was where it should be
    before = np.array(list(poise.solve(model, goals, start, max_steps=1, step_limit=1e-9, restarts=0).errors.values()))
    return "works" if (errors <= NEAR).all() else "nearer" if errors.sum() < before.sum() else "stuck"


def kept(solver: poise.Solver, solution: poise.Solution) -> bool:
    """Whether no limit is broken."""
    model, q = solution.model, solution.q
    inside = all(
        (q[joint.q] >= model.lower[joint.v]).all() and (q[joint.q] <= model.upper[joint.v]).all()
        for joint in model.joints
        if joint.kind == "revolute"
    )
    gaps = np.asarray(solver.problem.gaps(q)[0]) if hasattr(solver.problem, "gaps") else np.zeros(0)
    return inside and bool(gaps.min(initial=0.0) >= 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_method(method: str, closing_table: Callable[[str, str], None]) -> None:
    declared = METHODS[method]
    for goal in GOALS:
        for name in LIMITS:
            for levels in LEVELS:
                cell = SHOWN[method, goal, name, levels] = try_out(method, goal, name, levels)
                assert cell not in ("stuck", "unnamed")
                if declared.levels:
                    assert cell == "works"
                elif name not in ("ranges", *declared.limit_kinds) or levels > 1:
                    assert cell not in ("works", "nearer")
    closing_table("whole bodies", matrix())


# ------------------------------------------------------------------------------------------------ the table


def matrix() -> str:
    """Goals down, methods across; then limits and levels; then all of both for the methods that have them."""
    tried = [method for method in METHODS if any(key[0] == method for key in SHOWN)]
    lines = [*headed(tried), *(line(goal, [sign(method, goal, "ranges", 1) for method in tried]) for goal in GOALS), ""]
    lines += [line(name, [sign(method, "Reach a point", name, 1) for method in tried]) for name in LIMITS[1:]]
    lines += [line("two levels", [sign(method, "Reach a point", "ranges", 2) for method in tried]), ""]
    for method in (method for method in tried if METHODS[method].levels):
        lines.append(f"{method}: every goal under every limit, at one level and under a pin (+ +: both work)")
        lines.append(f"{'':20}" + "".join(f"{name:>11}" for name in LIMITS))
        for goal in GOALS:
            cells = ("  ".join(sign(method, goal, name, levels) for levels in LEVELS) for name in LIMITS)
            lines.append(f"{goal:20}" + "".join(f"{cell:>11}" for cell in cells))
    lines.append("+ works. ~ came nearer. Refused by name: - goal, . joint, x limits or levels, / limb, # size.")
    return "\n".join(lines)


def headed(tried: Sequence[str]) -> list[str]:
    """The methods' names, read from top to bottom."""
    tall = max(len(name) for name in tried)
    return [f"{'':20}" + " ".join(name.rjust(tall)[k] for name in tried) for k in range(tall)]


def line(what: str, signs: Sequence[str]) -> str:
    return f"{what:20}" + " ".join(signs)


def sign(method: str, goal: str, name: str, levels: int) -> str:
    return SIGNS.get(SHOWN.get((method, goal, name, levels), ""), "?")
