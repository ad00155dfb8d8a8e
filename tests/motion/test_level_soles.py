"""A foot stands only while its sole faces the floor."""

import numpy as np
import pytest

import poise
from falls import fall
from poise.motion import contacts
from poise.motion.contact.detector import ContactDetector
from poise.motion.contact.level_soles import flag_level


@pytest.mark.parametrize(
    ("pitch", "roll", "stands"),
    [
        (0, 0, (True, True)),
        (30, 0, (True, True)),
        (60, 0, (False, True)),
        (-60, 0, (True, True)),
        (-88, 0, (True, False)),
        (-75, 70, (True, True)),
        (0, 60, (False, False)),
        (0, -60, (False, False)),
        (0, 180, (False, False)),
    ],
)
def test_a_sole_stands_only_while_it_faces_the_floor(pitch, roll, stands):
    """A heel stands with the toes up by 38 degrees at most, a toe also on an upright foot, neither on its side."""
    turn = poise.Rotation.from_euler("ZXY", np.radians([pitch, roll, 0.0])).matrix
    heel, toe, ankle = (turn @ np.array(point) for point in ((-0.05, 0, 0), (0.15, 0, 0), (0, 0.08, 0)))
    assert tuple(bool(each) for each in flag_level(heel, toe, ankle, np.array([0.0, 1.0, 0.0]))) == stands


def test_the_heels_of_a_lying_body_do_not_stand():
    found = contacts(fall())
    assert max(contact.end for contact in found) < 30


def test_a_detector_returns_the_contacts_of_each_frame() -> None:
    detector = ContactDetector(1, 30.0, 1)
    seen = [detector.watch([[0.0, 0.0, 0.0]], [0.0], 1.0, [k < 3]) for k in range(5)]
    assert seen == [[False], [True], [True], [False], [False]]
