"""Problems that are prepared once: what is cached, options and their defaults, rows of arms in a batch."""

import inspect
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from subprocess import run
from typing import Any

import numpy as np
import pytest

import poise
from poise.batch import BatchSolver
from poise.errors import PoiseError
from poise.goals import Custom, Distance, Goal, LookAt, Orient, Reach, Rest
from poise.goals.goal import GoalRows
from poise.models.panda import panda
from poise.solvers.options import Options, SolveOptions
from poise.solvers.problem_cache import MOST_READY, READY, describe, identify


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


# --------- `poise.solve` prepares a problem once for many targets, and answers as a solver of its own does, bit for bit


ARM, HAND = poise.load("panda"), "panda_hand_tcp"
BODY = poise.load("humanoid")


def draw_goals(rng: np.random.Generator, kind: int) -> tuple[poise.Model, list[Goal]]:
    """A problem of one kind with targets of its own."""
    q = ARM.random(rng)
    T = ARM.fk(q, HAND)
    hand = BODY.fk(BODY.rest, "hand_l")[:3, 3] + rng.normal(scale=0.2, size=3)
    problems: list[tuple[poise.Model, list[Goal]]] = [
        (ARM, [Reach(HAND, T)]),
        (ARM, [Reach(HAND, T[:3, 3]), Orient(HAND, T[:3, :3], weight=0.3)]),
        (ARM, [Reach(HAND, T), Rest(q)]),
        (ARM, [Reach(HAND, T[:3, 3]), Reach("panda_link4", rng.normal(size=3), priority=1)]),
        (ARM, [Reach(HAND, 3.0 * T[:3, 3])]),  # mostly out of reach
        (BODY, [Reach("hand_l", hand), LookAt("head", hand, weight=0.3), Rest(weight=0.01)]),
        (BODY, [Distance("hand_l", "hand_r", float(rng.uniform(0.2, 0.6)))]),
    ]
    return problems[kind]


def read_bits(solution: poise.Solution) -> tuple[Any, ...]:
    return (solution.q.tobytes(), solution.status, solution.steps, solution.searches, solution.errors)


@pytest.mark.parametrize("kind", range(7))
def test_a_ready_problem_answers_as_a_new_one(kind):
    rng = np.random.default_rng(kind)
    for k in range(6):
        model, goals = draw_goals(rng, kind)
        start = model.random(rng) if k % 2 else None
        options = {"seed": k % 3, "max_steps": 100} if k % 3 else {}
        assert read_bits(poise.solve(model, goals, start, **options)) == read_bits(
            poise.Solver(model, goals, **options).solve(start)
        )
    assert model.memo.entries(READY)


def test_threads_never_share_a_problem():
    rng = np.random.default_rng(7)
    problems = [draw_goals(rng, 0)[1] for _ in range(60)]
    alone = [read_bits(poise.solve(ARM, goals)) for goals in problems]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda goals: read_bits(poise.solve(ARM, goals)), problems)) == alone


def test_a_solution_outlives_the_next_solve():
    rng = np.random.default_rng(3)
    first = poise.solve(ARM, [Reach(HAND, (0.3, 0.2, 2.0))])
    before = (read_bits(first), first.why(), str(first))
    for _ in range(3):
        poise.solve(ARM, [Reach(HAND, rng.normal(size=3))])
    assert (read_bits(first), first.why(), str(first)) == before


NO_NUMBERS = ("convert", "residual", "jacobian", "third")  # functions of Python


def test_every_kernel_input_distinguishes_problems():
    row = Reach(HAND, np.eye(4)).rows(ARM)
    other = {
        "op": Orient(HAND, np.eye(3)).rows(ARM).op,
        "frame": "panda_link4",
        "base": "panda_link1",
        "target": np.zeros(24),
        "points": (("panda_link4", np.zeros(3)),),
        "size": 3,
    }
    seen = {describe(row)}
    for field in fields(GoalRows):
        if field.name in NO_NUMBERS:
            continue
        old = getattr(row, field.name)
        new = other.get(field.name, not old if isinstance(old, bool) else np.ones(np.shape(old)) * 0.5)
        seen.add(describe(replace(row, **{field.name: new})))
    assert len(seen) == len(fields(GoalRows)) - len(NO_NUMBERS) + 1


@pytest.mark.parametrize("change", [{"weight": 0.5}, {"tolerance": 1e-6}, {"priority": 2}, {"name": "tip"}])
def test_every_goal_field_distinguishes_problems(change):
    def key(goal: Goal) -> Any:
        named = {goal.name or "hand": goal}
        return identify(ARM, named, [(name, g.rows(ARM)) for name, g in named.items()], options)

    options = Options()
    assert key(Reach(HAND, np.eye(4))) != key(Reach(HAND, np.eye(4), **change))
    assert key(Reach(HAND, np.eye(4))) == key(Reach(HAND, 2.0 * np.eye(4) - np.eye(4)))


