"""Goals as objects: names, copies, errors, new targets, contacts, and their effect on a figure."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from goal_bodies import random_body
from goal_cases import CASES
from poise.arrays import Floats
from poise.errors import InvalidValue, PoiseError, ShapeMismatch
from poise.goals import (
    Align,
    Angle,
    Balance,
    Ball,
    Box,
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
from poise.solvers import Solver
from poise.solvers.table import name_goals

HERE = (0.3, 1.2, 0.3)


def bend(q: Floats) -> Floats:
    """A residual that can be pickled."""
    return np.asarray(q[:2] - 0.1)


EACH: list[Goal] = [
    Reach("hand_l", HERE),
    Reach("hand_l", (0.3, Range(1.0, None), 0.3)),
    Orient("hand_l", np.eye(3), within=(0.1, Range(0, 1), None)),
    LookAt("head", HERE),
    Align("hand_l", "y", (0, 2, 0)),
    Distance("hand_l", "hand_r", (0.1, 0.2)),
    Distance("hand_l", HERE, Range(None, 0.2), point_a=(0, 0, 1)),
    Angle("hand_l", "z", "head", "-z", 1.0),
    OnPlane("hand_l", HERE, "z"),
    OnLine("hand_l", HERE, (1, 1, 0)),
    Inside("hand_l", Box(HERE, (0.1, 0.2, 0.3), np.eye(3))),
    Inside("hand_l", Ball(HERE, 0.1)),
    Inside("hand_l", [HalfSpace(HERE, (0, 1, 0))]),
    CenterOfMass((0, Range(), 0)),
    Balance(["foot_l", ("hand_l", (0, 0, 0))], margin=0.01),
    Relative("hand_l", "hand_r", np.eye(4)),
    Custom(bend, size=2),
    Rest(power=4, gains={"pelvis": 0.0}),
    MidRange(weight=2.0),
]


def make_standing(model: poise.Model) -> list[Goal]:
    return [Reach(foot, model.fk(model.rest, foot), weight=10.0) for foot in ("foot_l", "foot_r")]


# ------------------------------------------------------------------------------------------------ as values


@pytest.mark.parametrize("goal", EACH, ids=lambda goal: type(goal).__name__)
def test_a_goal_is_a_value(goal: Goal) -> None:
    twin = pickle.loads(pickle.dumps(goal))
    assert twin == goal
    assert hash(twin) == hash(goal)
    assert twin is not goal
    assert all(goal != other for other in EACH if other is not goal)
    with pytest.raises(AttributeError):
        goal.weight = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("name", [name for name in CASES if "custom" not in name])
def test_the_pickle_of_a_goal_has_the_same_rows(name: str) -> None:
    body, _ = random_body(1, at_pose=False)
    goal, _ = CASES[name](body)
    one, other = goal.rows(body.model), pickle.loads(pickle.dumps(goal)).rows(body.model)
    np.testing.assert_array_equal(one.target, other.target)
    np.testing.assert_array_equal(one.weight, other.weight)


def test_default_names_are_the_frame_then_the_kind() -> None:
    goals = [Reach("head", HERE), LookAt("head", HERE), LookAt("head", HERE), Balance(["foot_l"]), Rest(), MidRange()]
    goals += [CenterOfMass(HERE), Custom(bend, size=2), Distance("hand_l", "head", 1.0), Align("hand_l", "x", "y")]
    assert list(name_goals(goals)) == [
        *("head", "head.look_at", "head.look_at#2", "balance", "rest", "mid_range"),
        *("center_of_mass", "custom", "hand_l", "hand_l.align"),
    ]


def test_every_goal_says_how_many_rows_it_has(humanoid: poise.Model) -> None:
    for goal in EACH:
        if not isinstance(goal, Rest):
            solver = Solver(humanoid, [*make_standing(humanoid), goal])
            assert len(solver.problem.rows_jacobian(humanoid.rest)[1]) == 12 + goal.rows(humanoid).size


# ------------------------------------------------------------------------------------------------ refusals

NAN = float("nan")
REFUSED: list[tuple[Callable[[], Any], type[PoiseError], str]] = [
    (lambda: LookAt("head", (0, NAN, 0)), InvalidValue, "LookAt: target"),
    (lambda: LookAt("head", HERE, axis=(0, 0, 0)), InvalidValue, "LookAt: axis is zero"),
    (lambda: LookAt("head", HERE, axis="w"), InvalidValue, "'w'; give a letter"),
    (lambda: LookAt("head", HERE, weight=(1, 2, 3)), ShapeMismatch, "LookAt: weight has 3"),
    (lambda: Align("head", "y", (0, 0, 0)), InvalidValue, "direction is zero"),
    (lambda: Align("head", "y", (0, 1)), ShapeMismatch, "must be 3"),
    (lambda: Distance("head", "hand_l", -1.0), InvalidValue, "low end must be 0 or more|low end must be from 0"),
    (lambda: Distance("head", "hand_l", (2.0, 1.0)), InvalidValue, "low is 2.0 and high is 1.0"),
    (lambda: Distance("head", HERE, 1.0, point_b=HERE), InvalidValue, "no point_b"),
    (lambda: Angle("head", "y", None, "y", 4.0), InvalidValue, "from 0 to 3.14"),
    (lambda: Angle("head", "y", "head", "y", 1.0), InvalidValue, "cannot change"),
    (lambda: OnPlane("head", HERE, (0, 0, 0)), InvalidValue, "normal is zero"),
    (lambda: OnLine("head", HERE, (0, NAN, 0)), InvalidValue, "direction"),
    (lambda: Inside("head", "box"), InvalidValue, "give a Box"),
    (lambda: Inside("head", []), InvalidValue, "give a Box"),
    (lambda: Box(HERE, (1, -1, 1)), InvalidValue, "zero or more"),
    (lambda: Ball(HERE, -1.0), InvalidValue, "radius"),
    (lambda: HalfSpace(HERE, (0, 0, 0)), InvalidValue, "normal is zero"),
    (lambda: CenterOfMass((0, 0)), ShapeMismatch, "CenterOfMass: target"),
    (lambda: CenterOfMass((0, Range())), InvalidValue, "has 2 coordinates"),
    (lambda: Balance([]), InvalidValue, "support is empty"),
    (lambda: Balance([3]), InvalidValue, "not a support"),
    (lambda: Balance(["foot_l"], margin=-0.1), InvalidValue, "margin"),
    (lambda: Range(2.0, 1.0), InvalidValue, "must not be above"),
    (lambda: Range(NAN, 1.0), InvalidValue, "Range: low"),
    (lambda: Reach("head", (Range(),)), InvalidValue, "has 1 coordinates"),
    (lambda: Reach("head", (Range(), NAN, 0.0)), InvalidValue, "finite"),
    (lambda: Orient("head", np.eye(3), within=-0.1), InvalidValue, "zero or more"),
    (lambda: Orient("head", np.eye(3), within=Range(0.1, 0.2)), InvalidValue, "low <= 0 <= high"),
    (lambda: Orient("head", np.eye(3), within=(0.1, 0.2)), ShapeMismatch, "give one, or three"),
    (lambda: Rest(power=3), InvalidValue, "even"),
    (lambda: Rest(power=0), InvalidValue, "even"),
    (lambda: MidRange(power=1), InvalidValue, "MidRange: power"),
    (lambda: Custom("r", size=1), InvalidValue, "must be a function"),  # type: ignore[arg-type]
    (lambda: Custom(bend, size=0), InvalidValue, "size is 0"),
    (lambda: Custom(bend, 3, size=1), InvalidValue, "jacobian must be"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "error", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_invalid_values_are_rejected_by_name(make: Callable[[], Any], error: type[PoiseError], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


# ------------------------------------------------------------------------------------------------ new targets


@pytest.mark.parametrize(
    ("goal", "new"),
    [
        (LookAt("head", HERE), (1.0, 2.0, 3.0)),
        (Align("hand_l", "y", "y"), "x"),
        (Distance("hand_l", "hand_r", 0.3), (0.1, 0.2)),
        (Angle("hand_l", "y", None, "y", 0.3), Range(0.1, None)),
        (OnPlane("hand_l", HERE, "y"), (0.0, 1.0, 0.0)),
        (OnPlane("hand_l", HERE, "y"), ((0.0, 1.0, 0.0), "z")),
        (OnLine("hand_l", HERE, "y"), (HERE, (1, 1, 1))),
        (Inside("hand_l", Box(HERE, (1, 1, 1))), Box(HERE, (0.1, 0.1, 0.1))),
        (Inside("hand_l", HalfSpace(HERE, (0, 1, 0))), HalfSpace(HERE, (1, 0, 0))),
        (CenterOfMass((0, Range(), 0)), (0.0, 1.0, Range(0, 1))),
        (Balance(["foot_l"]), 0.02),
        (Reach("hand_l", (0.3, Range(), 0.3)), (0.3, 1.0, 0.3)),
        (Relative("hand_l", "hand_r", HERE), (0.1, 0.0, 0.0)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_solver_takes_new_targets(humanoid: poise.Model, goal: Goal, new: Any) -> None:
    solver = Solver(humanoid, goal)
    before = solver.problem.rows_jacobian(humanoid.rest)[1]
    solver.solve(targets={next(iter(solver.goals)): new})
    other = solver.with_targets({next(iter(solver.goals)): new})
    after = other.problem.rows_jacobian(humanoid.rest)[1]
    assert len(before) == len(after)
    assert not np.array_equal(before, after) or not before.any()


@pytest.mark.parametrize(
    ("goal", "new", "words"),
    [
        (Inside("hand_l", Ball(HERE, 1.0)), Box(HERE, (1, 1, 1)), "made for a Ball"),
        (Inside("hand_l", HalfSpace(HERE, (0, 1, 0))), [HalfSpace(HERE, (0, 1, 0))] * 2, "1 HalfSpaces"),
        (Reach("hand_l", HERE), (0.3, Range(), 0.3), "without ranges"),
        (CenterOfMass(HERE), (0.3, Range(), 0.3), "without ranges"),
        (OnPlane("hand_l", HERE, "y"), (HERE, "y", "z"), "new target is a point"),
        (Custom(bend, size=2), 1.0, "has no target"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_target_of_another_kind_is_rejected(humanoid: poise.Model, goal: Goal, new: Any, words: str) -> None:
    solver = Solver(humanoid, goal)
    with pytest.raises(PoiseError, match=words):
        solver.solve(targets={next(iter(solver.goals)): new})


# ------------------------------------------------------------------------------------------------ contacts


def test_the_contacts_of_feet_are_heels_balls_and_toes(humanoid: poise.Model) -> None:
    found = {frame for frame, _ in Balance(["foot_l", "foot_r"]).contacts(humanoid)}
    assert found == {f"{place}_{side}" for place in ("foot", "heel", "ball", "toe") for side in "lr"}
    assert {frame for frame, _ in Balance(["pelvis"]).contacts(humanoid)} == {"pelvis", "hip_l", "hip_r"}
    assert len(Balance(("heel_l", (0.0, 0.0, 0.1))).contacts(humanoid)) == 1


def test_the_corners_of_a_sole_are_contacts() -> None:
    builder = poise.ModelBuilder("robot")
    builder.add_joint("base", None, "free", mass=1.0)
    builder.add_joint("ankle", "base", "revolute", offset=(0, 0, -0.5), mass=1.0)
    builder.add_shape("ankle", poise.model.Box((0.2, 0.1, 0.02)), offset=(0, 0, -0.05), use="collision")
    model = builder.build()
    corners = [point for frame, point in Balance(["ankle"]).contacts(model) if point.any()]
    # a hundredth of L is 5 mm, and the sole is 20 mm thick
    np.testing.assert_allclose(sorted(map(tuple, corners)), [(x, y, -0.06) for x in (-0.1, 0.1) for y in (-0.05, 0.05)])


# ------------------------------------------------------------------------------------------------ custom


def test_a_wrong_jacobian_is_rejected_with_its_entry(humanoid: poise.Model) -> None:
    def wrong(q: Floats) -> Floats:
        J = np.array(humanoid.jacobian(q, "hand_l")[:3])
        J[1, 30] += 0.01
        return J

    def hand(q: Floats) -> Floats:
        return np.asarray(humanoid.fk(q, "hand_l")[:3, 3])

    with pytest.raises(InvalidValue, match=r"jacobian\[1, 30\].*'elbow_l'"):
        poise.solve(humanoid, Custom(hand, wrong, size=3))
    poise.solve(humanoid, Custom(hand, lambda q: humanoid.jacobian(q, "hand_l")[:3], size=3))


@pytest.mark.parametrize("bends", [1e3, 1e5, 1e6, 3e6])
def test_a_residual_that_bends_within_a_step_is_not_held_against_a_jacobian(bends: float) -> None:
    arm = poise.load("planar3")

    def residual(q: Floats) -> Floats:
        return np.array([np.sin(bends * q[0]) / bends + q[1] * q[2]])

    def jacobian(q: Floats) -> Floats:
        return np.array([[np.cos(bends * q[0]), q[2], q[1]]])

    Custom(residual, jacobian, size=1).rows(arm)
    for factor in (1.01, -1.0, 0.0):

        def wrong(q: Floats, factor: float = factor) -> Floats:
            return jacobian(q) * np.array([factor, 1.0, 1.0])

        with pytest.raises(InvalidValue, match=r"jacobian\[0, 0\]"):
            Custom(residual, wrong, size=1).rows(arm)


def test_a_kink_is_not_held_against_a_jacobian(humanoid: poise.Model) -> None:
    """At zero |x| has no slope; either side's will do."""
    x = 30  # the elbow's velocity, at its rest

    def residual(q: Floats) -> Floats:
        return np.array([abs(q[x + 1] - humanoid.rest[x + 1])])

    def jacobian(q: Floats) -> Floats:
        J = np.zeros((1, humanoid.nv))
        J[0, x] = 1.0 if q[x + 1] >= humanoid.rest[x + 1] else -1.0
        return J

    poise.solve(humanoid, Custom(residual, jacobian, size=1))


