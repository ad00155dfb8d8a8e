"""Joints at right angles in their parents are placed without products; the answers are those of the products."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import poise


def list_right_angles() -> list[np.ndarray]:
    """The 24 rotations that bring axes onto axes."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            R = np.zeros((3, 3))
            R[range(3), order] = signs
            if np.linalg.det(R) > 0:
                found.append(R)
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("noise", [0.0, 1e-17, 1e-16])
def test_every_right_angle_is_the_product_of_its_matrices(noise: float, dtype: Any) -> None:
    """Also where an angle such as pi / 2 has left some rounding in the place of a zero."""
    rng = np.random.default_rng(3)
    offsets = []
    builder = poise.ModelBuilder("corners")
    parent = None
    for i, R in enumerate(list_right_angles()):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R + noise * (R == 0.0) * rng.choice([-1.0, 1.0], (3, 3)), rng.normal(size=3)
        builder.add_joint(f"j{i}", parent, "revolute", offset=T)
        offsets.append(T)
        parent = f"j{i}"
    model = builder.build()
    q: NDArray[Any] = rng.uniform(-3.0, 3.0, (5, model.nq)).astype(dtype)
    for row in q.astype(np.float64):
        wanted = np.eye(4)
        for i, (x, T) in enumerate(zip(row, offsets, strict=True)):
            turn = np.eye(4)
            turn[:2, :2] = [[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]
            wanted = wanted @ T @ turn
            at = model.fk(row.astype(dtype), f"j{i}")
            np.testing.assert_allclose(at, wanted, atol=1e-13 if dtype is np.float64 else 2e-4)
    np.testing.assert_allclose(model.fk(q)[:, -1], [model.fk(row, parent) for row in q], atol=2e-4)
    step = 1e-6 * rng.normal(size=model.nv)
    if dtype is np.float64:
        moved = model.fk(q[0] + step, parent)[:3, 3] - model.fk(q[0] - step, parent)[:3, 3]
        np.testing.assert_allclose(model.jacobian(q[0], parent)[:3] @ step * 2, moved, atol=1e-12)
