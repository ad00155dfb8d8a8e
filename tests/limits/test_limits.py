"""Limits as objects: values, refusals, their numbers, and the capsules that a body is made of."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import poise
from bodies import random_model
from poise.errors import InvalidValue, NameNotFound, PoiseError, ShapeMismatch
from poise.kinematics.parts import find_rigid_parts
from poise.limits import (
    Acceleration,
    Box,
    Capsule,
    Clearance,
    Closed,
    Cone,
    Coupled,
    HalfSpace,
    Limit,
    Speed,
    Sphere,
)
from poise.limits.capsules import body_capsules, capsule_distances, cover_solid
from poise.limits.cone import find_cones
from poise.limits.limit import name_limits
from poise.limits.pairs import choose_pairs
from poise.limits.skeleton import BodyCapsule
from poise.model import BallRange
from poise.model.geometry import shapes as solids
from poise.native import core

GROUND = HalfSpace((0, 0, 0), (0, 1, 0))
EACH: list[Limit] = [
    Clearance(),
    Clearance([("hand_l", "head")], 0.02, [GROUND, Sphere((0, 1, 1), 0.2), Box((0, 0, 0), (1, 1, 1), np.eye(3))]),
    Clearance(pairs=[], world=Capsule((0, 0, 0), (1, 0, 0), 0.1)),
    Cone("shoulder", swing=(0.5, 1.0)),
    Cone("shoulder", twist=(-1, 1), axis=(0, 0, 2)),
    Coupled({"elbow_l": 1, "elbow_r": -1}, -0.1, 0.1),
    Closed("hand_l", "hand_r"),
    Closed("hand_l", "hand_r", (0.1, 0, 0), point=(0, 0, 1)),
    Speed(2.0),
    Speed({"elbow_l": 1.0, "hip_l": (1, 2, 3)}),
    Acceleration(5.0, name="gentle"),
]


# ------------------------------------------------------------------------------------------------ as values


@pytest.mark.parametrize("limit", EACH, ids=lambda limit: limit.name)
def test_a_limit_is_a_value(limit: Limit) -> None:
    twin = pickle.loads(pickle.dumps(limit))
    assert twin == limit
    assert hash(twin) == hash(limit)
    assert all(limit != other for other in EACH if other is not limit)
    with pytest.raises(AttributeError):
        limit.name = "other"  # type: ignore[misc]


def test_limits_are_named_and_numbered() -> None:
    named = name_limits([Clearance(), Clearance(distance=0.1), Speed(1.0), Coupled({"a": 1, "b": 2}, 0, 1)])
    assert list(named) == ["clearance", "clearance#2", "speed", "coupled a+b"]
    assert list(name_limits(Speed(1.0, name="slow"))) == ["slow"]
    for wrong in ([3], "clearance", 3, [Clearance]):
        with pytest.raises(InvalidValue, match="limits must be a list of limits"):
            name_limits(wrong)


NAN = float("nan")
REFUSED: list[tuple[Callable[[poise.Model], Any], type[PoiseError], str]] = [
    (lambda _: Clearance(pairs="all"), InvalidValue, "'auto' or a list"),
    (lambda _: Clearance(pairs=[]), InvalidValue, "limits nothing"),
    (lambda _: Clearance(pairs=["hand_l"]), InvalidValue, "not a pair of frames"),
    (lambda _: Clearance(distance=NAN), InvalidValue, "distance"),
    (lambda _: Clearance(distance=-0.1), InvalidValue, "distance"),
    (lambda _: Clearance(world=[3]), InvalidValue, "Capsule, Cylinder, ConvexMesh or PointCloud"),
    (lambda m: Clearance([("hand_l", "nose")]).index_pairs(m), NameNotFound, "nose"),
    (lambda m: Clearance([("hand_l", "thumb_l")]).index_pairs(m), InvalidValue, "same rigid part"),
    (lambda _: Cone("s"), InvalidValue, "limits nothing"),
    (lambda _: Cone("s", twist=(1, -1)), InvalidValue, "swap them"),
    (lambda _: Cone("s", swing=0.0), InvalidValue, "above zero"),
    (lambda _: Cone("s", swing=(1, 2, 3)), ShapeMismatch, "swing"),
    (lambda _: Cone("s", angle=1.0, axis=(0, 0, 0)), InvalidValue, "axis is zero"),
    (lambda m: Cone("knee_l", swing=1).range(m), InvalidValue, "only ball joints"),
    (lambda _: Coupled({}, 0, 1), InvalidValue, "at least one coefficient"),
    (lambda _: Coupled({"a": 1}), InvalidValue, "limits nothing"),
    (lambda _: Coupled({"a": 1}, 2, 1), InvalidValue, "must not be above"),
    (lambda _: Coupled({"a": NAN}, 0, 1), InvalidValue, "coefficient of 'a'"),
    (lambda _: Coupled(3, 0, 1), InvalidValue, "must be {joint: coefficient}"),
    (lambda m: Coupled({"elbow": 1}, 0, 1).row(m), NameNotFound, "elbow_"),
    (lambda m: Coupled({"hip_l": 1}, 0, 1).row(m), InvalidValue, "hip_l.rx"),
    (lambda m: Coupled({"hip_l.w": 1}, 0, 1).row(m), NameNotFound, "coordinate of joint 'hip_l'"),
    (lambda m: Coupled({"elbow_l": 1}, 5, 6).row(m), InvalidValue, "cannot hold"),
    (lambda _: Closed("a", "a"), InvalidValue, "two frames"),
    (lambda _: Closed("a", "b", (NAN, 0, 0)), InvalidValue, "transform"),
    (lambda m: Closed("foot_l", "heel_l").row(m), InvalidValue, "same rigid part"),
    (lambda _: Speed(-1), InvalidValue, "above zero"),
    (lambda _: Speed("fast"), InvalidValue, "positive number"),
    (lambda _: Speed({}), InvalidValue, "empty"),
    (lambda _: Acceleration(NAN), InvalidValue, "above zero"),
    (lambda m: Speed({"elbow_l": (1, 2)}).bounds(m), ShapeMismatch, "elbow_l"),
    (lambda m: Speed({"elbow": 1}).bounds(m), NameNotFound, "elbow_"),
    (lambda _: Speed(1.0, name=3), InvalidValue, "name must be a string"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "error", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_invalid_values_are_rejected_by_name(
    humanoid: poise.Model, make: Callable[[poise.Model], Any], error: type[PoiseError], words: str
) -> None:
    with pytest.raises(error, match=words):
        make(humanoid)


# ------------------------------------------------------------------------------------------------ in numbers


def test_cones_are_put_over_the_models_own() -> None:
    builder = poise.ModelBuilder("arm")
    builder.add_joint("a", None, "ball", cone=BallRange(swing=0.5, twist=(-1.0, 1.0), axis=(1, 0, 0)))
    builder.add_joint("b", "a", "ball")
    builder.add_joint("c", "b", "ball")
    model = builder.build()
    found = find_cones(model, [Cone("a", swing=(0.2, 0.3)), Cone("b", angle=1.0), Cone("b", twist=(0, 1))])
    assert found == {
        "a": BallRange(swing=(0.2, 0.3), twist=(-1.0, 1.0), axis=(1.0, 0.0, 0.0)),
        "b": BallRange(twist=(0.0, 1.0), angle=1.0),
    }


def test_coupled_rows_are_sums_of_coordinates() -> None:
    """Also of followers, whose value is a multiple of their leader's."""
    builder = poise.ModelBuilder("machine")
    builder.add_joint("base", None, "planar")
    builder.add_joint("lead", "base", "revolute")
    builder.add_joint("hip", "lead", "euler", order="ZXY")
    builder.add_joint("knee.l", "hip", "revolute")
    builder.add_joint("gear", "knee.l", "revolute", mimic=("lead", -2.0, 0.3))
    model = builder.build()
    rule = Coupled({"base.angle": 1.0, "hip.x": 2.0, "hip.2": 3.0, "knee.l": 4.0, "gear": 5.0}, -1.0, 1.0)
    row = rule.row(model)
    q = np.random.default_rng(0).normal(size=model.nq)
    base, lead, hip, knee = (q[model.joint(name).q] for name in ("base", "lead", "hip", "knee.l"))
    value = base[2] + 2 * hip[1] + 3 * hip[2] + 4 * knee[0] + 5 * (-2.0 * lead[0] + 0.3)
    assert row.coefficients @ q[row.q_index] - row.lower == pytest.approx(value - rule.lower)
    assert row.upper - row.lower == pytest.approx(2.0)


