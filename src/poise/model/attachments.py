"""Attachments: data in addition to joints and frames: shapes, named poses, roles, example poses, up axis, units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidModel, InvalidValue, ShapeMismatch, name_not_found
from poise.model.closures import Closure
from poise.model.geometry.looks import LookSource
from poise.model.geometry.shapes import Shape
from poise.model.joints.kinds import KINDS
from poise.model.layout import Layout
from poise.model.spec import freeze, read_floats, read_vector

if TYPE_CHECKING:
    from poise.model.model import Model

__all__ = ["Attachments", "freeze_mapping"]

UPS = ("x", "y", "z")
UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 1e-3, "in": 0.0254, "ft": 0.3048, "cmu": 0.0254 / 0.45, "unknown": 1.0}
"""The units of length, in metres; "cmu" is that of the CMU motion library, and an unknown unit counts as a metre."""


@dataclass(frozen=True, slots=True)
class Attachments:
    """The data that a model has in addition to joints and frames.

    Attributes:
        shapes: Solids, each fixed to a frame.
        poses: Pairs of name and configuration.
        roles: Pairs of role and frame; the frame is empty if no frame plays the role.
        up: The world's up axis.
        units: The unit of length.
        example_poses: Configurations (frames, nq) from the clip in the file, in pairs of consecutive frames.
            They show how the body stands and bends if its rest pose does not. None if the file has no clip.
        subject: The body alone, if the model also contains objects or other people; roles and contact points are those
            of the subject. Otherwise None.
        closures: Loops of the body, which solvers keep closed.
        disabled_pairs: Pairs of frames that may overlap, from an SRDF; None to find them from the shapes.
        look: The files with the appearance of the body; not compared.
    """

    shapes: tuple[Shape, ...] = ()
    poses: tuple[tuple[str, ArrayLike], ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    up: str = "z"
    units: str = "m"
    example_poses: ArrayLike | None = None
    subject: Model | None = None
    disabled_pairs: tuple[tuple[str, str], ...] | None = None
    look: LookSource | None = None
    closures: tuple[Closure, ...] = ()

    def check(self, layout: Layout) -> Attachments:
        """Return these attachments with every name and number checked against the tree.

        Raises:
            NameNotFound: A shape, role or closure names an unknown frame.
            InvalidModel: An unknown up axis or unit.
            InvalidValue: A pose has a number that is not finite or a quaternion of zero length.
            ShapeMismatch: A pose has the wrong number of values.
        """
        if self.up not in UPS:
            raise InvalidModel(f"a model's up axis must be 'x', 'y' or 'z', not {self.up!r}.")
        if self.units not in UNITS:
            raise InvalidModel(f"a model's units must be one of {', '.join(map(repr, UNITS))}, not {self.units!r}.")
        joints = {spec.name: spec.frame for spec in layout.joints}
        names = joints | {name: name for name in layout.frames}
        return replace(
            self,
            shapes=tuple(replace(shape, frame=find_frame_name(names, shape.frame)) for shape in self.shapes),
            poses=tuple((name, check_pose(layout, name, q)) for name, q in self.poses),
            roles=tuple((role, find_frame_name(names, frame) if frame else "") for role, frame in self.roles),
            example_poses=None if self.example_poses is None else check_frames(layout, self.example_poses),
            closures=tuple(
                replace(loop, frame=find_frame_name(names, loop.frame), other=find_frame_name(names, loop.other))
                for loop in self.closures
            ),
        )

    def key(self) -> tuple[Any, ...]:
        """Return the content as a tuple that can be compared."""
        poses = tuple(
            (name, (np.asarray(q, np.float64) + 0.0).tobytes()) for name, q in sorted(self.poses, key=take_name)
        )
        frames = None if self.example_poses is None else (np.asarray(self.example_poses) + 0.0).tobytes()
        return (
            self.shapes,
            poses,
            tuple(sorted(self.roles)),
            self.up,
            self.units,
            frames,
            self.subject,
            self.disabled_pairs,
            self.closures,
        )


def take_name(pair: tuple[str, Any]) -> str:
    """Return the name of a (name, value) pair."""
    return pair[0]


def find_frame_name(names: Mapping[str, str], name: str) -> str:
    """Return the frame with this name, or the frame of the joint with this name."""
    if name not in names:
        raise name_not_found("frame", name, names)
    return names[name]


def check_pose(layout: Layout, name: str, q: ArrayLike) -> Floats:
    """Return a configuration with unit quaternions; it may lie outside the joint ranges."""
    values = np.array(read_vector(q, count_numbers(layout), f"pose {name!r}"))
    make_unit(layout, values, f"pose {name!r}")
    return freeze(values)


def check_frames(layout: Layout, frames: ArrayLike) -> Floats:
    """Return the configurations of a clip, (frames, nq), with unit quaternions."""
    nq = count_numbers(layout)
    values = read_floats(frames, nq, "example_poses")
    if values.ndim != 2 or values.shape[1] != nq:
        raise ShapeMismatch(f"example_poses has shape {values.shape}; it must be (frames, {nq}).")
    if not np.isfinite(values).all():
        raise InvalidValue("example_poses has a number that is not finite.")
    for row in values:
        make_unit(layout, row, "example_poses")
    return freeze(values)


def count_numbers(layout: Layout) -> int:
    """Return the length nq of a configuration."""
    return sum(KINDS[spec.kind].nq for spec in layout.joints if spec.name not in layout.mimics)


def make_unit(layout: Layout, q: Floats, what: str) -> None:
    """Normalise the quaternions of a configuration in place."""
    for spec in layout.joints:
        if KINDS[spec.kind].quaternion and spec.name not in layout.mimics:
            turn = q[layout.q_slices[spec.name]][-4:]  # a view
            length = float(np.linalg.norm(turn))
            if not 1e-6 < length < np.inf:
                raise InvalidValue(f"{what}: joint {spec.name!r} has a quaternion of length {length}.")
            if abs(length - 1.0) > 1e-15:
                turn /= length


def freeze_mapping(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    """Return a read-only mapping."""
    return MappingProxyType(dict(pairs))
