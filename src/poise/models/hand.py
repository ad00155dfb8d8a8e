"""A human hand: 24 degrees of freedom on a fixed forearm; fingers up (+y), palm to +z, thumb at +x of the right hand.

Sources. Bones: mean lengths of metacarpals, phalanges and fingertip pads in Buryanov and Kotiuk, "Proportions
of hand segments", Int. J. Morphology 28(3), 2010. Ranges of the fingers and wrist: American Academy of
Orthopaedic Surgeons' handbook (1965) and Lin, Wu and Huang, "Modeling the constraints of human hand motion",
2000; of the thumb's saddle joint, 53 by 42 degrees: Cooney et al., J. Bone Joint Surg. 63-A, 1981. Mass: 0.61
% of 75 kg (de Leva 1996), distributed by length, the rest to the palm. The positions of the metacarpals at the wrist
are estimated from anatomical drawings of a hand of that size.

Each digit's frames have y along the bone and z out of the pad: +X flexes, +Z leans towards the little finger (-Z of the
left hand). Zero pose: flat hand, thumb out to the side. Rest pose: relaxed, fingers slightly curled.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.model import Model, ModelBuilder

Vector = tuple[float, float, float]

MASS = 0.46  # [kg]
FOREARM = 100.0  # length of the fixed forearm before the wrist, which is at the origin [mm]
FINGER_DENSITY = 0.40  # [kg/m]


class Segment(NamedTuple):
    """A joint and the bone that it moves; one range is a hinge (flexion), two a universal joint (flexion, lean)."""

    joint: str
    length: float
    """Of the bone after the joint [mm]."""
    ranges: tuple[tuple[float, float], ...]
    """[degrees]"""
    rest: tuple[float, ...]
    """[degrees]"""


class Digit(NamedTuple):
    """A digit: its base in the palm, its direction, the direction of its pad, and its segments."""

    name: str
    base: Vector
    """[mm], from the wrist."""
    along: Vector
    pad: Vector
    segments: tuple[Segment, ...]


def _make_finger(
    name: str,
    base: Vector,
    fan: float,
    bones: tuple[float, ...],
    lean: tuple[float, float],
    arch: tuple[float, float] | None = None,
) -> Digit:
    """Make a finger whose metacarpal leaves its base `fan` degrees towards the thumb.

    Args:
        name: its name.
        base: base of the metacarpal [mm].
        fan: direction of the metacarpal [degrees].
        bones: lengths of metacarpal, proximal, middle and distal phalanx with its pad [mm].
        lean: range of the knuckle's sideways motion [degrees].
        arch: range of the metacarpal's own hinge [degrees]; None if the metacarpal is part of the palm.
    """
    metacarpal, *phalanges = bones
    along = (math.sin(math.radians(fan)), math.cos(math.radians(fan)), 0.0)
    segments: tuple[Segment, ...] = (
        Segment(f"{name}_mcp", phalanges[0], ((-25.0, 90.0), lean), (20.0, 0.0)),
        Segment(f"{name}_pip", phalanges[1], ((0.0, 105.0),), (25.0,)),
        Segment(f"{name}_dip", phalanges[2], ((-5.0, 80.0),), (12.0,)),
    )
    if arch is not None:
        segments = (Segment(f"{name}_cmc", metacarpal, (arch,), (3.0,)), *segments)
    else:
        base = (base[0] + metacarpal * along[0], base[1] + metacarpal * along[1], base[2])
    return Digit(name, base, along, (0.0, 0.0, 1.0), segments)


THUMB = Digit(
    "thumb",
    base=(22.0, 14.0, 12.0),
    along=(0.62, 0.66, 0.42),
    pad=(-0.65, 0.25, 0.72),
    segments=(
        Segment("thumb_cmc", 46.22, ((-18.0, 35.0), (-28.0, 14.0)), (5.0, 0.0)),
        Segment("thumb_mcp", 31.57, ((-10.0, 55.0), (-12.0, 12.0)), (12.0, 0.0)),
        Segment("thumb_ip", 21.67 + 5.67, ((-15.0, 80.0),), (15.0,)),
    ),
)

FINGERS = (
    _make_finger("index", (15.0, 36.0, 2.0), 4.0, (68.12, 39.78, 22.38, 15.82 + 3.84), (-20.0, 15.0)),
    _make_finger("middle", (1.0, 37.0, 0.0), 0.0, (64.60, 44.63, 26.33, 17.40 + 3.95), (-15.0, 15.0)),
    _make_finger("ring", (-11.0, 34.0, 1.0), -6.0, (58.00, 41.37, 25.65, 17.30 + 3.95), (-15.0, 18.0)),
    _make_finger("pinky", (-21.0, 29.0, 4.0), -12.0, (53.69, 32.74, 18.11, 15.96 + 3.73), (-15.0, 25.0), (0.0, 25.0)),
)

DIGITS = (THUMB, *FINGERS)
PALM = Segment("wrist", 90.0, ((-70.0, 80.0), (-20.0, 30.0)), (-10.0, 3.0))


def hand() -> Model:
    """Build frames ``forearm wrist palm`` and ``thumb_tip index_tip middle_tip ring_tip pinky_tip``; 24 DOF.

    Joints: ``wrist`` (flexion, lean), then per digit those of ``_cmc _mcp _pip _dip _ip`` that it has.
    """
    return build_hand("r")


def hand_l() -> Model:
    """Build the left hand, the mirror image of the right one."""
    return build_hand("l")


def build_hand(side: str, digits: Sequence[Digit] = DIGITS, *, name: str = "", free: bool = False) -> Model:
    """Build a hand.

    Args:
        side: "l" or "r".
        digits: The digits of the right hand.
        name: The name of the model; by default that of the built-in hand.
        free: Whether the wrist is free instead of a joint of a fixed forearm.
    """
    builder = ModelBuilder(name=name or ("hand" if side == "r" else "hand_l"))
    builder.source = "Buryanov and Kotiuk, Int. J. Morphology 28(3), 2010"
    builder.up = "y"
    builder.notes.append("places of the metacarpals in the palm are read from drawings, not measured")
    fingers = sum(_find_mass(segment) for digit in digits for segment in digit.segments)
    if free:
        builder.add_joint("wrist", None, "free", mass=MASS - fingers, center=(0.0, 0.045, 0.0))
    else:
        builder.add_frame("forearm", None, (0.0, -FOREARM / 1000.0, 0.0))
        wrist = _make_frame((0.0, FOREARM, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        _add_segment(builder, PALM, "forearm", wrist, MASS - fingers, side)
    builder.add_frame("palm", "wrist", (0.0, 0.065, 0.012))
    for digit in digits:
        _add_digit(builder, digit, side)
    return builder.build()


def _add_digit(builder: ModelBuilder, digit: Digit, side: str) -> None:
    """Add a digit's joints below the wrist, each at the end of the previous bone, and its tip."""
    own = [_mirror(each, side) for each in (digit.base, digit.along, digit.pad)]
    parent, offset = "wrist", _make_frame(own[0], own[1], own[2])
    for segment in digit.segments:
        _add_segment(builder, segment, parent, offset, _find_mass(segment), side)
        parent, offset = segment.joint, _make_frame((0.0, segment.length, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    builder.add_frame(f"{digit.name}_tip", parent, offset)


def _mirror(v: Vector, side: str) -> Vector:
    """Return a vector of the right hand, or its mirror image for the left one."""
    return v if side == "r" else (-v[0], v[1], v[2])


def _add_segment(
    builder: ModelBuilder, segment: Segment, parent: str, offset: NDArray[np.float64], mass: float, side: str
) -> None:
    kind = "universal" if len(segment.ranges) == 2 else "revolute"
    lower, upper = np.radians(segment.ranges).T
    builder.add_joint(
        segment.joint,
        parent,
        kind,
        offset=offset,
        axis=(1.0, 0.0, 0.0),
        axis2=(0.0, 0.0, 1.0 if side == "r" else -1.0) if kind == "universal" else None,
        lower=lower,
        upper=upper,
        rest=np.radians(segment.rest),
        mass=mass,
        center=(0.0, segment.length / 2000.0, 0.0),
    )


def _find_mass(segment: Segment) -> float:
    return FINGER_DENSITY * segment.length / 1000.0


def _make_frame(base: Vector, along: Vector, pad: Vector) -> NDArray[np.float64]:
    """Return a 4x4 matrix with its origin at `base` [mm], y along the bone and z towards the pad, orthogonal to y."""
    y = np.array(along) / np.linalg.norm(along)
    z = np.array(pad) - np.dot(pad, y) * y
    z /= np.linalg.norm(z)
    frame = np.eye(4)
    frame[:3, :4] = np.column_stack([np.cross(y, z), y, z, np.array(base) / 1000.0])
    return frame