def test_bounds_of_rates_name_joints_and_reach_leaders(humanoid: poise.Model) -> None:
    bounds = Speed({"elbow_l": 1.0, "hip_l": (1, 2, 3)}).bounds(humanoid)
    np.testing.assert_array_equal(bounds[humanoid.joint("hip_l").v], (1, 2, 3))
    assert np.isfinite(bounds).sum() == 4
    builder = poise.ModelBuilder("gears").add_joint("a", None, "revolute")
    builder.add_joint("b", "a", "revolute", mimic=("a", -4.0, 0.0))
    model = builder.build()
    assert Speed(2.0).bounds(model).tolist() == [0.5]
    assert Acceleration({"b": 2.0}).bounds(model).tolist() == [0.5]


def test_a_loop_is_a_place_in_the_other_frame(humanoid: poise.Model) -> None:
    row = Closed("hand_l", "hand_r").row(humanoid)
    assert (row.frame, row.other, row.turns) == ("hand_l", "hand_r", True)
    row = Closed("hand_l", "hand_r", (0.1, 0.0, 0.0), point=(0, 0, 1)).row(humanoid)
    assert not row.turns
    np.testing.assert_array_equal(row.target[9:], (0.1, 0.0, 0.0))
    np.testing.assert_array_equal(row.point, (0, 0, 1))


