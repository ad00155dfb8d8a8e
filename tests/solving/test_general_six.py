"""Six turns in no family: every pose that a search finds is among the answers, and each answer is one."""

import pickle

import numpy as np
import pytest

import poise
from general_arms import scale_model
from poise.goals import Orient, Reach
from poise.models.dh import add_links
from poise.models.panda import LINKS

X, Y, Z = np.eye(3)
OBLIQUE = np.cos(0.96) * X + np.sin(0.96) * Z
# axes and places of real arms whose wrists are offset: neighbours are parallel or meet, and still no family has them
OFFSET = {
    "offset behind three parallel": (
        (Z, Y, Y, Y, Z, Y),
        ((0, 0, 0), (0, 0.1, 0.1), (0.4, 0.1, 0.1), (0.8, 0.1, 0.1), (0.8, 0.2, 0.1), (0.85, 0.2, 0.0)),
    ),
    "offset wrist": (
        (Z, Y, Y, X, Y, X),
        ((0, 0, 0), (0, 0, 0.2), (0, 0, 0.75), (0.3, 0, 0.75), (0.55, 0, 0.75), (0.55, 0.15, 0.75)),
    ),
    "oblique wrist": (
        (Z, Y, Y, X, OBLIQUE, np.cos(1.9) * X + np.sin(1.9) * Z),
        ((0, 0, 0), (0, 0, 0.27), (0.41, -0.01, 0.27), (0.41, -0.01, 0.27), (0.62, -0.01, 0.27), (0.69, -0.01, 0.33)),
    ),
}


def make_arm(axes, places, reach: float = 3.0, further: bool = False) -> poise.Model:
    builder, parent, at = poise.ModelBuilder("arm"), None, np.zeros(3)
    for k, (axis, place) in enumerate(zip(axes, places, strict=True)):
        offset = poise.Transform(translation=np.array(place) - at)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=axis, lower=-reach, upper=reach)
        parent, at = f"j{k}", np.array(place)
    if further:
        builder.add_joint(
            "further", parent, "revolute", offset=poise.Transform(translation=(0.1, 0, 0)), axis=(0, 1, 0)
        )
        parent = "further"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0.1, 0.02, 0.05))).build()


def draw_arm(seed: int, reach: float = 3.0, further: bool = False) -> poise.Model:
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(6, 3))
    return make_arm(axes / np.linalg.norm(axes, axis=1)[:, None], 0.4 * rng.normal(size=(6, 3)), reach, further)


