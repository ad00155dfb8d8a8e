"""solve_all: every pose of a transform, distinct, sorted, inside the limits, and complete if reported so."""

import copy
import pickle
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, shake
from poise import ModelBuilder
from poise.answers.answers import BranchArc
from poise.errors import InvalidValue
from poise.goals import Reach
from poise.model import Model
from poise.models.dh import add_links
from poise.models.panda import LINKS as PANDA_LINKS
from poise.models.ur5e import LINKS
from poise.reach.bounds import Freedom
from poise.reach.closed_forms import ClosedGoal, find_closed_form

ARMS = {"ur5e": "tool0", "panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}


def has_pose(answers: poise.Answers, q: np.ndarray, model: Model, near: float) -> bool:
    """Whether a pose is listed, whole turns aside."""
    d = np.abs(np.array([answer.q for answer in answers]).reshape(-1, model.nq) - q)
    d = np.where(model.slides, d, np.minimum(d, np.abs(d - 2 * np.pi)))
    return bool((d.max(axis=1) < near).any()) if len(d) else False


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_complete_list_of_six_joints_lacks_nothing_that_searches_find(kind, mirrored) -> None:
    rng = np.random.default_rng(11)
    model = draw_arm(rng, kind, mirrored=mirrored)
    complete = 0
    for q in model.random(rng, 8):
        T = model.fk(q, "tool")
        goal = Reach("tool", T, tolerance=(1e-9, 1e-9))
        answers = poise.solve_all(model, goal, q)
        assert has_pose(answers, q, model, 1e-5)
        for answer in answers:
            assert answer.reached
            assert (answer.q >= model.lower).all()
            assert (answer.q <= model.upper).all()
        complete += answers.complete
        for other in poise.solve(model, goal, q, solutions=8, restarts=30) if answers.complete else ():
            assert not other.reached or has_pose(answers, other.q, model, 1e-3)
    assert complete >= 6


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_answers_are_sorted_distinct_and_exact(name, frame) -> None:
    model = poise.load(name)
    rng = np.random.default_rng(12)
    q = model.random(rng)
    answers = poise.solve_all(model, Reach(frame, model.fk(q, frame)), q, samples=4)
    ways = [float(np.abs(answer.q - q).max()) for answer in answers]
    assert ways == sorted(ways)
    assert ways[0] < 1e-6
    assert all(max(answer.errors[frame]) < 1e-9 for answer in answers)
    assert answers.complete
    assert answers.why() == ""
    assert answers.family.name in str(answers)
    assert "complete" in repr(answers)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_arcs_hold_every_pose_and_their_ends_are_ends(name) -> None:
    model, frame = poise.load(name), ARMS[name]
    rng = np.random.default_rng(13)
    free = model.joint(model.family(frame).free or "").q.start
    for q in model.random(rng, 3):
        answers = poise.solve_all(model, Reach(frame, model.fk(q, frame)), q, samples=2)
        assert any(arc.low - 1e-6 <= q[free] <= arc.high + 1e-6 for arc in answers.arcs)
        assert has_pose(answers, q, model, 1e-4)
        at = answers.at(q[free])
        assert any(np.abs(one.q - q).max() < 1e-5 for one in at)
        assert all(abs(one.q[free] - q[free]) < 1e-9 for one in at)
        for arc in answers.arcs:
            assert arc.width > 0.0
            inside = answers.at(0.5 * (arc.low + arc.high))
            assert inside
            assert all(one.reached for one in inside)
            counts = [
                len(answers.at(end)) for end in (arc.low - 1e-4, arc.low + 1e-4, arc.high - 1e-4, arc.high + 1e-4)
            ]
            if arc.width > 1e-3 and is_alone(arc, answers.arcs):
                assert counts[0] < counts[1]
                assert counts[2] > counts[3]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_a_complete_list_of_seven_joints_has_every_pose_also_in_a_corner_of_the_ranges(name) -> None:
    model, frame = poise.load(name), ARMS[name]
    rng = np.random.default_rng(18)
    free = model.joint(model.family(frame).free or "").q.start
    complete = 0
    for i, q in enumerate(model.random(rng, 30)):
        corner = rng.choice(7, size=1 + i % 3, replace=False)
        q[corner] = np.where(rng.random(len(corner)) < 0.5, model.lower[corner], model.upper[corner])
        answers = poise.solve_all(model, Reach(frame, model.fk(q, frame)), q, samples=1)
        complete += answers.complete
        near = [arc for arc in answers.arcs if arc.low - 1e-4 <= q[free] <= arc.high + 1e-4]
        at = [one for arc in near for one in answers.at(float(np.clip(q[free], arc.low, arc.high)))]
        assert not answers.complete or any(np.abs(one.q - q).max() < 0.03 for one in at)
    assert complete > 5


def is_alone(arc: BranchArc, arcs: tuple[BranchArc, ...]) -> bool:
    """Whether no other arc ends near the ends of one."""
    ends = [end for other in arcs if other is not arc for end in (other.low, other.high)]
    return all(abs(end - own) > 1e-3 for end in ends for own in (arc.low, arc.high))


@pytest.mark.slow
def test_an_empty_list_says_which_joint_excludes_which_branch() -> None:
    model = poise.load("ur5e").with_frame("tip", "tool0")
    far = poise.solve_all(model, Reach("tip", poise.Transform(translation=(5.0, 0.0, 0.0))))
    assert not far
    assert far.complete
    assert "No branch exists" in far.why()
    rng = np.random.default_rng(14)
    arms = [draw_arm(np.random.default_rng(seed), "parallel last") for seed in range(20)]
    seen = [found for arm in arms for found in list_excluded(arm, "tool", rng, 1, 0.2, 1.0)]
    for answers in seen:
        assert all(one.excess > 0.0 and one.joint in answers.family.joints for one in answers.excluded)
        assert answers.excluded[0].joint in answers.why()
        assert "degrees" in answers.why()
    assert len(seen) > 3


def list_excluded(
    model: Model, frame: str, rng: np.random.Generator, count: int, metres: float, radians: float
) -> list[poise.Answers]:
    """List the empty lists with excluded branches of some poses, moved by up to so much."""
    targets = shake(model.fk(model.random(rng, count), frame), rng, metres, radians)
    found = [poise.solve_all(model, Reach(frame, T), samples=1) for T in targets]
    return [answers for answers in found if not answers and answers.excluded]


@pytest.mark.slow
def test_seven_joints_say_how_near_each_branch_comes() -> None:
    rng = np.random.default_rng(16)
    model = draw_arm(rng, "meet first", mirrored=True, joints=7)
    seen = list_excluded(model, "tool", rng, 20, 0.4, 3.0)
    for answers in seen:
        assert answers.complete
        assert all(one.excess > 0.0 and one.at is not None for one in answers.excluded)
        assert "at best, with the free joint at" in answers.why()
    assert len(seen) > 3


def test_joints_that_may_not_move_stand_as_in_the_start() -> None:
    model = poise.load("panda")
    rng = np.random.default_rng(15)
    q = model.random(rng)
    goal = Reach("panda_hand_tcp", model.fk(q, "panda_hand_tcp"))
    six = [f"panda_joint{k}" for k in range(1, 7)]
    answers = poise.solve_all(model, goal, q, joints=six)
    assert answers.family.free is None
    assert has_pose(answers, q, model, 1e-5)
    assert all(answer.q[6] == q[6] for answer in answers)
    with pytest.raises(InvalidValue, match="free joint"):
        answers.at(0.0)


def put_on_rail(low: float, high: float, half: float | None = None) -> Model:
    """Return a UR5e on a rail, with joints of half their range or as they are."""
    builder = poise.ModelBuilder("rail")
    builder.add_joint("rail", None, "prismatic", axis=(0, 1, 0), lower=low, upper=high)
    links = LINKS if half is None else [link._replace(lower=link.rest - half, upper=link.rest + half) for link in LINKS]
    add_links(builder, "rail", links)
    builder.add_frame("tool0", "wrist_3_link")
    return builder.build()


def test_a_sliding_free_joint_is_reported_in_metres() -> None:
    model = put_on_rail(3.0, 9.0)
    q = np.array([7.0, 0.5, -1.2, 1.4, -0.8, 1.1, 0.3])
    answers = poise.solve_all(model, Reach("tool0", model.fk(q, "tool0")), q, samples=2)
    lines = [line for line in str(answers).splitlines() if "branch" in line]
    assert len(lines) == len(answers.arcs) > 0
    assert all(line.endswith(" m") and "degrees" not in line for line in lines)
    assert all(arc.slides and f"{arc.low:.4f}" in str(arc) for arc in answers.arcs)


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(3.5, 9.0), (-9.0, -3.5), (-1.0, 1.0)])
def test_an_excluded_branch_is_reported_at_a_value_of_the_free_joint(low, high) -> None:
    seen = list_excluded(put_on_rail(low, high, half=0.3), "tool0", np.random.default_rng(17), 4, 0.2, 2.0)
    for answers in seen:
        assert all(one.at is not None and low <= one.at <= high for one in answers.excluded)
        assert all("degrees" not in line.split("with the free joint")[1] for line in answers.why().splitlines()[1:])
    assert len(seen) > 1


