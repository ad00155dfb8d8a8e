"""Lists of chains of any number of joints, and of goals that leave turns free."""

from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.goals import Align, Orient, Reach
from poise.limits import Clearance, HalfSpace

R, P = "revolute", "prismatic"


def draw_arm(kinds, seed=0, mimic=None):
    rng, builder, parent = np.random.default_rng(seed), poise.ModelBuilder("arm"), None
    for k, kind in enumerate(kinds):
        axis, place = rng.normal(size=3), 0.3 * rng.normal(size=3)
        ends: dict[str, Any] = {"lower": -0.3, "upper": 0.5} if kind == P else {"lower": -2.8, "upper": 2.8}
        ends = {"mimic": (f"j{mimic[1]}", -0.5, 0.1)} if mimic and k == mimic[0] else ends
        offset = poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, kind, offset=offset, axis=axis / np.linalg.norm(axis), **ends)
        parent = f"j{k}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0.1, 0.02, 0.05))).build()


def lies_among(q, answers):
    return bool((np.abs(answers.q - q).max(axis=1) < 1e-6).any()) if len(answers) else False


def check_poses(model, frame, T, answers, point=(0.0, 0.0, 0.0), axis=None, whole=False):
    for q in answers.q:
        own = model.fk(q, frame)
        assert np.abs(own[:3, :3] @ point + own[:3, 3] - T[:3, :3] @ point - T[:3, 3]).max() < 1e-8
        assert axis is None or np.abs((own[:3, :3] - T[:3, :3]) @ axis).max() < 1e-8
        assert not whole or np.abs(own - T).max() < 1e-8
        assert (q >= model.lower).all()
        assert (q <= model.upper).all()
    assert len(answers.q) == len(np.unique(np.round(answers.q, 5), axis=0))


@pytest.mark.parametrize("seed", range(3))
def test_five_joints_reach_a_position_and_a_direction(seed):
    model, rng = draw_arm([R] * 5, seed), np.random.default_rng(seed)
    for q in model.random(rng, 6):
        T, axis, point = model.fk(q, "tool"), np.array((0.6, 0.0, 0.8)), np.array((0.02, 0.1, 0.05))
        goals = [Align("tool", axis, T[:3, :3] @ axis), Reach("tool", T[:3, :3] @ point + T[:3, 3], point=point)]
        for asked in (goals, goals[::-1]):
            answers = poise.solve_all(model, asked, model.random(rng))
            assert answers.complete
            assert lies_among(q, answers)
            check_poses(model, "tool", T, answers, point, axis)
            assert all(one.reached and len(one.errors) == 2 for one in answers)
        others = poise.solve(model, goals, restarts=20, solutions=8)
        assert all(lies_among(one.q, answers) for one in others if max(map(max, one.errors.values())) < 1e-7)


@pytest.mark.parametrize("count", range(1, 6))
def test_few_joints_reach_only_some_transforms(count):
    model, rng = draw_arm([R] * count, count), np.random.default_rng(count)
    for q in model.random(rng, 4):
        T = model.fk(q, "tool")
        answers = poise.solve_all(model, Reach("tool", T))
        assert answers.complete
        assert lies_among(q, answers)
        check_poses(model, "tool", T, answers, whole=True)
        T[:3, :3] = T[:3, :3] @ poise.Rotation.from_vector((0.2, 0.1, -0.3)).matrix
        answers = poise.solve_all(model, Reach("tool", T))
        assert len(answers) == 0
        assert answers.complete


def test_three_joints_reach_a_position():
    model, rng = draw_arm([R] * 3, 3), np.random.default_rng(0)
    for q in model.random(rng, 6):
        T = model.fk(q, "tool")
        answers = poise.solve_all(model, Reach("tool", T[:3, 3]))
        assert answers.complete
        assert lies_among(q, answers)
        check_poses(model, "tool", T, answers)
        batch = poise.solve_batch(
            model, Reach("tool", T[:3, 3], tolerance=1e-9), T[None, :3, 3], model.random(rng, 100), restarts=0
        )
        assert all(lies_among(one, answers) for one in batch.q[batch.reached])


def test_the_so101_lists_poses():
    model, rng = poise.load("so101"), np.random.default_rng(0)
    frame = model.frames[-1]
    joints = [joint.name for joint in model.joints if joint.name in model.family(frame).joints]
    moving = [k for name in joints for k in range(model.nq)[model.joint(name).q]]
    for q in model.random(rng, 5):
        T = model.fk(q, frame)
        for asked in (Reach(frame, T), [Reach(frame, T[:3, 3]), Orient(frame, T[:3, :3])]):
            answers = poise.solve_all(model, asked, q)
            assert answers.complete
            assert lies_among(q, answers)
            assert (answers.q[:, [k for k in range(model.nq) if k not in moving]] == q[5:]).all()
        answers = poise.solve_all(model, Reach(frame, T[:3, 3]), q, samples=10)
        assert len(answers) >= 5
        assert not answers.complete
        check_poses(model, frame, T, answers)