def lies_among(q, answers) -> bool:
    return any(np.abs(one.q - q).max() < 1e-6 for one in answers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_pose_is_among_the_answers_of_its_transform(seed):
    model, rng = draw_arm(seed), np.random.default_rng(seed)
    for q in model.random(rng, 8):
        answers = poise.solve_all(model, Reach("tool", model.fk(q, "tool")))
        assert lies_among(q, answers)
        assert answers.complete
        assert len(answers) + len(answers.excluded) <= 16
        for one in answers:
            assert one.reached
            assert max(one.errors["tool"]) <= 1e-8
            assert (one.q >= model.lower).all()
            assert (one.q <= model.upper).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", OFFSET)
def test_offset_wrists_too(name):
    """Where neighbouring axes are parallel or meet the equations of the general case depend on each other."""
    model, rng = make_arm(*OFFSET[name]), np.random.default_rng(0)
    assert model.family("tool").name == "general six joints"
    q = model.random(rng, 40)
    lists = [poise.solve_all(model, Reach("tool", model.fk(x, "tool"))) for x in q]
    assert sum(map(lies_among, q, lists)) >= 38
    assert sum(answers.complete for answers in lists) >= 38


@pytest.mark.slow
def test_parallel_axes_and_axes_that_meet_have_complete_lists():
    """Multiple roots are not counted; boxes without a root prove these lists."""
    shifted = ((0, 0, 0), (0, 0.1, 0.1), (0.4, 0.1, 0.1), (0.8, 0.1, 0.1), (0.9, 0.2, 0.1), (1.0, 0.3, 0.2))
    oblique = draw_arm(0)
    wrist = [(0.3, 0.1, 0.2)] * 3
    places = [*np.array([joint.offset.translation for joint in oblique.joints[:3]]).cumsum(axis=0), *wrist]
    axes = np.array([joint.axis for joint in oblique.joints])
    for model in (make_arm((Z, Y, Y, Y, X, Z), shifted), make_arm(axes, places)):
        assert model.family("tool").name == "general six joints"
        rng, complete = np.random.default_rng(5), 0
        for q in model.random(rng, 12):
            answers = poise.solve_all(model, Reach("tool", model.fk(q, "tool")))
            assert lies_among(q, answers)
            complete += answers.complete
            asked = Reach("tool", model.fk(q, "tool"), tolerance=1e-10)
            batch = poise.solve_batch(model, asked, asked.target.matrix[None], model.random(rng, 100), restarts=0)
            assert all(lies_among(x, answers) for x in batch.q[batch.reached]) or not answers.complete
        assert complete >= 11


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", *OFFSET])
def test_a_dense_search_finds_nothing_that_is_lacking(name):
    model = draw_arm(9) if name == "random" else make_arm(*OFFSET[name])
    rng = np.random.default_rng(1)
    goals = [Reach("tool", (0, 0, 0), tolerance=1e-9), Orient("tool", np.eye(3), tolerance=1e-9, name="turn")]
    searched = 0
    for T in model.fk(model.random(rng, 4), "tool"):
        answers = poise.solve_all(model, Reach("tool", T))
        targets = {"tool": np.tile(T[:3, 3], (100, 1)), "turn": np.tile(T[:3, :3], (100, 1, 1))}
        batch = poise.solve_batch(model, goals, targets, model.random(rng, 100), restarts=0)
        searched += int(batch.reached.sum())
        assert all(lies_among(q, answers) for q in batch.q[batch.reached])
    assert searched >= 50


@pytest.mark.slow
def test_answers_are_sorted_by_their_way_from_the_start():
    model = draw_arm(9)
    rng = np.random.default_rng(3)
    longest = 0
    for q in model.random(rng, 6):
        start = model.random(rng)
        ways = [
            float(np.abs(one.q - start).max())
            for one in poise.solve_all(model, Reach("tool", model.fk(q, "tool")), start)
        ]
        assert ways == sorted(ways)
        longest = max(longest, len(ways))
    assert longest >= 2


@pytest.mark.slow
def test_branches_outside_the_ranges_are_reported():
    """The same arm with narrow ranges: what it lacks is excluded, and by how much."""
    wide, narrow = draw_arm(2, 3.1), draw_arm(2, 0.8)
    rng = np.random.default_rng(0)
    empty = 0
    for q in wide.random(rng, 12):
        T = wide.fk(q, "tool")
        all_of_it, few = poise.solve_all(wide, Reach("tool", T)), poise.solve_all(narrow, Reach("tool", T))
        inside = [one.q for one in all_of_it if np.abs(one.q).max() <= 0.8]
        assert len(few) == len(inside)
        assert all(lies_among(x, few) for x in inside)
        assert len(few.excluded) >= len(all_of_it) - len(inside)
        assert all(one.excess > 0.0 for one in few.excluded)
        empty += not few
        assert bool(few.why()) == (not few)
    assert empty >= 3


@pytest.mark.slow
def test_an_empty_list_far_away_is_complete():
    T = np.eye(4)
    T[:3, 3] = 50.0
    answers = poise.solve_all(draw_arm(0), Reach("tool", T))
    assert not answers
    assert answers.complete


@pytest.mark.slow
def test_a_point_of_the_frame_and_joints_that_stand_still():
    model = draw_arm(4, further=True)
    rng = np.random.default_rng(0)
    six = [f"j{k}" for k in range(6)]
    assert model.family("tool", six).name == "general six joints"
    q = model.random(rng)
    T, point = model.fk(q, "tool"), np.array((0.1, -0.2, 0.05))
    T[:3, 3] += T[:3, :3] @ point
    answers = poise.solve_all(model, Reach("tool", T, point=point), q, joints=six)
    assert lies_among(q, answers)
    assert all(one.q[6] == q[6] for one in answers)


@pytest.mark.slow
def test_answers_are_pickled():
    model = draw_arm(1)
    answers = poise.solve_all(model, Reach("tool", model.fk(model.random(np.random.default_rng(0)), "tool")))
    again = pickle.loads(pickle.dumps(answers))
    assert [one.q.tolist() for one in again] == [one.q.tolist() for one in answers]
    assert len(answers) > 0


@pytest.mark.slow
def test_poses_of_quarter_turns_are_found_too():
    """Square axes and square transforms: where the equations of an elimination may fall together."""
    places = np.cumsum(
        [[0.3, 0.3, 0], [0.3, 0.3, 0], [0, 0, -0.2], [0.5, -0.2, -0.2], [0.3, 0.5, 0.5], [0.3, 0, 0.3]], axis=0
    )
    model, rng, tried = make_arm((Z, X, X, Y, X, Z), places), np.random.default_rng(0), 0
    for q in np.pi / 2.0 * rng.integers(-1, 2, (30, 6)):
        if np.linalg.svd(model.jacobian(q, "tool"))[1].min() > 0.03:
            tried += 1
            assert lies_among(q, poise.solve_all(model, Reach("tool", model.fk(q, "tool"))))
    assert tried > 10


@pytest.mark.slow
def test_a_joint_at_the_end_of_its_range_is_inside_and_joints_may_be_a_generator():
    model, rng = draw_arm(3, reach=2.0), np.random.default_rng(1)
    for _ in range(6):
        q = model.random(rng)
        q[4] = model.upper[4]
        goal = Reach("tool", model.fk(q, "tool"))
        answers = poise.solve_all(model, goal, joints=(joint.name for joint in model.joints))
        assert lies_among(q, answers)
        assert all((one.q <= model.upper).all() for one in answers)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1e8, 1e3, 1e-3, 1e-6])
