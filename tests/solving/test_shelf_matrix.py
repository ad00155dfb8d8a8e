"""The solver shelf's matrix: method x joint kind x goal x limit handling, each cell tried, printed after the tests.

A cell that works is solved on a small body of joints of that kind, inside their ranges; one that is refused names the
method and what it does not support. Starts are well bent, targets near: the table says what is served. How methods fare
from far away is for the race of all of them on the Panda, printed below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS
from poise import methods
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import Goal, Orient, Reach, Rest
from poise.methods import find_method
from poise.solvers import race
from poise.spatial import Rotation

KINDS = (*ALL_KINDS, "mimic")
GOALS = {"point": "P", "pose": "T", "orient": "O", "rest": "R"}
LIMITS = ("active", "freeze", "penalty", "clamp", "off")
NAMES = tuple(name for name in poise.methods.names() if name != "auto")
METHODS = {name: find_method(name) for name in NAMES} | (
    {"scipy": methods.Scipy()} if hasattr(methods, "Scipy") else {}
)
NEAR = (1e-3, 1e-2)  # metres, radians
STEPS = 2000
ROOM = 0.6  # radians (metres) to both sides of the start; targets lie within half of it

JOINTS = {"prismatic": 3, "universal": 3, "euler": 2, "ball": 2, "planar": 2, "translation3": 1, "free": 1}
SHOULDERS = {"fixed": ("ball",), "revolute": ("revolute",) * 3, "continuous": ("continuous",) * 3, "euler": ("euler",)}
SIZES = {
    "revolute": 1,
    "prismatic": 1,
    "screw": 1,
    "universal": 2,
    "euler": 3,
    "planar": 3,
    "translation3": 3,
    "cylindrical": 2,
}
AXES = np.eye(3)[[2, 1, 0, 1, 2, 0, 1, 2]]

REFUSALS = {"size": "square Jacobian", "limb": "needs a limb", "joint": "joint '", "goal": "goal '"}
SHOWN: dict[tuple[str, str, str, str], str] = {}


# ------------------------------------------------------------------------------------------------ bodies


@dataclass(frozen=True)
class Body:
    """A small body, a bent start, a pose nearby, and which joints stand otherwise there (all, unless named)."""

    model: poise.Model
    start: Floats
    near: Floats
    moved: Sequence[str] | None = None

    def target(self, joints: Sequence[str] | None = None) -> Floats:
        """Where the tip is when these joints stand as in the pose nearby."""
        named, q = joints or self.moved, np.array(self.start)
        for joint in self.model.joints:
            if joint.nq and not joint.mimic and (named is None or joint.name in named):
                q[joint.q] = self.near[joint.q]
        return np.asarray(self.model.fk(q, "tip"))


@cache
def chain(kind: str) -> Body:
    """Joints of one kind one after the other; hinges between those that cannot move by themselves."""
    plan = [kind] * JOINTS.get(kind, 6)
    if kind in ("fixed", "mimic"):
        plan = [kind if k % 2 else "revolute" for k in range(6)]
    return build(kind, plan, [k > 0 for k in range(6)])


@cache
def limb(kind: str) -> Body:
    """Shoulder, elbow and wrist: the kind is the shoulder where it can be, else what the limb stands on."""
    shoulder = SHOULDERS.get(kind, ("ball",))
    if kind == "universal":
        shoulder = ("universal", "revolute")
    under = [] if kind in ("revolute", "continuous", "euler", "universal", "ball") else [kind]
    under = ["revolute", *under] if kind == "mimic" else under
    plan = [*under, *shoulder, "revolute", *["revolute"] * 3]
    bone = len(under) + len(shoulder)
    return build(kind, plan, [k in (bone, bone + 1) for k in range(len(plan))], first=len(under))


def build(name: str, plan: Sequence[str], bones: Sequence[bool], first: int = 0) -> Body:
    """A body of the planned joints `j0 j1 ...`, a bone before each where `bones` says so; j<first> and on are moved."""
    builder = poise.ModelBuilder(name)
    bends, links = np.random.default_rng(7).uniform(0.3, 0.9, (2, 8, 3))
    parent = None
    for k, planned in enumerate(plan):
        kind = "revolute" if planned == "mimic" else planned
        options: dict[str, Any] = {"euler": {"order": "ZXY"}, "screw": {"pitch": 0.05}}.get(kind, {})
        if kind in ("revolute", "continuous", "prismatic", "screw"):
            options = {**options, "axis": AXES[k]}
        own = {"mimic": (f"j{k - 1}", 0.7, 0.1)} if planned == "mimic" else ranges(kind, bends[k])
        builder.add_joint(f"j{k}", parent, kind, offset=0.4 * links[k] * bones[k], **options, **own)
        parent = f"j{k}"
    model = builder.add_frame("tip", parent, (0.3, 0.1, 0.2)).build()
    bent = np.where(np.isfinite(model.lower), 0.0, np.linspace(0.3, 0.8, model.nv))
    start = model.integrate(np.array(model.rest), bent)
    step = ROOM * np.random.default_rng(5).uniform(-0.5, 0.5, model.nv)
    moved = [f"j{k}" for k in range(first, len(plan))] if first else None
    return Body(model, start, model.integrate(start, step), moved)


def ranges(kind: str, bend: Floats) -> dict[str, Any]:
    """ROOM to both sides of the start, for the kinds that take a range."""
    if kind not in SIZES:
        return {}
    at = bend[0] if SIZES[kind] == 1 else bend[: SIZES[kind]]
    return {"lower": at - ROOM, "upper": at + ROOM, "rest": at}


# ------------------------------------------------------------------------------------------------ one cell


def goals_of(goal: str, target: Floats) -> list[Goal]:
    """The goals of a column."""
    if goal == "orient":
        return [Orient("tip", target[:3, :3], tolerance=NEAR)]
    reach = Reach("tip", target if goal == "pose" else target[:3, 3], tolerance=NEAR)
    return [reach, Rest()] if goal == "rest" else [reach]


def square(model: poise.Model, rows: int) -> list[str] | None:
    """For the inverse: the outermost joints with as many velocities as there are rows, where there are such."""
    chosen: list[str] = []
    for joint in reversed(model.joints):
        if joint.nv and not joint.mimic and sum(model.joint(name).nv for name in chosen) < rows:
            chosen.append(joint.name)
    return chosen if sum(model.joint(name).nv for name in chosen) == rows else None


def try_out(method: str, kind: str, goal: str, handling: str) -> str:
    """What became of a cell: works, nearer, stuck, or what it is refused for."""
    body = limb(kind) if method == "two_bone" else chain(kind)
    joints = square(body.model, 6 if goal == "pose" else 3) if method == "inverse" else None
    target = body.target(joints)
    options: dict[str, Any] = {
        "method": METHODS[method],
        "limit_handling": handling,
        "joints": joints,
        "max_steps": STEPS,
    }
    try:
        solution = poise.solve(body.model, goals_of(goal, target), body.start, restarts=0, **options)
    except InvalidValue as error:
        return refused(method, kind, str(error))
    assert handling == "off" or inside(body.model, solution.q)
    if solution.reached:
        return "works"
    return "nearer" if cost(body, solution.q, target, goal) < cost(body, body.start, target, goal) else "stuck"


def cost(body: Body, q: Floats, target: Floats, goal: str) -> float:
    """What the goal's rows add up to, from an independent evaluation."""
    here = body.model.fk(q, "tip")
    metres = float(np.linalg.norm(here[:3, 3] - target[:3, 3])) / body.model.length
    radians = float(np.linalg.norm(Rotation.from_matrix(here[:3, :3] @ target[:3, :3].T).log()))
    return metres**2 * (goal != "orient") + radians**2 * (goal in ("orient", "pose"))


