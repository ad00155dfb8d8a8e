"""Chains at the edges of closed forms, nearly in a family, or proved out of reach."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, draw_poses, shake
from general_arms import calibrate
from poise import Status
from poise.errors import InvalidValue
from poise.goals import Reach

PLACES = ((0, 0, 0.3), (0, 0.1, 0), (0, 0, 0.4), (0, 0, 0.4), (0, 0, 0), (0, 0, 0))


def build_wrist_arm(
    axes: str = "zyyzyz", kind: str = "revolute", change: Mapping[int, Mapping[str, Any]] | None = None
) -> Any:
    """An arm with a spherical wrist, or what is left of one."""
    builder = poise.ModelBuilder("arm")
    parent = None
    for k, (axis, place) in enumerate(zip(axes, PLACES, strict=False)):
        ends = {} if kind == "continuous" else {"lower": -2.0, "upper": 2.0}
        more = {**ends, **(change or {}).get(k, {})}
        offset = poise.Transform(translation=place)
        builder.add_joint(f"j{k + 1}", parent, kind, offset=offset, axis=np.eye(3)["xyz".index(axis)], **more)
        parent = f"j{k + 1}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0.0, 0.0, 0.1))).build()


UNFAMILIAR = {
    "fewer than six": (build_wrist_arm("zyyzy"), "fewer than six"),
    "locked": (build_wrist_arm().locked({"j3": 0.4}), "fewer than six"),
    "all axes parallel": (build_wrist_arm("zzzzzz"), "never have six degrees of freedom"),
    "coincident axes in the wrist": (build_wrist_arm("zyyzzz"), "never have six degrees of freedom"),
    "mimic": (build_wrist_arm(change={3: {"mimic": ("j2", 1.0, 0.0)}}), "'j2' moves it at two places"),
}


@pytest.mark.parametrize("case", UNFAMILIAR)
def test_chains_without_a_closed_form_say_why_and_are_listed(case: str) -> None:
    model, words = UNFAMILIAR[case]
    assert words in str(model.family("tool"))
    goal = Reach("tool", model.fk(model.rest, "tool"))
    q = model.random(np.random.default_rng(0))
    assert np.abs(poise.solve_all(model, Reach("tool", model.fk(q, "tool")), q).q - q).max(axis=1).min() < 1e-5
    assert poise.solve(model, goal).reached  # searches serve it
    assert poise.solve_batch(model, goal, np.stack([model.fk(model.rest, "tool")] * 3)).reached.all()


HANDLED = {
    "continuous": build_wrist_arm(kind="continuous"),
    "a range of no width": build_wrist_arm(change={2: {"lower": 0.7, "upper": 0.7}}),
    "a range of no width in the wrist": build_wrist_arm(change={4: {"lower": 0.5, "upper": 0.5}}),
    "ranges of two turns": build_wrist_arm(change={k: {"lower": -6.5, "upper": 6.5} for k in (0, 3, 5)}),
    "a locked joint of seven": poise.load("panda").locked({"panda_joint7": 0.5}),
}


@pytest.mark.parametrize("case", HANDLED)
def test_what_is_handled_finds_every_pose_and_proves_none_away(case: str) -> None:
    model = HANDLED[case]
    frame, rng = model.frames[-1], np.random.default_rng(0)
    assert model.family(frame)
    poses = model.random(rng, 12)
    for q in poses[:4]:
        answers = poise.solve_all(model, Reach(frame, model.fk(q, frame)), q)
        near = [float(np.abs(answer.q - q).max()) for answer in answers]
        assert near
        assert min(near) < 1e-5
        assert all((answer.q >= model.lower).all() and (answer.q <= model.upper).all() for answer in answers)
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), model.fk(poses, frame), threads=1)
    assert poise.Status.UNREACHABLE not in batch.counts


def test_a_free_joint_of_no_width_is_a_joint_that_stands_still() -> None:
    panda = poise.load("panda")
    builder = poise.ModelBuilder("still")
    parent = None
    for k, axis in enumerate(panda.family("panda_hand_tcp").chain.axes):
        ends = (0.5, 0.5) if k == 6 else (axis.lower, axis.upper)
        before = panda.family("panda_hand_tcp").chain.axes[k - 1].p if k else np.zeros(3)
        offset = poise.Transform(translation=axis.p - before)
        builder.add_joint(f"j{k + 1}", parent, "revolute", offset=offset, axis=axis.h, lower=ends[0], upper=ends[1])
        parent = f"j{k + 1}"
    model = builder.add_frame("tool", parent, poise.Transform(translation=(0.0, 0.0, 0.1))).build()
    rng = np.random.default_rng(1)
    for q in model.random(rng, 5):
        answers = poise.solve_all(model, Reach("tool", model.fk(q, "tool")), q, samples=2)
        assert min(float(np.abs(answer.q - q).max()) for answer in answers) < 1e-5
        assert all(answer.q[6] == 0.5 for answer in answers)


NO_ROTATION = {
    "scaled": np.diag([2.0, 2.0, 2.0, 1.0]),
    "a mirror": np.diag([1.0, 1.0, -1.0, 1.0]),
    "sheared": np.eye(4) + 0.3 * np.eye(4, k=1) * np.array([1.0, 1.0, 0.0, 0.0]),
    "not a number": np.full((4, 4), np.nan),
    "a last row of zeros": np.zeros((4, 4)),
}


@pytest.mark.parametrize("case", NO_ROTATION)
def test_a_transform_that_is_not_a_rotation_is_rejected_or_its_row_is_invalid(case: str) -> None:
    model = HANDLED["continuous"]
    with pytest.raises(InvalidValue, match="target"):
        poise.solve_all(model, Reach("tool", NO_ROTATION[case]))
    T = np.stack([model.fk(model.rest, "tool"), NO_ROTATION[case]])
    batch = poise.solve_batch(model, Reach("tool", np.eye(4)), T, solutions=4)
    assert batch.status[0, 0] is poise.Status.REACHED
    assert case == "a last row of zeros" or batch.status[1, 0] is poise.Status.INVALID
    assert not batch.complete[1] or batch.status[1, 0] is poise.Status.UNREACHABLE


@pytest.mark.parametrize("joint", [0, 2, 3, 5])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_a_turn_that_ends_on_one_side_has_the_answers_of_one_that_ends_far_away(joint: int, side: str) -> None:
    """What is outside the one end is inside by whole turns."""
    ends = {"lower": {"lower": -1.0}, "upper": {"upper": 1.0}}[side]
    far = {"lower": {"upper": 1000.0}, "upper": {"lower": -1000.0}}[side]
    open_end = {"lower": {"upper": np.inf}, "upper": {"lower": -np.inf}}[side]
    one, other = build_wrist_arm(change={joint: {**ends, **open_end}}), build_wrist_arm(change={joint: {**ends, **far}})
    rng = np.random.default_rng(joint)
    q = rng.uniform(-1.0, 1.0, (20, 6))
    q[:, joint] = (-1.0 if side == "lower" else 1.0) + rng.uniform(0.0, 6.0, 20) * (1.0 if side == "lower" else -1.0)
    T = one.fk(q, "tool")
    lists = [
        [poise.solve_all(model, Reach("tool", t), start=at) for t, at in zip(T, q, strict=True)]
        for model in (one, other)
    ]
    assert sum(map(len, lists[0])) > 30
    for mine, theirs, at in zip(*lists, q, strict=True):
        assert np.allclose([s.q for s in mine], [s.q for s in theirs], atol=1e-9)
        assert np.abs(np.array([s.q for s in mine]) - at).max(axis=1).min() < 1e-9
        assert mine.complete == theirs.complete
    batches = [poise.solve_batch(model, Reach("tool", np.eye(4)), T, q, solutions=8) for model in (one, other)]
    assert (batches[0].reached == batches[1].reached).all()
    assert (batches[0].complete == batches[1].complete).all()


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_arcs_of_a_one_sided_free_joint_are_listed_near_its_bound(side: str) -> None:
    panda = poise.load("panda")
    chain = panda.family("panda_hand_tcp").chain
    builder, parent, at = poise.ModelBuilder("open"), None, np.zeros(3)
    for k, axis in enumerate(chain.axes):
        ends = {"lower": axis.lower, "upper": axis.upper}
        if k == 6:
            ends["upper" if side == "lower" else "lower"] = np.inf if side == "lower" else -np.inf
        builder.add_joint(
            f"j{k}", parent, "revolute", offset=poise.Transform(translation=axis.p - at), axis=axis.h, **ends
        )
        parent, at = f"j{k}", axis.p
    T = chain.T.copy()
    T[:3, 3] -= at
    model = builder.add_frame("tool", parent, poise.Transform.from_matrix(T)).build()
    q = np.array([0.3, -0.4, 0.2, -2.0, 0.3, 1.8, 0.5])
    answers = poise.solve_all(model, Reach("tool", model.fk(q, "tool")), start=q, samples=3)
    assert np.abs(answers[0].q - q).max() < 1e-6
    assert len(answers.arcs) > 2
    end = (model.lower if side == "lower" else model.upper)[6]
    assert all(abs(value - end) <= 2.0 * np.pi + 1e-9 for arc in answers.arcs for value in (arc.low, arc.high))
    for one in answers:
        assert any(arc.low - 1e-9 <= one.q[6] <= arc.high + 1e-9 for arc in answers.arcs)
    middle = 0.5 * (answers.arcs[0].low + answers.arcs[0].high)
    assert all(abs(one.q[6] - middle) < 1e-9 for one in answers.at(middle))


# ------- Arms that are nearly in a family: every pose that a search finds is among the answers, and nothing is promised


def lies_among(q, found, near=1e-4) -> bool:
    d = np.array([getattr(one, "q", one) for one in found]).reshape(-1, len(q)) - q
    return bool((np.abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(axis=1, initial=0.0) < near).any())


def search_poses(model, T, rng, count=80):
    goal, start = Reach("tool", np.eye(4), tolerance=1e-9), model.random(rng, count)
    batch = poise.solve_batch(model, goal, np.tile(T, (count, 1, 1)), start, restarts=0)
    return batch.q[batch.reached]


@pytest.mark.slow
def test_the_family_says_how_far_off_it_is():
    family = calibrate("puma", 1e-3).family("tool")
    assert family.near
    assert family.name == "nearly a spherical wrist"
    assert "off by up to" in str(family)
    assert "general joints" in str(family)
    assert calibrate("ur5e", 1e-3).family("tool").name == "nearly three parallel axes"
    assert not poise.load("ur5e").family("tool0").near


@pytest.mark.slow
@pytest.mark.parametrize("size", [3e-5, 1e-4, 3e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("name", ["ur5e", "puma"])
def test_every_branch_of_six_joints_is_found(name, size):
    """Also of axes that are so near that they are moved into the family: their poses are not those of the family."""
    model, rng = calibrate(name, size), np.random.default_rng(1)
    searched = 0
    for T in model.fk(model.random(rng, 3), "tool"):
        answers = poise.solve_all(model, Reach("tool", T))
        for one in answers:
            assert one.reached
            assert max(one.errors["tool"]) < 1e-8
            assert (one.q >= model.lower).all()
            assert (one.q <= model.upper).all()
        poses = search_poses(model, T, rng)
        searched += len(poses)
        assert all(lies_among(q, answers) for q in poses)
    assert searched > 20


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-9, 1e-8, 1e-7, 1e-6, 1e-5])
@pytest.mark.parametrize("name", ["ur5e", "puma"])
def test_lists_of_arms_with_rounded_numbers_are_complete(name, size):
    """What the closed form leaves open, because its axes are off, is decided for joints in any position."""
    model = calibrate(name, size)
    q, complete = model.random(np.random.default_rng(1), 30), 0
    for own, T in zip(q, model.fk(q, "tool"), strict=True):
        answers = poise.solve_all(model, Reach("tool", T))
        assert lies_among(own, answers)
        complete += answers.complete
    assert complete >= 29


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_of_seven_joints_every_pose_is_found_at_its_value_of_the_free_joint(name, size):
    model, rng = calibrate(name, size), np.random.default_rng(2)
    free = model.joint(model.family("tool").free)
    T = model.fk(0.6 * model.random(rng) + 0.4 * model.rest, "tool")
    answers = poise.solve_all(model, Reach("tool", T), samples=3)
    assert not answers.complete
    assert len(answers.arcs) >= 1
    assert len(answers) >= len(answers.arcs)
    assert all(max(one.errors["tool"]) < 1e-8 for one in answers)
    poses = search_poses(model, T, rng, 30)[:12]
    found = []
    for q in poses:
        at = answers.at(float(q[free.q][0]))
        assert all(abs(one.q[free.q][0] - q[free.q][0]) < 1e-12 for one in at)
        found.append(lies_among(q, at))
    assert len(found) >= 5
    assert sum(found) >= len(found) - 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5e", "panda"])
def test_several_answers_of_a_batch_begin_at_the_guesses(name):
    model, rng = calibrate(name, 1e-3), np.random.default_rng(3)
    T = model.fk(model.random(rng, 6), "tool")
    batch = poise.solve_batch(model, Reach("tool", np.eye(4)), T, solutions=8)
    assert batch.reached[:, 0].all()
    assert not batch.complete.any()
    if name == "ur5e":
        branches = 0
        for row, one in enumerate(T):
            answers = poise.solve_all(model, Reach("tool", one))
            assert all(lies_among(answer.q, batch.q[row][batch.reached[row]], 0.11) for answer in answers)
            branches += len(answers)
        assert branches >= 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5e", "puma", "panda"])
@pytest.mark.parametrize("seed", range(3))
def test_a_path_that_it_has_made_is_followed_without_a_jump(name, seed):
    """Its branches are listed by searches from the guesses of every waypoint."""
    model = calibrate(name, 1e-3)
    q0, q1 = (s * model.random(np.random.default_rng(k)) for s, k in ((0.3, seed), (0.5, seed + 100)))
    own = q0 + (q1 - q0) * np.linspace(0.0, 1.0, 40)[:, None]
    track = poise.motion.track(model, Reach("tool", model.fk(own, "tool")), fps=30.0, start=q0)
    assert track.reached.all(), track.why()
    assert track.reconfigurations == ()
    assert np.abs(np.diff(track.motion.q, axis=0)).max() < 0.6


# ----- solve and solve_batch on chains with a closed form: reached, proved out of reach, and hardly anything in between


ARMS = {"ur5e": "tool0", "panda": "panda_hand_tcp", "iiwa14": "iiwa_link_ee"}


def draw_in_ball(model: poise.Model, frame: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random transforms around the second joint, as far as the tool comes."""
    center = model.fk(model.rest, model.joints[1].name)[:3, 3]
    reach = np.linalg.norm(model.fk(model.random(rng, 2000), frame)[:, :3, 3] - center, axis=1).max()
    T = np.tile(np.eye(4), (n, 1, 1))
    x = rng.normal(size=(n, 3))
    T[:, :3, 3] = center + reach * rng.random((n, 1)) ** (1 / 3) * x / np.linalg.norm(x, axis=1)[:, None]
    T[:, :3, :3] = [poise.Rotation(q).matrix for q in rng.normal(size=(n, 4))]
    return T


