"""The subproblems as printed: every answer answers, and the turns that a question was made of are among them."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.goals import Reach
from poise.textbook import (
    axis_rotation,
    find_parallel_turns,
    find_turn_onto,
    find_turns_to_distance,
    find_turns_to_height,
    find_two_turns,
    find_wrist,
)

TURN = 2.0 * np.pi


def draw(rng: np.random.Generator) -> np.ndarray:
    """A unit vector."""
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def is_listed(answers, turns) -> bool:
    """Whether turns are among the answers, whole turns aside."""
    off = np.array(answers).reshape(len(answers), -1) - turns
    return bool((np.abs(off - TURN * np.round(off / TURN)).max(axis=1) < 1e-6).any())


@pytest.mark.parametrize("seed", range(40))
def test_one_turn(seed) -> None:
    rng = np.random.default_rng(seed)
    k, h, p, t = draw(rng), draw(rng), rng.normal(size=3), rng.uniform(-3, 3)
    there = axis_rotation(k, t) @ p
    assert abs(find_turn_onto(k, p, there) - t) < 1e-9
    heights = find_turns_to_height(h, k, p, float(h @ there))
    assert is_listed(heights, t)
    assert all(abs(h @ axis_rotation(k, x) @ p - h @ there) < 1e-9 for x in heights)
    q = rng.normal(size=3)
    far = float(np.linalg.norm(there - q))
    distances = find_turns_to_distance(k, p, q, far)
    assert is_listed(distances, t)
    assert all(abs(np.linalg.norm(axis_rotation(k, x) @ p - q) - far) < 1e-9 for x in distances)
    assert find_turns_to_height(h, k, p, 2.0 * float(np.linalg.norm(p))) == []
    assert find_turns_to_distance(k, p, q, far + 20.0) == []


@pytest.mark.parametrize("seed", range(40))
def test_several_turns(seed) -> None:
    rng = np.random.default_rng(100 + seed)
    a, b, c, p = draw(rng), draw(rng), draw(rng), rng.normal(size=3)
    t = rng.uniform(-3, 3, size=3)
    q = axis_rotation(a, t[0]) @ axis_rotation(b, t[1]) @ p
    pairs = find_two_turns(a, b, p, q)
    assert is_listed(pairs, t[:2])
    assert all(np.abs(axis_rotation(a, x) @ axis_rotation(b, y) @ p - q).max() < 1e-8 for x, y in pairs)
    R = axis_rotation(a, t[0]) @ axis_rotation(b, t[1]) @ axis_rotation(c, t[2])
    triples = find_wrist(a, b, c, R)
    assert is_listed(triples, t)
    for x, y, z in triples:
        assert np.abs(axis_rotation(a, x) @ axis_rotation(b, y) @ axis_rotation(c, z) - R).max() < 1e-8
    one, two = rng.normal(size=3), rng.normal(size=3)

    def move(x: float, y: float) -> np.ndarray:
        bent = two + axis_rotation(a, y) @ (p - two)
        return one + axis_rotation(a, x) @ (bent - one)

    bends = find_parallel_turns(a, one, two, p, move(*t[:2]))
    assert is_listed(bends, t[:2])
    assert all(np.abs(move(*pair) - move(*t[:2])).max() < 1e-8 for pair in bends)
    assert find_parallel_turns(a, one, two, p, move(*t[:2]) + a) == []


def test_the_wrist_of_an_arm_is_the_one_that_the_kernels_list() -> None:
    builder = poise.ModelBuilder("arm")
    places, parent = ((0, 0, 0.3), (0, 0.1, 0), (0, 0, 0.4), (0, 0, 0.4), (0, 0, 0), (0, 0, 0)), None
    axes = [np.eye(3)["xyz".index(letter)] for letter in "zyyzyz"]
    for k, (axis, place) in enumerate(zip(axes, places, strict=True)):
        offset = poise.Transform(translation=place)
        builder.add_joint(f"j{k}", parent, "revolute", offset=offset, axis=axis, lower=-3.1, upper=3.1)
        parent = f"j{k}"
    model = builder.add_frame("tool", parent, poise.Transform()).build()
    rng = np.random.default_rng(3)
    for q in model.random(rng, 10):
        R = model.fk(q, "tool")[:3, :3]
        for answer in poise.solve_all(model, Reach("tool", model.fk(q, "tool")), q):
            first = np.linalg.multi_dot([axis_rotation(axes[k], answer.q[k]) for k in range(3)])
            assert is_listed(find_wrist(axes[3], axes[4], axes[5], first.T @ R), answer.q[3:])
