"""Regions of the world: names and transforms, placed row by row, wrong or unusual worlds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from general_arms import draw_general
from limit_oracle import clearance_gaps
from poise import Status
from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound, ShapeMismatch
from poise.goals import Reach
from poise.limits import Box, Capsule, Clearance, ConvexMesh, Cylinder, HalfSpace, PointCloud, Sphere
from poise.spatial import Rotation, Transform

MAKERS: dict[str, Callable[..., Any]] = {
    "sphere": lambda **more: Sphere((0.3, 0.1, 0.2), 0.1, **more),
    "box": lambda **more: Box((0.3, 0.1, 0.2), (0.1, 0.2, 0.3), Rotation.from_vector((0.3, 0.2, 0.1)), **more),
    "sizes": lambda **more: Box((0.1, 0.2, 0.3), **more),
    "capsule": lambda **more: Capsule((0.3, 0.1, 0.2), (0.1, 0.3, 0.2), 0.05, **more),
    "cylinder": lambda **more: Cylinder(0.05, 0.3, **more),
    "mesh": lambda **more: ConvexMesh(np.random.default_rng(1).uniform(-0.1, 0.3, (20, 3)), **more),
    "cloud": lambda **more: PointCloud(np.random.default_rng(1).uniform(-0.1, 0.3, (50, 3)), 0.01, **more),
    "half-space": lambda **more: HalfSpace((0.0, 0.0, -1.0), (0.0, 0.6, 0.8), **more),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_transform_moves_a_region_as_it_moves_the_body(kind) -> None:
    rng = np.random.default_rng(0)
    arm = poise.load("ur5e", base="free")
    T = Transform(Rotation.from_vector((0.4, -0.7, 1.1)), (0.3, 0.2, -0.5))
    still, moved = MAKERS[kind](), MAKERS[kind](transform=T.matrix)
    for q in arm.random(rng, 20):
        base = Transform.from_matrix(arm.fk(q, arm.frames[0]))
        placed = np.concatenate([(T @ base).translation, (T @ base).rotation.wxyz, q[7:]])
        gaps = [Clearance([], world=[region]).measure_gap(arm, at) for region, at in ((still, q), (moved, placed))]
        assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_name_belongs_to_the_region(kind) -> None:
    make = MAKERS[kind]
    assert make().name == ""
    assert make(name="table").name == "table"
    assert make(name="table") != make()
    assert repr(make(name="table")) == repr(make())
    with pytest.raises(InvalidValue, match="name must be a string"):
        make(name=3)
    with pytest.raises(InvalidValue, match="transform"):
        make(transform="table")
    with pytest.raises(ShapeMismatch, match="one transform"):
        make(transform=np.eye(4)[None])


# ---------- Obstacles and the base of a batch, placed row by row: names, bodies without a closed form, the base, errors


TIP = "tool0"
ROUNDING = 1e-9  # m


@pytest.fixture(scope="module")
def arm() -> poise.Model:
    return poise.load("ur5e")


def shift(*steps: tuple[float, float, float]) -> Floats:
    """Translations, (n, 4, 4)."""
    T = np.tile(np.eye(4), (len(steps), 1, 1))
    T[:, :3, 3] = steps
    return T


def reach_around(arm: poise.Model, count: int) -> Floats:
    """Poses of the tool in front of the arm, (count, 4, 4)."""
    q = np.tile((0.0, -1.2, 1.4, -1.8, -1.5, 0.0), (count, 1)) + 0.1 * np.arange(count)[:, None]
    return np.asarray(arm.fk(q, TIP))


def test_regions_of_one_name_move_together(arm) -> None:
    top, leg = Box((5, 0, 0), (0.4, 0.4, 0.1), name="table"), Sphere((-5, 0, 0), 0.15, name="table")
    limits = [Clearance([], 0.0, [top, Sphere((0, 0, 9), 0.1)]), Clearance([], 0.01, [leg, Box((0, 0, 9), (1, 1, 1))])]
    T = reach_around(arm, 4)
    places = shift((0, 0, 0), T[1, :3, 3] - top.center, T[2, :3, 3] - leg.center, (0.3, 0.2, 0.1))
    solved = poise.solve_batch(arm, TIP, T, limits=limits, places={"table": places, "sphere": np.eye(4)})
    assert solved.reached.tolist() == [True, False, False, True]
    for k in range(4):
        here = [Clearance([], 0.0, [Box(top.size, transform=places[k] @ shift(top.center)[0])])]
        here.append(Clearance([], 0.01, [Sphere(places[k, :3, 3] + leg.center, leg.radius)]))
        assert solved.status[k] is poise.solve(arm, Reach(TIP, T[k]), limits=here).status
        if solved.reached[k]:
            assert min(gap for limit in here for gap in clearance_gaps(arm, limit, solved.q[k])) >= -ROUNDING


def test_a_clearance_without_pairs_leaves_the_others_in_place() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("turn", None, "revolute", lower=-2.0, upper=2.0)
    builder.add_shape("turn", poise.model.Box((0.5, 0.0, 0.0), (1.0, 0.1, 0.1)))
    arm = builder.add_frame("tip", "turn", (1.0, 0.0, 0.0)).build()
    limits = [Clearance(), Clearance([], 0.0, [Sphere((0, 0, 9.0), 0.2)])]  # a single part has no pairs
    at = arm.fk(np.array([[0.5], [0.5]]), "tip")[:, :3, 3]
    places = shift((*at[0, :2], -9.0), (0, 0, 0))
    solved = poise.solve_batch(arm, Reach("tip", at[0]), at, limits=limits, places={"sphere": places})
    assert solved.reached.tolist() == [False, True]


def test_rows_in_python_have_their_own_world(arm) -> None:
    limit, T = Clearance([], 0.0, [Sphere((0, 0, 0), 0.15, name="ball")]), reach_around(arm, 3)
    places = shift((0, 0, 5), T[1, :3, 3], (0.3, 0.3, 0.3))
    solved = poise.solve_batch(arm, TIP, T, limits=[limit], places={"ball": places}, solutions=4, turns=True)
    assert solved.reached[:, 0].tolist() == [True, False, True]
    assert solved.status[1, 0] is Status.IN_COLLISION
    for k in (0, 2):
        here = Clearance([], 0.0, [Sphere(places[k, :3, 3], 0.15)])
        assert here.measure_gap(arm, solved.q[k][solved.reached[k]]).min() >= -ROUNDING
    places[0, 0, 0] = 2.0
    solved = poise.solve_batch(arm, TIP, T, limits=[limit], places={"ball": places}, solutions=2, turns=True)
    assert solved.status[0, 0] is Status.INVALID


def test_roots_of_a_general_arm_are_tried_in_every_world() -> None:
    arm, limit = draw_general(3), Clearance([], 0.0, [Sphere((0, 0, 0), 0.05, name="ball")])
    T = arm.fk(arm.random(np.random.default_rng(1), 12), "tool")
    places = shift(*np.random.default_rng(2).uniform(5.0, 6.0, (12, 3)))
    free = poise.solve_batch(arm, "tool", T, solutions=4)
    among = poise.solve_batch(arm, "tool", T, limits=[limit], places={"ball": places}, solutions=4)
    assert among.reached.sum() == free.reached.sum()


def test_a_base_in_an_obstacle_is_in_collision(arm) -> None:
    crate, floor = Box((0, 0, 0.02), (0.3, 0.3, 0.04), name="crate"), HalfSpace((0, 0, 0), (0, 0, 1))
    slab = Box((0, 0, -0.1), (9, 9, 0.2))
    limit, T = Clearance([], 0.0, [crate, floor, slab]), reach_around(arm, 3)
    base = shift((0, 0, 0), (1.0, 0, 0), (0, 0, 0.04))
    solved = poise.solve_batch(arm, TIP, base @ T, limits=[limit], base=base, solutions=2)
    assert [status is Status.IN_COLLISION for status in solved.status[:, 0]] == [True, False, False]
    assert solved.reached[:, 0].tolist() == [False, True, True]  # the third stands on the crate
    assert np.isnan(solved.q[0, 1]).all()
    assert not solved.reached[0].any()
    assert poise.solve_batch(arm, TIP, T[:0], limits=[limit], base=base[:0]).q.shape == (0, 6)
    moved = poise.solve_batch(
        arm, TIP, base @ T, limits=[limit], base=base, places={"crate": shift((1, 0, 0), (1, 0, 0), (0, 0, 0.01))}
    )
    assert moved.reached.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"places": {"table": np.eye(4)}, "limits": ()}, InvalidValue, "places= moves regions"),
        ({"places": [np.eye(4)]}, InvalidValue, "places is list"),
        ({"places": {"tabel": np.eye(4)}}, NameNotFound, "table"),
        ({"places": {"table": np.eye(3)}}, ShapeMismatch, r"places\['table'\] has shape \(3, 3\)"),
        ({"places": {"table": 2.0 * np.eye(4)}}, InvalidValue, r"places\['table'\] is not a rigid transform"),
        ({"places": {"table": shift(*[(0, 0, 0)] * 3)}}, ShapeMismatch, "leading axes"),
        ({"places": {"table": None}}, InvalidValue, r"places\['table'\]"),
        ({"base": np.diag([1.0, 1.0, -1.0, 1.0])}, InvalidValue, "base is not a rigid transform"),
        ({"base": np.eye(4)[:3]}, ShapeMismatch, r"base has shape \(3, 4\)"),
        ({"base": shift(*[(0, 0, 0)] * 3)}, ShapeMismatch, r"base: \(3,\), targets\['tool0'\]: \(2,\)"),
        (
            {"base": shift((0, 0, 0), (0, 0, 0)), "places": {"table": shift(*[(0, 0, 0)] * 3)}},
            ShapeMismatch,
            r"base: \(2,\), places\['table'\]: \(3,\)",
        ),
    ],
)
def test_wrong_places_are_errors_that_name_the_argument(arm, options: dict[str, Any], error, words: str) -> None:
    limits = [Clearance([], 0.0, [Box((0.5, 0, 0.1), (0.2, 0.2, 0.2), name="table")])]
    with pytest.raises(error, match=words):
        poise.solve_batch(arm, TIP, reach_around(arm, 2), **{"limits": limits, **options})


# ------------------- Worlds that are unusual or wrong: each gives the right answer, or an error that names the argument


def make_goal(arm: poise.Model) -> Reach:
    """A pose of the tool 5 cm from its place at rest."""
    T = arm.fk(arm.rest, TIP).copy()
    T[:3, 3] += T[:3, 0] * 0.05
    return Reach(TIP, T)


def test_a_start_in_collision_leaves_it(arm) -> None:
    limit = Clearance(world=[Sphere(arm.fk(arm.rest, "wrist_1_link")[:3, 3], 0.03)])
    assert limit.measure_gap(arm, arm.rest) < 0.0
    solution = poise.solve(arm, make_goal(arm), limits=[limit])
    assert solution.status in (Status.REACHED, Status.IN_COLLISION)
    assert solution.reached == (limit.measure_gap(arm, solution.q) >= -ROUNDING)


def test_a_start_in_many_collisions_gets_deeper_in_none(humanoid) -> None:
    """More of them than the limits that one step considers."""
    rng, place = np.random.default_rng(4), humanoid.fk(humanoid.rest, "hand_l")[:3, 3]
    centers = place - np.array((0.04, 0.03, 0.0)) + 0.01 * rng.normal(size=(80, 3))
    limit = Clearance([], 0.01, [Sphere(center, 0.06) for center in centers])
    start = gaps = clearance_gaps(humanoid, limit, humanoid.rest)
    assert (gaps < 0.0).sum() > 60
    goal = Reach("hand_l", place + np.array((0.3, 0.2, 0.1)))
    solution = poise.solve(humanoid, goal, limits=[limit], record=True, restarts=0, mode="continuous")
    assert solution.history is not None
    for q in solution.history.q:
        before, gaps = gaps, clearance_gaps(humanoid, limit, q)
        assert (gaps >= np.minimum(before, 0.0) - ROUNDING).all()
    assert gaps.min() > 0.5 * start.min()


def test_a_world_that_contains_the_body_is_in_collision(arm) -> None:
    for size in (0.3, 5.0):  # the base, and everything
        solution = poise.solve(
            arm, make_goal(arm), limits=[Clearance(world=[Box((0, 0, 0), [size] * 3, name="crate")])]
        )
        assert solution.status is Status.IN_COLLISION
        assert solution.explanation.causes[0].limits[0].between[1] == "crate"


def test_obstacles_may_overlap(arm) -> None:
    world = [Box((1, 1, 1), (0.3, 0.3, 0.3)), Box((1, 1, 1), (0.3, 0.3, 0.3)), Sphere((1, 1, 1), 0.2)]
    solution = poise.solve(arm, make_goal(arm), limits=[Clearance(world=world)])
    assert solution.reached
    assert Clearance(world=world).measure_gap(arm, solution.q) == Clearance(world=world[1:]).measure_gap(
        arm, solution.q
    )


def test_ten_thousand_obstacles(arm) -> None:
    at = np.random.default_rng(0).uniform(-3.0, 3.0, (10_000, 3))
    at = at[np.linalg.norm(at, axis=1) > 0.9]
    limit = Clearance([], world=[Sphere(center, 0.01) for center in at])
    solution = poise.solve(arm, make_goal(arm), limits=[limit])
    near = at[np.argsort(np.linalg.norm(at, axis=1))[:100]]
    few = Clearance([], world=[Sphere(center, 0.01) for center in near])
    assert solution.reached
    assert limit.measure_gap(arm, solution.q) == pytest.approx(min(clearance_gaps(arm, few, solution.q)), abs=1e-9)


@pytest.mark.parametrize(
    "region",
    [
        Sphere((0.4, 0.1, 0.4), 0.0),
        Box((0.4, 0.1, 0.4), (0.0, 0.0, 0.0)),
        Box((0.4, 0.1, 0.4), (0.0, 0.2, 0.2)),
        Capsule((0.4, 0.1, 0.4), (0.4, 0.1, 0.4), 0.0),
        Cylinder((0.4, 0.1, 0.4), (0.4, 0.3, 0.4), 0.0),
    ],
)
def test_regions_without_size_are_points_and_lines(arm, region) -> None:
    limit, q = Clearance([], 0.0, [region]), arm.random(np.random.default_rng(3), 5)
    expected = [min(clearance_gaps(arm, limit, one)) for one in q]
    np.testing.assert_allclose(limit.measure_gap(arm, q), expected, atol=1e-7)
