"""Separation in a stream: limbs that collide with the body, or with each other, are moved out of it in every frame.

The displacement of the limbs is as near to a fading share of the previous one as the collisions allow:

    minimise  |d - fade d_{t-1}|^2 + weight^2 |max(depth - J (d - d_0), 0)|^2

where J is the velocity of a pair's contact along its normal. Displacements change no faster than limbs move, and a pose
that breaks a limit is replaced by one with a smaller displacement. On a body whose other joints stay, joints that would
still move parts into each other stop before.
"""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.kinematics import Motion
from poise.limits.convex_parts import ConvexParts, Overlaps, find_convex_parts
from poise.model import Model
from poise.motion.contact.soles import measure_size
from poise.motion.problem.near_parts import DEEP_M
from poise.motion.retargeting.separation.limbs import list_movable

__all__ = ["StreamSeparation"]

MEASURED_FPS = 40.0  # collisions are measured about this often
FADE_S = 0.1  # time in which a displacement fades by a factor of e after a collision
FASTEST_RAD_S = 6.0  # change of a displacement
NEAR_M = 0.025  # gap of parts that could meet before the next frame
STILL_RAD = 1e-6  # a smaller displacement ends
SHARES = 1.0, 0.5, 0.25  # of the faded displacement, tried in turn if the new one is rejected
STOPS = np.linspace(0.875, 0.0, 8)  # shares of a motion after which joints may stop
WEIGHT = 30.0  # of a depth [1 / L], relative to a displacement [1 / rad]


