"""Several answers by closed forms: what a batch lists is what `solve_all` lists, and every answer is one."""

import numpy as np
import pytest

import poise
from family_arms import KINDS, draw_arm, measure_turns
from poise.goals import Reach, Rest

TOLERANCE = (1e-6, 1e-6)


def measure_way(model: poise.Model, start: np.ndarray, q: np.ndarray) -> np.ndarray:
    """What answers are sorted by."""
    return (np.abs(q - start) / np.where(model.slides, model.length, 1.0)).max(axis=-1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_batch_lists_every_branch(kind: str, mirrored: bool, dtype: str) -> None:
    rng = np.random.default_rng(41)
    model = draw_arm(rng, kind, mirrored=mirrored)
    goal = Reach("tool", np.eye(4), tolerance=(1e-4, 1e-4))
    T = model.fk(model.random(rng, 20), "tool")
    start = model.random(rng)
    batch = poise.solve_batch(model, goal, T, start, solutions=8, dtype=dtype)
    assert (
        batch.complete.mean() > 0.8
    )  # the others have a branch that ends, or leaves a range, by less than is tolerated
    for row in range(len(T)):
        answers = poise.solve_all(model, Reach("tool", T[row]), start)
        listed = batch.q[row][batch.reached[row]]
        for answer in answers:
            assert measure_turns(model, listed, answer.q).min() < 0.11
        for q in listed:
            assert min(measure_turns(model, answer.q, q) for answer in answers) < 1e-3


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
def test_answers_reach_are_inside_apart_and_the_nearest_is_first(name: str) -> None:
    model = poise.load(name)
    frame, rng = model.frames[-1], np.random.default_rng(42)
    T, starts = model.fk(model.random(rng, 40), frame), model.random(rng, 40)
    batch = poise.solve_batch(model, Reach(frame, np.eye(4), tolerance=TOLERANCE), T, starts, solutions=32)
    for row in range(len(T)):
        q = batch.q[row][batch.reached[row]]
        assert len(q) > 1
        assert (q >= model.lower).all()
        assert (q <= model.upper).all()
        np.testing.assert_allclose(model.fk(q, frame), np.broadcast_to(T[row], (len(q), 4, 4)), atol=1e-5)
        way = measure_way(model, starts[row], q)
        assert (np.diff(way) >= 0.0).all()
        apart = np.abs(q[:, None] - q[None]).max(axis=-1) + np.eye(len(q))
        assert apart.min() > 0.1


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_rows_that_list_nothing_end_as_without_a_list(name: str) -> None:
    model = poise.load(name)
    frame, rng = model.frames[-1], np.random.default_rng(43)
    T = model.fk(model.random(rng, 60), frame)
    T[::2, :3, 3] *= 1.6
    T[7, 0, 0] = np.nan
    one = poise.solve_batch(model, Reach(frame, np.eye(4)), T)
    many = poise.solve_batch(model, Reach(frame, np.eye(4)), T, solutions=4)
    assert (one.reached == many.reached[:, 0]).all()
    for row in np.flatnonzero(~one.reached):
        assert one.status[row] == many.status[row, 0]


def test_threads_change_no_bit() -> None:
    model = poise.load("iiwa14")
    frame = model.frames[-1]
    T = model.fk(model.random(np.random.default_rng(44), 200), frame)
    one, two = (poise.solve_batch(model, Reach(frame, np.eye(4)), T, solutions=8, threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.q, two.q)


@pytest.mark.parametrize("more", [(), (Rest(),)], ids=["alone", "with Rest"])
def test_one_problem_lists_every_branch_too(more: tuple[Rest, ...]) -> None:
    model = poise.load("ur5e")
    rng = np.random.default_rng(45)
    for q in model.random(rng, 5):
        goal = Reach("tool0", model.fk(q, "tool0"))
        answers = poise.solve(model, [goal, *more], solutions=8)
        every = poise.solve_all(model, goal)
        assert len(answers) == len(every)
        for answer in every:
            assert min(measure_turns(model, other.q, answer.q) for other in answers) < 1e-2


def test_a_branch_just_outside_a_range_is_listed_or_the_row_is_not_complete() -> None:
    rng = np.random.default_rng(46)
    listed_too = lacking = 0
    for kind in KINDS[:4]:
        model = draw_arm(rng, kind)
        goal = Reach("tool", np.eye(4))
        for _ in range(10):
            q, joint = model.random(rng), rng.integers(3, 6)
            q[joint] = model.upper[joint] + 3e-4
            T = model.fk(q, "tool")
            one = poise.solve(model, Reach("tool", T), model.clamp(q), restarts=0)
            batch = poise.solve_batch(model, goal, T[None], solutions=8)
            listed = batch.q[0][batch.reached[0]]
            there = len(listed) > 0 and measure_turns(model, listed, one.q).min() < 0.1
            assert there or not one.reached or not batch.complete[0]
            listed_too += one.reached and there
            lacking += one.reached and not there
    assert listed_too >= 15
    assert lacking >= 5


def test_what_is_listed_is_polished_where_the_arm_is_not_quite_of_its_family() -> None:
    model = tilt_last_axes(3e-6)
    rng = np.random.default_rng(47)
    T = model.fk(model.random(rng, 30), "tool")
    loose, tight = (
        poise.solve_batch(model, Reach("tool", np.eye(4), tolerance=(1e-3 * k, 1e-3 * k)), T, solutions=8)
        for k in (1.0, 1e-4)
    )
    assert model.family("tool")
    assert tight.reached.sum() >= 0.98 * loose.reached.sum()
    assert tight.steps.max() > 0


def tilt_last_axes(by: float) -> poise.Model:
    """Return an arm with a wrist whose last axis misses the others by that many metres."""
    builder = poise.ModelBuilder("arm")
    places = [(0, 0, 0.3), (0.1, 0, 0.2), (0, 0, 0.6), (0.1, 0, 0.5), (0, 0, 0), (0, by, 0)]
    parent = None
    for k, (place, axis) in enumerate(zip(places, "zyyzyz", strict=True)):
        direction = np.eye(3)["xyz".index(axis)]
        offset = poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=direction, lower=-2.8, upper=2.8)
        parent = f"j{k}"
    return builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1))).build()


