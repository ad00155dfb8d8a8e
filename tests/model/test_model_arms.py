"""The built-in arms against their makers' tables, gravity, and solids."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import poise
from bodies import EVERY_KIND, random_model
from poise import goals, kinematics, limits, models
from poise import model as shapes
from poise.errors import InvalidValue, ShapeMismatch
from poise.model import Box, Capsule, ModelBuilder, Sphere

PI = np.pi
Matrix = NDArray[np.float64]
Table = list[tuple[float, float, float]]


def turn_about_x(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def turn_about_z(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def move(x: float, y: float, z: float) -> Matrix:
    return np.block([[np.eye(3), np.array([[x], [y], [z]])], [np.zeros((1, 3)), np.ones((1, 1))]])


def place_modified_dh(table: Table, q: Matrix) -> Matrix:
    """Rows (a, d, alpha) as the Panda's maker prints them; Craig's convention."""
    place = np.eye(4)
    for (a, d, alpha), angle in zip(table, q, strict=True):
        place = place @ turn_about_x(alpha) @ move(a, 0, 0) @ turn_about_z(angle) @ move(0, 0, d)
    return place


def place_classical_dh(table: Table, q: Matrix) -> Matrix:
    """Rows (a, d, alpha) as Universal Robots prints them."""
    place = np.eye(4)
    for (a, d, alpha), angle in zip(table, q, strict=True):
        place = place @ turn_about_z(angle) @ move(0, 0, d) @ move(a, 0, 0) @ turn_about_x(alpha)
    return place


PANDA: Table = [
    (0, 0.333, 0),
    (0, 0, -PI / 2),
    (0, 0.316, PI / 2),
    (0.0825, 0, PI / 2),
    (-0.0825, 0.384, -PI / 2),
    (0, 0, PI / 2),
    (0.088, 0, PI / 2),
]
UR5E: Table = [
    (0, 0.1625, PI / 2),
    (-0.425, 0, 0),
    (-0.3922, 0, 0),
    (0, 0.1333, PI / 2),
    (0, 0.0997, -PI / 2),
    (0, 0.0996, 0),
]
# the seven-joint table of the LBR iiwa: 0.36, 0.42, 0.40, 0.126
IIWA14: Table = [
    (0, 0.36, -PI / 2),
    (0, 0, PI / 2),
    (0, 0.42, PI / 2),
    (0, 0, -PI / 2),
    (0, 0.40, -PI / 2),
    (0, 0, PI / 2),
    (0, 0.126, 0),
]


def place_panda_flange(q: Matrix) -> Matrix:
    return place_modified_dh(PANDA, q) @ move(0, 0, 0.107)


ENDS = {
    "panda": ("panda_link8", place_panda_flange),
    "ur5e": ("tool0", lambda q: place_classical_dh(UR5E, q)),
    "iiwa14": ("iiwa_link_ee", lambda q: place_classical_dh(IIWA14, q)),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_where_the_table_says(name: str) -> None:
    model = models.build(name)
    frame, expected = ENDS[name]
    rng = np.random.default_rng(7)
    for q in [np.zeros(model.nq), model.rest, model.lower, model.upper, *rng.uniform(-PI, PI, (20, model.nq))]:
        np.testing.assert_allclose(model.fk(q, frame), expected(q), atol=1e-14)


@pytest.mark.parametrize(
    ("name", "frame", "position"),
    [
        ("panda", "panda_link8", (0.088, 0.0, 0.926)),
        ("panda", "panda_hand_tcp", (0.088, 0.0, 0.926 - 0.1034)),
        ("ur5e", "tool0", (-0.8172, -0.2329, 0.0628)),
        ("iiwa14", "iiwa_link_ee", (0.0, 0.0, 1.306)),
        ("planar2", "tip", (2.0, 0.0, 0.0)),
        ("planar3", "tip", (3.0, 0.0, 0.0)),
    ],
)
def test_known_positions_at_zero(name: str, frame: str, position: tuple[float, float, float]) -> None:
    model = models.build(name)
    np.testing.assert_allclose(model.fk(np.zeros(model.nq), frame)[:3, 3], position, atol=1e-14)


def test_so101_has_the_places_of_its_makers_file() -> None:
    # gripper_frame_link of so101_new_calib.urdf in MuJoCo
    place = models.build("so101").fk([0.3, -0.5, 0.7, 0.2, 0.1, 0.0], "gripper_frame_link")[:3, 3]
    np.testing.assert_allclose(place, (0.30402675, -0.08286977, 0.13784712), atol=2e-5)


def test_panda_ready_pose() -> None:
    # the tool points down, 0.3069 m out and 0.4869 m up (the maker's ready pose at the hand's centre point)
    model = models.build("panda")
    tcp = model.fk(model.rest, "panda_hand_tcp")
    np.testing.assert_allclose(tcp[:3, 3], (0.3069, 0.0, 0.4869), atol=1e-4)
    np.testing.assert_allclose(tcp[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-12)
    np.testing.assert_allclose(model.rest, (0, -PI / 4, 0, -3 * PI / 4, 0, PI / 2, PI / 4))


@pytest.mark.parametrize(("name", "frame"), [("ur5e", "tool0"), ("iiwa14", "iiwa_link_ee")])
def test_tools_point_down_at_rest(name: str, frame: str) -> None:
    model = models.build(name)
    np.testing.assert_allclose(model.fk(model.rest, frame)[:3, 2], (0, 0, -1), atol=1e-12)


def test_panda_limits() -> None:
    model = models.build("panda")
    np.testing.assert_array_equal(model.upper, (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973))
    np.testing.assert_array_equal(model.lower, (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973))


def test_ur5e_limits() -> None:
    model = models.build("ur5e")
    np.testing.assert_allclose(model.upper, 2 * PI)
    np.testing.assert_allclose(model.lower, -2 * PI)


def test_iiwa14_limits() -> None:
    model = models.build("iiwa14")
    np.testing.assert_allclose(np.degrees(model.upper), (170, 120, 170, 120, 170, 120, 175))
    np.testing.assert_array_equal(model.lower, -model.upper)


def test_ur5e_base_link_is_the_base_turned_round() -> None:
    model = models.build("ur5e")
    np.testing.assert_allclose(model.fk(model.rest, "base"), np.eye(4), atol=0)
    np.testing.assert_allclose(model.fk(model.rest, "base_link"), turn_about_z(PI), atol=1e-15)


@pytest.mark.parametrize(
    ("name", "joints"),
    [
        ("panda", [f"panda_joint{i}" for i in range(1, 8)]),
        ("iiwa14", [f"iiwa_joint_{i}" for i in range(1, 8)]),
        (
            "ur5e",
            [
                "shoulder_pan_joint",
                "shoulder_lift_joint",
                "elbow_joint",
                "wrist_1_joint",
                "wrist_2_joint",
                "wrist_3_joint",
            ],
        ),
    ],
)
def test_joints_have_the_makers_names_in_order(name: str, joints: list[str]) -> None:
    model = models.build(name)
    assert [joint.name for joint in model.joints] == joints
    assert [model.joint(joint).q.start for joint in joints] == list(range(len(joints)))


# masses: the sum of the published link masses, with the base and the Panda's hand
@pytest.mark.parametrize(("name", "mass"), [("panda", 17.4219), ("ur5e", 21.7), ("iiwa14", 30.61), ("so101", 0.632)])
def test_masses_add_up(name: str, mass: float) -> None:
    assert models.build(name).mass == pytest.approx(mass, abs=1e-4)


@pytest.mark.parametrize("name", ["planar2", "planar3"])
def test_planar_arms_follow_their_equation(name: str) -> None:
    model = models.build(name)
    for q in np.random.default_rng(3).uniform(-PI, PI, (10, model.nq)):
        angles = np.cumsum(q)
        tip = (np.cos(angles).sum(), np.sin(angles).sum(), 0.0)
        np.testing.assert_allclose(model.fk(q, "tip")[:3, 3], tip, atol=1e-14)
    assert np.all(np.isinf(model.lower))
    assert np.all(np.isinf(model.upper))


# -------------- Gravity: the torques are the derivative of the potential energy, for every joint kind, up axis and unit


STEP = 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_gravity_is_the_derivative_of_the_potential_energy(seed: int) -> None:
    model, rng = random_model(seed, joints=14, kinds=EVERY_KIND), np.random.default_rng(seed)
    q, g = model.random(rng), rng.normal(size=3)

    def energy(v: np.ndarray) -> float:
        return float(-model.mass * g @ model.center_of_mass(model.integrate(q, v)))

    slopes = [(energy(STEP * unit) - energy(-STEP * unit)) / (2 * STEP) for unit in np.eye(model.nv)]
    assert np.allclose(model.gravity(q, g), slopes, atol=1e-6 * model.mass * model.length)


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_gravity_points_against_the_up_axis(up: str) -> None:
    builder = poise.ModelBuilder("weight")
    builder.up = up
    builder.add_joint("slide", None, "translation3", mass=2.0)
    model = builder.build()
    assert np.allclose(model.gravity(model.rest), 2.0 * 9.81 * model.up_direction)


def test_gravity_of_a_batch_is_that_of_its_rows() -> None:
    model = poise.load("panda")
    q = model.random(np.random.default_rng(0), (2, 3))
    torques = model.gravity(q)
    assert torques.shape == (2, 3, model.nv)
    assert np.allclose(torques[1, 2], model.gravity(q[1, 2]))
    assert model.gravity(q.astype(np.float32)).dtype == np.float32


def test_the_unit_of_length_does_not_matter() -> None:
    """A pendulum in centimetres needs the same torque [N m]."""
    torques = []
    for units, length in (("m", 0.5), ("cm", 50.0)):
        builder = poise.ModelBuilder("pendulum")
        builder.units = units
        builder.add_joint("hinge", None, "revolute", axis=(0, 1, 0), mass=2.0, center=(length, 0, 0))
        torques.append(builder.build().gravity([0.0]))
    assert np.allclose(torques, -2.0 * 9.81 * 0.5)


def test_wrong_arguments_are_named() -> None:
    model = poise.load("panda")
    with pytest.raises(ShapeMismatch, match="acceleration"):
        model.gravity(model.rest, 9.81)
    light = poise.Model("light", [replace(s, mass=0.0) for s in model.layout.specs])
    with pytest.raises(InvalidValue, match="no mass"):
        light.gravity(light.rest)


# -------------------------- Solids: one Box, one Capsule and one Sphere, as parts of a body and as regions of the world


TURN = poise.Rotation.from_vector((0.3, -0.4, 0.5))
PLACED = {
    "sphere": Sphere((1.0, 2.0, 3.0), 0.5),
    "box": Box((1.0, 2.0, 3.0), (0.1, 0.2, 0.3), TURN),
    "capsule": Capsule((1.0, 2.0, 3.0), (1.5, 1.0, 3.5), 0.2),
    "capsule down": Capsule((0.0, 0.0, 1.0), (0.0, 0.0, -1.0), 0.2),
    "capsule of no length": Capsule((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.2),
}


def test_every_door_leads_to_the_same_class() -> None:
    assert goals.Box is limits.Box is kinematics.Box is shapes.Box
    assert limits.Capsule is kinematics.Capsule is shapes.Capsule
    assert goals.Ball is limits.Ball is limits.Sphere is kinematics.Sphere is shapes.Sphere


def test_a_solid_without_a_place_stands_at_the_origin() -> None:
    assert Sphere(0.5) == Sphere((0, 0, 0), 0.5) == Sphere(radius=0.5)
    assert Box((1, 2, 3)) == Box((0, 0, 0), (1, 2, 3)) == Box(size=(1, 2, 3)) == Box((0, 0, 0), size=(1, 2, 3))
    assert Capsule(0.1, 2.0) == Capsule((0, 0, -1), (0, 0, 1), 0.1) == Capsule(length=2.0, radius=0.1)
    assert all(solid.placement is None for solid in (Sphere(0.5), Box((1, 2, 3)), Capsule(0.1, 2.0), Capsule(0.1, 0)))


def test_the_length_of_a_capsule_is_the_one_given() -> None:
    for length in (*np.random.default_rng(0).lognormal(0.0, 20.0, 1000).tolist(), 0.0, 1e-150, 1e90):
        assert Capsule(0.1, length).length == length


@pytest.mark.parametrize("solid", PLACED.values(), ids=PLACED)
def test_a_place_of_its_own_becomes_part_of_the_offset(solid: Any) -> None:
    """A region is a solid and a place: the same points, as a shape of a body and as a region."""
    offset = poise.Transform(poise.Rotation.from_vector((0.1, 0.2, 0.3)), (3.0, 2.0, 1.0))
    builder = ModelBuilder("one").add_joint("a", None, "fixed")
    (shape,) = builder.add_shape("a", solid, offset=offset).build().shapes
    assert shape.shape == type(solid)(**solid.sizes)
    assert shape.shape.placement is None
    np.testing.assert_allclose(shape.offset.matrix, (offset @ solid.placement).matrix, atol=1e-15)
    for x in np.random.default_rng(1).normal(size=(50, 3)) * 0.3 + solid.placement.translation:
        inside = solid.placement.inverse().apply(x)
        assert measure_gap(shape.shape, inside) == pytest.approx(measure_gap(solid, x), abs=1e-12)


def measure_gap(solid: Any, x: Any) -> float:
    """Return the distance of a point from a solid [m], from its own fields."""
    if isinstance(solid, Sphere):
        return max(0.0, float(np.linalg.norm(x - np.array(solid.center))) - solid.radius)
    if isinstance(solid, Box):
        local = solid.matrix.T @ (x - np.array(solid.center))
        return float(np.linalg.norm(np.maximum(np.abs(local) - np.array(solid.size) / 2, 0.0)))
    start, along = np.array(solid.start), np.array(solid.end) - np.array(solid.start)
    share = np.clip(along @ (x - start) / max(along @ along, 1e-300), 0.0, 1.0)
    return max(0.0, float(np.linalg.norm(x - start - share * along)) - solid.radius)


@pytest.mark.parametrize("solid", PLACED.values(), ids=PLACED)
def test_a_solid_can_be_changed_in_one_number(solid: Any) -> None:
    larger = replace(solid, **({"size": (1, 1, 1)} if isinstance(solid, Box) else {"radius": 1.0}))
    assert larger != solid
    assert larger.placement.almost_equal(solid.placement)
