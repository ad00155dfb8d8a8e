"""Laws of joints along a curve and of bones that lengthen, over random curves in random trees of every joint kind.

`test_kinematics_laws.py` has the laws that they share with all other joints.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from bodies import EVERY_KIND, GIVEN_KINDS, GROWING_KINDS, models, random_model, random_path
from goal_bodies import random_body
from goal_cases import CASES
from operations import Case, close
from poise import Solver, textbook

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [name for name in CASES if "custom" not in name])
def test_the_rows_of_every_goal_give_the_gradient_of_its_cost(name: str, seed: int) -> None:
    """J^T r is the fall of |r|^2 / 2, by differences of the written formula."""
    body, q = random_body(seed, at_pose=False, kinds=(*GIVEN_KINDS, *GIVEN_KINDS, "euler", "ball"))
    goal, rows = CASES[name](body)
    model, native = body.model, Solver(body.model, goal).problem
    J, r, velocities = native.rows_jacobian(q)
    pull = np.zeros(model.nv)
    pull[velocities] = J.T @ r
    moves = 1e-6 * np.eye(model.nv)
    costs = [
        [0.5 * float(rows(at) @ rows(at)) for at in (model.integrate(q, m), model.integrate(q, -m))] for m in moves
    ]
    fall = -np.subtract(*np.transpose(costs)) / 2e-6
    np.testing.assert_allclose(pull, fall, atol=2e-6 * (1.0 + np.abs(fall).max()))


# ------------------------------------------------------------------------------------------------ the textbook's


@pytest.mark.slow
@settings(max_examples=25)
@given(model=models(kinds=EVERY_KIND, max_joints=10), seed=SEEDS)
def test_the_textbook_has_the_same_derivative(model: poise.Model, seed: int) -> None:
    case = Case.of(model, seed)
    q, v, frame = case.q, case.v, case.frame
    rate = textbook.jacobian_derivative(model, q, v, frame)
    close(model.jacobian_dot(q, v, frame, reference="body"), rate, 1e-9)


# ------------------------------------------------------------------------------------------------ out of range


@pytest.mark.parametrize("seed", range(12))
def test_any_number_is_answered(seed: int) -> None:
    """Beyond its ends a curve goes on straight, without a jump in place, turn or Jacobian; NaN is harmless."""
    path = random_path(np.random.default_rng(seed))
    builder = poise.ModelBuilder("wire").add_joint("bead", None, "path", path=path)
    model = builder.add_frame("tip", "bead", (0.1, 0.2, 0.3)).build()
    for x in (-1e300, -1e9, -1.0, path.length + 1.0, 1e9, 1e300):
        T = model.fk(np.array([x]), "tip")
        if abs(x) < 1e10:
            assert np.isfinite(T).all()
            np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-9)
    for bad in (np.nan, np.inf, -np.inf):
        native = model.native_body  # the door refuses such numbers; the kernel answers them nevertheless
        try:
            native.fk(np.array([bad]), "tip")
        except poise.errors.PoiseError:
            continue
    for end in (0.0, path.length):
        inside, outside = (model.jacobian(np.array([end + d]), "tip") for d in (-1e-9, 1e-9))
        if not path.corner:  # from a line to an arc the curvature jumps
            np.testing.assert_allclose(inside, outside, atol=1e-5)
        near, far = (model.fk(np.array([end + d]), "tip") for d in (-1e-9, 1e-9))
        np.testing.assert_allclose(near, far, atol=1e-7)


@pytest.mark.slow
def test_random_bodies_have_all_kinds() -> None:
    model = random_model(3, joints=60, kinds=EVERY_KIND)
    assert {joint.kind for joint in model.joints} == set(EVERY_KIND)
    assert {*EVERY_KIND, *GROWING_KINDS} == set(poise.model.KINDS)
    paths = [joint.path for joint in model.joints if joint.path is not None]
    assert len(paths) >= 4