# ------------------------------------------------------------------------------------------------ capsules


@pytest.mark.slow
def test_segment_distances_are_the_least_ones() -> None:
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(40, 4, 3))
    ends[:5, 1] = ends[:5, 0]  # points
    ends[5:10, 3] = ends[5:10, 2] + (ends[5:10, 1] - ends[5:10, 0])  # parallel
    found = core.segment_distances(ends[:, 0], ends[:, 1], ends[:, 2], ends[:, 3])
    for (a, b, c, d), distance in zip(ends, found, strict=True):

        def gap(x: Any, a: Any = a, b: Any = b, c: Any = c, d: Any = d) -> float:
            return float(np.sum((a + x[0] * (b - a) - c - x[1] * (d - c)) ** 2))

        tries = [minimize(gap, start, bounds=[(0, 1)] * 2).fun for start in ((0.5, 0.5), (0, 1), (1, 0))]
        assert distance == pytest.approx(math.sqrt(max(min(tries), 0.0)), abs=1e-5)


def test_a_figures_capsules_look_human(humanoid: poise.Model) -> None:
    """Radii within what people have; every part with a bone has some; the feet stand on the ground."""
    capsules = body_capsules(humanoid)
    thick = {capsule.frame: capsule.radius for capsule in capsules}
    for frame, low, high in [
        *(("head", 0.06, 0.11), ("chest", 0.07, 0.16), ("shoulder_l", 0.035, 0.06), ("forearm_l", 0.03, 0.055)),
        *(("hip_l", 0.06, 0.10), ("knee_l", 0.04, 0.07), ("wrist_l", 0.015, 0.04), ("ankle_l", 0.02, 0.05)),
    ]:
        assert low < thick[frame] < high, frame
    assert thick["shoulder_l"] == pytest.approx(thick["shoulder_r"])
    moving = set(find_rigid_parts(humanoid).values()) - {None}
    assert {capsule.frame for capsule in capsules} == moving
    lowest = min(
        (humanoid.fk(humanoid.rest, c.frame)[:3] @ np.append(end, 1.0))[1] - c.radius
        for c in capsules
        for end in (c.a, c.b)
    )
    assert lowest == pytest.approx(0.0, abs=1e-9)


def test_automatic_pairs_are_apart_at_rest_and_not_neighbours(humanoid: poise.Model) -> None:
    capsules = body_capsules(humanoid)
    pairs = choose_pairs(humanoid, capsules, 0.0)
    names = {frozenset((capsules[i].frame, capsules[j].frame)) for i, j in pairs}
    assert capsule_distances(humanoid, capsules, pairs, humanoid.rest).min() > 0.0
    for one, other in [("hip_l", "hip_r"), ("wrist_l", "head"), ("wrist_l", "wrist_r"), ("forearm_l", "chest")]:
        assert frozenset((one, other)) in names
    for one, other in [("hip_l", "knee_l"), ("pelvis", "hip_l"), ("head", "neck"), ("chest", "clavicle_l")]:
        assert frozenset((one, other)) not in names
    far = choose_pairs(humanoid, capsules, 0.05)
    assert len(far) < len(pairs)


def test_a_hand_in_the_chest_is_seen(humanoid: poise.Model) -> None:
    pairs = Clearance([("hand_l", "chest")]).index_pairs(humanoid)
    solution = poise.solve(humanoid, poise.goals.Relative("hand_l", "chest", (0.0, 0.1, 0.05)))
    gaps = capsule_distances(humanoid, body_capsules(humanoid), pairs, solution.q)
    assert solution.reached
    assert gaps.min() < 0.0


@pytest.mark.parametrize(
    "solid",
    [
        solids.Sphere(0.1),
        solids.Capsule(0.1, 0.3),
        solids.Cylinder(0.1, 0.5),
        solids.Cylinder(0.3, 0.05),
        solids.Box((0.1, 0.5, 0.2)),
        solids.Box((0.3, 0.3, 0.3)),
    ],
)
def test_a_solids_capsule_covers_it(solid: Any) -> None:
    rng = np.random.default_rng(0)
    points = draw_inside(solid, rng)
    T = np.eye(4)
    T[:3, 3] = (0.1, 0.2, 0.3)
    builder = poise.ModelBuilder("one").add_joint("a", None, "free")
    builder.add_shape("a", solid, offset=T)
    capsule = cover_solid(builder.build().shapes[0])
    a, b = np.array(capsule.a), np.array(capsule.b)
    world = points + T[:3, 3]
    gaps = core.segment_distances(world, world, np.broadcast_to(a, world.shape), np.broadcast_to(b, world.shape))
    assert gaps.max() <= capsule.radius + 1e-12


