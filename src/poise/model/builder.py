"""ModelBuilder: a body from a few lines of Python, no file needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from poise.errors import InvalidModel, UnitWarning
from poise.model.attachments import Attachments
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

    def __init__(self, name: str = "model") -> None:
        if not isinstance(name, str):
            raise InvalidModel(f"a model's name must be a string, not {name!r}.")
        self.name = name
        self.source = ""
        self.notes: list[str] = []
        self.up = "z"
        self.units = "m"
        self.look: LookSource | None = None
        self.specs: list[JointSpec | FrameSpec] = []
        self._joints: set[str] = set()
        self._frames: set[str] = set()
        self._shapes: list[Shape] = []
        self._poses: dict[str, ArrayLike] = {}
        self._roles: dict[str, str] = {}
        self._doubts: list[str] = []

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
        stiffness: float = 0.0,
        cone: BallRange | None = None,
        locked: bool = False,
        length: float | None = None,
        path: Path | ArrayLike | None = None,
    ) -> ModelBuilder:
        """Add a joint and the frame that moves with it.

        Args:
            name: The joint's name, unique among joints.
            parent: The frame (or joint, meaning its frame) that it hangs from; None for the world. May be added later.
            kind: fixed, revolute, continuous, prismatic, screw, cylindrical, universal, euler, planar, translation3,
                path, scale, ball or free.
            frame: Name of the frame that moves with it; the joint's own name unless given.
            offset: From the parent frame to the joint at q = 0: three numbers, a 4x4 matrix or a Transform.
            axis: Axis in the joint's own frame, any length; z unless given (universal: x).
            axis2: Second axis of a universal joint; y unless given.
            order: Letters of an euler joint; "ZXY" means R = Rz Rx Ry.
            pitch: Metres per radian of a screw joint.
            lower: Lower bound: a number, or one per degree of freedom [rad, m]; None for none. `build` warns of ranges
                that look like degrees.
            upper: Upper bound, likewise.
            rest: The joint's numbers in the rest pose; zero, brought into the range, unless given.
            mimic: (joint, ratio, offset): follow that joint instead of having a coordinate of one's own.
            mass: Mass that moves with the joint [kg].
            center: Centre of that mass in the joint's frame [m].
            stiffness: How much its motion is discouraged; 0 is neutral, the larger the less it moves in a step.
            cone: How far a ball joint may turn; None for no bound.
            locked: True for the length of a bone: poses and motions may change it, solvers do not, unless `joints=`
                names it.
            length: Length of a scale joint's bone where its coordinate is 1 [m]. The bone is 0.5 to 2 times as long
                unless `lower` and `upper` say otherwise.
            path: What a path joint runs along: points (n, 3) in the joint's own axes, through which a spline goes, or a
                `poise.model.Path`. Its range is the whole curve unless `lower` and `upper` say otherwise; a closed
                curve has none.

        Returns:
            The builder, so that calls can be chained.

        Raises:
            InvalidModel: A name is taken or not a name.
            InvalidValue: A number cannot be (non-finite, zero axis, lower above upper, ...).
            ShapeMismatch: Too many or too few numbers.
        """
        spec = JointSpec.make(
            name,
            parent,
            kind,
            frame=frame,
            offset=offset,
            axis=axis,
            axis2=axis2,
            order=order,
            pitch=pitch,
            lower=lower,
            upper=upper,
            rest=rest,
            mimic=mimic,
            mass=mass,
            center=center,
            stiffness=stiffness,
            cone=cone,
            locked=locked,
            length=length,
            path=path,
        )
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
    ) -> ModelBuilder:
        """Add a named place, fixed to `parent` (None: the world), and the mass that sits there."""
        self.extend([FrameSpec.make(name, parent, offset, mass, center)])
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
            color: Red, green, blue and maybe opacity, 0 to 1.
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
        """Say which frame plays a role on a body, such as "hand_l"; each role is given once."""
        if check_name(role, "role") in self._roles:
            raise InvalidModel(f"the role {role!r} is given twice, to {self._roles[role]!r} and {frame!r}.")
        self._roles[role] = check_name(getattr(frame, "name", frame), "frame")
        return self

    def build(self) -> Model:
        """Return the model, which can no longer be changed.

        Raises:
            InvalidModel: No joint or frame, a loop in the parents, a mimic that cannot be.
            NameNotFound: A parent, a mimicked joint, or the frame of a shape or role that does not exist.
            ShapeMismatch: A pose with too many or too few numbers.

        Warns:
            UnitWarning: A turning joint's range looks like degrees.
        """
        for doubt in () if self.source else self._doubts:  # files say what their numbers are
            warnings.warn(doubt, UnitWarning, stacklevel=2)
        attached = Attachments(
            shapes=tuple(self._shapes),
            poses=tuple(self._poses.items()),
            roles=tuple(self._roles.items()),
            up=self.up,
            units=self.units,
            look=self.look,
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
