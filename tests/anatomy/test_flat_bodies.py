"""Bodies that lie flat, stand on one point or have one frame: every call works, or raises an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poise
from poise.model import Box, Capsule, Cylinder, Sphere
from tiers import mostly_slow

NAMES = ("foot", "hand", "toe", "hip", "link")
SOLIDS = (Box((0.1, 0.3, 0.1)), Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.05, 0.2), Box((1e-9, 1e-9, 1e-9)))
KINDS = ("revolute", "continuous", "prismatic", "ball", "free", "fixed")


def make_flat(seed: int) -> poise.Model:
    """Make a random body whose frames are all at one height: two equal limbs, a chain, or frames in one place."""
    rng = np.random.default_rng(seed)
    builder = poise.ModelBuilder(f"flat{seed}")
    builder.up = "xyz"[axis := int(rng.integers(3))]
    builder.add_joint("base", None, str(rng.choice(KINDS)), mass=1.0)
    size = float(rng.choice([0.0, 0.3]))
    for side, sign in (("l", 1.0), ("r", -1.0))[: int(rng.integers(3))]:
        parent, offsets = "base", np.random.default_rng(seed + 1).normal(size=(4, 3)) * size
        for k, offset in enumerate(offsets):
            offset[axis], offset[axis - 1] = 0.0, sign * abs(offset[axis - 1])
            name = f"{NAMES[(k + seed) % len(NAMES)]}_{side}"
            builder.add_joint(name, parent, KINDS[(seed + k) % 4], offset=offset, mass=1.0)
            parent = name
            builder.add_shape(name, SOLIDS[int(rng.integers(len(SOLIDS)))])
    if rng.random() < 0.5:
        builder.add_shape("base", SOLIDS[int(rng.integers(len(SOLIDS)))])
    return builder.build()


def stand(model: poise.Model, clip: poise.Motion) -> None:
    rig = poise.Rig(model, clip.q[0])
    rig.plant()
    rig.update()
    assert np.isfinite(rig.q).all()


CALLS: dict[str, Callable[[poise.Model, poise.Motion], Any]] = {
    "roles": lambda model, _: poise.roles(model).contacts,
    "rig": stand,
    "contacts": lambda _, clip: poise.motion.contacts(clip),
    "contacts of a frame": lambda model, clip: poise.motion.contacts(clip, [model.frames[-1]]),
    "lock": lambda _, clip: poise.motion.lock(clip),
    "quality": lambda _, clip: str(poise.motion.quality(clip)),
    "retarget": lambda model, clip: poise.retarget(clip, model),
    "balance": lambda model, _: poise.solve(model, poise.goals.Balance([model.frames[-1]])),
}


@pytest.mark.parametrize("seed", mostly_slow(range(40), quick=8))
def test_flat_bodies_raise_errors_of_ours_alone(seed: int) -> None:
    model = make_flat(seed)
    moving = poise.Motion(model, model.random(np.random.default_rng(seed), 6), 30.0)
    still = poise.Motion(model, np.tile(model.rest, (6, 1)), 30.0)
    answered = set()
    for clip in (moving, still):
        for name, call in CALLS.items():
            try:
                call(model, clip)
                answered.add(name)
            except poise.PoiseError:
                continue
    assert {"roles", "rig", "quality"} <= answered


def test_the_sole_of_a_flat_body_is_the_lower_face_of_its_box() -> None:
    builder = poise.ModelBuilder("slab")
    builder.add_joint("foot", None, "free", mass=1.0)
    model = builder.add_shape("foot", Box((0.2, 0.1, 0.04))).build()
    points = poise.anatomy.find_sole(model, "foot")
    assert {point.point[2] for point in points} == {-0.02}
    assert poise.Rig(model).state.standing == ("foot",)
