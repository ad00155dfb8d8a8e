"""Lists of answers: what they cost, that they start with the nearest, units of length, two links."""

import copy
import pickle

import numpy as np
import pytest

import poise
from bodies import build_two_links
from family_arms import KINDS, draw_arm
from general_arms import scale_model
from poise import ModelBuilder
from poise.answers import complete_list, lazy_poses
from poise.goals import Reach
from poise.limits import Clearance, Sphere
from poise.model import Model
from poise.model.family import TWO_LINKS
from poise.models.dh import add_links
from poise.models.ur5e import LINKS
from poise.solvers.solver import Solver

ARMS = {"ur5e": "tool0", "panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}
READ = ("q", "reached", "errors", "status", "steps", "searches", "history", "velocity", "proof", "active_limits")


def draw_target(model: Model, frame: str, seed: int) -> np.ndarray:
    """Return a transform that a random pose has."""
    return np.asarray(model.fk(model.random(np.random.default_rng(seed)), frame))


def add_idle_finger() -> Model:
    """Return a UR5e with a finger on which its tool does not depend."""
    builder = ModelBuilder("ur5e with a finger").add_frame("base")
    add_links(builder, "base", LINKS)
    builder.add_frame("tool0", LINKS[-1].frame)
    return builder.add_joint("finger", "tool0", "revolute", lower=-0.5, upper=0.5).build()


def solve_from(model: Model, goal: Reach, q: np.ndarray) -> poise.Solution:
    """Return what one search from a pose ends with."""
    return poise.solve(model, goal, q, restarts=0)


@pytest.mark.parametrize("tolerance", [None, 1e-7])
@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_a_listed_solution_is_what_a_solve_from_its_pose_ends_with(name, frame, tolerance) -> None:
    model = poise.load(name)
    goal = Reach(frame, draw_target(model, frame, 5), tolerance=tolerance)
    answers = poise.solve_all(model, goal, samples=1)
    assert len(answers)
    assert answers[-1] is list(answers)[-1]
    for answer in answers:
        alone = solve_from(model, goal, answer.q.copy())
        for what in READ:
            assert np.array_equal(getattr(answer, what), getattr(alone, what)), what
        assert repr(answer) == repr(alone)
        assert answer.model is model


def test_what_no_pose_reaches_is_not_called_reached() -> None:
    model = poise.load("ur5e")
    goal = Reach("tool0", draw_target(model, "tool0", 5), tolerance=0.0)
    answers = poise.solve_all(model, goal)
    assert len(answers)
    assert all(answer.reached == (answer.errors["tool0"][0] <= 0.0) for answer in answers)


def test_a_listed_solution_brings_a_joint_back_on_which_no_goal_depends() -> None:
    model = add_idle_finger()
    start = np.array([*poise.load("ur5e").rest, 0.9])
    goal = Reach("tool0", draw_target(model, "tool0", 6))
    answers = poise.solve_all(model, goal, start)
    assert len(answers)
    for answer in answers:
        assert answer.reached
        assert answer.q[-1] == 0.5


@pytest.mark.parametrize("asked", [(), READ])
def test_a_listed_solution_is_pickled_and_copied_in_any_state(asked) -> None:
    model = poise.load("ur5e")
    answer = poise.solve_all(model, Reach("tool0", draw_target(model, "tool0", 7)))[0]
    for what in asked:
        getattr(answer, what)
    for other in (pickle.loads(pickle.dumps(answer)), copy.copy(answer), copy.deepcopy(answer)):
        assert np.array_equal(other.q, answer.q)
        assert other.reached is answer.reached
        assert other.errors == answer.errors
    assert not hasattr(answer, "no_such_name")


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_poses_are_read_without_a_solve_each(name, frame, monkeypatch) -> None:
    model = poise.load(name)
    answers = poise.solve_all(model, Reach(frame, draw_target(model, frame, 8)), samples=2)
    monkeypatch.setattr(complete_list.ClosedFormQuery, "solve", None)
    assert all(answer.reached and answer.model is model and answer.q.shape == (model.nq,) for answer in answers)
    assert [answer.q.tolist() for answer in answers[1:]] == [answer.q.tolist() for answer in answers][1:]


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_another_target_of_a_problem_closes_no_goal_again(name, frame, monkeypatch) -> None:
    model = poise.load(name)
    first = poise.solve_all(model, Reach(frame, draw_target(model, frame, 8)))
    for what in ("find_poses", "find_freedom", "read_free_turns"):
        monkeypatch.setattr(complete_list, what, None)
    monkeypatch.setattr(Solver, "_prepare", None) if len(first) else None
    assert len(poise.solve_all(model, Reach(frame, draw_target(model, frame, 9)), samples=3))


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_limits_leave_the_poses_that_are_clear(name, frame) -> None:
    model, limit, dropped = poise.load(name), Clearance(world=[Sphere((0.3, 0.2, 0.4), 0.2)]), 0
    for seed in range(6):
        goal = Reach(frame, draw_target(model, frame, seed))
        every = poise.solve_all(model, goal)
        clear = pickle.loads(pickle.dumps(poise.solve_all(model, goal, limits=limit)))
        assert clear.q.tolist() == every.q[limit.measure_gap(model, every.q) >= 0.0].tolist()
        assert clear.complete == (every.complete and not (every.family.free and len(every)))
        assert len(clear) or not len(every) or "keeps the limits" in clear.why()
        dropped += len(every) - len(clear)
    assert dropped


def test_the_poses_of_a_list_are_one_array_and_no_solution_is_made_before_it_is_read(monkeypatch) -> None:
    made: list[int] = []
    make = lazy_poses.ListedSolution.__init__

    def count(self: object, *given: object) -> None:
        made.append(1)
        make(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(lazy_poses.ListedSolution, "__init__", count)
    model = poise.load("panda")
    answers = poise.solve_all(model, Reach("panda_hand_tcp", draw_target(model, "panda_hand_tcp", 5)))
    q = answers.q
    assert q.shape == (len(answers), model.nq)
    assert not made
    assert np.array_equal(answers[2].q, q[2])
    assert answers[2] is answers[2]
    assert len(made) == 1
    third = answers[2]
    assert np.array_equal([answer.q for answer in answers], q)
    assert list(answers)[2] is third
    q[:] = 0.0  # an array of the caller's own
    assert answers.q.any()


def test_a_list_is_in_order_after_it_is_read_from_its_end() -> None:
    model = poise.load("ur5e")
    answers = poise.solve_all(model, Reach("tool0", draw_target(model, "tool0", 7)))
    backwards = [answers[k] for k in reversed(range(len(answers)))]
    assert len(answers) > 1
    assert list(answers) == backwards[::-1]


def test_the_array_of_poses_is_that_of_the_solutions_also_where_an_idle_joint_begins_outside() -> None:
    model = add_idle_finger()
    start = np.array(model.rest)
    start[-1] = 1.0
    answers = poise.solve_all(model, Reach("tool0", draw_target(model, "tool0", 7)), start)
    assert len(answers)
    assert np.array_equal(answers.q, [answer.q for answer in answers])


# -------------- The first answer of a list is the nearest pose of all arcs, and each arc's nearest is among the answers


SEVEN_JOINTS = {"panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}
TARGETS = 3
DENSE = 400  # poses along each arc


@pytest.mark.slow
@pytest.mark.parametrize("samples", [1, 16])
@pytest.mark.parametrize(("name", "frame"), SEVEN_JOINTS.items())
def test_no_pose_along_an_arc_is_nearer_than_the_first_answer(name, frame, samples) -> None:
    model = poise.load(name)
    rng = np.random.default_rng(21)
    for q, start in zip(model.random(rng, TARGETS), model.random(rng, TARGETS), strict=True):
        goal = Reach(frame, model.fk(q, frame))
        first = poise.solve_all(model, goal, start, samples=samples)[0]
        dense = poise.solve_all(model, goal, start, samples=DENSE)
        nearest = min(np.abs(answer.q - start).max() for answer in dense)
        assert np.abs(first.q - start).max() <= nearest + 1e-3


# ---- Lists of answers do not depend on the unit of length: arms of a tenth of a millimetre and of kilometres are alike


SCALES = (1e-4, 1e-2, 1e2, 1e4)


@pytest.mark.slow
def measure(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the longest way of a joint between poses."""
    return np.asarray(np.abs(a - b).max(axis=-1, initial=0.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("joints", [6, 7])
def test_an_arm_of_any_size_has_the_same_list(kind: str, joints: int) -> None:
    rng = np.random.default_rng([41, joints])
    model = draw_arm(rng, kind, joints=joints)
    slides = np.array([joint.kind == "prismatic" for joint in model.joints if joint.kind != "fixed"])
    listed = 0
    for q in model.random(rng, 2):
        T = model.fk(q, "tool")
        own = poise.solve_all(model, Reach("tool", T), q, samples=3)
        listed += len(own)
        for by in SCALES:
            T_scaled, stretch = T.copy(), np.where(slides, by, 1.0)
            T_scaled[:3, 3] *= by
            answers = poise.solve_all(scale_model(model, by), Reach("tool", T_scaled), q * stretch, samples=3)
            assert answers.complete == own.complete
            assert [arc.branch for arc in answers.arcs] == [arc.branch for arc in own.arcs]
            for arc, other in zip(answers.arcs, own.arcs, strict=True):
                unit = by if arc.slides else 1.0
                assert max(abs(arc.low / unit - other.low), abs(arc.high / unit - other.high)) < 3e-6
            found = np.array([one.q / stretch for one in answers]).reshape(-1, model.nq)
            assert len(found) == len(own)
            assert all(measure(found, one.q).min() < 1e-4 for one in own)
    assert listed > 0


# ------------------------------- solve_all on two parallel hinges: the elbow on either side, complete, and nothing else


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
    outside = poise.solve_all(build_two_links((-0.1, 0.1), (-0.5, 0.5)), Reach("hand", (1.0, 0.8)))
    assert (len(outside), outside.complete, len(outside.excluded)) == (0, True, 2)
    assert "'elbow'" in outside.why()


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
