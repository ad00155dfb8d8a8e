"""Model: a frozen tree of joints and frames, and its kinematics.

The arithmetic is in native/kernels: `fk`, `jacobian` and similar methods are single native calls that check their
arguments, look up the frame and allocate the output array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import NameNotFound, name_not_found
from poise.keywords import NotHere
from poise.model import derive, text
from poise.model.attachments import UNITS, Attachments, freeze_mapping
from poise.model.channels import find_columns
from poise.model.closures import Closure
from poise.model.family import Family, family_of
from poise.model.geometry.shapes import Shape
from poise.model.joints.joint import Frame, Joint, get_name
from poise.model.joints.primitives import make_kernel_table
from poise.model.layout import Layout, lay_out
from poise.model.masses import MassProperties
from poise.model.members import freeze_flags, make_frames, make_joints, measure_length
from poise.model.memo import Memo
from poise.model.spec import FrameSpec, JointSpec, freeze
from poise.native import Body
from poise.notebook import NotebookCell

__all__ = ["Model"]

Array = NDArray[Any]


class Model(MassProperties, NotebookCell):
    """The body. Created by `ModelBuilder`, `poise.load` or `poise.models`; immutable.

    Attributes:
        name: Its name.
        nq: Number of coordinates of a configuration q.
        nv: Number of degrees of freedom: the length of velocities, steps, `lower` and `upper`.
        frames: Names of all frames, in the order of `fk`'s output; `frame(name)` is the `Frame` itself.
        joints: All joints, in the order of q: `Joint` objects, each equal to its name.
        rest: The rest pose.
        lower: Lower bounds, length nv; -inf if unbounded.
        upper: Upper bounds, length nv.
        stiffness: Stiffness of each degree of freedom.
        slides: Whether each degree of freedom is a length [m].
        turns: Whether each degree of freedom is an angle [rad]; the stretch of a scale joint is neither.
        mass: Total mass [kg].
        length: L, the longest path from the root [m]: the body's length scale.
        source: The file or table that the model was read from.
        shapes: Solids and meshes fixed to its frames.
        poses: Named configurations, such as a file's key poses.
        closures: Loops that its file closes, as `poise.model.Closure`; solvers hold them.
        roles: Body part, such as "hand_l", to frame.
        example_poses: Configurations from the clip in its file, (frames, nq), in pairs of consecutive frames: they show
            its stance if the rest pose does not. None if the file has no clip.
        subject: The body alone, if this model also contains objects or other people. Otherwise None.
        up: The world's up axis: "x", "y" or "z".
        units: The unit of its lengths: "m", or that of the file if its numbers were kept.
        metres_per_unit: The size of that unit [m]; 1 if it is unknown.
        memo: Cache of values computed from this model; copies start with an empty cache.
    """

    __slots__ = (
        *("attachments", "native_body", "_frames", "_joints", "_late", "layout", "example_poses", "frames"),
        *("joints", "length", "lower", "mass", "memo", "metres_per_unit", "name", "nq", "nv", "poses", "rest"),
        *("file_notes", "roles", "shapes", "slides", "source", "stiffness", "subject", "turns", "units", "up", "upper"),
        "closures",
    )

    name: str
    nq: int
    nv: int
    frames: tuple[str, ...]
    joints: tuple[Joint, ...]
    rest: Floats
    lower: Floats
    upper: Floats
    stiffness: Floats
    slides: NDArray[np.bool_]
    turns: NDArray[np.bool_]
    mass: float
    length: float
    source: str
    file_notes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    poses: Mapping[str, Floats]
    closures: tuple[Closure, ...]
    roles: Mapping[str, str]
    example_poses: Floats | None
    subject: Model | None
    up: str
    units: str
    metres_per_unit: float
    memo: Memo
    attachments: Attachments
    native_body: Body
    _late: tuple[Model, derive.RoleFinder]  # deferred roles: the body without them, and the function that finds them
    layout: Layout
    _joints: dict[str, Joint]
    _frames: dict[str, Frame]

    def __init__(
        self,
        name: str,
        specs: Sequence[JointSpec | FrameSpec],
        *,
        source: str = "",
        notes: Iterable[str] = (),
        attached: Attachments | None = None,
    ) -> None:
        layout = lay_out(specs)
        attached = (attached or Attachments()).check(layout)
        table = make_kernel_table(layout)
        table["aliases"] += [(role, layout.frames.index(frame)) for role, frame in attached.roles if frame]
        table["aliases"] += [(name, i) for i, name in enumerate(layout.frames) if i >= len(layout.listed)]
        joints = make_joints(layout)
        own = [joint for joint in joints if joint.nv]
        rest = np.concatenate([np.zeros(0), *(joint.rest for joint in own)])
        for slot, value in {
            "name": name,
            "source": source,
            "file_notes": tuple(notes),
            "shapes": attached.shapes,
            "poses": freeze_mapping(attached.poses),
            "closures": attached.closures,
            "roles": freeze_mapping([(role, frame) for role, frame in attached.roles if frame]),
            "example_poses": attached.example_poses,
            "subject": attached.subject,
            "up": attached.up,
            "units": attached.units,
            "metres_per_unit": UNITS[attached.units],
            "attachments": attached,
            "layout": layout,
            "native_body": Body({**table, "frame_names": list(layout.listed)}),
            "nq": table["nq"],
            "nv": table["nv"],
            "frames": layout.listed,
            "joints": joints,
            "_joints": {joint.name: joint for joint in joints},
            "_frames": {},
            "memo": Memo(),
            "rest": freeze(rest),
            "lower": layout.lower,
            "upper": layout.upper,
            "stiffness": freeze(np.concatenate([np.zeros(0), *(np.full(j.nv, j.stiffness) for j in own)])),
            "mass": float(sum(spec.mass for spec in layout.specs)),
            "slides": freeze_flags(slides for joint in own for slides in joint.slides),
            "turns": freeze_flags(turns for joint in own for turns in joint.turns),
            "length": measure_length(layout),
        }.items():
            object.__setattr__(self, slot, value)
        object.__setattr__(self, "rest", freeze(self.clamp(self.rest)))

    # -------------------------------------------------------------------------------------------- frozen

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a Model is frozen: {name!r} cannot be set. Build another one, or use locked, with_frame or with_roles."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Model is frozen: {name!r} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return derive.remake, derive.list_state(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self is other or (self.name == other.name and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((self.name, self.nq, self.frames))

    def _key(self) -> tuple[Any, ...]:
        return (*(spec.key() for spec in derive.list_specs(self)), self.attachments.key())

    # -------------------------------------------------------------------------------------------- names

    def joint(self, name: str | Joint) -> Joint:
        """Return the joint with this name.

        Raises:
            NameNotFound: No joint has this name; the message lists the closest names.
        """
        found = self._joints.get(get_name(name))
        if found is None:
            raise name_not_found("joint", get_name(name), self._joints)
        return found

    def frame(self, name: str | Frame) -> Frame:
        """Return the frame with this name, or the frame of the joint or role with this name.

        A frame's own name takes precedence, then a joint's, then a role's, such as "hand_l", then a geom's of an MJCF.

        Raises:
            NameNotFound: Nothing has this name; the message lists the closest names.
        """
        if not self._frames:
            self._frames.update(make_frames(self.layout))
        asked = get_name(name)
        if (found := self._frames.get(asked)) is not None and found.listed:
            return found
        if asked in self._joints:
            return self._frames[self._joints[asked].frame]
        if asked in self.roles:
            return self._frames[self.roles[asked]]
        if found is None:
            raise name_not_found("frame", asked, (*self._frames, *self.roles))
        return found

    def ancestors(self, frame: str | Frame) -> list[str]:
        """List the ancestors of `frame`, starting with `frame` itself and ending with the root."""
        out = [self.frame(frame).name]
        while (parent := self.frame(out[-1]).parent) is not None:
            out.append(parent)
        return out

    def joints_above(self, frame: str | Frame) -> list[Joint]:
        """List the joints above `frame`, closest first."""
        carried = (self.frame(name).joint for name in self.ancestors(frame))
        return [self.joint(name) for name in carried if name is not None]

    def family(self, frame: str | Frame, joints: Sequence[str] | None = None) -> Family:
        """Return the closed form of the chain to a frame, or the reason that it has none. Prints as text.

        Args:
            frame: Name of the frame.
            joints: The only joints that may move, the others stay at rest; by default all joints that are not locked.
        """
        return family_of(self, self.frame(frame).name, joints)

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions made when it was read, and by `Clearance` on its first use."""
        return (*self.file_notes, *self.memo.notes)

    @property
    def up_axis(self) -> int:
        """The index of the world's up axis: 0, 1 or 2."""
        return "xyz".index(self.up)

    @property
    def up_direction(self) -> NDArray[np.float64]:
        """The world's up axis as a unit vector."""
        return np.array(np.eye(3)[self.up_axis])

    # -------------------------------------------------------------------------------------------- kinematics

    def fk(self, q: ArrayLike, frame: str | Frame | list[str] | tuple[str, ...] | None = None) -> Array:
        """Return T_world_frame of a frame, (..., 4, 4), or of all frames, (..., n_frames, 4, 4), if `frame` is None.

        Args:
            q: Configuration, (..., nq). float32 input gives float32 output.
            frame: Name of a frame; or of a joint or a role, meaning its frame. A list of k names gives (..., k, 4, 4).
        """
        if frame is None:
            if type(q) is str:
                derive.resolve_role(self, q, frame)  # raises
            return self.native_body.fk(q, None)[..., : len(self.frames), :, :]
        if type(frame) is not str and isinstance(frame, (list, tuple)):
            return derive.stack_transforms(self, q, frame)
        try:
            return self.native_body.fk(q, frame)
        except NameNotFound:  # possibly a role that was not used before
            return derive.settle_body(self).fk(q, derive.resolve_role(self, q, frame))

    def jacobian(
        self,
        q: ArrayLike,
        frame: str | Frame,
        *,
        point: ArrayLike | None = None,
        reference: str = "world",
        columns: Sequence[str | Joint] | None = None,
    ) -> Array:
        """Return J in twist = J v of a point of a frame: rows [linear; angular], (..., 6, nv).

        Args:
            q: Configuration, (..., nq).
            frame: Name of the frame.
            point: A point of the body, in the frame's own coordinates [m]; by default the frame's origin.
            reference: "world" (world axes, at the point), "body" (the frame's own axes, at the point) or "spatial"
                (world axes, at the world origin, for any point).
            columns: Joints, or channels such as "hip.rz", in the desired order; by default all nv in the order of v.
        """
        try:
            J = self.native_body.jacobian(q, frame, point, reference)
        except NameNotFound:
            J = derive.settle_body(self).jacobian(q, derive.resolve_role(self, q, frame), point, reference)
        return J if columns is None else J[..., find_columns(self, columns)]

    def jacobian_dot(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | Frame,
        *,
        point: ArrayLike | None = None,
        reference: str = "world",
        columns: Sequence[str | Joint] | None = None,
    ) -> Array:
        """Return the time derivative of `jacobian` at velocity v, (..., 6, nv); arguments as there, v is (..., nv)."""
        try:
            dJ = self.native_body.jacobian_dot(q, v, frame, point, reference)
        except NameNotFound:
            dJ = derive.settle_body(self).jacobian_dot(q, v, derive.resolve_role(self, q, frame), point, reference)
        return dJ if columns is None else dJ[..., find_columns(self, columns)]

    def hessian(self, q: ArrayLike, frame: str | Frame, *, columns: Sequence[str | Joint] | None = None) -> Array:
        """Return H[r, i, k], the derivative of entry (r, i) of the world Jacobian along v_k, (..., 6, nv, nv).

        Not symmetric. `columns` selects and orders both i and k, as in `jacobian`.
        """
        try:
            H = self.native_body.hessian(q, frame)
        except NameNotFound:
            H = derive.settle_body(self).hessian(q, derive.resolve_role(self, q, frame))
        chosen = slice(None) if columns is None else find_columns(self, columns)
        return H[..., chosen, :][..., chosen]

    # -------------------------------------------------------------------------------------------- configurations

    def integrate(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return q moved by the step dq, (..., nv): scalars add, quaternions rotate by exp(dq) in body axes."""
        return self.native_body.integrate(q, dq)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the step from q0 to q1, (..., nv): `integrate(q0, difference(q0, q1))` is q1."""
        return self.native_body.difference(q0, q1)

    def clamp(self, q: ArrayLike) -> Array:
        """Return the closest configuration in the joint ranges, with unit quaternions; ball ranges are ignored."""
        return derive.clamp(self, q)

    def random(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Draw configurations uniformly from the joint ranges, (*size, nq); within pi or L if unbounded.

        Locked joints stay at their rest values.
        """
        return derive.draw_configurations(self, rng, size)

    # -------------------------------------------------------------------------------------------- other models

    def subtree(self, root: str | Frame) -> Model:
        """Return the subtree of frame `root`, with `root` fixed at the world's origin."""
        return derive.cut_subtree(self, self.frame(root).name)

    def locked(self, joints: Mapping[str, ArrayLike]) -> Model:
        """Return the body with some joints fixed at the given values; they become `fixed` joints and leave q.

        Args:
            joints: Joint name to value: a number, or all its coordinates in q. Followers are fixed with their leader.
        """
        return derive.lock_joints(self, joints)

    def with_frame(self, name: str, parent: str | Frame, offset: Any = None) -> Model:
        """Return the body with one more frame, such as a tool."""
        return derive.add_spec(self, FrameSpec.make(name, self.frame(parent).name, offset))

    def with_roles(self, roles: Mapping[str, str | Frame | None]) -> Model:
        """Return the same body with some roles replaced.

        Args:
            roles: Role, such as "hand_l", to the frame that plays it, or to None if no frame does. The result of
                `poise.roles`, or a corrected part of it, can be passed.

        Raises:
            NameNotFound: The model has no such frame.
        """
        return derive.with_roles(self, roles)

    def with_spheres(self, path: str | PathLike[str]) -> Model:
        """Return the same body with the collision spheres of a cuRobo robot file (YAML), see `poise.formats.curobo`."""
        return derive.SPHERE_READER.get()(self, path)

    q = NotHere("model.rest, or make a poise.Pose(model), which has a q")
    solve = ik = inverse_kinematics = NotHere("poise.solve(model, goals)")
    dof, limits = NotHere("model.nv, or model.nq"), NotHere("model.lower and model.upper, or model.joint(name).lower")
    forward_kinematics, joint_names = NotHere("model.fk(q, frame)"), NotHere("[j.name for j in model.joints]")

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.joints)} joints, {self.nv} DOF, {len(self.frames)} frames>"

    def __str__(self) -> str:
        return text.draw_tree(self)


for _call in (Model.jacobian, Model.jacobian_dot, Model.hessian):
    _call.__defaults__ = (derive.NO_FRAME,)  # resolve_role reports a missing frame, with what to type
for _slot in derive.ROLE_SLOTS:
    setattr(Model, _slot, derive.make_late(getattr(Model, _slot)))
