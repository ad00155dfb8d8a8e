"""Layouts of the points of a person's hand: which row of an array is which joint.

A digit has the points of its joints and its tip, from the palm outwards: of the thumb the carpometacarpal joint and two
more, of a finger the knuckle and two more. Metacarpals, palms and forearms, which some trackers add, are not used.
Sources: the documents of MediaPipe (Hand landmarks), OpenXR 1.1 (XrHandJointEXT), the WebXR Hand Input Module, ARKit
(HandSkeleton.JointName) and Romero et al., Embodied hands: modeling and capturing hands and bodies together, 2017, with
the five fingertips behind its sixteen joints, thumb first.
"""

from dataclasses import dataclass

from poise.errors import InvalidValue, show_value

__all__ = ["LAYOUTS", "HandLayout", "read_layout"]

DIGITS = ("thumb", "index", "middle", "ring", "pinky")


@dataclass(frozen=True)
class HandLayout:
    """The rows of the points of a hand.

    Attributes:
        count: The number of points.
        wrist: The row of the wrist.
        digits: The rows of the joints and the tip of each digit, the thumb first.
    """

    count: int
    wrist: int
    digits: tuple[tuple[int, int, int, int], ...]


def count_up(count: int, wrist: int, *first: int) -> HandLayout:
    """Return a layout in which the points of each digit follow each other."""
    return HandLayout(count, wrist, tuple((k, k + 1, k + 2, k + 3) for k in first))


LAYOUTS = {
    "mediapipe": count_up(21, 0, 1, 5, 9, 13, 17),
    "openxr": count_up(26, 1, 2, 7, 12, 17, 22),
    "webxr": count_up(25, 0, 1, 6, 11, 16, 21),
    "apple": count_up(25, 0, 1, 6, 11, 16, 21),
    "mano": HandLayout(21, 0, ((13, 14, 15, 16), (1, 2, 3, 17), (4, 5, 6, 18), (10, 11, 12, 19), (7, 8, 9, 20))),
}


def read_layout(given: object) -> HandLayout:
    """Return a layout by its name, or as it is given."""
    if isinstance(given, HandLayout):
        return given
    if not isinstance(given, str) or given not in LAYOUTS:
        raise InvalidValue(f"layout is {show_value(given)}; it must be one of {', '.join(map(repr, LAYOUTS))}.")
    return LAYOUTS[given]
