"""The gaps of convex parts, compared with distances by another method."""

import numpy as np
import pytest
from scipy.optimize import nnls

import poise
from poise.arrays import Floats
from poise.limits.convex_parts import ConvexParts, Overlaps
from poise.limits.support_points import SupportPoints

NEAR_M = 0.05
SIZES = {"boxes": (8, 0.0), "many corners": (60, 0.0), "balls": (9, 0.02)}  # points and radius


def make_parts(rng: np.random.Generator, points: int, radius: float) -> ConvexParts:
    """Return a snake whose links are random hulls, thin ones too."""
    model = poise.load("snake100")
    frames = model.frames[::8][:12]
    solids = tuple(
        SupportPoints(
            frame, rng.uniform(-0.1, 0.1, (points, 3)) * rng.uniform(0.02, 1.0, 3), np.full(points, radius), True
        )
        for frame in frames
    )
    pairs = [(i, j) for j in range(len(solids)) for i in range(j)]
    return ConvexParts(model, solids, np.array(pairs, dtype=np.intp))


def measure_distances(parts: ConvexParts, rows: Overlaps) -> Floats:
    """Return the distances of the hulls of the points of pairs, without radii; about 0 if they overlap.

    The point of a hull nearest to the origin, by non-negative least squares: minimise |D w|^2 + (1 - sum w)^2.
    """
    out = np.zeros(len(rows.depth))
    for row, pair in enumerate(rows.pair):
        first, second = (parts.solids[k].points for k in parts.pairs[pair])
        D = ((first @ rows.turn[row].T + rows.shift[row])[:, None] - second[None]).reshape(-1, 3)
        weights, _ = nnls(np.vstack([D.T, np.ones(len(D))]), np.array([0.0, 0.0, 0.0, 1.0]))
        out[row] = np.linalg.norm(weights @ D) / weights.sum()
    return out


@pytest.mark.parametrize("kind", SIZES)
def test_gaps_of_parts_are_their_distances(kind: str) -> None:
    rng = np.random.default_rng(0)
    parts = make_parts(rng, *SIZES[kind])
    rows = parts.measure(np.asarray(parts.model.random(rng, 60)), NEAR_M, steady=False)
    rows = rows.select(rng.permutation(len(rows.depth))[:100])
    gaps = measure_distances(parts, rows) - 2.0 * SIZES[kind][1]
    apart = gaps > 1e-6
    assert apart.sum() > 20
    assert np.abs(gaps + rows.depth)[apart].max() < 1e-5
    assert (rows.depth[~apart] > -1e-5).all()
