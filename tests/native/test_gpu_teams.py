"""How the threads of a team divide the work of a whole body on a GPU."""

import numpy as np
import pytest

import poise
from poise.goals import Goal, Reach
from poise.native import core
from poise.native.gpu.teams import divide


def humanoid() -> poise.Solver:
    goals: list[Goal] = [Reach(name, np.eye(4)) for name in ("hand_l", "foot_r")]
    return poise.Solver(poise.load("humanoid"), [*goals, Reach("hand_r", np.zeros(3), relative_to="chest", priority=2)])


def build_geared() -> poise.Solver:
    """Three hinges, of which the last follows the first."""
    builder = poise.ModelBuilder("geared")
    builder.add_joint("a", None, "revolute")
    builder.add_joint("b", "a", "revolute", offset=(1, 0, 0))
    builder.add_joint("c", "b", "revolute", offset=(1, 0, 0), mimic=("a", -0.5, 0.0))
    return poise.Solver(builder.add_frame("tip", "c", (1, 0, 0)).build(), Reach("tip", np.zeros(3)))


SOLVERS = {"humanoid": humanoid, "geared": build_geared}


@pytest.mark.parametrize("name", SOLVERS)
def test_every_part_of_a_step_is_done_once(name: str) -> None:
    solver = SOLVERS[name]()
    table = core.problem_of(solver.problem, True)
    division = divide(table)
    assert sorted(division.by_depth) == list(range(len(table["primitives"])))
    place = {i: k for k, i in enumerate(division.by_depth)}
    begins = dict(enumerate(division.levels))
    for level in range(len(division.levels) - 1):
        for i in division.by_depth[begins[level] : begins[level + 1]]:
            parent = table["primitives"][i]["parent"]
            assert parent < 0 or place[parent] < begins[level]  # placed before
    covered = np.zeros((table["n_rows"],) * 2, dtype=int)
    for strip in division.strips:
        covered[strip["row"], strip["column"] : strip["column"] + strip["width"]] += 1
    np.testing.assert_array_equal(covered, np.tri(table["n_rows"], dtype=int))
    moved = sum(3 if p["kind"] in (core.Primitive.BALL, core.Primitive.SLIDE3) else 1 for p in table["primitives"])
    assert len(division.sources) == moved
    assert division.first_sources[-1] == moved
    assert sum(division.priorities) == (3 if name == "humanoid" else 0)