class StreamSeparation:
    """The limbs of a stream, arms or fingers, which are kept out of the body and each other.

    Args:
        model: The body.
        joints: The joints of its limbs.
        fps: Frames per second.
        clamp: Returns the closest pose in the ranges of all joints.
        stops: Whether joints that would move parts into each other stop: no other joints move.
    """

    def __init__(
        self, model: Model, joints: Sequence[str], fps: float, clamp: Callable[[Floats], Floats], *, stops: bool = False
    ) -> None:
        self.model, self.clamp, found = model, clamp, find_convex_parts(model)
        parts = list_movable(found, joints) if found is not None and joints else None
        self.parts: ConvexParts | None = parts if parts is not None and len(parts.pairs) else None
        own = [self.model.joint(name).v for name in joints]
        self.columns = np.concatenate([np.arange(v.start, v.stop) for v in own]) if own else np.zeros(0, dtype=np.intp)
        self.size = measure_size(Motion(self.model, self.model.rest[None], fps))
        self.fade, self.fastest = float(np.exp(-1.0 / (FADE_S * fps))), FASTEST_RAD_S / fps
        self.every = max(1, round(fps / MEASURED_FPS))
        self.movers = None if self.parts is None or not stops else list_movers(self.parts)
        self.forget()

    def forget(self) -> None:
        """Reset to the state before the first frame."""
        self.shift: Floats | None = None  # the displacement of all joints in the newest frame, (nv,)
        self.near: Overlaps | None = None  # the parts near each other in the newest frame
        self.last = np.zeros((0 if self.parts is None else len(self.parts.pairs), 3))  # the directions between pairs
        self.frames = 0
        self.out: Floats | None = None  # the newest pose

    def part(self, q: Floats, allows: Callable[[Floats], bool]) -> Floats:
        """Return the next pose with its limbs moved out of collisions, as far as `allows` accepts the new pose."""
        out = self._part(q, allows)
        if self.movers is not None and self.out is not None:
            stopped = self._stop(self.out, out)
            if stopped is not out and allows(stopped):
                out, self.shift = stopped, np.asarray(self.model.difference(q, stopped))
        self.out = out
        return out

    def _part(self, q: Floats, allows: Callable[[Floats], bool]) -> Floats:
        """Return the pose with its limbs moved out of collisions."""
        if self.parts is None:
            return q
        last = np.zeros(self.model.nv) if self.shift is None else self.shift
        moved = self._move(q, last)
        near = self._find_near(moved, displaced=moved is not q)
        if near is None and moved is q:
            self.shift, self.near = last, None
            return q
        faded = self._slow_down(np.where(np.abs(last) > STILL_RAD, self.fade * last, 0.0))
        shares = (share * faded for share in SHARES)
        wanted = shares if near is None else chain([self._slow_down(self._solve(moved, near, last, faded))], shares)
        poses = (self._move(q, shift) for shift in wanted)
        out = next((pose for pose in poses if pose is q or allows(pose)), q)
        self.shift = np.zeros_like(last) if out is q else np.asarray(self.model.difference(q, out))
        self.near = near
        return out

    def _stop(self, last: Floats, q: Floats) -> Floats:
        """Return the pose after `last`, in which joints stop before they move parts deeper into each other."""
        assert self.parts is not None
        assert self.movers is not None
        deep, motion, out = DEEP_M * self.size, np.asarray(self.model.difference(last, q)), q
        most, stopping = np.full(len(self.parts.pairs), deep), np.zeros(self.model.nv, dtype=bool)
        worse = self._find_deep(q[None], most).pair
        if len(worse):
            resting = self._find_deep(last[None], most)
            most[resting.pair] = resting.depth
        while not stopping[movers := self.movers[worse].any(axis=0)].all():
            stopping |= movers
            poses = np.asarray(self.model.integrate(last, np.where(stopping, STOPS[:, None], 1.0) * motion))
            found = self._find_deep(poses, most)
            clear = np.flatnonzero(np.bincount(found.pose, minlength=len(poses)) == 0)
            best = int(clear[0]) if len(clear) else len(poses) - 1
            out, worse = poses[best], found.pair[found.pose == best]
        return out

    def _find_deep(self, q: Floats, most: Floats) -> Overlaps:
        """Return the overlaps in poses (n, nq) that are deeper than those of `most`, (pairs,) [m]."""
        assert self.parts is not None
        found = self.parts.measure(q, -DEEP_M * self.size, steady=False)
        return found.select(found.depth > most[found.pair])

    def _slow_down(self, shift: Floats) -> Floats:
        """Return a displacement that differs from the last one by at most the motion of limbs in a frame."""
        last = self.shift
        return shift if last is None else last + np.clip(shift - last, -self.fastest, self.fastest)

    def _find_near(self, q: Floats, displaced: bool) -> Overlaps | None:
        """Return the parts near each other in a pose; None without any, or if it is neither displaced nor in collision.

        They are measured in one of several frames at high frame rates, and followed in the others.
        """
        assert self.parts is not None
        self.frames += 1
        if (self.frames - 1) % self.every:
            return None if self.near is None else self.parts.follow(self.near, q)
        ways = None if self.near is None else self.parts.list_ways(self.near)
        found = self.parts.measure(q[None], NEAR_M * self.size, ways, last=self.last)
        if not len(found.depth):
            return None
        return found if displaced or found.depth.max() > DEEP_M * self.size else None

    def _move(self, q: Floats, shift: Floats) -> Floats:
        """Return a pose moved by a displacement, within the ranges of the joints."""
        return self.clamp(np.asarray(self.model.integrate(q, shift))) if shift.any() else q

    def _solve(self, q: Floats, near: Overlaps, shift: Floats, faded: Floats) -> Floats:
        """Return the displacement that ends the collisions of pose `q`, which has the displacement `shift`."""
        assert self.parts is not None
        out, own = np.zeros_like(shift), self.columns
        out[own] = self.parts.displace(q, near, own, shift[own], faded[own], WEIGHT / self.model.length)
        return out


def list_movers(parts: ConvexParts) -> NDArray[np.bool_]:
    """Return which velocities move the solids of each pair relative to each other, (pairs, nv)."""
    moves = np.zeros((len(parts.solids), parts.model.nv), dtype=bool)
    for k, solid in enumerate(parts.solids):
        for joint in parts.model.joints_above(solid.frame):
            moves[k, joint.v] = True
    out: NDArray[np.bool_] = moves[parts.pairs[:, 0]] != moves[parts.pairs[:, 1]]
    return out
