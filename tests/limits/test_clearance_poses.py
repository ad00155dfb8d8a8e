"""Poses among obstacles: the answer keeps clear, wherever the way to it leads; arms on slides."""

import numpy as np
import pytest

import poise
from limit_oracle import clearance_gaps
from poise import Status
from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound
from poise.goals import Reach, Rest
from poise.limits import Box, Capsule, Clearance, ConvexMesh, Cylinder, HalfSpace, PointCloud, Sphere
from poise.models import iiwa14, panda, ur5e
from poise.models.dh import Link, add_links

TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0", "iiwa14": "iiwa_link_ee"}
ROUNDING = 1e-9  # m


def draw_region(rng: np.random.Generator) -> object:
    """A thing of 10 to 40 cm within reach."""
    at, size = rng.uniform((-0.8, -0.8, -0.3), (0.8, 0.8, 1.3)), rng.uniform(0.1, 0.4, 3)
    turn = poise.Rotation.from_vector(rng.normal(size=3))
    end = at + turn.apply((0.0, 0.0, size[1]))
    kinds = (
        Box(at, size, turn),
        Sphere(at, size[0] / 2),
        Capsule(at, end, size[0] / 3),
        Cylinder(at, end, size[0] / 3),
    )
    return kinds[rng.integers(4)]


def make_scene(model: poise.Model, rng: np.random.Generator) -> tuple[Clearance, Floats]:
    """A world of twelve things, and a pose that is clear of them."""
    while True:
        q = model.random(rng)
        world: list[object] = []
        while len(world) < 12:
            region = draw_region(rng)
            if Clearance([], 0.0, [region]).measure_gap(model, np.stack([q, model.rest])).min() > 0.01:
                world.append(region)
        if Clearance(world=world).measure_gap(model, q) > 1e-4:
            return Clearance(world=world), q