def test_an_empty_batch_is_complete_row_by_row() -> None:
    model = poise.load("ur5e")
    batch = poise.solve_batch(model, Reach("tool0", np.eye(4)), np.zeros((0, 4, 4)), solutions=3)
    assert batch.complete.shape == (0,)


@pytest.mark.parametrize(("name", "k"), [("ur5e", 8), ("iiwa14", 40)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_neighbours_change_no_bit(name: str, k: int, dtype: str) -> None:
    """Rows are asked side by side, as many as fit a register; each is answered as if it were alone."""
    model = poise.load(name)
    frame, rng = model.frames[-1], np.random.default_rng(48)
    T, starts = model.fk(model.random(rng, 21), frame), model.random(rng, 21)
    T[4, :3, 3] *= 3.0  # out of reach
    T[9, 1, 1] = np.nan
    goal = Reach(frame, np.eye(4))
    whole = poise.solve_batch(model, goal, T, starts, solutions=k, dtype=dtype, threads=1)
    assert whole.reached[:, 1].sum() > 15
    for row in range(len(T)):
        alone = poise.solve_batch(model, goal, T[row : row + 1], starts[row : row + 1], solutions=k, dtype=dtype)
        np.testing.assert_array_equal(alone.q[0], whole.q[row])
        np.testing.assert_array_equal(alone.errors[frame][0], whole.errors[frame][row])
        assert alone.status[0, 0] == whole.status[row, 0]


@pytest.mark.slow
def test_narrow_arcs_are_listed_without_a_search() -> None:
    """Where few values of the free joint have a pose, values are looked at that are closer together."""
    model = poise.load("iiwa14")
    frame, rng = model.frames[-1], np.random.default_rng(49)
    T = model.fk(model.random(rng, 400), frame)
    batch = poise.solve_batch(model, Reach(frame, np.eye(4)), T, solutions=16, threads=1)
    narrow = 0
    for row in range(len(T)):
        widest = max(arc.high - arc.low for arc in poise.solve_all(model, Reach(frame, T[row])).arcs)
        narrow += 0.06 < widest < 0.3
        assert widest < 0.06 or (batch.reached[row, 0] and batch.steps[row] == 0)
    assert narrow > 5