@pytest.mark.slow
def test_a_free_joint_that_turns_far_from_zero_is_looked_at_where_it_is() -> None:
    builder = poise.ModelBuilder("far")
    builder.add_joint("base", None, "revolute", axis=(0, 0.6, 0.8), lower=3.6, upper=5.0)
    add_links(builder, "base", [link._replace(lower=link.rest - 0.3, upper=link.rest + 0.3) for link in LINKS])
    builder.add_frame("tool0", "wrist_3_link")
    model = builder.build()
    seen = list_excluded(model, "tool0", np.random.default_rng(18), 4, 0.2, 2.0)
    assert all(one.at is not None and 3.6 <= one.at <= 5.0 for answers in seen for one in answers.excluded)
    assert len(seen) > 1


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_answers_are_pickled_and_copied_as_the_question_that_they_answer(name, frame) -> None:
    model = poise.load(name)
    q = model.random(np.random.default_rng(19))
    answers = poise.solve_all(model, Reach(frame, model.fk(q, frame)), q, samples=3)
    for other in (pickle.loads(pickle.dumps(answers)), copy.deepcopy(answers)):
        assert other.complete == answers.complete
        assert other.arcs == answers.arcs
        assert np.array_equal([one.q for one in other], [one.q for one in answers])


def test_a_wrist_that_folds_onto_the_shoulder_is_not_proved_away() -> None:
    """Links of one length with the elbow folded: the distance that decides is zero, and so is its rate."""
    builder, parent = poise.ModelBuilder("folding"), None
    for k, axis in enumerate("zyzyzyz"):
        offset = poise.Transform(translation=(0, 0, float(k in (3, 4))))
        half = 3.3 if k == 3 else 2.9
        turn = np.eye(3)["xyz".index(axis)]
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=turn, lower=-half, upper=half)
        parent = f"j{k}"
    model = builder.add_frame("tool", parent).build()
    q = np.array([0, 0, 0, np.pi, 0, 0, 0])
    answers = poise.solve_all(model, Reach("tool", np.round(model.fk(q, "tool"))))
    assert len(answers) or not answers.complete


