"""One solver and several threads: rejected, never corrupted; a copy for each thread works, and gives the same bits."""

import threading

import numpy as np
import pytest

import poise
from poise import Solver
from poise.batch import BatchSolver
from poise.errors import PoiseError, SolverInUse
from poise.goals import Custom, Goal, Reach
from poise.limits import Clearance

THREADS = 4
PANDA = "panda_hand_tcp"


def prepared(kind):
    """A solver and its start."""
    if kind == "clearance":
        model = poise.load("humanoid")
        goals = [Reach("hand_l", (0.1, 1.1, 0.1)), Reach("hand_r", (-0.1, 1.1, 0.1))]
        return Solver(model, goals, limits=[Clearance()], restarts=1)
    model = poise.load("panda")
    goal: Goal = Reach(PANDA, (0.3, 0.5, 0.4))
    if kind == "custom":
        goal = Custom(lambda q: q[:2] - 0.1, size=2, name="mine")
    return Solver(model, goal, record=kind == "record")


def used_by(threads, calls):
    """Runs the calls at once; what was raised, and what came out."""
    raised, found = [], []
    barrier = threading.Barrier(threads)

    def work(k):
        barrier.wait()
        for _ in range(30):
            try:
                found.append(calls(k))
            except PoiseError as error:
                raised.append(error)

    crew = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return raised, found


@pytest.mark.parametrize("kind", ["plain", "clearance", "record", "custom"])
def test_one_solver_for_several_threads_is_rejected_not_corrupted(kind):
    solver = prepared(kind)
    alone = solver.solve()
    raised, found = used_by(THREADS, lambda _: solver.solve())
    assert all(isinstance(error, SolverInUse) and "copy()" in str(error) for error in raised)
    assert len(found) + len(raised) == 30 * THREADS
    assert all((solution.q == alone.q).all() for solution in found)
    if kind == "record":
        assert all((solution.history.q == alone.history.q).all() for solution in found)
    assert (solver.solve().q == alone.q).all()  # and it goes on working


@pytest.mark.parametrize("kind", ["plain", "clearance", "record"])
def test_a_copy_for_each_thread_works(kind):
    solver = prepared(kind)
    alone = solver.solve()
    copies = [solver.copy() for _ in range(THREADS)]
    raised, found = used_by(THREADS, lambda k: copies[k].solve())
    assert not raised
    assert all((solution.q == alone.q).all() for solution in found)


def test_a_goal_that_calls_its_own_solver_is_rejected():
    model = poise.load("planar2")
    holder: list[Solver] = []

    def residual(q):
        return holder[0].solve().q if holder else q

    holder.append(Solver(model, Custom(residual, size=2, name="loop")))
    with pytest.raises(SolverInUse, match="copy"):
        holder[0].solve()
    holder[0] = Solver(model, Reach("tip", (1.0, 1.0, 0.0)))
    assert holder[0].solve().reached


def test_one_batch_solver_for_several_threads_is_rejected_not_corrupted():
    model = poise.load("panda")
    targets = model.fk(model.random(np.random.default_rng(0), 64), PANDA)[:, :3, 3]
    solver = BatchSolver(model, Reach(PANDA, (0.3, 0.5, 0.4)), threads=1)
    alone = solver.solve(targets).q
    raised, found = used_by(THREADS, lambda _: solver.solve(targets).q)
    assert all(isinstance(error, SolverInUse) for error in raised)
    assert all((q == alone).all() for q in found)
