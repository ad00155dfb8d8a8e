"""What a solver promises between calls and at its edges: no state leaks, nothing half-read, nothing outside."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import NameNotFound
from poise.goals import Orient, Reach, Rest
from poise.methods import Scipy
from poise.methods.scipy import LEAST_SQUARES, MINIMIZERS

TCP = "panda_hand_tcp"
NEAR = (0.4, 0.2, 0.5)


def test_a_rejected_target_changes_nothing(panda: poise.Model) -> None:
    solver = poise.Solver(panda, Reach(TCP, NEAR, name="a"))
    before = solver.solve().q
    with pytest.raises(NameNotFound, match="no goal is called 'zz'"):
        solver.solve(targets={"a": np.array([0.3, 0.3, 0.3]), "zz": NEAR})
    assert (solver.solve().q == before).all()


def test_a_solution_keeps_its_own_targets(panda: poise.Model) -> None:
    far = np.array([5.0, 0.0, 0.0])
    solver = poise.Solver(panda, Reach(TCP, NEAR, name="a"))
    solution = solver.solve(targets={"a": far})
    far[:] = NEAR
    assert solution.status is poise.Status.UNREACHABLE
    assert "5.011 m" in solution.why()
    assert not solver.copy().solve().reached


def test_a_history_keeps_its_own_targets(panda: poise.Model) -> None:
    poses = panda.random(np.random.default_rng(0), 2)
    first, second = panda.fk(poses, TCP)[:, :3, :3]
    solver = poise.Solver(panda, Orient(TCP, first, axes="xy", name="a"), record=True, restarts=0)
    history = solver.solve(targets={"a": first}).history
    assert history is not None
    before = history.singular_values
    solver.solve(targets={"a": second})
    assert (history.singular_values == before).all()


def test_one_goal_given_twice_keeps_its_names(panda: poise.Model) -> None:
    twice, other = Reach(TCP, NEAR), Reach(TCP, (0.3, 0.3, 0.3))
    solver = poise.Solver(panda, [twice, other, twice])
    assert list(solver.goals) == list(solver.copy().goals)
    assert list(solver.goals.values()) == [twice, other, twice]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("target", [NEAR, (3.0, 0.0, 0.0)])
def test_solutions_travel(panda: poise.Model, again: Any, target: tuple[float, ...]) -> None:
    solution = poise.solve(panda, [Reach(TCP, target), Rest()])
    twin = again(solution)
    assert (twin.q == solution.q).all()
    assert twin.status is solution.status
    assert twin.why() == solution.why()


def test_a_short_search_from_outside_is_not_called_reached(panda: poise.Model) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        start = panda.random(rng)
        start[6] = 12.0
        target = panda.fk(panda.random(rng), TCP)[:3, 3]
        answer = poise.solve(panda, Reach(TCP, target), start=start, max_steps=3, restarts=0)
        assert not (answer.reached and answer.q[6] > panda.upper[6])


def test_sequential_comes_back_into_the_ranges(panda: poise.Model) -> None:
    start = np.array(panda.rest)
    start[0] = panda.upper[0] + 0.5
    answer = poise.solve(panda, Reach(TCP, panda.fk(start, TCP)[:3, 3]), start=start, method="sequential")
    assert (answer.q >= panda.lower).all()
    assert (answer.q <= panda.upper).all()


def test_rest_costs_no_search_and_no_goal(panda: poise.Model) -> None:
    targets = panda.fk(panda.random(np.random.default_rng(2), 300), TCP)
    plain, rested = poise.Solver(panda, Reach(TCP, targets[0])), poise.Solver(panda, [Reach(TCP, targets[0]), Rest()])
    for target in targets:
        alone, both = plain.solve(targets={TCP: target}), rested.solve(targets={TCP: target})
        assert both.reached == alone.reached
        assert both.searches == alone.searches


def test_rest_settles_in_one_call() -> None:
    body = poise.load("humanoid")
    solver = poise.Solver(body, [Reach("hand_l", (0.4, 1.2, 0.3)), Rest()])
    first = solver.solve()
    again = solver.solve(first.q)
    assert np.abs(body.difference(first.q, again.q)).max() < 2e-3


@pytest.mark.parametrize("weight", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("stiffness", [0.0, 1e4])
def test_common_weights_and_stiffness_do_not_matter(panda: poise.Model, weight: float, stiffness: float) -> None:
    targets = panda.fk(panda.random(np.random.default_rng(3), 20), TCP)
    solver = poise.Solver(panda, Reach(TCP, targets[0], weight=weight), stiffness=stiffness)
    assert all(solver.solve(targets={TCP: target}).reached for target in targets)


def test_a_follower_with_ratio_zero_does_not_drag_its_leader() -> None:
    builder = poise.ModelBuilder("m")
    builder.add_joint("a", None, "revolute", lower=-1, upper=1)
    builder.add_joint("b", None, "revolute", mimic=("a", 0.0, 0.5))
    builder.add_joint("c", "b", "revolute", offset=(1, 0, 0))
    model = builder.add_frame("e", "c", (1, 0, 0)).build()
    target = model.fk([0.0, 1.0], "e")[:3, 3]
    for method in ("lm", "ccd", "dls"):
        answer = poise.solve(model, Reach("e", target), method=method)
        assert answer.reached
        assert answer.q[0] == 0.0


@pytest.mark.slow
def test_a_follower_stays_inside_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        ratio, offset, upper = rng.uniform(0.1, 3), rng.uniform(-1, 1), rng.uniform(1, 2)
        builder = poise.ModelBuilder("m").add_joint("a", None, "revolute", lower=-9, upper=9)
        builder.add_joint("b", "a", "revolute", mimic=("a", ratio, offset), lower=-2.0, upper=upper)
        model = builder.build()
        assert ratio * model.upper[0] + offset <= upper
        assert ratio * model.lower[0] + offset >= -2.0


def test_quaternions_of_a_start_are_made_unit() -> None:
    tree = poise.load("tree30")
    start = np.array(tree.rest)
    start[3:7] *= 3.0
    answer = poise.solve(tree, Reach("end_1", tree.fk(tree.rest, "end_1")[:3, 3]), start=start)
    assert np.linalg.norm(answer.q[3:7]) == pytest.approx(1.0, abs=1e-12)


def test_one_priority_of_any_number_suits_every_method(panda: poise.Model) -> None:
    assert poise.solve(panda, Reach(TCP, NEAR, priority=1), method="lm").reached


@pytest.mark.parametrize("optimizer", [*LEAST_SQUARES, *MINIMIZERS])
def test_scipy_reaches_with_our_residual_and_jacobian(panda: poise.Model, optimizer: str) -> None:
    target = panda.fk(panda.integrate(panda.rest, np.full(7, 0.2)), TCP)[:3, 3]
    answer = poise.solve(panda, Reach(TCP, target), method=Scipy(optimizer), max_steps=2000)
    assert answer.reached
    assert (answer.q >= panda.lower).all()
    assert (answer.q <= panda.upper).all()


def test_scipy_turns_ball_joints_and_records() -> None:
    tree = poise.load("tree30")
    target = tree.fk(tree.random(np.random.default_rng(5)), "end_2")
    answer = poise.solve(tree, Reach("end_2", target), method=Scipy("trf"), max_steps=500, record=True)
    assert answer.reached
    assert answer.history is not None
    assert len(answer.history) > 1


def test_nothing_weighs_nothing(panda: poise.Model) -> None:
    answer = poise.solve(panda, Reach(TCP, NEAR, weight=0.0))
    assert answer.conditioning.condition == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lm", "dls", "ccd"])
def test_a_call_in_continuous_mode_never_exceeds_its_bound(panda: poise.Model, method: str) -> None:
    rng = np.random.default_rng(6)
    solver = poise.Solver(panda, Reach(TCP, NEAR, name="a"), mode="continuous", step_limit=0.05, method=method)
    for _ in range(200):
        start = panda.random(rng)
        moved = solver.solve(start, {"a": panda.fk(panda.random(rng), TCP)[:3, 3]}).q - start
        assert np.abs(moved).max() <= 0.05


def test_tight_tolerances_cost_a_step_or_two_and_no_search() -> None:
    model = poise.load("humanoid")
    names = ("hand_l", "hand_r", "foot_l", "foot_r")
    q = model.integrate(model.rest, np.random.default_rng(1).uniform(-0.2, 0.2, (100, model.nv)))
    targets = {name: model.fk(q, name) for name in names}
    loose, tight = (
        poise.solve_batch(model, [Reach(n, np.eye(4), tolerance=(t, t)) for n in names], targets) for t in (1e-6, 1e-11)
    )
    assert tight.reached.all()
    assert (tight.searches == 1).all()
    assert tight.steps.mean() < loose.steps.mean() + 2


def build_leg_behind(others: int) -> poise.Model:
    """A leg of five joints whose velocities come after so many others."""
    builder = poise.ModelBuilder("centaur")
    for k in range(others):
        builder.add_joint(f"other{k}", None, "revolute", axis=(1, 0, 0), lower=-1, upper=1, offset=(0.1 * k, 1, 0))
    above = None
    for name, axis, down in (("yaw", "z", 0.0), ("hip", "y", 0.1), ("knee", "y", 0.3), ("ankle", "y", 0.3)):
        turn = {"y": (0, 1, 0), "z": (0, 0, 1)}[axis]
        builder.add_joint(name, above, "revolute", axis=turn, lower=-2.2, upper=2.3, offset=(0, 0, -down))
        above = name
    builder.add_joint("turn", above, "revolute", axis=(0, 0, 1), lower=-2.5, upper=2.6, offset=(0.02, 0, -0.1))
    return builder.add_frame("sole", "turn", (0, 0, -0.1)).build()


def test_a_limb_is_found_as_surely_wherever_it_hangs_on_a_body() -> None:
    found = []
    for others in (0, 34):
        model = build_leg_behind(others)
        targets = model.fk(model.random(np.random.default_rng(0), 300), "sole")
        batch = poise.solve_batch(model, Reach("sole", np.eye(4), tolerance=(1e-4, 1e-3)), targets)
        found.append((batch.reached.mean(), batch.searches.mean()))
    assert min(reached for reached, _ in found) == 1.0
    assert found[1][1] < 1.2 * found[0][1]