def test_only_a_few_are_kept_and_none_that_calls_python():
    model = poise.load("panda")
    for k in range(3 * MOST_READY):
        poise.solve(model, Reach(HAND, (0.3, 0.2, 0.5), tolerance=1e-4 + 1e-6 * k))
        assert 1 <= len(model.memo.entries(READY)) <= MOST_READY
    kept = set(model.memo.entries(READY))
    poise.solve(model, Custom(lambda q: q[:1], size=1))
    poise.solve(model, Reach(HAND, (0.3, 0.2, 0.5)), record=True)
    assert set(model.memo.entries(READY)) == kept


@pytest.mark.parametrize("wrong", [{"max_steps": True}, {"max_steps": 1.0}, {"restarts": -1}, {"mode": "fast"}])
def test_an_invalid_option_is_rejected_after_an_equal_valid_one(wrong):
    poise.solve(ARM, Reach(HAND, (0.3, 0.2, 0.5)), max_steps=1)
    with pytest.raises(PoiseError):
        poise.solve(ARM, Reach(HAND, (0.3, 0.2, 0.5)), **wrong)


# --------------------------------------- Options have one home: every door shows the same names, with the same defaults


DEFAULTS = {option.name: option.default for option in fields(Options)}
DOORS: dict[Any, set[str]] = {  # and further arguments of each, and those that it does not take
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


def test_options_survive_a_copy_and_a_pickle() -> None:
    model = poise.load("planar3")
    limits = [poise.limits.Coupled({model.joints[0].name: 1.0}, upper=1.0)]
    given: dict[str, Any] = {"method": "lm", "limits": limits, "max_steps": 70, "seed": 3, "joints": [*model.joints]}
    solver = poise.Solver(model, Reach(model.frames[-1], (1, 0, 0)), **given)
    for twin in (solver.copy(), pickle.loads(pickle.dumps(solver))):
        assert twin.options == solver.options


# ----- Arms of six and seven hinges have kernels of their own in a batch; their rows are those of the single solver too


def draw_arm(seed: int, hinges: int, *, before: bool, behind: bool) -> poise.Model:
    """A serial arm with joints that do not move its tool, numbered before its own or behind them."""
    rng = np.random.default_rng(seed)
    builder = poise.ModelBuilder("arm")
    if before:
        builder.add_joint("lamp", None, "prismatic", lower=-0.1, upper=0.2)
    parent = None
    for i in range(hinges):
        corner = rng.choice([-np.pi / 2, 0.0, np.pi / 2, rng.uniform(-np.pi, np.pi)])
        offset = poise.Transform(poise.Rotation.from_axis_angle((1, 0, 0), corner), rng.uniform(-0.3, 0.3, 3))
        builder.add_joint(
            f"j{i}", parent, "revolute", offset=offset, lower=-2.5, upper=2.5, stiffness=rng.uniform(0, 1)
        )
        parent = f"j{i}"
    builder.add_frame("tool", parent, rng.uniform(-0.2, 0.2, 3))
    if behind:
        for side in (-1.0, 1.0):
            builder.add_joint(f"finger{side}", parent, "prismatic", lower=0.0, upper=0.04, axis=(0.0, side, 0.0))
    return builder.build()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("hinges", [5, 6, 7, 8])
def test_rows_of_arms_are_those_of_the_single_solver(hinges: int, behind: bool, before: bool, dtype: str) -> None:
    model = draw_arm(hinges, hinges, before=before, behind=behind)
    rng = np.random.default_rng(1)
    targets, starts = model.fk(model.random(rng, 60), "tool"), model.random(rng, 60)
    goal = Reach("tool", np.eye(4), weight=(1.0, 2.0, 1.0, 0.5, 0.5, 0.5))
    batch = BatchSolver(model, goal, dtype=dtype).solve(targets, starts)
    solver = poise.Solver(model, goal)
    alone = [solver.solve(start, {"tool": target}) for start, target in zip(starts, targets, strict=True)]
    assert np.mean(batch.reached == [one.reached for one in alone]) >= 0.98
    idle = [k for k, joint in enumerate(model.joints) if joint.kind == "prismatic"]
    np.testing.assert_array_equal(batch.q[:, idle], starts[:, idle].astype(dtype))
    assert ((batch.q >= model.lower) & (batch.q <= model.upper)).all()
    found = model.fk(batch.q.astype(np.float64), "tool")
    metres = np.linalg.norm(found[:, :3, 3] - targets[:, :3, 3], axis=1)
    np.testing.assert_allclose(batch.errors["tool"][:, 0], metres, atol=1e-9)
    if dtype == "float64":
        same = [np.allclose(q, one.q, atol=1e-6) for q, one in zip(batch.q, alone, strict=True)]
        assert np.mean(same) >= 0.85  # rounding may send a long search elsewhere
