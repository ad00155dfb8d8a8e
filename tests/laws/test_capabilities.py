"""The capability matrix: joint kind x operation x scalar, each cell tried, and the table printed after the tests.

A cell that works is compared with the textbook; a cell that is refused raises the error that the table names.
"""

from collections.abc import Callable
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
SHOWN: dict[tuple[str, str], str] = {}

Check = Callable[[Case], tuple[Floats, Floats]]  # what the model says, and what the textbook says


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


# ------------------------------------------------------------------------------------------------ what is checked


def check_jacobian(reference: str) -> Check:
    def check(c: Case) -> tuple[Floats, Floats]:
        numeric = textbook.numeric_jacobian(c.model, c.q.astype(float), "tip", reference=reference)
        return c.model.jacobian(c.q, "tip", reference=reference), numeric

    return check


def check_jacobian_dot(c: Case) -> tuple[Floats, Floats]:
    expected = textbook.jacobian_derivative(c.model, c.q, c.v, "tip", reference="world")
    return c.model.jacobian_dot(c.q, c.v, "tip"), expected


def check_hessian(c: Case) -> tuple[Floats, Floats]:
    slices = [textbook.jacobian_derivative(c.model, c.q, e, "tip", reference="world") for e in np.eye(c.model.nv)]
    return c.model.hessian(c.q, "tip"), np.stack(slices, axis=-1)


def find_center(model: poise.Model, q: Floats) -> Floats:
    frames = [model.frame(name) for name in model.frames]
    places = [textbook.forward_kinematics(model, q, f.name) @ np.append(f.center, 1.0) for f in frames]
    center: Floats = np.average(np.array(places)[:, :3], axis=0, weights=[f.mass for f in frames])
    return center


def check_center_jacobian(c: Case) -> tuple[Floats, Floats]:
    h = 1e-5
    ahead, behind = ([textbook.integrate(c.model, c.q, s * h * e) for e in np.eye(c.model.nv)] for s in (1, -1))
    columns = [
        (find_center(c.model, a) - find_center(c.model, b)) / (2 * h) for a, b in zip(ahead, behind, strict=True)
    ]
    return c.model.center_of_mass_jacobian(c.q), np.transpose(columns)


def check_clamp(c: Case) -> tuple[Floats, Floats]:
    unit = textbook.integrate(c.model, c.q, np.zeros(c.model.nv))
    return c.model.clamp(c.q), unit


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


def check_locked(c: Case) -> tuple[Floats, Floats]:
    stopped = c.model.locked({"j": c.q[c.model.joint("j").q]})
    q = np.concatenate([c.q[:1], c.q[-1:]])
    return stopped.fk(q, "tip"), textbook.forward_kinematics(c.model, c.q, "tip")


def check_limits(c: Case) -> tuple[Floats, Floats]:
    size = c.model.joint("j").nv
    model = build_bodies(c.model.joint("j").kind, lower=np.full(size, -0.2), upper=np.full(size, 0.1))[0]
    far = np.concatenate([c.q[:1], np.full(size, 5.0), c.q[-1:]]).astype(c.q.dtype)
    inside = model.random(np.random.default_rng(0), 50)[:, 1:-1]
    assert (inside >= -0.2).all()
    assert (inside <= 0.1).all()
    return model.clamp(far), np.concatenate([c.q[:1], np.full(size, 0.1), c.q[-1:]])


def check_difference(c: Case) -> tuple[Floats, Floats]:
    return c.model.difference(c.q, c.model.integrate(c.q, c.v)), c.v.astype(float)


def check_random(c: Case) -> tuple[Floats, Floats]:
    q = c.model.random(np.random.default_rng(0), (4,))
    return q, c.model.clamp(q)


OPERATIONS: dict[str, Check] = {
    "fk": lambda c: (c.model.fk(c.q, "tip"), textbook.forward_kinematics(c.model, c.q, "tip")),
    "J world": check_jacobian("world"),
    "J body": check_jacobian("body"),
    "J spatial": check_jacobian("spatial"),
    "J dot": check_jacobian_dot,
    "hessian": check_hessian,
    "com": lambda c: (c.model.center_of_mass(c.q), find_center(c.model, c.q)),
    "com J": check_center_jacobian,
    "integrate": lambda c: (c.model.integrate(c.q, c.v), textbook.integrate(c.model, c.q, c.v)),
    "difference": check_difference,
    "clamp": check_clamp,
    "random": check_random,
    "locked": check_locked,
    "limits": check_limits,
    "follows": check_mimic,
    "leads": check_leader,
}
REFUSED: dict[tuple[str, str], type[PoiseError]] = {
    **{("limits", kind): InvalidValue for kind in UNLIMITED},
    **{("follows", kind): InvalidModel for kind in ALL_KINDS if kind not in ONE_DOF},
    **{("leads", kind): InvalidModel for kind in ALL_KINDS if kind not in ONE_DOF},
}
ONE_SCALAR = ("random",)  # has no q to take the width from

# ------------------------------------------------------------------------------------------------ the matrix


def try_out(operation: str, kind: str, scalar: type) -> None:
    for seed, model in enumerate(build_bodies(kind)):
        case = Case.of(model, seed).cast(scalar)
        ours, theirs = OPERATIONS[operation](case)
        if operation not in ONE_SCALAR:
            assert ours.dtype == scalar
        close(ours, theirs, SCALARS[scalar])


def is_refused(operation: str, kind: str) -> bool:
    """Whether the cell is one that must raise; raises what it must, with the joint's name in the message."""
    error = REFUSED.get((operation, kind))
    if error is None:
        return False
    with pytest.raises(error, match=r"'j'|'led'"):
        try_out(operation, kind, np.float64)
    SHOWN[kind, operation] = error.__name__
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_cell(operation: str, kind: str, closing_table: Callable[[str, str], None]) -> None:
    if not is_refused(operation, kind):
        scalars = [np.float64] if operation in ONE_SCALAR else list(SCALARS)
        for scalar in scalars:
            try_out(operation, kind, scalar)
        SHOWN[kind, operation] = " ".join(str(np.dtype(scalar).itemsize * 8) for scalar in scalars)
    closing_table("capabilities", draw_matrix())


def draw_matrix() -> str:
    """Operations down, kinds across; a refusal by its error."""
    short = {"InvalidValue": "value", "InvalidModel": "model", "": "-"}
    widths = {kind: max(len(kind), 5) + 1 for kind in ALL_KINDS}
    lines = ["".join([f"{'':10}", *(f"{kind:>{width}}" for kind, width in widths.items())])]
    for operation in OPERATIONS:
        cells = ((SHOWN.get((kind, operation), ""), width) for kind, width in widths.items())
        lines.append("".join([f"{operation:10}", *(f"{short.get(cell, cell):>{width}}" for cell, width in cells)]))
    lines.append("64 32: works in float64 and float32; value, model: refused with InvalidValue, InvalidModel.")
    return "\n".join(lines)
