"""TwoBone: an arm or a leg in closed form, with shoulder, elbow and hand.

    bend      |hand - shoulder| = |target - shoulder|       law of cosines, for a hinge at any angle to the bones
    point     shoulder rotates the hand onto the target, by the shortest rotation
    pole      shoulder rotates the elbow about the line from shoulder to target, towards the pole's direction;
              within 15 degrees of the pole's own line by the share m k / (1 + m k), k = 2 s / (z (z - s)) of it
    rotation  a spherical wrist takes the remaining rotation

Source: Tolani, Goswami and Badler, Real-time inverse kinematics techniques for anthropomorphic limbs,
Graphical Models 62(5), 2000; pole and soft stretch as in ozz-animation's IKTwoBoneJob.

The limb of a goal is the outermost one on the path to it: a ball, or three hinges through one point, then a hinge, then
the frame, with or without a wrist. Joints above it do not move. One step is exact. If joint limits exclude the exact
pose, the limb first searches for another rotation of the elbow about the line (unless there is a pole), then CCD sweeps
over the limb reduce the error.

Along the pole's line the pole direction is undefined, and near it the plane of the elbow is very sensitive. There (z =
sin 15 degrees, s the sine of the angle between the line to the target and the pole's) the elbow keeps the plane of the
start and is drawn to the pole only as the line rotates, by an angle m: on a path of poses that crosses the pole's line,
the elbow rotates by at most about 5.4 / z radians per radian of the line, and is exact again outside the zone.

Limitations: bodies without such a limb are rejected; for a target out of reach, or inside the soft zone, the stretched
limb is returned and reported as missed. Stiffness has no effect: the exact pose is unique.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.arguments import check_positive
from poise.errors import InvalidValue
from poise.methods.method import Method
from poise.model import Model
from poise.model.joints.joint import Joint
from poise.model.spec import read_unit
from poise.native import core

__all__ = ["TwoBone"]

TURNS = frozenset({"revolute", "continuous", "universal", "euler", "ball"})  # joint kinds of a limb


@dataclass(frozen=True, kw_only=True)
class TwoBone(Method):
    """Analytic two-bone limb.

    Attributes:
        pole: World direction in which the elbow (or knee) points, three numbers; None keeps its plane. Exact if the
            line to the target is 15 degrees or more from the pole's; closer, the start's plane also counts.
        soften: Fraction of the limb's length at which it starts to slow down instead of snapping straight; 1 disables
            it.
    """

    pole: ArrayLike | None = None
    soften: float = 1.0

    name: ClassVar[str] = "two_bone"
    code: ClassVar[core.MethodCode] = core.MethodCode.TWO_BONE
    joint_kinds: ClassVar[frozenset[str]] = Method.joint_kinds - {"uniform_scale"}
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "pose"})
    levels: ClassVar[bool] = False
    longest_step: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_positive(self.soften, "TwoBone: soften") > 1:
            raise InvalidValue(f"TwoBone: soften is {self.soften!r}; it must be above 0 and at most 1.")
        if self.pole is not None:
            read_unit(self.pole, "TwoBone: pole")

    def settings(self) -> dict[str, Any]:
        """Return the kernel settings; see Method.settings."""
        pole = np.zeros(3) if self.pole is None else read_unit(self.pole, "TwoBone: pole")
        return {**super().settings(), "rounds": 0, "options": np.append(pole, self.soften)}

    def refuse_body(self, model: Model, frames: Sequence[str], moves: NDArray[np.bool_]) -> str | None:
        """Return the reason that the body is not supported; see `Method.refuse_body`."""
        taken: dict[str, str] = {}
        for frame in frames:
            limb = _find_limb(model, frame, moves)
            if limb is None:
                way = _list_path(model, frame, moves)
                found = ", ".join(f"{joint.name} ({joint.kind})" for joint in reversed(way)) or "nothing that moves"
                return (
                    f"method 'two_bone' needs a limb on the way to {frame!r}: a ball or three hinges through one "
                    f"point, then a hinge, then the frame; it has {found}. Name the limb's joints in joints=, or use "
                    "'ccd' or 'lm'."
                )
            for joint in limb:
                if joint in taken:
                    both = f"{taken[joint]!r} and {frame!r}"
                    return f"method 'two_bone': goals on {both} share joint {joint!r}; use 'ccd' or 'lm'."
                taken[joint] = frame
        return None


def _list_path(model: Model, frame: str, moves: NDArray[np.bool_]) -> list[Joint]:
    """Return the joints that move a frame, closest first."""
    return [joint for joint in model.joints_above(frame) if moves[joint.v].any()]


def _find_limb(model: Model, frame: str, moves: NDArray[np.bool_]) -> list[str] | None:
    """Return the joints of the outermost limb on the path to a frame, as in the kernels, or None.

    Joints that slide or follow another one, between the frame and the shoulder, are not supported.
    """
    index = model.layout.frames.index(model.frame(frame).name)
    velocities = core.limb_velocities(
        model.native_body, index, np.array(model.rest), moves.astype(np.float64), model.length
    )
    way = _list_path(model, frame, moves)
    own = [k for k, joint in enumerate(way) if any(joint.v.start <= v < joint.v.stop for v in velocities)]
    if not own or any(joint.kind not in TURNS or joint.mimic for joint in way[: own[-1] + 1]):
        return None
    return [way[k].name for k in own]