@pytest.mark.parametrize(("name", "frame"), ARMS.items())
def test_random_transforms_are_decided(name, frame) -> None:
    model = poise.load(name)
    rng = np.random.default_rng(21)
    T = draw_in_ball(model, frame, rng, 300)
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), T, threads=1)
    assert set(batch.counts) <= {Status.REACHED, Status.UNREACHABLE, Status.STALLED}
    assert batch.counts.get(Status.STALLED, 0) <= 6
    assert min(batch.counts[Status.REACHED], batch.counts[Status.UNREACHABLE]) > 30
    for row in np.flatnonzero(batch.codes != batch.codes[batch.reached][0])[:8]:  # one call says the same
        assert poise.solve(model, Reach(frame, T[row])).status is batch.status[row]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("joints", [6, 7])
def test_no_pose_is_called_unreachable(kind, joints) -> None:
    """Targets of poses near limits and singularities, moved by nearly the tolerance."""
    rng = np.random.default_rng(22)
    model = draw_arm(rng, kind, mirrored=bool(rng.integers(2)), joints=joints)
    T = shake(model.fk(draw_poses(model, rng, 150), "tool"), rng, 1e-4, 1e-3)
    batch = poise.solve_batch(model, Reach("tool", np.eye(4), tolerance=(1e-4, 1e-3)), T, threads=1)
    assert Status.UNREACHABLE not in batch.counts
    assert batch.reached.mean() > 0.6  # the others are at the very end of a range and of the tolerance at once