@pytest.mark.parametrize("kinds", [[R] * 8, [P] + [R] * 7, [R] * 3 + [P] + [R] * 4, [R] * 7 + [P], [P, P] + [R] * 7])
def test_more_than_seven_joints_are_sampled(kinds):
    model, rng = draw_arm(kinds, len(kinds)), np.random.default_rng(0)
    for q in model.random(rng, 2):
        T = model.fk(q, "tool")
        few, many = (poise.solve_all(model, Reach("tool", T), q, samples=n) for n in (4, 16))
        assert lies_among(q, few)
        assert 0 < len(few) < len(many)
        assert not many.complete
        check_poses(model, "tool", T, many, whole=True)
        with pytest.raises(InvalidValue, match="at\\(\\) needs"):
            many.at(0.0)


@pytest.mark.parametrize("kinds", [[P] + [R] * 5, [R, R, P, R, R, R], [R] * 5 + [P], [P, R, P, R, R, R]])
def test_slides_that_the_transform_determines_are_searched(kinds):
    model, rng, own = draw_arm(kinds, 1), np.random.default_rng(0), 0
    for q in model.random(rng, 10):
        T = model.fk(q, "tool")
        answers = poise.solve_all(model, Reach("tool", T), model.random(rng))
        check_poses(model, "tool", T, answers, whole=True)
        assert not answers.complete
        own += lies_among(q, answers)
    assert own >= 9


def test_a_mimic_joint_inside_the_chain():
    model, rng, own = draw_arm([R] * 7, 6, mimic=(3, 1)), np.random.default_rng(0), 0
    for q in model.random(rng, 10):
        T = model.fk(q, "tool")
        answers = poise.solve_all(model, Reach("tool", T), model.random(rng))
        check_poses(model, "tool", T, answers, whole=True)
        own += lies_among(q, answers)
    assert own >= 9


def test_a_free_turn_of_six_joints():
    model, rng = poise.load("ur5e"), np.random.default_rng(0)
    q = model.random(rng)
    T = model.fk(q, "tool0")
    answers = poise.solve_all(model, [Reach("tool0", T[:3, 3]), Align("tool0", "y", T[:3, 1])], q)
    assert lies_among(q, answers)
    assert len(answers) > 8
    check_poses(model, "tool0", T, answers, axis=np.array((0.0, 1.0, 0.0)))
    above = Clearance(pairs=[], world=[HalfSpace((0, 0, -0.2), (0, 0, 1))])
    clear = poise.solve_all(model, [Reach("tool0", T[:3, 3]), Align("tool0", "y", T[:3, 1])], q, limits=above)
    assert [x.tolist() for x in clear.q] == [x.tolist() for x in answers.q if above.measure_gap(model, x) >= 0.0]


def test_chains_without_a_list_are_errors_with_their_cause():
    static = poise.ModelBuilder("static").add_frame("tool", None, poise.Transform()).build()
    ball = poise.ModelBuilder("ball")
    ball.add_joint("shoulder", None, "ball")
    endless = poise.ModelBuilder("endless")
    endless.add_joint("rail", None, "prismatic", axis=(1, 0, 0))
    loop = poise.ModelBuilder("loop")
    loop.add_joint("crank", None, "revolute")
    loop.add_joint("rocker", None, "revolute", offset=poise.Transform(translation=(1, 0, 0)))
    loop.add_frame("tool", "crank", poise.Transform(translation=(0, 1, 0)))
    loop.add_closure("tool", "rocker")
    cases = [
        (loop.build(), "tool", "closed loop"),
        (static, "tool", "no joint that may move"),
        (ball.add_frame("tool", "shoulder", poise.Transform(translation=(0, 0, 1))).build(), "tool", "'shoulder'"),
        (endless.add_frame("tool", "rail", poise.Transform()).build(), "tool", "'rail'.*without end"),
        (poise.load("snake100"), poise.load("snake100").frames[-1], "at most 16"),
    ]
    for model, frame, cause in cases:
        with pytest.raises(InvalidValue, match=cause):
            poise.solve_all(model, Reach(frame, np.eye(4)))
    for goals in (
        Orient("tool0", np.eye(3)),
        [Reach("tool0", (1, 0, 0)), Align("wrist_3_link", "z", (0, 0, 1))],
        [Reach("tool0", np.eye(4)), Align("tool0", "z", (0, 0, 1))],
        [],
    ):
        with pytest.raises(InvalidValue, match="Reach"):
            poise.solve_all(poise.load("ur5e"), goals)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_seven_rotations_are_proved_out_of_reach_and_never_falsely(seed):
    model, rng = draw_arm([R] * 7, seed), np.random.default_rng(seed)
    goal, own = Reach("tool", np.eye(4)), model.fk(model.random(rng, 60), "tool")
    own[:, :3, 3] += 0.99e-4 * own[:, :3, 0]
    assert poise.Status.UNREACHABLE not in poise.solve_batch(model, goal, own, restarts=1).counts
    T = own[::-1].copy()
    T[:, :3, 3] = own[:, :3, 3]
    batch = poise.solve_batch(model, goal, T)
    proved = np.flatnonzero(batch.status == poise.Status.UNREACHABLE)
    assert len(proved) >= 10
    for k in proved[:10]:
        found = poise.solve_batch(model, goal, T[k, None], model.random(rng, 200), restarts=0)
        assert not found.reached.any()
        answers = poise.solve_all(model, Reach("tool", T[k]))
        assert len(answers) == 0
        assert answers.complete