# ------------------------------------------------------------------------------------------------ what they do


@pytest.mark.parametrize("goal", [goal for goal in EACH if goal.counts], ids=lambda goal: type(goal).__name__)
def test_a_standing_figure_serves_each_goal(humanoid: poise.Model, goal: Goal) -> None:
    if isinstance(goal, Custom) or goal == Relative("hand_l", "hand_r", np.eye(4)):
        pytest.skip("it asks for something that no standing figure can do")
    solution = poise.solve(humanoid, [*make_standing(humanoid), goal, Rest()])
    assert solution.reached, solution


def test_mid_range_goes_to_the_middle(humanoid: poise.Model) -> None:
    goal = MidRange()
    lower, upper = humanoid.lower[6:], humanoid.upper[6:]
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    wanted = goal.find_wanted(humanoid)
    np.testing.assert_allclose(wanted[7:], middle, atol=1e-15)
    np.testing.assert_array_equal(wanted[:7], humanoid.rest[:7])
    np.testing.assert_allclose(goal.gain(humanoid)[6:], 1 / half**2)
    np.testing.assert_array_equal(goal.gain(humanoid)[:6], 0.0)
    solution = poise.solve(humanoid, [Reach("head", humanoid.fk(humanoid.rest, "head")[:3, 3]), goal])
    assert solution.reached
    assert np.abs((solution.q[7:] - middle) / half).max() < 0.6


def test_an_open_range_leaves_the_coordinate_free(humanoid: poise.Model) -> None:
    solution = poise.solve(humanoid, [*make_standing(humanoid), Reach("hand_l", (0.5, Range(1.2, None), Range()))])
    x, y, _ = solution.pose.position("hand_l")
    assert solution.reached
    assert x == pytest.approx(0.5, abs=1e-3)
    assert y > 1.2 - 1e-3


def test_uneven_weights_are_along_the_other_frames_axes() -> None:
    """With no weight on the chest's y, the hand is free along it."""
    model = poise.load("humanoid")
    goal = Reach("hand_l", (0.3, 5.0, 0.3), relative_to="chest", weight=(1.0, 0.0, 1.0))
    solution = poise.solve(model, [goal, Rest()])
    T = model.fk(solution.q, "chest")
    seen = T[:3, :3].T @ (solution.pose.position("hand_l") - T[:3, 3])
    assert solution.reached
    assert abs(seen[0] - 0.3) < 1e-3
    assert abs(seen[2] - 0.3) < 1e-3
