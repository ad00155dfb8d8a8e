"""`why()` reports the self-collisions of a body with shapes that limbs could have left, and what to do about them."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Motion
from poise.limits import Clearance
from poise.model.derive import with_shapes
from poise.model.geometry.shapes import Box, Shape
from poise.motion.clips.result import Track
from poise.motion.contact.ledger import Contacts
from poise.motion.retargeting.result import describe_collisions
from poise.spatial import Transform


def overlap(depth: float, scale: float = 1.0) -> Motion:
    """Return a body that stands, with boxes around its hands that overlap by a depth [m]."""
    body = poise.load("humanoid", scale=scale)
    ends = [body.fk(body.rest, f"hand_{side}") for side in "lr"]
    middle = 0.5 * (ends[0][:3, 3] + ends[1][:3, 3])
    tiny = Box((0.01 * scale, 0.01 * scale, 0.01 * scale))
    names = ["chest", *(f"{name}_{side}" for side in "lr" for name in ("shoulder", "elbow"))]
    shapes = [Shape(name, tiny, Transform(), "collision") for name in names]
    for side, sign, T in (("l", 1.0, ends[0]), ("r", -1.0, ends[1])):
        place = np.eye(4)
        place[:3, 3] = middle + sign * np.array([0.05 * scale - 0.5 * depth, 0.0, 0.0])
        box = Box((0.1 * scale, 0.1 * scale, 0.1 * scale))
        shapes.append(Shape(f"hand_{side}", box, Transform.from_matrix(np.linalg.inv(T) @ place), "collision"))
    model = with_shapes(body, shapes)
    return Motion(model, np.tile(model.rest, (3, 1)), 30.0)


def describe(motion: Motion, *limits: Clearance, separated: bool = True) -> str:
    track = Track(motion, {}, {}, Contacts((), len(motion), motion.fps, 0.0), limits=limits)
    return " ".join(describe_collisions(track, separated))


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_collisions_that_separation_accepts_are_not_reported(scale: float) -> None:
    assert describe(overlap(0.002 * scale, scale)) == ""
    assert "in 3 of 3 (" in describe(overlap(0.005 * scale, scale))


def test_the_advice_fits_the_options() -> None:
    deep = overlap(0.02)
    assert "'hand_l' and 'hand_r' by 20 mm, which limbs could not avoid: limits=[Clearance()]" in describe(deep)
    assert describe(deep, separated=False).endswith("mm: clearance=True keeps them apart.")
    assert "Clearance does not check" in describe(deep, Clearance(), separated=False)
