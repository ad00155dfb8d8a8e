"""An arm or a leg in closed form: shoulder, elbow, hand.

    bend      |hand - shoulder| = |target - shoulder|       law of cosines, for a hinge at any angle to the bones
    point     shoulder turns the hand onto the target, by the shortest turn
    pole      shoulder turns the elbow about the line from shoulder to target, towards the pole's direction;
              within 15 degrees of the pole's own line by the share m k / (1 + m k), k = 2 s / (z (z - s)) of it
    rotation  a wrist whose axes meet in one point takes up the rest

Source: Tolani, Goswami and Badler, Real-time inverse kinematics techniques for anthropomorphic limbs,
Graphical Models 62(5), 2000; pole and soft stretch as in ozz-animation's IKTwoBoneJob.

The limb of a goal is the outermost one on the way to it: a ball, or three hinges through one point, then a
hinge, then the frame, with or without a wrist. Joints above it keep still. One step is exact. Where joint
ranges cut the exact pose, the limb first looks for another turn of the elbow about the line (unless there is
a pole), then sweeps of CCD over the limb do what can be done.

Along the pole's line the pole says nothing, and beside it its plane turns as fast as one likes. There (z = sin 15
degrees, s the sine of the angle between the line to the target and the pole's) the elbow keeps the plane of the start
and is drawn to the pole only as the line turns, by an angle m: started from pose to pose along a path that crosses the
pole's line, the elbow turns by at most about 5.4 / z radians for a radian of the line, and is exact again where it
leaves the zone.

When it fails: bodies without such a limb are refused by name; a target out of reach, or inside the soft zone,
is answered by the stretched limb and reported as missed. Stiffness says nothing here: the exact pose is the
only one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InvalidValue
from poise.methods.method import Method, positive
from poise.model import Model
from poise.model.joint import Joint
from poise.model.spec import unit
from poise.native import core

__all__ = ["TwoBone"]

TURNS = {"revolute": 1, "continuous": 1, "universal": 2, "euler": 3, "ball": 3}
MOST_BEYOND = 6  # joints between elbow and frame


@dataclass(frozen=True, kw_only=True)
class TwoBone(Method):
    """Analytic two-bone limb.

    Attributes:
        pole: Direction in the world in which the elbow (or knee) points, three numbers; None keeps its plane. Exact
            where the target's line is 15 degrees or more from the pole's; nearer, the start's plane counts too.
        soften: Fraction of the limb's length at which it begins to slow down instead of snapping straight; 1 is hard.
    """

    pole: ArrayLike | None = None
    soften: float = 1.0

    name: ClassVar[str] = "two_bone"
    code: ClassVar[core.MethodCode] = core.MethodCode.TWO_BONE
    goal_kinds: ClassVar[frozenset[str]] = frozenset({"position", "pose"})
    levels: ClassVar[bool] = False
    longest_step: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if positive(self.soften, "TwoBone: soften") > 1:
            raise InvalidValue(f"TwoBone: soften is {self.soften!r}; it must be above 0 and at most 1.")
        if self.pole is not None:
            unit(self.pole, "TwoBone: pole")

    def settings(self) -> dict[str, Any]:
        """See Method.settings."""
        pole = np.zeros(3) if self.pole is None else unit(self.pole, "TwoBone: pole")
        return {"damping": 0.0, "damping_floor": 0.0, "rounds": 0, "options": np.append(pole, self.soften)}

    def refuse_body(self, model: Model, frames: Sequence[str], moves: NDArray[np.bool_]) -> str | None:
        """See Method.refuse_body."""
        taken: dict[str, str] = {}
        for frame in frames:
            way = _way(model, frame, moves)
            limb = _limb(model, way)
            if limb is None:
                found = ", ".join(f"{joint.name} ({joint.kind})" for joint in reversed(way)) or "nothing that moves"
                return (
                    f"method 'two_bone' needs a limb on the way to {frame!r}: a ball or three hinges through one "
                    f"point, then a hinge, then the frame; there is {found}. Name the limb's joints in joints=, or use "
                    "'ccd' or 'lm'."
                )
            for joint in limb:
                if joint in taken:
                    both = f"{taken[joint]!r} and {frame!r}"
                    return f"method 'two_bone': goals on {both} share joint {joint!r}, which 'ccd' and 'lm' can do."
                taken[joint] = frame
        return None


def _way(model: Model, frame: str, moves: NDArray[np.bool_]) -> list[Joint]:
    """The joints that move a frame, the outermost first."""
    return [joint for joint in model.joints_above(frame) if moves[joint.v].any()]


def _limb(model: Model, way: Sequence[Joint]) -> list[str] | None:
    """Names of the joints of the outermost limb, or None. The same rule as `find_limb` in the kernels."""
    turns: list[tuple[str, str, NDArray[np.float64]]] = []
    for joint in way:
        if joint.kind not in TURNS or joint.mimic:
            break
        center = np.asarray(model.fk(model.rest, joint.frame))[:3, 3]
        kind = "ball" if joint.kind == "ball" else "hinge"
        turns += [(joint.name, kind, center)] * (1 if kind == "ball" else TURNS[joint.kind])
    for i, (name, kind, center) in enumerate(turns[:-1]):
        shoulder = turns[i + 1]
        same = [t for t in turns[i + 1 : i + 4] if np.allclose(t[2], shoulder[2], atol=1e-9 * model.length)]
        if kind != "hinge" or np.allclose(center, shoulder[2], atol=1e-9 * model.length) or i > MOST_BEYOND:
            continue
        if shoulder[1] == "ball":
            return list(dict.fromkeys([*(t[0] for t in turns[:i]), name, shoulder[0]]))
        if len(same) == 3 and all(t[1] == "hinge" for t in same):
            return list(dict.fromkeys([*(t[0] for t in turns[:i]), name, *(t[0] for t in same)]))
    return None
