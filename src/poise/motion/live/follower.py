"""Follower: follow live targets of a headset, a controller or a stream, one time step at a time.

Each step finds the pose that the goals lead to near the current one, and moves towards it within the limits. Speeds and
accelerations hold in every step, for steps of any length, and every joint can always brake inside its range. Nothing is
predicted, and nothing is averaged: a target acts in the step in which it arrives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.arguments import check_number, check_positive
from poise.arrays import Floats
from poise.errors import InvalidValue, ShapeMismatch, name_not_found
from poise.goals import Goal, Rest
from poise.kinematics import Pose
from poise.limits import Acceleration, Limit, Speed
from poise.model import Model
from poise.motion.live.braking_way import BrakingWay
from poise.motion.live.clutch import Clutch
from poise.motion.live.joint_rates import JointRates, convert_rate
from poise.motion.live.live_solution import LiveSolution
from poise.motion.live.target_stream import ABSENT, TargetStream, read_place, takes_places
from poise.solvers import Solution, Solver
from poise.solvers.solution import make_solution
from poise.solvers.starts import read_start
from poise.solvers.table import combine_postures
from poise.spatial import as_rotation

__all__ = ["Follower"]

SHORTEST_S = 1e-9  # of a step; velocities of shorter ones are rounding errors
GLIDE_S = 0.5  # in which joints that the goals leave free lose most of their velocity
ACCELERATION = 20.0  # rad/s^2 or m/s^2


class Follower:
    """A body that follows live targets: `follower.step({goal: target}, dt)` returns the next configuration.

    A target that is missing (None), not finite, or that no step has replaced for longer than `late` is bridged: the
    body goes to the last good one. A target that moves faster than `target_speed` is approached at that speed. Both are
    reported in `state`, `gaps` and `why()`.

    Args:
        model: The body.
        goals: One goal or several. A Reach, Relative or Orient holds its frame where it is until its first target in
            `step`; its own target only says whether a point or a transform will come.
        limits: Limits, as in `poise.solve`; those on speed and acceleration hold in every step. By default the velocity
            limits of the file, and an acceleration of 20 rad/s^2 or m/s^2.
        measured: The configuration at the start (default: the rest pose).
        joints: The only joints that may move.
        target_speed: The largest speeds of targets that are followed directly [m/s, rad/s].
        late: The age above which a target is late [s].
    """

    def __init__(
        self,
        model: Model,
        goals: Iterable[Goal] | Goal,
        limits: Sequence[Limit] | Limit | None = None,
        measured: ArrayLike | Pose | None = None,
        *,
        joints: Sequence[str] | None = None,
        target_speed: tuple[float, float] = (3.0, 20.0),
        late: float = 0.1,
    ) -> None:
        listed = list(goals) if isinstance(goals, Iterable) else [goals]
        if limits is None:
            limits = Speed(), Acceleration(convert_rate(model, ACCELERATION))
        self._glides = all(getattr(goal, "counts", True) for goal in listed)  # whether no posture moves free joints
        listed += [Rest(name="glide")] if self._glides else []
        solver = Solver(model, listed, limits=limits, joints=joints, mode="continuous")
        self._gains = np.asarray(combine_postures(model, [Rest()])[0])
        self.model, self.rates = model, JointRates(model, solver.options.limits)
        self.braking = BrakingWay(solver, self.rates)
        self.solver = self.braking.planner
        rates = tuple(limit for limit in solver.options.limits if limit.timed)
        self._meter = solver.with_options(replace(solver.options, limits=rates))  # of errors, without clearances
        if np.shape(target_speed) != (2,):
            raise ShapeMismatch(f"target_speed is {target_speed!r}; give two numbers: (3.0 m/s, 20.0 rad/s).")
        speeds = check_positive(target_speed[0], "target_speed"), check_positive(target_speed[1], "target_speed")
        self.late = check_positive(late, "late", "a positive number of seconds")
        self.rows = {name: self.solver.goals[name].rows(model) for name in self.solver.row_names}
        self.streams = {name: TargetStream(model, row, speeds) for name, row in self.rows.items() if takes_places(row)}
        self.reset(measured)

    def reset(self, measured: ArrayLike | Pose | None = None) -> None:
        """Begin again, at rest in a configuration (default: the rest pose), with no controller engaged."""
        self._q = self._read_measured(measured)
        self._v = np.zeros(self.model.nv)
        self.braking.reset(self._q)
        self._paused, self._bridged = False, False
        self._guide: Floats | None = None
        self._guide_v = np.zeros(self.model.nv)
        for stream in self.streams.values():
            stream.reset(self._q)
        self._targets: dict[str, Any] = {name: stream.target for name, stream in self.streams.items()}

    @property
    def q(self) -> Floats:
        """The newest configuration, (nq,)."""
        return np.array(self._q)

    @property
    def velocity(self) -> Floats:
        """The velocity of the newest step, (nv,)."""
        return np.array(self._v)

    @property
    def paused(self) -> bool:
        """Whether it is between `pause` and `resume`."""
        return self._paused

    def engage(self, goal: str, pose: Any, *, scale: float = 1.0, axes: Any = None) -> None:
        """Let a controller move a goal from the pose that the body has reached; targets are poses of the controller.

        Args:
            goal: The name of a Reach, Relative or Orient.
            pose: The pose of the controller now; engaging moves nothing.
            scale: Metres of the goal per metre of the controller.
            axes: The rotation from the controller's axes to those of the goal's targets (default: the same axes).
        """
        stream, size = self._find_stream(goal), check_positive(scale, "scale")
        begin = read_place(stream.rows, goal, pose)
        if begin is None:
            raise InvalidValue(f"pose of the controller of goal {goal!r} is {pose!r}; every number must be finite.")
        turn = np.eye(3) if axes is None else np.array(as_rotation(axes, "axes").matrix)
        stream.hold(self._find_rest())
        stream.clutch, stream.released = Clutch(begin, stream.good, size, turn), False

    def release(self, goal: str) -> None:
        """Hold a goal where it is, and ignore its targets until `engage`."""
        stream = self._find_stream(goal)
        stream.hold(self._find_rest())
        stream.clutch, stream.released = None, True

    def pause(self) -> None:
        """Brake and stand, whatever the targets, until `resume`."""
        self._paused = True

    def resume(self) -> None:
        """Follow again; engaged controllers go on from where they are then, without moving their goals."""
        if self._paused:
            self._paused, self._guide = False, None
            for stream in self.streams.values():
                if not stream.released:
                    stream.hold(self._find_rest())

    def step(
        self, targets: Mapping[str, Any] | None, dt: float, measured: ArrayLike | Pose | None = None
    ) -> LiveSolution:
        """Take one time step towards the newest targets.

        Args:
            targets: {goal name: target, or pose of its controller}; None for a target that was lost. Goals that are not
                named keep their last target.
            dt: The time since the last step [s], at least 1e-9; it may differ from step to step.
            measured: Where the joints are now (default: where the last step sent them). A position outside of its range
                counts as the end of the range.

        Returns:
            The LiveSolution, with `.q`, `.velocity`, `.state` and `.why()`.

        Raises:
            InvalidValue, ShapeMismatch, NameNotFound: An argument is wrong. The follower is as before the call.
        """
        time = check_number(dt, "dt", f"a number of seconds, at least {SHORTEST_S:g}", SHORTEST_S)
        places, plain = self._read_targets({} if targets is None else targets)
        if measured is not None:
            self._q = self._read_measured(measured)
        gaps: dict[str, str] = {}
        if self._paused:
            found = self._look_at(self.braking.brake(self._v, time) * time)
        else:
            for name, stream in self.streams.items():
                stream.advance(places.get(name, ABSENT), time, self.late)
            gaps = {name: stream.gap for name, stream in self.streams.items() if stream.gap}
            gaps |= {name: "was lost" for name, target in plain.items() if target is None}
            self._targets |= {name: target for name, target in plain.items() if target is not None}
            self._targets |= {name: stream.target for name, stream in self.streams.items()}
            found = self._move(gaps, time)
        return self._finish(found, gaps, time)

    def _move(self, gaps: Mapping[str, str], dt: float) -> Solution:
        """Return one step towards the targets."""
        bounds = self.rates.find_bounds(self._q, self._v, dt)
        if self._glides:  # joints that the goals leave free go on at their velocity, and come to rest
            glide = self.model.integrate(self._q, self._v * (dt * math.exp(-dt / GLIDE_S)))
            self.solver.rest_at(np.asarray(glide), self._gains)
        there = self.solver.search(self._q, self._targets, self.rates.look_far(self._v, dt))
        way = np.asarray(self.model.difference(self._q, there.q))
        window = self.rates.aim(bounds, way, self._find_guide_velocity(there.q, gaps, dt), dt)
        found = there
        if not ((way >= window[:, 0]).all() and (way <= window[:, 1]).all()):
            found = self.solver.search(self._q, None, window)
            way = np.asarray(self.model.difference(self._q, found.q))
        kept = np.clip(way, bounds[0] * dt, bounds[1] * dt)  # joints that no goal moves must brake, too
        if self.braking.needed:
            kept = self.braking.limit(self._q, kept, self._v, dt)
        return found if np.array_equal(kept, way) else self._look_at(kept)

    def _find_guide_velocity(self, guide: Floats, gaps: Mapping[str, str], dt: float) -> Floats:
        """Return the velocity of the pose that the goals lead to: the smaller one of the last two steps.

        The body may be as much faster as it can brake on the way there, so that it neither lags nor overshoots. A pose
        that turns back, has just begun to move or has a bridged target counts as still.
        """
        before, last, bridged = self._guide, self._guide_v, self._bridged
        self._guide, self._bridged = guide, bool(gaps)
        self._guide_v = np.zeros(self.model.nv) if before is None else self.model.difference(before, guide) / dt
        if gaps or bridged:
            return np.zeros(self.model.nv)
        slower = np.sign(last) * np.minimum(np.abs(last), np.abs(self._guide_v))
        return np.where(np.sign(last) == np.sign(self._guide_v), slower, 0.0)

    def _look_at(self, way: Floats) -> Solution:
        """Return the pose after a motion, as a solution with its errors."""
        still = np.zeros((self.model.nv, 2))
        found = self._meter.search(self.model.clamp(self.model.integrate(self._q, way)), self._targets, still)
        return make_solution(self.solver, found.answer, found.targets)

    def _finish(self, found: Solution, gaps: Mapping[str, str], dt: float) -> LiveSolution:
        """Take a step, and report it."""
        found.velocity = np.asarray(self.model.difference(self._q, found.q)) / dt
        found.time_step = dt
        self._q, self._v = np.array(found.q), found.velocity
        idle = self._paused or (bool(self.streams) and all(stream.idle for stream in self.streams.values()))
        state = "held" if idle else "bridged" if gaps else "following" if found.reached else "limited"
        return LiveSolution(found.q, found.velocity, state, found, dict(self._targets), gaps)

    def _find_rest(self) -> Floats:
        """Return the configuration in which the body stands if it brakes now."""
        return np.asarray(self.model.integrate(self._q, self.braking.find_way(self._v)))

    def _find_stream(self, goal: str) -> TargetStream:
        """Return the stream of a goal, for its controller."""
        if goal not in self.rows:
            raise name_not_found("goal", goal, self.rows)
        if goal not in self.streams:
            raise InvalidValue(
                f"goal {goal!r} has no pose that a controller can move; use a Reach, Relative or Orient."
            )
        return self.streams[goal]

    def _read_measured(self, measured: ArrayLike | Pose | None) -> Floats:
        """Return a measured configuration inside the joint ranges (default: the rest pose)."""
        return np.asarray(self.model.clamp(read_start(self.model, measured, what="measured")))

    def _read_targets(self, targets: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the places of targets of streams, and the targets of other goals; None if they were lost."""
        if not isinstance(targets, Mapping):
            raise InvalidValue(
                f"targets must be {{goal name: target}}, such as {{'hand_l': (x, y, z)}}, not {targets!r}."
            )
        places, plain = dict[str, Any](), dict[str, Any]()
        for name, target in targets.items():
            if name not in self.rows:
                raise name_not_found("goal", str(name), self.rows)
            place = read_place(self.rows[name], name, target)
            if name in self.streams:
                places[name] = place
            else:
                plain[name] = None if place is None else target
        return places, plain
