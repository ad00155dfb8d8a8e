"""Gravity: the torques are the derivative of the potential energy, for every joint kind, up axis and unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import poise
from bodies import EVERY_KIND, random_model
from poise.errors import InvalidValue, ShapeMismatch

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