# ----------------------------------------- Lists of answers where arms are singular, and in the corners of their ranges


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_excluded_poses_are_outside_by_more_than_rounding(kind: str) -> None:
    """Poses with every joint at the end of its range: a branch that is just inside is never called outside."""
    rng = np.random.default_rng(7)
    model = draw_arm(rng, kind, joints=7)
    corners = np.where(rng.random((20, 7)) < 0.5, model.lower, model.upper)
    listed = 0
    for T in shake(model.fk(corners, "tool"), rng, 1e-9, 1e-9):
        answers = poise.solve_all(model, Reach("tool", T), samples=1)
        listed += len(answers.excluded)
        assert all(one.excess > 1e-9 for one in answers.excluded)
        assert not any(" by 0 " in line or " by -" in line for line in answers.why().splitlines())
    assert listed > 0


@pytest.mark.slow
@pytest.mark.parametrize("stretched", [(), (3,), (1, 5), (1, 3, 5)])
def test_a_pose_of_a_singular_arm_is_listed(stretched: tuple[int, ...]) -> None:
    """Where axes of the iiwa are in line joints are not determined, and cells not decided: its own pose is listed."""
    model = poise.load("iiwa14")
    q = np.array([0.4, 0.7, -0.3, -1.1, 0.5, 0.9, 0.2])
    q[list(stretched)] = 0.0
    answers = poise.solve_all(model, Reach("iiwa_link_ee", model.fk(q, "iiwa_link_ee")), q, samples=4)
    assert answers
    assert all(one.reached for one in answers)
    assert np.abs(answers[0].q - q).max() < 0.01
    assert any(arc.low - 1e-4 <= q[0] <= arc.high + 1e-4 for arc in answers.arcs)


