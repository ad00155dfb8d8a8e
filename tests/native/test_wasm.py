"""The kernels of pages, under Node: bodies, single steps and solves equal those of Python."""

from base64 import b64encode
from typing import Any

import numpy as np
import pytest

import poise
from node_programs import find_node, run_node
from paths import NATIVE, NATIVE_TESTS
from poise.goals import Balance, LookAt, Reach, Rest
from poise.native import core
from poise.native.answer import read_errors
from poise.solvers import Solver

pytestmark = pytest.mark.slow

BODIES = ("panda", "humanoid", "tree30", "snake100", "planar3")
WASM = NATIVE / "wasm" / "kernels.wasm"
PHASES = 12
STATUSES = {1: "reached", 2: "stalled", 3: "out of steps"}


@pytest.fixture(scope="module")
def node() -> str:
    """Node and the module, which CI has."""
    return find_node()


def run(node: str, **request: Any) -> dict[str, Any]:
    """Return what the kernels under Node answer."""
    return run_node(node, NATIVE_TESTS / "wasm_solves.js", NATIVE.parent / "pages" / "kernels.js", WASM, **request)


def encode(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def write(solver: Solver) -> str:
    """The bytes of a solver with all its proofs."""
    solver.problem.complete_proofs()
    return encode(core.write_problem(solver.problem))


def make_arm_problem(rng: np.random.Generator) -> tuple[Solver, list[np.ndarray]]:
    """An arm with a closed form, and targets of which some are out of reach."""
    model = poise.load("panda")
    targets = [np.array(model.fk(model.random(rng), "panda_hand_tcp")) for _ in range(100)]
    for k, T in enumerate(targets):
        T[:3, 3] *= 1.6 if k % 3 == 0 else 1.0
    return Solver(model, [Reach("panda_hand_tcp", np.eye(4), name="hand")]), targets


@pytest.mark.parametrize("name", BODIES)
def test_kinematics_equal_pythons(node: str, name: str) -> None:
    model = poise.load(name)
    poses = np.array([model.random(np.random.default_rng(k)) for k in range(4)])
    frame = len(model.frames) - 1
    body = encode(core.write_body(model.native_body))
    found = run(node, body=body, q=poses.tolist(), frame=frame, nv=model.nv)
    assert np.abs(np.reshape(found["fk"], (4, -1, 4, 4)) - model.fk(poses)).max() < 1e-12
    jacobians = np.reshape(found["jacobians"], (4, 6, model.nv))
    assert np.abs(jacobians - model.jacobian(poses, model.frames[frame])).max() < 1e-12


def test_single_steps_equal_pythons(node: str) -> None:
    model = poise.load("panda")
    target = model.fk(model.random(np.random.default_rng(5)), "panda_hand_tcp")
    solver = Solver(model, [Reach("panda_hand_tcp", target)], restarts=0)
    start = np.array(model.rest)
    found = run(node, problem=write(solver), start=start.tolist(), phases=PHASES)
    solver.problem.restart(start, None)
    own = []
    for _ in range(PHASES):
        solver.problem.advance()
        own.append(solver.problem.state()["q"])
    assert np.abs(np.array(found["searches"]) - own).max() < 1e-12
    assert np.abs(np.diff(own, axis=0)).max() > 0.1  # it moves


def test_solves_equal_pythons(node: str) -> None:
    """Restarts, closed forms and proofs too: a third of the targets is out of reach."""
    solver, targets = make_arm_problem(np.random.default_rng(7))
    start = np.array(solver.model.rest)
    packed = [np.concatenate([T[:3, :3].ravel(), T[:3, 3]]).tolist() for T in targets]
    solves = [{"start": start.tolist(), "targets": x} for x in packed]
    found = run(node, problem=write(solver), solves=solves)["solves"]
    same = []
    for T, theirs in zip(targets, found, strict=True):
        own = solver.problem.solve(start, {"hand": T})
        assert theirs["proved"] == own.unreachable
        if not own.unreachable:  # otherwise the status is "unreachable", however the last search ended
            assert theirs["outcome"] == STATUSES[own.outcome]
        assert np.abs(np.reshape(theirs["errors"], (-1, 2)) - read_errors(own)).max() < 1e-3
        same.append(np.abs(np.array(theirs["q"]) - own.q).max() < 1e-6)
    assert np.mean(same) >= 0.97  # out of reach, a search may end elsewhere by rounding
    assert {answer["outcome"] for answer in found} > {"reached"}


@pytest.mark.parametrize("method", ["lm", "dls", "sdls", "ccd"])
def test_recorded_searches_equal_pythons(node: str, method: str) -> None:
    model = poise.load("planar3")  # a Panda's last joint does not move the point: CCD turns it by rounding errors
    solver = Solver(model, [Reach("tip", (-0.8, 1.6, 0.0))], method=method, restarts=0, record=True)
    start = np.array(model.rest)
    found = run(node, problem=write(solver), trace=start.tolist())["trace"]
    own = solver.solve(start)
    assert own.history is not None
    path = own.history.end_at(own.q)
    assert len(found) == len(path)
    assert np.abs(np.array([row["q"] for row in found]) - path).max() < 1e-6
    errors = np.array([row["errors"] for row in found])[: len(own.history)]
    assert np.abs(errors - own.history.errors[:, 0]).max() < 1e-6


def test_singular_values_equal_numpys(node: str) -> None:
    A = np.random.default_rng(3).standard_normal((3, 7))
    found = run(node, matrix=A.ravel().tolist(), rows=3)["sigma"]
    assert np.abs(np.sort(found)[::-1] - np.linalg.svd(A, compute_uv=False)).max() < 1e-12


def test_strict_levels_equal_pythons(node: str) -> None:
    model = poise.load("humanoid")
    feet = [Reach(foot, model.fk(model.rest, foot)) for foot in ("foot_l", "foot_r")]
    hand = Reach("hand_l", model.fk(model.rest, "hand_l")[:3, 3] + [0.1, 0.1, 0.2], priority=1)
    others = [LookAt("head", (1.0, 0.2, 1.3), weight=0.3, priority=2), Balance(["foot_l", "foot_r"], priority=2)]
    solver = Solver(model, [*feet, hand, *others, Rest()], mode="continuous")
    q = np.array(model.rest)
    found = run(node, problem=write(solver), solves=[{"start": q.tolist()}])["solves"][0]
    own = solver.problem.solve(q, None)
    assert np.abs(np.array(found["q"]) - own.q).max() < 1e-6
    assert np.abs(np.reshape(found["errors"], (-1, 2)) - read_errors(own)).max() < 1e-6


def test_a_choice_equals_the_problem_of_its_goals(node: str) -> None:
    """The page's problem of some goals of a catalogue, and the rig's own."""
    rig = poise.Rig(poise.load("humanoid"))
    rig.plant()
    catalogue = rig.solvers.make_catalogue()
    goals = [*catalogue.solver.row_names]
    roles = {own.handle.name: own.goals for own in catalogue.roles}
    names = [*roles["foot_l"]["plant"], *roles["foot_r"]["plant"], *roles["hand_l"]["drag"], *catalogue.standing]
    target = np.add(rig.state.transform("hand_l").translation, [0.1, 0.1, 0.2])
    model, q = rig.model, rig.q
    planted = {name: goal for name, goal in catalogue.solver.goals.items() if isinstance(goal, Reach)}
    places = {name: model.fk(q, planted[name].frame) for name in names[:2]}
    catalogue.solver.problem.restart(q, {**places, roles["hand_l"]["drag"][0]: target})
    heels = {k for own in catalogue.roles for k in own.heel}
    soles = {k for own in catalogue.roles for k in own.sole}
    limits = [int(k not in {catalogue.floor[i] for i in soles - heels}) for k in range(len(catalogue.floor))]
    masks = [[int(name in names) for name in goals], [1] * 64, limits]
    problem = encode(core.write_problem(catalogue.solver.problem))
    found = run(node, problem=problem, masks=masks, solves=[{"start": q.tolist()}])["solves"][0]
    rig.drag("hand_l", target)
    assert np.abs(np.array(found["q"]) - rig.q).max() < 1e-6
    assert np.abs(rig.q - q).max() > 0.05


def test_broken_bytes_are_rejected(node: str) -> None:
    solver, _ = make_arm_problem(np.random.default_rng(1))
    whole = core.write_problem(solver.problem)
    for part in (b"", whole[: len(whole) // 2], whole + b"\0", b"\xff" * len(whole)):
        assert run(node, broken=encode(part))["broken"] == "these bytes are not a problem"
    assert run(node, broken=encode(whole))["broken"] == "read"


def test_equal_problems_have_equal_bytes() -> None:
    rigs = [poise.Rig(poise.load("humanoid")) for _ in range(2)]
    one, other = (core.write_problem(rig.solvers.make_catalogue().solver.problem) for rig in rigs)
    assert one == other
