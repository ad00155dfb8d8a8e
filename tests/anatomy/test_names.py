"""Sides in names: written out before letters, letters before the letter of a robot's own name."""

from __future__ import annotations

import pytest

import poise
import walkers
from known_bodies import rename
from poise.names import find_other_side, find_side, split_side, split_words, swap_side

SIDES = {
    "LeftHand": "l",
    "hand.R": "r",
    "l_hand": "l",
    "toe_fl": "l",
    "arm_l2": "l",
    "finger_r_1": "r",
    "r2/left_upper_arm": "l",
    "R1_right_knee": "r",
    "l7/right_arm": "r",
    "r1_l_elbow": "l",
    "L2_R_hip": "r",
    "spine": "",
}


@pytest.mark.parametrize("name", SIDES)
def test_the_most_certain_word_gives_the_side(name: str) -> None:
    assert find_side(name) == SIDES[name]
    if "_f" not in name:
        assert split_side(split_words(name))[0] == SIDES[name]
    other = swap_side(name)
    assert find_side(other) == {"l": "r", "r": "l", "": ""}[SIDES[name]]
    assert swap_side(other) == name
    if SIDES[name]:
        assert find_other_side(name, [name, other]) == other


@pytest.mark.parametrize("prefix", ["", "r2/", "R1_", "l7_", "robot_"])
def test_the_name_of_a_robot_does_not_turn_it_round(prefix: str) -> None:
    plain = walkers.make_machine()
    names = {name: f"{prefix}{name}" for name in (*plain.frames, *(joint.name for joint in plain.joints))}
    model = rename(plain, names)
    roles = poise.roles(model)
    wanted = {role: f"{prefix}{frame}" for role, frame in poise.roles(plain).items()}
    assert {role: roles.get(role) for role in wanted} == wanted
    assert roles["foot_l"] == f"{prefix}left_foot"


def test_a_chest_that_is_called_so_is_not_looked_for_among_the_spines() -> None:
    """Where the names are those of a tool whose chest is its last spine, and the body has a part called chest."""
    human = poise.load("humanoid")
    own = {"spine_1": "spine", "chest": "chest", "pelvis": "pelvis", "neck": "neck", "head": "head"}
    words = {"hip": "thigh", "knee": "shin", "ankle": "foot", "shoulder": "upper_arm", "elbow": "forearm"}
    own |= {f"{part}_{side}": f"{side}_{word}" for part, word in words.items() for side in "lr"}
    every = dict.fromkeys([*human.frames, *(joint.name for joint in human.joints)])
    model = rename(human, {name: own.get(name, f"x{k}") for k, name in enumerate(every)})
    roles = poise.roles(model)
    assert roles["chest"] == "chest"
    assert roles["spine_1"] == "spine"
