"""solve_all on two parallel hinges: the elbow on either side, complete, and nothing else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.goals import Range, Reach
from poise.model.family import TWO_LINKS

PLANAR = poise.load("planar2")


def draw_links(seed: int, *, limited: bool = False) -> tuple[poise.Model, np.random.Generator]:
    """Two parallel hinges anywhere in space, of any length and sense, the second perhaps a flipped axis."""
    rng = np.random.default_rng(seed)
    h = rng.normal(size=3)
    ends = {"lower": -1.3, "upper": 1.9} if limited else {}
    kind = "revolute" if limited else "continuous"
    builder = poise.ModelBuilder("links")
    builder.add_frame("base", None, rng.normal(size=3))
    builder.add_joint("a", "base", kind, axis=h, offset=rng.normal(size=3), **ends)
    builder.add_joint("b", "a", kind, axis=h * rng.choice([-1.0, 1.0]), offset=rng.normal(size=3), **ends)
    return builder.add_frame("tip", "b", rng.normal(size=3)).build(), rng


def test_the_planar_arm_has_its_two_elbows() -> None:
    answers = poise.solve_all(PLANAR, Reach("tip", (1.0, 0.8)))
    assert answers.complete
    assert answers.family.name == TWO_LINKS
    assert len(answers) == 2
    psi = np.arccos((1.0 + 0.64 - 2.0) / 2.0)
    assert sorted(answer.q[1] for answer in answers) == pytest.approx([-psi, psi])
    assert all(answer.reached and answer.errors["tip"][0] < 1e-12 for answer in answers)
    assert "2 answers (complete), two parallel axes" in str(answers)
    again = pickle.loads(pickle.dumps(answers))
    assert [answer.q.tolist() for answer in again] == [answer.q.tolist() for answer in answers]


@pytest.mark.parametrize("seed", range(12))
def test_any_two_parallel_hinges(seed: int) -> None:
    model, rng = draw_links(seed)
    assert model.family("tip").name == TWO_LINKS
    point, q, start = rng.normal(size=3), rng.uniform(-3.0, 3.0, 2), rng.uniform(-9.0, 9.0, 2)
    T = model.fk(q, "tip")
    goal = Reach("tip", T[:3, :3] @ point + T[:3, 3], point=point)
    answers = poise.solve_all(model, goal, start)
    assert (len(answers), answers.complete, answers.excluded) == (2, True, ())
    assert all(answer.errors["tip"][0] < 1e-9 for answer in answers)
    assert min(np.abs(np.sin(0.5 * (answer.q - q))).max() for answer in answers) < 1e-7
    assert all(np.abs(answer.q - start).max() <= np.pi + 1e-9 for answer in answers)
    assert np.abs(answers[0].q - start).max() <= np.abs(answers[1].q - start).max()


@pytest.mark.parametrize("seed", range(12))
def test_a_search_never_finds_a_pose_that_is_not_listed(seed: int) -> None:
    model, rng = draw_links(seed, limited=True)
    goal = Reach("tip", model.fk(model.random(rng), "tip")[:3, 3], tolerance=1e-8)
    answers = poise.solve_all(model, goal)
    assert answers.complete
    assert len(answers) + len(answers.excluded) == 2
    for found in poise.solve(model, goal, solutions=4):
        assert min(np.abs(answer.q - found.q).max() for answer in answers) < 1e-4
    for answer in answers:
        assert ((answer.q >= model.lower) & (answer.q <= model.upper)).all()


def test_an_empty_list_says_why() -> None:
    far = poise.solve_all(PLANAR, Reach("tip", (1.5, 1.5)))
    assert (len(far), far.complete) == (0, True)
    assert "No branch exists" in far.why()
    above = poise.solve_all(PLANAR, Reach("tip", (1.0, 0.8, 0.2)))
    assert (len(above), above.complete) == (0, True)
    builder = poise.ModelBuilder("stiff")
    builder.add_joint("a", None, "revolute", lower=-0.1, upper=0.1)
    builder.add_joint("b", "a", "revolute", offset=(1.0, 0.0, 0.0), lower=-0.5, upper=0.5)
    stiff = builder.add_frame("tip", "b", (1.0, 0.0, 0.0)).build()
    outside = poise.solve_all(stiff, Reach("tip", (1.0, 0.8)))
    assert (len(outside), outside.complete, len(outside.excluded)) == (0, True, 2)
    assert "'b'" in outside.why()


@pytest.mark.parametrize("target", [(2.0, 0.0), (0.0, 0.0)])
def test_where_the_branches_meet_the_list_is_not_called_complete(target: tuple[float, float]) -> None:
    answers = poise.solve_all(PLANAR, Reach("tip", target))
    assert len(answers) == 1
    assert answers[0].reached
    assert not answers.complete


def test_two_joints_of_a_longer_arm_count() -> None:
    model = poise.load("ur5e")
    some = ["shoulder_lift_joint", "elbow_joint"]
    q = np.array([0.5, -1.2, 1.4, -0.8, 1.1, 0.3])
    answers = poise.solve_all(model, Reach("wrist_1_link", model.fk(q, "wrist_1_link")[:3, 3]), q, joints=some)
    assert (len(answers), answers.complete) == (2, True)
    assert answers[0].q == pytest.approx(q)
    assert (answers[1].q[[0, 3, 4, 5]] == q[[0, 3, 4, 5]]).all()


@pytest.mark.parametrize(
    "goal", [Reach("tip", (Range(0.9, 1.1), 0.8, 0.0)), Reach("tip", np.eye(4)), Reach("joint_2", (1.0, 0.0))]
)
def test_other_goals_are_referred_to_solve(goal: Reach) -> None:
    with pytest.raises(InvalidValue, match="solutions=8"):
        poise.solve_all(PLANAR, goal)
