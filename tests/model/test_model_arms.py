"""The built-in arms against their makers' tables, multiplied out here by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from poise import models

PI = np.pi
Matrix = NDArray[np.float64]
Table = list[tuple[float, float, float]]


def rot_x(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def rot_z(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def move(x: float, y: float, z: float) -> Matrix:
    return np.block([[np.eye(3), np.array([[x], [y], [z]])], [np.zeros((1, 3)), np.ones((1, 1))]])


def modified_dh(table: Table, q: Matrix) -> Matrix:
    """Rows (a, d, alpha) as the Panda's maker prints them; Craig's convention."""
    place = np.eye(4)
    for (a, d, alpha), angle in zip(table, q, strict=True):
        place = place @ rot_x(alpha) @ move(a, 0, 0) @ rot_z(angle) @ move(0, 0, d)
    return place


def classical_dh(table: Table, q: Matrix) -> Matrix:
    """Rows (a, d, alpha) as Universal Robots prints them."""
    place = np.eye(4)
    for (a, d, alpha), angle in zip(table, q, strict=True):
        place = place @ rot_z(angle) @ move(0, 0, d) @ move(a, 0, 0) @ rot_x(alpha)
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


def panda_flange(q: Matrix) -> Matrix:
    return modified_dh(PANDA, q) @ move(0, 0, 0.107)


ENDS = {
    "panda": ("panda_link8", panda_flange),
    "ur5e": ("tool0", lambda q: classical_dh(UR5E, q)),
    "iiwa14": ("iiwa_link_ee", lambda q: classical_dh(IIWA14, q)),
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
    np.testing.assert_allclose(model.fk(model.rest, "base_link"), rot_z(PI), atol=1e-15)


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
@pytest.mark.parametrize(("name", "mass"), [("panda", 17.4219), ("ur5e", 21.7), ("iiwa14", 30.61)])
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
