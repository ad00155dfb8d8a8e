"""Cameras that follow a walk: while a clip plays, each keeps its place relative to the body's root.

The way that it goes is known before the clip plays: that of the root, smoothed over time, so that the camera neither
lags nor bobs, and stands at the beginning again when the clip does. Where a viewer moves the camera, it is left alone
until it has been still for a moment, and then goes on as the viewer has turned, moved or shifted it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.kinematics.carriers import find_first, find_root
from poise.model import Model

__all__ = ["Chase", "find_way", "measure_travel"]


SMOOTHING_TIME = 0.3  # [s] over which the way of the camera is smoothed
VIEWER_PAUSE = 0.3  # [s] for which a camera is left alone after a viewer moved it
VIEWER_MOVE = 0.02  # of its distance: a camera that is so far from where it was put was moved by its viewer
CATCH_UP_TIME = 0.4  # [s] in which a camera that was left alone comes after the body
REPORT_DELAY = 1.0  # [s] for which a browser may still report what was before its camera was put
ABOVE = 0.02  # of the body's size: how far above the floor a camera stays


def find_way(motion: Motion) -> Floats:
    """Return where the camera goes with a clip, up to an offset, (frames, 3): the way of the root, smoothed."""
    way = trace_root(motion)
    width = SMOOTHING_TIME * motion.fps
    reach = min(int(np.ceil(3.0 * width)), len(way) - 1)
    if reach < 1:
        return way
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    ahead = 2.0 * way[-1] - way[-reach - 1 : -1][::-1]  # goes on as it came, so that its ends are not drawn inwards
    before = 2.0 * way[0] - way[1 : reach + 1][::-1]
    wide = np.concatenate([before, way, ahead])
    return np.stack([np.convolve(column, kernel / kernel.sum(), mode="valid") for column in wide.T], axis=1)


def trace_root(motion: Motion) -> Floats:
    """Return where the body's root is in every frame, (frames, 3)."""
    out: Floats = motion.model.fk(motion.q, find_root_frame(motion.model))[:, :3, 3]
    return out


def find_root_frame(model: Model) -> str:
    """Return the frame that carries the body."""
    root, first = find_root(model), find_first(model)
    if root is not None:
        return root.frame
    return first[0].frame if first else model.frames[0]


def measure_travel(motion: Motion) -> float:
    """Return how far a clip travels over the floor [m]: between the places of its root that are farthest apart."""
    flat = np.delete(trace_root(motion), motion.model.up_axis, axis=1)
    return float(np.linalg.norm(np.ptp(flat, axis=0)))


class Chase:
    """One viewer's camera that follows a body.

    The camera looks at `way + look` from `arm` away. What a browser reports of it may be seconds old, but it lies on
    that line then; what does not was moved by the viewer, whose arm and shift are taken over.

    Args:
        camera: The camera: `position`, which takes `look_at` along when it is set, and `look_at`.
        way: Where the root goes, smoothed, (frames, 3).
        up: The direction upwards.
        lowest: The height below which the camera never goes.
    """

    def __init__(self, camera: Any, way: Floats, up: Floats, lowest: float) -> None:
        self.camera, self.way, self.up, self.lowest = camera, way, up, lowest
        self.look = self.arm = self._drift = np.zeros(3)
        self._begun = self._moved = self._strayed = False
        self._put: tuple[Floats, Floats] | None = None  # where it was put, which the browser may not report yet
        self._free = self._before = 0.0  # times from which it may be moved again, and when it was moved last
        self._believed = self._caught_up = 0.0  # times from which reports are believed, and what they say of shifts

    def put(self, position: Floats, look_at: Floats) -> None:
        """Take the place that the camera is given now."""
        self._put, self._begun, self._moved = (np.array(position), np.array(look_at)), False, False
        self._free, self._believed = 0.0, time.perf_counter() + REPORT_DELAY

    def begin(self) -> None:
        """Take the place that the camera has when it goes next."""
        self._begun = False

    def notice(self) -> None:
        """Handle a camera update of the browser: if the viewer moved it, leave it alone for a moment."""
        now, position, look_at = time.perf_counter(), np.array(self.camera.position), np.array(self.camera.look_at)
        if now < self._believed:
            return
        near = VIEWER_MOVE * float(np.linalg.norm(position - look_at))
        if not self._begun:
            if self._put is not None and np.abs(np.stack(self._put) - (position, look_at)).max() > near:
                self._put = None
            return
        at = self.way[np.argmin(np.linalg.norm(self.way + self.look - look_at, axis=1))] + self.look
        turned = self.keep_above(at + self.arm) - at - (position - look_at)
        shifted = bool(now > self._caught_up and np.linalg.norm(look_at - at) > near)
        strayed = shifted or bool(np.linalg.norm(turned) > near)
        again, self._strayed = self._strayed, strayed
        if strayed and (again or now < self._free):  # one report alone may be half of an old one
            self.arm = position - look_at
            self.look = self.look + (look_at - at if shifted else 0.0)
            self._free, self._moved = now + VIEWER_PAUSE, True

    def go(self, place: Floats) -> None:
        """Put the camera at its place relative to a point of the path."""
        now = time.perf_counter()
        if now < self._free:
            return
        if not self._begun:
            self._begin_at(place, now)
        elif self._moved:  # the body has gone on meanwhile: the camera comes after it
            self._catch_up(np.array(self.camera.look_at), place, now)
        else:
            self._drift = self._drift * np.exp(-(now - self._before) / CATCH_UP_TIME)
        self._before, self._moved = now, False
        look_at = place + self.look + self._drift
        self.camera.position = self.keep_above(look_at + self.arm)
        self.camera.look_at = look_at

    def _begin_at(self, place: Floats, now: float) -> None:
        """Take the place that the camera has; one that sees the whole clip brings the body to where its middle was."""
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
        """Return a place of the camera that is not below the floor."""
        out: Floats = position + max(0.0, self.lowest - float(self.up @ position)) * self.up
        return out