def test_an_arm_of_any_size_has_the_same_list(k):
    """Lengths are compared with the chain's own: kilometres and micrometres have the branches of metres."""
    model, rng = draw_arm(5), np.random.default_rng(2)
    scaled = scale_model(model, k)
    for q in model.random(rng, 5):
        one = poise.solve_all(model, Reach("tool", model.fk(q, "tool")))
        other = poise.solve_all(scaled, Reach("tool", scaled.fk(q, "tool")))
        assert len(one) == len(other) >= 1
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a.q, b.q, atol=1e-5)
        assert len(one.excluded) == len(other.excluded)


def bring_to_singular(model, q):
    """Return a pose near q at which the frame cannot move in some way, but turns back when it goes on."""
    for _ in range(40):
        J = model.jacobian(q, "tool")
        least = np.linalg.svd(J)[1][-1]
        ahead = [np.linalg.svd(model.jacobian(q + 1e-6 * e, "tool"))[1][-1] for e in np.eye(6)]
        slope = (np.array(ahead) - least) / 1e-6
        q = q - 0.5 * least * slope / max(slope @ slope, 1e-3) if least > 1e-9 else q
    return q


@pytest.mark.slow
def test_a_singular_pose_is_listed_once():
    """Two branches meet there; what rounding leaves apart of them is one pose."""
    rng, tried, found = np.random.default_rng(4), 0, 0
    for seed in range(4):
        model = draw_arm(seed, reach=3.1)
        for start in model.random(rng, 5):
            q = bring_to_singular(model, 0.8 * start)
            if np.linalg.svd(model.jacobian(q, "tool"))[1][-1] > 1e-7 or np.abs(q).max() > 3.0:
                continue
            tried += 1
            answers = np.array([one.q for one in poise.solve_all(model, Reach("tool", model.fk(q, "tool")))])
            found += np.abs(answers - q).max(axis=1).min() < 1e-3
            apart = np.abs(answers[:, None] - answers[None]).max(axis=2)[np.triu_indices(len(answers), 1)]
            assert (apart > 1e-3).all(), apart.min()
    assert found >= 0.8 * tried >= 4


@pytest.mark.slow
def test_what_has_an_answer_is_reached_by_a_solve_and_by_a_batch():
    """Searches from seeds miss some; the roots are starts after them, and no row that was reached is touched."""
    model, rng = draw_arm(0), np.random.default_rng(0)
    own = model.fk(model.random(rng, 200), "tool")
    batch = poise.solve_batch(model, Reach("tool", np.eye(4)), own)
    assert batch.reached.mean() >= 0.995
    assert batch.searches.max() > 20
    first = poise.solve_batch(model, Reach("tool", np.eye(4)), own, restarts=0)
    once = batch.searches == 1
    np.testing.assert_array_equal(batch.q[once], first.q[once])
    assert once.sum() > 50
    late = np.flatnonzero(batch.searches > 45)
    assert len(late) >= 1
    for row in late.tolist():
        solution = poise.solve(model, Reach("tool", own[row]))
        assert solution.reached
        assert solution.searches > 45
        assert max(np.subtract(solution.errors["tool"], (1e-4, 1e-3))) <= 0.0


