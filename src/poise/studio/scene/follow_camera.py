"""Cameras that follow a walk: during playback, each keeps its offset from the body's root.

The path of a camera is known before playback: that of the root, smoothed over time, so that the camera neither lags
nor bobs, and returns to the start with the clip. If a viewer moves the camera, it is left alone until it has been
still for a moment, and then continues with the viewer's new offset.
"""

import time
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.kinematics.carriers import find_first, find_root
from poise.model import Model

__all__ = ["Chase", "find_way", "measure_travel"]


SMOOTHING_TIME = 0.3  # [s], smoothing of the camera's path
VIEWER_PAUSE = 0.3  # [s] a camera is left alone after a viewer moved it
VIEWER_MOVE = 0.02  # relative to its distance: a camera that is farther from its set position was moved by the viewer
CATCH_UP_TIME = 0.4  # [s], time constant of a camera that catches up with the body
REPORT_DELAY = 1.0  # [s] during which a browser may still report the camera from before it was moved
LOADING_TIME = 15.0  # [s] in which a browser that loads its page reports a view that was set
ABOVE = 0.02  # relative to body size: the least height of a camera above the floor


def find_way(motion: Motion) -> Floats:
    """Return the path of the camera during a clip, up to an offset, (frames, 3): that of the root, smoothed."""
    way = trace_root(motion)
    width = SMOOTHING_TIME * motion.fps
    reach = min(int(np.ceil(3.0 * width)), len(way) - 1)
    if reach < 1:
        return way
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    ahead = 2.0 * way[-1] - way[-reach - 1 : -1][::-1]  # extrapolated, so that the ends are not drawn inwards
    before = 2.0 * way[0] - way[1 : reach + 1][::-1]
    wide = np.concatenate([before, way, ahead])
    return np.stack([np.convolve(column, kernel / kernel.sum(), mode="valid") for column in wide.T], axis=1)


def trace_root(motion: Motion) -> Floats:
    """Return the position of the body's root in every frame, (frames, 3) [m]."""
    out: Floats = motion.model.fk(motion.q, find_root_frame(motion.model))[:, :3, 3]
    return out


def find_root_frame(model: Model) -> str:
    """Return the root frame of the body."""
    root, first = find_root(model), find_first(model)
    if root is not None:
        return root.frame
    return first[0].frame if first else model.frames[0]


def measure_travel(motion: Motion) -> float:
    """Return the horizontal extent of the root's path [m]."""
    flat = np.delete(trace_root(motion), motion.model.up_axis, axis=1)
    return float(np.linalg.norm(np.ptp(flat, axis=0)))


class Chase:
    """The camera of one viewer, following a body.

    The camera looks at `way + look` from the offset `arm`. A browser's report may be seconds old, but then lies on that
    path; other reports mean that the viewer moved the camera, and update `arm` and `look`.

    Args:
        camera: The camera: `position`, which moves `look_at` along when set, and `look_at`.
        way: The smoothed path of the root, (frames, 3) [m].
        up: The up direction.
        lowest: The least height of the camera [m].
    """

    def __init__(self, camera: Any, way: Floats, up: Floats, lowest: float) -> None:
        self.camera, self.way, self.up, self.lowest = camera, way, up, lowest
        self.look = self.arm = self._drift = np.zeros(3)
        self._begun = self._moved = self._strayed = False
        self._put: tuple[Floats, Floats] | None = None  # the set view, which the browser may not report yet
        self._free = self._before = 0.0  # the time it may be moved again, and the time it was moved last
        self._believed = self._caught_up = 0.0  # times from which reports are used, and shifts in them

    def put(self, position: Floats, look_at: Floats) -> None:
        """Use a view that was just set as the start."""
        self._put, self._begun, self._moved = (np.array(position), np.array(look_at)), False, False
        self._free, self._believed = 0.0, time.perf_counter() + LOADING_TIME

    def begin(self) -> None:
        """Use the camera's view at the next `go` as the start."""
        self._begun = False

    def notice(self) -> None:
        """Handle a camera update of the browser: if the viewer moved it, leave it alone for a moment."""
        now, position, look_at = time.perf_counter(), np.array(self.camera.position), np.array(self.camera.look_at)
        near = VIEWER_MOVE * float(np.linalg.norm(position - look_at))
        if not self._begun:
            moved = self._put is not None and np.abs(np.stack(self._put) - (position, look_at)).max() > near
            if not moved:
                self._believed = now
            elif now >= self._believed:
                self._put = None
            return
        at = self.way[np.argmin(np.linalg.norm(self.way + self.look - look_at, axis=1))] + self.look
        turned = self.keep_above(at + self.arm) - at - (position - look_at)
        shifted = bool(now > self._caught_up and np.linalg.norm(look_at - at) > near)
        strayed = shifted or bool(np.linalg.norm(turned) > near)
        if now < self._believed:  # a page that is loading reports its own view until it receives ours
            self._believed = self._believed if strayed else now
            return
        again, self._strayed = self._strayed, strayed
        if strayed and (again or now < self._free):  # a single report may mix old and new values
            self.arm = position - look_at
            self.look = self.look + (look_at - at if shifted else 0.0)
            self._free, self._moved = now + VIEWER_PAUSE, True

    def go(self, place: Floats) -> None:
        """Move the camera to its offset from a point of the path."""
        now = time.perf_counter()
        if now < self._free:
            return
        if not self._begun:
            self._begin_at(place, now)
        elif self._moved:  # the body has moved on meanwhile: the camera catches up
            self._catch_up(np.array(self.camera.look_at), place, now)
        else:
            self._drift = self._drift * np.exp(-(now - self._before) / CATCH_UP_TIME)
        self._before, self._moved = now, False
        look_at = place + self.look + self._drift
        self.camera.position = self.keep_above(look_at + self.arm)
        self.camera.look_at = look_at

    def _begin_at(self, place: Floats, now: float) -> None:
        """Start from the current view; a view of the whole clip is moved so that the body is in its middle."""
        position, look_at = self._put or (np.array(self.camera.position), np.array(self.camera.look_at))
        middle = place if self._put is None else (self.way.min(axis=0) + self.way.max(axis=0)) / 2
        self.look, self.arm = look_at - middle, position - look_at
        self._begun, self._put = True, None
        if np.linalg.norm(middle - place) > 0.0:
            self._catch_up(look_at, place, now)
        else:
            self._drift = np.zeros(3)

    def _catch_up(self, look_at: Floats, place: Floats, now: float) -> None:
        """Move from the current view to the wanted one without a jump."""
        self._drift, self._caught_up = look_at - place - self.look, now + 3 * CATCH_UP_TIME + REPORT_DELAY

    def keep_above(self, position: Floats) -> Floats:
        """Return the camera position, raised to the least height."""
        out: Floats = position + max(0.0, self.lowest - float(self.up @ position)) * self.up
        return out
