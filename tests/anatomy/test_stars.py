"""Stars: equal limbs all round a hub are neither legs nor arms, and many of them take little work."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import poise
from poise.anatomy import poses, symmetry
from stools import make_star, make_stool


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("up", "xyz")
@pytest.mark.parametrize("turn", [0.0, 0.3, 0.5 * np.pi])
def test_a_star_with_five_arms_is_not_a_biped_whichever_way_is_up(turn: float, up: str, free: bool) -> None:
    found = poise.roles(make_star(5, turn=turn, up=up, free=free))
    assert found.kind in ("", "many legs")  # stood on an edge it has three limbs on the ground
    assert "head" not in found


@pytest.mark.parametrize("arms", [3, 4, 6, 7])
def test_a_star_that_lies_flat_is_not_a_biped(arms: int) -> None:
    assert poise.roles(make_star(arms)).kind != "biped"


def test_a_figure_whose_arms_are_as_long_as_its_legs_is_a_biped() -> None:
    builder = poise.ModelBuilder("doll")
    builder.add_joint("trunk", None, "free", offset=(0.0, 0.0, 1.0), mass=5.0)
    for limb, way in (("leg", (0.0, 0.0, -0.3)), ("arm", (0.0, 0.3, 0.05))):
        for sign, side in ((1.0, "a"), (-1.0, "b")):
            parent, at = "trunk", np.array([0.0, 0.15 * sign, 0.0 if limb == "leg" else 0.5])
            for k in range(3):
                builder.add_joint(f"{limb}{side}{k}", parent, "ball", offset=at, mass=0.5)
                parent, at = f"{limb}{side}{k}", np.array(way) * (1.0, sign, 1.0)
            builder.add_frame(f"{limb}{side}_end", parent, offset=at)
    builder.add_joint("neck", "trunk", "ball", offset=(0.0, 0.0, 0.6), mass=0.5)
    builder.add_joint("top", "neck", "ball", offset=(0.0, 0.0, 0.1), mass=1.0)
    found = poise.roles(builder.build())
    assert found.kind == "biped"
    assert (found["head"], found["knee_l"]) == ("top", "lega1")


def count_work(model: poise.Model, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the comparisons of branches and the searches for a middle plane in `poise.roles`."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def counted(*args: Any) -> Any:
            counts[name] += 1
            return inner(*args)

        patch.setattr(owner, name, counted)

    with monkeypatch.context() as patch:
        count(symmetry.Branches, "compare_paths")
        count(symmetry, "fit_images")
        count(poses, "find_symmetry")
        poise.roles(model)
    return counts


@pytest.mark.parametrize("make", [make_star, make_stool])
def test_four_hundred_limbs_take_no_more_comparisons_than_a_hundred(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (count_work(make(limbs), monkeypatch) for limbs in (100, 400))
    compared = symmetry.MOST_COMPARED * (symmetry.MOST_COMPARED - 1) // 2
    assert few["find_symmetry"] == many["find_symmetry"] == 1
    assert many["compare_paths"] <= 2 * compared + 400
    assert many["fit_images"] <= 0.5 * symmetry.MOST_PLANES * compared
