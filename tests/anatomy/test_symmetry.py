"""The plane of symmetry of a body, and bodies whose limbs form a star."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import poise
from figures import UP, Figure, Proportions
from poise.anatomy import poses, symmetry
from poise.anatomy.parts import Body, list_parts
from poise.anatomy.symmetry import LEAST_LIKENESS, MOST_COMPARED, BodySymmetry, Branches, find_symmetry, snap_to_axis
from stools import make_star, make_stool

SEEDS = range(5)


def read(model: poise.Model) -> Body:
    """Return the parts of a model in its rest pose."""
    return list_parts(model, model.rest, UP)


def mirror(model: poise.Model) -> tuple[Body, BodySymmetry]:
    """Return the parts of a model and its middle plane, which must exist."""
    body = read(model)
    found = find_symmetry(body)
    assert found is not None
    return body, found


@pytest.mark.parametrize("turn", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_middle_plane_maps_limbs_onto_each_other(seed: int, turn: float) -> None:
    body, found = mirror(Figure(Proportions.draw(seed), turn=turn).make()[0])
    assert abs(found.normal @ (-np.sin(turn), np.cos(turn), 0.0)) == pytest.approx(1.0)
    assert found.offset == pytest.approx(0.0, abs=1e-9)
    assert len(found.pairs) == 2
    assert not found.odd
    for pair in found.pairs:
        assert pair.alike == pytest.approx(1.0)
        for a, b in zip(body.list_below(pair.first), body.list_below(pair.second), strict=True):
            at = body.parts[a].place
            assert at - 2.0 * (at @ found.normal) * found.normal == pytest.approx(body.parts[b].place, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trunk_lies_in_the_plane(seed: int) -> None:
    model, roles = Figure(Proportions.draw(seed)).make()
    body, found = mirror(model)
    frames = {body.parts[k].frame for k in found.trunk}
    assert {roles[name] for name in ("pelvis", "chest", "neck", "head")} <= frames
    assert all(abs(body.parts[k].place @ found.normal) < 1e-9 for k in found.trunk)
    paired = {k for pair in found.pairs for first in (pair.first, pair.second) for k in body.list_below(first)}
    assert paired | set(found.trunk) == set(range(len(body.parts)))


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_scale_changes_lengths_alone(scale: float) -> None:
    (_, plain), (_, scaled) = (mirror(Figure(scale=size).make()[0]) for size in (1.0, scale))
    assert [(p.first, p.second) for p in plain.pairs] == [(p.first, p.second) for p in scaled.pairs]
    assert [scale * p.length for p in plain.pairs] == pytest.approx([p.length for p in scaled.pairs])
    assert scaled.score == pytest.approx(scale * plain.score)


def test_the_plane_does_not_depend_on_the_up_direction() -> None:
    model, _ = Figure().make()
    found = [find_symmetry(list_parts(model, model.rest, up)) for up in np.eye(3)]
    assert all(one is not None and one.pairs == found[0].pairs for one in found if found[0] is not None)


@pytest.mark.parametrize("name", ["panda", "planar3", "snake100"])
def test_a_chain_has_no_middle_plane(name: str) -> None:
    assert find_symmetry(read(poise.load(name))) is None


def test_limbs_of_different_lengths_are_not_paired() -> None:
    builder = poise.ModelBuilder("odd")
    builder.add_joint("root", None, "free")
    for name, sign, length in (("a", 1.0, 0.1), ("b", -1.0, 0.5)):
        builder.add_joint(name, "root", "ball", offset=(0.0, 0.1 * sign, 0.0))
        builder.add_joint(f"{name}2", name, "ball", offset=(0.0, 0.0, -length))
        builder.add_frame(f"{name}3", f"{name}2", offset=(0.0, 0.0, -length))
    assert find_symmetry(read(builder.build())) is None


@pytest.mark.parametrize("legs", [4, 5, 6])
def test_a_stool_has_as_many_pairs_as_fit(legs: int) -> None:
    _, found = mirror(make_stool(legs))
    assert 1 <= len(found.pairs) <= legs // 2
    assert all(pair.alike > LEAST_LIKENESS for pair in found.pairs)


@pytest.mark.parametrize("seed", SEEDS)
def test_likeness_is_symmetric_and_between_0_and_1(seed: int) -> None:
    rng = np.random.default_rng(seed)
    builder = poise.ModelBuilder("tree")
    builder.add_joint("n0", None, "free")
    for k in range(1, 16):
        parent = f"n{rng.integers(k)}"
        builder.add_joint(f"n{k}", parent, "ball", offset=rng.normal(size=3) * 0.3)
    body = read(builder.build())
    branches = Branches(body)
    for a in range(16):
        assert branches.compare(a, a) == 1.0
        for b in range(16):
            assert 0.0 <= branches.compare(a, b) <= 1.0
            assert branches.compare(a, b) == pytest.approx(branches.compare(b, a))


def test_likeness_does_not_depend_on_scale() -> None:
    plain, scaled = (Branches(read(Figure(scale=size).make()[0])) for size in (1.0, 50.0))
    count = len(plain.body.parts)
    pairs = [(a, b) for a in range(count) for b in range(count)]
    assert [plain.compare(*pair) for pair in pairs] == pytest.approx([scaled.compare(*pair) for pair in pairs])


def test_reaches_are_the_lengths_of_branches() -> None:
    model, roles = Figure().make()
    body = read(model)
    branches, size = Branches(body), Proportions()
    at = {part.frame: part.index for part in body.parts}
    leg = size.thigh + size.shin + np.hypot(size.foot, 0.06)
    assert branches.reach[at[roles["hip_l"]]] == pytest.approx(leg)
    assert branches.reach[at[roles["hand_l"]]] == pytest.approx(size.hand)
    assert branches.step(at[roles["knee_l"]]) == pytest.approx(size.thigh)
    assert branches.step(at[roles["pelvis"]]) == 0.0
    assert branches.middles[at[roles["hand_r"]]] == pytest.approx(body.parts[at[roles["hand_r"]]].place)


def test_only_the_longest_of_many_branches_are_compared() -> None:
    body = read(make_star(MOST_COMPARED + 10))
    longest = Branches(body).list_longest(body.children[0])
    assert len(longest) == MOST_COMPARED
    assert longest == sorted(longest)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_directions_near_an_axis_are_snapped_to_it(axis: int, sign: float) -> None:
    exact = np.eye(3)[axis]
    near, far = (sign * exact + size * np.roll(exact, 1) for size in (0.03, 0.2))
    assert snap_to_axis(near / np.linalg.norm(near)) == pytest.approx(exact, abs=0.0)
    snapped = snap_to_axis(far / np.linalg.norm(far))
    assert snapped[axis] == pytest.approx(1.0 / np.hypot(1.0, 0.2))
    assert np.linalg.norm(snapped) == pytest.approx(1.0)


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