def inside(model: poise.Model, q: Floats) -> bool:
    """Whether every joint with a range is in it, without an epsilon."""
    ranged = [joint for joint in model.joints if joint.nv and joint.nq == joint.nv]
    return all((model.lower[j.v] <= q[j.q]).all() and (q[j.q] <= model.upper[j.v]).all() for j in ranged)


def refused(method: str, kind: str, message: str) -> str:
    """Which refusal it is; the message names the method, and the joint or the goal."""
    assert f"'{method}'" in message
    why = next(why for why, words in REFUSALS.items() if words in message)
    assert why != "joint" or f"is {kind}" in message
    return why


# ------------------------------------------------------------------------------------------------ the matrix


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_cell(method: str, kind: str, closing_table: Callable[[str, str], None]) -> None:
    declared = METHODS[method]
    for goal in GOALS:
        asked = {"point": {"position"}, "pose": {"pose"}, "orient": {"rotation"}, "rest": {"position", "posture"}}[goal]
        for handling in handlings(method):
            cell = SHOWN[method, kind, goal, handling] = try_out(method, kind, goal, handling)
            assert (cell == "goal") == (not asked <= declared.goal_kinds)
            served = kind == "fixed" or kind in declared.joint_kinds
            assert cell in ("goal", "size") or (cell == "joint") == (not served)
            assert cell != "stuck"
            assert method != "lm" or cell == "works"
    closing_table("the solver shelf", matrix())


