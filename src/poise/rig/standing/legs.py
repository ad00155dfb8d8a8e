"""Legs that carry a body: bend them under a pelvis that is dragged down.

A straight leg has no gradient along itself, and a pelvis that is dragged down would rotate the whole body instead. So
the leg is bent before the solve, by its two bones. If a knee's hinge can bend backwards, by a few degrees in many
machines, it bends back no farther than its rest angle, since it could not return from there.
"""

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats
from poise.model import Model
from poise.rig.handle import Handle
from poise.rig.limbs.limb import Limb
from poise.rig.limbs.straight_limbs import comes_down, find_bend, find_hinge, find_knee_bend
from poise.rig.problem import Problems
from poise.rig.snapshot import Snapshot
from poise.solvers.options import CONTINUOUS_SPAN
from poise.spatial import Rotation

__all__ = ["Legs"]

CORRECTION_STEPS = 2  # steps that return the feet to their places: the second corrects the first


class Legs:
    """The legs of a body, by the handles above them.

    Args:
        model: The body.
        problems: Its goals and solvers.
        span: The largest motion of each velocity in a frame, (nv,).
    """

    def __init__(self, model: Model, problems: Problems, span: Floats) -> None:
        self.model, self.problems, self._span = model, problems, span
        self._below: dict[str, list[Limb]] = {}
        self._ends: dict[int, tuple[int, float]] = {}
        self._loose: dict[str, list[tuple[Limb, int, float]]] = {}

    def find_knees(self, state: Snapshot) -> list[tuple[int, float, float]]:
        """Return the knees of supporting legs under a dragged pelvis: velocity index, bending direction, room.

        The room is the angle by which a knee may turn back [rad].
        """
        out: list[tuple[int, float, float]] = []
        for name in state.dragged:
            handle = self.problems.handles[name]
            for limb, v, way in self.list_loose(handle.frame) if handle.kind == "body" else ():
                if self.carries(state, limb):
                    out.append((v, way, self.measure_room(v, way, state.q)))
        return out

    def list_loose(self, frame: str) -> list[tuple[Limb, int, float]]:
        """List the legs under a frame whose knees can bend backwards, with velocity index and bending direction."""
        if frame not in self._loose:
            found = self._loose[frame] = []
            for limb in self.find_legs(frame):
                joint = find_hinge(self.model, limb)
                if joint is None or limb.hinge is None:
                    continue
                way = 1.0 if float(np.dot(limb.hinge, joint.axis)) > 0.0 else -1.0
                back = float(joint.lower) if way > 0.0 else -float(joint.upper)
                if back < min(way * float(self.model.rest[joint.q.start]), 0.0):
                    found.append((limb, joint.v.start, way))
        return self._loose[frame]

    def measure_room(self, v: int, way: float, q: Floats) -> float:
        """Return the angle by which a knee may turn back, at most to its rest angle or straight [rad]."""
        if v not in self._ends:
            joint = next(joint for joint in self.model.joints if joint.nv and joint.v.start == v)
            at = joint.q.start
            self._ends[v] = at, min(way * float(self.model.rest[at]), 0.0)
        at, end = self._ends[v]
        return way * float(q[at]) - end

    def bend_legs(self, state: Snapshot, handle: Handle, target: Floats, q: Floats, turned: Floats) -> None:
        """Bend straight legs on held feet under a handle that moves down, such as the pelvis; write q and turned.

        The knees rotate to match the distance from hip to foot. The other joints of the legs, and the slides of the
        root, keep the feet in place.
        """
        way = target - self.model.fk(state.q, handle.frame)[:3, 3]
        dq, legs = np.zeros(self.model.nv), []
        for limb in self.find_legs(handle.frame):
            if self.carries(state, limb) and comes_down(self.model, q, limb, way):
                own = self.turn_knee(q, limb, way)
                dq += own
                legs += [limb] if own.any() else []
        if legs:
            first = q.copy()
            q[:] = self.model.integrate(q, dq)
            free = self.list_free(state, handle.frame, legs, dq)
            for _ in range(CORRECTION_STEPS):
                q[:] = self.model.integrate(q, self.keep_feet(first, q, legs, free))
            turned += self.model.difference(first, q)

    def turn_knee(self, q: Floats, limb: Limb, way: Floats) -> Floats:
        """Return the step of a knee for a hip that moves by `way` while the foot stays, (nv,)."""
        dq, joint = np.zeros(self.model.nv), find_hinge(self.model, limb)
        if joint is not None:  # shifting the foot by -way is equivalent to moving the hip by way
            end = self.model.fk(q, limb.end)[:3, 3] - way
            dq[joint.v] = find_bend(self.model, q, limb, joint, limb.end, end, as_made=True)
        elif self.problems.has_front(limb.handle):
            dq = find_knee_bend(self.model, q, limb, self.problems.feet[limb.handle].find_side(q), way)
        return np.clip(dq, -CONTINUOUS_SPAN, CONTINUOUS_SPAN)

    def list_free(self, state: Snapshot, frame: str, legs: list[Limb], knees: Floats) -> NDArray[np.intp]:
        """Return the velocities that keep feet in place: legs without knees, and slides above a frame."""
        above = {self.model.frame(name).joint for name in self.model.ancestors(frame)}
        own = {name for limb in legs for name in limb.joints} - state.frozen
        free = np.zeros(self.model.nv, dtype=bool)
        for joint in self.model.joints:
            if joint.name in own:
                free[joint.v] = True
            elif joint.name in above and joint.name not in state.frozen:
                free[joint.v] = self.model.slides[joint.v]
        return np.flatnonzero(free & (knees == 0.0))

    def keep_feet(self, first: Floats, q: Floats, legs: list[Limb], free: NDArray[np.intp]) -> Floats:
        """Return a step of some velocities that returns feet to their first positions, (nv,)."""
        J, r, unit = [], [], self.model.length
        for limb in legs:
            frame = self.problems.feet[limb.handle].frame
            was, now = self.model.fk(first, frame), self.model.fk(q, frame)
            turn = Rotation.from_matrix(was[:3, :3] @ now[:3, :3].T).log()
            r += [*((was[:3, 3] - now[:3, 3]) / unit), *turn]
            rows = np.array(self.model.jacobian(q, frame)[:, free])
            rows[:3] /= unit
            J.append(rows)
        scale = np.where(self.model.slides[free], unit, 1.0)
        dq = np.zeros(self.model.nv)
        dq[free] = scale * np.linalg.lstsq(np.concatenate(J) * scale, np.array(r), rcond=1e-6)[0]
        return np.clip(dq, -self._span, self._span)

    def find_legs(self, frame: str) -> list[Limb]:
        """Return the limbs with a middle and a foot below a frame."""
        if frame not in self._below:
            limbs, handles = self.problems.limbs.values(), self.problems.handles
            legs = [limb for limb in limbs if limb.middle is not None and handles[limb.handle].stands]
            self._below[frame] = [limb for limb in legs if frame in self.model.ancestors(limb.root)]
        return self._below[frame]

    def carries(self, state: Snapshot, limb: Limb) -> bool:
        """Return whether a leg stands on a held foot and its knee may move."""
        goal = state.places.get(limb.handle)
        if goal is None or goal.kind == "reach" or limb.handle in state.dragged:
            return False
        return not state.frozen or self.model.frame(str(limb.middle)).joint not in state.frozen
