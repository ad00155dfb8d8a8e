"""Which kinds of joints have limits, follow another joint and lead one; all others raise an error.

The laws of kinematics hold all operations for bodies of every kind; what works here is compared with the textbook.
"""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import poise
from bodies import ALL_KINDS, EULER_ORDERS
from operations import Case, Floats, close
from poise import textbook
from poise.errors import InvalidModel, InvalidValue, PoiseError

ONE_DOF = ("revolute", "continuous", "prismatic", "screw")
UNLIMITED = ("fixed", "continuous", "ball", "free")
SCALARS = {np.float64: 1e-9, np.float32: 1e-4}


def build_bodies(kind: str, **more: Any) -> list[poise.Model]:
    """A hinge, the joint `j`, a hinge and a tip, all with mass; one body for each Euler order."""
    options: dict[str, Any] = {"screw": {"pitch": 0.1}}.get(kind, {})
    if kind in (*ONE_DOF, "planar", "universal"):
        options["axis"] = (0.36, 0.48, 0.8)
    models = []
    for order in EULER_ORDERS if kind == "euler" else [None]:
        builder = poise.ModelBuilder(f"{kind} {order or ''}")
        builder.add_joint("base", None, "revolute", axis=(0, 1, 0), mass=1.0, center=(0.1, 0, 0))
        ends = {"order": order} if order else {}
        builder.add_joint(
            "j", "base", kind, offset=(0.3, 0.2, 0.1), mass=2.0, center=(0, 0.2, 0), **options, **ends, **more
        )
        builder.add_joint("end", "j", "revolute", axis=(1, 0, 0), offset=(0.1, 0, 0.4), mass=0.5, center=(0, 0, 0.3))
        models.append(builder.add_frame("tip", "end", (0, 0.1, 0.5), mass=0.2).build())
    return models


def check_mimic(c: Case) -> tuple[Floats, Floats]:
    """`j` follows `end`: the same body, driven by hand."""
    follower = build_bodies(c.model.joint("j").kind, mimic=("end", 0.5, 0.1))[0]
    ends = c.q[c.model.joint("end").q]
    q = np.concatenate([c.q[:1], ends])
    driven = c.q.copy()
    driven[c.model.joint("j").q] = 0.5 * ends + 0.1
    return follower.fk(q, "tip"), textbook.forward_kinematics(c.model, driven, "tip")


def check_leader(c: Case) -> tuple[Floats, Floats]:
    """A hinge beyond the tip follows `j`."""
    builder = poise.ModelBuilder().add_joint("j", None, c.model.joint("j").kind, **read_options(c.model))
    led = builder.add_joint("led", "j", "revolute", offset=(1, 0, 0), mimic=("j", 2.0, 0.3)).build()
    q = c.q[c.model.joint("j").q]
    return led.fk(q, "led"), textbook.forward_kinematics(led, q, "led")


def read_options(model: poise.Model) -> dict[str, Any]:
    joint = model.joint("j")
    options: dict[str, Any] = {"order": joint.order} if joint.order else {}
    return options | ({"pitch": joint.pitch} if joint.kind == "screw" else {})


def check_limits(c: Case) -> tuple[Floats, Floats]:
    size = c.model.joint("j").nv
    model = build_bodies(c.model.joint("j").kind, lower=np.full(size, -0.2), upper=np.full(size, 0.1))[0]
    far = np.concatenate([c.q[:1], np.full(size, 5.0), c.q[-1:]]).astype(c.q.dtype)
    inside = model.random(np.random.default_rng(0), 50)[:, 1:-1]
    assert (inside >= -0.2).all()
    assert (inside <= 0.1).all()
    return model.clamp(far), np.concatenate([c.q[:1], np.full(size, 0.1), c.q[-1:]])


OPERATIONS = {"limits": check_limits, "follows": check_mimic, "leads": check_leader}
REFUSED: dict[tuple[str, str], type[PoiseError]] = {
    **{("limits", kind): InvalidValue for kind in UNLIMITED},
    **{("follows", kind): InvalidModel for kind in ALL_KINDS if kind not in ONE_DOF},
    **{("leads", kind): InvalidModel for kind in ALL_KINDS if kind not in ONE_DOF},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_cell(operation: str, kind: str) -> None:
    error = REFUSED.get((operation, kind))
    with nullcontext() if error is None else pytest.raises(error, match=r"'j'|'led'"):
        for seed, model in enumerate(build_bodies(kind)):
            for scalar, tolerance in SCALARS.items():
                ours, theirs = OPERATIONS[operation](Case.of(model, seed).cast(scalar))
                assert ours.dtype == scalar
                close(ours, theirs, tolerance)
