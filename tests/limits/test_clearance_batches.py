"""Batches among obstacles: clear answers, places row by row, and the reasons of misses."""

import numpy as np
import pytest

import poise
from general_arms import PUMA
from limit_oracle import clearance_gaps
from poise import Status
from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound, ShapeMismatch
from poise.goals import LookAt, Reach
from poise.limits import Box, Clearance, HalfSpace, Sphere
from poise.model import Sphere as Ball
from poise.solvers.report.explanation import CauseKind

TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0"}
ROUNDING = 1e-9  # m
TABLE = Box((0.5, 0.0, 0.1), (0.6, 1.2, 0.2))
POST = Box((0.3, 0.3, 0.6), (0.1, 0.1, 1.0))


def make_targets(name: str, limit: Clearance, count: int) -> tuple[poise.Model, Floats]:
    """Poses of the tool in clear configurations."""
    model, rng = poise.load(name), np.random.default_rng(4)
    q = model.random(rng, 4000)
    clear = q[limit.measure_gap(model, q) > 1e-3][:count]
    assert len(clear) == count
    return model, model.fk(clear, TIPS[name])


def move(x: float, y: float, turn: float) -> Floats:
    """A motion on the ground."""
    T = np.eye(4)
    T[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    T[:2, 3] = x, y
    return T


@pytest.mark.parametrize("name", TIPS)
def test_rows_that_have_a_clear_pose_reach_it(name: str) -> None:
    limit = Clearance(world=[TABLE, POST])
    model, T = make_targets(name, limit, 30)
    solved = poise.solve_batch(model, Reach(TIPS[name], np.eye(4)), T, limits=[limit])
    assert solved.reached.all()
    assert min(min(clearance_gaps(model, limit, q)) for q in solved.q) >= -ROUNDING
    single = poise.solve(model, Reach(TIPS[name], T[3]), limits=[limit])
    np.testing.assert_allclose(solved.q[3], single.q, atol=1e-9)


@pytest.mark.parametrize("name", TIPS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_several_answers_are_all_clear_and_distinct(name: str, dtype: str) -> None:
    limit = Clearance(world=[TABLE, POST])
    model, T = make_targets(name, limit, 12)
    solved = poise.solve_batch(model, Reach(TIPS[name], np.eye(4)), T, limits=[limit], solutions=8, dtype=dtype)
    assert solved.reached[:, 0].all()
    assert solved.reached.sum() > 2 * len(T)
    for target, row, reached in zip(T, solved.q, solved.reached, strict=True):
        answers = np.array(row[reached], dtype=np.float64)
        assert (limit.measure_gap(model, answers) >= -ROUNDING).all()
        apart = [np.abs(a - b).max() for k, a in enumerate(answers) for b in answers[:k]]
        assert min(apart, default=1.0) > 1e-4
        assert np.abs(model.fk(answers, TIPS[name]) - target).max() < 1e-3


def test_seven_joints_among_many_obstacles_still_have_several_answers() -> None:
    rng = np.random.default_rng(0)
    at = rng.uniform(-1.0, 1.0, (60, 3))
    limit = Clearance(world=[Box(x, rng.uniform(0.05, 0.2, 3)) for x in at[np.linalg.norm(at, axis=1) > 0.5][:20]])
    model, T = make_targets("panda", limit, 80)
    solved = poise.solve_batch(model, Reach(TIPS["panda"], np.eye(4)), T, limits=[limit], solutions=8)
    assert limit.measure_gap(model, solved.q[solved.reached]).min() >= -ROUNDING
    assert solved.reached.all(axis=1).mean() > 0.9


def test_six_joints_whose_branches_all_collide_say_with_what() -> None:
    model, tip = poise.load("ur5e"), TIPS["ur5e"]
    T = model.fk(model.rest, tip)
    limit = Clearance([], 0.0, [Sphere(T[:3, 3], 0.2)])
    solution = poise.solve(model, Reach(tip, T), limits=[limit])
    assert solution.status is Status.IN_COLLISION
    (cause,) = (cause for cause in solution.explanation.causes if cause.kind is CauseKind.IN_COLLISION)
    assert cause.numbers["spacing"] == 0.0
    assert cause.numbers["branches"] == len(cause.limits) == cause.numbers["poses"]
    depths = [contact.end - contact.value for contact in cause.limits]
    assert depths == sorted(depths)
    assert depths[0] > 0.0
    assert {contact.between[1] for contact in cause.limits} == {"a sphere"}
    assert f"{len(cause.limits)} branches, each in collision" in solution.why()
    assert "a sphere by" in solution.why()
    assert "another search" not in solution.why()  # the list of branches is complete
    solved = poise.solve_batch(model, Reach(tip, T), T[None], limits=[limit])
    assert solved.status[0] is Status.IN_COLLISION


def test_seven_joints_state_the_spacing_of_the_tested_poses() -> None:
    model, tip = poise.load("panda"), TIPS["panda"]
    T = model.fk(model.rest, tip)
    solution = poise.solve(model, Reach(tip, T), limits=[Clearance([], 0.0, [Sphere(T[:3, 3], 0.15)])])
    assert solution.status is Status.IN_COLLISION
    (cause,) = (cause for cause in solution.explanation.causes if cause.kind is CauseKind.IN_COLLISION)
    assert 0.0 < cause.numbers["spacing"] < 0.1
    assert "Poses between the tested ones might be clear" in solution.why()


@pytest.mark.parametrize("name", TIPS)
def test_rows_that_no_pose_reaches_are_proved_unreachable(name: str) -> None:
    limit, goal = Clearance(world=[TABLE, POST]), Reach(TIPS[name], np.eye(4))
    model, T = make_targets(name, limit, 20)
    T[:, :3, :3] = poise.Rotation.random(np.random.default_rng(1), 20).matrix
    T[:10, :3, 3] *= 1.2
    free = poise.solve_batch(model, goal, T)
    solved = poise.solve_batch(model, goal, T, limits=[limit])
    unreachable = np.array([status is Status.UNREACHABLE for status in free.status])
    assert 3 < unreachable.sum() < 18
    assert [status is Status.UNREACHABLE for status in solved.status] == unreachable.tolist()
    assert limit.measure_gap(model, solved.q).min() >= -ROUNDING
    row = int(np.flatnonzero(unreachable)[0])
    assert poise.solve(model, Reach(TIPS[name], T[row]), limits=[limit]).status is Status.UNREACHABLE


@pytest.mark.parametrize("name", TIPS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_inside_an_obstacle_keep_clear_of_it(name: str, dtype: str) -> None:
    limit = Clearance(world=[TABLE, POST])
    model, T = make_targets(name, limit, 12)
    T[::2, :3, 3] = [(0.5 + 0.01 * k, 0.02 * k, 0.1) for k in range(6)]  # in the table
    solved = poise.solve_batch(model, Reach(TIPS[name], np.eye(4)), T, limits=[limit], dtype=dtype)
    assert solved.reached[1::2].all()
    assert {*solved.status[::2]} <= {Status.IN_COLLISION, Status.UNREACHABLE}
    assert Status.IN_COLLISION in solved.status[::2]
    blocked = np.array([status is Status.IN_COLLISION for status in solved.status])
    np.testing.assert_allclose(solved.q[blocked], np.tile(model.rest, (blocked.sum(), 1)), atol=1e-6)
    gaps = limit.measure_gap(model, np.array(solved.q, dtype=np.float64))
    assert gaps[solved.reached].min() >= -ROUNDING
    assert gaps.min() >= -1e-6  # float32


def test_regions_are_placed_row_by_row() -> None:
    limit, tip = Clearance(world=[HalfSpace((0, 0, -0.2), (0, 0, 1)), TABLE, POST]), TIPS["ur5e"]
    places = np.array([move(0.1 * k, -0.05 * k, 0.2 * k) for k in range(8)])
    model, T = make_targets("ur5e", limit, 8)
    solved = poise.solve_batch(model, Reach(tip, np.eye(4)), T, limits=[limit], places={"box#2": places})
    for k in range(8):
        turn = poise.Transform.from_matrix(places[k])
        there = Box(turn.apply(POST.center), POST.size, turn.rotation)
        world = [limit.world[0], TABLE, there]
        single = poise.solve(model, Reach(tip, T[k]), limits=[Clearance(world=world)])
        assert solved.reached[k] == single.reached
        if single.reached:
            assert Clearance(world=world).measure_gap(model, solved.q[k]) >= -ROUNDING


@pytest.mark.parametrize("solutions", [1, 4])
def test_the_base_stands_elsewhere_in_each_row(solutions: int) -> None:
    limit, tip = Clearance(world=[TABLE, POST]), TIPS["ur5e"]
    model, T = make_targets("ur5e", limit, 20)
    base = np.array([move(0.002 * k, -0.001 * k, 0.005 * k) for k in range(20)])
    solved = poise.solve_batch(model, Reach(tip, np.eye(4)), T, limits=[limit], base=base, solutions=solutions)
    codes, poses = solved.reached.reshape(20, -1)[:, 0], solved.q.reshape(20, -1, 6)
    assert codes.sum() > 10
    for k in np.flatnonzero(codes):
        there = poise.Transform.from_matrix(np.linalg.inv(base[k]))
        world = [Box(there.apply(box.center), box.size, there.rotation) for box in (TABLE, POST)]
        for q in poses[k][solved.reached.reshape(20, -1)[k]]:
            np.testing.assert_allclose((base[k] @ model.fk(q, tip))[:3, 3], T[k, :3, 3], atol=2e-4)
            assert Clearance(world=world).measure_gap(model, q) >= -ROUNDING


def test_a_place_that_is_no_transform_makes_its_row_invalid() -> None:
    limit, tip = Clearance(world=[TABLE]), TIPS["ur5e"]
    model, T = make_targets("ur5e", limit, 3)
    places = np.tile(np.eye(4), (3, 1, 1))
    places[0, 0, 3], places[1, 0, 0] = np.nan, 2.0
    solved = poise.solve_batch(model, Reach(tip, np.eye(4)), T, limits=[limit], places={"box": places})
    assert [status is Status.INVALID for status in solved.status] == [True, True, False]


def test_wrong_places_are_refused() -> None:
    limit, tip = Clearance(world=[TABLE]), TIPS["ur5e"]
    model, T = make_targets("ur5e", limit, 3)
    goal = Reach(tip, np.eye(4))
    with pytest.raises(NameNotFound, match="sphere"):
        poise.solve_batch(model, goal, T, limits=[limit], places={"sphere": np.eye(4)})
    with pytest.raises(ShapeMismatch, match="places"):
        poise.solve_batch(model, goal, T, limits=[limit], places={"box": np.eye(3)})
    look = LookAt(tip, (1.0, 0.0, 0.0), name="look")
    with pytest.raises(InvalidValue, match="another kind"):
        poise.solve_batch(model, [goal, look], {tip: T}, base=np.eye(4))


def test_maps_leave_out_what_is_reached_only_in_collision() -> None:
    model, box = poise.load("ur5e"), ((0.2, -0.4, 0.0), (0.8, 0.4, 0.6))
    free = poise.reach_map(model, "tool0", 0.2, 6, 1, box=box)
    clear = poise.reach_map(model, "tool0", 0.2, 6, 1, box=box, limits=[Clearance(world=[TABLE])])
    assert (clear.reached <= free.reached).all()
    assert clear.reached.sum() < free.reached.sum()
    assert clear.at((0.5, 0.0, 0.1)).reached == 0.0
    assert clear.at((0.5, 0.0, 0.1)).undecided == free.at((0.5, 0.0, 0.1)).reached


def test_a_base_map_has_the_share_of_the_best_yaw() -> None:
    model, tip = poise.load("ur5e"), TIPS["ur5e"]
    limit = Clearance([], 0.0, [Box((0.6, 0.0, 0.1), (0.3, 0.6, 0.2))])
    grasps = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (3, 1, 1))
    grasps[:, :3, 3] = [(0.55, -0.2, 0.25), (0.6, 0.0, 0.25), (0.65, 0.2, 0.25)]
    found = poise.base_map(model, tip, grasps, spacing=0.5, yaws=2, limits=[limit])
    assert found.shape[2] == 1
    assert 0.0 < found.reached.max() <= 1.0
    assert np.allclose(found.reached + found.proved + found.undecided, 1.0, atol=1e-6)
    assert found.reached[0, 0, 0] == 0.0  # a corner is too far away
    for index in ((0, 0, 0), np.unravel_index(int(found.reached.argmax()), found.shape)):
        x, y, _ = found.centers[tuple(index)]
        shares = []
        for turn in (0.0, np.pi):
            base = np.tile(move(x, y, turn), (3, 1, 1))
            solved = poise.solve_batch(model, Reach(tip, np.eye(4)), grasps, limits=[limit], base=base)
            shares.append(solved.reached.mean())
        assert found.reached[tuple(index)] == pytest.approx(max(shares))
    with pytest.raises(InvalidValue, match="transforms"):
        poise.base_map(model, tip, np.full((1, 4, 4), np.nan))


# ------------- A row is in collision only if nothing could free it: no other joint, no tolerance. It never stays inside


NARROW = 1e-3  # m
TARGET = np.array([0.6, 0.7, -0.6, 0.5, 0.8, 0.2])


def make_gated() -> tuple[poise.Model, poise.arrays.Floats]:
    """Return a PUMA with a ball at its wrist, a ball on a rail of its own at the target, and the target."""
    builder, parent = poise.ModelBuilder("gated"), None
    for k, (place, axis, reach) in enumerate(PUMA):
        turn, offset = np.eye(3)["xyz".index(axis)], poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=turn, lower=-reach, upper=reach)
        parent = f"j{k}"
    builder.add_frame("tool", parent, poise.Transform(translation=(0, 0, 0.1)))
    builder.add_shape("tool", Ball(0.03))
    target = builder.build().fk(TARGET, "tool")
    builder.add_joint("gate", None, "prismatic", offset=poise.Transform(translation=target[:3, 3]), axis=(0, 0, 1),
                      lower=-0.5, upper=0.5)  # fmt: skip
    builder.add_shape("gate", Ball(0.03))
    return builder.build(), target


def test_a_joint_outside_the_chain_can_make_room() -> None:
    model, target = make_gated()
    goal, limits = Reach("tool", target), [Clearance()]
    starts = model.random(np.random.default_rng(0), 12)
    starts[:, -1] = 0.0  # the gate is shut
    batch = poise.solve_batch(model, [goal], {"tool": np.tile(target, (12, 1, 1))}, starts, limits=limits)
    assert batch.reached.mean() > 0.5
    assert not (batch.status == poise.Status.IN_COLLISION).any()
    assert all(poise.solve(model, [goal], start=q, limits=limits).status != poise.Status.IN_COLLISION for q in starts)


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_a_wide_tolerance_leads_around_an_obstacle(name: str) -> None:
    model = poise.load(name)
    tool = model.frames[-1]
    targets = model.fk(model.random(np.random.default_rng(1), 8), tool)
    for T in targets:
        limits = [Clearance(world=[Sphere(T[:3, 3], 0.005)])]
        batch = poise.solve_batch(model, [Reach(tool, T, tolerance=(0.15, 0.5))], {tool: T[None]}, limits=limits)
        assert batch.status[0] != poise.Status.IN_COLLISION


def test_a_blocked_row_that_starts_inside_comes_out() -> None:
    model = poise.load("ur5e")
    start, target = np.array(model.rest), model.fk(model.rest + 0.4, "tool0")
    world = [Sphere(model.fk(start, "forearm_link")[:3, 3], 0.1), Sphere(target[:3, 3], 0.3)]
    limit = Clearance(world=world)
    assert limit.measure_gap(model, start) < -0.01
    batch = poise.solve_batch(model, [Reach("tool0", target)], {"tool0": target[None]}, start[None], limits=[limit])
    assert not batch.reached[0]
    assert limit.measure_gap(model, batch.q[0]) > -1e-6


def make_crowd(rng: np.random.Generator) -> Clearance:
    """A clearance among boxes and spheres around an arm."""
    places = rng.uniform((-0.7, -0.7, 0.05), (0.7, 0.7, 0.9), (8, 3))
    places[:, :2] *= np.maximum(1.0, 0.3 / np.linalg.norm(places[:, :2], axis=1))[:, None]
    balls = [Sphere(place, rng.uniform(0.04, 0.12)) for place in places[::2]]
    return Clearance(world=[*balls, *(Box(place, rng.uniform(0.05, 0.3, 3)) for place in places[1::2])])


def shift_targets(T: poise.arrays.Floats, share: float, rng: np.random.Generator) -> poise.arrays.Floats:
    """Targets off by a share of the default tolerances, 0.1 mm and 1 mrad."""
    ways = rng.normal(size=(2, len(T), 3))
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    out = T.copy()
    out[:, :3, 3] += share * 1e-4 * ways[0]
    out[:, :3, :3] = poise.Rotation.from_vector(share * 1e-3 * ways[1]).matrix @ T[:, :3, :3]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.9])
@pytest.mark.parametrize("name", TIPS)
def test_a_target_with_a_clear_pose_is_never_called_in_collision(name: str, share: float) -> None:
    """The witness is the pose that a target was made from: barely clear, so that few others of its target are."""
    model, rng = poise.load(name), np.random.default_rng(7)
    called = reached = count = 0
    for _ in range(4):
        limit, q = make_crowd(rng), model.random(rng, 40_000)
        gap = limit.measure_gap(model, q)
        T = shift_targets(model.fk(q[(gap > 0.0) & (gap < NARROW)], TIPS[name]), share, rng)
        batch = poise.solve_batch(model, Reach(TIPS[name], np.eye(4)), T, limits=[limit])
        called += int((batch.status == poise.Status.IN_COLLISION).sum())
        reached, count = reached + int(batch.reached.sum()), count + len(T)
        assert limit.measure_gap(model, batch.q[batch.reached]).min() >= -1e-9
    assert count > 300
    assert called == 0
    assert reached > 0.97 * count
