"""Laws of roles by shape: they follow the body when it is scaled, turned, mirrored, or its joints are reordered."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import poise
from figures import Figure, Proportions, make_dog

SEEDS = range(6)


def check_roles(found: poise.anatomy.Roles, wanted: dict[str, str]) -> None:
    """Check that every wanted role has its frame."""
    wrong = {role: (found.get(role), frame) for role, frame in wanted.items() if found.get(role) != frame}
    assert not wrong


@pytest.mark.parametrize("seed", SEEDS)
def test_random_proportions_have_their_roles(seed: int) -> None:
    model, wanted = Figure(Proportions.draw(seed)).make()
    found = poise.roles(model)
    assert found.kind == "biped"
    assert not found.scheme
    assert not found.missing
    check_roles(found, wanted)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 10.0, 1e3])
def test_scale_changes_no_role_and_no_certainty(scale: float) -> None:
    plain, scaled = (poise.roles(Figure(scale=size).make()[0]) for size in (1.0, scale))
    assert dict(plain) == dict(scaled)
    assert [role.certainty for role in plain.found] == pytest.approx([role.certainty for role in scaled.found])
    assert plain.facing == pytest.approx(scaled.facing)


@pytest.mark.parametrize("turn", [-2.5, -0.4, 0.06, 1.0, 3.0])
def test_a_turned_body_faces_another_way(turn: float) -> None:
    model, wanted = Figure(turn=turn).make()
    found = poise.roles(model)
    check_roles(found, wanted)
    assert found.facing == pytest.approx((np.cos(turn), np.sin(turn), 0.0), abs=1e-9)


@pytest.mark.parametrize("turn", [-0.04, 0.02, 0.5 * np.pi + 0.03])
def test_a_body_within_three_degrees_of_an_axis_faces_along_it(turn: float) -> None:
    found = poise.roles(Figure(turn=turn).make()[0])
    assert found.facing == pytest.approx(np.round((np.cos(turn), np.sin(turn), 0.0)), abs=1e-12)


@pytest.mark.parametrize("order", [*permutations(range(5))][::17])
def test_the_order_of_joints_changes_no_role(order: tuple[int, ...]) -> None:
    model, wanted = Figure(order=order).make()
    check_roles(poise.roles(model), wanted)


def swap_sides(wanted: dict[str, str]) -> dict[str, str]:
    """Return the roles with left and right swapped."""
    return {role[:-1] + {"l": "r", "r": "l"}[role[-1]] if "_" in role else role: f for role, f in wanted.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mirror_swaps_left_and_right(seed: int) -> None:
    model, wanted = Figure(Proportions.draw(seed), signs=(1.0, -1.0)).make()
    found = poise.roles(model)
    check_roles(found, swap_sides(wanted))
    assert found.facing == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_body_that_looks_back_has_its_left_on_the_other_side(seed: int) -> None:
    model, wanted = Figure(Proportions.draw(seed), signs=(-1.0, 1.0)).make()
    found = poise.roles(model)
    check_roles(found, swap_sides(wanted))
    assert found.facing == pytest.approx((-1.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_body_turned_by_half_a_turn_is_one_with_both_signs(seed: int) -> None:
    size = Proportions.draw(seed)
    turned, signed = (poise.roles(Figure(size, **given).make()[0]) for given in ({"turn": np.pi}, {"signs": (-1, -1)}))
    assert dict(turned) == dict(signed)
    assert turned.facing == pytest.approx(signed.facing, abs=1e-9)


def test_a_body_without_a_head_has_a_note() -> None:
    model, wanted = Figure(head=False).make()
    found = poise.roles(model)
    check_roles(found, wanted)
    assert "head" not in found
    assert "head" in found.missing
    assert any(note.startswith("head has no frame") for note in found.notes)


def test_a_body_without_arms_is_a_biped() -> None:
    model, wanted = Figure(arms=False, head=False).make()
    found = poise.roles(model)
    assert found.kind == "biped"
    check_roles(found, {role: frame for role, frame in wanted.items() if role.split("_")[0] in ("hip", "knee", "foot")})
    assert not {"hand_l", "elbow_r"} & {*found}


def test_a_body_without_feet_stands_on_the_ends_of_its_shins() -> None:
    model, wanted = Figure(feet=False).make()
    found = poise.roles(model)
    check_roles(found, wanted)
    assert "ankle_l" not in found
    for side, contact in ((side, found.contacts[f"sole_1_{side}"]) for side in "lr"):
        T = model.fk(model.rest, contact.frame)
        place = T[:3, :3] @ contact.point + T[:3, 3]
        assert place[2] == pytest.approx(model.fk(model.rest)[:, 2, 3].min())
        assert np.sign(place[1]) == {"l": 1.0, "r": -1.0}[side]


@pytest.mark.parametrize("digits", [3, 4, 5])
def test_the_thumb_is_split_from_the_fingers(digits: int) -> None:
    model, wanted = Figure(digits=digits).make()
    found = poise.roles(model)
    check_roles(found, wanted)
    assert (
        len([role for role in found if role[:-4] in ("thumb", "index", "middle", "ring", "little")]) == 2 * 2 * digits
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_quadrupeds_have_hind_and_fore_legs(seed: int) -> None:
    model, wanted = make_dog(seed)
    found = poise.roles(model)
    assert found.kind == "quadruped"
    check_roles(found, wanted)
    assert found.facing == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_head_of_a_quadruped_decides_which_end_is_ahead(seed: int) -> None:
    model, wanted = make_dog(seed, signs=(-1.0, 1.0))
    found = poise.roles(model)
    check_roles(found, swap_sides(wanted))
    assert found.facing == pytest.approx((-1.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_scale_of_a_quadruped_does_not_matter(scale: float) -> None:
    assert dict(poise.roles(make_dog(0)[0])) == dict(poise.roles(make_dog(0, scale=scale)[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_stated_roles_are_followed_and_denied_ones_left_out(seed: int) -> None:
    model, wanted = Figure(Proportions.draw(seed)).make()
    stated = model.with_roles({"head": wanted["neck"], "hand_l": None})
    found = poise.roles(stated)
    assert found["head"] == wanted["neck"]
    assert found.role("head").evidence == "given"
    assert "hand_l" not in found
    check_roles(found, {role: wanted[role] for role in ("hand_r", "knee_l", "pelvis")})


def test_roles_of_contacts_are_mirror_images() -> None:
    model, _ = Figure(Proportions.draw(3)).make()
    contacts = poise.roles(model).contacts
    for name in [name for name in contacts if name.endswith("_l")]:
        left, right = (contacts[f"{name[:-1]}{side}"] for side in "lr")
        places = [model.fk(model.rest, c.frame)[:3, 3] + c.point for c in (left, right)]
        assert places[0] == pytest.approx(places[1] * (1.0, -1.0, 1.0), abs=1e-9)
        assert left.evidence == right.evidence


def test_contacts_scale_with_the_body() -> None:
    small, large = (poise.roles(Figure(scale=scale).make()[0]).contacts for scale in (1.0, 7.0))
    assert set(small) == set(large)
    for name, contact in small.items():
        assert 7.0 * np.array(contact.point) == pytest.approx(np.array(large[name].point), abs=1e-9)


def test_a_clip_is_read_where_the_rest_pose_is_crouched() -> None:
    model, wanted = Figure().make()
    lying = np.array(model.rest)
    lying[3:7] = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    clip = poise.Motion(model, np.stack([lying, model.rest, lying]), 30.0)
    check_roles(poise.roles(model, clip), wanted)
    with pytest.raises(poise.errors.ModelMismatch, match="clip"):
        poise.roles(poise.load("humanoid"), clip)


def test_roles_are_a_mapping_with_evidence() -> None:
    model, wanted = Figure().make()
    found = poise.roles(model)
    assert found is poise.roles(model)
    assert hash(found) == hash(replace(found))
    assert set(found) == {role.role for role in found.found}
    assert len(found) == len(found.found)
    assert found.get("tail") is None
    assert found.list_roles(wanted["foot_l"]) == ("ankle_l", "foot_l")
    assert 0.0 < found.certainty <= 1.0
    assert all(role.evidence.startswith("shape") for role in found.found)
    with pytest.raises(poise.errors.NameNotFound, match="knee_l"):
        found.role("knee_left")
    assert "biped" in repr(found)
    assert str(found).count("\n") == len(found) + len(found.notes) + len(found.disagreements)
    with pytest.raises(poise.errors.InvalidValue, match=r"poise\.load"):
        poise.roles("humanoid")  # type: ignore[arg-type]