@pytest.mark.slow
def test_rows_of_branches_are_found_while_others_run() -> None:
    model, frame = poise.load("panda"), "panda_hand_tcp"
    closed = find_closed_form(
        model, Reach(frame, np.eye(4)).rows(model), Freedom(np.ones(model.nv, dtype=bool).tobytes(), True)
    )
    assert isinstance(closed, ClosedGoal)
    T = model.fk(model.random(np.random.default_rng(1), 1), frame)
    values = np.linspace(-2.8, 2.8, 100_000)
    given = (T[:, :3, :3].copy(), T[:, :3, 3].copy(), values, False, np.zeros(7), np.ones(7))
    other = threading.Thread(target=closed.form.near, args=given)
    other.start()
    rounds = 0
    while other.is_alive():
        time.sleep(0.001)
        rounds += 1
    assert rounds > 5


def make_panda(endless: Callable[[int], bool]) -> Model:
    """Return a Panda of whose joints some turn without end."""
    links = [link._replace(lower=-np.inf, upper=np.inf) if endless(k) else link for k, link in enumerate(PANDA_LINKS)]
    builder = ModelBuilder("panda").add_frame("base")
    add_links(builder, "base", links)
    return builder.add_frame("tip", links[-1].frame, (0, 0, 0.1)).build()


@pytest.mark.parametrize("seed", [15, 43])
def test_an_interval_that_wraps_by_a_sliver_changes_no_arc(seed: int) -> None:
    free, bounded = make_panda(lambda k: k != 3), make_panda(lambda k: k == 6)
    q = bounded.random(np.random.default_rng(seed))
    q[6] = np.clip(q[6], -2, 2)
    T = np.asarray(bounded.fk(q, "tip"))
    end = max(arc.high for arc in poise.solve_all(free, Reach("tip", T), samples=1).arcs)
    found = []
    for past in (5e-7, -1e-3):
        turn = np.pi - end + past
        answers = poise.solve_all(bounded, Reach("tip", T @ turn_about_z(turn)), samples=1)
        wide = sorted(
            (arc.branch, arc.low - turn, arc.high - turn) for arc in answers.arcs if arc.high - arc.low > 3e-6
        )
        found.append((answers.complete, wide))
    assert found[0][0] == found[1][0]
    assert [arc[0] for arc in found[0][1]] == [arc[0] for arc in found[1][1]]
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


def turn_about_z(angle: float) -> np.ndarray:
    T = np.eye(4)
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return T
