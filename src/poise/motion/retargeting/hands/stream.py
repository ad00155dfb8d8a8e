"""HandRetargeter: move the fingers of a hand with those of another one, frame by frame.

Each frame is solved from the ones before it by the kernel for whole clips, without look-ahead; pinches are measured and
solved again, then fingers are moved out of each other.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.kinematics import Pose
from poise.limits import Limit
from poise.limits.near_pairs import keeps_parts_apart
from poise.model import Model
from poise.model.derive import hide_visual
from poise.motion.clips.clip_limits import part_limits, read_limits, read_number
from poise.motion.clips.whole_clip import Window
from poise.motion.retargeting.hands.clip import HOLD_WEIGHT, SMOOTHNESS, choose_joints
from poise.motion.retargeting.hands.goals import HandGoals
from poise.motion.retargeting.hands.pinches import PINCH_WEIGHT, PinchGaps, ease, make_goal
from poise.motion.retargeting.options import check_bodies, check_switch, read_frame
from poise.motion.retargeting.separation.stream_separation import StreamSeparation

__all__ = ["HandRetargeter"]

FIRST_STEPS, STEPS = 40, 6  # of the first frame, and of the others
PINCH_ROUNDS = 2  # in which the gaps of a frame are measured and closed


class HandRetargeter:
    """A live retargeting of a hand: `live.step(frame)` returns the pose of the target.

    Args:
        source: The hand of the stream, such as that of `poise.hand_points`.
        model: A hand, or a body with one, of which the fingers move.
        joints: The only joints that may move.
        limits: Limits in addition to the joint ranges, without rate limits.
        smooth: The spread of changes in time; 1 is 0.1 s.
        fps: Frames per second of the stream.
        touch: Whether fingers that touch the thumb keep doing so.
        clearance: Whether parts of the hand are kept out of each other.
        visible: Whether visual shapes that stand out are parts of the hand, as in `poise.retarget`.
    """

    def __init__(
        self,
        source: Model,
        model: Model,
        *,
        joints: Sequence[str] | None = None,
        limits: Iterable[Limit] = (),
        smooth: float = 1.0,
        fps: float = 30.0,
        touch: bool = True,
        clearance: bool = True,
        visible: bool = True,
    ) -> None:
        check_bodies(source, model)
        for what, given in {"touch": touch, "clearance": clearance, "visible": visible}.items():
            check_switch(given, what)
        lasting, timed = part_limits(read_limits(limits))
        if timed:
            raise InvalidValue(
                "limits= about time are kept over whole clips, by poise.retarget; a stream keeps the others."
            )
        self.source, self.model, self.fps = source, model, check_positive(fps, "fps")
        body = model if visible else hide_visual(model)
        self.goals = HandGoals(source, body)
        self.gaps = PinchGaps(self.goals, body) if touch else None
        pinches = [] if self.gaps is None else [make_goal(self.gaps, k) for k in range(len(self.gaps.digits))]
        moving = choose_joints(body, self.goals.target.hand, joints)
        spread = SMOOTHNESS * read_number(smooth, "smooth", 0.0)
        self.first = len(self.goals.goals)
        self.numbers = np.zeros((self.first + len(pinches), 12))
        self.numbers[:, [0, 4, 8]] = 1.0
        self.weights, self.hard = np.zeros(len(self.numbers)), np.zeros(len(self.numbers))
        self.weights[: self.first] = self.goals.weights
        every = [*self.goals.goals, *pinches]
        self.window = Window(body, every, hold=HOLD_WEIGHT, smooth=spread, fps=self.fps, joints=moving, limits=lasting)
        own = clearance and not any(map(keeps_parts_apart, lasting))
        self.separation = StreamSeparation(body, moving, self.fps, self.window.clamp, stops=True) if own else None
        self.reset()

    def reset(self) -> None:
        """Reset to the state before the first frame."""
        self.q: Floats | None = None
        self.window.forget()
        if self.separation is not None:
            self.separation.forget()

    def step(self, frame: ArrayLike | Pose) -> Pose:
        """Return the pose of the target for the next frame of the stream.

        Raises:
            ModelMismatch: The frame is a pose of another hand.
            ShapeMismatch: The frame is not a configuration of the source.
            InvalidValue: The frame has a value that is not a finite number.
        """
        T = np.array(self.source.fk(read_frame(frame, self.source)))[None]
        rest, first = np.array(self.model.rest), self.q is None
        self.numbers[: self.first] = self.goals.make_targets(T)[0]
        self.weights[self.first :] = 0.0
        q = self._solve(rest if self.q is None else self.q, rest, FIRST_STEPS if first else STEPS)
        if self.gaps is not None:
            q = self._pinch(self.gaps, q, rest, T)
        self.q = q
        self.window.keep(q, rest)
        out = q if self.separation is None else self.separation.part(q, self.window.keeps_limits)
        return Pose.from_valid(self.model, out)

    def _solve(self, start: Floats, guide: Floats, steps: int) -> Floats:
        """Solve the frame for the goals as they are."""
        return self.window.solve(start, guide, self, steps)[0]

    def _pinch(self, gaps: PinchGaps, q: Floats, guide: Floats, T: Floats) -> Floats:
        """Return the pose with its pinches closed."""
        near, wanted = gaps.read(self.goals.source.place(T))
        if not near.any():
            return q
        for _ in range(PINCH_ROUNDS):
            self.weights[self.first :] = 0.0
            for k, poses, places, _ in gaps.find_places(q[None], wanted):
                if len(poses):
                    self.numbers[self.first + k, 9:] = places[0]
                    self.weights[self.first + k] = PINCH_WEIGHT * ease(near[k, 0])
            q = self._solve(q, guide, STEPS)
        return q
