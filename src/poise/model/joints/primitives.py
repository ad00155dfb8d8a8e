"""Expand joints into kernel primitives, which rotate about or slide along their own z axis, or move freely.

Euler, universal, planar, translation3 and free joints become several primitives; a fixed joint becomes none. A mimic
follower reads its leader's coordinate through gain and bias. This runs once, when a model is built.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.model.curves.path import Path
from poise.model.joints.joint import Mimic
from poise.model.joints.kinds import KINDS, Primitive, make_basis
from poise.model.layout import Layout
from poise.model.spec import JointSpec

__all__ = ["make_kernel_table"]


@dataclass(slots=True)
class _Table:
    """The arrays under construction."""

    ints: list[list[int]] = field(default_factory=list)
    numbers: list[tuple[float, float, float]] = field(default_factory=list)
    placements: list[NDArray[np.float64]] = field(default_factory=list)
    paths: list[Path | None] = field(default_factory=list)

    def add(
        self,
        kind: int,
        parent: int,
        q: int,
        v: int,
        numbers: tuple[float, float, float],
        at: Any,
        path: Path | None = None,
    ) -> int:
        index = len(self.ints)
        self.ints.append([kind, parent, index + 1, q, v])
        self.numbers.append(numbers)
        self.placements.append(at)
        self.paths.append(path)
        return index


def expand(table: _Table, spec: JointSpec, layout: Layout, at: int, base: Any) -> tuple[int, Any]:
    """Add the primitives of a joint at `base` of primitive `at`, and return the primitive and offset of its frame."""
    q, v = layout.q_slices[spec.name].start, layout.v_slices[spec.name].start
    mimic = layout.mimics.get(spec.name, Mimic("", 1.0, 0.0))
    for kind, axis in KINDS[spec.kind].motions(spec):
        if kind in (Primitive.BALL, Primitive.SLIDE3):
            at, base = table.add(kind, at, q, v, (1.0, 0.0, 0.0), base), np.eye(4)
            q, v = q + 3, v + 3
            continue
        if kind in (Primitive.PATH, Primitive.SCALE):
            at = table.add(kind, at, q, v, (mimic.ratio, mimic.offset, 0.0), base, spec.path)
            base, q, v = np.eye(4), q + 1, v + 1
            continue
        # a motion about a negative axis is the reverse motion about the positive axis, which keeps the matrix exact
        sign = -1.0 if float(axis[int(np.argmax(np.abs(axis)))]) == -1.0 else 1.0
        turn = np.eye(4)
        turn[:3, :3] = make_basis(sign * axis)
        unit = sign * spec.length if spec.length else sign  # a factor of a length
        numbers = (unit * mimic.ratio, unit * mimic.offset, spec.pitch)
        at = table.add(kind, at, q, v, numbers, base @ turn)
        base, q, v = turn.T, q + 1, v + 1
    return at, base


def make_kernel_table(layout: Layout) -> dict[str, Any]:
    """Return the arrays for `native.Body`."""
    table = _Table()
    places: dict[int, tuple[int, Any]] = {-1: (-1, np.eye(4))}
    for i in layout.order:
        spec = layout.specs[i]
        at, base = places[layout.parents[i]]
        base = base @ spec.offset.matrix
        if isinstance(spec, JointSpec) and KINDS[spec.kind].nv:
            at, base = expand(table, spec, layout, at, base)
        places[i] = (at, base)
    close_subtrees(table.ints)
    frames = [places[i] for i in range(len(layout.specs))]
    n = len(table.ints)
    placements = np.array(table.placements).reshape(n, 4, 4)
    return {
        "nq": sum(KINDS[s.kind].nq for s in layout.joints if s.name not in layout.mimics),
        "nv": len(layout.lower),
        "ints": table.ints,
        "numbers": np.array(table.numbers).reshape(n, 3),
        "R": np.ascontiguousarray(placements[:, :3, :3]),
        "p": np.ascontiguousarray(placements[:, :3, 3]),
        "curves": [(path.pieces, path.length, path.closed) for path in table.paths if path],
        "curve_index": number_paths(table.paths),
        "mass": sum_masses(layout, frames, n),
        "frame_primitive": [at for at, _ in frames],
        "frame_R": np.array([base[:3, :3] for _, base in frames]),
        "frame_p": np.array([base[:3, 3] for _, base in frames]),
        "frame_names": list(layout.frames),
        "aliases": [(spec.name, i) for i, spec in enumerate(layout.specs) if isinstance(spec, JointSpec)],
        "coordinates": list_coordinates(layout),
    }


def number_paths(paths: list[Path | None]) -> list[int]:
    """Return the index of each primitive's curve among all curves, or -1."""
    numbers = iter(range(len(paths)))
    return [-1 if path is None else next(numbers) for path in paths]


def close_subtrees(ints: list[list[int]]) -> None:
    """Fill in subtree_end: in depth-first order every subtree is contiguous."""
    for row in reversed(ints):
        if row[1] >= 0:
            ints[row[1]][2] = max(ints[row[1]][2], row[2])


def sum_masses(layout: Layout, frames: list[tuple[int, Any]], n: int) -> NDArray[np.float64]:
    """Return mass and first moment of each primitive, in its axes; the last row is fixed to the world."""
    out = np.zeros((n + 1, 4))
    for spec, (at, base) in zip(layout.specs, frames, strict=True):
        if spec.mass:
            center = base[:3, :3] @ spec.center + base[:3, 3]
            out[at if at >= 0 else n] += spec.mass * np.array([1.0, *center])
    return out


def list_coordinates(layout: Layout) -> list[list[int]]:
    """Return each coordinate of q as (index in q, index in v, 1 for a quaternion)."""
    out: list[list[int]] = []
    for spec in layout.joints:
        if spec.name in layout.mimics:
            continue
        q, v, facts = layout.q_slices[spec.name].start, layout.v_slices[spec.name].start, KINDS[spec.kind]
        plain = len(facts.coordinates)
        out.extend([q + k, v + k, 0] for k in range(plain))
        if facts.quaternion:
            out.append([q + plain, v + plain, 1])
    return out
