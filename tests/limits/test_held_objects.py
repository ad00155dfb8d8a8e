"""Objects that a body holds: parts of it in clearances."""

import pickle

import numpy as np
import pytest

import poise
from limit_oracle import box_distance, clearance_gaps, cylinder_distance, from_segment, hull_distance
from poise import Status
from poise.arrays import Floats
from poise.goals import Reach
from poise.limits import Box, Capsule, Clearance, ConvexMesh, Cylinder, HalfSpace, Sphere
from poise.spatial import Rotation

HAND = "panda_hand_tcp"
ROUNDING = 1e-9  # m
BOTTLE = Capsule((0.0, 0.0, 0.05), (0.0, 0.0, 0.35), 0.03, name="bottle")
CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.04, 0.04) for z in (0.0, 0.2)])


def test_a_held_object_is_kept_out_of_the_world(panda) -> None:
    table = HalfSpace((0, 0, 0.1), (0, 0, 1), name="table")
    bare, holding = Clearance([], world=[table]), Clearance([], world=[table], held={HAND: BOTTLE})
    q = panda.random(np.random.default_rng(0), 50)
    T = panda.fk(q, HAND)
    ends = T[:, None, :3, 3] + np.array([BOTTLE.start, BOTTLE.end]) @ np.swapaxes(T[:, :3, :3], 1, 2)
    own = ends[..., 2].min(axis=1) - 0.1 - 0.03
    np.testing.assert_allclose(holding.measure_gap(panda, q), np.minimum(bare.measure_gap(panda, q), own), atol=1e-9)
    low = np.array(panda.fk(panda.rest, HAND))
    low[2, 3] = 0.25
    assert poise.solve(panda, Reach(HAND, low), limits=[bare]).reached
    missed = poise.solve(panda, Reach(HAND, low), limits=[holding])
    assert missed.status is Status.IN_COLLISION
    assert "bottle" in missed.why()
    assert "table" in missed.why()


def test_a_held_object_meets_other_parts_but_not_its_hand(panda) -> None:
    q = panda.random(np.random.default_rng(1), 400)
    stick = Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 0.5), 0.02, name="stick")
    bare, holding = Clearance(), Clearance(held={HAND: stick})
    gaps = holding.measure_gap(panda, q)
    assert (gaps < bare.measure_gap(panda, q)).any()
    assert gaps[0] == pytest.approx(min(clearance_gaps(panda, holding, q[0])), abs=1e-9)
    capsules = holding.capsules(panda)
    partners = {capsules[i].frame for i, k in holding.index_pairs(panda) if capsules[k].name == "stick"}
    assert {"panda_link2", "panda_link3", "panda_link5"} <= partners
    assert not partners & {"panda_link6", "panda_link7", "panda_hand", "panda_leftfinger", "panda_rightfinger"}
    ball = Clearance(held={HAND: Sphere((0, 0, 0), 0.05)})  # in the fingers
    assert ball.measure_gap(panda, panda.rest) == pytest.approx(bare.measure_gap(panda, panda.rest), abs=0.2)
    assert ball.measure_gap(panda, panda.rest) > 0.0


@pytest.mark.parametrize(
    ("region", "most"),
    [
        (Box((0.1, 0.0, 0.1), (0.2, 0.08, 0.2), Rotation.from_vector((0.3, 0.2, 0.1))), 0.05),
        (Box((0.0, 0.0, 0.1), (0.2, 0.0, 0.1)), 0.05),
        (Box((0.0, 0.0, 0.1), (0.0, 0.0, 0.0)), 0.0),
        (ConvexMesh(CORNERS), 0.08),
        (Cylinder((0.0, 0.0, 0.0), (0.0, 0.1, 0.2), 0.06), 0.08),
        (Cylinder((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0), 0.0),
    ],
)
def test_solids_are_contained_and_hardly_larger(panda, region, most) -> None:
    balls = [capsule for capsule in Clearance(held={HAND: region}).capsules(panda) if capsule.name]
    points = np.random.default_rng(0).uniform(-0.2, 0.3, (4000, 3))
    gaps = np.min([from_segment(np.array(c.a), np.array(c.b), points) - c.radius for c in balls], axis=0)
    far = measure_distances(region, points)
    assert (gaps <= np.maximum(far, 0.0) + ROUNDING).all()
    assert (gaps >= far - most * 0.26 - ROUNDING)[far > 0.0].all()
    assert len(balls) <= 100


def measure_distances(region: Box | ConvexMesh | Cylinder, points: Floats) -> Floats:
    """Return the signed distances of points from a region."""
    if isinstance(region, Box):
        return box_distance(region, points)
    if isinstance(region, ConvexMesh):
        return hull_distance(region.vertices, points)
    return cylinder_distance(region, points) if region.radius else np.linalg.norm(points, axis=1)


def test_both_hands_hold_things_that_stay_apart() -> None:
    model = poise.load("humanoid")
    sticks = {f"hand_{side}": Capsule((0, 0, 0), (0, 0, 0.4), 0.02, name=side) for side in "lr"}
    limit = Clearance(held=sticks)
    capsules = limit.capsules(model)
    names = {(capsules[i].name, capsules[k].name) for i, k in limit.index_pairs(model)}
    assert ("l", "r") in names
    assert pickle.loads(pickle.dumps(limit)) == limit
    q = poise.solve(model, [Reach("hand_l", (0.1, 1.2, 0.4)), Reach("hand_r", (-0.1, 1.2, 0.4))], limits=[limit]).q
    assert min(clearance_gaps(model, limit, q)) >= -ROUNDING


def test_worlds_change_and_batches_hold(panda) -> None:
    rng = np.random.default_rng(5)
    limit = Clearance(world=[Sphere((5, 5, 5), 0.1)], held={HAND: [BOTTLE, Sphere((0, 0, 0.4), 0.05)]})
    q = panda.random(rng, 300)
    world = [Box((0.5, 0.0, 0.2), (0.3, 0.8, 0.4), name="crate")]
    there = Clearance(world=world, held=limit.held)
    T = panda.fk(q[there.measure_gap(panda, q) > 0.001][:10], HAND)
    batch = poise.solve_batch(panda, Reach(HAND, np.eye(4)), T, limits=[there])
    assert batch.reached.all()
    assert there.measure_gap(panda, batch.q).min() >= -ROUNDING
    solver = poise.Solver(panda, Reach(HAND, T[0]), limits=[limit]).with_world(world)
    assert there.measure_gap(panda, solver.solve(panda.rest).q) >= -ROUNDING
