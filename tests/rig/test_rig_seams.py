"""What others build on a rig without reaching into it: several handles at once, solvers of their own, one undo step."""

import numpy as np
import pytest

import poise
from poise.goals import Balance
from poise.rig import Rig, RigProblem, make_solver
from poise.solvers import Solver

BODIES = {"humanoid": {"foot_l", "foot_r"}, "quadruped": {"foot_fl", "foot_fr", "foot_hl", "foot_hr"}, "panda": set()}


def errors_of(rig: Rig) -> dict[str, tuple[float, float]]:
    """Return what the last frame has left, goal by goal."""
    assert rig.solution is not None
    return dict(rig.solution.errors)


def test_several_handles_are_dragged_at_once(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    targets = {"hand_l": np.array([0.45, 1.35, 0.35]), "hand_r": np.array([-0.35, 1.1, 0.45])}
    for _ in range(60):
        rig.drag(targets)
    for name, target in targets.items():
        assert rig.state.transform(name).translation == pytest.approx(target, abs=1e-4)
    alone = Rig(humanoid)
    alone.drag("hand_l", targets["hand_l"])
    mapped = Rig(humanoid)
    mapped.drag({"hand_l": targets["hand_l"]})
    assert np.array_equal(alone.q, mapped.q)


def test_a_drag_of_several_handles_is_one_change(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    before = rig.q
    for k in range(5):
        rig.drag({"hand_l": np.array([0.4, 1.2 + 0.01 * k, 0.3]), "hand_r": np.array([-0.4, 1.2, 0.3])})
    assert rig.history.undo()
    assert np.array_equal(rig.q, before)
    assert not rig.history.undo()


def test_everything_between_begin_and_commit_is_one_change(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    before = rig.q
    rig.history.begin()
    for k in range(3):
        rig.look_at("head", (0.4, 1.2, 0.5))
        rig.drag("hand_l", np.array([0.4, 1.2 + 0.01 * k, 0.3]))
    rig.reach("hand_l", rig.state.transform("hand_l").translation)
    rig.history.commit()
    moved = rig.q
    rig.pin("hand_r")
    assert rig.history.undo()
    assert np.array_equal(rig.q, moved)
    assert rig.history.undo()
    assert np.array_equal(rig.q, before)
    assert not rig.state.held
    assert not rig.history.undo()
    rig.history.begin()
    rig.history.commit()
    assert not rig.history.undo()  # a gesture that changed nothing is no change


def test_a_rig_takes_a_function_that_makes_its_solvers(humanoid: poise.Model) -> None:
    asked: list[RigProblem] = []

    def make(problem: RigProblem) -> Solver:
        asked.append(problem)
        kept = tuple(goal for goal in problem.goals if not isinstance(goal, Balance))
        return make_solver(RigProblem(problem.model, kept, problem.limits, problem.frozen))

    rig = Rig(humanoid, make_solver=make)
    rig.pin("foot_l")
    rig.freeze("elbow_l")
    rig.drag("hand_l", (0.4, 1.2, 0.3))
    rig.drag("hand_l", (0.4, 1.3, 0.3))
    assert len(asked) == 1  # one solver for one set of goals
    assert {"foot_l", "hand_l", "balance"} <= {goal.name for goal in asked[0].goals}
    assert asked[0].frozen == {"elbow_l"}
    assert "elbow_l" not in (asked[0].joints or [])
    assert "balance" not in errors_of(rig)
    rig.solvers.make_solver = make_solver
    rig.drag("hand_l", (0.4, 1.3, 0.3))
    assert len(asked) == 1
    assert "balance" in errors_of(rig)


def test_the_problem_is_what_the_next_frame_solves(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    rig.pin("foot_l")
    rig.reach("hand_l", (0.4, 1.2, 0.3))
    rig.look_at("head", (0.4, 1.2, 0.5))
    rig.pole("elbow_l", (0.0, -1.0, 0.0))
    problem = rig.solvers.problem
    solution = make_solver(problem).solve(rig.q, problem.targets)
    rig.update()
    assert np.array_equal(solution.q, rig.q)


def test_targets_are_copied_from_another_rig_of_the_body(humanoid: poise.Model) -> None:
    leader, other = Rig(humanoid), Rig(humanoid)
    leader.pin("foot_l")
    leader.reach("hand_l", (0.4, 1.2, 0.3))
    leader.freeze("knee_l")
    other.reach("hand_l", (0.1, 1.0, 0.3))
    other.state.copy_targets(leader.state, keep=("hand_l",))
    assert set(other.state.held) == {"foot_l", "hand_l"}
    assert other.state.target("hand_l") == pytest.approx((0.1, 1.0, 0.3))
    assert other.state.frozen == ("knee_l",)


def test_the_beginning_can_be_marked(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    rig.pin("foot_l")
    rig.history.mark_start()
    assert not rig.history.undo()
    rig.drag("hand_l", (0.4, 1.2, 0.3))
    rig.history.reset()
    assert rig.state.pinned == ("foot_l",)


def test_a_pose_is_set_with_or_without_the_targets(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    rig.reach("hand_l", (0.4, 1.2, 0.3))
    q = humanoid.random(np.random.default_rng(0))
    rig.state.move_body(q)
    assert rig.state.held == ("hand_l",)
    assert np.array_equal(rig.q, q)
    rig.pose = q
    assert not rig.state.held


def test_what_nothing_holds_returns_to_the_rest_that_was_set(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    bent = poise.Pose(humanoid).replace({"elbow_l": -1.0})
    rig.pin("foot_l")
    rig.solvers.rest = bent
    assert rig.solvers.rest == bent
    for k in range(40):  # what is reached stays as it is: something has to move
        rig.drag("hand_r", (-0.4, 1.0 + 0.01 * k, 0.3))
    assert rig.q[humanoid.joint("elbow_l").q] == pytest.approx(-1.0, abs=0.1)


# ------------------------------------------------------------------------------------------------ what stands


@pytest.mark.parametrize("name", BODIES)
def test_a_handle_knows_whether_a_body_stands_on_it(name: str) -> None:
    rig = Rig(poise.load(name))
    assert {handle.name for handle in rig.handles.values() if handle.stands} == BODIES[name]
    assert set(rig.state.standing) == BODIES[name]


def test_a_foot_without_a_name_for_it_is_one_where_it_stands() -> None:
    builder = poise.ModelBuilder("walker")
    builder.add_joint("base", None, "free", mass=5.0)
    for side, x in (("a", -0.2), ("b", 0.2)):
        builder.add_joint(f"leg_{side}", "base", "revolute", offset=(x, 0.0, 0.0), mass=1.0)
        builder.add_frame(f"end_{side}", f"leg_{side}", (0.0, 0.0, -0.8))
    builder.add_joint("arm", "base", "revolute", offset=(0.0, 0.0, 0.3), mass=1.0)
    builder.add_frame("tip", "arm", (0.0, 0.3, 0.3))
    rig = Rig(builder.build())
    assert {handle.name for handle in rig.handles.values() if handle.stands} == {"end_a", "end_b"}


def test_a_foot_that_ends_at_its_last_joint_stands_although_it_is_higher() -> None:
    builder = poise.ModelBuilder("walker").add_joint("base", None, "free", mass=5.0)
    for side, x, z in (("a", -0.2, -0.8), ("b", 0.0, -0.76), ("c", 0.2, -0.72)):
        builder.add_joint(f"leg_{side}", "base", "ball", offset=(x, 0.0, 0.0), mass=1.0)
        builder.add_joint(f"paw_{side}", f"leg_{side}", "ball", offset=(0.0, 0.0, z), mass=0.1)
    assert Rig(builder.build()).plant() == ("paw_a", "paw_b")


def test_a_foot_in_the_air_is_to_stand_on_and_does_not() -> None:
    rig = Rig(poise.load("humanoid"))
    lifted = rig.state.transform("foot_r").matrix
    lifted[1, 3] += 0.3
    for _ in range(60):
        rig.drag("foot_r", lifted)
    assert rig.handles["foot_r"].stands
    assert rig.state.standing == ("foot_l",)


def test_a_rig_has_few_public_members(humanoid: poise.Model) -> None:
    assert len([name for name in dir(Rig(humanoid)) if not name.startswith("_")]) <= 25


def test_a_rig_rejects_unknown_attributes(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    with pytest.raises(AttributeError, match="rest"):
        rig.rest = humanoid.rest  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'Rig' object has no attribute 'walk'"):
        rig.walk()  # type: ignore[attr-defined]


def test_a_frame_in_which_only_a_foot_is_not_flat_counts_as_reached(humanoid: poise.Model) -> None:
    rig = Rig(humanoid)
    rig.plant()
    start = rig.pose.position("pelvis")
    for way in np.linspace(0.0, 0.4, 80):
        rig.drag("pelvis", start - np.array([0.0, way, 0.0]))
    assert rig.solution is not None
    assert rig.solution.reached
    assert rig.solution.status is poise.Status.REACHED