@pytest.mark.slow
def test_several_answers_are_all_that_the_list_has():
    """The list of `solve_all` and `solutions=16` hold the same poses, but for those nearer than 0.1 rad."""
    model, rng = draw_arm(5), np.random.default_rng(1)
    own = model.fk(model.random(rng, 10), "tool")
    goal = Reach("tool", np.eye(4))
    batch = poise.solve_batch(model, goal, own, solutions=16)
    assert not batch.complete.any()
    for row, T in enumerate(own):
        q = batch.q[row][batch.reached[row]]
        ways = np.abs(q - model.rest).max(axis=1)
        assert (np.diff(ways) >= -1e-9).all()
        several = poise.solve(model, Reach("tool", T), solutions=16)
        for one in poise.solve_all(model, Reach("tool", T)):
            assert np.abs(q - one.q).max(axis=1).min() <= 0.1
            assert min(np.abs(other.q - one.q).max() for other in several) <= 0.1


@pytest.mark.parametrize("case", ["coincident", "parallel", "meeting"])
def test_axes_without_six_degrees_of_freedom_are_listed_at_values(case):
    rng = np.random.default_rng(0)
    axes, places = rng.normal(size=(6, 3)), 0.4 * rng.normal(size=(6, 3))
    if case == "coincident":
        axes[1], places[1] = axes[0], places[0]
    elif case == "parallel":
        axes[:] = axes[0]
    else:
        places[:] = places[0]
    model = make_arm(axes / np.linalg.norm(axes, axis=1)[:, None], places)
    assert not model.family("tool")
    assert "never have six degrees of freedom" in str(model.family("tool"))
    answers = poise.solve_all(model, Reach("tool", model.fk(model.rest, "tool")))
    assert lies_among(model.rest, answers)
    assert not answers.complete


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", *OFFSET])
def test_targets_without_a_pose_are_proved_and_no_others(name):
    model = draw_arm(2, 0.8) if name == "random" else make_arm(*OFFSET[name], reach=1.3)
    rng, goal = np.random.default_rng(4), Reach("tool", np.eye(4))
    q = np.where(rng.random((200, 6)) < 0.3, model.upper, model.random(rng, 200))
    T = model.fk(np.where(rng.random((200, 6)) < 0.2, np.trunc(q), q), "tool")
    T = T @ poise.Transform(poise.Rotation.from_vector(0.99e-3 * Z), 0.99e-4 * X).matrix
    assert poise.Status.UNREACHABLE not in poise.solve_batch(model, goal, T).status
    T[:, :3, :3] = poise.Rotation.random(rng, 200).matrix
    found = poise.solve_batch(model, goal, T).status
    assert (found == poise.Status.UNREACHABLE).sum() > 50
    assert (found == poise.Status.STALLED).sum() <= 6
    assert [poise.solve(model, Reach("tool", one)).status for one in T[:20]] == list(found[:20])


def test_joints_that_are_held_do_not_prevent_a_proof():
    builder = poise.ModelBuilder("lifted")
    add_links(builder.add_joint("lift", None, "prismatic", axis=(0, 0, 1), lower=0.0, upper=0.5), "lift", LINKS)
    model, rng, joints = builder.build(), np.random.default_rng(0), [link.joint for link in LINKS]
    T = np.tile(np.eye(4), (60, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = poise.Rotation.random(rng, 60).matrix, rng.uniform(-0.7, 0.7, (60, 3)) + 0.6 * Z
    found = poise.solve_batch(model, Reach("panda_link7", T[0]), T, starts := model.random(rng, 60), joints=joints)
    for one, x, q in zip(found.status, T, starts, strict=True):
        listed = poise.solve_all(model, Reach("panda_link7", x), q, joints=joints)
        assert one == (poise.Status.REACHED if len(listed) else poise.Status.UNREACHABLE)
