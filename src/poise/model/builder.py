"""ModelBuilder: build a body in a few lines of Python, without a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from poise.errors import InvalidModel, UnitWarning
from poise.keywords import NotHere, refuse_unknown
from poise.model.attachments import Attachments
from poise.model.closures import Closure
from poise.model.curves.path import Path
from poise.model.degrees import doubt_bounds, doubt_cone
from poise.model.geometry.looks import LookSource
from poise.model.geometry.shapes import Geometry, Shape
from poise.model.joints.joint import BallRange, Mimic
from poise.model.model import Model
from poise.model.spec import FrameSpec, JointSpec, check_name

__all__ = ["ModelBuilder"]


class ModelBuilder:
    """Collects joints and frames, in any order, and builds a frozen `Model`.

    Examples:
        >>> builder = ModelBuilder("arm")
        >>> _ = builder.add_joint("shoulder", None, "revolute", axis=(0, 0, 1), lower=-2, upper=2)
        >>> _ = builder.add_joint("elbow", "shoulder", "revolute", offset=(1, 0, 0))
        >>> _ = builder.add_frame("hand", "elbow", (1, 0, 0))
        >>> model = builder.build()
        >>> model.nv
        2
    """

    add_link = NotHere("builder.add_joint(name, parent, kind), which adds a frame, or builder.add_frame(name, parent)")

    def __init__(self, name: str = "model") -> None:
        if not isinstance(name, str):
            raise InvalidModel(f"a model's name must be a string, not {name!r}.")
        self.name = name
        self.source = ""
        self.notes: list[str] = []
        self.up = "z"
        self.units = "m"
        self.disabled_pairs: tuple[tuple[str, str], ...] | None = None
        self.look: LookSource | None = None
        self.closures: list[Closure] = []
        self.specs: list[JointSpec | FrameSpec] = []
        self._joints: set[str] = set()
        self._frames: set[str] = set()
        self._shapes: list[Shape] = []
        self._poses: dict[str, ArrayLike] = {}
        self._roles: dict[str, str] = {}
        self._doubts: list[str] = []

    @refuse_unknown
    def add_joint(
        self,
        name: str,
        parent: str | None,
        kind: str,
        *,
        frame: str | None = None,
        offset: Any = None,
        axis: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        order: str | None = None,
        pitch: float | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        rest: ArrayLike | None = None,
        mimic: Mimic | Sequence[Any] | None = None,
        mass: float = 0.0,
        center: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        stiffness: float = 0.0,
        cone: BallRange | None = None,
        locked: bool = False,
        length: float | None = None,
        path: Path | ArrayLike | None = None,
        effort: float | None = None,
        velocity: float | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
    ) -> ModelBuilder:
        """Add a joint and the frame that moves with it.

        Args:
            name: The joint's name, unique among joints.
            parent: The parent frame (or joint, meaning its frame); None for the world. It may be added later.
            kind: fixed, revolute, continuous, prismatic, screw, cylindrical, universal, euler, planar, translation3,
                path, scale, ball or free.
            frame: Name of the frame that moves with it; by default the joint's name.
            offset: From the parent frame to the joint at q = 0: three numbers, a 4x4 matrix or a Transform.
            axis: Axis in the joint's own frame, of any length; by default z (universal: x).
            axis2: Second axis of a universal joint; by default y.
            order: Letters of an euler joint; "ZXY" means R = Rz Rx Ry.
            pitch: Metres per radian of a screw joint.
            lower: Lower bound: a number, or one per degree of freedom [rad, m]; None if unbounded. `build` warns of
                ranges that look like degrees.
            upper: Upper bound, likewise.
            rest: The joint's coordinates in the rest pose; by default zero, clamped to the range.
            mimic: (joint, ratio, offset): follow that joint instead of having a coordinate of its own.
            mass: Mass that moves with the joint [kg].
            center: Centre of that mass in the joint's frame [m].
            inertia: Its inertia about that centre, in the axes of the joint's frame: 3x3, or 3 moments [kg m^2].
            stiffness: Penalty on its motion; 0 is neutral, larger values make it move less in a step.
            cone: The range of a ball joint; None if unbounded.
            locked: True for the length of a bone: poses and motions may change it, solvers do not, unless `joints=`
                names it.
            length: Length of a scale joint's bone at coordinate 1 [m]. The bone is 0.5 to 2 times as long unless
                `lower` and `upper` are given.
            path: The curve of a path joint: points (n, 3) in the joint's own axes, interpolated by a spline, or a
                `poise.model.Path`. The range is the whole curve unless `lower` and `upper` are given; a closed curve is
                unbounded.
            effort: Largest torque or force [N m, N]; None if unknown.
            velocity: Largest speed [rad/s, m/s], which `limits.Speed()` holds; None if unknown.
            damping: Resistance per speed [N m s/rad, N s/m].
            friction: Resistance at any speed [N m, N].
            armature: Inertia of the drive, as felt at the joint [kg m^2, kg].

        Returns:
            The builder, so that calls can be chained.

        Raises:
            InvalidModel: A name is taken or invalid.
            InvalidValue: A number is invalid (non-finite, zero axis, lower above upper, ...).
            ShapeMismatch: An argument has the wrong number of values.
        """
        spec = JointSpec.make(**{key: value for key, value in locals().items() if key != "self"})
        self.extend([spec])
        where = f"joint {name!r}"
        self._doubts += [*doubt_bounds(kind, spec.lower, spec.upper, where), *doubt_cone(cone, where)]
        return self

    def add_frame(
        self,
        name: str,
        parent: str | None = None,
        offset: Any = None,
        *,
        mass: float = 0.0,
        center: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> ModelBuilder:
        """Add a named frame fixed to `parent` (None: the world), with an optional mass."""
        self.extend([FrameSpec.make(name, parent, offset, mass=mass, center=center, inertia=inertia)])
        return self

    def add_closure(self, frame: str, other: str, transform: Any = None, *, point: Any = None) -> ModelBuilder:
        """Close a loop between two frames; arguments as in `poise.limits.Closed`, which solvers then hold."""
        self.closures.append(Closure.make(frame, other, transform, point))
        return self

    def add_shape(
        self,
        frame: str,
        shape: Geometry,
        *,
        offset: Any = None,
        use: str = "both",
        color: Sequence[float] | None = None,
    ) -> ModelBuilder:
        """Add a solid or a mesh that moves with a frame.

        Args:
            frame: Name of the frame (or joint, meaning its frame). May be added later.
            shape: A Sphere, Capsule, Cylinder, Box or Mesh of `poise.model`.
            offset: From the frame to the solid's own axes.
            use: "visual", "collision" or "both".
            color: Red, green, blue and optional opacity, 0 to 1.
        """
        self._shapes.append(Shape.make(frame, shape, offset, use, color))
        return self

    def add_pose(self, name: str, q: ArrayLike) -> ModelBuilder:
        """Add a named configuration of the whole body, (nq,); `build` checks its length."""
        if check_name(name, "pose") in self._poses:
            raise InvalidModel(f"two poses are called {name!r}; rename one.")
        self._poses[name] = q
        return self

    def add_role(self, role: str, frame: str) -> ModelBuilder:
        """Assign a role on the body, such as "hand_l", to a frame; each role can be assigned once."""
        if check_name(role, "role") in self._roles:
            raise InvalidModel(f"the role {role!r} is given twice, to {self._roles[role]!r} and {frame!r}.")
        self._roles[role] = check_name(getattr(frame, "name", frame), "frame")
        return self

    def build(self) -> Model:
        """Build the model, which is immutable.

        Raises:
            InvalidModel: No joint or frame, a loop in the parents, or an invalid mimic.
            NameNotFound: A parent, a mimicked joint, or the frame of a shape or role does not exist.
            ShapeMismatch: A pose has the wrong number of values.

        Warns:
            UnitWarning: A turning joint's range looks like degrees.
        """
        for doubt in () if self.source else self._doubts:  # files declare their units
            warnings.warn(doubt, UnitWarning, stacklevel=2)
        attached = Attachments(
            shapes=tuple(self._shapes),
            poses=tuple(self._poses.items()),
            roles=tuple(self._roles.items()),
            up=self.up,
            units=self.units,
            disabled_pairs=self.disabled_pairs,
            look=self.look,
            closures=tuple(self.closures),
        )
        return Model(self.name, self.specs, source=self.source, notes=self.notes, attached=attached)

    def extend(self, specs: Iterable[JointSpec | FrameSpec]) -> None:
        """Add checked joints and frames."""
        for spec in specs:
            frame = spec.frame if isinstance(spec, JointSpec) else spec.name
            if isinstance(spec, JointSpec) and spec.name in self._joints:
                raise InvalidModel(f"two joints are called {spec.name!r}; rename one.")
            if frame in self._frames:
                raise InvalidModel(f"two frames are called {frame!r}; rename one (frame= names a joint's frame).")
            self._frames.add(frame)
            if isinstance(spec, JointSpec):
                self._joints.add(spec.name)
            self.specs.append(spec)