def handlings(method: str) -> Sequence[str]:
    """SciPy has bounds or has none, and takes its time; every other method is tried under all."""
    return ("active", "off") if method == "scipy" else LIMITS


def matrix() -> str:
    """Methods down, kinds across; the letters of the goals that work, then how each limit handling did."""
    widths = {kind: max(len(kind), 4) + 2 for kind in KINDS}
    lines = [f"{'':14}" + "".join(f"{kind:>{width}}" for kind, width in widths.items())]
    for method in METHODS:
        cells = (f"{''.join(letter(method, kind, goal) for goal in GOALS):>{width}}" for kind, width in widths.items())
        lines.append(f"{method:14}" + "".join(cells))
    lines.append("P: Reach a point, T: Reach a transform, O: Orient, R: Reach a point and Rest.")
    lines.append(f"Capital: reached to {NEAR[0]:g} m and {NEAR[1]:g} rad under all limit handlings, in one search.")
    lines.append(
        "Small: came nearer, and not so near under one of them at least. - goal, . joint, # size, / limb: refused."
    )
    return "\n".join([*lines, "", *handling_table()])


def letter(method: str, kind: str, goal: str) -> str:
    """One goal of a cell."""
    seen = {SHOWN.get((method, kind, goal, handling), "") for handling in handlings(method)}
    for mark, cell in (("-", "goal"), (".", "joint"), ("#", "size"), ("/", "limb"), ("?", "")):
        if cell in seen:
            return mark
    return GOALS[goal] if seen == {"works"} else GOALS[goal].lower()


def handling_table() -> list[str]:
    """How many of a method's cells work under each limit handling, of those that it serves."""
    lines = [f"{'':14}" + "".join(f"{handling:>10}" for handling in LIMITS)]
    for method in METHODS:
        counts = []
        for handling in LIMITS:
            cells = [SHOWN.get((method, kind, goal, handling), "") for kind in KINDS for goal in GOALS]
            served = cells.count("works") + cells.count("nearer")
            counts.append(f"{cells.count('works')} of {served}" if served else "")
        lines.append(f"{method:14}" + "".join(f"{count:>10}" for count in counts))
    return lines


@pytest.mark.parametrize("rotation", [False, True], ids=["points", "transforms"])
def test_race_on_the_panda(rotation: bool, closing_table: Callable[[str, str], None]) -> None:
    result = race(poise.load("panda"), problems=40, rotation=rotation, recorded=0)
    closing_table(f"the race, {'transforms' if rotation else 'points'}", str(result))
    runners = {racer.method: racer for racer in result.racers if not racer.refused}
    assert {racer.method for racer in result.racers} == set(NAMES)
    assert set(runners) >= {"lm", "dls", "sdls", "svd", "pseudoinverse", "qr", "halley", "ccd", "transpose", "gradient"}
    assert runners["lm"].reached > 0.6
    assert runners["lm"].steps < runners["transpose"].steps < runners["gradient"].steps