@pytest.mark.slow
def test_why_says_that_every_branch_is_ruled_out() -> None:
    model, frame = poise.load("ur5e"), "tool0"
    rng = np.random.default_rng(23)
    seen = 0
    for T in draw_in_ball(model, frame, rng, 60):
        solution = poise.solve(model, Reach(frame, T))
        if solution.status is Status.UNREACHABLE and solution.proof is None:
            seen += 1
            assert "every branch of the chain to 'tool0' (three parallel axes) is excluded" in solution.why()
            assert "not proved" not in solution.why()
            assert not poise.solve_all(model, Reach(frame, T))
    assert seen > 2


def test_without_limits_there_are_none_to_prove_with() -> None:
    model, frame = poise.load("panda"), "panda_hand_tcp"
    rng = np.random.default_rng(24)
    q = np.asarray(model.lower) - 0.5 * rng.random((40, 7))
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), model.fk(q, frame), limit_handling="off", threads=1)
    assert Status.UNREACHABLE not in batch.counts


def test_a_joint_that_stands_still_on_the_way_is_taken_from_the_start() -> None:
    """What holds where a joint rests does not hold where it starts: nothing is claimed from the wrong place."""
    model, frame = poise.load("panda"), "panda_hand_tcp"
    rng = np.random.default_rng(25)
    six = [f"panda_joint{k}" for k in range(1, 7)]
    for q in model.random(rng, 20):
        solution = poise.solve(model, Reach(frame, model.fk(q, frame)), [*model.rest[:6], q[6]], joints=six)
        assert solution.status is not Status.UNREACHABLE
