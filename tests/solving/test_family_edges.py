"""Chains at the edges of closed forms: each is handled, or rejected with a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import poise
from poise.errors import InvalidValue
from poise.goals import Reach

PLACES = ((0, 0, 0.3), (0, 0.1, 0), (0, 0, 0.4), (0, 0, 0.4), (0, 0, 0), (0, 0, 0))


def build(axes: str = "zyyzyz", kind: str = "revolute", change: Mapping[int, Mapping[str, Any]] | None = None) -> Any:
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


REFUSED = {
    "fewer than six": (build("zyyzy"), "fewer than six"),
    "locked": (build().locked({"j3": 0.4}), "fewer than six"),
    "all axes parallel": (build("zzzzzz"), "never have six degrees of freedom"),
    "coincident axes in the wrist": (build("zyyzzz"), "never have six degrees of freedom"),
    "mimic": (build(change={3: {"mimic": ("j2", 1.0, 0.0)}}), "'j2' moves it at two places"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_chains_without_a_closed_form_are_rejected_by_name(case: str) -> None:
    model, words = REFUSED[case]
    assert words in str(model.family("tool"))
    with pytest.raises(InvalidValue, match=words):
        poise.solve_all(model, Reach("tool", np.eye(4)))
    goal = Reach("tool", model.fk(model.rest, "tool"))
    assert poise.solve(model, goal).reached  # searches serve it
    assert poise.solve_batch(model, goal, np.stack([model.fk(model.rest, "tool")] * 3)).reached.all()


HANDLED = {
    "continuous": build(kind="continuous"),
    "a range of no width": build(change={2: {"lower": 0.7, "upper": 0.7}}),
    "a range of no width in the wrist": build(change={4: {"lower": 0.5, "upper": 0.5}}),
    "ranges of two turns": build(change={k: {"lower": -6.5, "upper": 6.5} for k in (0, 3, 5)}),
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
    one, other = build(change={joint: {**ends, **open_end}}), build(change={joint: {**ends, **far}})
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
