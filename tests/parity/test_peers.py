"""Against Pinocchio, to 1e-10: forward kinematics, Jacobians, their time derivatives, the centre of mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import poise
from bodies import random_model
from operations import REFERENCES, Floats, close

pin = pytest.importorskip("pinocchio", reason="the extra `peers` is not installed")
from pinocchio_body import REFERENCES as THEIR_REFERENCES  # noqa: E402
from pinocchio_body import PinocchioBody  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

ARMS = ("panda", "ur5e", "iiwa14")
FIGURES = ("humanoid", "quadruped", "hand", "tree30")
RANDOM = tuple(f"random{seed}" for seed in range(6))
TOLERANCE = 1e-10


@pytest.fixture(scope="module", params=[*ARMS, *FIGURES, *RANDOM])
def body(request: pytest.FixtureRequest) -> PinocchioBody:
    name: str = request.param
    return PinocchioBody(random_model(int(name[6:])) if name in RANDOM else poise.load(name))


def find_moments(body: PinocchioBody, count: int = 5) -> Iterator[tuple[Floats, Floats]]:
    rng = np.random.default_rng(11)
    yield body.ours.rest, np.ones(body.ours.nv)
    for _ in range(count):
        yield body.ours.random(rng), rng.normal(size=body.ours.nv)


def test_fk(body: PinocchioBody) -> None:
    for q, _ in find_moments(body):
        pin.framesForwardKinematics(body.model, body.data, body.q_there(q))
        theirs = [body.data.oMf[body.model.getFrameId(name)].homogeneous for name in body.ours.frames]
        close(body.ours.fk(q), np.array(theirs), TOLERANCE)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobian(body: PinocchioBody, reference: str) -> None:
    for q, _ in find_moments(body):
        there, rates = body.q_there(q), body.rates(q)
        for name in body.ours.frames:
            index = body.model.getFrameId(name)
            theirs = pin.computeFrameJacobian(body.model, body.data, there, index, THEIR_REFERENCES[reference])
            close(body.ours.jacobian(q, name, reference=reference), theirs @ rates, TOLERANCE)


@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobian_dot(body: PinocchioBody, reference: str) -> None:
    for q, v in find_moments(body):
        there, rates, rates_dot = body.q_there(q), body.rates(q), body.rates_dot(q, v)
        pin.computeJointJacobiansTimeVariation(body.model, body.data, there, rates @ v)
        pin.updateFramePlacements(body.model, body.data)
        for name in body.ours.frames:
            at = (body.model.getFrameId(name), THEIR_REFERENCES[reference])
            theirs = pin.getFrameJacobian(body.model, body.data, *at)
            theirs_dot = pin.getFrameJacobianTimeVariation(body.model, body.data, *at)
            ours = body.ours.jacobian_dot(q, v, name, reference=reference)
            close(ours, theirs_dot @ rates + theirs @ rates_dot, TOLERANCE)


def test_center_of_mass(body: PinocchioBody) -> None:
    if not body.ours.mass:
        pytest.skip("a body without mass")
    still = sum((mass for mass, _ in body.still), 0.0)
    moment = sum((mass * place for mass, place in body.still), np.zeros(3))
    for q, _ in find_moments(body):
        there = body.q_there(q)
        moving = body.ours.mass - still
        theirs = (moving * pin.centerOfMass(body.model, body.data, there) + moment) / body.ours.mass
        close(body.ours.center_of_mass(q), theirs, TOLERANCE)
        columns = pin.jacobianCenterOfMass(body.model, body.data, there) @ body.rates(q)
        close(body.ours.center_of_mass_jacobian(q), columns * (moving / body.ours.mass), TOLERANCE)


def test_they_take_our_transforms_and_we_theirs() -> None:
    panda = poise.load("panda")
    T_world_hand = panda.fk(panda.rest, "panda_hand")
    theirs = pin.SE3(T_world_hand)
    close(poise.spatial.as_transform(theirs).matrix, T_world_hand, 1e-15)
    assert panda.with_frame("tool", "panda_hand", theirs).frame("tool").offset.almost_equal(theirs)
