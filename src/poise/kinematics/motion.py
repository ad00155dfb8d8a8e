"""Motion: poses over time at a frame rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import check_number, check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue, ModelMismatch, ShapeMismatch
from poise.kinematics import clip_edits
from poise.kinematics.mirror import Mirror
from poise.kinematics.pose import Pose, check_configuration
from poise.model import Frame, Model, Object
from poise.notebook import NotebookCell
from poise.spatial.arrays import read_finite, read_reals

__all__ = ["Motion", "check_motion"]


class Motion(NotebookCell):
    """The motion of a model over time; frozen.

    Attributes:
        model: The body.
        q: Configurations, read-only, (frames, nq).
        fps: Frames per second.
    """

    __slots__ = ("fps", "model", "q")

    model: Model
    q: Floats
    fps: float

    def __init__(self, model: Model, q: ArrayLike, fps: float = 30.0) -> None:
        object.__setattr__(self, "q", check_configuration(model, q, 2))
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "fps", check_positive(fps, "fps"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Motion is frozen: {name!r} cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Motion is frozen: {name!r} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Motion, (self.model, self.q, self.fps)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Motion):
            return NotImplemented
        return self.model == other.model and self.fps == other.fps and bool(np.array_equal(self.q, other.q))

    def __hash__(self) -> int:
        return hash((self.model, self.fps, len(self)))

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects that move with the body; empty here, see `MotionWithObjects`."""
        return ()

    @property
    def times(self) -> Floats:
        """The times of the frames [s], (frames,), from zero."""
        return np.arange(len(self.q)) / self.fps

    def __len__(self) -> int:
        return len(self.q)

    @overload
    def __getitem__(self, index: int) -> Pose: ...
    @overload
    def __getitem__(self, index: slice) -> Motion: ...
    def __getitem__(self, index: int | slice) -> Pose | Motion:
        """Return the pose at a frame, or the motion over a slice of frames."""
        if isinstance(index, slice):
            return Motion(self.model, self.q[index], self.fps / abs(index.step or 1))
        if isinstance(index, str):
            raise InvalidValue(f"{index!r} is not a frame number; type motion.positions({index!r}) for its path.")
        try:
            return Pose(self.model, self.q[index])
        except IndexError:
            raise IndexError(f"{index!r} is not a frame: give 0 to {len(self) - 1} or round(t * motion.fps).") from None

    def __iter__(self) -> Iterator[Pose]:
        return (self[i] for i in range(len(self)))

    # ------------------------------------------------------------------------------------------------ arrays

    def positions(self, frame: str | Frame, point: ArrayLike | None = None) -> Floats:
        """Return the positions of a frame's origin, or of a point given in its axes, over time [m], (frames, 3)."""
        T = self.model.fk(self.q, frame)
        local = np.zeros(3) if point is None else read_finite(point, (3,), "point")
        return np.array(T[:, :3, :3] @ local + T[:, :3, 3])

    def velocities(self, frame: str | Frame | None = None, point: ArrayLike | None = None) -> Floats:
        """Return the velocities of the joints, (frames, nv), or of a frame's origin or point [m/s], (frames, 3).

        They are central differences, of second order also at the ends; zero for a clip of one frame.
        """
        if frame is None:
            return clip_edits.measure_speeds(self.model, self.q, self.fps)
        places = self.positions(frame, point)
        steps = np.diff(places, axis=0) if len(places) > 1 else np.zeros((1, 3))
        if len(places) < 3:
            return self.fps * np.repeat(steps, len(places), axis=0)
        return self.fps * clip_edits.take_central(steps, places[2:3] - places[:1], places[-1:] - places[-3:-2])

    def mean(self) -> Pose:
        """Return the mean pose: the steps from it to all frames sum to zero, with rotations as rotations."""
        return Pose(self.model, clip_edits.average(self.model, self._require_frames("mean").q))

    # ------------------------------------------------------------------------------------------------ edits

    def resampled(self, fps: float) -> Motion:
        """Return the same motion at another frame rate, over the same duration.

        The new frames lie on a smooth curve through the old ones. If the duration is not a whole number of new frames,
        the clip ends with the last new frame inside it.
        """
        rate = check_positive(fps, "fps")
        at = np.arange(int((len(self) - 1) * rate / self.fps + 1e-9) + 1, dtype=np.float64) * (self.fps / rate)
        return Motion(self.model, clip_edits.sample(self.model, self._require_frames("resampled").q, snap(at)), rate)

    def warped(self, times: ArrayLike) -> Motion:
        """Return the motion at other times: frame i of the result is this motion at `times[i]` seconds.

        Args:
            times: Seconds from the first frame, one for each frame of the result; times outside the clip give the
                first or the last frame.
        """
        at = read_reals(times, "times")
        if at.ndim != 1 or not np.isfinite(at).all():
            raise ShapeMismatch(
                f"times has shape {at.shape}; it must be a row of finite seconds, one for each new frame."
            )
        return Motion(
            self.model, clip_edits.sample(self.model, self._require_frames("warped").q, snap(at * self.fps)), self.fps
        )

    def reversed(self) -> Motion:
        """Return the motion reversed in time."""
        return Motion(self.model, self.q[::-1], self.fps)

    def mirrored(self) -> Motion:
        """Return the mirror image: left and right swapped, in the vertical plane of the body's first frame.

        Raises:
            InvalidValue: The body does not have two sides that are alike.
        """
        mirror, first = Mirror(self.model), self._require_frames("mirrored").q[0]
        return Motion(self.model, np.stack([mirror.reflect_pose(q, first) for q in self.q]), self.fps)

    def smoothed(self, cutoff_hz: float) -> Motion:
        """Return the motion low-pass filtered, without delay.

        The filter is a second-order Butterworth filter, run forwards and backwards; 6 Hz is usual for walking. Contacts
        slip a little: lock them again with `poise.motion.lock`.
        """
        cutoff_hz = check_positive(cutoff_hz, "cutoff_hz", "a positive number of cycles a second")
        return Motion(self.model, clip_edits.smooth(self.model, self.q, self.fps, cutoff_hz), self.fps)

    def joined(self, other: Motion, blend: float = 0.3) -> Motion:
        """Return this motion followed by another one of the same body, with a cross-fade.

        A body that moves through the world continues at the end of this motion: the other motion is moved over the
        ground and rotated about the up axis. It is resampled if its frame rate differs.

        Args:
            other: The motion that follows.
            blend: Overlap of the end of this motion and the beginning of the other [s].
        """
        if not isinstance(other, Motion) or other.model != self.model:
            raise ModelMismatch(
                f"only motions of one body can be joined, and {other!r} is not a motion of {self.model.name!r}."
            )
        following = other if other.fps == self.fps else other.resampled(self.fps)
        overlap = self._count_overlap(
            blend, min(len(self._require_frames("joined")), len(following._require_frames("joined")))
        )
        return Motion(self.model, clip_edits.join(self.model, self.q, following.q, overlap), self.fps)

    def looped(self, blend: float = 0.3) -> Motion:
        """Return the motion made cyclic: its last frame continues with its first one, one step further over the ground.

        Args:
            blend: Duration of the fade from the end into the beginning [s]; the result is shorter by this.
        """
        overlap = self._count_overlap(blend, len(self._require_frames("looped")) - 1)
        return Motion(self.model, clip_edits.loop(self.model, self.q, overlap), self.fps)

    def _require_frames(self, edit: str) -> Motion:
        if not len(self):
            raise InvalidValue(f"{edit}() needs a frame, and this motion has none.")
        return self

    def _count_overlap(self, blend: float, most: int) -> int:
        overlap = round(check_number(blend, "blend", "a number of seconds, 0 or more", 0) * self.fps)
        if overlap > most:
            raise InvalidValue(f"blend={blend:g} s is {overlap} frames, and the motion allows at most {most}.")
        return overlap

    def __repr__(self) -> str:
        return f"<Motion of {self.model.name!r}: {len(self)} frames at {self.fps:g} fps>"


def snap(at: Floats) -> Floats:
    """Return frame positions with those within rounding of a frame set to it."""
    whole = np.rint(at)
    return np.where(np.abs(at - whole) < 1e-9, whole, at)


def check_motion(clip: object) -> None:
    """Raise `InvalidValue` for anything but a motion with frames, with the call to type."""
    if isinstance(clip, Motion) and len(clip):
        return
    hints = {
        str: f"; type: poise.load_motion({clip!r})",
        Model: "; type: poise.load_motion(path), before the model if both are given",
        dict: "; the motion comes first: edit(motion, {frame: goals})",
    }
    given = repr(clip) if isinstance(clip, (Motion, str)) else f"of type {type(clip).__name__}"
    raise InvalidValue(f"clip is {given}; it must be a poise.Motion with a frame{hints.get(type(clip), '')}.")