@pytest.mark.parametrize("name", TIPS)
def test_a_pose_that_is_known_to_be_clear_is_found(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(7)
    for _ in range(10):
        limit, q = make_scene(model, rng)
        solution = poise.solve(model, Reach(TIPS[name], model.fk(q, TIPS[name])), limits=[limit])
        assert solution.reached
        assert min(clearance_gaps(model, limit, solution.q)) >= -ROUNDING


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_the_last_clear_part_of_an_arc_is_found(name: str) -> None:
    """Of all poses of a goal, only those near the one with the widest gap keep the distance."""
    model, tip, rng, tried = poise.load(name), TIPS[name], np.random.default_rng(11), 0
    for _ in range(200):
        if tried == 20:
            break
        scene, q = make_scene(model, rng)
        goal = Reach(tip, model.fk(q, tip))
        widest = Clearance([], 0.0, scene.world).measure_gap(model, poise.solve_all(model, goal, samples=720).q).max()
        if widest < 1e-3:
            continue
        tried += 1
        limit = Clearance([], widest - 3e-5, scene.world)
        solution = poise.solve(model, goal, limits=[limit])
        assert solution.reached
        assert limit.measure_gap(model, solution.q) >= -ROUNDING
    assert tried == 20


@pytest.mark.parametrize("place", [(0.0, 0.0, 9.0), (0.2, -0.2, 0.5)], ids=["out of reach", "in reach"])
def test_a_missed_second_level_costs_the_first_nothing(place: tuple[float, float, float]) -> None:
    """All listed poses of the first level collide; one between them is clear."""
    model, tip, rng = poise.load("panda"), TIPS["panda"], np.random.default_rng(11)
    for _ in range(6):
        scene, q = make_scene(model, rng)
        T = model.fk(q, tip)
        goals = [Reach(tip, T), Reach("panda_link4", place, priority=1)]
        every = poise.solve_all(model, goals[0], samples=720).q
        limit = Clearance([], Clearance([], 0.0, scene.world).measure_gap(model, every).max() - 3e-5, scene.world)
        solution = poise.solve(model, goals, limits=[limit])
        assert not solution.reached
        assert solution.status is not poise.Status.IN_COLLISION
        assert limit.measure_gap(model, solution.q) >= -ROUNDING
        np.testing.assert_allclose(model.fk(solution.q, tip), T, atol=2e-3)


def test_a_body_without_a_closed_form_finds_one_too() -> None:
    model, rng = poise.load("humanoid"), np.random.default_rng(3)
    arm = [
        joint.name for joint in model.joints if joint.name.endswith("_l") and joint.name[:4] in "clav shou elbo wris"
    ]
    limit, found = Clearance([], 0.0, [Box((0.3, 1.22, 0.23), (0.3, 0.02, 0.2))]), 0
    for _ in range(12):
        target = np.array((0.3, 1.12, 0.35)) + rng.uniform(-0.1, 0.1, 3)
        solution = poise.solve(model, Reach("hand_l", target), joints=arm, limits=[limit])
        assert min(clearance_gaps(model, limit, solution.q)) >= -ROUNDING
        found += solution.reached
    assert found >= 10


def test_the_posture_chooses_among_the_clear_branches() -> None:
    model, tip = poise.load("ur5e"), TIPS["ur5e"]
    rng = np.random.default_rng(5)
    for _ in range(5):
        limit, q = make_scene(model, rng)
        goal = Reach(tip, model.fk(q, tip))
        solution = poise.solve(model, [goal, Rest(q)], limits=[limit])
        assert solution.reached
        assert np.abs(model.difference(q, solution.q)).max() < 1e-4


def test_a_start_that_is_clear_and_reaches_stays() -> None:
    model, tip = poise.load("panda"), TIPS["panda"]
    limit, q = make_scene(model, np.random.default_rng(9))
    solution = poise.solve(model, Reach(tip, model.fk(q, tip)), q, limits=[limit])
    np.testing.assert_allclose(solution.q, q, atol=1e-9)


def test_a_target_inside_an_obstacle_is_missed() -> None:
    model, tip = poise.load("ur5e"), TIPS["ur5e"]
    T = model.fk(model.rest, tip)
    solution = poise.solve(model, Reach(tip, T), limits=[Clearance([], 0.0, [Sphere(T[:3, 3], 0.2)])])
    assert solution.status is Status.IN_COLLISION
    assert not solution.reached


@pytest.mark.parametrize("region", ["sphere", "box", "capsule", "cylinder", "half-space"])
def test_gaps_are_those_of_the_oracle(region: str) -> None:
    model, rng = poise.load("panda"), np.random.default_rng(1)
    turn = poise.Rotation.from_vector((0.3, 0.4, 0.5))
    world = {
        "sphere": Sphere((0.4, 0.1, 0.4), 0.1),
        "box": Box((0.4, 0.1, 0.4), (0.1, 0.3, 0.2), turn),
        "capsule": Capsule((0.4, 0.1, 0.4), (0.5, 0.3, 0.2), 0.05),
        "cylinder": Cylinder((0.4, 0.1, 0.4), (0.5, 0.3, 0.2), 0.1),
        "half-space": HalfSpace((0, 0, 0.1), (0.1, 0, 1)),
    }
    limit = Clearance(world=[world[region]])
    q = model.random(rng, 30)
    gaps = limit.measure_gap(model, q)
    np.testing.assert_allclose(gaps, [min(clearance_gaps(model, limit, one)) for one in q], atol=1e-7)
    assert limit.measure_gap(model, q[0]) == gaps[0] == limit.measure_gap(model, poise.Pose(model, q[0]))
    assert limit.measure_gap(model, q.reshape(5, 6, -1)).shape == (5, 6)


@pytest.mark.parametrize("name", ["panda", "humanoid"])
def test_gaps_among_many_things_are_those_of_the_oracle(name: str) -> None:
    model, rng = poise.load(name), np.random.default_rng(8)
    world = [*(draw_region(rng) for _ in range(25)), HalfSpace((0, 0, -0.5), (0.2, 0.1, 1.0))]
    limit, q = Clearance(world=world, distance=0.02), model.random(rng, 10)
    expected = [min(clearance_gaps(model, limit, one)) + limit.distance for one in q]
    np.testing.assert_allclose(limit.measure_gap(model, q), expected, atol=1e-7)


def test_gaps_of_a_body_that_grows() -> None:
    builder = poise.ModelBuilder("balloon")
    builder.add_joint("size", None, "uniform_scale", lower=0.5, upper=4.0)
    builder.add_frame("tip", "size", offset=(0.4, 0.0, 0.0))
    model = builder.add_shape("tip", poise.model.Sphere(0.1)).build()
    limit = Clearance([], 0.0, [Sphere((2.0, 0.0, 0.0), 0.1)])
    q = np.array([[1.0], [2.0], [3.0]])
    expected = 1.8 - model.fk(q, "tip")[:, 0, 3]
    np.testing.assert_allclose(limit.measure_gap(model, q), expected, atol=1e-12)


@pytest.mark.parametrize("name", TIPS)
def test_another_world_gives_the_answers_of_a_new_solver(name: str) -> None:
    model, tip, rng = poise.load(name), TIPS[name], np.random.default_rng(2)
    first, q = make_scene(model, rng)
    solver = poise.Solver(model, Reach(tip, model.fk(q, tip)), limits=[first])
    before = solver.solve()
    for _ in range(3):
        limit, q = make_scene(model, rng)
        T = model.fk(q, tip)
        other = solver.with_world(limit.world)
        found = other.solve(None, {tip: T})
        expected = poise.Solver(model, Reach(tip, np.eye(4)), limits=[limit]).solve(None, {tip: T})
        np.testing.assert_array_equal(found.q, expected.q)
        assert found.status is expected.status
        (kept,) = other.options.limits
        assert isinstance(kept, Clearance)
        assert kept.world == limit.world
    np.testing.assert_array_equal(solver.solve().q, before.q)  # the old one keeps its world


def test_a_world_for_a_limit_that_is_not_there_is_refused() -> None:
    model = poise.load("panda")
    goal = Reach(TIPS["panda"], (0.4, 0.0, 0.4))
    with pytest.raises(InvalidValue, match="needs a Clearance"):
        poise.Solver(model, goal).with_world([Sphere((1, 1, 1), 0.1)])
    two = [Clearance(name="one"), Clearance(name="two", distance=0.01)]
    with pytest.raises(InvalidValue, match="limit="):
        poise.Solver(model, goal, limits=two).with_world([])
    with pytest.raises(NameNotFound, match="three"):
        poise.Solver(model, goal, limits=two).with_world([], limit="three")
    assert len(poise.Solver(model, goal, limits=two).with_world([], limit="two").options.limits) == 2


# ------------ Arms on slides among obstacles: sampled joints outside a closed form, numbers of searches, changed worlds


X, Y, Z = np.eye(3)
ARMS: dict[str, tuple[tuple[Link, ...], list[Floats], list[Floats]]] = {  # links, and slides below and behind them
    "seven hinges on a lift": (panda.LINKS, [Z], []),
    "seven hinges on a rail": (iiwa14.LINKS, [Y], []),
    "six hinges on two rails": (ur5e.LINKS, [X, Y], []),
    "seven hinges with a sliding tool": (panda.LINKS, [], [Z]),
}


def add_slides(builder: poise.ModelBuilder, parent: str, axes: list[Floats]) -> str:
    """Add slides of 0.6 m; return the last frame."""
    for axis in axes:
        name = f"slide after {parent}"
        builder.add_joint(name, parent, "prismatic", axis=axis, lower=-0.3, upper=0.3, frame=f"carriage {name}")
        parent = f"carriage {name}"
    return parent


def make_arm(links: tuple[Link, ...], below: list[Floats], behind: list[Floats]) -> poise.Model:
    """Return an arm with slides below and behind its links."""
    builder = poise.ModelBuilder("arm")
    builder.add_frame("ground")
    add_links(builder, add_slides(builder, "ground", below), links)
    builder.add_frame("tip", add_slides(builder, links[-1].frame, behind), (0.0, 0.0, 0.1))
    return builder.build()


def make_crowd(model: poise.Model, rng: np.random.Generator) -> tuple[Clearance, Floats]:
    """Return forty spheres, half of them near the tip, and a pose that they barely leave."""
    q = model.random(rng)
    while Clearance().measure_gap(model, q) < 1e-3:
        q = model.random(rng)
    tip = model.fk(q, "tip")[:3, 3]
    world: list[Sphere] = []
    while len(world) < 40:
        near = len(world) % 2 == 0
        at = tip + rng.uniform(-0.35, 0.35, 3) if near else rng.uniform((-0.9, -0.9, -0.2), (0.9, 0.9, 1.5))
        region = Sphere(at, rng.uniform(0.05, 0.15))
        if Clearance([], 0.0, [region]).measure_gap(model, np.stack([q, model.rest])).min() > 0.003:
            world.append(region)
    return Clearance(world=world), q


@pytest.mark.parametrize("name", ARMS)
def test_the_clear_poses_of_an_arm_on_slides_are_found(name: str) -> None:
    model, rng = make_arm(*ARMS[name]), np.random.default_rng(4)
    for _ in range(25):
        limit, q = make_crowd(model, rng)
        T = model.fk(q, "tip")
        solution = poise.solve(model, Reach("tip", T), limits=[limit])
        assert solution.reached
        assert min(clearance_gaps(model, limit, solution.q)) >= -ROUNDING
        np.testing.assert_allclose(model.fk(solution.q, "tip"), T, atol=2e-3)


@pytest.mark.parametrize("restarts", [0, 1, 7, 60, 150])
@pytest.mark.parametrize("name", ["panda", "humanoid"])
def test_a_given_number_of_restarts_counts_among_obstacles(name: str, restarts: int) -> None:
    model = poise.load(name)
    frame = {"panda": "panda_hand_tcp", "humanoid": "hand_l"}[name]
    place = model.fk(model.rest, frame)[:3, 3] + (0.0, 0.05, 0.02)
    limit = Clearance([], 0.0, [Sphere(place, 0.1)])  # no pose is clear there, and nothing proves it
    solution = poise.solve(model, Reach(frame, place), limits=[limit], restarts=restarts)
    assert not solution.reached
    assert solution.searches == 1 + restarts


TURN = poise.Transform(poise.Rotation.from_vector((0.3, -0.2, 0.5)), (0.1, -0.1, 0.05))
POINTS = np.array([(0.5, 0.1, 0.3), (0.6, 0.2, 0.4), (0.5, 0.3, 0.5), (0.4, 0.2, 0.3), (0.5, 0.1, 0.6)])
WORLDS = {
    "half-space": lambda place: HalfSpace((0.0, 0.0, -0.2), (0.1, 0.0, 1.0), transform=place),
    "sphere": lambda place: Sphere((0.5, 0.1, 0.4), 0.15, transform=place),
    "box": lambda place: Box((0.5, 0.1, 0.4), (0.2, 0.3, 0.2), transform=place),
    "capsule": lambda place: Capsule((0.5, 0.1, 0.3), (0.6, 0.3, 0.5), 0.1, transform=place),
    "cylinder": lambda place: Cylinder((0.5, 0.1, 0.3), (0.6, 0.3, 0.5), 0.1, transform=place),
    "convex mesh": lambda place: ConvexMesh(POINTS, transform=place),
    "point cloud": lambda place: PointCloud(POINTS, 0.08, transform=place),
}


@pytest.mark.parametrize("arm", ["panda", "lift"])
@pytest.mark.parametrize("kind", [*WORLDS, "all"])
def test_a_changed_world_gives_the_answers_of_a_new_solver(kind: str, arm: str) -> None:
    model = poise.load("panda") if arm == "panda" else make_arm(*ARMS["seven hinges on a lift"])
    tip, rng = {"panda": "panda_hand_tcp", "lift": "tip"}[arm], np.random.default_rng(6)
    kinds = list(WORLDS) if kind == "all" else [kind]
    places = (None, TURN, None, TURN @ TURN)  # other regions, and the same ones again
    goal = Reach(tip, np.eye(4))
    changed = poise.Solver(model, goal, limits=[Clearance(world=[Box((9.0, 9.0, 9.0), (1.0, 1.0, 1.0))])])
    for place in places:
        world = [WORLDS[each](place) for each in kinds]
        changed, fresh = changed.with_world(world), poise.Solver(model, goal, limits=[Clearance(world=world)])
        for q in model.random(rng, 5):
            targets = {tip: model.fk(q, tip)}
            found, expected = changed.solve(None, targets), fresh.solve(None, targets)
            np.testing.assert_array_equal(found.q, expected.q)
            assert (found.status, found.searches, found.steps) == (expected.status, expected.searches, expected.steps)


def test_gaps_measured_in_blocks_are_those_of_single_poses(monkeypatch: pytest.MonkeyPatch) -> None:
    model, limit = poise.load("panda"), Clearance()
    q = model.random(np.random.default_rng(3), 20)
    monkeypatch.setattr("poise.limits.clearance.BLOCK", 7)
    np.testing.assert_array_equal(limit.measure_gap(model, q), [limit.measure_gap(model, row) for row in q])