def draw_inside(solid: Any, rng: np.random.Generator) -> Any:
    """Points on the rim of a solid."""
    turns = rng.uniform(0, 2 * np.pi, 400)
    if isinstance(solid, solids.Box):
        return rng.choice([-0.5, 0.5], size=(50, 3)) * np.array(solid.size)
    half = getattr(solid, "length", 0.0) / 2
    side = rng.choice([-1.0, 1.0], size=400)
    return np.stack([solid.radius * np.cos(turns), solid.radius * np.sin(turns), side * half], axis=1)


def test_solids_of_the_body_come_before_its_skeleton() -> None:
    builder = poise.ModelBuilder("robot")
    builder.add_joint("a", None, "revolute", mass=1.0)
    builder.add_joint("b", "a", "revolute", offset=(0, 0, 0.5), mass=1.0)
    builder.add_joint("c", "b", "revolute", offset=(0, 0, 0.5), mass=1.0)
    builder.add_frame("tip", "c", (0, 0, 0.5))
    assert [c.frame for c in body_capsules(builder.build())] == ["a", "b", "c"]
    builder.add_shape("a", solids.Sphere(0.2), use="collision")
    builder.add_shape("b", solids.Mesh("b.stl"), use="collision")
    builder.add_shape("c", solids.Sphere(0.3), use="visual")
    found = body_capsules(builder.build())
    assert [capsule.frame for capsule in found] == ["a", "b"]
    assert found[0] == BodyCapsule("a", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.2)


@pytest.mark.parametrize("mass", [0.0, 3.0])
@pytest.mark.parametrize("kind", ["free", "fixed", "translation3"])
def test_massless_parents_of_a_pelvis_are_not_bones(kind: str, mass: float) -> None:
    builder = poise.ModelBuilder("figure")
    builder.add_joint("scene", None, kind, mass=mass)
    builder.add_joint("place", "scene", "translation3", offset=(0.0, 0.2, 0.0))
    builder.add_joint("hips", "place", "ball", offset=(0.0, 0.8, 0.0))
    builder.add_joint("trunk", "hips", "ball", offset=(0.0, 0.2, 0.0))
    builder.add_frame("top", "trunk", (0.0, 0.5, 0.0))
    builder.add_role("pelvis", "hips")
    carried = [capsule.frame for capsule in body_capsules(builder.build())]
    assert {"hips", "trunk"} <= set(carried)
    assert ("scene" in carried) == (mass > 0.0)
    assert "place" not in carried


def test_the_table_has_every_region_and_pair(humanoid: poise.Model) -> None:
    world = [GROUND, Sphere((0, 1, 1), 0.2), Box((0, 0, 3), (1, 2, 3)), Capsule((0, 0, 0), (1, 0, 0), 0.1)]
    rows = Clearance(distance=0.01, world=world[::-1]).list_surfaces(humanoid)
    table, n = rows.make_native(), len(rows.body.capsules)
    assert (table["ends"].shape, table["radius"].shape) == ((n, 6), (n,))
    assert table["pairs"].max() < n
    assert table["moves"].all()
    assert rows.regions == tuple(world)
    numbers = [row[1:] for row in table["regions"].tolist()]
    assert numbers[0][:4] == [0, 1, 0, 0]
    assert numbers[1][:7] == [0, 1, 1, 0, 1, 1, 0.2]
    assert numbers[2][:15] == [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 3, 0.5, 1, 1.5]
    assert numbers[3][:7] == [0, 0, 0, 1, 0, 0, 0.1]
    assert len(rows) == len(list(rows)) == len(table["pairs"]) + 5 * n
    assert rows[len(rows) - 1].between[1] == "a capsule"
    assert Clearance().list_surfaces(humanoid).make_native()["regions"].shape == (0, 17)


@pytest.mark.parametrize("seed", range(20))
def test_every_body_has_sound_capsules(seed: int) -> None:
    model = random_model(seed, joints=10)
    for capsule in body_capsules(model):
        assert np.isfinite([*capsule.a, *capsule.b, capsule.radius]).all()
        assert 0.0 <= capsule.radius <= 0.08 * model.length + 1e-12
    choose_pairs(model, body_capsules(model), 0.0)
