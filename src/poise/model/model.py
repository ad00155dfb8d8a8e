"""Model: a frozen tree of joints and frames, and its kinematics.

The arithmetic is in native/kernels: `fk`, `jacobian` and their kin are single native calls that check, look up the
frame and make the output array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arrays import Floats
from poise.errors import InvalidValue, NameNotFound, name_not_found
from poise.model import derive, text
from poise.model.attachments import Attachments, freeze_mapping
from poise.model.channels import find_columns
from poise.model.family import Family, family_of
from poise.model.geometry.shapes import Shape
from poise.model.joints.joint import Frame, Joint, get_name
from poise.model.joints.primitives import make_kernel_table
from poise.model.layout import Layout, lay_out
from poise.model.members import freeze_flags, list_ranged, make_frames, make_joints, measure_length
from poise.model.memo import Memo, MemoSlot
from poise.model.spec import FrameSpec, JointSpec, freeze
from poise.native import Body
from poise.notebook import NotebookCell

__all__ = ["Model"]

Array = NDArray[Any]
RANGED = MemoSlot[tuple[NDArray[np.intp], NDArray[np.intp]]]("numbers of q with a range, and their velocities")


class Model(NotebookCell):
    """The body. Made by `ModelBuilder`, `poise.load` or `poise.models`; never changed afterwards.

    Attributes:
        name: What it is called.
        nq: How many numbers a configuration q has.
        nv: How many degrees of freedom: the length of velocities, steps, `lower` and `upper`.
        frames: Names of all frames, in the order of `fk`'s output; `frame(name)` is the `Frame` itself.
        joints: All joints, in the order of q: `Joint` objects, each equal to its name.
        rest: The rest pose.
        lower: Lower bounds, length nv; -inf if unbounded.
        upper: Upper bounds, length nv.
        stiffness: Stiffness of each degree of freedom.
        slides: Whether each degree of freedom is a length [m].
        turns: Whether each is an angle [rad]; the stretch of a scale joint is neither.
        mass: Total mass [kg].
        length: L, the longest path from the root [m]: the body's length scale.
        source: The file or table that it was read from.
        notes: What was assumed when it was read.
        shapes: Solids and meshes fixed to its frames.
        poses: Named configurations, such as a file's key poses.
        roles: Body part, such as "hand_l", to frame.
        example_poses: Configurations from the clip that its file came with, (frames, nq), in pairs of neighbouring
            frames: they show how it stands if its rest pose does not. None if there is no clip.
        subject: The body alone, if this model also holds objects or other people. Otherwise None.
        up: The world's up axis: "x", "y" or "z".
        units: The unit of its lengths: "m", or that of the file if its numbers were kept.
        memo: Values computed from this model, kept to save time; copies start with an empty one.
    """

    __slots__ = (
        *("attachments", "native_body", "_frames", "_joints", "_late", "layout", "example_poses", "frames"),
        *("joints", "length", "lower", "mass", "memo", "name", "notes", "nq", "nv", "poses", "rest", "roles", "shapes"),
        *("slides", "source", "stiffness", "subject", "turns", "units", "up", "upper"),
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
    notes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    poses: Mapping[str, Floats]
    roles: Mapping[str, str]
    example_poses: Floats | None
    subject: Model | None
    up: str
    units: str
    memo: Memo
    attachments: Attachments
    native_body: Body
    _late: tuple[Model, derive.RoleFinder]  # roles not used yet: the body without them, and their finder
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
        joints = make_joints(layout)
        own = [joint for joint in joints if joint.nv]
        rest = np.concatenate([np.zeros(0), *(joint.rest for joint in own)])
        for slot, value in {
            "name": name,
            "source": source,
            "notes": tuple(notes),
            "shapes": attached.shapes,
            "poses": freeze_mapping(attached.poses),
            "roles": freeze_mapping([(role, frame) for role, frame in attached.roles if frame]),
            "example_poses": attached.example_poses,
            "subject": attached.subject,
            "up": attached.up,
            "units": attached.units,
            "attachments": attached,
            "layout": layout,
            "native_body": Body(table),
            "nq": table["nq"],
            "nv": table["nv"],
            "frames": layout.frames,
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

    def __getattr__(self, name: str) -> Any:
        """Find roles that were left for later, now that a slot is read that depends on them."""
        if name not in derive.ROLE_SLOTS:
            raise AttributeError(f"a Model has no attribute {name!r}.")
        derive.settle_roles(self)
        return getattr(self, name)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Model is frozen: {name!r} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (self.name, self.layout.specs, self.source, self.notes, self.attachments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self is other or (self.name == other.name and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((self.name, self.nq, self.frames))

    def _key(self) -> tuple[Any, ...]:
        return (*(spec.key() for spec in self.layout.specs), self.attachments.key())

    # -------------------------------------------------------------------------------------------- names

    def joint(self, name: str | Joint) -> Joint:
        """Return the joint of that name.

        Raises:
            NameNotFound: There is none; the message has the closest names.
        """
        found = self._joints.get(get_name(name))
        if found is None:
            raise name_not_found("joint", get_name(name), self._joints)
        return found

    def frame(self, name: str | Frame) -> Frame:
        """The frame of that name; a joint's name means the frame that moves with it, a role's the frame that plays it.

        A frame's own name comes first, then a joint's, then a role's, such as "hand_l" on any body whose hand is known.

        Raises:
            NameNotFound: There is none; the message has the closest names.
        """
        if not self._frames:
            self._frames.update(make_frames(self.layout))
        asked = get_name(name)
        found = self._frames.get(asked)
        if found is None and asked in self._joints:
            found = self._frames[self._joints[asked].frame]
        if found is None and asked in self.roles:
            found = self._frames[self.roles[asked]]
        if found is None:
            raise name_not_found("frame", asked, (*self._frames, *self.roles))
        return found

    def ancestors(self, frame: str | Frame) -> list[str]:
        """List the frames from `frame` itself up to the root that it hangs on."""
        out = [self.frame(frame).name]
        while (parent := self.frame(out[-1]).parent) is not None:
            out.append(parent)
        return out

    def joints_above(self, frame: str | Frame) -> list[Joint]:
        """List the joints that carry a frame, the outermost first."""
        carried = (self.frame(name).joint for name in self.ancestors(frame))
        return [self.joint(name) for name in carried if name is not None]

    def family(self, frame: str | Frame, joints: Sequence[str] | None = None) -> Family:
        """Return the closed form of the chain to a frame, or why it has none. Prints as text.

        Args:
            frame: Name of the frame.
            joints: The only joints that may move; all that are not locked unless given. The others stand at rest.
        """
        return family_of(self, self.frame(frame).name, joints)

    @property
    def up_axis(self) -> int:
        """The index of the world's up axis: 0, 1 or 2."""
        return "xyz".index(self.up)

    @property
    def up_direction(self) -> NDArray[np.float64]:
        """The world's up axis as a unit vector."""
        return np.array(np.eye(3)[self.up_axis])

    # -------------------------------------------------------------------------------------------- kinematics

    def fk(self, q: ArrayLike, frame: str | Frame | None = None) -> Array:
        """Return T_world_frame of a frame, (..., 4, 4), or of all frames, (..., n_frames, 4, 4), if `frame` is None.

        Args:
            q: Configuration, (..., nq). float32 in gives float32 out.
            frame: Name of a frame; or of a joint or a role, meaning its frame.
        """
        try:
            return self.native_body.fk(q, frame)
        except NameNotFound:  # or a role that was not used yet
            return self.native_body.fk(q, derive.resolve_role(self, frame))

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
            point: Where on the body, in the frame's own coordinates [m]; its origin unless given.
            reference: "world" (world axes, at the point), "body" (the frame's own axes, at the point) or "spatial"
                (world axes, at the world origin, whatever the point).
            columns: Joints, or channels such as "hip.rz", in the order wanted; all nv in the order of v unless given.
        """
        try:
            J = self.native_body.jacobian(q, frame, point, reference)
        except NameNotFound:
            J = self.native_body.jacobian(q, derive.resolve_role(self, frame), point, reference)
        return J if columns is None else J[..., find_columns(self, columns)]

    def jacobian_dot(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | Frame,
        *,
        point: ArrayLike | None = None,
        reference: str = "world",
    ) -> Array:
        """Return the time derivative of `jacobian` while the body moves with velocity v, (..., 6, nv)."""
        try:
            return self.native_body.jacobian_dot(q, v, frame, point, reference)
        except NameNotFound:
            return self.native_body.jacobian_dot(q, v, derive.resolve_role(self, frame), point, reference)

    def hessian(self, q: ArrayLike, frame: str | Frame) -> Array:
        """Return H[r, i, k], the derivative of entry (r, i) of the world Jacobian along v_k, (..., 6, nv, nv).

        Not symmetric.
        """
        try:
            return self.native_body.hessian(q, frame)
        except NameNotFound:
            return self.native_body.hessian(q, derive.resolve_role(self, frame))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of all mass in the world, (..., 3) [m], the mass fixed to the world included."""
        self._require_mass()
        return self.native_body.center_of_mass(q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Return how fast the centre of mass moves per joint rate, (..., 3, nv)."""
        self._require_mass()
        return self.native_body.center_of_mass_jacobian(q)

    def _require_mass(self) -> None:
        if self.mass <= 0.0:
            raise InvalidValue(f"model {self.name!r} has no mass, so no centre of mass: give its joints mass=.")

    # -------------------------------------------------------------------------------------------- configurations

    def integrate(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return q moved by the step dq, (..., nv): numbers add, quaternions turn by exp(dq) in body axes."""
        return self.native_body.integrate(q, dq)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the step from q0 to q1, (..., nv): `integrate(q0, difference(q0, q1))` is q1."""
        return self.native_body.difference(q0, q1)

    def clamp(self, q: ArrayLike) -> Array:
        """Return the nearest configuration inside the ranges; quaternions are made unit, cones are left aside."""
        out = np.array(self.native_body.integrate(q, np.zeros(self.nv, np.float32)))  # no step, of either width
        numbers, velocities = self.memo.get(RANGED, lambda: list_ranged(self.joints))
        out[..., numbers] = np.clip(out[..., numbers], self.lower[velocities], self.upper[velocities])
        return out

    def random(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Draw configurations evenly from the ranges, (*size, nq); within pi or L if unbounded.

        Joints that are locked stand as in the rest pose.
        """
        return derive.draw_configurations(self, rng, size)

    # -------------------------------------------------------------------------------------------- other models

    def subtree(self, root: str | Frame) -> Model:
        """Return the part of the body from frame `root` outwards, with `root` fixed at the world's origin."""
        return derive.cut_subtree(self, self.frame(root).name)

    def locked(self, joints: Mapping[str, ArrayLike]) -> Model:
        """Return the body with some joints fixed at the given values; they leave q and stay as `fixed` joints.

        Args:
            joints: Joint name to value: a number, or as many as the joint has in q. Followers stop with their leader.
        """
        return derive.lock_joints(self, joints)

    def with_frame(self, name: str, parent: str | Frame, offset: Any = None) -> Model:
        """Return the body with one more frame, such as a tool."""
        spec = FrameSpec.make(name, self.frame(parent).name, offset, 0.0, (0.0, 0.0, 0.0))
        return derive.add_spec(self, spec)

    def with_roles(self, roles: Mapping[str, str | Frame | None]) -> Model:
        """Return the same body with some roles replaced.

        Args:
            roles: Role, such as "hand_l", to the frame that plays it, or to None where nothing does. What `poise.roles`
                returns will do, and so does part of it, corrected.

        Raises:
            NameNotFound: The model has no such frame.
        """
        return derive.with_roles(self, roles)

    # -------------------------------------------------------------------------------------------- looking at it

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.joints)} joints, {self.nv} DOF, {len(self.frames)} frames>"

    def __str__(self) -> str:
        return text.draw_tree(self)


def remake(
    name: str, specs: tuple[Any, ...], source: str, notes: tuple[str, ...], attached: Attachments | None = None
) -> Model:
    """Return a model from its pickle."""
    return Model(name, specs, source=source, notes=notes, attached=attached)
