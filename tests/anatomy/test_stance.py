"""Legs, arms and facing: which limbs reach the ground, which way the body looks, and the trunk between them."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import poise
from carts import make_cart
from figures import UP, Figure, Proportions, make_dog
from poise.anatomy.look_direction import Facing, find_ankle, find_facing, vote_by_bends, vote_by_feet
from poise.anatomy.parts import Body, list_parts
from poise.anatomy.poses import read_best_shape, sample_frames, score_shape
from poise.anatomy.shape import BodyShape, list_suffixes, read_shape
from poise.anatomy.stance import BodyStance, find_path, find_stance, is_star
from poise.anatomy.symmetry import BodySymmetry, find_symmetry
from poise.anatomy.trunk import follow_middle
from poise.model import Model
from stools import make_hanger, make_star, make_stool

AHEAD = np.array([1.0, 0.0, 0.0])


def stand(model: Model) -> tuple[Body, BodySymmetry, BodyStance]:
    """Return the parts, the middle plane and the stance of a model in its rest pose."""
    body = list_parts(model, model.rest, UP)
    symmetry = find_symmetry(body)
    assert symmetry is not None
    return body, symmetry, find_stance(body, symmetry)


def face(model: Model) -> Facing:
    """Return the facing of a model in its rest pose."""
    return find_facing(*stand(model))


@pytest.mark.parametrize("seed", range(5))
def test_a_figure_has_a_pair_of_legs_and_a_pair_of_arms(seed: int) -> None:
    model, roles = Figure(Proportions.draw(seed)).make()
    body, _, stance = stand(model)
    (legs,) = stance.legs
    assert stance.arms is not None
    assert {body.parts[legs.pair.first].frame, body.parts[legs.pair.second].frame} == {roles["hip_l"], roles["hip_r"]}
    assert body.parts[stance.arms.pair.trunk].frame == roles["chest"]
    lowest = model.fk(model.rest)[:, 2, 3].min()
    assert stance.floor == pytest.approx(lowest)
    assert not stance.wheels
    assert not stance.lone


@pytest.mark.parametrize(("legs", "pairs"), [(2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)])
def test_a_stool_stands_on_all_of_its_legs(legs: int, pairs: int) -> None:
    _, _, stance = stand(make_stool(legs))
    assert 2 * len(stance.legs) + len(stance.lone) == legs
    assert len(stance.legs) <= pairs
    assert stance.arms is None


def test_wheels_are_not_legs() -> None:
    _, _, stance = stand(make_cart())
    assert not stance.legs
    assert stance.arms is not None
    assert len(stance.wheels) == 2


def test_arms_from_a_mast_are_not_legs() -> None:
    _, _, stance = stand(make_hanger())
    assert not stance.legs
    assert stance.arms is not None


@pytest.mark.parametrize("seed", range(3))
def test_dogs_have_two_pairs_of_legs(seed: int) -> None:
    _, _, stance = stand(make_dog(seed)[0])
    assert len(stance.legs) == 2
    assert stance.arms is None


def test_only_equal_limbs_make_a_star() -> None:
    for model, star in ((make_stool(3), False), (Figure().make()[0], False), (make_dog(0)[0], False)):
        assert is_star(*stand(model)) is star
    up = np.array([0.0, 1.0, 0.0])
    model = make_star(5, turn=0.5 * np.pi, up="y")
    body = list_parts(model, model.rest, up)
    symmetry = find_symmetry(body)
    assert symmetry is not None
    assert is_star(body, symmetry, find_stance(body, symmetry))


def test_paths_go_up_and_down_the_tree() -> None:
    model, roles = Figure().make()
    body = list_parts(model, model.rest, UP)
    at = {part.frame: part.index for part in body.parts}
    hand, foot = at[roles["hand_l"]], at[roles["foot_r"]]
    path = find_path(body, hand, foot)
    assert path == find_path(body, foot, hand)[::-1]
    assert (path[0], path[-1]) == (hand, foot)
    assert at[roles["pelvis"]] in path
    assert find_path(body, hand, hand) == [hand]
    for a, b in itertools.pairwise(path):
        assert body.parts[a].parent == b or body.parts[b].parent == a


# ------------------------------------------------------------------------------------------------ facing


@pytest.mark.parametrize("turn", [0.0, 0.5, 2.0, -1.2])
def test_forward_left_and_up_are_a_right_handed_triple(turn: float) -> None:
    found = face(Figure(turn=turn).make()[0])
    assert found.forward == pytest.approx((np.cos(turn), np.sin(turn), 0.0), abs=1e-9)
    assert np.cross(UP, found.forward) == pytest.approx(found.left)
    assert 0.5 <= found.certainty <= 1.0
    assert "feet" in found.why


def test_feet_and_knees_and_elbows_vote_alike() -> None:
    body, _, stance = stand(Figure().make()[0])
    legs = [stance.legs[0].first, stance.legs[0].second]
    assert stance.arms is not None
    arms = [stance.arms.first, stance.arms.second]
    for ahead, sign in ((AHEAD, 1.0), (-AHEAD, -1.0)):
        assert vote_by_feet(body, legs, ahead) == pytest.approx(sign)
        assert vote_by_bends(body, legs, ahead, 1) == pytest.approx(sign)
        assert vote_by_bends(body, arms, ahead, -1) == pytest.approx(sign)
        assert vote_by_bends(body, legs, ahead, -1) == pytest.approx(-sign)


def test_limbs_without_feet_or_bends_do_not_vote() -> None:
    body, _, stance = stand(Figure(feet=False).make()[0])
    assert vote_by_feet(body, [stance.legs[0].first], AHEAD) == 0.0
    assert vote_by_bends(body, [], AHEAD, 1) == 0.0


def test_the_ankle_is_where_the_shin_ends() -> None:
    model, roles = Figure().make()
    body, _, stance = stand(model)
    ankles = {tuple(find_ankle(body, limb)) for limb in (stance.legs[0].first, stance.legs[0].second)}
    assert ankles == {tuple(model.fk(model.rest, roles[f"foot_{side}"])[:3, 3]) for side in "lr"}


def test_a_body_without_evidence_faces_by_convention() -> None:
    found = face(make_stool(2))
    assert found.certainty < 1.0
    assert abs(found.forward @ UP) < 1e-9


# ------------------------------------------------------------------------------------------------ shapes and poses


def read(model: Model, up: np.ndarray = UP) -> BodyShape:
    """Read the shape of a model in its rest pose."""
    body = list_parts(model, model.rest, up)
    return read_shape(body, find_symmetry(body))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: Figure().make()[0], "biped"),
        (lambda: make_dog(1)[0], "quadruped"),
        (lambda: make_stool(6), "many legs"),
        (make_hanger, "two arms"),
        (lambda: poise.load("panda"), ""),
    ],
)
def test_kinds(make: Callable[[], Model], kind: str) -> None:
    assert read(make()).kind == kind


def test_a_standing_figure_scores_more_than_one_that_lies() -> None:
    model, _ = Figure().make()
    standing, lying, chain = read(model), read(model, AHEAD), read(poise.load("panda"))
    assert score_shape(standing) > score_shape(lying) >= 0.0
    assert score_shape(chain) == 0.0
    assert read_best_shape(model).roles == standing.roles


def test_suffixes_are_different() -> None:
    assert list_suffixes(1) == ("",)
    assert list_suffixes(2) == ("h", "f")
    for count in range(1, 9):
        assert len(set(list_suffixes(count))) == count


@pytest.mark.parametrize("count", [1, 2, 6, 7, 1000])
def test_sampled_frames_begin_with_the_first(count: int) -> None:
    found = sample_frames(count)
    assert found[0] == 0
    assert found == sorted(set(found))
    assert found[-1] == count - 1
    assert len(found) <= 6


def test_the_middle_of_the_body_leads_to_the_head() -> None:
    model, roles = Figure().make()
    body, symmetry, _ = stand(model)
    at = {part.frame: part.index for part in body.parts}
    assert follow_middle(body, symmetry, at[roles["neck"]]) == [at[roles["neck"]], at[roles["head"]]]
