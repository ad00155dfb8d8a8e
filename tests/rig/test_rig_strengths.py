"""Strengths and blends move the body in proportion, and never by more than the bound of a frame."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import poise
from pinned_rigs import make_pinned_rig

Place = tuple[float, float, float]
WISHES: dict[str, Callable[[poise.Rig], None]] = {
    "hand_l": lambda rig: rig.reach("hand_l", (0.5, 1.1, 0.5)),
    "hand_l turned": lambda rig: rig.reach("hand_l", poise.Transform(translation=(0.5, 1.1, 0.5))),
    "hand_l pointing": lambda rig: rig.look_at("hand_l", (1.5, 1.8, 0.5), "bone"),
    "head": lambda rig: rig.look_at("head", (1.5, 1.8, 0.5)),
    "pelvis": lambda rig: rig.reach("pelvis", (0.1, 0.85, 0.05)),
}


def leaning(wish: str) -> poise.Rig:
    """Feet pinned, the body leaning after its right hand, and one more wish; at rest."""
    rig = make_pinned_rig()
    first = rig.pose.position("hand_r")
    for share in np.linspace(0.0, 1.0, 60):
        rig.drag("hand_r", (1.0 - share) * first + share * np.array((-0.4, 0.5, 0.8)))
    WISHES[wish](rig)
    rig.settle(150)
    return rig


def motion(rig: poise.Rig, handle: str, shares: list[float]) -> tuple[float, float]:
    """The largest motion of the handle [m] and of a joint [rad] in a frame, over strengths frame by frame."""
    seen = [rig.q]
    for share in shares:
        rig.strength(handle, share)
        seen.append(rig.update().q)
    at = [rig.model.fk(q, handle)[:3, 3] for q in seen]
    joint = max(float(np.abs(rig.model.difference(a, b)).max()) for a, b in itertools.pairwise(seen))
    return max(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(at)), joint


def down_and_up(frames: int) -> list[float]:
    """From 1 to 0 and, after a while, back to 1."""
    shares = np.linspace(1.0, 0.0, frames + 1).tolist()
    return [*shares, *[0.0] * 40, *reversed(shares)]


@pytest.mark.slow
@pytest.mark.parametrize("wish", WISHES)
def test_motion_goes_with_the_strength(wish: str) -> None:
    """What moves in the finest steps is a small part of the way; it was a third of a metre in a frame at 0."""
    handle = wish.split(maxsplit=1)[0]
    far, joint = motion(leaning(wish), handle, down_and_up(320))
    assert far < 0.015
    assert joint < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("wish", ["hand_l", "hand_l turned", "head", "pelvis"])
def test_there_and_back_is_where_it_was(wish: str) -> None:
    rig, handle = leaning(wish), wish.split(maxsplit=1)[0]
    before = rig.pose.position(handle)
    motion(rig, handle, down_and_up(40))
    rig.settle()
    assert np.linalg.norm(rig.pose.position(handle) - before) < 0.01


@pytest.mark.parametrize("pins", [(), ("foot_l", "foot_r")])
def test_half_of_a_strength_is_half_of_the_way(pins: tuple[str, ...]) -> None:
    """From where the body would be without the wish, pinned or not, with another hand that holds it or none."""
    for other in (None, (-0.4, 0.8, 0.6)):
        places = {}
        for strength in (0.0, 0.25, 0.5, 1.0):
            rig = poise.Rig(poise.load("humanoid"))
            for pin in pins:
                rig.pin(pin)
            if other is not None:
                rig.reach("hand_r", other)
            rig.strength("hand_l", strength)
            rig.reach("hand_l", (0.5, 1.2, 0.4))
            rig.settle(400)
            places[strength] = rig.pose.position("hand_l")
        for strength in (0.25, 0.5):
            wanted = (1.0 - strength) * places[0.0] + strength * places[1.0]
            assert np.linalg.norm(places[strength] - wanted) < 0.01


@pytest.mark.slow
def test_two_strengths_at_once() -> None:
    """Each is measured from the body that serves the other as it is served."""
    rig = make_pinned_rig()
    rig.reach("hand_l", (0.5, 1.0, 0.6))
    rig.reach("hand_r", (-0.5, 1.0, 0.6))
    rig.settle()
    rig.strength("hand_r", 0.6)
    rig.settle()
    far, joint = motion(rig, "hand_l", down_and_up(320))
    assert far < 0.015
    assert joint < 0.05


def test_the_mirror_image_goes_on_alike() -> None:
    """Half of a wish is half of it on the other side too."""
    rig = make_pinned_rig()
    rig.reach("hand_l", (0.5, 1.2, 0.4))
    rig.strength("hand_l", 0.5)
    rig.settle()
    rig.mirror()
    before = rig.pose.position("hand_r")
    assert max(np.linalg.norm(rig.update().position("hand_r") - before) for _ in range(20)) < 0.015


BOUND = 0.2 + 1e-9  # radians; the root's slides are in metres, of a body longer than 1 m


def held_rig(place: tuple[float, float, float]) -> poise.Rig:
    """Feet pinned, the left hand dragged to a place and settled there."""
    rig = make_pinned_rig()
    for share in np.linspace(0.0, 1.0, 50):
        rig.drag("hand_l", np.array([0.25, 1.0, 0.25]) * (1.0 - share) + share * np.array(place))
    rig.settle(60)
    return rig


def blend_motion(rig: poise.Rig, shares: list[float]) -> tuple[float, float]:
    """The largest blend_motion of the hand [m] and of a joint [rad] in a frame, over shares frame by frame."""
    seen = [rig.q]
    for share in shares:
        rig.blend("arm_l", share)
        seen.append(rig.update().q)
    hand = [rig.model.fk(q, "hand_l")[:3, 3] for q in seen]
    joint = max(float(np.abs(rig.model.difference(a, b)).max()) for a, b in itertools.pairwise(seen))
    return max(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(hand)), joint


def list_shares(step: float) -> list[float]:
    """From 1 to 0 and, after a while, back to 1."""
    shares = np.linspace(1.0, 0.0, round(1.0 / step) + 1).tolist()
    return [*shares, *[0.0] * 10, *reversed(shares)]


@pytest.mark.slow
@pytest.mark.parametrize("place", [(0.75, 1.3, 0.25), (0.2, 1.7, 0.3), (0.5, 1.1, 0.5)])
def test_motion_goes_with_the_share(place: tuple[float, float, float]) -> None:
    coarse, fine = (blend_motion(held_rig(place), list_shares(step)) for step in (0.05, 0.0125))
    assert coarse[0] < 0.05
    assert coarse[1] < 0.1
    for a, b in zip(coarse, fine, strict=True):
        assert b < 0.5 * a  # a fourth, but for what is curved and what settles


def test_a_blend_there_and_back_is_where_it_was() -> None:
    rig = held_rig((0.75, 1.3, 0.25))
    before = rig.pose.position("hand_l")
    blend_motion(rig, list_shares(0.05))
    rig.settle()
    assert np.linalg.norm(rig.pose.position("hand_l") - before) < 1e-4


@pytest.mark.parametrize("shares", [[1.0], [0.6, 1.0], [0.5, 0.0, 1.0]])
def test_no_share_leaps(shares: list[float]) -> None:
    rig = held_rig((0.7, 1.3, 0.25))
    rig.blend("arm_l", 0.0)
    for height in np.linspace(0.93, 0.75, 20):  # the body goes where the own angles of the arm do not reach the target
        rig.drag("pelvis", (0.0, height, 0.0))
    assert blend_motion(rig, [share for share in shares for _ in range(8)])[1] <= BOUND
