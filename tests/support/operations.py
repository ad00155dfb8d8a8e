"""All operations of a model on a configuration, in one list: the laws cover every operation listed here.

A ``Case`` is the input: a body, a configuration, a velocity, a frame and a point on it, from one seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import poise

Floats = NDArray[Any]
REFERENCES = ("world", "body", "spatial")


@dataclass(frozen=True)
class Case:
    """The input of an operation."""

    model: poise.Model
    q: Floats
    v: Floats
    frame: str
    point: Floats

    @classmethod
    def of(cls, model: poise.Model, seed: int, shape: tuple[int, ...] = ()) -> Case:
        """Return a case with leading axes ``shape``; the frame is random, usually far from the root."""
        rng = np.random.default_rng(seed)
        frame = model.frames[-1] if rng.random() < 0.5 else str(rng.choice(model.frames))
        return cls(model, model.random(rng, shape), rng.normal(size=(*shape, model.nv)), frame, rng.normal(size=3))

    def at(self, index: Any) -> Case:
        """Return one row of the batch."""
        return replace(self, q=self.q[index], v=self.v[index])

    def cast(self, dtype: Any) -> Case:
        """Return the same numbers with another dtype."""
        return replace(self, q=self.q.astype(dtype), v=self.v.astype(dtype))

    @property
    def on_path(self) -> NDArray[np.bool_]:
        """Return a mask of the velocities that move the frame."""
        mask = np.zeros(self.model.nv, dtype=bool)
        name: str | None = self.model.frame(self.frame).name
        while name is not None:
            frame = self.model.frame(name)
            if frame.joint is not None:
                mask[self.model.joint(frame.joint).v] = True
            name = frame.parent
        return mask


def jacobian_in(reference: str) -> Callable[[Case], Floats]:
    return lambda c: c.model.jacobian(c.q, c.frame, point=c.point, reference=reference)


def jacobian_dot_in(reference: str) -> Callable[[Case], Floats]:
    return lambda c: c.model.jacobian_dot(c.q, c.v, c.frame, point=c.point, reference=reference)


OPERATIONS: dict[str, Callable[[Case], Floats]] = {
    "fk": lambda c: c.model.fk(c.q, c.frame),
    "fk of all": lambda c: c.model.fk(c.q),
    **{f"jacobian {r}": jacobian_in(r) for r in REFERENCES},
    **{f"jacobian_dot {r}": jacobian_dot_in(r) for r in REFERENCES},
    "hessian": lambda c: c.model.hessian(c.q, c.frame),
    "center_of_mass": lambda c: c.model.center_of_mass(c.q),
    "center_of_mass_jacobian": lambda c: c.model.center_of_mass_jacobian(c.q),
    "integrate": lambda c: c.model.integrate(c.q, c.v),
    "difference": lambda c: c.model.difference(c.q, c.model.integrate(c.q, c.v / (1 + abs(c.v)))),
    "clamp": lambda c: c.model.clamp(c.q + 0.5),
}


def close(actual: ArrayLike, expected: ArrayLike, tolerance: float) -> None:
    """Return whether arrays have equal shapes and are equal to ``tolerance``, relative to their size."""
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.shape == b.shape, f"shape {a.shape} is not {b.shape}"
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * (1.0 + np.abs(b).max(initial=0.0)))


def without_mimics(model: poise.Model) -> tuple[poise.Model, Floats]:
    """Return the body with independent joints instead of mimics, and the matrix from this body's rates to its rates."""
    builder = poise.ModelBuilder(model.name)
    for name in model.frames:
        frame = model.frame(name)
        if frame.joint is None:
            builder.add_frame(name, frame.parent, frame.offset, mass=frame.mass, center=frame.center)
            continue
        j = model.joint(frame.joint)
        options: dict[str, Any] = {"axis": j.axis} if j.axis.any() else {}
        options |= {"axis2": j.axis2} if j.axis2.any() else {}
        options |= {"order": j.order} if j.order else {}
        options |= {"pitch": j.pitch} if j.kind == "screw" else {}
        builder.add_joint(
            j.name, j.parent, j.kind, frame=j.frame, offset=j.offset, mass=j.mass, center=j.center, **options
        )
    free = builder.build()
    rates = np.zeros((free.nv, model.nv))
    for j in model.joints:
        rates[free.joint(j.name).v, j.v] = np.eye(free.joint(j.name).nv) * (j.mimic.ratio if j.mimic else 1.0)
    return free, rates


def values_for(other: poise.Model, model: poise.Model, q: Floats) -> Floats:
    """Return the configuration of ``other``, a body with joints of ``model``, that corresponds to ``q``."""
    out = np.zeros((*q.shape[:-1], other.nq))
    for j in other.joints:
        source = model.joint(j.name)
        if j.nq:
            out[..., j.q] = (
                q[..., source.q] * source.mimic.ratio + source.mimic.offset if source.mimic else q[..., source.q]
            )
    return out


# ------------------------------------------------------------------------------------------------ differences


STEP = 2e-4  # of fourth-order differences on the manifold, a reference for analytic derivatives


def difference_quotient(model: poise.Model, q: Floats, along: Floats, f: Callable[[Floats], Floats]) -> Floats:
    """Return the derivative of f along velocities ``(n, nv)``, first axis n, by fourth-order central differences.

    The error is about STEP^4 and 1e-16 / STEP; fast followers get a smaller step.
    """
    h = STEP / max([1.0, *(abs(j.mimic.ratio) for j in model.joints if j.mimic)])
    f1, b1, f2, b2 = (f(model.integrate(q, k * h * along)) for k in (1, -1, 2, -2))
    quotient: Floats = (8.0 * (f1 - b1) - (f2 - b2)) / (12.0 * h)
    return quotient


def numeric_jacobian(case: Case, reference: str) -> Floats:
    """Return the Jacobian from differences of fk."""
    here = case.model.fk(case.q, case.frame)
    arm = np.append(case.point, 1.0)
    rates = difference_quotient(case.model, case.q, np.eye(case.model.nv), lambda q: case.model.fk(q, case.frame))
    turning = rates[:, :3, :3] @ here[:3, :3].T
    angular = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]])
    linear = (rates @ arm)[:, :3].T
    if reference == "body":
        linear, angular = here[:3, :3].T @ linear, here[:3, :3].T @ angular
    if reference == "spatial":
        linear = linear + np.cross((here @ arm)[:3], angular, axis=0)
    return np.concatenate([linear, angular])
