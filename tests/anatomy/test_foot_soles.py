"""Soles of feet: their points scale, turn and mirror with the body, and lie where the foot stands in a clip."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from figures import UP, Figure, Proportions
from poise.anatomy.contacts import find_edge_middle, map_into
from poise.anatomy.parts import list_parts
from poise.anatomy.stance_frames import stand_on
from poise.model import Model
from poise.model.derive import with_example_poses
from poise.spatial import Rotation


def place(model: Model, contact: poise.anatomy.ContactPoint) -> np.ndarray:
    """Return the place of a contact point in the rest pose."""
    T = model.fk(model.rest, contact.frame)
    return np.asarray(T[:3, :3] @ np.array(contact.point) + T[:3, 3])


@pytest.mark.parametrize("seed", range(4))
def test_toes_are_ahead_of_heels_on_the_floor(seed: int) -> None:
    model, _ = Figure(Proportions.draw(seed)).make()
    contacts = poise.roles(model).contacts
    floor = model.fk(model.rest)[:, 2, 3].min()
    for side in "lr":
        toe, heel = (place(model, contacts[f"{name}_{side}"]) for name in ("toe", "heel"))
        assert toe[0] > heel[0]
        assert toe[1] == pytest.approx(heel[1])
        assert (toe[2], heel[2]) == pytest.approx((floor, floor))
        assert contacts[f"toe_{side}"].evidence == "bones"


@pytest.mark.parametrize("turn", [0.4, 2.0, -2.5])
def test_contacts_turn_with_the_body(turn: float) -> None:
    plain, turned = (Figure(turn=angle).make()[0] for angle in (0.0, turn))
    about = Rotation.from_axis_angle((0.0, 0.0, 1.0), turn).matrix
    contacts = poise.roles(turned).contacts
    for name, contact in poise.roles(plain).contacts.items():
        assert place(turned, contacts[name]) == pytest.approx(about @ place(plain, contact), abs=1e-9)


def test_a_point_of_the_world_is_mapped_into_a_frame_and_back() -> None:
    model = poise.load("humanoid")
    body = list_parts(model, model.random(np.random.default_rng(0)), UP)
    for frame in model.frames:
        point = map_into(body, frame, np.array([0.3, -0.2, 0.5]))
        T = body.places[frame]
        assert T[:3, :3] @ point + T[:3, 3] == pytest.approx((0.3, -0.2, 0.5))


def test_the_middle_of_an_edge_is_between_its_ends() -> None:
    points = np.array([[0.0, -1.0, 0.0], [0.5, 0.2, 0.0], [1.0, 3.0, 0.0]])
    assert find_edge_middle(points, np.array([0.0, 1.0, 0.0])) == pytest.approx((0.5, 1.0, 0.0))


def test_a_sole_of_any_frame_is_found() -> None:
    model, roles = Figure().make()
    assert {p.name for p in poise.anatomy.find_sole(model, roles["foot_l"])} == {"heel_l", "toe_l"}
    hand = poise.anatomy.find_sole(model, roles["hand_l"])
    assert hand
    assert {point.frame for point in hand} == {roles["hand_l"]}
    with pytest.raises(poise.errors.NameNotFound):
        poise.anatomy.find_sole(model, "tail")


def test_the_frame_in_which_a_foot_stands_is_low_and_slow() -> None:
    model, roles = Figure().make()
    lifted = np.array(model.rest)
    knee, hip = model.joint(roles["knee_l"]), model.joint(roles["hip_l"])
    lifted[knee.q] = 1.2
    lifted[hip.q] = (np.cos(0.4), 0.0, -np.sin(0.4), 0.0)
    poses = [lifted, lifted, lifted, lifted, model.rest, model.rest]  # pairs: a frame, and the one after it
    shown = with_example_poses(model, np.stack(poses))
    body, rest = list_parts(shown, lifted, UP), list_parts(shown, model.rest, UP)
    standing = stand_on(body, roles, roles["foot_l"])
    assert standing.places[roles["foot_l"]] == pytest.approx(model.fk(model.rest, roles["foot_l"]))
    assert stand_on(rest, roles, roles["foot_l"]) is rest
    unshown = list_parts(model, lifted, UP)
    assert stand_on(unshown, roles, roles["foot_l"]) is unshown
