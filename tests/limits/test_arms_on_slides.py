"""Arms on slides among obstacles: sampled joints outside a closed form, numbers of searches, changed worlds."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from limit_oracle import clearance_gaps
from poise.arrays import Floats
from poise.goals import Reach
from poise.limits import Box, Capsule, Clearance, ConvexMesh, Cylinder, HalfSpace, PointCloud, Sphere
from poise.models import iiwa14, panda, ur5e
from poise.models.dh import Link, add_links

ROUNDING = 1e-9  # m
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
